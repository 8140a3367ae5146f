"""Draws in which every class comes equally often."""

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.utils.data import Subset

from gnnlab.data import Data, InMemoryDataset
from gnnlab.loader import DataLoader, ImbalancedSampler
from tests.tiny import two_types

CLASSES = [0, 0, 0, 1, 2, 2]


class Held(InMemoryDataset):
    def __init__(self, graphs, transform=None):
        super().__init__(None, transform)
        self.data, self.slices = self.collate(graphs)


def make_graphs(classes=CLASSES, cls: Any = Data) -> list[Any]:
    return [cls(x=torch.ones(1 + i % 2, 1), y=torch.tensor([y])) for i, y in enumerate(classes)]


def expected_weights(classes: list[int]) -> list[float]:
    return [1 / classes.count(y) for y in classes]


@given(st.lists(st.integers(0, 4), min_size=1, max_size=20))
def test_weights_are_one_over_the_count_of_the_class(classes):
    for dataset in (
        torch.tensor(classes),
        torch.tensor(classes).view(-1, 1),
        torch.tensor(classes, dtype=torch.uint8),
        np.array(classes),
        Data(y=torch.tensor(classes)),
        make_graphs(classes),
        Held(make_graphs(classes)),
    ):
        sampler = ImbalancedSampler(dataset)
        assert sampler.weights.tolist() == expected_weights(classes)
        assert sampler.num_samples == len(sampler) == len(classes)
        assert sampler.replacement


def test_labels_as_large_as_ids_cost_nothing():
    assert ImbalancedSampler(torch.tensor([2**40, 7, 7])).weights.tolist() == [1.0, 0.5, 0.5]


def test_two_classes_as_bools_and_classes_as_plain_numbers():
    assert ImbalancedSampler(torch.tensor([True, False, True])).weights.tolist() == [0.5, 1.0, 0.5]
    assert ImbalancedSampler([Data(y=1), Data(y=0), Data(y=1)]).weights.tolist() == [0.5, 1.0, 0.5]


@pytest.mark.parametrize("input_nodes", [[3, 0, 4], [True, False, False, True, True, False]])
def test_input_nodes(input_nodes):
    data = Data(y=torch.tensor(CLASSES))
    chosen = [y for y, kept in zip(CLASSES, input_nodes, strict=True) if kept] if len(input_nodes) == 6 else [1, 0, 2]
    for nodes in (torch.tensor(input_nodes), np.array(input_nodes), input_nodes):
        for dataset in (data, data.y):
            assert ImbalancedSampler(dataset, nodes).weights.tolist() == expected_weights(chosen)


@pytest.mark.parametrize("form", ["list", "dataset", "subset", "data", "nodes", "tensor"])
def test_the_draws_of_pyg(form):
    loader = pytest.importorskip("torch_geometric.loader", reason="compares with torch_geometric")
    data = pytest.importorskip("torch_geometric.data", reason="compares with torch_geometric")

    class PyGHeld(data.InMemoryDataset):
        def __init__(self, graphs):
            super().__init__(None)
            self.data, self.slices = self.collate(graphs)

    def drawn(cls, sampler, held):
        whole = cls(x=torch.ones(6, 1), y=torch.tensor(CLASSES))
        args = {
            "list": (make_graphs(cls=cls),),
            "dataset": (held(make_graphs(cls=cls)),),
            "subset": (held(make_graphs(cls=cls))[1:5],),
            "data": (whole,),
            "nodes": (whole, torch.tensor([True, True, True, True, False, True])),
            "tensor": (whole.y, None, 40),
        }[form]
        torch.manual_seed(6)
        found = sampler(*args)
        return found.weights, found.num_samples, list(found), list(found)

    ours = drawn(Data, ImbalancedSampler, Held)
    theirs = drawn(data.Data, loader.ImbalancedSampler, PyGHeld)
    torch.testing.assert_close(ours[0], theirs[0])
    assert ours[1:] == theirs[1:]


def test_every_class_comes_about_equally_often():
    y = torch.tensor([0] * 90 + [1] * 9 + [2])
    drawn = list(ImbalancedSampler(y, num_samples=3000, generator=torch.Generator().manual_seed(0)))
    assert all(900 < count < 1100 for count in y[drawn].bincount().tolist())


