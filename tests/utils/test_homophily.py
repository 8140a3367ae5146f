from types import ModuleType

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from gnnlab.sparse import SparseTensor
from gnnlab.utils import homophily, to_torch_coo_tensor
from tests.utils.graphs import MIXED, NO_EDGES, PATH, assert_same, graphs

METHODS = ["edge", "node", "edge_insensitive"]


@given(graphs(), st.data(), st.sampled_from(METHODS))
def test_one_by_one(graph: tuple[Tensor, int], data: st.DataObject, method: str) -> None:
    edge_index, num_nodes = graph
    y = [0, 1, 2, *data.draw(st.lists(st.integers(0, 2), min_size=num_nodes, max_size=num_nodes))]
    edges = edge_index.t().tolist()

    def share(some: list[list[int]]) -> float:
        return sum(y[a] == y[b] for a, b in some) / len(some) if some else 0.0

    if method == "edge":
        expected = share(edges) if edges else float("nan")
    elif method == "node":
        expected = sum(share([e for e in edges if e[1] == node]) for node in range(len(y))) / len(y)
    else:
        shares = [share([e for e in edges if y[e[1]] == label]) - y.count(label) / len(y) for label in range(3)]
        expected = sum(max(excess, 0.0) for excess in shares) / 2
    out = homophily(edge_index, torch.tensor(y), method=method)
    assert isinstance(out, float)
    assert out == pytest.approx(expected, abs=1e-6, nan_ok=True)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("edge_index", [MIXED, PATH, NO_EDGES])
@pytest.mark.parametrize("y", [torch.tensor([0, 1, 1, 0, 2]), torch.tensor([[0], [1], [1], [0], [1]])])
def test_as_pyg(pyg: ModuleType, method: str, edge_index: Tensor, y: Tensor) -> None:
    assert_same(homophily(edge_index, y, method=method), pyg.homophily(edge_index, y, method=method))
    if edge_index.numel() > 0:
        batch = torch.tensor([0, 1, 1, 1, 1])
        assert_same(homophily(edge_index, y, batch, method), pyg.homophily(edge_index, y, batch, method))
        # PyG makes a number of it with one of the methods.
        assert homophily(edge_index, y, torch.zeros(5, dtype=torch.long), method).shape == (1,)


@pytest.mark.parametrize("method", METHODS)
def test_matrices_count_as_their_edges(method: str) -> None:
    y = torch.tensor([0, 0, 1])
    expected = homophily(PATH, y, method=method)
    assert homophily(to_torch_coo_tensor(PATH), y, method=method) == expected
    assert homophily(SparseTensor.from_edge_index(PATH), y, method=method) == expected


def test_graphs_without_nodes_in_a_batch() -> None:
    out = homophily(PATH, torch.tensor([0, 0, 1]), torch.tensor([0, 0, 2]), "edge_insensitive")
    assert out.shape == (3,)
    assert not out.isnan().any()


def test_errors() -> None:
    with pytest.raises(ValueError, match=r"method: expected .* found 'other'"):
        homophily(PATH, torch.tensor([0, 0, 1]), method="other")
    with pytest.raises(ValueError, match="y: expected two classes or more, found 1"):
        homophily(PATH, torch.tensor([0, 0, 0]), method="edge_insensitive")
    with pytest.raises(ValueError, match=r"y: expected \[num_nodes\] or \[num_nodes, 1\] labels, found \[3, 2\]"):
        homophily(PATH, torch.zeros(3, 2))
    with pytest.raises(IndexError, match=r"edge_index: expected values in \[0, 2\), found 2"):
        homophily(PATH, torch.tensor([0, 0]))
