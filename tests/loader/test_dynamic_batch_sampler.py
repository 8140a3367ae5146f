"""Batches of as many graphs as fit into a budget."""

from itertools import islice
from typing import Any

import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st
from torch.utils.data import ConcatDataset, Subset

from gnnlab.data import Data, Dataset, HeteroData, InMemoryDataset
from gnnlab.loader import DataLoader, DynamicBatchSampler
from gnnlab.loader.dynamic_batch_sampler import sizes
from tests.strategies import graph_lists

SIZES = [3, 1, 4, 1, 5, 9, 2, 6]


class Held(InMemoryDataset):
    def __init__(self, graphs, transform=None):
        super().__init__(None, transform)
        self.data, self.slices = self.collate(graphs)


class Custom(Held):
    def get(self, idx):
        return Data(num_nodes=10 + idx)


class Read(Dataset):
    """A dataset that is not in memory, and counts how often a graph is read."""

    def __init__(self, graphs):
        super().__init__(None)
        self.graphs, self.reads = graphs, 0

    def len(self):
        return len(self.graphs)

    def get(self, idx):
        self.reads += 1
        return self.graphs[idx]


def make_graph(num_nodes: int, num_edges: int | None = None, cls: Any = Data) -> Any:
    count = 2 * num_nodes if num_edges is None else num_edges
    return cls(x=torch.ones(num_nodes, 1), edge_index=torch.zeros(2, count, dtype=torch.long))


def make_graphs(counts=SIZES, cls: Any = Data) -> list[Any]:
    return [make_graph(count, cls=cls) for count in counts]


def next_fit(counts: list[int], order: list[int], budget: int, skip: bool) -> list[list[int]]:
    """What the sampler should do, the slow way: try every end of every batch."""
    order = [i for i in order if not (skip and counts[i] > budget)]
    batches = []
    while order:
        end = max(n for n in range(1, len(order) + 1) if n == 1 or sum(counts[i] for i in order[:n]) <= budget)
        batches.append(order[:end])
        order = order[end:]
    return batches


@given(
    counts=st.lists(st.integers(0, 9), max_size=12),
    budget=st.integers(1, 20),
    skip=st.booleans(),
    shuffle=st.booleans(),
    steps=st.none() | st.integers(1, 5),
)
def test_the_batches_of_brute_force(counts, budget, skip, shuffle, steps):
    sampler = DynamicBatchSampler(
        make_graphs(counts), budget, "node", shuffle, skip, steps, generator=torch.Generator().manual_seed(1)
    )
    order = torch.randperm(len(counts), generator=torch.Generator().manual_seed(1)).tolist()
    if skip and counts and min(counts) > budget:
        with pytest.raises(ValueError, match=rf"every graph is left out: the smallest has {min(counts)} nodes"):
            list(sampler)
        return
    expected = next_fit(counts, order if shuffle else list(range(len(counts))), budget, skip)
    found = list(sampler)
    assert found == expected[:steps]
    if not shuffle:
        assert len(sampler) == len(found)
    assert sampler.too_big == [i for i, count in enumerate(counts) if count > budget]
    if not skip and steps is None:
        assert sorted(i for batch in found for i in batch) == list(range(len(counts)))


@given(
    counts=st.lists(st.integers(1, 9), min_size=1, max_size=12),
    budget=st.integers(1, 20),
    mode=st.sampled_from(["node", "edge"]),
    shuffle=st.booleans(),
    steps=st.none() | st.integers(1, 20),
)
def test_the_batches_of_pyg(counts, budget, mode, shuffle, steps):
    theirs = pytest.importorskip("torch_geometric.loader", reason="compares with torch_geometric").DynamicBatchSampler
    epochs = []
    for cls in (DynamicBatchSampler, theirs):
        torch.manual_seed(4)
        sampler = cls(make_graphs(counts), budget, mode, shuffle, num_steps=steps)
        epochs.append([list(batch) for _ in range(2) for batch in sampler])
    assert epochs[0] == epochs[1]


