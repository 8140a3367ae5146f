"""What is held and kept: caches that can be counted, copies, pickles that carry no more than they show."""

import copy
import io
import pickle

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from gnnlab.sparse import SparseTensor
from gnnlab.sparse.storage import DERIVED, SparseStorage
from tests.sparse.matrices import check, entries, matrices, with_rowptr


@given(matrices())
def test_caches_go_from_none_to_all_and_back(src):
    before = entries(src)
    given_part = src.storage.given()
    src.clear_cache_()
    assert src.cache_info() == {}
    assert src.storage.num_cached_keys() == 0
    for count, key in enumerate(k for k in DERIVED if k != given_part):
        assert getattr(src.storage, f"has_{key}")() == (key in src.cache_info())
        part = getattr(src.storage, key)()
        assert getattr(src.storage, f"has_{key}")()
        assert src.cache_info()[key] == part.nbytes
        assert getattr(src.storage, key)() is part
        assert len(src.cache_info()) >= count + 1
    assert set(src.cache_info()) == set(DERIVED) - {given_part}
    assert src.storage.num_cached_keys() == 5
    check(src)
    assert src.clear_cache_() is src
    assert src.cache_info() == {}
    assert src.fill_cache_() is src
    assert len(src.cache_info()) == 6
    assert entries(check(src)) == before


def test_each_cache_by_hand():
    row, col = torch.tensor([0, 0, 2]), torch.tensor([1, 3, 0])
    storage = SparseStorage(row=row, col=col, sparse_sizes=(3, 4))
    assert storage.rowptr().tolist() == [0, 2, 2, 3]
    assert storage.rowcount().tolist() == [2, 0, 1]
    assert storage.colcount().tolist() == [1, 1, 0, 1]
    assert storage.colptr().tolist() == [0, 1, 2, 2, 3]
    assert storage.csr2csc().tolist() == [2, 0, 1]
    assert storage.csc2csr().tolist() == [1, 2, 0]
    assert storage.cached_keys() == ["rowcount", "colptr", "colcount", "csr2csc", "csc2csr"]
    assert (storage.nnz(), storage.sparse_size(1), storage.has_value()) == (3, 4, False)


def test_caches_given_are_kept_and_checked():
    row, col = torch.tensor([0, 1]), torch.tensor([1, 0])
    order = torch.tensor([1, 0])
    storage = SparseStorage(row=row, col=col, csr2csc=order, is_sorted=True)
    assert storage.csr2csc() is order
    with pytest.raises(ValueError, match="csr2csc must lie in 0 <= csr2csc < 2"):
        SparseStorage(row=row, col=col, csr2csc=order + 1)
    with pytest.raises(ValueError, match="colptr must run from 0"):
        SparseStorage(row=row, col=col, colptr=torch.tensor([0, 1, 1]))
    with pytest.raises(ValueError, match="rowcount must have 2 rows"):
        SparseStorage(row=row, col=col, rowcount=torch.tensor([2]))
    unsorted = SparseStorage(row=row.flip(0), col=col, csr2csc=order, colcount=torch.tensor([1, 1]))
    assert unsorted.cached_keys() == ["colcount"]


def test_values_can_be_set_by_row_and_by_column():
    row, col = torch.tensor([0, 0, 1]), torch.tensor([0, 1, 0])
    src = SparseTensor(row=row, col=col)
    by_col = src.set_value(torch.tensor([1.0, 2.0, 3.0]), layout="csc")
    assert entries(by_col) == [(0, 0, 1.0), (0, 1, 3.0), (1, 0, 2.0)]
    assert by_col.csc()[2].tolist() == [1.0, 2.0, 3.0]
    by_row = src.set_value(torch.tensor([1.0, 2.0, 3.0]), layout="coo")
    assert by_row.storage.value().tolist() == [1.0, 2.0, 3.0]
    assert not src.has_value()
    assert src.set_value_(torch.ones(3)) is src
    assert src.has_value()
    assert not src.set_value(None).has_value()
    with pytest.raises(ValueError, match="layout must be 'coo', 'csr' or 'csc', found 'xyz'"):
        src.set_value(torch.ones(3), layout="xyz")
    with pytest.raises(ValueError, match=r"value must have 3 rows \(entries\), found shape \[2\]"):
        src.set_value(torch.ones(2))
    with pytest.raises(TypeError, match="value must be a tensor, found float"):
        src.set_value(1.0)
    with pytest.raises(ValueError, match="value must be on cpu, found meta"):
        src.set_value(torch.ones(3, device="meta"))


