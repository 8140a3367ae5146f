"""Joining and cutting: inverse to each other for every kind, and what SciPy makes of the same."""

import warnings

import pytest
import scipy.sparse
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from gnnlab import sparse
from gnnlab.sparse import SparseTensor
from gnnlab.sparse.pointers import cat_shifted
from tests.sparse.matrices import check, dense, entries, matrices, with_rowptr

DIMS = [0, 1, (0, 1)]
TORCH = ["coo", "csr", "csc"]


def to_torch(src: SparseTensor, kind: str) -> torch.Tensor:
    return getattr(src, f"to_torch_sparse_{kind}_tensor")()


def offsets(parts, dim):
    """Start and length of each part along `dim`, in the form that `narrow` takes."""
    dims = dim if isinstance(dim, tuple) else (dim,)
    start = [0] * len(dims)
    for part in parts:
        length = [sparse.sizes(part)[d] for d in dims]
        yield (tuple(start), tuple(length)) if isinstance(dim, tuple) else (start[0], length[0])
        start = [a + b for a, b in zip(start, length, strict=True)]


@st.composite
def joinable(draw, **how):
    """A dimension, and one to four matrices that can be joined along it, all with values of one make."""
    dim = draw(st.sampled_from(DIMS))
    rows = draw(st.integers(0, 4)) if dim == 1 else None
    cols = draw(st.integers(0, 4)) if dim == 0 else None
    values = (draw(st.sampled_from(how.pop("values", ("none", "float64", "wide", "int64", "bool")))),)
    parts = draw(st.lists(matrices(rows=rows, cols=cols, values=values, **how), min_size=1, max_size=4))
    return dim, parts


def scipy_join(parts, dim):
    join = {0: scipy.sparse.vstack, 1: scipy.sparse.hstack, (0, 1): scipy.sparse.block_diag}[dim]
    return join([scipy.sparse.csr_matrix(dense(part)) for part in parts]).toarray()


@settings(max_examples=50)
@given(joinable())
def test_narrow_undoes_cat_to_the_entry(case):
    dim, parts = case
    before = [part.cache_info() for part in parts]
    joined = check(sparse.cat(parts, dim))
    assert [part.cache_info() for part in parts] == before
    held = joined.cache_info()
    for part, (start, length) in zip(parts, offsets(parts, dim), strict=True):
        again = check(sparse.narrow(joined, dim, start, length))
        assert again == part
        assert again.storage.given() == joined.storage.given()
    assert joined.cache_info() == held


@settings(max_examples=50)
@given(joinable(values=("float64", "int64", "none")))
def test_cat_is_what_scipy_makes_of_it(case):
    dim, parts = case
    assert (dense(sparse.cat(parts, dim)) == scipy_join(parts, dim)).all()


@settings(max_examples=50)
@given(joinable(values=("float64", "wide", "int64", "bool"), coalesced=True), st.sampled_from(TORCH))
def test_narrow_undoes_cat_in_torch_layouts(case, kind):
    dim, parts = case
    parts = [to_torch(part, kind) for part in parts]
    joined = sparse.cat(parts, dim)
    assert joined.layout == parts[0].layout
    for part, (start, length) in zip(parts, offsets(parts, dim), strict=True):
        again = sparse.narrow(joined, dim, start, length)
        assert_same_parts(again, part)
        assert kind != "coo" or again.is_coalesced()


@settings(max_examples=50)
@given(joinable(values=("float64", "int64"), coalesced=True), st.sampled_from(TORCH))
def test_cat_in_torch_layouts_is_what_scipy_makes_of_it(case, kind):
    dim, parts = case
    joined = sparse.cat([to_torch(part, kind) for part in parts], dim)
    with torch.sparse.check_sparse_tensor_invariants():
        rebuilt = sparse.from_parts(*sparse.to_parts(joined))
    assert (rebuilt.to_dense().double().numpy() == scipy_join(parts, dim)).all()


@settings(max_examples=50)
@given(joinable(values=("float64", "wide")), st.randoms(use_true_random=False))
def test_uncoalesced_coo_keeps_order_and_duplicates(case, random):
    dim, parts = case
    shuffled = []
    for part in parts:
        row, col, value = part.coo()
        order = list(range(part.nnz()))
        random.shuffle(order)
        index = torch.stack([row, col])[:, order]
        sizes = tuple(part.sizes())
        shuffled.append(torch.sparse_coo_tensor(index, value[order], sizes, check_invariants=True))
    joined = sparse.cat(shuffled, dim)
    for part, (start, length) in zip(shuffled, offsets(shuffled, dim), strict=True):
        assert_same_parts(sparse.narrow(joined, dim, start, length), part)


