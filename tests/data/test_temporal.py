"""Streams of events, held against PyG."""

import copy
import pickle
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from gnnlab.data import Batch, TemporalData
from gnnlab.data.testing import assert_equal


def pyg_data() -> Any:
    return pytest.importorskip("torch_geometric.data", reason="compares with torch_geometric")


def stream(cls: Any = TemporalData, **attributes: Any) -> Any:
    """Five events among eight nodes."""
    return cls(
        src=torch.tensor([0, 1, 2, 3, 1]),
        dst=torch.tensor([5, 6, 5, 7, 7]),
        t=torch.tensor([0, 10, 20, 30, 40]),
        msg=torch.arange(10.0).view(5, 2),
        y=torch.tensor([0, 1, 0, 1, 0]),
        **attributes,
    )


def both(**attributes: Any) -> tuple[Any, Any]:
    return stream(**attributes), stream(pyg_data().TemporalData, **attributes)


@pytest.mark.parametrize(
    "idx",
    [
        0,
        4,
        slice(1, 3),
        slice(None, None, 2),
        slice(-2, None),
        [0, 2],
        [2, 0, 2],
        (0, 1),
        [True, False, True, False, False],
        torch.tensor([3, 1]),
        torch.tensor([False, True, True, False, False]),
        torch.empty(0, dtype=torch.long),
    ],
)
def test_indexing_selects_the_events_of_pyg(idx: Any) -> None:
    extra = {"rank": torch.arange(5), "weights": torch.arange(3), "wide": torch.arange(10).view(2, 5)}
    ours, theirs = both(**extra)
    assert_equal(ours[idx].to_dict(), theirs[idx].to_dict())
    assert_equal(ours.index_select(idx).to_dict(), theirs[idx].to_dict())


@pytest.mark.parametrize(
    ("idx", "events"),
    [
        (-1, [4]),
        (torch.tensor(1), [1]),
        (np.int64(2), [2]),
        (np.array([0, 1]), [0, 1]),
        (np.array([True, False, False, False, True]), [0, 4]),
        (range(2), [0, 1]),
        (range(4, 0, -2), [4, 2]),
        ([-1, -5], [4, 0]),
        (torch.tensor([4, 3], dtype=torch.uint8), [4, 3]),
        (torch.tensor([4, 3], dtype=torch.int16), [4, 3]),
        ([], []),
    ],
)
def test_indexing_takes_what_pyg_refuses_or_gets_wrong(idx: Any, events: list[int]) -> None:
    found = stream()[idx]
    assert found.t.tolist() == [10 * event for event in events]
    assert list(found.msg.shape) == [len(events), 2]


@pytest.mark.parametrize("idx", [5, -6, [5], torch.tensor([9]), [True], torch.tensor([True] * 6), 1.5, None, ...])
def test_wrong_indices_are_refused(idx: Any) -> None:
    with pytest.raises(IndexError):
        stream()[idx]


def test_other_values_follow_the_events_or_stay() -> None:
    """PyG fails there."""
    data = stream(name="days", number=3, words=list("abcde"), array=np.arange(5), pair=(1, 2))
    found = data[1:3]
    assert (found.name, found.number, found.words, found.pair) == ("days", 3, ["b", "c"], (1, 2))
    assert found.array.tolist() == [1, 2]
    assert data[[4, 0]].words == ["e", "a"]
    assert data[[4, 0]].array.tolist() == [4, 0]


def test_a_slice_is_a_view() -> None:
    data = stream()
    assert data[1:3].msg.untyped_storage().data_ptr() == data.msg.untyped_storage().data_ptr()


def test_iteration_gives_single_events() -> None:
    ours, theirs = both()
    assert_equal([event.to_dict() for event in ours], [event.to_dict() for event in theirs])
    assert len(ours) == len(theirs) == 5


def test_counts_and_names_as_in_pyg() -> None:
    ours, theirs = both()
    for name in ("num_nodes", "num_events", "num_edges"):
        assert getattr(ours, name) == getattr(theirs, name)
    assert_equal(ours.edge_index, theirs.edge_index)
    assert sorted(ours.keys()) == sorted(theirs.keys())
    assert "src" in ours
    assert "nope" not in ours
    assert_equal(dict(ours("src", "t")), dict(theirs("src", "t")))
    assert ours.to_namedtuple()._fields == theirs.to_namedtuple()._fields
    assert ours.is_cuda == theirs.is_cuda
    assert_equal(TemporalData.from_dict(ours.to_dict()), ours)
    assert repr(ours) == repr(theirs)
    assert repr(ours[2]) == "TemporalData(src=[1], dst=[1], t=[1], msg=[1, 2], y=[1])"
    ours, theirs = both(meta={"a": 1, "b": torch.ones(3)})
    assert repr(ours) == repr(theirs)


def test_sizes_count_nodes() -> None:
    """PyG gives the largest ids, one less."""
    assert stream().size() == (4, 8)
    assert stream().size(1) == 8


def test_a_number_of_nodes_may_be_set() -> None:
    data = stream(num_nodes=100)
    assert data.num_nodes == 100
    assert data[:2].num_nodes == 100
    data.num_nodes = None
    assert data.num_nodes == 8


def test_no_events() -> None:
    empty = TemporalData()
    assert repr(empty) == "TemporalData()"
    assert len(empty) == empty.num_events == empty.num_edges == 0
    assert empty.num_nodes is None
    none = stream()[[]]
    assert none.num_nodes == len(none) == 0
    assert list(none.edge_index.shape) == [2, 0]
    assert [len(part) for part in none.train_val_test_split()] == [0, 0, 0]
    with pytest.raises(AttributeError, match="src"):
        _ = empty.src