def test_loaders_batch_as_pyg_under_the_same_seed():
    theirs = pytest.importorskip("torch_geometric.loader", reason="compares with torch_geometric")
    data = pytest.importorskip("torch_geometric.data", reason="compares with torch_geometric")
    epochs = []
    for cls, sampler, loader in (
        (Data, DynamicBatchSampler, DataLoader),
        (data.Data, theirs.DynamicBatchSampler, theirs.DataLoader),
    ):
        torch.manual_seed(2)
        graphs = make_graphs(cls=cls)
        batches = loader(graphs, batch_sampler=sampler(graphs, 10, shuffle=True))
        epochs.append([batch.ptr.tolist() for _ in range(2) for batch in batches])
    assert epochs[0] == epochs[1]


def test_skipping_ends_and_repeats_nothing():
    """PyG 2.8.1 repeats graphs, and may yield empty batches for ever, where a graph is skipped at the end."""
    sampler = DynamicBatchSampler(make_graphs(), 5, skip_too_big=True)
    assert list(islice(sampler, 20)) == [[0, 1], [2, 3], [4], [6]]
    assert sampler.too_big == [5, 7]


def test_the_length():
    graphs = make_graphs()
    assert len(DynamicBatchSampler(graphs, 10)) == 4
    assert len(DynamicBatchSampler(graphs, 10, num_steps=3)) == 3
    assert len(DynamicBatchSampler(graphs, 10, num_steps=30)) == 4
    assert len(DynamicBatchSampler(graphs, 10, shuffle=True, num_steps=3)) == 3
    assert len(DataLoader(graphs, batch_sampler=DynamicBatchSampler(graphs, 10))) == 4
    with pytest.raises(TypeError, match="set num_steps"):
        len(DynamicBatchSampler(graphs, 10, shuffle=True))
    assert len(list(DynamicBatchSampler(graphs, 100, shuffle=True))) == 1


def test_no_graphs_no_batches():
    sampler = DynamicBatchSampler([], 3, skip_too_big=True)
    assert list(sampler) == []
    assert len(sampler) == 0


# Where sizes come from ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["node", "edge"])
@pytest.mark.parametrize("part", [slice(None), slice(2, 7, 2), [7, 7, 0], [False] * 7 + [True]])
def test_sizes_come_from_the_slices_of_a_dataset_in_memory(mode, part, monkeypatch):
    dataset = Held(make_graphs())[part]
    expected = [getattr(graph, f"num_{mode}s") for graph in dataset]
    monkeypatch.setattr(InMemoryDataset, "get", lambda dataset, idx: pytest.fail(f"graph {idx} was read"))
    assert sizes(dataset, mode).tolist() == expected


@pytest.mark.parametrize("transform", [None, lambda graph: make_graph(graph.num_nodes + 1)])
@pytest.mark.parametrize(
    "wrap", [lambda d: d, lambda d: d[::2], lambda d: Subset(d, [6, 1]), lambda d: ConcatDataset([d, d])]
)
def test_nothing_stays_in_the_cache(transform, wrap):
    dataset = Held(make_graphs(), transform)
    chosen = wrap(dataset)
    sampler = DynamicBatchSampler(chosen, 5, shuffle=True)
    list(sampler)
    info = dataset.cache_info()
    assert (info.graphs, info.hits, info.misses) == (0, 0, 0)
    assert sampler.sizes.tolist() == [graph.num_nodes for graph in chosen]


def test_what_changes_graphs_is_asked_graph_by_graph():
    assert sizes(Custom(make_graphs()), "node").tolist() == list(range(10, 18))
    edited = Held(make_graphs())
    _ = edited[3]
    edited._data_list[3] = make_graph(50)
    assert sizes(edited, "node").tolist() == [3, 1, 4, 50, 5, 9, 2, 6]
    assert sizes(Held([make_graph(4)]), "node").tolist() == [4]
    assert sizes(Subset(Subset(Custom(make_graphs()), [3, 4, 5]), [2, 0]), "node").tolist() == [15, 13]


def test_a_dataset_out_of_memory_is_read_once():
    dataset = Read(make_graphs())
    sampler = DynamicBatchSampler(dataset, 5, shuffle=True)
    assert dataset.reads == 0
    for _ in range(3):
        list(sampler)
    assert dataset.reads == 8
    dataset.graphs.append(make_graph(2))
    assert sorted(i for batch in sampler for i in batch) == list(range(9))


