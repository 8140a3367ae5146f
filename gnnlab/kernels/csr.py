"""Reordering the entries of a sparse matrix."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from gnnlab.kernels.jit import compile

Ids = NDArray[np.integer[Any]]


def by_column(rowptr: Ids, col: Ids, colptr: Ids, order: Ids, row: Ids) -> None:
    """Sort the entries of a matrix in row order by column, keeping their order within a column (counting sort).

    Serial over columns, then entries; allocates one number a column; its order is fixed.

    Args:
        rowptr: `[num_rows + 1]` int64. Where each row begins.
        col: `[nnz]`. The column of each entry, each in `0..num_cols - 1`.
        colptr: `[num_cols + 1]` int64, written. Where each column begins once sorted.
        order: `[nnz]` int64, written. The entry that comes at each place.
        row: `[nnz]` int64, written. The row of the entry at each place.
    """
    colptr[:] = 0
    for k in range(col.shape[0]):
        colptr[col[k] + 1] += 1
    for j in range(colptr.shape[0] - 1):
        colptr[j + 1] += colptr[j]
    place = colptr.copy()
    for i in range(rowptr.shape[0] - 1):
        for k in range(rowptr[i], rowptr[i + 1]):
            at = place[col[k]]
            place[col[k]] += 1
            order[at] = k
            row[at] = i


by_column = compile(by_column)
