"""Concatenating the attributes of two graphs, held against PyG."""

from typing import Any

import numpy as np
import pytest
import torch

from gnnlab.data import Data, HeteroData, TemporalData
from gnnlab.data.testing import assert_equal
from tests.tiny import path, star, two_types


def pyg_data() -> Any:
    return pytest.importorskip("torch_geometric.data", reason="compares with torch_geometric")


def check(ours: Any, other: Any) -> None:
    pyg = pyg_data()
    theirs = getattr(pyg, type(ours).__name__)
    expected = theirs.from_dict(ours.to_dict()).concat(theirs.from_dict(other.to_dict()))
    before = ours.clone()
    assert_equal(ours.concat(other).to_dict(), expected.to_dict())
    assert_equal(ours, before)


def test_graphs_of_one_type_as_in_pyg() -> None:
    check(path(), star())
    extra = {"time": torch.arange(3), "words": ["a"], "parts": [torch.ones(1), torch.ones(2)]}
    check(Data(**path().to_dict(), **extra), Data(**path().to_dict(), **extra))
    check(Data(y=torch.tensor([1])), Data(y=torch.tensor([1.5])))


def test_graphs_of_several_types_as_in_pyg() -> None:
    data = two_types()
    data.y = torch.tensor([1])
    check(data, data)


def test_streams_as_in_pyg() -> None:
    ids = torch.arange(3)
    data = TemporalData(src=ids, dst=ids, t=ids, msg=torch.ones(3, 2))
    check(data, data)


def test_types_must_be_the_same() -> None:
    fewer = two_types().node_type_subgraph(["paper"])
    with pytest.raises(AttributeError, match=r"must have the same types, found .*'author'"):
        two_types().concat(fewer)
    with pytest.raises(AttributeError, match="must have the same types"):
        fewer.concat(two_types())
    with pytest.raises(AttributeError, match="must have the same types"):
        path().concat(HeteroData())  # type: ignore[arg-type]


def test_attributes_must_be_the_same() -> None:
    with pytest.raises(AttributeError, match=r"same attributes, found .*\['x'\]"):
        path().concat(Data(x=torch.ones(1, 2)))
    other = two_types()
    del other["paper"]["y"]
    with pytest.raises(AttributeError, match="same attributes of type 'paper'"):
        two_types().concat(other)


@pytest.mark.parametrize("value", [1, 1.5, "text", (1, 2), {"a": torch.ones(1)}, np.ones(2)])
def test_only_tensors_and_lists_are_joined(value: Any) -> None:
    kind = type(value).__name__
    with pytest.raises(NotImplementedError, match=f"'y' can't be concatenated: it is {kind}"):
        Data(y=value).concat(Data(y=value))


@pytest.mark.parametrize("shapes", [((2, 3), (2, 4)), ((2,), (2, 1)), ((), ()), ((), (1,)), ((1,), ())])
def test_shapes_must_fit(shapes: tuple[tuple[int, ...], tuple[int, ...]]) -> None:
    one, two = (Data(y=torch.ones(shape)) for shape in shapes)
    with pytest.raises(ValueError, match="'y' can't be joined along dimension 0: found shapes"):
        one.concat(two)
