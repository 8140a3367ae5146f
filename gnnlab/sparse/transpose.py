"""The transpose, and the matrix joined with it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from gnnlab.sparse.coalesce import coalesce
from gnnlab.sparse.storage import SparseStorage

if TYPE_CHECKING:
    from gnnlab.sparse.tensor import SparseTensor


def t(src: SparseTensor) -> SparseTensor:
    """The transpose. The order `csr2csc` it takes is computed once and kept in `src`; every cache
    is handed on, to its mirror. What `is_transposed` says is turned around.
    """
    storage = src.storage
    order, value = storage.csr2csc(), storage.value()
    mirror = {
        "colptr": "rowptr",
        "colcount": "rowcount",
        "rowptr": "colptr",
        "rowcount": "colcount",
    }
    mirror |= {"csr2csc": "csc2csr", "csc2csr": "csr2csc"}
    index = {mirror[key]: part for key, part in storage.held(*mirror).items()}
    rows, cols = src.sparse_sizes()
    out = src.with_storage(
        SparseStorage.trusted(
            "row",
            index | {"row": storage.col()[order]},
            storage.row()[order],
            None if value is None else value[order],
            (cols, rows),
        )
    )
    if src.is_transposed is not None:
        out.is_transposed = not src.is_transposed
    return out


def to_symmetric(src: SparseTensor, reduce: str = "sum") -> SparseTensor:
    """[N, N]: the entries of the matrix and of its transpose, equal ones reduced by `reduce`; N is the larger size.

    With 'sum' the diagonal is doubled, as in torch_sparse. reduce: 'sum' (or 'add'), 'mean', 'min',
    'max'. The result is its own transpose, so that `is_transposed` is None.
    """
    size, value = max(src.sparse_sizes()), src.storage.value()
    row, col = src.storage.row(), src.storage.col()
    both = SparseStorage(
        row=torch.cat([row, col]),
        col=torch.cat([col, row]),
        value=None if value is None else torch.cat([value, value]),
        sparse_sizes=(size, size),
        trust_data=True,
    )
    return coalesce(src.from_storage(both), reduce)
