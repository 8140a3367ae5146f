from types import ModuleType

import pytest
import scipy.sparse
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor
from torch.autograd import gradcheck

from gnnlab.sparse import SparseTensor
from gnnlab.utils import (
    dense_to_sparse,
    from_scipy_sparse_matrix,
    is_sparse,
    is_torch_sparse_tensor,
    to_dense_adj,
    to_edge_index,
    to_scipy_sparse_matrix,
    to_torch_coo_tensor,
    to_torch_csc_tensor,
    to_torch_csr_tensor,
    to_torch_sparse_tensor,
)
from gnnlab.utils.sparse import cat
from tests.utils.graphs import INTEGERS, MIXED, NO_EDGES, PATH, as_layout, assert_same, graphs, numbers

LAYOUTS = [torch.sparse_coo, torch.sparse_csr, torch.sparse_csc]
# What the peer says when it builds such tensors.
pytestmark = [
    pytest.mark.filterwarnings("ignore:Sparse CSR tensor support is in beta state:UserWarning"),
    pytest.mark.filterwarnings("ignore:Sparse invariant checks are implicitly disabled:UserWarning"),
]


def dense_of(edge_index: Tensor, value: Tensor, num_nodes: int) -> Tensor:
    out = value.new_zeros(num_nodes, num_nodes, *value.shape[1:])
    return out.index_put_(tuple(edge_index.long()), value, accumulate=True)


@given(graphs(), st.sampled_from(LAYOUTS))
def test_there_and_back(graph: tuple[Tensor, int], layout: torch.layout) -> None:
    edge_index, num_nodes = graph
    value = numbers(edge_index)
    adj = to_torch_sparse_tensor(edge_index, value, num_nodes, layout=layout)
    assert adj.layout == layout
    assert_same(adj.to_dense(), dense_of(edge_index, value, num_nodes))
    edges, back = to_edge_index(adj)
    again = to_torch_sparse_tensor(edges, back, num_nodes, is_coalesced=True, layout=layout)
    assert_same(again.to_dense(), adj.to_dense())
    assert_same(dense_to_sparse(adj.to_dense()), dense_to_sparse(dense_of(edge_index, value, num_nodes)))


@pytest.mark.parametrize("edge_index", [PATH, MIXED, MIXED.int()])
@pytest.mark.parametrize("size", [None, 6, (6, None), (None, 8), (6, 8)])
def test_as_pyg(pyg: ModuleType, edge_index: Tensor, size: object) -> None:
    for attr in (None, numbers(edge_index), numbers(edge_index, 2), numbers(edge_index, dtype=torch.long)):
        for function in (to_torch_coo_tensor, to_torch_csr_tensor, to_torch_csc_tensor):
            ours = function(edge_index, attr, size)
            assert_same(ours, getattr(pyg, function.__name__)(edge_index, attr, size))
            assert_same(to_edge_index(ours), pyg.to_edge_index(ours))


def test_a_promise_of_order_is_taken() -> None:
    edge_index = torch.tensor([[0, 1], [1, 0]])
    assert to_torch_coo_tensor(edge_index, is_coalesced=True).is_coalesced()
    assert_same(to_torch_csr_tensor(edge_index, is_coalesced=True).crow_indices(), torch.tensor([0, 1, 2]))


@pytest.mark.parametrize("layout", LAYOUTS)
def test_no_edges(layout: torch.layout) -> None:
    assert to_torch_sparse_tensor(NO_EDGES, layout=layout).shape == (0, 0)
    adj = to_torch_sparse_tensor(NO_EDGES, size=(2, 3), layout=layout)
    assert adj.to_dense().tolist() == [[0.0] * 3] * 2
    assert to_edge_index(adj)[0].shape == (2, 0)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_gradcheck(layout: torch.layout) -> None:
    def through(value: Tensor) -> Tensor:
        adj = to_torch_sparse_tensor(MIXED, value, 5, layout=layout)
        return to_edge_index(adj)[1].pow(2)

    assert gradcheck(through, (numbers(MIXED).requires_grad_(),))


@pytest.mark.parametrize("dtype", INTEGERS)
def test_every_integer_dtype(dtype: torch.dtype) -> None:
    assert_same(to_torch_coo_tensor(PATH.to(dtype)).to_dense(), dense_of(PATH, torch.ones(4), 3))


