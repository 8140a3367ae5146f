"""Joining and cutting `torch.sparse_coo` tensors, exactly: order, duplicates, dtypes and gradients
are kept.
"""

from collections.abc import Sequence
from itertools import accumulate
from typing import Any

import torch
from torch import Tensor

from gnnlab.sparse.pointers import shift_


class _Values(torch.autograd.Function):
    """The values of an uncoalesced tensor, with a gradient (torch's own `_values()` has none).

    To torch, the gradient of a sparse tensor is a matrix, and each duplicate of an entry receives
    that entry's gradient. So the gradients of duplicates are averaged here: they are equal wherever
    the values are used as a matrix again.
    """

    @staticmethod
    def forward(ctx: Any, src: Tensor) -> Tensor:
        ctx.indices, ctx.size = src._indices(), src.size()
        return src._values().clone()

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Tensor:
        (grad,) = grads
        _, entry, count = torch.unique(ctx.indices, dim=1, return_inverse=True, return_counts=True)
        share = count[entry].reciprocal().to(grad.dtype).view(-1, *[1] * (grad.dim() - 1))
        return torch.sparse_coo_tensor(ctx.indices, grad * share, ctx.size, check_invariants=False)


def values(src: Tensor) -> Tensor:
    """[nnz, ...]: the values of a COO tensor, coalesced or not, with their gradient."""
    if src.is_coalesced():
        return src.values()
    return _Values.apply(src) if src.requires_grad else src._values()


def build(
    indices: Tensor,
    value: Tensor,
    size: torch.Size | list[int],
    is_coalesced: bool,
    check: bool = False,
) -> Tensor:
    """A `torch.sparse_coo` tensor of parts that are known to be right, or with `check` looked at by torch."""
    return torch.sparse_coo_tensor(indices, value, size, is_coalesced=is_coalesced, check_invariants=check)


def is_coalesced(indices: Tensor) -> bool:
    """Whether the columns of `indices` [sparse_dim, nnz] are in order, and none is there twice."""
    tied = torch.ones_like(indices[0, 1:], dtype=torch.bool)
    rising = torch.zeros_like(tied)
    for index in indices:
        rising |= tied & (index[1:] > index[:-1])
        tied &= index[1:] == index[:-1]
    return bool(rising.all())


def cat(tensors: Sequence[Tensor], dims: tuple[int, ...]) -> Tensor:
    """The tensors joined along `dims` (several: on the diagonal); entries keep their order, one
    tensor after the other.
    """
    size, nnz = list(tensors[0].size()), [tensor._nnz() for tensor in tensors]
    indices = torch.cat([tensor._indices() for tensor in tensors], dim=1)
    for dim in dims:
        *shifts, size[dim] = accumulate((t.size(dim) for t in tensors), initial=0)
        shift_(indices[dim], nnz, shifts)
    coalesced = all(t.is_coalesced() for t in tensors) and (0 in dims or len(tensors) == 1)
    return build(indices, torch.cat([values(tensor) for tensor in tensors]), size, coalesced)


def narrow(src: Tensor, dims: tuple[int, ...], start: tuple[int, ...], length: tuple[int, ...]) -> Tensor:
    """The block of `src` that `length[i]` from `start[i]` along each `dims[i]` spans; entries keep their order.

    A coalesced tensor is searched along dimension 0 and otherwise read once from end to end. The
    result counts as coalesced where its entries are in order and none is there twice.
    """
    indices, value, size = src._indices(), values(src), list(src.size())
    if src.is_coalesced() and 0 in dims:
        first = start[dims.index(0)]
        bounds = indices.new_tensor([first, first + length[dims.index(0)]])
        low, high = torch.searchsorted(indices[0].contiguous(), bounds).tolist()
        indices, value = indices[:, low:high], value[low:high]
    for dim, first, count in zip(dims, start, length, strict=True):
        keep = (indices[dim] >= first) & (indices[dim] < first + count)
        if not bool(keep.all()):
            indices, value = indices[:, keep], value[keep]
        size[dim] = count
    shift = indices.new_zeros(len(indices), 1)
    shift[list(dims), 0] = indices.new_tensor(start)
    indices = indices - shift
    return build(indices, value, size, src.is_coalesced() or is_coalesced(indices))
