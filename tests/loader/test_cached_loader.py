"""Batches that are kept for later epochs."""

import collections

import pytest
import torch

from gnnlab.data import Data, HeteroData
from gnnlab.data.testing import assert_equal
from gnnlab.loader import CachedLoader, DataListLoader, DataLoader
from gnnlab.sparse import SparseTensor
from tests.tiny import two_types

Pair = collections.namedtuple("Pair", ["graph", "number"])


def make_graphs(count=5):
    return [Data(x=torch.full((2, 3), float(i)), y=i) for i in range(count)]


def labels(loader):
    return [batch.y.tolist() for batch in loader]


class Asked:
    """A loader that counts how often it is asked for a batch, and gives new ones every time."""

    def __init__(self):
        self.asked = 0

    def __iter__(self):
        for _ in range(3):
            self.asked += 1
            yield Data(y=torch.tensor([self.asked]))

    def __len__(self):
        return 3


def test_later_epochs_repeat_the_first():
    torch.manual_seed(0)
    loader = CachedLoader(DataLoader(make_graphs(), batch_size=2, shuffle=True))
    first = list(loader)
    assert len(loader) == len(first) == 3
    for _ in range(2):
        assert_equal(list(loader), first)


def test_the_cache_is_counted_from_nothing_to_all_and_back():
    loader = CachedLoader(DataLoader(make_graphs(), batch_size=2))
    assert loader.cache_info() == type(loader.cache_info())(hits=0, misses=0, batches=0, bytes=0)
    batches = list(loader)
    list(loader)
    info = loader.cache_info()
    assert (info.hits, info.misses, info.batches) == (3, 3, 3)
    assert info.bytes == sum(x.nbytes for batch in batches for x in (batch.x, batch.y, batch.batch, batch.ptr))
    loader.clear()
    info = loader.cache_info()
    assert (info.batches, info.bytes) == (0, 0)
    list(loader)
    assert loader.cache_info().misses == 6


def test_shared_memory_is_counted_once_and_sparse_matrices_by_their_parts():
    x = torch.ones(10)
    adj = SparseTensor(row=torch.tensor([0, 1]), col=torch.tensor([1, 0]), sparse_sizes=(2, 2))
    loader = CachedLoader([{"whole": x, "half": x[:5]}, [Data(x=x, adj=adj)]])
    list(loader)
    parts = sum(part.nbytes for part in adj.storage.tensors().values())
    assert loader.cache_info().bytes == x.nbytes + parts


def test_an_epoch_left_early_is_not_kept():
    """In PyG 2.8.1 it is all that later epochs get."""
    asked = Asked()
    loader = CachedLoader(asked)
    assert next(iter(loader)).y.tolist() == [1]
    assert loader.cache_info().batches == 0
    assert labels(loader) == [[2], [3], [4]]
    assert next(iter(loader)).y.tolist() == [2]
    assert labels(loader) == [[2], [3], [4]]


def test_two_epochs_at_once_do_not_mix():
    loader = CachedLoader(Asked())
    pairs = [(one.y.item(), two.y.item()) for one, two in zip(loader, loader, strict=True)]
    assert pairs == [(1, 2), (3, 4), (5, 6)]
    assert labels(loader) == [[1], [3], [5]]


def test_an_epoch_that_began_before_clear_is_not_kept():
    loader = CachedLoader(Asked())
    for _ in loader:
        loader.clear()
    assert loader.cache_info().batches == 0
    assert labels(loader) == labels(loader) == [[4], [5], [6]]


def test_attributes_that_are_set_do_not_reach_the_cache():
    loader = CachedLoader(DataLoader(make_graphs(), batch_size=2))
    for _ in range(2):
        for batch in loader:
            assert "seen" not in batch
            batch.seen = 1
            batch.x = batch.x + 1
    assert [batch.x[0, 0].item() for batch in loader] == [0.0, 2.0, 4.0]
    lists = CachedLoader(DataListLoader(make_graphs(), batch_size=2))
    for _ in range(2):
        for batch in lists:
            assert len(batch) <= 2
            batch.append(None)


def test_batches_can_still_be_taken_apart():
    loader = CachedLoader(DataLoader(make_graphs(), batch_size=2))
    for _ in range(2):
        assert_equal([g for b in loader for g in b.to_data_list()], make_graphs(), normalised=True)


def test_the_transform_runs_once_before_the_move():
    devices = []

    def note(batch):
        devices.append(batch.x.device.type)
        return batch

    loader = CachedLoader(DataLoader(make_graphs(), batch_size=2), device="meta", transform=note)
    for _ in range(2):
        assert [batch.x.device.type for batch in loader] == ["meta"] * 3
    assert devices == ["cpu"] * 3


def test_moving_reaches_every_graph_and_leaves_the_loaders_batches_alone():
    batches = [
        Pair(two_types(), 1),
        (torch.ones(2), "text"),
        [{"a": Data(x=torch.ones(2, 1))}, None],
    ]
    found = list(CachedLoader(batches, device=torch.device("meta")))
    assert isinstance(found[0], Pair)
    assert isinstance(found[0].graph, HeteroData)
    assert found[0].graph["paper"].x.is_meta
    assert found[0].number == 1
    assert found[1][0].is_meta
    assert found[1][1] == "text"
    assert found[2][0]["a"].x.is_meta
    assert found[2][1] is None
    assert not batches[0].graph["paper"].x.is_meta
    assert not batches[2][0]["a"].x.is_meta


@pytest.mark.parametrize("context", ["fork", "spawn"])
def test_over_workers(context):
    loader = CachedLoader(DataLoader(make_graphs(), 2, num_workers=2, multiprocessing_context=context))
    first = list(loader)
    assert_equal(list(loader), first)
    assert labels(loader) == [[0, 1], [2, 3], [4]]


def test_the_epochs_of_pyg():
    theirs = pytest.importorskip("torch_geometric.loader", reason="compares with torch_geometric")
    data = pytest.importorskip("torch_geometric.data", reason="compares with torch_geometric")
    found = []
    for cls, loader, cached in (
        (Data, DataLoader, CachedLoader),
        (data.Data, theirs.DataLoader, theirs.CachedLoader),
    ):
        torch.manual_seed(8)
        graphs = [cls(x=torch.ones(2, 1) * i, y=i) for i in range(7)]
        kept = cached(loader(graphs, 3, shuffle=True), "cpu", lambda batch: batch.y + 1)
        epochs = [[y.tolist() for y in kept] for _ in range(2)]
        kept.clear()
        epochs.append([y.tolist() for y in kept])
        found.append((epochs, len(kept), repr(kept).split("<")[0]))
    assert found[0] == found[1]
