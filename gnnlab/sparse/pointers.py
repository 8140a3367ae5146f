"""Row numbers, row pointers, counts and orders: the index arithmetic that the other files share."""

from collections.abc import Sequence

import torch
from torch import Tensor

_INT64_MAX = torch.iinfo(torch.int64).max


def index_to_ptr(index: Tensor, size: int) -> Tensor:
    """[nnz] sorted row numbers to [size + 1] row pointers: row `i` is `ptr[i]:ptr[i + 1]`."""
    rows = torch.arange(size + 1, dtype=index.dtype, device=index.device)
    return torch.searchsorted(index.contiguous(), rows)


def ptr_to_index(ptr: Tensor, nnz: int) -> Tensor:
    """[size + 1] row pointers to [nnz] sorted row numbers."""
    rows = torch.arange(ptr.numel() - 1, dtype=ptr.dtype, device=ptr.device)
    return rows.repeat_interleave(ptr.diff(), output_size=nnz)


def count_to_ptr(count: Tensor) -> Tensor:
    """[size] entries a row to [size + 1] row pointers."""
    ptr = count.new_zeros(count.numel() + 1)
    torch.cumsum(count, dim=0, out=ptr[1:])
    return ptr


def gather_ranges(ptr: Tensor, index: Tensor) -> tuple[Tensor, Tensor]:
    """The entries of the rows `index`, one row after the other, and the row pointers of the result.

    ptr: [size + 1] int64. index: [n] int64, in any order, with repeats. Returns entries [total]
    int64 and pointers [n + 1].
    """
    start = ptr[index]
    out = count_to_ptr(ptr[index + 1] - start)
    total = int(out[-1])
    shift = (start - out[:-1]).repeat_interleave(out.diff(), output_size=total)
    return torch.arange(total, device=ptr.device) + shift, out


def in_order(major: Tensor, minor: Tensor) -> bool:
    """Whether the pairs (major, minor), both [n], never step backwards."""
    up, level = major[1:] > major[:-1], major[1:] == major[:-1]
    return bool((up | (level & (minor[1:] >= minor[:-1]))).all())


def in_strict_order(major: Tensor, minor: Tensor) -> bool:
    """Whether the pairs (major, minor), both [n], always step forwards: sorted, and none twice."""
    up, level = major[1:] > major[:-1], major[1:] == major[:-1]
    return bool((up | (level & (minor[1:] > minor[:-1]))).all())


def stable_order(major: Tensor, minor: Tensor, size: Sequence[int]) -> Tensor:
    """[n] int64: the order that sorts by major, then minor; equal pairs stay in the order given.

    size: upper bounds (exclusive) of the two.
    """
    if size[0] * size[1] <= _INT64_MAX:
        return torch.argsort(major * size[1] + minor, stable=True)
    order = torch.argsort(minor, stable=True)
    return order[torch.argsort(major[order], stable=True)]


def inverse(order: Tensor) -> Tensor:
    """[n] int64: where each of [n] different numbers below n stands in `order`."""
    out = torch.empty_like(order)
    out[order] = torch.arange(order.numel(), device=order.device)
    return out


def cat_shifted(tensors: Sequence[Tensor], shifts: Sequence[int]) -> Tensor:
    """The integer `tensors`, [n_i] each, joined, the i-th raised by `shifts[i]`; int32 grows to int64 where it must."""
    out = torch.cat(list(tensors))
    if out.dtype != torch.int64 and _overflows(tensors, shifts, torch.iinfo(out.dtype).max):
        out = out.to(torch.int64)
    return shift_(out, [tensor.numel() for tensor in tensors], shifts)


def shift_(joined: Tensor, lengths: Sequence[int], shifts: Sequence[int]) -> Tensor:
    """Raise the i-th piece of `joined`, which is `lengths[i]` long, by `shifts[i]`, in place."""
    start = 0
    for length, shift in zip(lengths, shifts, strict=True):
        if shift:
            joined[start : start + length] += shift
        start += length
    return joined


def _overflows(tensors: Sequence[Tensor], shifts: Sequence[int], limit: int) -> bool:
    pairs = zip(tensors, shifts, strict=True)
    return any(tensor.numel() and int(tensor.max()) + shift > limit for tensor, shift in pairs)
