"""Joining matrices one below the other, side by side, or on the diagonal."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from gnnlab.sparse import checks
from gnnlab.sparse.pointers import cat_shifted
from gnnlab.sparse.storage import SparseStorage

if TYPE_CHECKING:
    from gnnlab.sparse.tensor import SparseTensor


def cat(tensors: Sequence[SparseTensor], dims: tuple[int, ...]) -> SparseTensor:
    """The matrices joined along `dims`: rows (0,), columns (1,), the diagonal (0, 1), or a
    dimension of the values (2 and on).

    Caches that all of them have are handed on where they stay right. `narrow` is the inverse, to
    the entry.

    Raises ValueError where some have values and some have none, where the shapes of a value differ, or
    the sizes of the other dimensions (torch_sparse drops the values, and takes the largest size, after which the
    parts cannot be told apart).
    """
    checks.same("has_value() of the matrices", [tensor.has_value() for tensor in tensors])
    for dim in {0, 1}.difference(dims):
        checks.same(f"sizes of dimension {dim}", [tensor.sparse_size(dim) for tensor in tensors])
    storages = [tensor.storage for tensor in tensors]
    if dims[0] > 1:
        return tensors[0].with_storage(_cat_values(storages, dims[0]), *tensors[1:])
    return tensors[0].with_storage(_cat_entries(storages, dims), *tensors[1:])


def _cat_values(storages: Sequence[SparseStorage], dim: int) -> SparseStorage:
    first = storages[0]
    for i, storage in enumerate(storages):
        if not torch.equal(storage.row(), first.row()) or not torch.equal(storage.col(), first.col()):
            raise ValueError(f"matrices joined along {dim} must have the same entries, {i} differs")
    return first.set_value(torch.cat(_values(storages), dim=dim - 1))


def _cat_entries(storages: Sequence[SparseStorage], dims: tuple[int, ...]) -> SparseStorage:
    rows, cols, entries = (
        [0, *accumulate(sizes)] for sizes in zip(*((*s.sparse_sizes(), s.nnz()) for s in storages), strict=True)
    )
    below, beside = 0 in dims, 1 in dims
    no_shift = [0] * len(storages)

    col = cat_shifted([s.col() for s in storages], cols[:-1] if beside else no_shift)
    values = _values(storages)
    checks.same("shapes of a value", [list(value.shape[1:]) for value in values])
    value = torch.cat(values) if values else None

    index: dict[str, Tensor] = {}
    for name, joined in (("row", below), ("col", beside)):
        if ptrs := _held(storages, f"{name}ptr"):
            index[f"{name}ptr"] = _cat_ptrs(ptrs, entries) if joined else _total(ptrs)
        if counts := _held(storages, f"{name}count"):
            index[f"{name}count"] = torch.cat(counts) if joined else _total(counts)
    for name in ("csr2csc", "csc2csr"):
        if below and beside and (orders := _held(storages, name)):
            index[name] = cat_shifted(orders, entries[:-1])

    given = "rowptr" if all(s.given() == "rowptr" for s in storages) else "row"
    if given == "row" or not below or _held(storages, "row"):
        # Rows are taken of copies, so that the matrices themselves keep no more than before.
        row = cat_shifted([s.copy().row() for s in storages], rows[:-1] if below else no_shift)
        if not below:  # row by row, in each row one matrix after the other
            row, order = torch.sort(row, stable=True)
            col, value = col[order], None if value is None else value[order]
        if given == "row" or _held(storages, "row"):
            index["row"] = row
    size = (rows[-1] if below else rows[1], cols[-1] if beside else cols[1])
    return SparseStorage.trusted(given, index, col, value, size)


def _held(storages: Sequence[SparseStorage], key: str) -> list[Tensor]:
    """The part `key` of all storages, if all of them have it; else nothing."""
    parts = [part for storage in storages for part in storage.held(key).values()]
    return parts if len(parts) == len(storages) else []


def _values(storages: Sequence[SparseStorage]) -> list[Tensor]:
    return [value for storage in storages if (value := storage.value()) is not None]


def _cat_ptrs(ptrs: Sequence[Tensor], entries: Sequence[int]) -> Tensor:
    return cat_shifted([ptrs[0], *(ptr[1:] for ptr in ptrs[1:])], entries[:-1])


def _total(parts: Sequence[Tensor]) -> Tensor:
    return sum(parts[1:], parts[0])
