"""Joining very many small tensors."""

from collections.abc import Iterator
from math import prod
from operator import attrgetter, itemgetter
from typing import Any, TypeVar

import numpy as np
import torch
from torch import Tensor

from gnnlab.sparse.memory import empty

T = TypeVar("T")

#: Up to this many elements torch joins tensors in one plain loop; beyond, it sets up each copy for many threads, which
#: costs more than the copy of a small tensor. (`at::internal::GRAIN_SIZE`)
_PLAIN_LOOP = 32_768

#: From this many tensors on it is worth the import of the kernels, half a second and some tens of MiB.
_MANY = 4096

#: Tensors of other dtypes are set up one by one in any case, unless they are all of one size.
_LOOPED = frozenset({torch.float32, torch.float64, torch.bfloat16})

#: Portions of this many items stay in the processor's cache while several things are asked of each of them.
_PORTION = 128

_DTYPE, _SHAPE, _ON_CPU, _TRACKED = map(attrgetter, ("dtype", "shape", "is_cpu", "requires_grad"))


def join(pieces: list[Tensor], dim: int) -> tuple[Tensor, list[int]]:
    """`torch.cat(pieces, dim)` of strided tensors, and their sizes along `dim`.

    Small tensors by the thousand are joined portion by portion or copied by a kernel, which is faster.

    Raises:
        TypeError: if dtypes or numbers of dimensions differ.
        RuntimeError, IndexError: as `torch.cat`.
    """
    first = pieces[0]
    counts: list[int] = []
    addresses: list[int] = []
    looped = first.dtype in _LOOPED or (len(pieces) > _PORTION and len(set(map(_SHAPE, pieces[:_PORTION]))) == 1)
    at_addresses = not looped and len(pieces) >= _MANY and not first.is_complex()
    for portion in portions(pieces):  # one C call a tensor, and no object for the garbage collector to track
        shapes = list(map(_SHAPE, portion))
        if set(map(len, shapes)) != {first.dim()} or set(map(_DTYPE, portion)) != {first.dtype}:
            raise TypeError("dtypes or numbers of dimensions differ")
        counts.extend(map(itemgetter(dim), shapes))
        at_addresses = at_addresses and _are_plain(portion) and _differ_in(dim % first.dim(), shapes, first.shape)
        if at_addresses:
            addresses.extend(map(Tensor.data_ptr, portion))
    dim %= first.dim()
    shape = [*first.shape[:dim], sum(counts), *first.shape[dim + 1 :]]
    joined = None
    if _PLAIN_LOOP < prod(shape) < _PLAIN_LOOP // 8 * len(pieces):
        if at_addresses:
            joined = _join_at(addresses, counts, shape, dim, first.dtype)
        elif looped and first.is_cpu:
            joined = _join_portions(pieces, shape, dim)
    return torch.cat(pieces, dim) if joined is None else joined, counts


def _are_plain(portion: list[Tensor]) -> bool:
    """Whether each tensor is its memory, read from front to back, and nothing else."""
    return (
        set(map(type, portion)) == {Tensor}
        and all(map(_ON_CPU, portion))
        and all(map(Tensor.is_contiguous, portion))
        and not any(map(_TRACKED, portion))
        and not any(map(Tensor.is_neg, portion))
    )


def _differ_in(dim: int, shapes: list[torch.Size], shape: torch.Size) -> bool:
    """Whether all have this shape, but for `dim`."""
    return all(set(map(itemgetter(axis), shapes)) == {size} for axis, size in enumerate(shape) if axis != dim)


def _join_portions(pieces: list[Tensor], shape: list[int], dim: int) -> Tensor | None:
    """`pieces` joined by torch's plain loop, as many at a time as it takes; `None` if gradients are tracked, which this
    would lose.
    """
    out = empty(shape, pieces[0].dtype)
    at = 0
    for portion in portions(pieces, min(_PLAIN_LOOP * len(pieces) // (2 * out.numel()), _PORTION)):
        part = torch.cat(portion, dim)
        if part.requires_grad:
            return None
        target = out.narrow(dim, at, part.size(dim))
        if part.shape != target.shape:  # which `copy_` would stretch
            raise RuntimeError(f"shapes differ: {list(part.shape)} does not fit {shape} along dimension {dim}")
        target.copy_(part)
        at += part.size(dim)
    return out


def _join_at(addresses: list[int], counts: list[int], shape: list[int], dim: int, dtype: torch.dtype) -> Tensor | None:
    """Join the values that lie at these addresses of the process's memory; `None` if one is not aligned."""
    from gnnlab.kernels.gather import join_parts

    out = empty(shape, dtype)
    memory = np.asarray(_Memory(out.element_size()))
    starts, unaligned = np.divmod(np.array(addresses, dtype=np.int64), out.element_size())
    if unaligned.any():
        return None
    ends = np.zeros(len(counts) + 1, dtype=np.int64)
    np.cumsum(counts, out=ends[1:])
    rows = out.view(-1).view(torch.uint8).numpy().view(memory.dtype).reshape(prod(shape[:dim]), -1)
    join_parts(memory, starts - 1, ends * prod(shape[dim + 1 :]), rows)
    return out


class _Memory:
    """The whole of the process's memory as an array of integers `width` bytes wide, the first at the address `width`.

    Whoever reads from it must hold what lies there.
    """

    def __init__(self, width: int) -> None:
        self.__array_interface__: dict[str, Any] = {
            "version": 3,
            "data": (width, False),
            "shape": (np.iinfo(np.int64).max // width - 1,),
            "typestr": f"<i{width}",
        }


def portions(items: list[T], size: int = _PORTION) -> Iterator[list[T]]:
    """`items`, `size` at a time."""
    for begin in range(0, len(items), size):
        yield items[begin : begin + size]
