"""Sparse times dense on a GPU, in Triton: sums, means, minima and maxima of rows, what their gradients need, and the
dot products of entries. No atomic operation: every number has one program that adds it up, in an order that depends on
the matrix, the width and the dtype alone, so that equal input gives equal bits.

One program reduces one row, for one block of columns, several entries at a time; entry `k` of the row goes to lane
`k % BLOCK_K`, and the lanes are reduced at the end. Programs of neighbouring rows run side by side and share a block of
columns, which keeps it in the cache.

A row of more than `PIECE` entries is split where a multiple of `PIECE` falls among all entries; programs of their own
reduce the pieces, and `join_pieces` reduces what these found, in the order of the entries. A window of `PIECE` entries
meets two such rows at most, one at its first and one at its last entry. So there are two programs for each window,
which find their rows themselves: the processor need not know them, nor wait for them.

Shared by all:

- ptr: [num_rows + 1] int64. Row `i` has the entries `ptr[i]:ptr[i + 1]`; nnz in all.
- col: [nnz] int64. The row of `x` that an entry stands for.
- value: [nnz] of the dtype of `x`, or None for ones.
- x: [num_cols, width], as all matrices contiguous.
- steps: halvings that find one of `num_rows` rows: its number of bits.
- SUMS: the dtype that sums are formed in. What minima and maxima are taken of is rounded to the dtype of `x` first, as
  a tensor of messages would be.
"""

import triton
import triton.language as tl

#: Sizes that one compiled kernel serves whatever they are; of a width it knows whether 16 divides it.
_ANY = ["num_pieces", "num_rows", "nnz", "steps"]


@triton.jit(do_not_specialize=_ANY)
def reduce_rows(
    ptr,
    col,
    value,
    x,
    best,
    given,
    out,
    partial,
    num_pieces,
    num_rows,
    nnz,
    width,
    steps,
    KIND: tl.constexpr,
    START: tl.constexpr,
    SUMS: tl.constexpr,
    PIECE: tl.constexpr,
    BLOCK_K: tl.constexpr,
    BLOCK_F: tl.constexpr,
):
    """Reduce short rows into `out`, [num_rows, width], and pieces of long ones into `partial`, [num_pieces, width].

    Programs: (num_pieces + num_rows, blocks of columns), pieces first. num_pieces is 0 where no row can be long.

    KIND: "sum", "mean", "min" or "max" of the rows of `x` times values, 0 for a row without entries. With what the
    extreme was, best: [num_rows, width], and its gradient, given: [num_rows, width], also

    - "ties": `given` shared evenly by the entries that reach `best`;
    - "back", along the transposed matrix, whose rows are those of `x`: the gradient for `x`. given: what "ties" found.

    START: what changes nothing when reduced.
    """
    number = tl.program_id(0).to(tl.int64)
    f = tl.program_id(1) * BLOCK_F + tl.arange(0, BLOCK_F)
    is_piece = number < num_pieces
    if is_piece:
        row, first, last, begin, end = _piece(ptr, number, num_rows, nnz, steps, PIECE)
    else:
        row = number - num_pieces
        first, last = tl.load(ptr + row), tl.load(ptr + row + 1)
        begin, end = first, tl.where(last - first > PIECE, first, last)
    inside = f < width
    own = row * width + f
    if KIND == "ties":
        mine = tl.load(best + own, mask=inside, other=0).to(SUMS)[None, :]
    if KIND == "back":
        mine = tl.load(x + own, mask=inside, other=0).to(SUMS)[None, :]
    lanes = tl.full([BLOCK_K, BLOCK_F], START, SUMS)
    for start in range(begin, end, BLOCK_K):
        k = start + tl.arange(0, BLOCK_K)
        here = (k < end)[:, None] & inside[None, :]
        at = tl.load(col + k, mask=k < end, other=0).to(tl.int64)[:, None] * width + f[None, :]
        if KIND == "back":
            shared = tl.load(given + at, mask=here, other=0).to(SUMS)
            reached = tl.load(best + at, mask=here, other=0).to(SUMS)
            hit = _message(mine, value, k, k < end, SUMS, x.dtype.element_ty) == reached
            part = tl.where(hit & here, _weighted(shared, value, k, k < end, SUMS), 0)
        else:
            rows = tl.load(x + at, mask=here, other=0).to(SUMS)
            if KIND == "sum" or KIND == "mean":
                part = _weighted(rows, value, k, k < end, SUMS)
            else:
                part = _message(rows, value, k, k < end, SUMS, x.dtype.element_ty)
                part = (part == mine).to(SUMS) if KIND == "ties" else part
                part = tl.where(here, part, START)
        lanes = _both(lanes, part, KIND)
    total = _over_lanes(lanes, KIND)
    if is_piece:
        tl.store(partial + number * width + f, total, mask=inside & (begin < end))
    else:
        _finish(total, first, last, given, out, own, inside & (last - first <= PIECE), KIND)


