from itertools import product
from types import ModuleType

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from gnnlab.utils import (
    batched_negative_sampling,
    negative_sampling,
    structured_negative_sampling,
    structured_negative_sampling_feasible,
)
from gnnlab.utils._distinct import below_diagonal, distinct_below, nth_free
from tests.utils.graphs import INTEGERS, MIXED, NO_EDGES, PATH, STAR, assert_same, graphs

Pairs = set[tuple[int, int]]
few = pytest.mark.filterwarnings("ignore:num_neg_samples. there are not that many:UserWarning")


def pairs(edge_index: Tensor) -> list[tuple[int, int]]:
    return [(a, b) for a, b in edge_index.t().tolist()]


def free_pairs(edge_index: Tensor, num_nodes: int, undirected: bool = False) -> Pairs:
    taken = set(pairs(edge_index))
    if undirected:
        taken |= {(b, a) for a, b in taken}
    nodes = range(num_nodes)
    return {(a, b) for a, b in product(nodes, nodes) if a != b} - taken


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


@few
@given(graphs(), st.integers(0, 60), st.booleans(), st.sampled_from(["sparse", "dense"]))
def test_different_pairs_and_never_an_edge(
    graph: tuple[Tensor, int], wanted: int, force_undirected: bool, method: str
) -> None:
    edge_index, num_nodes = graph
    free = free_pairs(edge_index, num_nodes, force_undirected)
    out = negative_sampling(edge_index, num_nodes, wanted, method, force_undirected)
    got = pairs(out)
    assert out.dtype == torch.long
    assert len(set(got)) == len(got)
    assert set(got) <= free
    assert len(got) == min(wanted // 2 * 2 if force_undirected else wanted, len(free))
    if force_undirected:
        half = out.size(1) // 2
        assert_same(out[:, half:], out[:, :half].flip(0))


@few
@given(st.integers(1, 4), st.integers(1, 5), st.data(), st.integers(0, 30))
def test_bipartite_pairs(rows: int, columns: int, data: st.DataObject, wanted: int) -> None:
    edge = st.tuples(st.integers(0, rows - 1), st.integers(0, columns - 1))
    edges = data.draw(st.lists(edge, max_size=10))
    edge_index = torch.tensor(edges, dtype=torch.long).view(-1, 2).t()
    free = set(product(range(rows), range(columns))) - set(edges)
    got = pairs(negative_sampling(edge_index, (rows, columns), wanted))
    assert len(set(got)) == len(got) == min(wanted, len(free))
    assert set(got) <= free


def test_every_pair_is_as_likely() -> None:
    # 17 free pairs, 3 drawn: each is expected 3000 * 3 / 17 = 529 times; six standard deviations are 124.
    generator = seeded()
    count = dict.fromkeys(free_pairs(MIXED[:, :5], 5), 0)
    for _ in range(3000):
        for pair in pairs(negative_sampling(MIXED[:, :5], 5, 3, generator=generator)):
            count[pair] += 1
    assert all(abs(n - 9000 / 17) < 124 for n in count.values())


@pytest.mark.parametrize("wanted", [3, 12])
def test_every_set_and_order_is_as_likely(wanted: int) -> None:
    # Both ways of drawing, few of a range and much of it: the mean of what comes first is the middle.
    first = [distinct_below(torch.tensor([13]), torch.tensor([wanted]), seeded(i))[1][0].item() for i in range(2000)]
    assert sum(first) / 2000 == pytest.approx(6.0, abs=0.5)


def test_counts(pyg: ModuleType) -> None:
    # How many are asked for, from the same arguments as PyG.
    for wanted in (None, 0, 3, 0.4, 1.5, 2.0):
        ours = negative_sampling(MIXED, 10, wanted)
        assert ours.size(1) == pyg.negative_sampling(MIXED, 10, wanted).size(1)
        ours = negative_sampling(MIXED, (10, 12), wanted)
        assert ours.size(1) == pyg.negative_sampling(MIXED, (10, 12), wanted).size(1)
    assert negative_sampling(MIXED, 10, 5, force_undirected=True).size(1) == 4


def test_shortage_is_told() -> None:
    with pytest.warns(UserWarning, match="num_neg_samples: there are not that many .*; 98 fewer are returned"):
        out = negative_sampling(PATH, num_neg_samples=100)
    assert sorted(pairs(out)) == [(0, 2), (2, 0)]
    with pytest.warns(UserWarning, match="98 fewer are returned"):
        assert negative_sampling(PATH, num_neg_samples=100, force_undirected=True).size(1) == 2
    complete = torch.ones(3, 3).nonzero().t()
    assert negative_sampling(complete).shape == (2, 0)  # as many as there are, if no number is given


def test_reverses_of_edges_do_not_count_as_free() -> None:
    # PyG draws (3, 2) here, though (2, 3) is an edge.
    edge_index = torch.tensor([[0, 0, 1, 3, 0, 1], [1, 2, 2, 2, 3, 3]])
    assert negative_sampling(edge_index, force_undirected=True).shape == (2, 0)


def test_repeatable() -> None:
    a, b, c = (negative_sampling(MIXED, 50, generator=seeded(seed)) for seed in (1, 1, 2))
    assert_same(a, b)
    assert not torch.equal(a, c)
    for function in (
        structured_negative_sampling,
        lambda e, n, generator: batched_negative_sampling(e, torch.zeros(n).long(), generator=generator),
    ):
        assert_same(function(MIXED, 50, generator=seeded(1)), function(MIXED, 50, generator=seeded(1)))


def test_many_pairs() -> None:
    num_nodes = 1000
    edge_index = torch.randint(num_nodes, (2, 20_000), generator=seeded())
    for wanted in (20_000, 600_000):
        out = negative_sampling(edge_index, num_nodes, wanted)
        key = out[0] * num_nodes + out[1]
        assert out.size(1) == key.unique().numel() == wanted
        assert not torch.isin(key, edge_index[0] * num_nodes + edge_index[1]).any()
        assert (out[0] != out[1]).all()


@pytest.mark.parametrize("dtype", INTEGERS)
def test_every_integer_dtype(dtype: torch.dtype) -> None:
    out = negative_sampling(torch.tensor([[0, 100], [100, 0]]).to(dtype), num_neg_samples=1000)
    assert len(set(pairs(out))) == 1000


def test_errors() -> None:
    with pytest.raises(IndexError, match="edge_index: expected nodes below num_nodes=3, found 4"):
        negative_sampling(MIXED, 3)
    with pytest.raises(IndexError, match=r"edge_index\[1\]: expected values in \[0, 3\), found 4"):
        negative_sampling(MIXED, (5, 3))
    with pytest.raises(ValueError, match="method: expected 'sparse' or 'dense', found 'other'"):
        negative_sampling(MIXED, method="other")
    with pytest.raises(ValueError, match="num_neg_samples: expected a number from 0, found -1"):
        negative_sampling(MIXED, num_neg_samples=-1)
    with pytest.raises(ValueError, match="force_undirected: expected False for a bipartite graph"):
        negative_sampling(MIXED, (5, 5), force_undirected=True)
    with pytest.raises(ValueError, match=r"batch: expected graphs in rising order"):
        batched_negative_sampling(PATH, torch.tensor([0, 1, 0]))
    with pytest.raises(ValueError, match="edge_index: expected edges within a graph"):
        batched_negative_sampling(PATH, torch.tensor([0, 0, 1]))
    with pytest.raises(IndexError, match=r"edge_index\[0\]: expected values in \[0, 2\), found 2"):
        batched_negative_sampling(PATH, torch.tensor([0, 0]))


# In batches


@few
@given(st.lists(graphs(min_nodes=0, max_nodes=5), min_size=1, max_size=4), st.data())
def test_batches_graph_by_graph(parts: list[tuple[Tensor, int]], data: st.DataObject) -> None:
    wanted = data.draw(st.none() | st.integers(0, 12) | st.floats(0, 2))
    force_undirected = data.draw(st.booleans())
    sizes = [num_nodes for _, num_nodes in parts]
    starts = [sum(sizes[:i]) for i in range(len(sizes))]
    edge_index = torch.cat([edges + start for (edges, _), start in zip(parts, starts, strict=True)], dim=1)
    batch = torch.arange(len(sizes)).repeat_interleave(torch.tensor(sizes))

    out = batched_negative_sampling(edge_index, batch, wanted, "sparse", force_undirected)
    got = pairs(out)
    assert len(set(got)) == len(got)
    expected = 0
    for (edges, num_nodes), start in zip(parts, starts, strict=True):
        free = free_pairs(edges, num_nodes, force_undirected)
        asked = (
            edges.size(1) if wanted is None else int(wanted * edges.size(1)) if isinstance(wanted, float) else wanted
        )
        count = min(asked // 2 * 2 if force_undirected else asked, len(free))
        assert {(a - start, b - start) for a, b in got[expected : expected + count]} <= free
        expected += count
    assert len(got) == expected


@few
def test_bipartite_batches() -> None:
    sources, targets = torch.tensor([0, 0, 1]), torch.tensor([0, 1, 1, 1])
    out = batched_negative_sampling(torch.tensor([[0, 2], [0, 3]]), (sources, targets), 10)
    assert sorted(pairs(out)) == [(1, 0), (2, 1), (2, 2)]


@few
def test_counts_in_batches(pyg: ModuleType) -> None:
    edge_index, batch = torch.tensor([[0, 1, 3, 4, 5], [1, 2, 4, 5, 6]]), torch.tensor([0, 0, 0, 1, 1, 1, 1])
    for wanted in (None, 2, 1.5, 100):
        ours = batched_negative_sampling(edge_index, batch, wanted)
        assert ours.size(1) == pyg.batched_negative_sampling(edge_index, batch, wanted).size(1)


# Structured


@given(graphs(max_nodes=5), st.booleans())
def test_a_negative_for_each_edge_or_a_word_that_there_is_none(
    graph: tuple[Tensor, int], contains_neg_self_loops: bool
) -> None:
    edge_index, num_nodes = graph
    taken = set(pairs(edge_index))
    if not contains_neg_self_loops:
        taken |= {(node, node) for node in range(num_nodes)}
    full = {a for a in range(num_nodes) if all((a, b) in taken for b in range(num_nodes))}
    feasible = structured_negative_sampling_feasible(edge_index, num_nodes, contains_neg_self_loops)
    assert feasible == (not full)
    if full & set(edge_index[0].tolist()):
        with pytest.raises(ValueError, match=r"edge_index: expected a node that .* is not joined to, found none"):
            structured_negative_sampling(edge_index, num_nodes, contains_neg_self_loops)
        return
    i, j, k = structured_negative_sampling(edge_index, num_nodes, contains_neg_self_loops)
    assert_same(torch.stack([i, j]), edge_index)
    assert not taken & set(zip(i.tolist(), k.tolist(), strict=True))
    assert all(0 <= node < num_nodes for node in k.tolist())


def test_structured_negatives_are_all_as_likely() -> None:
    edge_index = torch.tensor([[0] * 4000, [1] * 4000])
    *_, k = structured_negative_sampling(edge_index, 5, generator=seeded())
    # 4000 draws of 4 nodes: 1000 each, six standard deviations are 164.
    count = torch.bincount(k, minlength=5)
    assert count[1] == 0
    assert (count[[0, 2, 3, 4]] - 1000).abs().max() < 164


@pytest.mark.parametrize("edge_index", [MIXED, PATH, STAR, NO_EDGES, torch.ones(3, 3).nonzero().t()])
@pytest.mark.parametrize("num_nodes", [None, 6])
@pytest.mark.parametrize("contains_neg_self_loops", [True, False])
def test_feasible_as_pyg(
    pyg: ModuleType, edge_index: Tensor, num_nodes: int | None, contains_neg_self_loops: bool
) -> None:
    ours = structured_negative_sampling_feasible(edge_index, num_nodes, contains_neg_self_loops)
    assert ours is pyg.structured_negative_sampling_feasible(edge_index, num_nodes, contains_neg_self_loops)


def test_structured_without_edges() -> None:
    assert [part.shape for part in structured_negative_sampling(NO_EDGES)] == [(0,)] * 3


# What it stands on


@given(st.sets(st.integers(0, 20)), st.lists(st.integers(0, 10)))
def test_nth_free(taken: set[int], rank: list[int]) -> None:
    free = [number for number in range(40) if number not in taken]
    out = nth_free(torch.tensor(sorted(taken), dtype=torch.long), torch.tensor(rank, dtype=torch.long))
    assert out.tolist() == [free[r] for r in rank]


@given(st.integers(1, 2**25), st.data())
def test_below_diagonal(row: int, data: st.DataObject) -> None:
    col = data.draw(st.integers(0, row - 1))
    out = below_diagonal(torch.tensor([row * (row - 1) // 2 + col]))
    assert [part.item() for part in out] == [row, col]


@given(st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30)), min_size=1, max_size=4))
def test_distinct_below(ranges: list[tuple[int, int]]) -> None:
    size = torch.tensor([max(pair) for pair in ranges])
    wanted = torch.tensor([min(pair) for pair in ranges])
    group, number = distinct_below(size, wanted)
    assert_same(group, torch.arange(len(ranges)).repeat_interleave(wanted))
    assert bool(((number >= 0) & (number < size[group])).all())
    assert torch.stack([group, number]).unique(dim=1).size(1) == number.numel()