def assert_same_parts(a, b):
    (_, parts_a), (_, parts_b) = sparse.to_parts(a), sparse.to_parts(b)
    assert a.shape == b.shape
    assert a.layout == b.layout
    assert parts_a.keys() == parts_b.keys()
    for key in parts_a:
        assert parts_a[key].dtype == parts_b[key].dtype
        assert torch.equal(parts_a[key], parts_b[key]), key


@given(matrices(), st.data())
def test_any_block_is_the_dense_block(src, data):
    rows, cols = src.sparse_sizes()
    top, left = data.draw(st.integers(0, rows)), data.draw(st.integers(0, cols))
    height = data.draw(st.integers(0, rows - top))
    width = data.draw(st.integers(0, cols - left))
    block = check(sparse.narrow(src, (0, 1), (top, left), (height, width)))
    assert block == src.narrow(0, top, height).narrow(1, left, width)
    assert (dense(block) == dense(src)[top : top + height, left : left + width]).all()
    swapped = sparse.narrow(src, (1, 0), (left, top), (width, height))
    assert swapped == block
    assert src.__narrow_diag__((top, left), (height, width)) == block


@given(matrices(values=("float64", "wide"), coalesced=True), st.sampled_from(TORCH), st.data())
def test_any_block_of_a_torch_layout_is_the_dense_block(src, kind, data):
    rows, cols = src.sparse_sizes()
    top, left = data.draw(st.integers(0, rows)), data.draw(st.integers(0, cols))
    height = data.draw(st.integers(0, rows - top))
    width = data.draw(st.integers(0, cols - left))
    block = sparse.narrow(to_torch(src, kind), (0, 1), (top, left), (height, width))
    assert sparse.sizes(block)[:2] == (height, width)
    expected = dense(src)[top : top + height, left : left + width]
    assert (block.to_dense().double().numpy() == expected).all()


def two(kind, value):
    """A matrix of two rows and three columns with three entries, no duplicates."""
    row, col = torch.tensor([0, 0, 1]), torch.tensor([0, 2, 1])
    src = SparseTensor(row=row, col=col, value=value, sparse_sizes=(2, 3))
    return src if kind == "SparseTensor" else to_torch(src, kind)


@pytest.mark.parametrize("kind", ["SparseTensor", *TORCH])
@pytest.mark.parametrize("dim", DIMS)
def test_gradients_flow_through_cat_and_narrow_to_the_values(kind, dim):
    a = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    b = torch.tensor([4.0, 5.0, 6.0], requires_grad=True)
    joined = sparse.cat([two(kind, a), two(kind, b)], dim)
    start, length = list(offsets([two(kind, a), two(kind, b)], dim))[1]
    second = sparse.narrow(joined, dim, start, length)
    _, parts = sparse.to_parts(second)
    values = parts["value" if kind == "SparseTensor" else "values"]
    (values * torch.tensor([10.0, 20.0, 30.0])).sum().backward()
    # CSC holds the entry in the middle column before that in the last.
    expected = [10.0, 30.0, 20.0] if kind == "csc" else [10.0, 20.0, 30.0]
    assert b.grad.tolist() == expected
    assert a.grad is None or a.grad.tolist() == [0.0, 0.0, 0.0]


@pytest.mark.parametrize("dim", DIMS)
def test_gradients_of_duplicates_in_coo_are_those_of_the_dense_matrix(dim):
    index = torch.tensor([[1, 0, 0, 1], [0, 1, 1, 0]])
    values = torch.tensor([1.0, 2.0, 3.0, 4.0], requires_grad=True)
    matrix = torch.sparse_coo_tensor(index, values, (2, 2), check_invariants=True)
    joined = sparse.cat([matrix, matrix], dim)
    start, length = list(offsets([matrix, matrix], dim))[1]
    part = sparse.narrow(joined, dim, start, length)
    weight = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    (part.to_dense() ** 2 * weight).sum().backward()

    again = values.detach().clone().requires_grad_()
    plain = torch.zeros(2, 2).index_put(tuple(index), again, accumulate=True)
    (plain**2 * weight).sum().backward()
    assert values.grad.tolist() == again.grad.tolist()


def test_ids_keep_their_dtype_and_grow_only_where_they_must():
    def csr(cols):
        ptr, index = torch.tensor([0, 1]), torch.tensor([cols - 1])
        parts = (ptr.int(), index.int(), torch.ones(1))
        return torch.sparse_csr_tensor(*parts, (1, cols), check_invariants=True)

    small = sparse.cat([csr(3), csr(4)], (0, 1))
    assert small.crow_indices().dtype == small.col_indices().dtype == torch.int32
    large = sparse.cat([csr(2**31 - 1), csr(4)], (0, 1))
    assert large.crow_indices().dtype == large.col_indices().dtype == torch.int64
    assert large.col_indices().tolist() == [2**31 - 2, 2**31 + 2]


