"""The same calls give the same as torch_sparse, where it is installed; and its tensors are taken in and given out."""

import inspect
import pickle

import numpy as np
import pytest
import torch

from gnnlab import sparse
from gnnlab.sparse import SparseTensor
from tests.sparse.matrices import check, entries

torch_sparse = pytest.importorskip("torch_sparse", reason="torch-sparse is not installed: it is compiled from source")

# torch_sparse makes torch's sparse tensors without saying whether torch should check them.
pytestmark = pytest.mark.filterwarnings("ignore:Sparse invariant checks are implicitly disabled:UserWarning")

ids = torch.tensor


def both(value=None, sizes=(3, 4)):
    """The same matrix, ours and theirs: entries at (2, 2), (0, 1), (1, 3), (1, 0), given in this order."""
    arguments = {
        "row": ids([2, 0, 1, 1]),
        "col": ids([2, 1, 3, 0]),
        "value": value,
        "sparse_sizes": sizes,
    }
    return SparseTensor(**arguments), torch_sparse.SparseTensor(**arguments)


VALUES = {
    "none": None,
    "numbers": ids([4.0, 1.0, 3.0, 2.0]),
    "wide": torch.arange(8.0).view(4, 2),
    "int64": ids([4, 1, 3, 2]),
}

CALLS = {
    "sorted": lambda a: a,
    "t": lambda a: a.t(),
    "row": lambda a: a[0],
    "last row": lambda a: a[-1],
    "column": lambda a: a[:, 1],
    "dots": lambda a: a[..., 1:],
    "slices": lambda a: a[1:2, 2:],
    "ids": lambda a: a[ids([2, 0, 0])],
    "ids twice": lambda a: a[ids([0, 1]), ids([3, 1])],
    "mask": lambda a: a[ids([True, False, True])],
    "list": lambda a: a[[0, 1]],
    "list of bools": lambda a: a[[True, False, True]],
    "array": lambda a: a[np.array([0, 1])],
    "select": lambda a: a.select(0, 1),
    "narrow rows": lambda a: a.narrow(0, 1, 2),
    "narrow columns": lambda a: a.narrow(1, -2, 2),
    "narrow nothing": lambda a: a.narrow(0, 3, 0),
    "index_select rows": lambda a: a.index_select(0, ids([1, 1])),
    "index_select columns": lambda a: a.index_select(1, ids([3, 0])),
    "masked_select": lambda a: a.masked_select(1, ids([True, False, False, True])),
    "masked_select_nnz": lambda a: a.masked_select_nnz(ids([True, False, True, False]), "coo"),
    "remove_diag": lambda a: a.remove_diag(),
    "remove_diag above": lambda a: a.remove_diag(1),
    "fill_value": lambda a: a.fill_value(2.5),
    "no values": lambda a: a.set_value(None),
    "coalesce": lambda a: a.coalesce(),
    "to_symmetric": lambda a: a.to_symmetric(),
    "resize": lambda a: a.sparse_resize((5, 6)),
    "reshape": lambda a: a.sparse_reshape(-1, 2),
    "double": lambda a: a.double(),
    "to half": lambda a: a.to("cpu", torch.half),
    "copy": lambda a: a.copy(),
    "clone": lambda a: a.clone(),
    "detach": lambda a: a.detach(),
}
NARROW_VALUES = {
    "set_diag": lambda a: a.set_diag(),
    "set_diag above": lambda a: a.set_diag(k=1),
    "set_diag below": lambda a: a.set_diag(k=-1),
    "set_diag to values": lambda a: a.set_diag(ids([7, 8, 9]).to(a.dtype())),
    "fill_diag": lambda a: a.fill_diag(5.0),
}
WIDE_VALUES = {
    "one value": lambda a: a[..., 1],
    "some values": lambda a: a[:, :, 1:],
    "narrow values": lambda a: a.narrow(2, 0, 1),
    "index_select values": lambda a: a.index_select(2, ids([1])),
    "masked_select values": lambda a: a.masked_select(2, ids([True, False])),
}
CASES = [(make, call) for make in VALUES for call in [*CALLS, *(WIDE_VALUES if make == "wide" else NARROW_VALUES)]]