@pytest.mark.parametrize("mode", ["node", "edge"])
@pytest.mark.filterwarnings("ignore:Unable to accurately infer 'num_nodes':UserWarning")
@given(hetero=st.booleans(), draws=st.data())
def test_sizes_of_any_dataset_are_those_of_its_graphs(mode, hetero, draws):
    kinds = {"sparse": ("SparseTensor", "csr"), "optional": draws.draw(st.booleans())}
    graphs = draws.draw(graph_lists(min_size=2, hetero=hetero, missing_types=hetero, **kinds))
    assume(any(store for graph in graphs for store in graph.stores))
    dataset = Held(graphs)
    with dataset._without_trace():
        expected = [getattr(graph, f"num_{mode}s") for graph in dataset]
    if None in expected:
        with pytest.raises(ValueError, match=rf"the number of {mode}s of graph {expected.index(None)}"):
            sizes(dataset, mode)
    else:
        assert sizes(dataset, mode).tolist() == expected
    assert dataset.cache_info().graphs == 0


def test_nodes_and_edges_of_all_types_count():
    graphs = []
    for papers, authors in ((1, 2), (3, 4), (0, 5)):
        graph = HeteroData()
        graph["paper"].x, graph["author"].x = torch.ones(papers, 1), torch.ones(authors, 1)
        graph["author", "paper"].edge_index = torch.zeros(2, papers, dtype=torch.long)
        graph["paper", "paper"].edge_attr = torch.ones(authors, 1)
        graphs.append(graph)
    del graphs[2]["author"]
    dataset = Held(graphs)
    assert sizes(dataset, "node").tolist() == sizes(graphs, "node").tolist() == [3, 7, 0]
    assert sizes(dataset, "edge").tolist() == sizes(graphs, "edge").tolist() == [3, 7, 5]


def test_an_attribute_that_says_less_than_the_others_is_not_believed():
    graphs = [
        Data(x=torch.ones(2, 1), pos=torch.ones(2, 1)),
        Data(pos=torch.ones(3, 1)),
        Data(x=torch.ones(1, 1), pos=torch.ones(1, 1)),
    ]
    assert sizes(Held(graphs), "node").tolist() == [2, 3, 1]
    graphs = [make_graph(2), make_graph(3)]
    for graph in graphs:
        graph["num_edges"] = 5
    assert sizes(Held(graphs), "edge").tolist() == [5, 5]


# Whole epochs ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("context", [None, "fork", "spawn"])
def test_loaders_get_whole_graphs_within_the_budget(context):
    dataset = Held(make_graphs())
    workers = {"num_workers": 2, "multiprocessing_context": context} if context else {}
    sampler = DynamicBatchSampler(dataset, 20, mode="edge", shuffle=True, generator=torch.Generator().manual_seed(0))
    batches = list(DataLoader(dataset, batch_sampler=sampler, **workers))
    assert sorted(size for batch in batches for size in batch.ptr.diff().tolist()) == sorted(SIZES)
    assert all(batch.num_edges <= 20 for batch in batches)


def test_epochs_differ_and_repeat_with_the_generator():
    graphs = make_graphs([1] * 20)
    first, second = (
        DynamicBatchSampler(graphs, 4, shuffle=True, generator=torch.Generator().manual_seed(9)) for _ in range(2)
    )
    torch.manual_seed(0)
    epochs = [list(first), list(first)]
    assert epochs[0] != epochs[1]
    torch.manual_seed(1)
    assert [list(second), list(second)] == epochs


@pytest.mark.parametrize("value", [0, -1, 2.5, "3", None])
def test_a_budget_must_be_a_positive_integer(value):
    with pytest.raises(ValueError, match=f"max_num must be a positive integer, found {value!r}"):
        DynamicBatchSampler([], value)
    if value is not None:
        with pytest.raises(ValueError, match=f"num_steps must be a positive integer, found {value!r}"):
            DynamicBatchSampler([], 1, num_steps=value)


def test_other_bad_inputs():
    with pytest.raises(ValueError, match="mode must be 'node' or 'edge', found 'graph'"):
        DynamicBatchSampler([], 1, mode="graph")
    with pytest.raises(ValueError, match=r"nodes of graph 1 \(of type Data\) is not known: set num_nodes or x"):
        list(DynamicBatchSampler([make_graph(1), Data()], 1))
    with pytest.raises(ValueError, match=r"edges of graph 0 \(of type int\) is not known"):
        list(DynamicBatchSampler([3], 1, mode="edge"))
