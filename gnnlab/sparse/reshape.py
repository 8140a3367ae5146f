"""Other numbers of rows and columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from gnnlab.sparse.storage import SparseStorage

if TYPE_CHECKING:
    from gnnlab.sparse.tensor import SparseTensor


def sparse_resize(src: SparseTensor, sparse_sizes: tuple[int, int]) -> SparseTensor:
    """The same entries in a matrix of `sparse_sizes` rows and columns.

    Raises ValueError where an entry would lie outside.
    """
    storage = src.storage
    out = SparseStorage(
        row=storage.row(),
        col=storage.col(),
        value=storage.value(),
        sparse_sizes=sparse_sizes,
        is_sorted=True,
    )
    return src.with_storage(out.replace(**storage.held("csr2csc", "csc2csr")))


def sparse_reshape(src: SparseTensor, num_rows: int, num_cols: int) -> SparseTensor:
    """The matrix, read row by row, as one of `num_rows` rows and `num_cols` columns; one of them
    may be -1: what is left.

    Raises ValueError where the number of cells would change.
    """
    rows, cols = src.sparse_sizes()
    if num_rows == -1 and num_cols > 0:
        num_rows = rows * cols // num_cols
    elif num_cols == -1 and num_rows > 0:
        num_cols = rows * cols // num_rows
    if num_rows * num_cols != rows * cols or num_rows < 0:
        found = f"({num_rows}, {num_cols})"
        raise ValueError(f"sizes must have {rows * cols} cells, as {src.sparse_sizes()}, found {found}")
    cell = src.storage.row() * cols + src.storage.col()
    row = torch.div(cell, max(num_cols, 1), rounding_mode="floor")
    return src.from_storage(
        SparseStorage(
            row=row,
            col=cell - row * num_cols,
            value=src.storage.value(),
            sparse_sizes=(num_rows, num_cols),
            trust_data=True,
        )
    )
