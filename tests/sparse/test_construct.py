"""Making a SparseTensor: from parts, with all that is checked, and from other forms and back."""

import re
import sys

import numpy as np
import pytest
import scipy.sparse
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from gnnlab.sparse import SparseTensor
from tests.sparse.matrices import check, dense, entries, matrices

ids = torch.tensor


def test_entries_are_sorted_by_row_then_column_and_equal_ones_stay_in_order():
    src = SparseTensor(
        row=ids([2, 0, 2, 0, 2]),
        col=ids([1, 3, 0, 3, 1]),
        value=ids([10.0, 20.0, 30.0, 40.0, 50.0]),
    )
    expected = [(0, 3, 20.0), (0, 3, 40.0), (2, 0, 30.0), (2, 1, 10.0), (2, 1, 50.0)]
    assert entries(check(src)) == expected
    assert src.sparse_sizes() == (3, 4)


def test_columns_stay_as_given_where_rows_are_said_to_be_in_order():
    row, col = ids([0, 0, 1]), ids([2, 1, 0])
    assert SparseTensor(row=row, col=col, is_sorted=True).storage.col().tolist() == [2, 1, 0]
    assert SparseTensor(row=row, col=col).storage.col().tolist() == [1, 2, 0]
    ptr = ids([0, 2, 3])
    assert SparseTensor(rowptr=ptr, col=col, is_sorted=True).storage.col().tolist() == [2, 1, 0]
    assert SparseTensor(rowptr=ptr, col=col).storage.col().tolist() == [1, 2, 0]


def test_sizes_too_large_to_number_the_cells_still_sort():
    big = 2**40
    src = SparseTensor(row=ids([big, 0, 0]), col=ids([0, big, 1]), sparse_sizes=(2**41, 2**41))
    row, col, _ = src.coo()
    assert list(zip(row.tolist(), col.tolist(), strict=True)) == [(0, 1), (0, big), (big, 0)]


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64])
def test_ids_of_any_integer_dtype_become_int64(dtype):
    src = SparseTensor(row=ids([1, 0], dtype=dtype), col=ids([0, 1], dtype=dtype))
    assert src.storage.row().dtype == src.storage.col().dtype == torch.int64
    src = SparseTensor(rowptr=ids([0, 1, 2], dtype=dtype), col=ids([0, 1], dtype=dtype))
    assert src.storage.rowptr().dtype == torch.int64


def test_sizes_not_given_are_the_smallest_that_hold_the_entries():
    row, col = ids([0, 2]), ids([1, 0])
    assert SparseTensor(row=row, col=col).sparse_sizes() == (3, 2)
    assert SparseTensor(row=row, col=col, sparse_sizes=(None, 5)).sparse_sizes() == (3, 5)
    assert SparseTensor(row=row, col=col, sparse_sizes=(7, None)).sparse_sizes() == (7, 2)
    assert SparseTensor(rowptr=ids([0, 1, 2, 2]), col=col).sparse_sizes() == (3, 2)
    none = torch.tensor([], dtype=torch.int64)
    assert SparseTensor(row=none, col=none).sparse_sizes() == (0, 0)


one = ids([0])


@pytest.mark.parametrize(
    ("error", "message", "arguments"),
    [
        (TypeError, "col must be given", {"row": one}),
        (TypeError, "row or rowptr must be given", {"col": one}),
        (TypeError, "row must be a tensor of integers, found list", {"row": [0], "col": one}),
        (TypeError, "col must have an integer dtype, found torch.float32", {"row": one, "col": ids([0.0])}),
        (TypeError, "col must have an integer dtype, found torch.bool", {"row": one, "col": ids([True])}),
        (ValueError, "row must have shape [n], found [1, 1]", {"row": ids([[0]]), "col": one}),
        (ValueError, "row must have 1 rows (entries of col), found shape [2]", {"row": ids([0, 0]), "col": one}),
        (
            ValueError,
            "col must lie in 0 <= col < 2 (columns), found 5",
            {"row": one, "col": ids([5]), "sparse_sizes": (2, 2)},
        ),
        (
            ValueError,
            "col must lie in 0 <= col < 2 (columns), found -1",
            {"row": one, "col": ids([-1]), "sparse_sizes": (2, 2)},
        ),
        (
            ValueError,
            "row must lie in 0 <= row < 2 (rows), found 2",
            {"row": ids([2]), "col": one, "sparse_sizes": (2, 2)},
        ),
        (ValueError, "sparse_sizes must not be negative", {"row": one, "col": one, "sparse_sizes": (-1, 2)}),
        (TypeError, "value must be a tensor, found float", {"row": one, "col": one, "value": 1.0}),
        (
            ValueError,
            "value must have 1 rows (entries of col), found shape [2]",
            {"row": one, "col": one, "value": ids([1, 2])},
        ),
        (
            ValueError,
            "value must have 1 rows (entries of col), found shape []",
            {"row": one, "col": one, "value": ids(1)},
        ),
        (
            ValueError,
            "rowptr must have 3 rows (sparse_sizes), found shape [2]",
            {"rowptr": ids([0, 1]), "col": one, "sparse_sizes": (2, 2)},
        ),
        (
            ValueError,
            "rowptr must run from 0 to the number of entries, 1, found 0 to 2",
            {"rowptr": ids([0, 2]), "col": one},
        ),
        (ValueError, "col must lie in 0 <= col < 0 (columns), found -5", {"row": one, "col": ids([-5])}),
        (ValueError, "row must lie in 0 <= row < 0 (rows), found -5", {"row": ids([-5]), "col": one}),
        (ValueError, "rowptr must never fall", {"rowptr": ids([0, 2, 1, 2]), "col": ids([0, 0])}),
        (ValueError, "rowptr must have 1 rows", {"rowptr": ids([], dtype=torch.int64), "col": one}),
        (ValueError, "row and rowptr must say the same", {"row": ids([1]), "rowptr": ids([0, 1, 1]), "col": one}),
        (
            ValueError,
            "row must be in order where is_sorted=True",
            {"row": ids([1, 0]), "col": ids([0, 0]), "is_sorted": True},
        ),
    ],
)
def test_what_does_not_fit_is_named(error, message, arguments):
    with pytest.raises(error, match=re.escape(message)):
        SparseTensor(**arguments)


