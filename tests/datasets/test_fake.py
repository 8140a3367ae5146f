"""Made-up graphs: shapes and names as in PyG, sizes in range, the same again from the same seed."""

from typing import Any

import pytest
import torch

from gnnlab.data import Data, HeteroData
from gnnlab.datasets import FakeDataset, FakeHeteroDataset

ARGUMENTS: list[dict[str, Any]] = [
    {},
    {"num_graphs": 3},
    {"num_graphs": 3, "task": "node"},
    {"task": "graph", "num_channels": 5},
    {"num_channels": 0, "edge_dim": 1, "is_undirected": False},
    {"num_classes": 0, "edge_dim": 3, "avg_num_nodes": 40},
    {"num_graphs": 2, "avg_num_nodes": 1, "avg_degree": 0.5, "edge_dim": 2},
    {"num_graphs": 2, "global_features": 5, "matrix": (2, 3)},
]

HETERO_ARGUMENTS: list[dict[str, Any]] = [
    {},
    {"num_graphs": 3},
    {"num_graphs": 3, "task": "node", "edge_dim": 1},
    {"task": "graph", "avg_num_channels": 5, "edge_dim": 2},
    {"avg_num_channels": 0, "num_node_types": 1, "num_edge_types": 2},
    {"num_classes": 0, "num_node_types": 2, "num_edge_types": 7, "avg_num_nodes": 30},
    {"num_graphs": 2, "global_features": 5, "matrix": (2, 3)},
]


def shape(value: Any) -> Any:
    """The number of dimensions and the dtype of a tensor, the type of anything else."""
    return (value.dim(), value.dtype) if isinstance(value, torch.Tensor) else type(value)


@pytest.mark.parametrize("arguments", ARGUMENTS, ids=str)
def test_fake_dataset_has_the_form_of_pygs(arguments: dict[str, Any]) -> None:
    pyg = pytest.importorskip("torch_geometric.datasets", reason="PyG is not installed")
    dataset, expected = FakeDataset(seed=0, **arguments), pyg.FakeDataset(**arguments)
    assert repr(dataset) == repr(expected)
    assert len(dataset) == len(expected)
    assert dataset.num_features == expected.num_features
    for data, other in zip(dataset, expected, strict=True):
        assert {k: shape(v) for k, v in data.to_dict().items()} == {k: shape(v) for k, v in other.to_dict().items()}


@pytest.mark.parametrize("arguments", HETERO_ARGUMENTS, ids=str)
def test_fake_hetero_dataset_has_the_form_of_pygs(arguments: dict[str, Any]) -> None:
    pyg = pytest.importorskip("torch_geometric.datasets", reason="PyG is not installed")
    dataset, expected = FakeHeteroDataset(seed=0, **arguments), pyg.FakeHeteroDataset(**arguments)
    assert len(dataset) == len(expected)
    for data, other in zip(dataset, expected, strict=True):
        assert data.node_types == other.node_types
        assert len(data.edge_types) == len(other.edge_types)
        forms, other_forms = (
            [{k: shape(v) for k, v in store.items()} for store in graph.stores] for graph in (data, other)
        )
        assert forms == other_forms


def test_fake_dataset_sizes_are_in_range() -> None:
    dataset = FakeDataset(400, avg_num_nodes=8, avg_degree=2, is_undirected=False, seed=1)
    assert {data.num_nodes for data in dataset} == {6, 7, 8, 9, 10}
    for data in dataset:
        assert 0 < data.num_edges <= 2 * data.num_nodes
        assert data.is_coalesced()
        assert not data.has_self_loops()
    assert {int(data.y) for data in dataset} == set(range(10))


def test_fake_dataset_degree_is_about_the_average() -> None:
    directed = FakeDataset(avg_degree=10, is_undirected=False, seed=1)[0]
    assert 9.7 < directed.num_edges / directed.num_nodes <= 10
    undirected = FakeDataset(avg_degree=10, is_undirected=True, seed=1)[0]
    assert 19 < undirected.num_edges / undirected.num_nodes <= 20


