"""A sparse matrix in row order (CSR) times dense rows: sums, means, minima and maxima, and what their gradients need.

All kernels work on a range of rows of the sparse matrix, so that ranges can run side by side; a row is always worked
through from its first entry to its last, so that the result has the same bits for any split. They allocate a few
scratch rows.

Dense rows and values may be of 16-bit floating-point numbers, given as uint16 (see `gnnlab.kernels.halves`, whose
constants `half` is one of): they are widened a row at a time, and sums are kept in float32. What minima and maxima are
taken of is rounded to 16 bits first, as a tensor of messages would be.

Shared by all:

- ptr: `[num_rows + 1]` int64. Row `i` has the entries `ptr[i]:ptr[i + 1]`.
- col: `[nnz]` integer. The row of `x` that an entry stands for.
- value: `[nnz, 1]` of the dtype of `x`, or `None` for ones.
- x: `[num_cols, width]`, contiguous, as all other matrices.
- begin, end: the range of rows.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from gnnlab.kernels.halves import PLAIN, either, entry, fetch, place, store, times
from gnnlab.kernels.jit import compile, prefetch

Array = NDArray[Any]

#: How far ahead, in bytes of dense rows, memory is asked for what it holds.
_AHEAD = 8192

#: Bytes of dense rows that are taken to be in the cache anyway.
_NEAR = 1 << 20

#: Numbers of which one is asked for, since memory gives the others along with it (64 bytes, of float32).
_LINE = 16


def sum_rows(
    ptr: Array, col: Array, value: Array | None, x: Array, out: Array, begin: int, end: int, mean: bool, half: int
) -> None:
    """Add up the rows of `x` that the entries of each row stand for, times their values, into `out`.

    Four rows are added at a time, which reads and writes the sum a quarter as often.

    Args:
        out: `[num_rows, width]` of the dtype of `x`, written.
        mean: divide by the number of entries.
    """
    width, ahead, last = x.shape[1], _rows_ahead(x), col.shape[0] - 1
    asked = 4 if x.size * x.itemsize > _NEAR else 0
    wide = np.empty((5, width if half else 0), np.float32)
    rows, total, bits = either(x, wide), either(out, wide), wide.view(np.uint32)
    one = np.ones((1, 1), rows.dtype)
    one_bits = one.view(np.uint32)
    for i in range(begin, end):
        t = place(out, i)
        for f in range(width):
            total[t, f] = 0
        k, stop = ptr[i], ptr[i + 1]
        while k + 4 <= stop:
            for near in range(k + ahead, k + ahead + asked):
                later = col[min(near, last)]
                for f in range(0, width, _LINE):
                    prefetch(x, later, f)
            p, q = entry(value, k, one, one_bits, half), entry(value, k + 1, one, one_bits, half)
            r, s = entry(value, k + 2, one, one_bits, half), entry(value, k + 3, one, one_bits, half)
            a, b = fetch(x, col[k], wide, bits, 1, half), fetch(x, col[k + 1], wide, bits, 2, half)
            c, d = fetch(x, col[k + 2], wide, bits, 3, half), fetch(x, col[k + 3], wide, bits, 4, half)
            for f in range(width):
                total[t, f] += (p * rows[a, f] + q * rows[b, f]) + (r * rows[c, f] + s * rows[d, f])
            k += 4
        while k < stop:
            later = col[min(k + ahead, last)]
            for f in range(0, width if asked else 0, _LINE):
                prefetch(x, later, f)
            p, a = entry(value, k, one, one_bits, half), fetch(x, col[k], wide, bits, 1, half)
            for f in range(width):
                total[t, f] += p * rows[a, f]
            k += 1
        if mean and stop - ptr[i] > 1:
            for f in range(width):
                total[t, f] /= stop - ptr[i]
        store(out, i, bits, half)


def extreme(
    ptr: Array, col: Array, value: Array | None, x: Array, out: Array, begin: int, end: int, greatest: bool, half: int
) -> None:
    """The least or `greatest` of the rows of `x` that the entries of each row stand for, times their values; 0 for rows
    without entries. What is not a number wins.

    Args:
        out: `[num_rows, width]` of the dtype of `x`, written.
    """
    width, ahead, last = x.shape[1], _rows_ahead(x), col.shape[0] - 1
    wide, rounded = np.empty((2, width if half else 0), np.float32), np.empty((1, width), np.uint16)
    rows, best, bits = either(x, wide), either(out, wide), wide.view(np.uint32)
    one = np.ones((1, 1), rows.dtype)
    one_bits, factor = one.view(np.uint32), one[0, 0]
    for i in range(begin, end):
        t = place(out, i)
        for f in range(width):
            best[t, f] = 0
        for k in range(ptr[i], ptr[i + 1]):
            later = col[min(k + ahead, last)]
            for f in range(0, width, _LINE):
                prefetch(x, later, f)
            a, w = fetch(x, col[k], wide, bits, 1, half), entry(value, k, one, one_bits, half)
            if half != PLAIN:
                times(wide, bits, 1, w, rounded, half)
            else:
                factor = w
            if k == ptr[i]:
                for f in range(width):
                    best[t, f] = factor * rows[a, f]
            elif greatest:
                for f in range(width):
                    m = factor * rows[a, f]
                    best[t, f] = m if m > best[t, f] or m != m else best[t, f]
            else:
                for f in range(width):
                    m = factor * rows[a, f]
                    best[t, f] = m if m < best[t, f] or m != m else best[t, f]
        store(out, i, bits, half)


def ties(
    ptr: Array,
    col: Array,
    value: Array | None,
    x: Array,
    out: Array,
    grad: Array,
    shared: Array,
    begin: int,
    end: int,
    half: int,
) -> None:
    """The gradient of `extreme`, shared evenly by the entries that tie.

    Args:
        out: `[num_rows, width]`. What `extreme` found.
        grad: `[num_rows, width]` of the dtype of `x`. The gradient of `out`.
        shared: `[num_rows, width]`, float32 for 16-bit numbers, written: the part of `grad` for each entry that equals
            `out`.
    """
    width, ahead, last = x.shape[1], _rows_ahead(x), col.shape[0] - 1
    wide, rounded = np.empty((3, width if half else 0), np.float32), np.empty((1, width), np.uint16)
    rows, best, parts, bits = either(x, wide), either(out, wide), either(grad, wide), wide.view(np.uint32)
    one = np.ones((1, 1), rows.dtype)
    one_bits, factor = one.view(np.uint32), one[0, 0]
    for i in range(begin, end):
        t, g = fetch(out, i, wide, bits, 0, half), fetch(grad, i, wide, bits, 1, half)
        for f in range(width):
            shared[i, f] = 0
        for k in range(ptr[i], ptr[i + 1]):
            later = col[min(k + ahead, last)]
            for f in range(0, width, _LINE):
                prefetch(x, later, f)
            a, w = fetch(x, col[k], wide, bits, 2, half), entry(value, k, one, one_bits, half)
            if half != PLAIN:
                times(wide, bits, 2, w, rounded, half)
            else:
                factor = w
            for f in range(width):
                shared[i, f] += 1 if factor * rows[a, f] == best[t, f] else 0
        for f in range(width):
            shared[i, f] = parts[g, f] / max(shared[i, f], 1)


def extreme_back(
    ptr: Array,
    row: Array,
    value: Array | None,
    x: Array,
    out: Array,
    shared: Array,
    grad: Array,
    begin: int,
    end: int,
    half: int,
) -> None:
    """The gradient of `extreme` for `x`, along the transposed matrix: row `j` of it has the entries of column `j`.

    Args:
        row: `[nnz]` integer. The row of each entry, taken by column.
        value: `[nnz, 1]` taken by column, or `None`.
        out: `[num_rows, width]`. What `extreme` found.
        shared: `[num_rows, width]`. What `ties` found.
        grad: `[num_cols, width]` of the dtype of `x`, written.
    """
    width, ahead, last = x.shape[1], _rows_ahead(shared), row.shape[0] - 1
    wide, rounded = np.empty((3, width if half else 0), np.float32), np.empty((1, width), np.uint16)
    rows, best, total, bits = either(x, wide), either(out, wide), either(grad, wide), wide.view(np.uint32)
    one = np.ones((1, 1), rows.dtype)
    one_bits, factor = one.view(np.uint32), one[0, 0]
    for j in range(begin, end):
        t = place(grad, j)
        for f in range(width):
            total[t, f] = 0
        for k in range(ptr[j], ptr[j + 1]):
            near = row[min(k + ahead, last)]
            for f in range(0, width, _LINE):
                prefetch(out, near, f)
            for f in range(0, width, _LINE):
                prefetch(shared, near, f)
            i = row[k]
            a, b = fetch(x, j, wide, bits, 1, half), fetch(out, i, wide, bits, 2, half)
            w = entry(value, k, one, one_bits, half)
            if half != PLAIN:
                times(wide, bits, 1, w, rounded, half)
            else:
                factor = w
            for f in range(width):
                total[t, f] += w * shared[i, f] if factor * rows[a, f] == best[b, f] else 0
        store(grad, j, bits, half)


def entry_dots(
    ptr: Array,
    col: Array,
    value: Array | None,
    a: Array,
    b: Array,
    out: Array | None,
    dots: Array,
    begin: int,
    end: int,
    half: int,
) -> None:
    """For each entry the dot product of its row of `a` and of `b`: a product sampled by a sparse matrix (SDDMM).

    The numbers of an entry are added in an order that is the compiler's choice, the same for every entry and split.

    Args:
        a: `[num_rows, width]` of the dtype of `b`, or float32 for 16-bit numbers.
        b: `[num_cols, width]`.
        out: what `extreme` found of `b`, to leave out numbers that differ from it; or `None`, to take all.
        dots: `[nnz]` of the dtype of `a`, written for the entries of the range.
    """
    width, ahead, last = b.shape[1], _rows_ahead(b), col.shape[0] - 1
    wide, rounded = np.empty((4, width if half else 0), np.float32), np.empty((1, width), np.uint16)
    left, right, bits = either(a, wide), either(b, wide), wide.view(np.uint32)
    zero, one = np.zeros(1, dots.dtype), np.ones((1, 1), right.dtype)
    one_bits, factor = one.view(np.uint32), one[0, 0]
    for i in range(begin, end):
        p = fetch(a, i, wide, bits, 0, half)
        if out is not None:
            best, t = either(out, wide), fetch(out, i, wide, bits, 1, half)
        for k in range(ptr[i], ptr[i + 1]):
            later = col[min(k + ahead, last)]
            for f in range(0, width, _LINE):
                prefetch(b, later, f)
            q = fetch(b, col[k], wide, bits, 2, half)
            if out is not None:
                w, m = entry(value, k, one, one_bits, half), fetch(b, col[k], wide, bits, 3, half)
                if half != PLAIN:
                    times(wide, bits, 3, w, rounded, half)
                else:
                    factor = w
            total = zero[0]
            for f in range(width):
                if out is None:
                    total += left[p, f] * right[q, f]
                else:
                    total += left[p, f] * right[q, f] if factor * right[m, f] == best[t, f] else zero[0]
            dots[k] = total


def _rows_ahead(x: Array) -> int:
    """How many rows ahead memory is asked for."""
    return max(4, min(32, _AHEAD // max(x.shape[1] * x.itemsize, 1)))


_rows_ahead, entry_dots = compile(_rows_ahead), compile(entry_dots, any_order=True)
sum_rows, extreme, ties, extreme_back = compile(sum_rows), compile(extreme), compile(ties), compile(extreme_back)