def test_tensors_on_different_devices_are_named():
    with pytest.raises(ValueError, match="value must be on cpu as col is, found meta"):
        SparseTensor(row=one, col=one, value=torch.empty(1, device="meta"))


def test_trusted_data_is_not_looked_at():
    src = SparseTensor(row=one, col=ids([9]), sparse_sizes=(1, 1), is_sorted=True, trust_data=True)
    assert src.storage.col().tolist() == [9]


@given(matrices())
def test_random_matrices_are_what_they_say(src):
    check(src)
    assert (src.to_dense().double().numpy() == dense(src)).all()


@settings(max_examples=50)
@given(matrices(values=("none", "float64", "int64")), st.sampled_from(["coo", "csr", "csc"]))
def test_scipy_makes_the_same_of_it_and_back(src, layout):
    matrix = src.to_scipy(layout)
    assert matrix.format == layout
    assert matrix.nnz == src.nnz()
    assert (matrix.toarray() == dense(src)).all()
    again = check(SparseTensor.from_scipy(matrix))
    assert (dense(again) == dense(src)).all()
    assert again.nnz() == src.nnz()
    assert not SparseTensor.from_scipy(matrix, has_value=False).has_value()


def test_from_scipy_takes_arrays_and_every_format():
    numbers = np.array([[0.0, 1.0, 0.0], [2.0, 0.0, 3.0]])
    expected = [(0, 1, 1.0), (1, 0, 2.0), (1, 2, 3.0)]
    for layout in ["coo", "csr", "csc", "lil", "dok", "bsr", "dia"]:
        assert entries(SparseTensor.from_scipy(scipy.sparse.coo_array(numbers).asformat(layout))) == expected
    frozen = scipy.sparse.csr_array(numbers)
    frozen.data.flags.writeable = False
    assert entries(SparseTensor.from_scipy(frozen)) == expected
    with pytest.raises(ValueError, match=r"two dimensions, found shape \(3,\)"):
        SparseTensor.from_scipy(scipy.sparse.coo_array(numbers[0]))


def test_to_scipy_says_what_it_cannot_hold():
    wide = SparseTensor.eye(2).set_value(torch.ones(2, 3))
    with pytest.raises(ValueError, match=r"found sizes \[2, 2, 3\]"):
        wide.to_scipy()
    with pytest.raises(ValueError, match="layout must be 'coo', 'csr' or 'csc', found 'dok'"):
        SparseTensor.eye(2).to_scipy("dok")
    assert SparseTensor.eye(2).requires_grad_().to_scipy(dtype=torch.int32).dtype == np.int32


@settings(max_examples=50)
@given(matrices(values=("float64", "wide", "int64"), coalesced=True), st.sampled_from(["coo", "csr", "csc"]))
def test_torch_makes_the_same_of_it_and_back(src, layout):
    matrix = getattr(src, f"to_torch_sparse_{layout}_tensor")()
    assert matrix.layout == getattr(torch, f"sparse_{layout}")
    assert tuple(matrix.shape) == tuple(src.sizes())
    assert (matrix.to_dense().double().numpy() == dense(src)).all()
    assert layout != "coo" or matrix.is_coalesced()
    back = getattr(SparseTensor, f"from_torch_sparse_{layout}_tensor")
    assert check(back(matrix)) == src
    assert back(matrix, has_value=False) == src.set_value(None)


@given(matrices(values=("float64", "wide")))
def test_uncoalesced_goes_to_coo_and_back_entry_for_entry(src):
    matrix = src.to_torch_sparse_coo_tensor()
    assert matrix.is_coalesced() == src.is_coalesced()
    again = SparseTensor.from_torch_sparse_coo_tensor(matrix)
    assert entries(again) == sorted(entries(src), key=lambda entry: entry[:2])