@pytest.mark.parametrize("edge_dim", [1, 3])
def test_fake_dataset_is_undirected_with_its_features(edge_dim: int) -> None:
    data = FakeDataset(avg_num_nodes=50, edge_dim=edge_dim, seed=1)[0]
    features = data.edge_weight if edge_dim == 1 else data.edge_attr
    assert len(features) == data.num_edges
    by_edge = dict(zip(map(tuple, data.edge_index.t().tolist()), features.tolist(), strict=True))
    assert all(by_edge[target, source] == value for (source, target), value in by_edge.items())
    assert len(set(map(str, by_edge.values()))) == data.num_edges // 2
    assert 0 <= features.min() <= features.max() < 1


def test_fake_dataset_features_tell_the_label() -> None:
    data = FakeDataset(avg_num_nodes=4000, num_classes=3, seed=1)[0]
    for label in range(3):
        assert data.x[data.y == label].mean() == pytest.approx(label, abs=0.02)
    graph = FakeDataset(2, num_classes=3, seed=3)[1]
    assert graph.x.mean() == pytest.approx(int(graph.y), abs=0.02)


def test_fake_hetero_dataset_types() -> None:
    data = FakeHeteroDataset(num_node_types=2, num_edge_types=9, avg_num_nodes=20, seed=1)[0]
    assert data.node_types == ["v0", "v1"]
    by_name: dict[str, set[tuple[str, str]]] = {}
    for source, name, target in data.edge_types:
        by_name.setdefault(name, set()).add((source, target))
    pairs = {(source, target) for source in ("v0", "v1") for target in ("v0", "v1")}
    assert by_name["e0"] == by_name["e1"] == pairs
    assert len(by_name["e2"]) == 1
    for edge_type in data.edge_types:
        edge_index = data[edge_type].edge_index
        assert edge_index[0].max() < data[edge_type[0]].num_nodes
        assert edge_index[1].max() < data[edge_type[2]].num_nodes
        assert data[edge_type].is_coalesced()


def test_fake_hetero_dataset_channels_are_the_same_in_every_graph() -> None:
    dataset = FakeHeteroDataset(5, avg_num_channels=40, seed=1)
    channels = [data.num_node_features for data in dataset]
    assert all(found == channels[0] for found in channels)
    assert all(30 <= count <= 50 for count in channels[0].values())
    assert len(set(channels[0].values())) > 1


@pytest.mark.parametrize("cls", [FakeDataset, FakeHeteroDataset])
def test_fake_datasets_repeat_from_a_seed(cls: type[FakeDataset | FakeHeteroDataset]) -> None:
    def block(**arguments: Any) -> list[torch.Tensor]:
        data = cls(2, edge_dim=2, extra=3, **arguments)._data
        return [value for store in data.stores for value in store.values() if isinstance(value, torch.Tensor)]

    def same(one: list[torch.Tensor], other: list[torch.Tensor]) -> bool:
        return all(torch.equal(a, b) for a, b in zip(one, other, strict=True))

    state = torch.get_rng_state()
    assert same(block(seed=3), block(seed=3))
    assert not same(block(seed=3), block(seed=4))
    assert torch.equal(torch.get_rng_state(), state)

    torch.manual_seed(5)
    first = block()
    torch.manual_seed(5)
    assert same(block(), first)
    assert not same(block(), first)


@pytest.mark.parametrize("cls", [FakeDataset, FakeHeteroDataset])
def test_fake_datasets_apply_their_transforms(cls: type[FakeDataset | FakeHeteroDataset]) -> None:
    calls = []

    def count(data: Data | HeteroData) -> Data | HeteroData:
        calls.append(data)
        data.count = len(calls)
        return data

    dataset = cls(2, avg_num_nodes=10, pre_transform=count)
    assert len(calls) == 2
    assert [int(data.count) for data in dataset] == [1, 2]
    dataset = cls(2, avg_num_nodes=10, transform=count)
    assert len(calls) == 2
    assert int(dataset[1].count) == 3


@pytest.mark.parametrize("cls", [FakeDataset, FakeHeteroDataset])
def test_fake_datasets_refuse_other_tasks(cls: type[FakeDataset | FakeHeteroDataset]) -> None:
    with pytest.raises(ValueError, match="'node', 'graph' or 'auto', found 'edge'"):
        cls(task="edge")
