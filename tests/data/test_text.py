"""How graphs print, side by side with PyG."""

from collections import OrderedDict, deque, namedtuple
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given

from gnnlab.data import Batch, Data, HeteroData
from gnnlab.data.text import data_repr, pair, short
from gnnlab.sparse import SparseTensor, from_parts
from tests.strategies import graph_lists
from tests.tiny import no_edges, path, star, two_types

ones = torch.ones


def coo() -> Any:
    parts = {"indices": torch.tensor([[0], [2]]), "values": ones(1)}
    return from_parts({"kind": "coo", "sizes": [2, 3], "is_coalesced": True}, parts)


def csr() -> Any:
    parts = {"ptr": torch.tensor([0, 1, 1]), "index": torch.tensor([2]), "values": ones(1)}
    return from_parts({"kind": "csr", "sizes": [2, 3]}, parts)


class Named:
    def __repr__(self) -> str:
        return "Named()"


ATTRIBUTES: dict[str, dict[str, Any]] = {
    "nothing": {},
    "one": {"x": ones(3, 2)},
    "long": {f"a_rather_long_name_{i}": ones(i, i) for i in range(9)},
    "numbers": {"a": 1, "b": 1 / 3, "c": True, "d": 1 + 2j, "e": float("nan"), "f": 10**20},
    "0-d": {
        "a": torch.tensor(3.14159),
        "b": torch.tensor(True),
        "c": torch.tensor(1.5, dtype=torch.bfloat16),
        "d": torch.tensor(7, dtype=torch.uint8),
        "e": torch.tensor(1 + 2j),
        "f": torch.tensor(1.0, requires_grad=True),
    },
    "strings": {"a": "path", "b": "quo'te", "c": "two\nlines", "d": "x" * 200},
    "sequences": {
        "a": [],
        "b": [1, 2, 3],
        "c": ("a", "b"),
        "d": [ones(1), ones(2)],
        "e": b"abc",
        "f": range(3),
        "g": {1, 2},
        "h": frozenset([1]),
        "i": deque([1]),
        "j": namedtuple("Pair", "a b")(1, 2),
        "k": torch.Size([1, 2]),
    },
    "numpy": {"a": np.zeros((2, 3)), "b": np.array(3.0), "c": np.array(["a"]), "d": np.int64(3)},
    "others": {"a": Named(), "b": Fraction(1, 3), "c": int, "d": torch.float32, "e": Data},
    "sparse": {"a": coo(), "b": csr()},
    "elsewhere": {"a": torch.empty(3, device="meta"), "b": torch.nn.Parameter(ones(2))},
    "graph in graph": {"a": {"b": 1, "c": {"d": 2}}},
    "empty dict": {"d": {}},
    "dict of one": {"d": {"a": 1}},
    "dict of one long": {"d": {"a": "x" * 120}},
    "dict and more": {"x": ones(3, 2), "d": {"a": 1}, "e": {"a": 1, "b": 2}, "y": 1},
    "deep dict": {"d": {"a": ones(3), "b": {"c": ones(2, 2), "d": [ones(1)]}, "e": {"f": {}}}},
    "dict of none": {"d": {"a": None, "b": None}},
    "dict with other keys": {"d": {1: 2, ("a", "b"): ones(3)}},
    "other mappings": {"d": OrderedDict(a=1)},
    "odd names": {"two words": 1, "": 2, "größe": {"x y": 1}},
}


@pytest.mark.parametrize("name", ATTRIBUTES)
def test_data_prints_as_in_pyg(name: str) -> None:
    pyg = pytest.importorskip("torch_geometric.data", reason="compares with torch_geometric")
    attributes = ATTRIBUTES[name]
    assert repr(Data(**attributes)) == repr(pyg.Data(**attributes))


def test_a_nested_tensor_prints_its_largest_shape_as_in_pyg() -> None:
    pyg = pytest.importorskip("torch_geometric.data", reason="compares with torch_geometric")
    value = torch.nested.nested_tensor([ones(2), ones(5), ones(1)], layout=torch.jagged)
    assert repr(Data(x=value)) == repr(pyg.Data(x=value)) == "Data(x=[3, 5])"


def hetero(cls: Any) -> Any:
    data = cls()
    data.y = torch.tensor(1)
    data.d = {"a": {"b": ones(2)}}
    data["paper"].x = ones(3, 2)
    data["paper"].meta = {"a": 1, "b": {"c": ones(3)}}
    data["paper"].name = "name"
    data["author"].num_nodes = 3
    data["empty"]
    data["paper", "to", "author"].edge_index = torch.zeros(2, 4, dtype=torch.long)
    data["paper", "cites", "paper"]
    return data


def test_hetero_data_prints_as_in_pyg() -> None:
    pyg = pytest.importorskip("torch_geometric.data", reason="compares with torch_geometric")
    assert repr(HeteroData()) == repr(pyg.HeteroData()) == "HeteroData()"
    assert repr(hetero(HeteroData)) == repr(hetero(pyg.HeteroData))
    only_own, theirs = HeteroData(), pyg.HeteroData()
    only_own.x, theirs.x = 1, 1
    assert repr(only_own) == repr(theirs)


def test_batches_print_as_in_pyg() -> None:
    pyg = pytest.importorskip("torch_geometric.data", reason="compares with torch_geometric")
    for attributes in ({"x": ones(3, 2), "y": 1, "s": "a"}, {"x": ones(2), "d": {"a": ones(2)}}):
        ours = Batch.from_data_list([Data(**attributes)] * 2)
        theirs = pyg.Batch.from_data_list([pyg.Data(**attributes)] * 2)
        assert repr(ours) == repr(theirs)


def test_the_tiny_graphs() -> None:
    assert repr(path()) == "Data(x=[3, 2], edge_index=[2, 4], edge_attr=[4, 1], y=[3])"
    assert repr(star()) == "Data(x=[5, 2], edge_index=[2, 4], edge_attr=[4, 1], y=[1])"
    assert repr(no_edges()) == "Data(x=[3, 2], edge_index=[2, 0], edge_attr=[0, 1], y=[1])"
    assert repr(two_types()).splitlines()[5:8] == [
        "  author={ x=[2, 1] },",
        "  (author, writes, paper)={",
        "    edge_index=[2, 3],",
    ]


def test_our_sparse_matrices_show_their_number_of_entries() -> None:
    adj = SparseTensor(row=torch.tensor([0]), col=torch.tensor([1]), sparse_sizes=(2, 3))
    assert repr(Data(adj_t=adj)) == "Data(adj_t=[2, 3, nnz=1])"


def test_subclasses_print_their_name() -> None:
    class Molecule(Data):
        pass

    assert repr(Molecule(x=ones(3))) == "Molecule(x=[3])"


def test_a_graph_may_have_attributes_named_like_properties_of_hetero_data() -> None:
    assert data_repr(Data(node_types=["a"], x=ones(1))) == "Data(x=[1], node_types=[1])"


def test_pair_indents_what_follows() -> None:
    assert pair(("a", "to", "b"), {"x": 1, "y": 2}, indent=2) == ("  (a, to, b)={\n    x=1,\n    y=2,\n  }")
    assert short({}) == "{}"


@given(graph_lists(max_size=1, hetero=True, missing_types=True, optional=True))
def test_any_graph_prints_every_attribute(graphs: list[HeteroData]) -> None:
    text = repr(graphs[0])
    for store in graphs[0].stores:
        assert all(f"{name}=" in text for name in store)
