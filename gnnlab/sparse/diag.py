"""The diagonal, and those beside it: `k` above (or, negative, below) the main one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from gnnlab.sparse.reduce import scatter
from gnnlab.sparse.select import keep_entries
from gnnlab.sparse.storage import SparseStorage

if TYPE_CHECKING:
    from gnnlab.sparse.tensor import SparseTensor


def _diag_rows(src: SparseTensor, k: int) -> Tensor:
    """[n] int64: the rows that the `k`-th diagonal passes through."""
    rows, cols = src.sparse_sizes()
    first, last = max(0, -k), min(rows, cols - k)
    return torch.arange(first, max(first, last), device=src.device())


def remove_diag(src: SparseTensor, k: int = 0) -> SparseTensor:
    """The matrix without the entries of the `k`-th diagonal."""
    off = src.storage.col() - src.storage.row() != k
    return src.with_storage(keep_entries(src.storage, off))


def set_diag(src: SparseTensor, values: Tensor | None = None, k: int = 0) -> SparseTensor:
    """The matrix with every entry of the `k`-th diagonal there, once, with `values`; those that were there are dropped.

    values: [n] or [n, ...], one for each entry of the diagonal, or what expands to it; None means
    ones. Ignored in a matrix without values.

    Raises ValueError if `values` does not expand to [n, ...].
    """
    rest = keep_entries(src.storage, src.storage.col() - src.storage.row() != k)
    row, col, value = rest.row(), rest.col(), rest.value()
    on = _diag_rows(src, k)

    # In each row the entry goes behind those that come before the diagonal, and moves the others,
    # and all later rows, by one.
    before = torch.bincount(row[col < row + k], minlength=src.sparse_size(0))
    spot = rest.rowptr()[on] + before[on] + torch.arange(on.numel(), device=src.device())
    is_diag = torch.zeros(row.numel() + on.numel(), dtype=torch.bool, device=src.device())
    is_diag[spot] = True
    order = torch.empty(is_diag.numel(), dtype=torch.int64, device=src.device())
    order[~is_diag] = torch.arange(row.numel(), device=src.device())
    order[spot] = torch.arange(row.numel(), order.numel(), device=src.device())

    if value is not None:
        value = torch.cat([value, _diag_values(value, values, on.numel())])[order]
    row, col = torch.cat([row, on])[order], torch.cat([col, on + k])[order]
    return src.with_storage(SparseStorage.trusted("row", {"row": row}, col, value, src.sparse_sizes()))


def _diag_values(like: Tensor, values: Tensor | None, n: int) -> Tensor:
    """[n, ...] as `like`: the values of the diagonal."""
    shape = (n, *like.shape[1:])
    if values is None:
        return like.new_ones(shape)
    values = values.to(device=like.device, dtype=like.dtype)
    if values.dim() == 1 and len(shape) > 1:
        values = values.view(-1, *[1] * (len(shape) - 1))
    try:
        return values.expand(shape)
    except RuntimeError:
        found = list(values.shape)
        raise ValueError(f"values must expand to {list(shape)}, found shape {found}") from None


def fill_diag(src: SparseTensor, fill_value: float, k: int = 0) -> SparseTensor:
    """The matrix with every entry of the `k`-th diagonal there once, with one value."""
    value = src.storage.value()
    if value is None:
        return set_diag(src, k=k)
    return set_diag(src, value.new_tensor(fill_value), k)


def get_diag(src: SparseTensor) -> Tensor:
    """[min(M, N), ...]: the values of the main diagonal; 0 where no entry is, the sum where there are several.

    In a matrix without values an entry counts as 1.
    """
    value = src.storage.value()
    if value is None:
        value = torch.ones(src.nnz(), dtype=src.dtype(), device=src.device())
    row = src.storage.row()
    on = row == src.storage.col()
    return scatter(value[on], row[on], min(src.sparse_sizes()), "sum")