def test_the_joined_pieces_are_not_changed():
    a, b = torch.tensor([0, 1]), torch.tensor([0, 2])
    assert cat_shifted([a, b], [0, 5]).tolist() == [0, 1, 5, 7]
    assert cat_shifted([b], [5]).tolist() == [5, 7]
    assert (a.tolist(), b.tolist()) == ([0, 1], [0, 2])


def test_caches_that_all_have_are_handed_on():
    full = SparseTensor.eye(2, 3, fill_cache=True)
    every = set(full.cache_info())
    assert set(sparse.cat([full, full], (0, 1)).cache_info()) == every
    by_row = {"rowptr", "rowcount", "colptr", "colcount"}
    assert set(sparse.cat([full, full], 0).cache_info()) == by_row
    assert set(sparse.cat([full, full], 1).cache_info()) == by_row
    assert sparse.cat([full, SparseTensor.eye(2, 3)], (0, 1)).cache_info() == {}
    joined = sparse.cat([full, full], (0, 1))
    assert set(sparse.narrow(joined, (0, 1), (2, 3), (2, 3)).cache_info()) == every


def test_matrices_with_rows_and_with_row_pointers_can_be_joined():
    a = SparseTensor.eye(2)
    b = with_rowptr(a)
    b.clear_cache_()
    joined = check(sparse.cat([a, b], 0))
    assert entries(joined) == [(0, 0, 1.0), (1, 1, 1.0), (2, 0, 1.0), (3, 1, 1.0)]
    assert b.cache_info() == {}
    both = sparse.cat([b, b], (0, 1))
    assert both.storage.given() == "rowptr"
    assert both.cache_info() == {}


def test_values_can_be_joined_along_their_own_dimensions():
    index = torch.tensor([[0, 1], [1, 0]])
    a = SparseTensor.from_edge_index(index, torch.tensor([[1.0], [2.0]]))
    b = SparseTensor.from_edge_index(index, torch.tensor([[3.0, 4.0], [5.0, 6.0]]))
    joined = sparse.cat([a, b], -1)
    assert joined.sizes() == [2, 2, 3]
    assert joined.storage.value().tolist() == [[1.0, 3.0, 4.0], [2.0, 5.0, 6.0]]
    assert sparse.narrow(joined, 2, 1, 2) == b
    with pytest.raises(ValueError, match="same entries, 1 differs"):
        sparse.cat([a, SparseTensor.eye(2).set_value(torch.ones(2, 1))], 2)


def test_coo_with_one_and_with_three_sparse_dimensions():
    vector = torch.tensor([0.0, 5.0, 0.0, 7.0]).to_sparse()
    joined = sparse.cat([vector, vector], 0)
    assert joined.to_dense().tolist() == [0, 5, 0, 7, 0, 5, 0, 7]
    assert_same_parts(sparse.narrow(joined, 0, 4, 4), vector)
    cube = torch.arange(8.0).view(2, 2, 2).to_sparse()
    joined = sparse.cat([cube, cube], (0, 2))
    assert joined.shape == (4, 2, 4)
    assert_same_parts(sparse.narrow(joined, (0, 2), (2, 2), (2, 2)), cube)


def test_only_what_is_sparse_is_sparse():
    eye = torch.eye(2)
    kinds = [eye.to_sparse(), two("csr", torch.ones(3)), two("csc", torch.ones(3))]
    assert all(sparse.is_sparse(x) for x in [*kinds, SparseTensor.eye(2), eye.to_sparse_bsr(1)])
    assert not any(sparse.is_sparse(x) for x in [eye, [eye.to_sparse()], None, "coo", 3])
    assert [sparse.kind(x) for x in [*kinds, SparseTensor.eye(2)]] == [*TORCH, "SparseTensor"]


