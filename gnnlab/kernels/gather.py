"""Ragged gather: the parts of several graphs, picked out of a block and laid one after another."""

import numpy as np
from numpy.typing import NDArray

from gnnlab.kernels.jit import compile

Ids = NDArray[np.int64]


def part_bounds(slices: Ids, index: Ids, starts: Ids, ends: Ids) -> int:
    """Where the parts of graphs `index` begin in the block, and where they go in the result.

    Serial over graphs; allocates nothing; its order is fixed.

    Args:
        slices: `[num_graphs + 1]` int64. Where the part of each graph of the block begins and ends.
        index: `[n]` int64. The graphs wanted, each in `0..num_graphs - 1`.
        starts: `[n]` int64, written. Where each part begins in the block.
        ends: `[n + 1]` int64, written. Running sums of the parts' sizes, from 0.

    Returns:
        The size of all parts together; -1 if one of them does not lie within `0..slices[-1]`.
    """
    total = 0
    limit = slices[slices.shape[0] - 1]
    ends[0] = 0
    for i in range(index.shape[0]):
        graph = index[i]
        start, stop = slices[graph], slices[graph + 1]
        if start < 0 or stop < start or stop > limit:
            return -1
        starts[i] = start
        total += stop - start
        ends[i + 1] = total
    return total


def gather_parts(block: NDArray, starts: Ids, ends: Ids, out: NDArray) -> None:  # type: ignore[type-arg]
    """Copy parts of `block` into `out`, one after another.

    Serial over rows, then parts; allocates nothing; its order is fixed.

    Args:
        block: `[rows, block_size, words]`, any dtype. Parts are ranges of the middle dimension.
        starts: `[n]` int64. Where each part begins in the block.
        ends: `[n + 1]` int64. Where each part begins and ends in `out`.
        out: `[rows, ends[-1], words]`, written.
    """
    for row in range(block.shape[0]):
        for i in range(starts.shape[0]):
            source = block[row, starts[i] : starts[i] + ends[i + 1] - ends[i]].reshape(-1)
            target = out[row, ends[i] : ends[i + 1]].reshape(-1)
            for k in range(source.size):
                target[k] = source[k]


def gather_turned(block: NDArray, starts: Ids, ends: Ids, out: NDArray) -> None:  # type: ignore[type-arg]
    """Copy parts of `block` into `out`, one after another, and turn their first two dimensions round.

    Serial over rows, then parts, then their entries; allocates nothing; its order is fixed.

    Args:
        block: `[block_size, rows, words]`, any dtype. Parts are ranges of the first dimension.
        starts: `[n]` int64. Where each part begins in the block.
        ends: `[n + 1]` int64. Where each part begins and ends in `out`.
        out: `[rows, ends[-1], words]`, written.
    """
    for row in range(out.shape[0]):
        for i in range(starts.shape[0]):
            source = block[starts[i] : starts[i] + ends[i + 1] - ends[i], row]
            target = out[row, ends[i] : ends[i + 1]]
            for word in range(out.shape[2]):
                for k in range(target.shape[0]):
                    target[k, word] = source[k, word]


def join_parts(memory: NDArray, starts: Ids, ends: Ids, out: NDArray) -> None:  # type: ignore[type-arg]
    """Join parts that lie anywhere in `memory`, each with its rows one after another, along the second dimension.

    Serial over parts, then rows; allocates nothing; its order is fixed.

    Args:
        memory: `[size]`, any dtype.
        starts: `[n]` int64. Where each part begins in `memory`.
        ends: `[n + 1]` int64. Where each part begins and ends in a row of `out`.
        out: `[rows, columns]`, written between `ends[0]` and `ends[-1]`.
    """
    for i in range(starts.shape[0]):
        size = ends[i + 1] - ends[i]
        for row in range(out.shape[0]):
            start = starts[i] + row * size
            source = memory[start : start + size]
            target = out[row, ends[i] : ends[i + 1]]
            for k in range(source.size):
                target[k] = source[k]


def shift_parts(values: Ids, ends: Ids, steps: Ids) -> None:
    """Add `steps[row, i]` to part `i` of every row of `values`, in place.

    Serial over rows, then parts; allocates nothing; its order is fixed.

    Args:
        values: `[rows, ends[-1]]` int64.
        ends: `[n + 1]` int64. Where each part begins and ends.
        steps: `[rows, n]` int64.
    """
    for row in range(values.shape[0]):
        line = values[row]
        for i in range(steps.shape[1]):
            step = steps[row, i]
            for k in range(ends[i], ends[i + 1]):
                line[k] += step


part_bounds, gather_parts, gather_turned = compile(part_bounds), compile(gather_parts), compile(gather_turned)
join_parts, shift_parts = compile(join_parts), compile(shift_parts)
