"""Mini-batches: the same with and without workers, from the block and graph by graph."""

import collections
import copy
import gc
import os

import psutil
import pytest
import torch

from gnnlab.data import Data, InMemoryDataset
from gnnlab.data.testing import assert_equal
from gnnlab.loader import DataLoader
from gnnlab.profile import pss

Pair = collections.namedtuple("Pair", ["graph", "number"])


class Held(InMemoryDataset):
    def __init__(self, graphs, transform=None):
        super().__init__(None, transform)
        self.data, self.slices = self.collate(graphs)


def make_dataset(count=20, transform=None):
    generator = torch.Generator().manual_seed(0)
    sizes = torch.randint(1, 6, (count,), generator=generator).tolist()
    return Held(
        [
            Data(x=torch.full((n, 2), float(i)), edge_index=torch.randint(0, n, (2, n), generator=generator), y=i)
            for i, n in enumerate(sizes)
        ],
        transform,
    )


def add_one(graph):
    graph.x = graph.x + 1
    return graph


@pytest.mark.parametrize("transform", [None, add_one])
@pytest.mark.parametrize("part", [slice(None), slice(3, 15, 2), [4, 4, 1, 0, 9, 2]])
def test_batches_hold_the_graphs_in_order(part, transform):
    dataset = make_dataset(transform=transform)[part]
    batches = list(DataLoader(dataset, batch_size=4))
    assert sum(batch.num_graphs for batch in batches) == len(dataset)
    graphs = [graph for batch in batches for graph in batch.to_data_list()]
    for found, graph in zip(graphs, dataset, strict=True):
        assert_equal(found, graph)


@pytest.mark.parametrize("context", ["fork", "spawn"])
@pytest.mark.parametrize("transform", [None, add_one])
def test_workers_give_the_same_batches_as_none(context, transform):
    dataset = make_dataset(transform=transform)[1:]
    expected = list(DataLoader(dataset, batch_size=4, follow_batch=["x"]))
    loader = DataLoader(dataset, batch_size=4, follow_batch=["x"], num_workers=2, multiprocessing_context=context)
    for batch, other in zip(loader, expected, strict=True):
        assert_equal(batch, other)


def test_the_vectorised_path_can_be_switched_off():
    dataset = make_dataset()
    fast = list(DataLoader(dataset, batch_size=4))
    assert dataset.cache_info().graphs == 0
    slow = list(DataLoader(dataset, batch_size=4, vectorised=False))
    assert dataset.cache_info().graphs == 20
    for batch, other in zip(fast, slow, strict=True):
        assert_equal(batch, other)


def test_the_same_shuffled_batches_either_way():
    dataset = make_dataset()
    epochs = []
    for vectorised in (True, False):
        torch.manual_seed(7)
        epochs.append(list(DataLoader(dataset, batch_size=3, shuffle=True, vectorised=vectorised)))
    for batch, other in zip(*epochs, strict=True):
        assert_equal(batch, other)


def test_torch_subsets_are_vectorised_too():
    dataset = make_dataset()
    subset = torch.utils.data.Subset(dataset, [5, 2, 9])
    batch = next(iter(DataLoader(subset, batch_size=3)))
    assert dataset.cache_info().graphs == 0
    assert_equal(batch, dataset.batch([5, 2, 9]))


def test_a_plain_torch_loader_sees_a_list_of_graphs():
    dataset = make_dataset()
    loader = torch.utils.data.DataLoader(dataset, batch_size=4, collate_fn=list)
    for found, graph in zip([graph for graphs in loader for graph in graphs], dataset, strict=True):
        assert_equal(found, graph)


def test_other_samples_than_graphs():
    graph = Data(x=torch.ones(2, 1))
    tensor = torch.arange(2)
    samples = [{"graph": graph, "number": 1, "text": "a", "rows": [tensor, 0.5], "pair": Pair(graph, 2)}] * 3
    batch = next(iter(DataLoader(samples, batch_size=3)))
    assert batch["graph"].num_graphs == 3
    assert batch["number"].tolist() == [1, 1, 1]
    assert batch["text"] == ["a", "a", "a"]
    assert batch["rows"][0].tolist() == [[0, 1]] * 3
    assert batch["rows"][1].dtype == torch.float
    assert isinstance(batch["pair"], Pair)
    assert batch["pair"].graph.num_graphs == 3
    with pytest.raises(TypeError, match="samples of type object"):
        next(iter(DataLoader([object()], batch_size=1)))


def test_excluded_and_followed_attributes():
    dataset = make_dataset()
    for vectorised in (True, False):
        loader = DataLoader(dataset, 4, follow_batch=["edge_index"], exclude_keys=["y"], vectorised=vectorised)
        batch = next(iter(loader))
        assert "y" not in batch
        owners = [i for i in range(4) for _ in range(dataset[i].num_edges)]
        assert batch.edge_index_batch.tolist() == owners
        assert batch.edge_index_ptr.tolist() == dataset.slices["edge_index"][:5].tolist()


def test_the_cache_fills_in_workers_and_is_lost_with_them():
    dataset = make_dataset()
    for _ in DataLoader(dataset, batch_size=4, num_workers=2, vectorised=False):
        pass
    assert dataset.cache_info().graphs == 0
    assert copy.copy(dataset).cache_info().graphs == 0


def test_many_epochs_with_workers_keep_memory_flat_and_leave_no_process():
    dataset = make_dataset(8)
    me = psutil.Process(os.getpid())
    before = {child.pid for child in me.children(recursive=True)}
    loader = DataLoader(dataset, batch_size=4, num_workers=2)

    def epochs(count):
        for _ in range(count):
            for batch in loader:
                assert batch.num_graphs == 4
        gc.collect()
        used = pss()  # without files: how many processes share torch's libraries is not ours to say
        return used.anonymous + used.shmem

    first = epochs(20)
    last = epochs(180)
    assert last - first < 8 * 2**20
    assert {child.pid for child in me.children(recursive=True)} <= before


class WithLabels(Held):
    def get(self, idx):
        return super().get(idx), idx


def test_a_dataset_of_graphs_with_labels():
    whole = make_dataset()
    dataset = WithLabels([whole[i] for i in range(6)])
    graphs, labels = next(iter(DataLoader(dataset, batch_size=3)))
    assert graphs.num_graphs == 3
    assert labels.tolist() == [0, 1, 2]


def test_a_random_transform_is_applied_once_a_read():
    def draw(graph):
        graph.drawn = torch.rand(1)
        return graph

    def twice(graphs):
        return [graph.drawn for graph in graphs], [graph.drawn for graph in graphs]

    loader = torch.utils.data.DataLoader(make_dataset(transform=draw), batch_size=4, collate_fn=twice)
    for first, second in loader:
        assert first == second
