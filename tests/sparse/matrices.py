"""Random matrices of every make, and what has to hold for each of them."""

from typing import Any

import numpy as np
import torch
from hypothesis import strategies as st
from torch import Tensor

from gnnlab.sparse import SparseTensor
from gnnlab.sparse.storage import DERIVED, SparseStorage

MAX_SIZE = 6
VALUES = ("none", "float64", "wide", "int64", "bool")


@st.composite
def matrices(
    draw: st.DrawFn,
    rows: int | None = None,
    cols: int | None = None,
    values: tuple[str, ...] = VALUES,
    coalesced: bool = False,
) -> SparseTensor:
    """Any matrix: duplicates, columns in any order within a row, no rows, no entries, some caches."""
    rows = draw(st.integers(0, MAX_SIZE)) if rows is None else rows
    cols = draw(st.integers(0, MAX_SIZE)) if cols is None else cols
    cells = st.tuples(st.integers(0, rows - 1), st.integers(0, cols - 1))
    entries = draw(st.lists(cells, max_size=10, unique=coalesced)) if rows and cols else []
    keep_order = draw(st.booleans()) and not coalesced
    if keep_order:
        entries.sort(key=lambda entry: entry[0])
    row, col = torch.tensor(entries, dtype=torch.int64).view(-1, 2).t()
    out = SparseTensor(
        row=row,
        col=col,
        value=draw(value_of(len(entries), values)),
        sparse_sizes=(rows, cols),
        is_sorted=keep_order,
    )
    if draw(st.booleans()):
        out = with_rowptr(out)
    for key in draw(st.sets(st.sampled_from(DERIVED))):
        getattr(out.storage, key)()
    return out


@st.composite
def value_of(draw: st.DrawFn, nnz: int, kinds: tuple[str, ...]) -> Tensor | None:
    kind = draw(st.sampled_from(kinds))
    # Drawn by number: as single integers they would take most of the time of most tests.
    generator = torch.Generator().manual_seed(draw(st.integers(0, 1000)))
    wide = torch.randint(-9, 10, (nnz, 2), generator=generator)
    return {
        "none": None,
        "float64": wide[:, 0].double(),
        "wide": wide.float(),
        "int64": wide[:, 0].clone(),
        "bool": wide[:, 0] > 0,
    }[kind]


def with_rowptr(src: SparseTensor) -> SparseTensor:
    """The same matrix, made from row pointers instead of rows."""
    rowptr, col, value = src.csr()
    sizes = src.sparse_sizes()
    return SparseTensor(rowptr=rowptr, col=col, value=value, sparse_sizes=sizes, is_sorted=True, trust_data=True)


def entries(src: SparseTensor) -> list[tuple[int, int, Any]]:
    """Row, column and value of each entry, in order."""
    row, col, value = src.copy().coo()
    values = [None] * len(row) if value is None else value.tolist()
    return list(zip(row.tolist(), col.tolist(), values, strict=True))


def dense(src: SparseTensor) -> np.ndarray:
    """[M, N, ...]: the matrix by a loop over its entries; bools as 'any'."""
    value = src.storage.value()
    shape = src.sparse_sizes() if value is None else (*src.sparse_sizes(), *value.shape[1:])
    out = np.zeros(shape)
    for row, col, number in entries(src):
        out[row, col] += 1 if number is None else np.asarray(number, dtype=float)
    return out if value is None or value.dtype != torch.bool else (out > 0).astype(float)


def check(src: SparseTensor) -> SparseTensor:
    """Assert that rows are in order, ids in range, shapes right, and each cache what its name says."""
    storage = src.storage
    row, col, _ = src.copy().coo()
    held = storage.tensors()
    rows, cols = src.sparse_sizes()
    assert bool((row[1:] >= row[:-1]).all())
    fresh = SparseStorage(row=row, col=col, value=storage.value(), sparse_sizes=(rows, cols), is_sorted=True)
    for key in held.keys() & {"row", "rowptr", "rowcount", "colptr", "colcount"}:
        assert held[key].tolist() == getattr(fresh, key)().tolist(), key
    if "csr2csc" in held:
        assert sorted(held["csr2csc"].tolist()) == list(range(len(col)))
        assert col[held["csr2csc"]].tolist() == sorted(col.tolist())
    if "csc2csr" in held:
        order = storage.copy().csr2csc()
        assert held["csc2csr"][order].tolist() == list(range(len(col)))
    return src
