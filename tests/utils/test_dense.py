from types import ModuleType

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor
from torch.autograd import gradcheck

from gnnlab.utils import to_dense_adj, to_dense_batch, unbatch, unbatch_edge_index
from tests.utils.graphs import INTEGERS, NO_EDGES, assert_same, numbers

BATCH = torch.tensor([0, 0, 2, 2, 2])  # graph 1 is empty
EDGES = torch.tensor([[0, 1, 2, 3, 4, 3], [1, 0, 3, 4, 2, 4]])
X = torch.arange(1.0, 11.0).view(5, 2)


@st.composite
def batches(draw: st.DrawFn) -> tuple[Tensor, int]:
    """The graph of each node, in any order, and the number of graphs."""
    batch_size = draw(st.integers(1, 4))
    batch = draw(st.lists(st.integers(0, batch_size - 1), min_size=1, max_size=8))
    return torch.tensor(batch), batch_size


@given(batches(), st.integers(0, 4) | st.none())
def test_blocks_one_by_one(data: tuple[Tensor, int], max_num_nodes: int | None) -> None:
    batch, batch_size = data
    x = torch.arange(2.0 * len(batch)).view(-1, 2)
    out, mask = to_dense_batch(x, batch, -1.0, max_num_nodes, batch_size)
    rows = [x[batch == graph] for graph in range(batch_size)]
    length = max(map(len, rows)) if max_num_nodes is None else max_num_nodes
    assert out.shape == (batch_size, length, 2)
    for graph, expected in enumerate(rows):
        kept = min(len(expected), length)
        assert_same(out[graph, :kept], expected[:kept])
        assert (out[graph, kept:] == -1.0).all()
        assert mask[graph].tolist() == [True] * kept + [False] * (length - kept)


@given(batches())
def test_unbatching_is_selecting(data: tuple[Tensor, int]) -> None:
    batch, batch_size = data
    x = torch.arange(2.0 * len(batch)).view(-1, 2)
    expected = [x[batch == graph] for graph in range(batch_size)]
    assert_same(unbatch(x, batch, batch_size=batch_size), expected)
    assert_same(unbatch(x.t(), batch, 1, batch_size), [part.t() for part in expected])


@pytest.mark.parametrize("batch", [BATCH, None, torch.tensor([0, 1, 1, 1, 2], dtype=torch.int32)])
@pytest.mark.parametrize("max_num_nodes", [None, 2, 6])
@pytest.mark.parametrize("batch_size", [None, 4])
def test_to_dense_batch_as_pyg(
    pyg: ModuleType, batch: Tensor | None, max_num_nodes: int | None, batch_size: int | None
) -> None:
    if batch is None:
        batch_size = None
    for x, fill in ((X, 0.0), (X[:, 0], -1.0), (X.long(), 2), (X.view(5, 1, 2), 0.5)):
        arguments = (x, batch, fill, max_num_nodes, batch_size)
        assert_same(to_dense_batch(*arguments), pyg.to_dense_batch(*arguments))


def test_a_row_as_padding() -> None:
    out, _ = to_dense_batch(X, BATCH, torch.tensor([7.0, 8.0]))
    assert out[0].tolist() == [[1.0, 2.0], [3.0, 4.0], [7.0, 8.0]]


@pytest.mark.parametrize("max_num_nodes", [None, 2, 4])
@pytest.mark.parametrize("batch_size", [None, 4])
def test_to_dense_adj_as_pyg(pyg: ModuleType, max_num_nodes: int | None, batch_size: int | None) -> None:
    attrs = (None, numbers(EDGES), numbers(EDGES, 2), numbers(EDGES, dtype=torch.long), numbers(EDGES) > 6)
    for attr in attrs:
        arguments = (EDGES, BATCH, attr, max_num_nodes, batch_size)
        assert_same(to_dense_adj(*arguments), pyg.to_dense_adj(*arguments))
        assert_same(to_dense_adj(EDGES, None, attr, max_num_nodes), pyg.to_dense_adj(EDGES, None, attr, max_num_nodes))


def test_nodes_of_a_graph_need_not_stand_together() -> None:
    adj = to_dense_adj(torch.tensor([[0, 1], [2, 3]]), torch.tensor([0, 1, 0, 1]))
    assert adj.tolist() == [[[0.0, 1.0], [0.0, 0.0]]] * 2