def test_what_cannot_be_joined_is_refused_by_name():
    eye = torch.eye(4)
    blocked = eye.to_sparse_bsr(2), eye.to_sparse_bsc(2)
    for matrix in blocked:
        with pytest.raises(TypeError, match=str(matrix.layout)):
            sparse.cat([matrix, matrix], 0)
        with pytest.raises(TypeError, match=str(matrix.layout)):
            sparse.narrow(matrix, 0, 0, 2)
    batched = torch.eye(3).expand(2, 3, 3).to_sparse_csr()
    with pytest.raises(ValueError, match=r"CSR tensor must not be batched, found shape \[2, 3, 3\]"):
        sparse.cat([batched], 0)
    with pytest.raises(TypeError, match=r"expected a sparse matrix, found torch\.strided"):
        sparse.cat([eye], 0)
    with pytest.raises(ValueError, match="at least one sparse matrix"):
        sparse.cat([], 0)
    with pytest.raises(ValueError, match=r"kinds .* found coo at 0 and SparseTensor at 1"):
        sparse.cat([eye.to_sparse(), SparseTensor.eye(4)], 0)
    with pytest.raises(ValueError, match=r"has_value.* found True at 0 and False at 1"):
        sparse.cat([SparseTensor.eye(2), SparseTensor.eye(2, has_value=False)], 0)
    with pytest.raises(ValueError, match=r"shapes of a value must be equal, found \[\] at 0 and \[2\] at 1"):
        sparse.cat([SparseTensor.eye(2), SparseTensor.eye(2).set_value(torch.ones(2, 2))], 0)
    with pytest.raises(ValueError, match="sizes of dimension 1 must be equal, found 2 at 0 and 3 at 1"):
        sparse.cat([SparseTensor.eye(2), SparseTensor.eye(3)], 0)
    with pytest.raises(ValueError, match="sizes beside dimension 0"):
        sparse.cat([torch.eye(2).to_sparse(), torch.eye(3).to_sparse()], 0)
    for dim in [2, (0, 0), (), (0, 2), -5]:
        with pytest.raises(IndexError, match="dim must"):
            sparse.cat([SparseTensor.eye(2)], dim)
    with pytest.raises(IndexError, match="dim must name different sparse dimensions, below 1"):
        sparse.cat([torch.eye(2).to_sparse(1)], 1)


@pytest.mark.parametrize("kind", ["SparseTensor", *TORCH])
def test_a_block_must_lie_inside(kind):
    matrix = two(kind, torch.ones(3))
    for start, length in [(0, 3), (2, 1), (-3, 1), (0, -1)]:
        with pytest.raises(IndexError, match="start and length must stay inside dimension 0"):
            sparse.narrow(matrix, 0, start, length)
    with pytest.raises(ValueError, match="must be as many"):
        sparse.narrow(matrix, (0, 1), 0, 1)
    assert sparse.sizes(sparse.narrow(matrix, 0, -1, 1)) == (1, 3)


@given(matrices(), st.sampled_from(["SparseTensor", *TORCH]))
def test_a_matrix_taken_apart_is_put_together_again(src, kind):
    if kind != "SparseTensor":
        if not src.has_value() or src.storage.value().dtype == torch.bool:
            src = src.fill_value(1.0)
        src = to_torch(src.coalesce(), kind)
    description, parts = sparse.to_parts(src)
    assert all(part.layout == torch.strided for part in parts.values())
    again = sparse.from_parts(description, parts)
    if kind == "SparseTensor":
        assert again == src
        assert again.cache_info() == src.cache_info()
        assert again.storage.given() == src.storage.given()
    else:
        assert_same_parts(again, src)


def test_parts_that_do_not_fit_are_refused():
    for kind in ["SparseTensor", *TORCH]:
        description, parts = sparse.to_parts(two(kind, torch.ones(3)))
        key = {"SparseTensor": "col", "coo": "indices"}.get(kind, "index")
        with pytest.raises((ValueError, RuntimeError)):
            sparse.from_parts(description, parts | {key: parts[key] + 7})


@pytest.mark.parametrize("kind", ["SparseTensor", *TORCH])
def test_compact_copies_views_and_nothing_else(kind):
    big = sparse.cat([two(kind, torch.ones(3))] * 50, (0, 1))
    view = sparse.narrow(big, 1 if kind == "csc" else 0, 0, 2)
    _, before = sparse.to_parts(view)
    _, after = sparse.to_parts(sparse.compact(view))
    assert any(p.untyped_storage().nbytes() > p.nbytes for p in before.values())
    for key, part in after.items():
        assert part.untyped_storage().nbytes() == part.nbytes
        assert torch.equal(part, before[key])
    _, whole = sparse.to_parts(big)
    _, kept = sparse.to_parts(sparse.compact(big))
    assert all(kept[key].data_ptr() == whole[key].data_ptr() for key in whole)


def test_no_warning_of_torch_reaches_the_user():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        csr = [SparseTensor.eye(2).to_torch_sparse_csr_tensor()] * 2
        sparse.narrow(sparse.cat(csr, (0, 1)), (0, 1), (0, 0), (2, 2))
