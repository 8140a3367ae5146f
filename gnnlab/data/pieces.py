"""Joining very many small tensors."""

from collections.abc import Iterator, Sequence

import torch
from torch import Tensor

#: Up to this many elements torch joins tensors in one plain loop; beyond, it sets up each copy for many threads, which
#: costs more than the copy of a small tensor. (`at::internal::GRAIN_SIZE`)
_PLAIN_LOOP = 32_768

#: That loop is there for floating-point dtypes only. Integers of the same width pass through it bit by bit.
_SAME_BITS = {torch.int64: torch.float64, torch.int32: torch.float32, torch.int16: torch.float16}


def cat(pieces: Sequence[Tensor], dim: int, counts: Sequence[int]) -> Tensor:
    """`torch.cat(pieces, dim)`, in portions that torch joins in its plain loop where that is faster.

    Args:
        pieces: tensors of one dtype that agree in all dimensions but `dim`.
        dim: the dimension along which to join.
        counts: the pieces' sizes along `dim`.

    Raises:
        RuntimeError, IndexError: as `torch.cat`.
    """
    first = pieces[0]
    total = sum(counts)
    per_count = first.numel() // counts[0] if counts[0] else 0
    small = len(pieces) > 64 and _PLAIN_LOOP < total * per_count < _PLAIN_LOOP * len(pieces)
    plain = first.device.type == "cpu" and (first.dtype.is_floating_point or first.dtype in _SAME_BITS)
    if not small or not plain or any(piece.requires_grad for piece in pieces):
        return torch.cat(pieces, dim)
    bits = _SAME_BITS.get(first.dtype, first.dtype)
    shape = list(first.shape)
    shape[dim] = total
    out = torch.empty(shape, dtype=bits)
    at = 0
    for begin, end, count in _portions(counts, _PLAIN_LOOP // per_count):
        portion = pieces[begin:end] if bits is first.dtype else [piece.view(bits) for piece in pieces[begin:end]]
        out.narrow(dim, at, count).copy_(torch.cat(portion, dim))
        at += count
    return out if bits is first.dtype else out.view(first.dtype)


def _portions(counts: Sequence[int], limit: int) -> Iterator[tuple[int, int, int]]:
    """Runs of pieces with fewer than `limit` entries together (or one piece): their begin, end and entries."""
    begin = total = 0
    for at, count in enumerate(counts):
        if total + count >= limit and at > begin:
            yield begin, at, total
            begin, total = at, 0
        total += count
    yield begin, len(counts), total
