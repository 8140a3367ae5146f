"""Zachary's karate club beside NetworkX and PyG."""

import pytest
import torch

from gnnlab.data import Data
from gnnlab.datasets import KarateClub


def test_karate_club() -> None:
    dataset = KarateClub()
    assert len(dataset) == 1
    assert repr(dataset) == "KarateClub()"
    assert (dataset.num_features, dataset.num_classes) == (34, 4)
    data = dataset[0]
    assert isinstance(data, Data)
    assert data.edge_index.shape == (2, 156)
    assert data.edge_index.is_contiguous()
    assert data.is_undirected()
    assert data.is_coalesced()
    assert not data.has_self_loops()
    assert torch.equal(data.x, torch.eye(34))
    assert data.y.bincount().tolist() == [13, 12, 4, 5]
    assert data.train_mask.nonzero().view(-1).tolist() == [0, 4, 8, 24]
    assert data.y[data.train_mask].sort().values.tolist() == [0, 1, 2, 3]


def test_karate_club_is_the_published_graph() -> None:
    networkx = pytest.importorskip("networkx", reason="NetworkX is not installed")
    edges = networkx.karate_club_graph().to_directed().edges
    assert sorted(KarateClub()[0].edge_index.t().tolist()) == sorted(map(list, edges))


def test_karate_club_as_in_pyg() -> None:
    pyg = pytest.importorskip("torch_geometric.datasets", reason="PyG is not installed")
    data, expected = KarateClub()[0], pyg.KarateClub()[0].to_dict()
    assert data.keys() == list(expected)
    for key, value in expected.items():
        assert data[key].dtype == value.dtype
        assert torch.equal(data[key], value), key


def test_karate_club_applies_its_transform() -> None:
    def add_name(data: Data) -> Data:
        data.name = "club"
        return data

    assert KarateClub(transform=add_name)[0].name == "club"
