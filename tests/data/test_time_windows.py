"""Windows of time, held against PyG and against counting by hand."""

from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from gnnlab.data import Data, HeteroData
from gnnlab.data.testing import assert_equal
from tests.tiny import path, two_types


def pyg_data() -> Any:
    return pytest.importorskip("torch_geometric.data", reason="compares with torch_geometric")


def timed(**attributes: Any) -> Data:
    """Four nodes and five edges."""
    return Data(
        x=torch.arange(8).view(4, 2),
        edge_index=torch.tensor([[0, 1, 2, 3, 1], [1, 2, 3, 0, 1]]),
        edge_attr=torch.arange(5),
        **attributes,
    )


@pytest.mark.parametrize(
    "attributes",
    [
        {},
        {"time": torch.arange(5)},
        {"time": torch.tensor([3, 1, 4, 1, 2])},
        {"time": torch.tensor([3.0, 1.0, 4.0, 1.5, 2.0])},
        {"time": torch.arange(5), "num_nodes": 4},
        {"edge_time": torch.arange(5)},
    ],
)
def test_windows_of_edges_are_those_of_pyg(attributes: dict[str, Any]) -> None:
    ours, theirs = timed(**attributes), pyg_data().Data.from_dict(timed(**attributes).to_dict())
    for start, end in ((1, 2), (0, 10), (9, 10), (1.5, 2)):
        found, expected = ours.snapshot(start, end), theirs.snapshot(start, end)
        assert_equal(found.to_dict(), expected.to_dict())
        assert_equal(ours.up_to(end).to_dict(), theirs.up_to(end).to_dict())
    found, expected = (data.snapshot(1, 2, attr="edge_time") for data in (ours, theirs))
    assert_equal(found.to_dict(), expected.to_dict())


@given(st.lists(st.integers(0, 5), min_size=4, max_size=4), st.integers(0, 5), st.integers(0, 5))
def test_windows_of_nodes_take_the_edges_along(times: list[int], start: int, end: int) -> None:
    data = timed(time=torch.tensor(times), num_nodes=4)
    ids = [at for at, time in enumerate(times) if start <= time <= end]
    assert_equal(data.snapshot(start, end), data.subgraph(torch.tensor(ids, dtype=torch.long)))
    assert data.snapshot(start, end).validate()
    ids = [at for at, time in enumerate(times) if time <= end]
    assert_equal(data.up_to(end), data.subgraph(torch.tensor(ids, dtype=torch.long)))


def test_windows_of_nodes_hold_the_nodes_of_pyg() -> None:
    theirs = pyg_data().Data.from_dict(timed(time=torch.tensor([3, 1, 2, 0])).to_dict())
    found, expected = timed(time=torch.tensor([3, 1, 2, 0])).snapshot(1, 2), theirs.snapshot(1, 2)
    assert found.x.tolist() == expected.x.tolist()
    assert found.edge_index.tolist() == [[0, 0], [1, 0]]
    assert found.edge_attr.tolist() == [1, 4]


def test_a_time_that_is_not_known_lies_in_no_window() -> None:
    data = timed(time=torch.tensor([3.0, 1.0, float("nan"), 1.5, 2.0]))
    assert data.up_to(9).edge_attr.tolist() == [0, 1, 3, 4]
    assert data.snapshot(0, 2).edge_attr.tolist() == [1, 3, 4]


def test_where_both_fit_time_is_of_nodes_and_edge_time_of_edges() -> None:
    data = Data(x=torch.arange(3), edge_index=torch.tensor([[0, 1, 2], [1, 2, 0]]))
    data.time = torch.arange(3)
    data.edge_time = torch.arange(3)
    assert data.up_to(1).x.tolist() == [0, 1]
    assert data.up_to(1).edge_time.tolist() == [0]
    assert data.snapshot(1, 1, "edge_time").time.tolist() == [0, 1, 2]


def hetero(cls: Any = HeteroData, **times: Any) -> Any:
    data = cls()
    data["a"].x, data["b"].x = torch.arange(3), torch.arange(2)
    data["a", "b"].edge_index = torch.tensor([[0, 1, 2], [0, 0, 1]])
    data["a", "b"].edge_attr = torch.tensor([7, 8, 9])
    data["b", "a"].edge_index = torch.tensor([[0], [1]])
    for key, time in times.items():
        data[{"a": "a", "b": "b", "ab": ("a", "b")}[key]].time = torch.tensor(time)
    return data


def test_windows_of_edges_of_several_types_are_those_of_pyg() -> None:
    ours, theirs = hetero(ab=[0, 1, 2]), hetero(pyg_data().HeteroData, ab=[0, 1, 2])
    assert_equal(ours.snapshot(1, 2).to_dict(), theirs.snapshot(1, 2).to_dict())
    assert_equal(ours.up_to(1).to_dict(), theirs.up_to(1).to_dict())


def test_windows_of_nodes_and_edges_of_several_types() -> None:
    data = hetero(a=[0, 1, 2], ab=[5, 1, 1])
    found = data.snapshot(1, 2)
    assert found["a"].x.tolist() == [1, 2]
    assert found["b"].x.tolist() == [0, 1]
    assert found["a", "b"].edge_index.tolist() == [[0, 1], [0, 1]]
    assert found["a", "b"].edge_attr.tolist() == [8, 9]
    assert found["b", "a"].edge_index.tolist() == [[0], [0]]
    assert found.validate()


def test_a_time_of_the_whole_graph_does_not_cut() -> None:
    data = two_types()
    data.time = 5
    assert_equal(data.up_to(3), data)


@pytest.mark.parametrize(
    ("time", "found"),
    [
        (torch.arange(7), r"\[7\]"),
        (torch.arange(3).view(3, 1), r"\[3, 1\]"),
        (torch.tensor(1), r"\[\]"),
        ([0, 1, 2], "list"),
    ],
)
def test_other_times_are_refused(time: Any, found: str) -> None:
    data = path()
    data.time = time
    with pytest.raises(ValueError, match=f"'time' must be a tensor with one time for .*{found}"):
        data.snapshot(0, 1)
    data = two_types()
    data["paper"].time = time
    with pytest.raises(ValueError, match=f"'time' of type 'paper' must be a tensor .*{found}"):
        data.up_to(1)
