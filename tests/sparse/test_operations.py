"""The diagonal, the transpose, duplicates, sizes and reductions, against NumPy on the dense matrix."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from gnnlab import sparse
from gnnlab.sparse import SparseTensor
from tests.sparse.matrices import check, dense, entries, matrices

ids = torch.tensor
REDUCE = {"sum": np.sum, "add": np.sum, "mean": np.mean, "min": np.min, "max": np.max}
numbers = matrices(values=("none", "float64", "wide"))


# The diagonal


@given(matrices(), st.integers(-7, 7))
def test_remove_diag_removes_it_and_nothing_else(src, k):
    rest = check(src.remove_diag(k))
    assert entries(rest) == [e for e in entries(src) if e[1] - e[0] != k]
    assert rest.sparse_sizes() == src.sparse_sizes()


@given(matrices(), st.integers(-7, 7))
def test_set_diag_has_each_entry_of_it_once(src, k):
    rows, cols = src.sparse_sizes()
    on = [(i, i + k) for i in range(rows) if 0 <= i + k < cols]
    filled = check(src.set_diag(k=k))
    assert [(i, j) for i, j, _ in entries(filled) if j - i == k] == on
    assert filled.remove_diag(k) == src.remove_diag(k)
    if src.is_coalesced():
        assert filled.is_coalesced()
    expected = dense(src.remove_diag(k))
    for i, j in on:
        expected[i, j] = 1
    assert (dense(filled) == expected).all()


def test_set_diag_takes_values_of_several_shapes():
    src = SparseTensor(row=ids([0, 1]), col=ids([1, 0]), value=ids([[1.0, 2.0], [3.0, 4.0]]))
    a_value_each = ids([[5.0, 6.0], [7.0, 8.0]])
    assert src.set_diag(a_value_each).get_diag().tolist() == a_value_each.tolist()
    assert src.set_diag(ids([5.0, 6.0])).get_diag().tolist() == [[5.0, 5.0], [6.0, 6.0]]
    assert src.fill_diag(9.0).get_diag().tolist() == [[9.0, 9.0], [9.0, 9.0]]
    assert src.set_value(None).set_diag(ids([5.0, 6.0])) == src.set_diag().set_value(None)
    assert src.set_value(None).fill_diag(3.0).nnz() == 4
    with pytest.raises(ValueError, match=r"expand to \[2, 2\], found shape \[3, 1\]"):
        src.set_diag(ids([5.0, 6.0, 7.0]))


@given(matrices(values=("none", "float64", "wide", "int64")))
def test_get_diag(src):
    full = dense(src)
    expected = [full[i, i].tolist() for i in range(min(src.sparse_sizes()))]
    assert src.get_diag().tolist() == expected


def test_gradients_flow_through_the_diagonal():
    src = SparseTensor.eye(2).fill_value(2.0).requires_grad_()
    diagonal = ids([3.0], requires_grad=True)
    (src.set_diag(diagonal, k=1).to_dense() ** 2).sum().backward()
    assert src.storage.value().grad.tolist() == [4.0, 4.0]
    assert diagonal.grad.tolist() == [6.0]


# The transpose, symmetry, duplicates


@settings(max_examples=50)
@given(matrices())
def test_the_transpose_of_the_transpose_is_the_matrix(src):
    turned = check(src.t())
    assert turned.sparse_sizes() == src.sparse_sizes()[::-1]
    assert (dense(turned) == dense(src).swapaxes(0, 1)).all()
    assert turned.t() == src
    filled = src.copy().fill_cache_()
    assert set(check(filled.t()).cache_info()) == set(SparseTensor.eye(1, fill_cache=True).cache_info())


@given(matrices(values=("none", "float64", "wide", "int64", "bool")), st.sampled_from(list(REDUCE)))
def test_coalesce_reduces_equal_entries(src, reduce):
    out = check(src.coalesce(reduce))
    assert out.is_coalesced()
    cells = {}
    for row, col, value in entries(src):
        cells.setdefault((row, col), []).append(value)
    assert [(row, col) for row, col, _ in entries(out)] == sorted(cells)
    if src.storage.value() is None or out is src:
        return
    for row, col, value in entries(out):
        expected = REDUCE[reduce](np.array(cells[row, col]), axis=0)
        if src.dtype() == torch.bool:
            expected = expected > 0 if reduce != "min" else expected
        if src.dtype() == torch.int64:
            expected = np.floor(expected)
        assert np.allclose(value, expected)


def test_is_coalesced_wants_columns_in_order_and_none_twice():
    def of(col):
        return SparseTensor(row=ids([0, 0]), col=ids(col), is_sorted=True).is_coalesced()

    assert (of([0, 1]), of([1, 0]), of([1, 1])) == (True, False, False)
    assert SparseTensor.eye(0).is_coalesced()


def test_an_unknown_reduction_is_named():
    src = SparseTensor(row=ids([0, 0]), col=ids([0, 0]), value=ids([1.0, 2.0]))
    for call in [src.coalesce, src.to_symmetric]:
        with pytest.raises(ValueError, match="one of sum, add, mean, min, max, found 'mul'"):
            call("mul")


@given(matrices(rows=4, cols=4, values=("none", "float64", "wide", "int64")))
def test_is_symmetric(src):
    full = dense(src)
    # A pattern is compared cell by cell, however often an entry is there.
    full = full if src.has_value() else full > 0
    stored = dense(src.set_value(None)) > 0
    symmetric = (stored == stored.T).all() and (full == full.swapaxes(0, 1)).all()
    assert src.is_symmetric() == symmetric
    assert src.to_symmetric().is_symmetric()
    assert not SparseTensor.eye(2, 3).is_symmetric()


@given(matrices(values=("float64", "wide")))
def test_to_symmetric_adds_the_transpose(src):
    size = max(src.sparse_sizes())
    out = check(src.to_symmetric())
    full = dense(src.sparse_resize((size, size)))
    assert (dense(out) == full + full.swapaxes(0, 1)).all()
    assert out.is_coalesced()


# Sizes


@given(matrices())
def test_sizes_and_averages(src):
    rows, cols = src.sparse_sizes()
    assert src.sizes() == list(dense(src).shape)
    assert [src.size(dim) for dim in range(src.dim())] == src.sizes()
    assert src.size(-1) == src.sizes()[-1]
    assert src.nnz() == len(entries(src))
    assert src.numel() == src.nnz() * int(np.prod(src.sizes()[2:]))
    if rows and cols:
        assert src.density() == src.nnz() / (rows * cols)
        assert src.avg_row_length() * rows == pytest.approx(src.nnz())
        assert src.avg_col_length() * cols == pytest.approx(src.nnz())
    else:
        assert src.density() == 0
    assert src.sparsity() == 1 - src.density()
    assert src.is_quadratic() == (rows == cols)
    with pytest.raises(IndexError, match="dim must lie in"):
        src.size(src.dim())


def test_averages_of_nothing_are_zero():
    empty = SparseTensor.eye(0)
    assert (empty.avg_row_length(), empty.avg_col_length(), empty.density()) == (0, 0, 0)


@given(matrices(), st.integers(0, 3), st.integers(0, 3))
def test_resize_keeps_the_entries(src, more_rows, more_cols):
    rows, cols = src.sparse_sizes()
    out = check(src.sparse_resize((rows + more_rows, cols + more_cols)))
    assert entries(out) == entries(src)
    assert out.sparse_resize((rows, cols)) == src


def test_resize_refuses_to_lose_entries():
    with pytest.raises(ValueError, match="row must lie in 0 <= row < 2"):
        SparseTensor.eye(3).sparse_resize((2, 3))


@given(matrices(rows=4, cols=6, values=("none", "float64", "wide")), st.sampled_from([1, 2, 3, 8, 24]))
def test_reshape_is_numpys(src, rows):
    out = check(src.sparse_reshape(rows, 24 // rows))
    assert (dense(out) == dense(src).reshape(rows, 24 // rows, *src.sizes()[2:])).all()
    assert src.sparse_reshape(rows, -1) == src.sparse_reshape(-1, 24 // rows) == out
    with pytest.raises(ValueError, match=r"24 cells, as \(4, 6\), found \(5, 5\)"):
        src.sparse_reshape(5, 5)


# Reductions


@given(numbers, st.sampled_from(["sum", "mean", "min", "max"]), st.sampled_from([0, 1]))
def test_reductions_by_row_and_column_count_only_what_is_there(src, reduce, dim):
    row, col, value = src.coo()
    value = torch.ones(src.nnz()) if value is None else value
    index = (col if dim == 0 else row).numpy()
    got = getattr(src, reduce)(dim)
    assert got.shape == (src.sparse_size(1 - dim), *src.sizes()[2:])
    for i, line in enumerate(got):
        there = value.numpy()[index == i]
        expected = REDUCE[reduce](there, axis=0) if len(there) else 0
        assert np.allclose(line.numpy(), expected)


@given(numbers)
def test_reductions_of_everything_and_of_the_values(src):
    value = src.storage.value()
    value = torch.ones(src.nnz()) if value is None else value
    assert src.sum() == value.sum()
    if src.nnz():
        assert src.mean() == value.mean()
        assert src.min() == value.min()
        assert src.max() == value.max()
    if src.dim() > 2:
        assert torch.equal(src.sum(2), value.sum(1))
        assert torch.equal(src.max(-1), value.amax(1))


@given(numbers, st.sampled_from(["sum", "mean", "min", "max"]), st.sampled_from([0, 1]))
def test_reductions_are_functions_too(src, reduce, dim):
    assert torch.equal(getattr(sparse, reduce)(src, dim), getattr(src, reduce)(dim))


def test_means_of_integers_are_rounded_down():
    src = SparseTensor(row=ids([0, 0]), col=ids([0, 1]), value=ids([-1, -2]))
    assert src.mean(1).tolist() == [-2]


def test_equal_extremes_share_their_gradient():
    src = SparseTensor(row=ids([0, 0, 0]), col=ids([0, 1, 2]), value=ids([2.0, 2.0, 1.0]))
    src.requires_grad_()
    src.max(1).sum().backward()
    assert src.storage.value().grad.tolist() == [0.5, 0.5, 0.0]


def test_reductions_name_a_dimension_that_is_not_there():
    with pytest.raises(IndexError, match="dim must lie in -2 <= dim < 2, found 2"):
        SparseTensor.eye(2).sum(2)
