"""Small functions of one tensor."""

import torch
from torch import Tensor


def cumsum(x: Tensor, dim: int = 0) -> Tensor:
    """Running sums along `dim`, with a zero before the first: counts to row pointers.

    x: [..., n, ...] numbers. Returns [..., n + 1, ...] of the same dtype. PyG: `torch_geometric.utils.cumsum`.

    >>> cumsum(torch.tensor([2, 0, 3]))
    tensor([0, 2, 2, 5])
    """
    shape = list(x.shape)
    shape[dim] = 1
    return torch.cat([x.new_zeros(shape), x.cumsum(dim, dtype=x.dtype)], dim)