def test_torch_csr_and_csc_refuse_duplicates():
    twice = SparseTensor(row=ids([0, 0]), col=ids([1, 1]), value=ids([1.0, 2.0]))
    for layout in ["csr", "csc"]:
        with pytest.raises(ValueError, match=rf"torch\.sparse_{layout}, found others: coalesce"):
            getattr(twice, f"to_torch_sparse_{layout}_tensor")()
    assert twice.coalesce().to_torch_sparse_csr_tensor().values().tolist() == [3.0]


def test_from_torch_checks_the_layout():
    coo = torch.eye(2).to_sparse()
    with pytest.raises(TypeError, match=r"torch\.sparse_csr, found torch\.sparse_coo"):
        SparseTensor.from_torch_sparse_csr_tensor(coo)
    with pytest.raises(ValueError, match="two sparse dimensions, found 1"):
        SparseTensor.from_torch_sparse_coo_tensor(torch.eye(2).to_sparse(1))
    batched = torch.eye(3).expand(2, 3, 3).to_sparse_csr()
    with pytest.raises(ValueError, match="must not be batched"):
        SparseTensor.from_torch_sparse_csr_tensor(batched)


def test_a_broken_torch_tensor_is_caught():
    ptr, col = ids([0, 1, 2]), ids([0, 7])
    broken = torch.sparse_csr_tensor(ptr, col, torch.ones(2), (2, 2), check_invariants=False)
    with pytest.raises(ValueError, match="col must lie in 0 <= col < 2"):
        SparseTensor.from_torch_sparse_csr_tensor(broken)


def test_entries_without_values_count_as_ones():
    pattern = SparseTensor.eye(2, has_value=False)
    assert pattern.to_dense().tolist() == [[1.0, 0.0], [0.0, 1.0]]
    assert pattern.to_dense(torch.int64).dtype == torch.int64
    assert pattern.to_torch_sparse_csr_tensor(torch.int32).values().tolist() == [1, 1]
    assert pattern.to_scipy(dtype=torch.int8).dtype == np.int8


def test_gradients_flow_through_every_conversion():
    def value_after(convert):
        weight = torch.tensor([1.0, 2.0], requires_grad=True)
        src = SparseTensor(row=ids([1, 0]), col=ids([0, 1]), value=weight)
        (convert(src) * torch.tensor([[0.0, 3.0], [5.0, 0.0]])).sum().backward()
        return weight.grad.tolist()

    assert value_after(lambda src: src.to_dense()) == [5.0, 3.0]
    assert value_after(lambda src: SparseTensor.from_dense(src.to_dense()).to_dense()) == [5.0, 3.0]
    for layout in ["coo", "csr", "csc"]:
        there = f"to_torch_sparse_{layout}_tensor"
        back = getattr(SparseTensor, f"from_torch_sparse_{layout}_tensor")
        assert value_after(lambda src, t=there, b=back: b(getattr(src, t)()).to_dense()) == [5.0, 3.0]


def test_from_edge_index_and_from_dense():
    edge_index = ids([[1, 0, 1], [2, 1, 0]])
    src = SparseTensor.from_edge_index(edge_index, ids([1, 2, 3]), sparse_sizes=(3, 3))
    assert entries(src) == [(0, 1, 2), (1, 0, 3), (1, 2, 1)]
    with pytest.raises(ValueError, match=r"edge_index must have shape \[2, nnz\], found \[3, 2\]"):
        SparseTensor.from_edge_index(edge_index.t())
    numbers = torch.tensor([[[0.0, 1.0], [0.0, 0.0]], [[2.0, 0.0], [3.0, 4.0]]])
    src = SparseTensor.from_dense(numbers)
    assert entries(src) == [(0, 0, [0.0, 1.0]), (1, 0, [2.0, 0.0]), (1, 1, [3.0, 4.0])]
    assert not SparseTensor.from_dense(numbers, has_value=False).has_value()
    with pytest.raises(ValueError, match=r"shape \[M, N, ...\], found \[3\]"):
        SparseTensor.from_dense(torch.ones(3))
    with pytest.raises(TypeError, match="mat must be a dense tensor, found list"):
        SparseTensor.from_dense([[0.0, 1.0]])
    with pytest.raises(TypeError, match=r"mat must be a dense tensor, found torch\.sparse_coo"):
        SparseTensor.from_dense(torch.eye(2).to_sparse())


def test_eye():
    assert (SparseTensor.eye(2, 3).to_dense() == torch.eye(2, 3)).all()
    assert SparseTensor.eye(3, dtype=torch.int16).dtype() == torch.int16
    assert not SparseTensor.eye(3, has_value=False).has_value()
    assert SparseTensor.eye(0).sparse_sizes() == (0, 0)
    assert SparseTensor.eye(3, 1).cache_info() == {}
    assert len(check(SparseTensor.eye(3, 1, fill_cache=True)).cache_info()) == 6


def test_to_torch_sparse_without_torch_sparse_says_so(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch_sparse", None)
    with pytest.raises(ImportError, match="torch_sparse must be installed"):
        SparseTensor.eye(2).to_torch_sparse()
    with pytest.raises(TypeError, match="found SparseTensor"):
        SparseTensor.from_torch_sparse(SparseTensor.eye(2))