def test_nothing() -> None:
    nothing = torch.empty(0, dtype=torch.long)
    assert to_dense_batch(X[:0], nothing)[0].shape == (0, 0, 2)
    assert to_dense_batch(X[:0], nothing, batch_size=2)[0].shape == (2, 0, 2)
    assert to_dense_adj(NO_EDGES).shape == (1, 0, 0)
    assert to_dense_adj(NO_EDGES, BATCH).tolist() == torch.zeros(3, 3, 3).tolist()
    assert unbatch(X[:0], nothing) == []
    assert unbatch_edge_index(NO_EDGES, nothing) == []


def test_gradcheck() -> None:
    x = torch.randn(5, 2, dtype=torch.float64, requires_grad=True)
    assert gradcheck(lambda x: to_dense_batch(x, BATCH)[0], (x,))
    assert gradcheck(lambda v: to_dense_adj(EDGES, BATCH, v), (numbers(EDGES).requires_grad_(),))


@pytest.mark.parametrize("dtype", INTEGERS)
def test_every_integer_dtype(dtype: torch.dtype) -> None:
    edges, batch = EDGES.to(dtype), BATCH.to(dtype)
    assert_same(to_dense_adj(edges, batch), to_dense_adj(EDGES, BATCH))
    assert_same(to_dense_batch(X, batch), to_dense_batch(X, BATCH))
    assert_same(unbatch(X, batch), unbatch(X, BATCH))
    assert_same(unbatch_edge_index(edges, batch), [part.to(dtype) for part in unbatch_edge_index(EDGES, BATCH)])


def test_errors() -> None:
    with pytest.raises(IndexError, match=r"batch: expected values in \[0, 2\), found 2"):
        to_dense_batch(X, BATCH, batch_size=2)
    with pytest.raises(IndexError, match=r"index: expected values in \[0, 2\), found 2"):
        unbatch(X, BATCH, batch_size=2)
    for function in (to_dense_batch, unbatch):
        with pytest.raises(ValueError, match="batch: expected one entry for each of 5"):
            function(X, BATCH[:4])
        with pytest.raises(ValueError, match="batch: expected an integer dtype"):
            function(X, BATCH.float())
    for function in (to_dense_adj, unbatch_edge_index):
        with pytest.raises(IndexError, match=r"edge_index: expected values in \[0, 3\), found 4"):
            function(EDGES, BATCH[:3])
        with pytest.raises(ValueError, match="edge_index: expected edges within a graph"):
            function(torch.tensor([[0], [2]]), BATCH)
    with pytest.raises(ValueError, match="edge_attr: expected one row for each of 6 edges"):
        to_dense_adj(EDGES, BATCH, torch.rand(2))


# unbatch


@pytest.mark.parametrize("batch_size", [None, 4])
def test_unbatch_as_pyg(pyg: ModuleType, batch_size: int | None) -> None:
    assert_same(unbatch(X, BATCH, 0, batch_size), pyg.unbatch(X, BATCH, 0, batch_size))
    assert_same(unbatch(X.t(), BATCH, 1, batch_size), pyg.unbatch(X.t(), BATCH, 1, batch_size))
    assert_same(unbatch_edge_index(EDGES, BATCH, batch_size), pyg.unbatch_edge_index(EDGES, BATCH, batch_size))


def test_unbatching_a_sorted_batch_copies_nothing() -> None:
    assert all(part.untyped_storage().data_ptr() == X.untyped_storage().data_ptr() for part in unbatch(X, BATCH))


@given(batches(), st.data())
def test_unbatched_edges_one_by_one(data: tuple[Tensor, int], more: st.DataObject) -> None:
    # In any order of nodes and edges, where PyG needs both sorted.
    batch, batch_size = data
    within = [(a, b) for a, g in enumerate(batch) for b, h in enumerate(batch) if g == h]
    edges = more.draw(st.lists(st.sampled_from(within), max_size=8))
    edge_index = torch.tensor(edges, dtype=torch.long).view(-1, 2).t()
    parts = unbatch_edge_index(edge_index, batch, batch_size)
    assert len(parts) == batch_size
    for graph, part in enumerate(parts):
        nodes = (batch == graph).nonzero().view(-1)
        assert nodes[part].t().tolist() == [[a, b] for a, b in edges if batch[a] == graph]


def test_graphs_without_edges_at_the_end_have_their_place() -> None:
    # PyG returns one graph here, of three.
    parts = unbatch_edge_index(torch.tensor([[0], [1]]), BATCH)
    assert [part.size(1) for part in parts] == [1, 0, 0]
