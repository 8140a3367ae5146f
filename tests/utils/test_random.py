from types import ModuleType

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from gnnlab.utils import (
    barabasi_albert_graph,
    coalesce,
    contains_self_loops,
    degree,
    erdos_renyi_graph,
    is_undirected,
    stochastic_blockmodel_graph,
)
from tests.utils.graphs import assert_same


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def assert_simple(edge_index: Tensor, num_nodes: int, directed: bool = False) -> None:
    assert edge_index.dtype == torch.long
    assert_same(coalesce(edge_index, num_nodes=num_nodes), edge_index)
    assert not contains_self_loops(edge_index)
    assert directed or is_undirected(edge_index)


@given(st.lists(st.integers(0, 6), min_size=1, max_size=3), st.floats(0, 1), st.booleans())
def test_blocks_make_simple_graphs(sizes: list[int], p: float, directed: bool) -> None:
    probs = torch.full((len(sizes), len(sizes)), p)
    assert_simple(stochastic_blockmodel_graph(sizes, probs, directed), sum(sizes), directed)


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("p", [0.0, 1.0])
@pytest.mark.parametrize("num_nodes", [1, 2, 5])
def test_without_chance_as_pyg(pyg: ModuleType, num_nodes: int, p: float, directed: bool) -> None:
    assert_same(erdos_renyi_graph(num_nodes, p, directed), pyg.erdos_renyi_graph(num_nodes, p, directed))


@pytest.mark.parametrize(
    ("probs", "directed"),
    [
        ([[1.0, 0.0], [0.0, 1.0]], False),
        ([[0.0, 1.0], [1.0, 0.0]], False),
        ([[0.0, 1.0], [0.0, 1.0]], True),
        (torch.tensor([[1.0, 0.0], [1.0, 0.0]]), True),
    ],
)
def test_blocks_without_chance_as_pyg(pyg: ModuleType, probs: object, directed: bool) -> None:
    for sizes in ([2, 3], torch.tensor([1, 4])):
        ours = stochastic_blockmodel_graph(sizes, probs, directed)
        assert_same(ours, pyg.stochastic_blockmodel_graph(sizes, probs, directed))


@pytest.mark.parametrize("p", [1e-4, 0.1, 0.9])
@pytest.mark.parametrize("directed", [False, True])
def test_number_of_edges(p: float, directed: bool) -> None:
    num_nodes = 400
    count = erdos_renyi_graph(num_nodes, p, directed, generator=seeded()).size(1)
    draws = num_nodes * (num_nodes - 1) // (1 if directed else 2)
    spread = (draws * p * (1 - p)) ** 0.5
    assert abs(count / (1 if directed else 2) - draws * p) < 5 * spread


def test_no_nodes() -> None:
    assert erdos_renyi_graph(0, 0.5).shape == erdos_renyi_graph(0, 1.0, directed=True).shape == (2, 0)


def test_every_pair_is_as_likely() -> None:
    # 2000 graphs: each pair is expected 600 times; six standard deviations are 123.
    generator = seeded()
    count = torch.zeros(5, 5)
    for _ in range(2000):
        edge_index = erdos_renyi_graph(5, 0.3, generator=generator)
        count[edge_index[0], edge_index[1]] += 1
    off_diagonal = count[~torch.eye(5, dtype=torch.bool)]
    assert (off_diagonal - 600).abs().max() < 123


def test_blocks_differ_in_density() -> None:
    edge_index = stochastic_blockmodel_graph([200, 200], [[0.2, 0.01], [0.01, 0.1]], generator=seeded())
    block = edge_index // 200
    count = torch.bincount(block[0] * 2 + block[1], minlength=4)
    assert_same(count[1], count[2])
    expected = torch.tensor([0.2 * 200 * 199, 0.01 * 200 * 200, 0.01 * 200 * 200, 0.1 * 200 * 199])
    assert ((count - expected).abs() < 5 * (2 * expected).sqrt()).all()


def test_a_sparse_graph_of_very_many_nodes() -> None:
    edge_index = erdos_renyi_graph(10_000_000, 1e-13, generator=seeded())
    assert_simple(edge_index, 10_000_000)
    assert 0 < edge_index.size(1) < 100


@given(st.integers(2, 30), st.data())
def test_grown_graphs_are_simple(num_nodes: int, data: st.DataObject) -> None:
    num_edges = data.draw(st.integers(1, num_nodes - 1))
    edge_index = barabasi_albert_graph(num_nodes, num_edges)
    assert_simple(edge_index, num_nodes)
    older = degree(edge_index[0, edge_index[1] < edge_index[0]], num_nodes)
    assert (older[:num_edges] == 0).all()
    assert ((older[num_edges:] >= 1) & (older[num_edges:] <= num_edges)).all()
    assert older[num_edges] == num_edges


def test_growth_prefers_nodes_with_many_edges() -> None:
    # Powers with exponent 3 in the tail: the greatest degree is far above what fair draws give (about 25).
    deg = degree(barabasi_albert_graph(5000, 3, generator=seeded())[0])
    assert deg.max() > 100
    assert deg.mean().item() == pytest.approx(6.0, abs=0.1)


def test_repeatable() -> None:
    for function, arguments in [
        (erdos_renyi_graph, (50, 0.2)),
        (barabasi_albert_graph, (50, 2)),
        (stochastic_blockmodel_graph, ([10, 10], [[0.5, 0.1], [0.1, 0.5]])),
    ]:
        a, b, c = (function(*arguments, generator=seeded(seed)) for seed in (1, 1, 2))
        assert_same(a, b)
        assert not torch.equal(a, c)


def test_errors() -> None:
    for p in (-0.5, 2.0, float("nan")):
        with pytest.raises(ValueError, match=r"edge_probs"):
            erdos_renyi_graph(4, p)
    with pytest.raises(ValueError, match=r"edge_probs: expected shape \[2, 2\], found \[1, 2\]"):
        stochastic_blockmodel_graph([2, 2], [[0.0, 1.0]])
    with pytest.raises(ValueError, match="edge_probs: expected a symmetric matrix"):
        stochastic_blockmodel_graph([2, 2], [[0.0, 1.0], [0.0, 0.0]])
    with pytest.raises(ValueError, match=r"block_sizes: expected numbers of nodes, found \[-1\]"):
        erdos_renyi_graph(-1, 0.5)
    for num_edges in (0, 5, 6):
        with pytest.raises(ValueError, match="num_edges: expected 0 < num_edges < num_nodes=5"):
            barabasi_albert_graph(5, num_edges)
