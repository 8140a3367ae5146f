"""Joining very many small tensors."""

from collections.abc import Iterator, Sequence
from itertools import repeat
from operator import attrgetter
from typing import TypeVar

import torch
from torch import Tensor

from gnnlab.files import Growing

T = TypeVar("T")

#: Up to this many elements torch joins tensors in one plain loop; beyond, it sets up each copy for many threads, which
#: costs more than the copy of a small tensor. (`at::internal::GRAIN_SIZE`)
_PLAIN_LOOP = 32_768

#: That loop is there for floating-point dtypes only. Integers of the same width pass through it bit by bit.
_SAME_BITS = {torch.int64: torch.float64, torch.int32: torch.float32, torch.int16: torch.float16}

#: Portions of this many items stay in the processor's cache while several things are done with each of them.
_PORTION = 128

_DTYPE, _TRACKS = attrgetter("dtype"), attrgetter("requires_grad")


def join(pieces: list[Tensor], dim: int) -> tuple[Tensor, list[int]]:
    """`torch.cat(pieces, dim)` of strided tensors, and their sizes along `dim`.

    Small tensors by the thousand are joined portion by portion: checked, measured and copied while they are in the
    cache.

    Raises:
        TypeError: if dtypes or numbers of dimensions differ.
        RuntimeError, IndexError: as `torch.cat`.
    """
    first = pieces[0]
    plain = first.device.type == "cpu" and (first.dtype.is_floating_point or first.dtype in _SAME_BITS)
    if plain and 0 < 8 * first.numel() < _PLAIN_LOOP < first.numel() * len(pieces):
        joined = _join_portions(pieces, dim % first.dim())
        if joined is not None:
            return joined
    counts: list[int] = []
    for portion in portions(pieces):
        _check(portion, first)
        counts.extend(map(Tensor.size, portion, repeat(dim)))
    return torch.cat(pieces, dim), counts


def _join_portions(pieces: list[Tensor], dim: int) -> tuple[Tensor, list[int]] | None:
    """The same by portions; `None` where gradients are tracked."""
    first = pieces[0]
    bits = _SAME_BITS.get(first.dtype, first.dtype)
    shape = [size for axis, size in enumerate(first.shape) if axis != dim]
    grown = Growing(bits, shape, dim)
    counts: list[int] = []
    for portion in portions(pieces, min(_PORTION, _PLAIN_LOOP // (2 * first.numel()))):
        _check(portion, first)
        if any(map(_TRACKS, portion)):
            return None
        counts.extend(map(Tensor.size, portion, repeat(dim)))
        part = torch.cat(portion if bits is first.dtype else list(map(Tensor.view, portion, repeat(bits))), dim)
        if len(grown) == 0:
            grown = Growing(bits, shape, dim, reserve=part.size(dim) * len(pieces) // len(portion))
        grown.append(part)
    return grown.finish().view(first.dtype), counts


def _check(portion: Sequence[Tensor], first: Tensor) -> None:
    # One C call a tensor, and no object for the garbage collector to track.
    if set(map(Tensor.dim, portion)) != {first.dim()} or set(map(_DTYPE, portion)) != {first.dtype}:
        raise TypeError("dtypes or numbers of dimensions differ")


def portions(items: list[T], size: int = _PORTION) -> Iterator[list[T]]:
    """`items`, `size` at a time."""
    for begin in range(0, len(items), size):
        yield items[begin : begin + size]
