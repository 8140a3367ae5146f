"""Turning what may stand in square brackets after a dataset into positions."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor


def is_scalar(idx: Any) -> bool:
    """Whether `idx` names a single position: an int of Python, NumPy or torch (a bool is none)."""
    if isinstance(idx, (bool, np.bool_)):
        return False
    if isinstance(idx, (int, np.integer)):
        return True
    return isinstance(idx, (Tensor, np.ndarray)) and idx.ndim == 0 and not _is_bool(idx)


def positions(idx: Any, length: int) -> Sequence[int]:
    """The positions in a sequence of `length` items that `idx` selects, none of them negative.

    Args:
        idx: a slice (its bounds may be fractions: `[:0.9]` is the first nine tenths), a range, a mask (list, tuple,
            array or tensor of bools with `length` entries), or a list, tuple, array or tensor of ids of any integer
            dtype, negative ones counting from the end.
        length: number of items.

    Raises:
        IndexError: if an id is out of range, a mask has the wrong length, or `idx` is of another kind.

    >>> list(positions([True, False, True], 3)), list(positions(slice(0, 0.5), 4)), list(positions([-1], 3))
    ([0, 2], [0, 1], [2])
    """
    if isinstance(idx, slice):
        return range(length)[whole_slice(idx, length)]
    if isinstance(idx, Tensor):
        array = idx.detach().cpu().flatten().numpy() if idx.dtype != torch.bfloat16 else np.zeros(1)
    elif isinstance(idx, np.ndarray):
        array = idx.reshape(-1)
    elif isinstance(idx, Sequence) and not isinstance(idx, (str, bytes)):
        array = np.asarray(idx) if len(idx) > 0 else np.zeros(0, dtype=np.int64)
    else:
        raise IndexError(
            "idx must be an int, a slice, a list, tuple, range, tensor or array of ids, or a mask, "
            f"found {type(idx).__name__}"
        )
    if array.size == 0 and array.dtype != np.bool_:
        return []
    if array.ndim == 1 and array.dtype == np.bool_:
        if array.size != length:
            raise IndexError(f"a mask must have one entry for each of the {length} items, found {array.size} entries")
        return array.nonzero()[0].tolist()
    if array.ndim != 1 or not np.issubdtype(array.dtype, np.integer):
        raise IndexError(f"ids must be integers and masks bools, found {idx if array.ndim == 0 else array.dtype}")
    wrong = (array >= length) if array.dtype.kind == "u" else (array >= length) | (array < -length)
    if wrong.any():
        raise IndexError(f"id {array[wrong][0]} is out of range for {length} items")
    array = array.astype(np.int64)
    return np.where(array < 0, array + length, array).tolist()


def whole_slice(idx: slice, length: int) -> slice:
    """`idx` with bounds that are fractions of `length` made whole."""
    start, stop = (round(bound * length) if isinstance(bound, float) else bound for bound in (idx.start, idx.stop))
    return slice(start, stop, idx.step)


def _is_bool(idx: Tensor | np.ndarray) -> bool:
    return idx.dtype in (torch.bool, np.bool_)