@pytest.mark.parametrize(("make", "call"), CASES)
def test_the_same_matrix_comes_out(make, call):
    ours, theirs = both(VALUES[make])
    function = {**CALLS, **NARROW_VALUES, **WIDE_VALUES}[call]
    ours, theirs = check(function(ours)), function(theirs)
    assert repr(ours) == repr(theirs)
    assert ours.sizes() == theirs.sizes()
    assert SparseTensor.from_torch_sparse(theirs) == ours


NUMBERS = {
    "sizes": lambda a: a.sizes(),
    "sparse_sizes": lambda a: tuple(a.sparse_sizes()),
    "size": lambda a: [a.size(0), a.size(1), a.size(-1), a.sparse_size(0)],
    "dim": lambda a: a.dim(),
    "nnz": lambda a: a.nnz(),
    "numel": lambda a: a.numel(),
    "density": lambda a: [a.density(), a.sparsity(), a.avg_row_length(), a.avg_col_length()],
    "is": lambda a: [a.is_quadratic(), a.is_symmetric(), a.is_coalesced(), a.has_value()],
    "dtype": lambda a: [a.dtype(), a.device(), a.is_cuda(), a.is_floating_point()],
    "held": lambda a: [a.is_shared(), a.is_pinned(), a.requires_grad()],
    "dense": lambda a: a.to_dense().tolist(),
    "coo": lambda a: [None if part is None else part.tolist() for part in a.coo()],
    "csr": lambda a: [None if part is None else part.tolist() for part in a.csr()],
    "csc": lambda a: [None if part is None else part.tolist() for part in a.csc()],
    "get_diag": lambda a: a.get_diag().tolist(),
    "sum": lambda a: [a.sum().tolist(), a.sum(0).tolist(), a.sum(1).tolist()],
    "min": lambda a: [a.min().tolist(), a.min(0).tolist(), a.min(1).tolist()],
    "max": lambda a: [a.max().tolist(), a.max(0).tolist(), a.max(1).tolist()],
    "torch coo": lambda a: a.to_torch_sparse_coo_tensor().to_dense().tolist(),
    "torch csr": lambda a: a.to_torch_sparse_csr_tensor().col_indices().tolist(),
    "torch csc": lambda a: a.to_torch_sparse_csc_tensor().ccol_indices().tolist(),
}


@pytest.mark.parametrize("make", VALUES)
@pytest.mark.parametrize("call", NUMBERS)
def test_the_same_numbers_come_out(make, call):
    ours, theirs = both(VALUES[make])
    assert NUMBERS[call](ours) == NUMBERS[call](theirs)


@pytest.mark.parametrize("make", ["none", "numbers", "wide"])
def test_the_same_means_come_out(make):
    ours, theirs = both(VALUES[make])
    for dim in [None, 0, 1]:
        assert torch.equal(ours.mean(dim), theirs.mean(dim))


@pytest.mark.parametrize("layout", ["coo", "csr", "csc"])
def test_scipy_gets_the_same(layout):
    ours, theirs = both(VALUES["numbers"])
    ours, theirs = ours.to_scipy(layout), theirs.to_scipy(layout)
    assert type(ours) is type(theirs)
    assert (ours != theirs).nnz == 0


@pytest.mark.parametrize("dim", [0, 1, (0, 1)])
@pytest.mark.parametrize("make", VALUES)
def test_cat_gives_the_same_and_is_undone(make, dim):
    ours, theirs = both(VALUES[make])
    joined = sparse.cat([theirs, theirs], dim)
    assert type(joined) is torch_sparse.SparseTensor
    assert repr(joined) == repr(torch_sparse.cat([theirs, theirs], dim))
    assert repr(sparse.cat([ours, ours], dim)) == repr(joined)
    start, length = {0: (3, 3), 1: (4, 4), (0, 1): ((3, 4), (3, 4))}[dim]
    part = sparse.narrow(joined, dim, start, length)
    assert type(part) is torch_sparse.SparseTensor
    assert part == theirs


def square(value=None):
    """The same square matrix, ours and theirs, in which every row has entries: 0 → 1, 2; 1 → 0; 2 → 0, 3; 3 → 1."""
    arguments = {"row": ids([0, 0, 1, 2, 2, 3]), "col": ids([1, 2, 0, 0, 3, 1]), "value": value}
    return [made(**arguments, sparse_sizes=(4, 4)) for made in (SparseTensor, torch_sparse.SparseTensor)]


