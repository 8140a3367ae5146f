from types import ModuleType

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from gnnlab.utils import coalesce, dropout_edge, dropout_node, is_undirected, subgraph, to_undirected
from tests.utils.graphs import MIXED, NO_EDGES, PATH, assert_same, graphs


@given(graphs(), st.floats(0, 1))
def test_edges_that_stay(graph: tuple[Tensor, int], p: float) -> None:
    edge_index, _ = graph
    out, mask = dropout_edge(edge_index, p)
    assert mask.dtype == torch.bool
    assert_same(out, edge_index[:, mask])


@given(graphs(), st.floats(0.01, 1))
def test_an_edge_and_its_reverse_share_their_fate(graph: tuple[Tensor, int], p: float) -> None:
    edge_index = to_undirected(graph[0])
    out, place = dropout_edge(edge_index, p, force_undirected=True)
    assert is_undirected(out)
    assert_same(coalesce(out).size(1), out.size(1))  # no edge twice, loops included
    row, col = edge_index[:, place]
    mirrored = out[0] > out[1]
    assert_same(out, torch.where(mirrored, torch.stack([col, row]), torch.stack([row, col])))


@given(graphs(), st.floats(0, 1), st.booleans())
def test_nodes_that_stay(graph: tuple[Tensor, int], p: float, relabel_nodes: bool) -> None:
    edge_index, num_nodes = graph
    out, edge_mask, node_mask = dropout_node(edge_index, p, num_nodes, relabel_nodes=relabel_nodes)
    relabel = relabel_nodes and p > 0
    expected = subgraph(node_mask, edge_index, relabel_nodes=relabel, return_edge_mask=True)
    assert_same((out, edge_mask), (expected[0], expected[2]))


@pytest.mark.parametrize(("p", "training"), [(0.0, True), (1.0, True), (0.5, False)])
@pytest.mark.parametrize("edge_index", [MIXED, PATH, NO_EDGES])
def test_without_chance_as_pyg(pyg: ModuleType, edge_index: Tensor, p: float, training: bool) -> None:
    assert_same(dropout_edge(edge_index, p, False, training), pyg.dropout_edge(edge_index, p, False, training))
    assert_same(dropout_edge(edge_index, p, True, training), pyg.dropout_edge(edge_index, p, True, training))
    assert_same(dropout_node(edge_index, p, 6, training), pyg.dropout_node(edge_index, p, 6, training))


def test_shares() -> None:
    edge_index = torch.randint(100, (2, 10_000))
    assert dropout_edge(edge_index, 0.2)[1].float().mean().item() == pytest.approx(0.8, abs=0.03)
    assert dropout_node(edge_index, 0.2, 10_000)[2].float().mean().item() == pytest.approx(0.8, abs=0.03)


def test_repeatable() -> None:
    edge_index = torch.randint(100, (2, 1000))
    for function in (dropout_edge, dropout_node):
        a, b = (function(edge_index, generator=torch.Generator().manual_seed(3)) for _ in range(2))
        assert_same(a, b)


@pytest.mark.parametrize("function", [dropout_edge, dropout_node])
def test_errors(function: object) -> None:
    for p in (-0.1, 1.5, float("nan")):
        with pytest.raises(ValueError, match=r"p: expected a probability in \[0, 1\]"):
            function(MIXED, p)
    with pytest.raises(ValueError, match="edge_index: expected an integer dtype"):
        function(MIXED.float())
    with pytest.raises(IndexError, match="edge_index: expected nodes below num_nodes=2"):
        dropout_node(MIXED, num_nodes=2)