@triton.jit(do_not_specialize=_ANY[1:])
def join_pieces(
    ptr,
    given,
    out,
    partial,
    num_rows,
    nnz,
    width,
    steps,
    KIND: tl.constexpr,
    START: tl.constexpr,
    SUMS: tl.constexpr,
    PIECE: tl.constexpr,
    BLOCK_K: tl.constexpr,
    BLOCK_F: tl.constexpr,
):
    """Reduce what `reduce_rows` found of the pieces of long rows into `out`.

    Programs: (num_pieces, blocks of columns). The one of a row's first piece reduces all of them, in their order.
    """
    number = tl.program_id(0).to(tl.int64)
    f = tl.program_id(1) * BLOCK_F + tl.arange(0, BLOCK_F)
    inside = f < width
    row, first, last, begin, end = _piece(ptr, number, num_rows, nnz, steps, PIECE)
    opens = (begin == first) & (begin < end)
    window = number // 2
    count = tl.where(opens, (last - 1) // PIECE - window + 1, 0)
    lanes = tl.full([BLOCK_K, BLOCK_F], START, SUMS)
    for start in range(0, count, BLOCK_K):
        k = start + tl.arange(0, BLOCK_K)
        here = (k < count)[:, None] & inside[None, :]
        at = tl.where(k == 0, number, 2 * (window + k))[:, None] * width + f[None, :]
        lanes = _both(lanes, tl.load(partial + at, mask=here, other=START), KIND)
    total = _over_lanes(lanes, KIND)
    _finish(total, first, last, given, out, row * width + f, inside & opens, KIND)


@triton.jit(do_not_specialize=_ANY[1:])
def dot_entries(
    ptr,
    col,
    value,
    a,
    b,
    best,
    dots,
    num_rows,
    nnz,
    width,
    steps,
    SUMS: tl.constexpr,
    BLOCK_K: tl.constexpr,
    BLOCK_F: tl.constexpr,
):
    """For each entry the dot product of its row of `a` and of `b`: a product sampled by a sparse matrix (SDDMM).

    One program for BLOCK_K entries; column `f` goes to lane `f % BLOCK_F`.

    a: [num_rows, width]. b: [num_cols, width]. dots: [nnz], written.
    best: [num_rows, width], what an extreme of `b` was, to leave out numbers that do not reach it; None to take all.
    """
    k = tl.program_id(0).to(tl.int64) * BLOCK_K + tl.arange(0, BLOCK_K)
    row = _row_of(ptr, k, num_rows, steps)[:, None]
    at = tl.load(col + k, mask=k < nnz, other=0).to(tl.int64)[:, None]
    lanes = tl.full([BLOCK_K, BLOCK_F], 0, SUMS)
    for start in range(0, width, BLOCK_F):
        f = (start + tl.arange(0, BLOCK_F))[None, :]
        here = (k < nnz)[:, None] & (f < width)
        left = tl.load(a + row * width + f, mask=here, other=0).to(SUMS)
        right = tl.load(b + at * width + f, mask=here, other=0).to(SUMS)
        part = left * right
        if best is not None:
            reached = tl.load(best + row * width + f, mask=here, other=0).to(SUMS)
            part = tl.where(_message(right, value, k, k < nnz, SUMS, b.dtype.element_ty) == reached, part, 0)
        lanes += part
    tl.store(dots + k, tl.sum(lanes, 1).to(dots.dtype.element_ty), mask=k < nnz)


@triton.jit
def _row_of(ptr, entry, num_rows, steps):
    """The row of one entry, or of each of several; the last that begins before it, past the last entry."""
    low = entry * 0
    high = low + num_rows
    for _ in range(steps):
        middle = (low + high) // 2
        later = tl.load(ptr + middle) <= entry
        low, high = tl.where(later, middle, low), tl.where(later, high, middle)
    return low


@triton.jit
def _piece(ptr, number, num_rows, nnz, steps, PIECE: tl.constexpr):
    """Of a window of entries, the long row that its first (even numbers) or last entry belongs to: the row, where it
    begins and ends, and where its part of the window does; an empty part if there is no such row.
    """
    window = (number // 2) * PIECE
    stop = tl.minimum(window + PIECE, nnz)
    of_first = number % 2 == 0
    row = _row_of(ptr, tl.where(of_first, window, stop - 1), num_rows, steps)
    first, last = tl.load(ptr + row), tl.load(ptr + row + 1)
    wanted = (last - first > PIECE) & (of_first | (first > window))
    begin = tl.maximum(first, window)
    return row, first, last, begin, tl.where(wanted, tl.minimum(last, stop), begin)


@triton.jit
def _weighted(rows, value, k, inside, SUMS: tl.constexpr):
    """Rows of numbers, times the values of the entries `k`."""
    if value is not None:
        rows = rows * tl.load(value + k, mask=inside, other=0).to(SUMS)[:, None]
    return rows


@triton.jit
def _message(rows, value, k, inside, SUMS: tl.constexpr, DTYPE: tl.constexpr):
    """The same, rounded to another dtype."""
    return _weighted(rows, value, k, inside, SUMS).to(DTYPE).to(SUMS)


@triton.jit
def _both(a, b, KIND: tl.constexpr):
    """Two numbers reduced to one."""
    if KIND == "min":
        found = _least(a, b)
    elif KIND == "max":
        found = _greatest(a, b)
    else:
        found = a + b
    return found


@triton.jit
def _over_lanes(lanes, KIND: tl.constexpr):
    if KIND == "min":
        found = tl.reduce(lanes, 0, _least)
    elif KIND == "max":
        found = tl.reduce(lanes, 0, _greatest)
    else:
        found = tl.sum(lanes, 0)
    return found


@triton.jit
def _least(a, b):
    """What is not a number wins."""
    return tl.where((a < b) | (a != a), a, b)


@triton.jit
def _greatest(a, b):
    return tl.where((a > b) | (a != a), a, b)


@triton.jit
def _finish(total, first, last, given, out, own, inside, KIND: tl.constexpr):
    """Write what a row, of the entries first:last, was reduced to."""
    if KIND == "mean":
        total = _divided(total, tl.maximum(last - first, 1).to(total.dtype))
    if KIND == "min" or KIND == "max":
        total = tl.where(first < last, total, 0)
    if KIND == "ties":
        total = _divided(tl.load(given + own, mask=inside, other=0).to(total.dtype), tl.maximum(total, 1))
    tl.store(out + own, total.to(out.dtype.element_ty), mask=inside)


@triton.jit
def _divided(a, b):
    """The quotient, rounded to nearest; in float32 `/` alone is not."""
    return tl.div_rn(a, b + tl.zeros_like(a)) if a.dtype == tl.float32 else a / b
