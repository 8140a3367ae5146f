"""Batches as lists of graphs."""

import pytest
import torch

from gnnlab.data import Data, InMemoryDataset
from gnnlab.data.testing import assert_equal
from gnnlab.loader import DataListLoader


class Held(InMemoryDataset):
    def __init__(self, graphs):
        super().__init__(None)
        self.data, self.slices = self.collate(graphs)


def make_graphs(count=7):
    return [Data(x=torch.full((1 + i % 3, 2), float(i)), y=i) for i in range(count)]


def test_batches_are_lists_of_the_graphs_themselves():
    graphs = make_graphs()
    batches = list(DataListLoader(graphs, batch_size=3))
    assert [len(batch) for batch in batches] == [3, 3, 1]
    assert all(type(batch) is list for batch in batches)
    for found, graph in zip([graph for batch in batches for graph in batch], graphs, strict=True):
        assert found is graph


@pytest.mark.parametrize("context", [None, "fork", "spawn"])
def test_datasets_and_workers(context):
    dataset = Held(make_graphs())[[5, 0, 3, 3]]
    workers = {"num_workers": 2, "multiprocessing_context": context} if context else {}
    batches = list(DataListLoader(dataset, batch_size=3, **workers))
    assert [type(batch) for batch in batches] == [list, list]
    assert_equal(batches[0] + batches[1], list(dataset))


def test_the_order_of_pyg_and_no_collate_fn():
    theirs = pytest.importorskip("torch_geometric.loader", reason="compares with torch_geometric").DataListLoader
    orders = []
    for cls in (DataListLoader, theirs):
        torch.manual_seed(3)
        loader = cls(make_graphs(), 2, True, drop_last=True, collate_fn=len)
        orders.append([[int(graph.y) for graph in batch] for batch in loader])
    assert orders[0] == orders[1]
