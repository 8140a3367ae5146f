"""Batches brought to a device ahead of their turn."""

import pytest
import torch

from gnnlab.data import Data
from gnnlab.data.testing import assert_equal
from gnnlab.loader import DataLoader, PrefetchLoader
from gnnlab.sparse import SparseTensor

cuda = pytest.mark.skipif(not torch.cuda.is_available(), reason="copies to a CUDA device")


def make_graphs(count=5):
    adj = SparseTensor(row=torch.tensor([0, 1]), col=torch.tensor([1, 0]), sparse_sizes=(2, 2))
    return [Data(x=torch.full((2, 3), float(i)), y=i, adj=adj) for i in range(count)]


def test_on_the_cpu_batches_are_passed_on_as_they_are():
    batches = [(Data(x=torch.ones(2, 1)), 1), "text", torch.ones(2)]
    loader = PrefetchLoader(batches, device="cpu")
    assert loader.device == torch.device("cpu")
    for found, batch in zip(loader, batches, strict=True):
        assert found is batch
        assert loader.non_blocking_transfer(batch) is batch
    assert len(loader) == 3
    assert repr(PrefetchLoader([1])) == "PrefetchLoader([1])"


def test_the_default_device():
    expected = "cuda" if torch.cuda.is_available() else "cpu"
    assert PrefetchLoader([]).device.type == expected


@pytest.mark.parametrize("context", [None, "fork", "spawn"])
def test_the_batches_of_the_loader(context):
    workers = {"num_workers": 2, "multiprocessing_context": context} if context else {}
    loader = PrefetchLoader(DataLoader(make_graphs(), 2, **workers), "cpu")
    for _ in range(2):
        assert_equal(list(loader), list(DataLoader(make_graphs(), 2)))


def test_another_device_gets_copies_of_all_tensors():
    batches = [(Data(x=torch.ones(2, 1)), {"a": torch.ones(1)}, "text")]
    (found,) = PrefetchLoader(batches, device=torch.device("meta"))
    assert found[0].x.is_meta
    assert found[1]["a"].is_meta
    assert found[2] == "text"
    assert not batches[0][0].x.is_meta


def test_any_iterable_will_do():
    assert list(PrefetchLoader((i for i in range(3)), "cpu")) == [0, 1, 2]
    with pytest.raises(TypeError, match=r"has no len\(\)"):
        len(PrefetchLoader((i for i in range(3)), "cpu"))


class Stream:
    """Stands in for a CUDA stream: notes what happens, in order."""

    def __init__(self, name, notes):
        self.name, self.notes = name, notes

    def record_event(self):
        return len([note for note in self.notes if note[0] == "copied"])

    def wait_event(self, event):
        self.notes.append(("waited", event))

    def __enter__(self):
        return self

    def __exit__(self, *error):
        pass


@pytest.mark.parametrize("count", range(4))
def test_on_cuda_one_batch_is_copied_ahead_and_each_is_waited_for(count, monkeypatch):
    """The order of things, without a GPU: nothing of these batches is a tensor."""
    notes = []
    monkeypatch.setattr(torch.cuda, "Stream", lambda device: Stream("side", notes))
    monkeypatch.setattr(torch.cuda, "stream", lambda stream: stream)
    monkeypatch.setattr(torch.cuda, "current_stream", lambda device: Stream("current", notes))
    loader = PrefetchLoader([f"batch {i}" for i in range(1, count + 1)], "cuda")
    transfer = loader.non_blocking_transfer

    def noted(batch):
        notes.append(("copied", batch))
        return transfer(batch)

    monkeypatch.setattr(loader, "non_blocking_transfer", noted)
    for batch in loader:
        notes.append(("handed out", batch))
    expected = []
    for i in range(1, count + 2):
        if i <= count:
            expected.append(("copied", f"batch {i}"))
        if i > 1:
            expected += [("waited", i - 1), ("handed out", f"batch {i - 1}")]
    assert notes == expected


@cuda
@pytest.mark.parametrize("pin_memory", [False, True])
def test_batches_arrive_on_the_gpu(pin_memory):
    expected = list(DataLoader(make_graphs(64), 2))
    loader = PrefetchLoader(DataLoader(make_graphs(64), 2, pin_memory=pin_memory))
    seen = []
    for batch in loader:
        assert batch.x.is_cuda
        assert batch.adj.is_cuda()
        torch.cuda._sleep(
            1_000_000
        )  # keeps the device busy, so that a batch whose memory came free too soon would show
        seen.append(batch.x * 1)
        del batch
    for x, batch in zip(seen, expected, strict=True):
        assert torch.equal(x.cpu(), batch.x)


@cuda
def test_cached_batches_stay_as_they_are_on_the_gpu():
    batches = list(DataLoader(make_graphs(), 2))
    list(PrefetchLoader(batches))
    assert not any(batch.x.is_cuda for batch in batches)
