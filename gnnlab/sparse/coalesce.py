"""Entries that are there more than once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from gnnlab.sparse.pointers import in_strict_order, stable_order
from gnnlab.sparse.reduce import scatter
from gnnlab.sparse.storage import SparseStorage

if TYPE_CHECKING:
    from gnnlab.sparse.tensor import SparseTensor


def is_coalesced(src: SparseTensor) -> bool:
    """Whether the columns of each row are in order, and none is there twice."""
    return in_strict_order(src.storage.row(), src.storage.col())


def coalesce(src: SparseTensor, reduce: str = "sum") -> SparseTensor:
    """The matrix with each entry once, its values reduced by `reduce`, and the columns of each row in order.

    reduce: 'sum' (or 'add'), 'mean', 'min', 'max'. Returns `src` itself if there is nothing to do.
    """
    if is_coalesced(src):
        return src
    row, col, value = src.coo()
    order = stable_order(row, col, src.sparse_sizes())
    row, col = row[order], col[order]
    first = torch.ones_like(row, dtype=torch.bool)
    first[1:] = (row[1:] != row[:-1]) | (col[1:] != col[:-1])
    if value is not None:
        entry = first.cumsum(0) - 1
        value = scatter(value[order], entry, int(entry[-1]) + 1, reduce)
    return src.with_storage(SparseStorage.trusted("row", {"row": row[first]}, col[first], value, src.sparse_sizes()))
