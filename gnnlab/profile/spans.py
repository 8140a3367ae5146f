"""Sets of bytes as address intervals.

A set of bytes is an array `[n, 2] int64` of (start, stop) addresses. Everything that counts memory
once (views of one storage, a storage seen by torch and by NumPy, a block and its cached graphs) is
a union or an overlap of such sets.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Spans = NDArray[np.int64]

EMPTY: Spans = np.empty((0, 2), dtype=np.int64)

# How the paths of shared memory begin in /proc/PID/maps.
SHARED_MEMORY = ("/dev/shm/", "/memfd:", "/dev/zero", "/SYSV")


def strided(address: int, shape: Sequence[int], strides: Sequence[int], itemsize: int) -> Spans:
    """The bytes that a strided view addresses, `strides` in bytes; overlaps are left in.

    >>> strided(100, (2, 3), (12, 4), 4).tolist()  # contiguous
    [[100, 124]]
    >>> strided(100, (2, 3), (40, 4), 4).tolist()  # three columns of ten
    [[100, 112], [140, 152]]
    """
    if 0 in shape:
        return EMPTY
    length = itemsize
    steps: list[tuple[int, int]] = []
    moving = [(s, n) for s, n in zip(strides, shape, strict=True) if n > 1 and s != 0]
    for stride, n in sorted((abs(s), n) for s, n in moving):
        if not steps and stride <= length:  # joins the run, or overlaps it as a sliding window does
            length += stride * (n - 1)
        else:
            steps.append((stride, n))
    starts = np.array([address + sum(s * (n - 1) for s, n in moving if s < 0)], dtype=np.int64)
    for stride, n in steps:
        starts = (starts[:, None] + stride * np.arange(n)).ravel()
    return np.stack([starts, starts + length], axis=1)


def union(*sets: Spans) -> Spans:
    """The union, sorted and disjoint."""
    spans = np.concatenate(sets) if sets else EMPTY
    if len(spans) <= 1:
        return spans
    spans = spans[np.argsort(spans[:, 0], kind="stable")]
    starts, stops = spans[:, 0], np.maximum.accumulate(spans[:, 1])
    gap = starts[1:] > stops[:-1]
    return np.stack([starts[np.append(True, gap)], stops[np.append(gap, True)]], axis=1)


def count(*sets: Spans) -> int:
    """Bytes in the union."""
    spans = union(*sets)
    return int((spans[:, 1] - spans[:, 0]).sum())


def overlap(a: Spans, b: Spans) -> int:
    """Bytes that `a` and `b` have in common."""
    return count(a) + count(b) - count(a, b)


def mappings() -> tuple[Spans, Spans] | None:
    """This process's mapped files and its shared memory; None where Linux's /proc is missing."""
    maps = Path("/proc/self/maps")
    if not maps.exists():
        return None
    files: list[tuple[int, int]] = []
    shared: list[tuple[int, int]] = []
    for line in maps.read_text(errors="replace").splitlines():
        addresses, _, _, _, inode, *path = line.split(maxsplit=5)
        if inode != "0":
            start, stop = (int(address, 16) for address in addresses.split("-"))
            (shared if path and path[0].startswith(SHARED_MEMORY) else files).append((start, stop))
    return _as_spans(files), _as_spans(shared)


def _as_spans(pairs: list[tuple[int, int]]) -> Spans:
    return np.array(pairs, dtype=np.int64).reshape(-1, 2)
