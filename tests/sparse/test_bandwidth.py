"""Distances from the diagonal, and the order that makes them small, beside NumPy and SciPy."""

import sys

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csgraph

from gnnlab.sparse import SparseTensor
from tests.sparse.matrices import check, dense, entries, matrices

ids = torch.tensor


@given(matrices(), st.integers(0, 4))
def test_distances_from_the_diagonal(src, width):
    distance = np.array([abs(row - col) for row, col, _ in entries(src)])
    if not len(distance):
        assert (src.bandwidth(), src.avg_bandwidth(), src.bandwidth_proportion(width)) == (0, 0.0, 1.0)
        return
    assert src.bandwidth() == distance.max()
    assert src.avg_bandwidth() == pytest.approx(distance.mean())
    assert src.bandwidth_proportion(width) == pytest.approx((distance <= width).mean())
    assert [type(number) for number in (src.bandwidth(), src.avg_bandwidth())] == [int, float]


@given(matrices(rows=6, cols=6, values=("none", "float64", "wide")))
def test_the_order_is_scipys_on_the_symmetric_matrix(src):
    out, perm = src.reverse_cuthill_mckee()
    symmetric = src if src.is_symmetric() else src.to_symmetric()
    pattern = symmetric.set_value(None).to_scipy("csr")
    expected = csgraph.reverse_cuthill_mckee(pattern, symmetric_mode=True)
    assert perm.tolist() == expected.tolist()
    assert perm.dtype == torch.int64
    assert (dense(check(out)) == dense(symmetric)[perm][:, perm]).all()


def test_a_shuffled_path_becomes_a_band():
    row, col = torch.arange(19), torch.arange(1, 20)
    path = SparseTensor(row=row, col=col, sparse_sizes=(20, 20)).to_symmetric()
    shuffled = path.permute(torch.randperm(20, generator=torch.Generator().manual_seed(0)))
    assert shuffled.bandwidth() > 10
    assert shuffled.reverse_cuthill_mckee()[0] == path


def test_symmetry_can_be_said():
    src = SparseTensor(row=ids([0]), col=ids([1]), sparse_sizes=(2, 2))
    assert src.reverse_cuthill_mckee()[0].nnz() == src.reverse_cuthill_mckee(False)[0].nnz() == 2
    assert src.reverse_cuthill_mckee(True)[0].nnz() == 1
    assert SparseTensor.eye(2, 3).reverse_cuthill_mckee()[0].sizes() == [3, 3]
    with pytest.raises(ValueError, match=r"found \(2, 3\)"):
        SparseTensor.eye(2, 3).reverse_cuthill_mckee(is_symmetric=True)


def test_scipy_is_named_where_it_is_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "scipy.sparse.csgraph", None)
    with pytest.raises(ImportError, match="SciPy must be installed for reverse_cuthill_mckee"):
        SparseTensor.eye(2).reverse_cuthill_mckee()