def test_the_generator_decides():
    samplers = [ImbalancedSampler(torch.tensor(CLASSES), generator=torch.Generator().manual_seed(3)) for _ in range(2)]
    torch.manual_seed(0)
    first = list(samplers[0])
    torch.manual_seed(1)
    assert list(samplers[1]) == first
    assert list(samplers[1]) != first


@pytest.mark.parametrize("transform", [None, lambda graph: Data(x=graph.x, y=(graph.y > 0).long())])
def test_classes_are_those_of_the_graphs_and_the_cache_stays_empty(transform):
    dataset = Held(make_graphs(), transform)
    for chosen in (dataset, dataset[[5, 0, 3]], Subset(dataset, [5, 0, 1])):
        weights = ImbalancedSampler(chosen).weights.tolist()
        assert dataset.cache_info().graphs == 0
        assert weights == expected_weights([int(graph.y) for graph in chosen])
        dataset._data_list = None


def test_graphs_are_not_read_where_the_block_tells(monkeypatch):
    dataset = Held(make_graphs())[1:]
    monkeypatch.setattr(InMemoryDataset, "get", lambda dataset, idx: pytest.fail(f"graph {idx} was read"))
    assert ImbalancedSampler(dataset).weights.tolist() == expected_weights(CLASSES[1:])


def test_edited_graphs_count_as_they_are():
    dataset = Held(make_graphs())
    _ = dataset[0]
    dataset._data_list[0].y = torch.tensor([1])
    assert ImbalancedSampler(dataset).weights.tolist() == expected_weights([1, 0, 0, 1, 2, 2])


@pytest.mark.parametrize("context", [None, "fork", "spawn"])
def test_loaders_draw_by_it(context):
    workers = {"num_workers": 2, "multiprocessing_context": context} if context else {}
    dataset = Held(make_graphs())
    epochs = []
    for options in ({}, workers):
        sampler = ImbalancedSampler(dataset, num_samples=9, generator=torch.Generator().manual_seed(2))
        epochs.append([batch.y.tolist() for batch in DataLoader(dataset, batch_size=4, sampler=sampler, **options)])
    assert epochs[0] == epochs[1]
    assert [len(batch) for batch in epochs[0]] == [4, 4, 1]


def raises(error, match, *args, **kwargs):
    with pytest.raises(error, match=match):
        ImbalancedSampler(*args, **kwargs)


def test_bad_inputs():
    graphs = make_graphs()
    raises(ValueError, "found none", [])
    raises(ValueError, "found none", torch.tensor([], dtype=torch.long))
    raises(ValueError, "found none", torch.tensor([1]), torch.tensor([False]))
    raises(ValueError, "Data without classes: set y", Data(x=torch.ones(2, 1)))
    raises(ValueError, r"graph 6 \(of type Data\) has no class", [*graphs, Data(x=torch.ones(2, 1))])
    raises(ValueError, r"graph 0 \(of type str\) has no class", "abc")
    raises(ValueError, r"shape \[2\] in graph 0", [Data(y=torch.tensor([0, 1]))])
    raises(ValueError, r"shape \[2\] in graph 0", Held([Data(y=torch.tensor([0, 1])), Data(y=torch.tensor([0]))]))
    raises(ValueError, r"graph 1 \(of type Data\) has no class", Held([graphs[0], Data(x=torch.ones(2, 1)), graphs[1]]))
    raises(ValueError, r"one class for each node, found y of shape \[2, 3\]", torch.ones(2, 3))
    raises(ValueError, r"one class for each node, found y of shape \[\]", torch.tensor(1))
    raises(TypeError, r"whole numbers, found y of dtype torch\.float32", torch.tensor([0.0, 1.0]))
    raises(TypeError, "whole numbers", [Data(y=0.5), Data(y=1)])
    raises(ValueError, "not be negative, found -1", torch.tensor([0, -1]))
    raises(TypeError, "found HeteroData: pass the y of one", two_types())
    raises(ValueError, "input_nodes chooses nodes of a Data", graphs, torch.tensor([0]))
    raises(IndexError, "one entry for each of the 6 items, found 2", torch.tensor(CLASSES), torch.tensor([True, False]))
    raises(IndexError, "id 6 is out of range", torch.tensor(CLASSES), torch.tensor([6]))
    raises(ValueError, "num_samples", graphs, num_samples=0)
