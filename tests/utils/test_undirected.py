from types import ModuleType

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from gnnlab.utils import coalesce, is_undirected, to_undirected
from tests.utils.graphs import MIXED, NO_EDGES, PATH, STAR, assert_same, graphs, numbers


@given(graphs(), st.sampled_from(["add", "sum", "mean", "min", "max", "mul"]))
def test_every_edge_has_its_reverse(graph: tuple[Tensor, int], reduce: str) -> None:
    edge_index, num_nodes = graph
    out, attr = to_undirected(edge_index, numbers(edge_index), num_nodes, reduce)
    assert is_undirected(out, attr, num_nodes)
    pairs = {tuple(pair) for pair in edge_index.t().tolist()}
    assert {tuple(pair) for pair in out.t().tolist()} == pairs | {(b, a) for a, b in pairs}
    assert_same(coalesce(out, attr, num_nodes), (out, attr))


@given(graphs())
def test_is_undirected_is_symmetry_of_the_matrix(graph: tuple[Tensor, int]) -> None:
    edge_index, num_nodes = graph
    count = torch.zeros(num_nodes, num_nodes).index_put_(tuple(edge_index), torch.ones(()), accumulate=True)
    assert is_undirected(edge_index) == torch.equal(count, count.t())


@pytest.mark.parametrize("reduce", ["add", "mean", "max"])
@pytest.mark.parametrize("edge_index", [PATH, STAR, MIXED, NO_EDGES, MIXED.int()])
def test_to_undirected_as_pyg(pyg: ModuleType, edge_index: Tensor, reduce: str) -> None:
    a, b = numbers(edge_index), numbers(edge_index, 2)
    for attr in [(), (None,), (a,), ([a, b],)]:
        ours = to_undirected(edge_index, *attr, reduce=reduce)
        assert_same(ours, pyg.to_undirected(edge_index, *attr, reduce=reduce))


@pytest.mark.parametrize(
    ("edge_index", "attr"),
    [
        (PATH, None),
        (STAR, None),
        (NO_EDGES, None),
        (PATH, torch.tensor([1.0, 1.0, 2.0, 2.0])),
        (PATH, torch.tensor([1.0, 2.0, 3.0, 4.0])),
        (PATH, [torch.tensor([1, 1, 2, 2]), torch.tensor([1, 1, 2, 1])]),
    ],
)
def test_is_undirected_as_pyg(pyg: ModuleType, edge_index: Tensor, attr: Tensor | list[Tensor] | None) -> None:
    assert is_undirected(edge_index, attr) == pyg.is_undirected(edge_index, attr)


def test_errors() -> None:
    with pytest.raises(IndexError, match="edge_index: expected nodes below num_nodes=2, found 4"):
        is_undirected(MIXED, num_nodes=2)
    with pytest.raises(IndexError, match="edge_index: expected nodes below num_nodes=2, found 4"):
        to_undirected(MIXED, num_nodes=2)
    with pytest.raises(ValueError, match="edge_attr: expected one row for each of 4 edges"):
        to_undirected(PATH, torch.rand(3))
    with pytest.raises(ValueError, match="edge_attr: expected a tensor, a list of them or None, found 5"):
        to_undirected(PATH, 5)
