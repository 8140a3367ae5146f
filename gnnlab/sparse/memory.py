"""New memory."""

from collections.abc import Sequence
from math import prod

import numpy as np
import torch
from torch import Tensor


def empty(shape: Sequence[int], dtype: torch.dtype) -> Tensor:
    """`torch.empty` in the process's memory. NumPy asks the system for huge pages, which makes the first write to a
    large block several times as fast.
    """
    size = prod(shape) * dtype.itemsize
    if size == 0:
        return torch.empty(tuple(shape), dtype=dtype)
    return torch.from_numpy(np.empty(size, dtype=np.uint8)).view(dtype).view(*shape)