ROWS, COLUMNS = ids([[1.0], [2.0], [3.0]]), ids([[1.0, 2.0, 3.0, 4.0]])
EACH = ids([5.0, 6.0, 7.0, 8.0])
ELEMENTWISE = {
    "times rows": lambda a: a * ROWS,
    "times columns": lambda a: a.mul(COLUMNS),
    "plus rows": lambda a: ROWS + a,
    "plus columns": lambda a: a.add(COLUMNS),
    "times entries": lambda a: a.mul_nnz(EACH, "coo"),
    "plus entries": lambda a: a.add_nnz(EACH, "coo"),
    "plus whole numbers": lambda a: a.add_nnz(EACH.long(), "coo"),
    "in place": lambda a: a.clone().mul_(ROWS).add_(COLUMNS).mul_nnz_(EACH, "coo").add_nnz_(EACH, "coo"),
    "plus itself": lambda a: a + a[:2].sparse_resize((3, 4)),
    "plus a larger one": lambda a: a + a.sparse_resize((5, 6)),
}


@pytest.mark.parametrize("make", ["none", "numbers", "int64"])
@pytest.mark.parametrize("call", ELEMENTWISE)
def test_the_same_sums_and_products_come_out(make, call):
    ours, theirs = both(VALUES[make])
    ours, theirs = check(ELEMENTWISE[call](ours)), ELEMENTWISE[call](theirs)
    assert repr(ours) == repr(theirs)
    assert SparseTensor.from_torch_sparse(theirs) == ours


@pytest.mark.parametrize("make", ["numbers", "wide", "int64"])
def test_the_same_product_of_two_comes_out(make):
    ours, theirs = both(VALUES[make])
    assert repr(ours * ours[1:].t()[:3].t().sparse_resize((3, 4))) == repr(
        theirs * theirs[1:].t()[:3].t().sparse_resize((3, 4))
    )


WHOLE = {
    "times": lambda a: a @ a.t(),
    "times itself": lambda a: a.spspmm(a, "add"),
    "subgraph": lambda a: a.saint_subgraph(ids([3, 0, 2]))[0],
    "entries of the subgraph": lambda a: a.saint_subgraph(ids([3, 0, 2]))[1],
    "all neighbours": lambda a: a.sample_adj(ids([2, 0]), -1)[0],
    "their names": lambda a: a.sample_adj(ids([2, 0]), -1)[1],
    "enough neighbours": lambda a: a.sample_adj(ids([1, 3]), 9)[1],
    "permuted": lambda a: a.permute(ids([3, 1, 0, 2])),
    "a narrow order": lambda a: a.reverse_cuthill_mckee()[0],
    "that order": lambda a: a.reverse_cuthill_mckee()[1],
    "said to be symmetric": lambda a: a.reverse_cuthill_mckee(True)[1],
    "bandwidth": lambda a: [a.bandwidth(), a.bandwidth_proportion(1), round(a.avg_bandwidth(), 6)],
    "neighbours": lambda a: a.sample(5),
    "neighbours of some": lambda a: a.sample(5, ids([2, 2, 0])),
    "walks": lambda a: a.random_walk(ids([0, 1, 2, 3, 0]), 7),
}


@pytest.mark.parametrize("value", [None, torch.arange(1.0, 7.0)], ids=["pattern", "values"])
@pytest.mark.parametrize("call", WHOLE)
def test_a_square_matrix_gives_the_same(call, value):
    results = []
    for made in square(value):
        torch.manual_seed(12)  # random numbers are drawn alike
        results.append(WHOLE[call](made))
    assert repr(results[0]) == repr(results[1])


@pytest.mark.parametrize("reduce", ["sum", "add", "mean", "min", "max"])
@pytest.mark.parametrize("make", ["none", "numbers"])
def test_the_same_product_with_dense_rows_comes_out(make, reduce):
    x = torch.arange(8.0).view(4, 2)
    ours, theirs = both(VALUES[make])
    assert torch.equal(ours.matmul(x, reduce), theirs.matmul(x, reduce))
    assert torch.equal(ours @ x, theirs @ x)


