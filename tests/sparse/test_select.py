"""Parts of a matrix are those of the dense one."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from gnnlab.sparse import SparseTensor
from tests.sparse.matrices import check, dense, entries, matrices

ids = torch.tensor


def example():
    """[3, 4]: 1 at (0, 1), 2 at (1, 0), 3 at (1, 3), 4 at (2, 2)."""
    row, col = ids([0, 1, 1, 2]), ids([1, 0, 3, 2])
    return SparseTensor(row=row, col=col, value=ids([1.0, 2.0, 3.0, 4.0]), sparse_sizes=(3, 4))


@st.composite
def parts_of(draw, size):
    """A part of an index, and the NumPy one that picks the same and keeps the dimension."""
    kinds = ["slice", "mask", "list of bools", "ids", "list", "array"] + ["int"] * (size > 0)
    kind = draw(st.sampled_from(kinds))
    if kind == "int":
        i = draw(st.integers(-size, size - 1))
        return i, [i]
    if kind == "slice":
        part = draw(st.slices(size))
        return part, list(range(size))[part]
    if "bools" in kind or kind == "mask":
        mask = draw(st.lists(st.booleans(), min_size=size, max_size=size))
        picked = [i for i, keep in enumerate(mask) if keep]
        return (mask if kind != "mask" and mask else ids(mask, dtype=torch.bool)), picked
    picked = draw(st.lists(st.integers(0, size - 1), max_size=8)) if size else []
    if kind == "list":
        return picked, picked
    if kind == "array":
        return np.array(picked, dtype=draw(st.sampled_from([np.int64, np.int32, np.uint8]))), picked
    return ids(picked, dtype=draw(st.sampled_from([torch.int64, torch.int32, torch.uint8]))), picked


@settings(max_examples=50)
@given(matrices(), st.data())
def test_getitem_picks_what_numpy_picks(src, data):
    row_part, rows = data.draw(parts_of(src.sparse_size(0)))
    col_part, cols = data.draw(parts_of(src.sparse_size(1)))
    rows, cols = np.array(rows, dtype=int), np.array(cols, dtype=int)
    full = dense(src)
    assert (dense(check(src[row_part])) == full[rows]).all()
    assert (dense(check(src[:, col_part])) == full[:, cols]).all()
    assert (dense(check(src[row_part, col_part])) == full[rows][:, cols]).all()
    assert src[row_part, ...] == src[row_part]
    check(src)


@settings(max_examples=50)
@given(matrices(values=("wide",)), st.data())
def test_getitem_reaches_into_the_values(src, data):
    part, picked = data.draw(parts_of(2))
    picked = np.array(picked, dtype=int)
    for index in [(..., part), (slice(None), slice(None), part)]:
        assert (dense(check(src[index])) == dense(src)[:, :, picked]).all()


def test_ints_keep_their_dimension_as_in_torch_sparse():
    src = example()
    assert src[1].sizes() == [1, 4]
    assert entries(src[1]) == [(0, 0, 2.0), (0, 3, 3.0)]
    assert entries(src[-1]) == entries(src[ids(2)]) == [(0, 2, 4.0)]
    assert entries(src[..., 1]) == [(0, 0, 1.0)]
    assert src[np.int64(1), 3].sizes() == [1, 1]
    assert src.select(1, 3) == src[:, 3]


def test_lists_choose_rows_and_columns_not_pairs():
    assert entries(example()[[1, 2], [2, 3]]) == [(0, 1, 3.0), (1, 0, 4.0)]


def test_iterating_gives_one_row_after_the_other():
    assert [row.nnz() for row in example()] == [1, 2, 1]


@pytest.mark.parametrize(
    ("index", "message"),
    [
        (None, "found None"),
        ("a", "found 'a'"),
        (True, "found True"),
        (1.5, "found 1.5"),
        ((0, 0, 0), "at most 2 parts"),
        ((..., ...), "one '...'"),
        (3, "stay inside dimension 0 of size 3"),
        ((0, -5), "stay inside dimension 1 of size 4"),
        ([0, 3], "idx must lie in 0 <= idx < 3"),
        ([0, -1], "found -1"),
        ([True, False], r"mask must have shape \[3\]"),
        (torch.zeros(1, 3, dtype=torch.int64), "must be an int, slice, mask or ids"),
    ],
)
def test_what_is_no_index_is_an_index_error(index, message):
    with pytest.raises(IndexError, match=message):
        example()[index]


def test_ids_that_are_no_integers_are_a_type_error():
    with pytest.raises(TypeError, match="integer dtype"):
        example()[ids([0.0])]


@given(matrices(), st.sampled_from([0, 1, -1, -2]), st.data())
def test_narrow_is_a_slice_and_leaves_nothing_in_the_cache(src, dim, data):
    if src.dim() > 2:
        src = src.set_value(None)
    size = src.sparse_size(dim)
    start = data.draw(st.integers(0, size))
    length = data.draw(st.integers(0, size - start))
    before = src.cache_info()
    part = check(src.narrow(dim, start, length))
    assert src.cache_info() == before
    assert (dense(part) == dense(src).take(range(start, start + length), axis=dim)).all()


def test_narrow_along_rows_shares_columns_and_values():
    src = example()
    part = src.narrow(0, 1, 2)
    assert part.storage.col().data_ptr() == src.storage.col()[1:].data_ptr()
    assert part.storage.value().data_ptr() == src.storage.value()[1:].data_ptr()


def test_caches_are_handed_on_where_a_range_of_them_is_right():
    src = example().fill_cache_()
    assert set(src.narrow(0, 1, 2).cache_info()) == {"rowptr", "rowcount"}
    assert set(src.narrow(1, 1, 2).cache_info()) == {"rowptr", "colptr", "colcount"}
    assert set(check(src.narrow(1, 0, 4)).cache_info()) == {"rowptr", "rowcount", "colptr", "colcount"}


@settings(max_examples=50)
@given(matrices(), st.sampled_from([0, 1]), st.data())
def test_index_select_and_masked_select(src, dim, data):
    size = src.sparse_size(dim)
    mask = ids(data.draw(st.lists(st.booleans(), min_size=size, max_size=size)), dtype=torch.bool)
    kept = check(src.masked_select(dim, mask))
    assert (dense(kept) == dense(src).compress(mask.numpy(), axis=dim)).all()
    assert kept.nnz() == src.index_select(dim, mask.nonzero().view(-1)).nnz()
    if size:
        perm = ids(data.draw(st.permutations(range(size))))
        moved = check(src.index_select(dim, perm))
        assert moved.nnz() == src.nnz()
        assert (dense(moved) == dense(src).take(perm.numpy(), axis=dim)).all()


def test_what_selects_nothing_sensible_is_named():
    src = example()
    with pytest.raises(IndexError, match=r"idx must lie in 0 <= idx < 4 .*found 4"):
        src.index_select(1, ids([4]))
    with pytest.raises(TypeError, match=r"mask must be a tensor of bools, found torch\.int64"):
        src.masked_select(0, ids([1, 0, 1]))
    with pytest.raises(TypeError, match="mask must be a tensor of bools, found list"):
        src.masked_select(0, [True, False, True])
    with pytest.raises(IndexError, match=r"mask must have shape \[4\] .*found \[3\]"):
        src.masked_select(1, ids([True, False, True]))
    with pytest.raises(IndexError, match="dim must lie in -2 <= dim < 2, found 2"):
        src.narrow(2, 0, 1)


def test_entries_can_be_selected_one_by_one():
    src = example()
    assert entries(check(src.index_select_nnz(ids([3, 0])))) == [(0, 1, 1.0), (2, 2, 4.0)]
    by_col = src.index_select_nnz(ids([0, 1], dtype=torch.int32), layout="csc")
    assert entries(by_col) == [(0, 1, 1.0), (1, 0, 2.0)]
    mask = ids([True, False, False, True])
    assert entries(check(src.masked_select_nnz(mask))) == [(0, 1, 1.0), (2, 2, 4.0)]
    assert entries(src.masked_select_nnz(mask, layout="csc")) == [(1, 0, 2.0), (1, 3, 3.0)]
    with pytest.raises(IndexError, match=r"idx must lie in 0 <= idx < 4 \(entries\), found 4"):
        src.index_select_nnz(ids([4]))
    with pytest.raises(IndexError, match=r"mask must have shape \[4\] \(entries\)"):
        src.masked_select_nnz(mask[:2])


@settings(max_examples=50)
@given(matrices(rows=4, cols=4), st.permutations(range(4)))
def test_permute_reorders_rows_and_columns(src, perm):
    assert (dense(check(src.permute(ids(perm)))) == dense(src)[perm][:, perm]).all()


def test_permute_needs_a_square_matrix():
    with pytest.raises(ValueError, match=r"as many rows as columns, found \(3, 4\)"):
        example().permute(ids([0, 1, 2]))


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        (lambda src: src[1:], [0, 1, 1, 1]),
        (lambda src: src[:, 1:3], [1, 0, 0, 1]),
        (lambda src: src[[1, 1]], [0, 2, 2, 0]),
        (lambda src: src[:, [3, 0, 0]], [0, 2, 1, 0]),
        (lambda src: src[:, [True, False, False, True]], [0, 1, 1, 0]),
        (lambda src: src.t()[[1]], [1, 0, 0, 0]),
    ],
)
def test_gradients_flow_through_selection(part, expected):
    src = example().requires_grad_()
    part(src).sum().backward()
    assert src.storage.value().grad.tolist() == expected