def test_fill_value():
    src = SparseTensor.eye(2, has_value=False)
    assert src.fill_value(3.0, torch.float64).storage.value().tolist() == [3.0, 3.0]
    assert not src.has_value()
    assert src.fill_value_(2) is src
    assert src.dtype() == torch.int64


@settings(max_examples=50)
@given(matrices())
def test_csr_and_csc_say_the_same_as_coo(src):
    row, col, value = src.coo()
    colptr, rows_by_col, values_by_col = src.csc()
    cols_by_col = torch.arange(src.sparse_size(1)).repeat_interleave(colptr.diff())
    # Python's sort is stable: within a column, entries stay in row order.
    order = sorted(range(src.nnz()), key=lambda i: int(col[i]))
    if src.is_coalesced():
        assert rows_by_col.tolist() == row[order].tolist()
        assert value is None or torch.equal(values_by_col, value[order])
    assert cols_by_col.tolist() == sorted(col.tolist())
    rowptr, cols, values = src.csr()
    assert torch.arange(src.sparse_size(0)).repeat_interleave(rowptr.diff()).tolist() == row.tolist()
    assert cols is col
    assert values is value


@settings(max_examples=50)
@given(matrices(), st.sampled_from([2, 5]))
def test_pickles_hold_everything_and_come_back_equal(src, protocol):
    again = check(pickle.loads(pickle.dumps(src, protocol)))
    assert again == src
    assert again.cache_info() == src.cache_info()
    assert again.storage.given() == src.storage.given()


@settings(max_examples=50)
@given(matrices())
def test_torch_loads_what_it_saved_under_its_default(src):
    file = io.BytesIO()
    torch.save({"adj": src}, file)
    file.seek(0)
    assert torch.load(file, weights_only=True)["adj"] == src


def test_a_pickle_of_a_view_carries_only_the_view():
    long = 20_000
    index = torch.arange(long)
    src = SparseTensor(row=index, col=index, value=torch.rand(long, 4))
    view = src.narrow(0, 10, 3)
    assert view.storage.value().untyped_storage().nbytes() == long * 16
    data = pickle.dumps(view)
    assert len(data) < 4096
    assert pickle.loads(data) == view
    deep = copy.deepcopy(view)
    assert deep == view
    assert all(p.untyped_storage().nbytes() == p.nbytes for p in deep.storage.tensors().values())


def test_a_state_that_does_not_fit_is_refused():
    def load(**changed):
        state = SparseTensor.eye(3).fill_cache_().storage.__getstate__() | changed
        SparseStorage.__new__(SparseStorage).__setstate__(state)

    load()
    far = torch.tensor([0, 1, 99])
    for key in ["row", "col", "csr2csc", "csc2csr"]:
        with pytest.raises(ValueError, match=f"{key} must lie in"):
            load(**{key: far})
    with pytest.raises(ValueError, match="given must be 'row' or 'rowptr', and held, found 'colptr'"):
        load(given="colptr")


def test_copies_share_tensors_and_clones_do_not():
    src = SparseTensor.eye(3, fill_cache=True)
    for shallow in [src.copy(), copy.copy(src)]:
        assert shallow.storage.col() is src.storage.col()
        assert shallow.clear_cache_().cache_info() == {}
    assert len(src.cache_info()) == 6
    for deep in [src.clone(), copy.deepcopy(src)]:
        assert deep == src
        assert deep.cache_info() == src.cache_info()
        for key, part in deep.storage.tensors().items():
            assert part.data_ptr() != src.storage.tensors()[key].data_ptr()
    pair = copy.deepcopy([src, src])
    assert pair[0] is pair[1]


def test_deep_copies_keep_requires_grad():
    src = SparseTensor.eye(3).requires_grad_()
    for again in [copy.deepcopy(src), pickle.loads(pickle.dumps(src))]:
        assert again.requires_grad()
        assert again.storage.value().is_leaf


@settings(max_examples=50)
@given(matrices(), matrices())
def test_equal_means_the_same_entries(a, b):
    assert a == a.copy().clear_cache_()
    assert a == with_rowptr(a)
    same_value = (a.storage.value() is None) == (b.storage.value() is None) and (
        a.storage.value() is None or a.dtype() == b.dtype()
    )
    expected = same_value and a.sizes() == b.sizes() and entries(a) == entries(b)
    assert (a == b) == expected


def test_equal_tells_values_dtypes_and_types_apart():
    eye = SparseTensor.eye(2)
    assert eye != eye.set_value(torch.tensor([1.0, 2.0]))
    assert eye != eye.double()
    assert eye != eye.set_value(None)
    assert eye != torch.eye(2)
    with pytest.raises(TypeError, match="unhashable"):
        hash(eye)
