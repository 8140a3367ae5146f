from types import ModuleType

import pytest
import torch
from hypothesis import given
from torch import Tensor

from gnnlab.sparse import SparseTensor
from gnnlab.utils import degree, one_hot
from gnnlab.utils.num_nodes import maybe_num_nodes, maybe_num_nodes_dict
from tests.utils.graphs import INTEGERS, MIXED, NO_EDGES, assert_same, graphs


@given(graphs())
def test_degree_counts(graph: tuple[Tensor, int]) -> None:
    edge_index, num_nodes = graph
    out = degree(edge_index[1], num_nodes)
    assert out.tolist() == [edge_index[1].tolist().count(node) for node in range(num_nodes)]


@pytest.mark.parametrize("dtype", [None, torch.long, torch.float16, torch.uint8, torch.bool])
@pytest.mark.parametrize("num_nodes", [None, 7])
def test_degree_as_pyg(pyg: ModuleType, dtype: torch.dtype | None, num_nodes: int | None) -> None:
    assert_same(degree(MIXED[0], num_nodes, dtype), pyg.degree(MIXED[0], num_nodes, dtype))


@pytest.mark.parametrize("dtype", INTEGERS)
def test_every_integer_dtype(dtype: torch.dtype) -> None:
    assert_same(degree(torch.tensor([0, 2, 2]).to(dtype)), torch.tensor([1.0, 0.0, 2.0]))
    assert_same(one_hot(torch.tensor([1, 0]).to(dtype)), torch.eye(2).flip(0))


def test_degree_counts_beyond_what_a_half_can_count_one_by_one() -> None:
    assert degree(torch.zeros(4096, dtype=torch.long), dtype=torch.float16).item() == 4096


def test_degree_errors() -> None:
    with pytest.raises(IndexError, match=r"index: expected values in \[0, 3\), found 4"):
        degree(MIXED[0], 3)
    with pytest.raises(ValueError, match="index: expected one dimension"):
        degree(MIXED)


def test_nothing() -> None:
    assert degree(NO_EDGES[0]).shape == (0,)
    assert degree(NO_EDGES[0], 3).tolist() == [0, 0, 0]
    assert one_hot(NO_EDGES[0]).shape == (0, 0)


@pytest.mark.parametrize("dtype", [None, torch.long, torch.bool])
@pytest.mark.parametrize("num_classes", [None, 7])
def test_one_hot_as_pyg(pyg: ModuleType, dtype: torch.dtype | None, num_classes: int | None) -> None:
    assert_same(one_hot(MIXED[0], num_classes, dtype), pyg.one_hot(MIXED[0], num_classes, dtype))


def test_one_hot_errors() -> None:
    with pytest.raises(IndexError, match=r"index: expected values in \[0, 1\), found 1"):
        one_hot(torch.tensor([0, 1]), 1)
    with pytest.raises(ValueError, match="index: expected one dimension"):
        one_hot(torch.tensor([[0]]))


# Numbers of nodes


@pytest.mark.parametrize("num_nodes", [None, 9])
def test_maybe_num_nodes_as_pyg(pyg: ModuleType, num_nodes: int | None) -> None:
    for edges in (MIXED, NO_EDGES, (MIXED[0], MIXED[1]), torch.ones(3, 4).to_sparse()):
        assert maybe_num_nodes(edges, num_nodes) == pyg.num_nodes.maybe_num_nodes(edges, num_nodes)


@pytest.mark.parametrize("given_counts", [None, {"a": 10}, {"z": 2}])
def test_maybe_num_nodes_dict_as_pyg(pyg: ModuleType, given_counts: dict[str, int] | None) -> None:
    edges = {("a", "to", "b"): MIXED, ("b", "to", "a"): MIXED + 1}
    ours = maybe_num_nodes_dict(edges, given_counts)
    assert ours == pyg.num_nodes.maybe_num_nodes_dict(edges, given_counts)


def test_maybe_num_nodes_dict_without_edges() -> None:
    assert maybe_num_nodes_dict({("a", "to", "a"): NO_EDGES}) == {"a": 0}


def test_maybe_num_nodes_of_a_sparse_tensor_is_its_longer_side() -> None:
    assert maybe_num_nodes(SparseTensor.from_edge_index(MIXED, sparse_sizes=(6, 8))) == 8


def test_maybe_num_nodes_wants_integers() -> None:
    with pytest.raises(ValueError, match="edge_index: expected an integer dtype"):
        maybe_num_nodes(torch.rand(2, 3))