def test_uncoalesced_entries_stay_as_they_are(pyg: ModuleType) -> None:
    adj = torch.sparse_coo_tensor(MIXED, numbers(MIXED), (5, 5), check_invariants=True)
    assert_same(to_edge_index(adj), (MIXED, numbers(MIXED)))
    assert_same(to_edge_index(adj), pyg.to_edge_index(adj))


@pytest.mark.parametrize("value", [None, numbers(PATH)])
def test_edges_of_a_sparse_tensor(value: Tensor | None) -> None:
    adj = SparseTensor.from_edge_index(PATH, value, (3, 3))
    assert_same(to_edge_index(adj), (PATH, torch.ones(4) if value is None else value))


def test_edges_of_torch_sparse() -> None:
    torch_sparse = pytest.importorskip("torch_sparse", reason="torch_sparse is not installed")
    adj = torch_sparse.SparseTensor.from_edge_index(PATH, numbers(PATH), (3, 3))
    assert is_sparse(adj)
    assert_same(to_edge_index(adj), (PATH, numbers(PATH)))


def test_what_is_sparse() -> None:
    for layout in LAYOUTS:
        assert is_torch_sparse_tensor(as_layout(torch.eye(2), layout))
    ours = SparseTensor.from_edge_index(PATH)
    assert is_sparse(ours)
    assert not is_torch_sparse_tensor(ours)
    for other in (torch.eye(2), torch.eye(2).to_sparse_bsr((1, 1)), None, "sparse"):
        assert not is_sparse(other)


def test_errors() -> None:
    for function in (to_torch_coo_tensor, to_torch_csr_tensor, to_torch_csc_tensor):
        with pytest.raises(IndexError, match=r"edge_index\[0\]: expected values in \[0, 3\), found 3"):
            function(MIXED[:, :4], size=3)
        with pytest.raises(IndexError, match=r"edge_index\[1\]: expected values in \[0, 4\), found 4"):
            function(MIXED, size=(None, 4))
        with pytest.raises(ValueError, match="edge_attr: expected one row for each of 6 edges"):
            function(MIXED, torch.rand(3))
    with pytest.raises(ValueError, match=r"layout: expected one of .*, found torch.strided"):
        to_torch_sparse_tensor(MIXED, layout=torch.strided)
    with pytest.raises(ValueError, match=r"adj: expected a sparse matrix, found a tensor of shape \[2, 2\]"):
        to_edge_index(torch.eye(2))
    with pytest.raises(ValueError, match="adj: expected a sparse matrix, found list"):
        to_edge_index([1])


# dense_to_sparse

BLOCKS = torch.tensor(
    [[[0.0, 2.0, 0.0], [3.0, 0.0, 0.0], [0.0, 1.0, 0.0]], [[1.0, 0.0, 0.0], [4.0, 0.0, 0.0], [0.0, 0.0, 0.0]]]
)


@pytest.mark.parametrize("adj", [BLOCKS, BLOCKS[0], BLOCKS[0, :2], BLOCKS.long(), BLOCKS > 0, torch.zeros(2, 2)])
def test_dense_to_sparse_as_pyg(pyg: ModuleType, adj: Tensor) -> None:
    assert_same(dense_to_sparse(adj), pyg.dense_to_sparse(adj))


@pytest.mark.parametrize(
    "mask", [[[True, True, True], [True, True, False]], [[True, True, False], [True, False, False]]]
)
def test_masked_blocks_as_pyg(pyg: ModuleType, mask: list[list[bool]]) -> None:
    # PyG's results hold for entries within the mask, and masks that fill from the front.
    mask = torch.tensor(mask)
    adj = BLOCKS * mask[:, :, None] * mask[:, None, :]
    assert_same(dense_to_sparse(adj, mask), pyg.dense_to_sparse(adj, mask))
    assert_same(dense_to_sparse(BLOCKS, mask), dense_to_sparse(adj, mask))


