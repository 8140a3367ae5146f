"""Joining very many small tensors."""

import threading
from collections.abc import Iterator
from functools import partial
from itertools import pairwise, repeat
from operator import attrgetter
from typing import TypeVar

import numpy as np
import torch
from torch import Tensor

T = TypeVar("T")

#: Up to this many elements torch joins tensors in one plain loop; beyond, it sets up each copy for many threads, which
#: costs more than the copy of a small tensor. (`at::internal::GRAIN_SIZE`)
_PLAIN_LOOP = 32_768

#: Portions of this many items stay in the processor's cache while several things are done with each of them.
_PORTION = 128

_DTYPE = attrgetter("dtype")


def join(pieces: list[Tensor], dim: int) -> tuple[Tensor, list[int]]:
    """`torch.cat(pieces, dim)` of strided tensors, and their sizes along `dim`.

    Small tensors by the thousand are joined portion by portion, which is faster.

    Raises:
        TypeError: if dtypes or numbers of dimensions differ.
        RuntimeError, IndexError: as `torch.cat`.
    """
    first = pieces[0]
    counts: list[int] = []
    for portion in portions(pieces, _PORTION):  # one C call a tensor, and no object for the garbage collector to track
        if set(map(Tensor.dim, portion)) != {first.dim()} or set(map(_DTYPE, portion)) != {first.dtype}:
            raise TypeError("dtypes or numbers of dimensions differ")
        counts.extend(map(Tensor.size, portion, repeat(dim)))
    total = sum(counts)
    shape = [total if axis == dim % first.dim() else size for axis, size in enumerate(first.shape)]
    elements = torch.Size(shape).numel()
    if _PLAIN_LOOP < elements < _PLAIN_LOOP // 8 * len(pieces) and first.device.type == "cpu":
        joined = _join_portions(pieces, dim, counts, shape, _PLAIN_LOOP * len(pieces) // (2 * elements))
        if joined is not None:
            return joined, counts
    return torch.cat(pieces, dim), counts


def _join_portions(pieces: list[Tensor], dim: int, counts: list[int], shape: list[int], size: int) -> Tensor | None:
    """`pieces` joined `size` at a time, by all threads; `None` if gradients are tracked, which this would lose."""
    from gnnlab.kernels import threads

    # NumPy asks the system for huge pages, which makes the first write to a new block of memory cheap.
    size_in_bytes = torch.Size(shape).numel() * pieces[0].element_size()
    out = torch.from_numpy(np.empty(size_in_bytes, dtype=np.uint8)).view(pieces[0].dtype).view(shape)
    tracked = threading.Event()

    def copy_run(begin: int, end: int) -> None:
        at = sum(counts[:begin])
        for portion in portions(pieces[begin:end], min(size, _PORTION)):
            part = torch.cat(portion, dim)
            if part.requires_grad:
                tracked.set()
                return
            target = out.narrow(dim, at, part.size(dim))
            if part.shape != target.shape:  # which `copy_` would stretch
                raise RuntimeError(f"shapes differ: {list(part.shape)} does not fit {shape} along dimension {dim}")
            target.copy_(part)
            at += part.size(dim)

    num_threads = torch.get_num_threads()
    ends = [len(pieces) * i // num_threads for i in range(num_threads + 1)]
    threads.run([partial(copy_run, *run) for run in pairwise(ends)], num_threads)
    return None if tracked.is_set() else out


def portions(items: list[T], size: int = _PORTION) -> Iterator[list[T]]:
    """`items`, `size` at a time."""
    for begin in range(0, len(items), size):
        yield items[begin : begin + size]