def test_attributes_as_in_pyg() -> None:
    for data in both():
        data.extra = 3
        data["more"] = 4
        assert data["extra"] == 3
        assert data.more == 4
        del data.extra
        del data["more"]
        data.y = None
        assert "extra" not in data
        assert "more" not in data
        assert "y" not in data
    with pytest.raises(AttributeError, match="nope"):
        _ = stream().nope
    with pytest.raises(KeyError, match="nope"):
        stream()["nope"]
    with pytest.raises(AttributeError):
        stream().num_events = 3


def test_rules_as_in_pyg() -> None:
    ours, theirs = both()
    for key in ("src", "dst", "t", "batch", "some_index", "edge_attr"):
        assert ours.__cat_dim__(key, ours.src) == theirs.__cat_dim__(key, ours.src)
        assert ours.__inc__(key, ours.src) == theirs.__inc__(key, ours.src)


def test_batches_as_in_pyg() -> None:
    ours, theirs = both()
    batch = Batch.from_data_list([ours, ours[:2]])
    expected = pyg_data().Batch.from_data_list([theirs, theirs[:2]])
    for key in ("src", "dst", "t", "msg", "y"):
        assert_equal(batch[key], expected[key])
    assert_equal(batch.to_data_list(), [ours, ours[:2]])


# Time --------------------------------------------------------------------------------------------


@given(
    st.lists(st.integers(0, 20), min_size=1, max_size=30),
    st.integers(0, 50),
    st.integers(0, 50),
)
def test_splits_are_those_of_pyg(times: list[int], val_percent: int, test_percent: int) -> None:
    val, test = val_percent / 100, test_percent / 100
    ids = torch.arange(len(times))
    attributes = {"src": ids, "dst": ids, "t": torch.tensor(times).sort().values, "msg": ids}
    ours, theirs = (cls(**attributes) for cls in (TemporalData, pyg_data().TemporalData))
    found, expected = (data.train_val_test_split(val, test) for data in (ours, theirs))
    assert_equal([part.to_dict() for part in found], [part.to_dict() for part in expected])
    assert sum(len(part) for part in found) == len(ours)


def test_a_share_that_binary_fractions_miss_cuts_where_it_should() -> None:
    times = torch.tensor([0, 0, 1, 1, 1, 1])
    data = TemporalData(src=times, dst=times, t=times, msg=times)
    assert [len(part) for part in data.train_val_test_split(0.14, 0.46)] == [6, 0, 0]
    late = TemporalData(src=times, dst=times, t=1_600_000_000 + torch.arange(6), msg=times)
    assert [len(part) for part in late.train_val_test_split(0.14, 0.46)] == [3, 0, 3]


def test_splits_by_default_and_refused() -> None:
    assert [len(part) for part in stream().train_val_test_split()] == [3, 1, 1]
    with pytest.raises(ValueError, match=r"shares of one whole, found 0\.5 and 0\.6"):
        stream().train_val_test_split(0.5, 0.6)
    with pytest.raises(ValueError, match=r"found -0\.1 and 0\.6"):
        stream().train_val_test_split(-0.1, 0.6)
    data = stream()
    data.t = torch.tensor([3, 1, 2, 0, 5])
    with pytest.raises(ValueError, match="ordered by 't' to be split"):
        data.train_val_test_split()


def test_sorting_by_time() -> None:
    data = stream()
    assert data.is_sorted_by_time()
    data.t = torch.tensor([3, 1, 2, 1, 5])
    assert not data.is_sorted_by_time()
    found = data.sort_by_time()
    assert found.t.tolist() == [1, 1, 2, 3, 5]
    assert found.src.tolist() == [1, 3, 2, 0, 1]
    assert found.is_sorted_by_time()
    assert data.t.tolist() == [3, 1, 2, 1, 5]


def test_windows_of_time() -> None:
    assert stream().snapshot(10, 30).t.tolist() == [10, 20, 30]
    assert stream().snapshot(0, 0, attr="y").t.tolist() == [0, 20, 40]
    assert stream().up_to(10).t.tolist() == [0, 10]
    assert stream().up_to(-1).num_events == 0


# What it shares with other graphs ----------------------------------------------------------------


def test_copies() -> None:
    data = stream(words=["a", "b"])
    for made in (copy.copy(data), copy.deepcopy(data), data.clone(), pickle.loads(pickle.dumps(data))):
        assert_equal(made, data)
        made.y = None
        assert "y" in data
    assert copy.copy(data).src is data.src
    assert copy.deepcopy(data).src is not data.src
    assert len(pickle.dumps(data[:1])) < len(pickle.dumps(data))


def test_doing_something_to_every_tensor() -> None:
    data = stream()
    assert data.apply(lambda x: x + 1, "src") is data
    assert data.src.tolist() == [1, 2, 3, 4, 2]
    assert data.cpu().to("cpu", "src").contiguous() is data
    assert data.detach().requires_grad_("msg").msg.requires_grad
    assert data.stores == data.node_stores == data.edge_stores
    assert data.stores_as(stream()) is data
    assert data.concat(data).num_events == 10
    assert data.update({"extra": 1}).extra == 1
    assert data.update(stream(extra=2)).extra == 2
    data.debug()


def test_attributes_of_events() -> None:
    data = stream(name="days", weights=torch.ones(3))
    assert data.edge_attrs() == ["src", "dst", "t", "msg", "y"]
    assert data.node_attrs() == []


@pytest.mark.parametrize(
    "method",
    ["coalesce", "has_isolated_nodes", "has_self_loops", "is_undirected", "is_directed"],
)
def test_what_makes_no_sense_is_refused_as_in_pyg(method: str) -> None:
    for data in both():
        with pytest.raises(NotImplementedError):
            getattr(data, method)()