def test_blocks_that_are_not_square() -> None:
    edge_index, value = dense_to_sparse(BLOCKS[:, :2])
    assert edge_index.tolist() == [[0, 1, 2, 3], [1, 0, 3, 3]]
    assert value.tolist() == [2.0, 3.0, 1.0, 4.0]


def test_a_mask_with_a_gap_numbers_the_nodes_there_are() -> None:
    edge_index, value = dense_to_sparse(torch.ones(1, 3, 3), torch.tensor([[True, False, True]]))
    assert edge_index.tolist() == [[0, 0, 1, 1], [0, 1, 0, 1]]
    assert value.tolist() == [1.0] * 4


def test_batches_to_blocks_and_back() -> None:
    batch = torch.tensor([0, 0, 0, 1, 1])
    edge_index = torch.tensor([[0, 1, 2, 3, 4], [1, 2, 0, 4, 3]])
    mask = torch.tensor([[True, True, True], [True, True, False]])
    blocks = to_dense_adj(edge_index, batch, numbers(edge_index))
    assert_same(dense_to_sparse(blocks, mask), (edge_index, numbers(edge_index)))


def test_dense_to_sparse_errors() -> None:
    with pytest.raises(ValueError, match=r"adj: expected two or three dimensions, found shape \[2\]"):
        dense_to_sparse(torch.ones(2))
    for adj, mask in [(BLOCKS, torch.ones(2, 2)), (BLOCKS[0], torch.ones(3)), (BLOCKS[:, :2], torch.ones(2, 2))]:
        with pytest.raises(ValueError, match=r"mask: expected \[batch_size, num_nodes\] for adj"):
            dense_to_sparse(adj, mask.bool())


# cat


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dim", [0, 1, (0, 1)])
def test_cat_as_pyg(pyg: ModuleType, layout: torch.layout, dim: int | tuple[int, int]) -> None:
    a, b = (as_layout(torch.tensor(m), layout) for m in ([[1.0, 0.0], [0.0, 2.0]], [[0.0, 3.0], [4.0, 0.0]]))
    ours = cat([a, b], dim)
    assert ours.layout == layout  # PyG falls back to COO for two of them
    assert_same(ours.to_dense(), pyg.sparse.cat([a, b], dim).to_dense())


# SciPy


@given(graphs())
def test_scipy_there_and_back(graph: tuple[Tensor, int]) -> None:
    edge_index, num_nodes = graph
    value = numbers(edge_index)
    matrix = to_scipy_sparse_matrix(edge_index, value, num_nodes)
    assert_same(torch.from_numpy(matrix.toarray()), dense_of(edge_index, value, num_nodes))
    assert_same(from_scipy_sparse_matrix(matrix), (edge_index, value))


@pytest.mark.parametrize("edge_index", [MIXED, NO_EDGES, MIXED.int()])
@pytest.mark.parametrize("num_nodes", [None, 6])
def test_scipy_as_pyg(pyg: ModuleType, edge_index: Tensor, num_nodes: int | None) -> None:
    for attr in (None, numbers(edge_index), numbers(edge_index, 1), numbers(edge_index, dtype=torch.bool)):
        ours = to_scipy_sparse_matrix(edge_index, attr, num_nodes)
        theirs = pyg.to_scipy_sparse_matrix(edge_index, attr, num_nodes)
        assert type(ours) is type(theirs) is scipy.sparse.coo_matrix
        assert (ours.shape, ours.dtype) == (theirs.shape, theirs.dtype)
        assert_same(from_scipy_sparse_matrix(ours), pyg.from_scipy_sparse_matrix(theirs))
        assert_same(from_scipy_sparse_matrix(ours.tocsc()), pyg.from_scipy_sparse_matrix(theirs.tocsc()))


def test_scipy_shares_memory() -> None:
    value = numbers(PATH)
    matrix = to_scipy_sparse_matrix(PATH, value)
    value[0] = 99.0
    assert matrix.data[0] == 99.0


def test_scipy_errors() -> None:
    with pytest.raises(ValueError, match="edge_attr: expected one number for each of 4 edges"):
        to_scipy_sparse_matrix(PATH, torch.rand(4, 2))
    with pytest.raises(IndexError, match="edge_index: expected nodes below num_nodes=2, found 2"):
        to_scipy_sparse_matrix(PATH, num_nodes=2)
