"""Batches of graphs of one size, stacked."""

import numpy as np
import pytest
import torch

from gnnlab.data import Batch, Data, InMemoryDataset
from gnnlab.data.testing import assert_equal
from gnnlab.loader import DenseDataLoader
from tests.tiny import two_types


class Held(InMemoryDataset):
    def __init__(self, graphs):
        super().__init__(None)
        self.data, self.slices = self.collate(graphs)


class Molecule(Data):
    pass


def make_graphs(count=5, cls=Data):
    generator = torch.Generator().manual_seed(0)
    return [
        cls(
            x=torch.rand(3, 2, generator=generator),
            adj=torch.rand(3, 3, generator=generator),
            mask=torch.tensor([True, False, i % 2 == 0]),
            y=torch.tensor([i]),
        )
        for i in range(count)
    ]


def test_every_attribute_is_stacked():
    graphs = make_graphs()
    batches = list(DenseDataLoader(graphs, batch_size=2))
    assert [batch.num_graphs for batch in batches] == [2, 2, 1]
    for start, batch in zip((0, 2, 4), batches, strict=True):
        part = graphs[start : start + 2]
        assert sorted(batch.keys()) == ["adj", "mask", "x", "y"]
        for key in batch.keys():  # noqa: SIM118
            assert torch.equal(batch[key], torch.stack([graph[key] for graph in part]))


def test_the_batch_is_of_the_graphs_class_and_cannot_be_taken_apart():
    batch = next(iter(DenseDataLoader(make_graphs(cls=Molecule), batch_size=2)))
    assert isinstance(batch, Batch)
    assert isinstance(batch, Molecule)
    assert len(batch) == batch.batch_size == 2
    with pytest.raises(RuntimeError, match=r"not made by Batch\.from_data_list"):
        batch.to_data_list()


@pytest.mark.parametrize("context", [None, "fork", "spawn"])
def test_datasets_and_workers(context):
    dataset = Held(make_graphs())[1:]
    workers = {"num_workers": 2, "multiprocessing_context": context} if context else {}
    batches = list(DenseDataLoader(dataset, batch_size=2, **workers))
    expected = list(DenseDataLoader(list(dataset), batch_size=2))
    assert_equal(batches, expected)
    assert [batch.num_graphs for batch in batches] == [2, 2]


def test_the_batches_of_pyg():
    loader = pytest.importorskip("torch_geometric.loader", reason="compares with torch_geometric")
    data = pytest.importorskip("torch_geometric.data", reason="compares with torch_geometric")
    epochs = []
    for cls, dense in ((Data, DenseDataLoader), (data.Data, loader.DenseDataLoader)):
        graphs = [
            cls(
                x=torch.full((2, 3), float(i)),
                number=i,
                half=i / 2,
                flag=i > 1,
                word=f"w{i}",
                array=np.full(2, i),
                scalar=torch.tensor(i),
                meta={"a": torch.full((1,), i)},
                row=(torch.full((2,), i), i),
                num_nodes=2,
            )
            for i in range(5)
        ]
        torch.manual_seed(5)
        epochs.append([dict(batch.to_dict()) for batch in dense(graphs, 2, True)])
    assert_equal([Data(**batch) for batch in epochs[0]], [Data(**batch) for batch in epochs[1]])


def first_batch(*graphs):
    return next(iter(DenseDataLoader(list(graphs), batch_size=len(graphs))))


def test_graphs_that_do_not_fit_are_refused_by_name():
    x = torch.ones(2, 2)
    with pytest.raises(ValueError, match=r"'x' can't be stacked.* of shape \[2, 2\] first .* \[3, 2\] in graph 2"):
        first_batch(Data(x=x), Data(x=x), Data(x=torch.ones(3, 2)))
    with pytest.raises(ValueError, match="first and graph 1 of the batch has 'y'"):
        first_batch(Data(x=x), Data(x=x, y=1))
    with pytest.raises(ValueError, match="first and graph 1 of the batch has 'y', 'z'"):
        first_batch(Data(x=x, y=1, z=1), Data(x=x))
    with pytest.raises(ValueError, match=r"'thing' can't be stacked: .* found object$"):
        first_batch(Data(x=x, thing=object()), Data(x=x, thing=object()))
    with pytest.raises(TypeError, match="the first is a Data, graph 1 of the batch a Molecule"):
        first_batch(Data(x=x), Molecule(x=x))
    with pytest.raises(TypeError, match="class Data, found HeteroData"):
        first_batch(two_types(), two_types())
    with pytest.raises(TypeError, match="class Data, found int"):
        first_batch(1, 2)