GRADIENTS = {
    "times rows": lambda a: (a * ROWS).storage.value(),
    "plus itself": lambda a: (a + a[:2].sparse_resize((3, 4))).storage.value(),
    "times itself": lambda a: (a * a).storage.value(),
    "dense": lambda a: a @ torch.arange(8.0).view(4, 2),
    "mean": lambda a: a.matmul(torch.arange(8.0).view(4, 2), "mean"),
    "rows": lambda a: a.sample_adj(ids([1, 0]), -1)[0].storage.value(),
    "sum": lambda a: a.sum(1),
    "max": lambda a: a.max(0),
    "diagonal": lambda a: a.fill_diag(2.0).get_diag(),
}


@pytest.mark.parametrize("call", GRADIENTS)
def test_the_same_gradients_come_back_from_products(call):
    gradients = []
    for src in both():
        value = EACH.clone().requires_grad_()
        (GRADIENTS[call](src.set_value(value, layout="coo")) ** 2).sum().backward()
        gradients.append(value.grad)
    assert torch.equal(*gradients)


def methods(cls):
    return {name for name in dir(cls) if not name.startswith("__") or name in ("__add__", "__iadd__", "__matmul__")}


def parameters(function):
    """Names and defaults of those that can be given by position."""
    found = inspect.signature(function).parameters.values()
    return [(p.name, p.default) for p in found if p.kind is p.POSITIONAL_OR_KEYWORD]


@pytest.mark.parametrize("name", sorted(methods(torch_sparse.SparseTensor)))
def test_every_method_is_there_with_its_arguments(name):
    theirs = getattr(torch_sparse.SparseTensor, name)
    ours = parameters(getattr(SparseTensor, name))
    assert [("self" if p == "src" else p, default) for p, default in parameters(theirs)] == ours


FUNCTIONS = {
    name
    for name, function in vars(torch_sparse).items()
    if inspect.isfunction(function) and list(inspect.signature(function).parameters)[:1] in (["src"], ["tensors"])
}


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_every_function_of_a_matrix_is_there_with_its_arguments(name):
    theirs = parameters(getattr(torch_sparse, name))
    if name == "__narrow_diag__":
        assert [p for p, _ in parameters(SparseTensor.__narrow_diag__)][1:] == [p for p, _ in theirs][1:]
    else:
        assert parameters(getattr(sparse, name))[1:] == theirs[1:]


KEYS = ["rowptr", "rowcount", "colptr", "colcount", "csr2csc", "csc2csr"]


@pytest.mark.parametrize("key", KEYS)
def test_caches_are_called_and_counted_alike(key):
    ours, theirs = both()
    assert ours.storage.num_cached_keys() == theirs.storage.num_cached_keys() == 0
    assert getattr(ours.storage, key)().tolist() == getattr(theirs.storage, key)().tolist()
    assert ours.storage.cached_keys() == theirs.storage.cached_keys()
    ours.fill_cache_()
    theirs.fill_cache_()
    assert ours.storage.cached_keys() == theirs.storage.cached_keys()
    assert ours.storage.num_cached_keys() == theirs.storage.num_cached_keys() == 5
    assert ours.t().storage.cached_keys() == theirs.t().storage.cached_keys()


@pytest.mark.parametrize("make", VALUES)
def test_theirs_goes_in_and_out_with_its_caches(make):
    ours, theirs = both(VALUES[make])
    taken = SparseTensor.from_torch_sparse(theirs.fill_cache_())
    assert taken == ours
    assert taken.storage.num_cached_keys() == 5
    assert taken.storage.col().data_ptr() == theirs.storage.col().data_ptr()
    given = check(taken).to_torch_sparse()
    assert given == theirs
    assert given.storage.num_cached_keys() == 5
    assert ours.to_torch_sparse().storage.num_cached_keys() == 0


def test_theirs_with_row_pointers_alone():
    ptr, col = ids([0, 2, 3]), ids([0, 1, 1])
    theirs = torch_sparse.SparseTensor(rowptr=ptr, col=col, is_sorted=True, trust_data=True)
    taken = check(SparseTensor.from_torch_sparse(theirs))
    assert entries(taken) == [(0, 0, None), (0, 1, None), (1, 1, None)]


