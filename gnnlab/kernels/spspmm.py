"""A sparse matrix times a sparse matrix, a row at a time: which entries the product has, and what goes into them.

Entry (i, j) of the product is the sum of `a[i, k] * b[k, j]` over the k that both have. All three matrices are given in
row order (CSR), and so is what these kernels are serial over: rows, then entries of `a`, then those of `b`. Their order
is fixed. Method: Gustavson, https://doi.org/10.1145/355791.355796

Shared by all:

- ptr_a, ptr_b, ptr: `[rows + 1]` int64. Where each row of a, b and the product begins.
- col_a, col_b, col: `[nnz]` int64. The column of each entry.
- spot: `[num_cols]` int64, overwritten.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from gnnlab.kernels.jit import compile

Ids = NDArray[np.int64]
Array = NDArray[Any]

#: Which of the three matrices is added to.
A, B, PRODUCT = 0, 1, 2


def count_entries(ptr_a: Ids, col_a: Ids, ptr_b: Ids, col_b: Ids, ptr: Ids, spot: Ids) -> None:
    """Write into `ptr` where the rows of the product begin. Allocates nothing."""
    spot[:] = -1
    ptr[0] = 0
    for i in range(ptr_a.shape[0] - 1):
        count = 0
        for k in range(ptr_a[i], ptr_a[i + 1]):
            for m in range(ptr_b[col_a[k]], ptr_b[col_a[k] + 1]):
                if spot[col_b[m]] != i:
                    spot[col_b[m]] = i
                    count += 1
        ptr[i + 1] = ptr[i] + count


def find_entries(ptr_a: Ids, col_a: Ids, ptr_b: Ids, col_b: Ids, ptr: Ids, col: Ids, spot: Ids) -> None:
    """Write into `col`, `[ptr[-1]]`, the columns of each row of the product, in order. Allocates nothing."""
    spot[:] = -1
    for i in range(ptr_a.shape[0] - 1):
        end = ptr[i]
        for k in range(ptr_a[i], ptr_a[i + 1]):
            for m in range(ptr_b[col_a[k]], ptr_b[col_a[k] + 1]):
                if spot[col_b[m]] != i:
                    spot[col_b[m]] = i
                    col[end] = col_b[m]
                    end += 1
        col[ptr[i] : end].sort()


def add_products(
    ptr_a: Ids, col_a: Ids, ptr_b: Ids, col_b: Ids, ptr: Ids, col: Ids, spot: Ids, a: Array, b: Array, c: Array, to: int
) -> None:
    """For every pair of entries that meet add the product of two values to the third. Allocates nothing.

    The sum of `a * b * c` over all pairs is linear in each of the three: with `to=PRODUCT` this is the product, and
    with `to=A` or `to=B` the gradients of it, for which `c` holds the gradient of the product.

    Args:
        a, b, c: `[nnz, width]` of one dtype. Values of a, of b and of the product; the one that `to` names is written.
        to: `A`, `B` or `PRODUCT`.
    """
    width = a.shape[1]
    for i in range(ptr_a.shape[0] - 1):
        for p in range(ptr[i], ptr[i + 1]):
            spot[col[p]] = p
        for k in range(ptr_a[i], ptr_a[i + 1]):
            for m in range(ptr_b[col_a[k]], ptr_b[col_a[k] + 1]):
                p = spot[col_b[m]]
                for f in range(width):
                    if to == PRODUCT:
                        c[p, f] += a[k, f] * b[m, f]
                    elif to == A:
                        a[k, f] += b[m, f] * c[p, f]
                    else:
                        b[m, f] += a[k, f] * c[p, f]


count_entries, find_entries = compile(count_entries), compile(find_entries)
add_products = compile(add_products)
