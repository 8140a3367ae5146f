"""Batches of successive events."""

import pickle
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from gnnlab.data import Data, TemporalData
from gnnlab.data.testing import assert_equal
from gnnlab.loader import TemporalDataLoader


def stream(count=10, cls: Any = TemporalData, **attributes: Any) -> Any:
    ids = torch.arange(count)
    return cls(src=ids % 4, dst=ids % 5 + 4, t=ids * 10, msg=torch.arange(2.0 * count).view(count, 2), **attributes)


@given(count=st.integers(0, 12), batch_size=st.integers(1, 14), drop_last=st.booleans())
def test_batches_are_successive_events(count, batch_size, drop_last):
    data = stream(count, note="kept", weights=torch.ones(99), num_nodes=50)
    loader = TemporalDataLoader(data, batch_size, drop_last=drop_last)
    starts = [i for i in range(0, count, batch_size) if not drop_last or i + batch_size <= count]
    batches = list(loader)
    assert len(loader) == len(batches) == len(starts)
    for start, batch in zip(starts, batches, strict=True):
        expected = data[start : start + batch_size]
        assert batch.n_id.tolist() == sorted({*expected.src.tolist(), *expected.dst.tolist()})
        del batch.n_id
        assert_equal(batch, expected)


@given(
    count=st.integers(1, 12),
    batch_size=st.integers(1, 14),
    ratio=st.sampled_from([0.0, 0.1, 0.25, 0.5, 0.75, 1.0, 1.5, 3.0]),
    drop_last=st.booleans(),
)
def test_the_batches_of_pyg(count, batch_size, ratio, drop_last):
    loader = pytest.importorskip("torch_geometric.loader", reason="compares with torch_geometric").TemporalDataLoader
    data = pytest.importorskip("torch_geometric.data", reason="compares with torch_geometric").TemporalData
    epochs = []
    for events, cls in ((stream(count), TemporalDataLoader), (stream(count, data), loader)):
        torch.manual_seed(1)
        batches = cls(events, batch_size, ratio, shuffle=False, drop_last=drop_last)
        epochs.append([Data(**batch.to_dict()) for _ in range(2) for batch in batches])
    assert_equal(epochs[0], epochs[1])


def test_negatives_come_from_the_range_of_targets():
    data = stream()
    loader = TemporalDataLoader(data, 5, neg_sampling_ratio=400.0, generator=torch.Generator().manual_seed(0))
    assert (loader.min_dst, loader.max_dst) == (4, 8)
    for batch in loader:
        assert batch.neg_dst.shape == (2000,)
        counts = batch.neg_dst.bincount(minlength=9).tolist()
        assert counts[:4] == [0] * 4
        assert all(300 < count < 500 for count in counts[4:])
        assert batch.n_id.tolist() == sorted({*batch.src.tolist(), *range(4, 9)})
    assert "neg_dst" not in data
    assert "n_id" not in data


@pytest.mark.parametrize("dtype", [torch.int32, torch.int64])
def test_ids_keep_their_dtype(dtype):
    data = TemporalData(src=torch.arange(4, dtype=dtype), dst=torch.arange(4, dtype=dtype), t=torch.arange(4))
    (batch,) = TemporalDataLoader(data, 4, 1.0)
    assert batch.neg_dst.dtype == batch.n_id.dtype == dtype


def test_the_generator_decides():
    def epochs(seed, **kwargs):
        loader = TemporalDataLoader(stream(), 4, 2.0, generator=torch.Generator().manual_seed(seed), **kwargs)
        return [[batch.neg_dst.tolist() for batch in loader] for _ in range(2)]

    first = epochs(3)
    assert first[0] != first[1]
    torch.manual_seed(99)
    assert epochs(3) == first
    assert epochs(4) != first
    assert epochs(3, num_workers=2) == epochs(3, num_workers=2)


@pytest.mark.parametrize("context", ["fork", "spawn"])
def test_workers_give_the_same_events(context):
    options = {"generator": torch.Generator().manual_seed(0), "num_workers": 2, "multiprocessing_context": context}
    loader = TemporalDataLoader(stream(), 3, 1.0, **options)
    batches = list(loader)
    for batch, expected in zip(batches, TemporalDataLoader(stream(), 3), strict=True):
        assert batch.neg_dst.shape == batch.dst.shape
        del batch.neg_dst, batch.n_id, expected.n_id
        assert_equal(batch, expected)


def test_workers_do_not_draw_the_same_negatives():
    loader = TemporalDataLoader(stream(40), 20, 2.0, num_workers=2)
    first, second = (batch.neg_dst.tolist() for batch in loader)
    assert first != second


def test_a_batch_pickles_to_its_own_bytes():
    batch = next(iter(TemporalDataLoader(stream(100_000), 2)))
    assert len(pickle.dumps(batch)) < 5000


def test_what_pyg_overrides_is_left_out():
    loader = TemporalDataLoader(stream(), 4, collate_fn=len, dataset=[1])
    assert [len(batch) for batch in loader] == [4, 4, 2]
    assert (loader.events_per_batch, loader.neg_sampling_ratio, loader.dataset) == (4, 0.0, range(0, 10, 4))
    assert loader([8]).t.tolist() == [80, 90]


def raises(error, match, *args, **kwargs):
    with pytest.raises(error, match=match):
        TemporalDataLoader(*args, **kwargs)


def test_bad_inputs():
    raises(TypeError, "data must be a TemporalData, found Data", Data(x=torch.ones(2, 1)))
    raises(ValueError, "found no 'src' and no 'dst'", TemporalData(t=torch.arange(3)))
    raises(ValueError, "found no 'dst'", TemporalData(src=torch.arange(3)))
    for size in (0, -1, 1.5, None):
        raises(ValueError, f"batch_size must be a positive integer, found {size!r}", stream(), size)
    for ratio in (-0.5, float("nan"), float("inf")):
        raises(ValueError, f"neg_sampling_ratio must be a number of at least 0, found {ratio!r}", stream(), 2, ratio)
    raises(ValueError, "shuffle must be False", stream(), 2, shuffle=True)
    raises(ValueError, "batch_sampler can't be used", stream(), batch_sampler=[[0, 1]])
    raises(ValueError, "must be 0 for a stream without events", stream(0), 2, 1.0)
    assert list(TemporalDataLoader(stream(0), 2)) == []