def test_theirs_is_sparse_and_can_be_taken_apart():
    _, theirs = both(VALUES["wide"])
    assert sparse.is_sparse(theirs)
    assert (sparse.kind(theirs), sparse.sizes(theirs)) == ("torch_sparse", (3, 4, 2))
    again = sparse.from_parts(*sparse.to_parts(theirs))
    assert type(again) is torch_sparse.SparseTensor
    assert again == theirs
    assert sparse.compact(theirs) == theirs
    with pytest.raises(ValueError, match=r"kinds .* found torch_sparse at 0 and SparseTensor at 1"):
        sparse.cat([theirs, both()[0]], 0)


@pytest.mark.parametrize("call", ["t", "slices", "ids", "index_select columns", "set_diag", "to_symmetric"])
def test_the_same_gradients_come_back(call):
    function = {**CALLS, **NARROW_VALUES}[call]
    gradients = []
    for src in both():
        value = VALUES["numbers"].clone().requires_grad_()
        out = function(src.set_value(value, layout="coo"))
        (out.storage.value() ** 3).sum().backward()
        gradients.append(value.grad.tolist())
    assert gradients[0] == gradients[1]


def test_what_we_do_otherwise_and_why():
    """torch_sparse loses data without a word in these; we add up, or refuse."""
    twice = {"row": ids([0, 0]), "col": ids([0, 0]), "value": ids([1.0, 2.0])}
    assert torch_sparse.SparseTensor(**twice).to_dense().tolist() == [[2.0]]
    assert SparseTensor(**twice).to_dense().tolist() == [[3.0]]
    ours, theirs = both(VALUES["numbers"])
    assert not torch_sparse.cat([theirs, theirs.set_value(None)], 0).has_value()
    with pytest.raises(ValueError, match="has_value"):
        sparse.cat([ours, ours.set_value(None)], 0)
    wrong = {"row": ids([-1]), "col": ids([0]), "sparse_sizes": (2, 2)}
    assert torch_sparse.SparseTensor(**wrong).storage.row().tolist() == [-1]
    with pytest.raises(ValueError, match="row must lie in"):
        SparseTensor(**wrong)


def test_what_we_do_where_theirs_goes_astray():
    """torch_sparse takes entries of another row or drops values in these, or cannot do them."""
    lonely = SparseTensor(row=ids([0, 2]), col=ids([1, 1]), sparse_sizes=(3, 3))
    theirs = lonely.to_torch_sparse()
    assert theirs.sample(1, ids([1])).tolist() == [[1]]  # of row 2
    with pytest.raises(ValueError, match="found row 1 without"):
        lonely.sample(1, ids([1]))
    assert lonely.random_walk(ids([0]), 3).tolist() == [[0, 1, 1, 1]]
    ours, theirs = both(VALUES["numbers"])
    assert not (theirs + theirs.set_value(None)).has_value()
    assert (ours + ours.set_value(None)).storage.value().tolist() == [2.0, 3.0, 4.0, 5.0]
    assert theirs.mul_nnz(torch.ones(4, 1), "coo").sizes() == [3, 4, 4]
    assert ours.mul_nnz(torch.ones(4, 1)).sizes() == [3, 4, 1]
    # Numbers by column are put in the places of others, unless there are no values yet.
    by_column = ids([1.0, 2.0, 3.0, 4.0])
    assert theirs.set_value(None).mul_nnz(by_column, "csc").storage.value().tolist() == [2.0, 1.0, 4.0, 3.0]
    assert theirs.fill_value(1.0).mul_nnz(by_column, "csc").storage.value().tolist() == [2.0, 1.0, 4.0, 3.0]
    assert theirs.mul_nnz(torch.ones(4), "csc").storage.value().tolist() == [2.0, 1.0, 4.0, 3.0]
    assert ours.mul_nnz(torch.ones(4), "csc") == ours
    assert ours.fill_value(1.0).mul_nnz(by_column, "csc").storage.value().tolist() == [2.0, 1.0, 4.0, 3.0]
    assert not (theirs.double().requires_grad_() @ theirs.double().t()).requires_grad()
    assert (ours.double().requires_grad_() @ ours.double().t()).requires_grad()
    with pytest.raises(RuntimeError):
        _ = theirs @ torch.ones(4)
    assert (ours @ torch.ones(4)).tolist() == [1.0, 5.0, 4.0]


def test_ours_is_no_larger_in_a_pickle():
    ours, theirs = both(VALUES["wide"])
    assert len(pickle.dumps(ours)) <= len(pickle.dumps(theirs))
