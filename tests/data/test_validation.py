"""Sound and unsound graphs."""

import re
import warnings
from collections.abc import Mapping
from typing import Any, ClassVar

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from gnnlab.data import Data, HeteroData
from gnnlab.data.rules import Rule
from gnnlab.sparse import SparseTensor
from tests.strategies import SPARSE_KINDS, graphs, hetero_graphs
from tests.tiny import no_edges, path, star, two_types

INFERRED = "ignore:Unable to accurately infer 'num_nodes'"
LONELY = "ignore:the node types .* have no edges of any type"


@pytest.mark.filterwarnings(LONELY)
@given(st.one_of(graphs(sparse=SPARSE_KINDS), hetero_graphs(sparse=SPARSE_KINDS)))
def test_every_sound_graph_passes(data: Any) -> None:
    assert data.validate()
    assert data.validate(raise_on_error=False)


def test_the_tiny_graphs_are_sound() -> None:
    assert all(data.validate() for data in (path(), star(), no_edges(), two_types()))
    assert Data(num_nodes=0).validate()
    assert HeteroData().validate()


def adjacency(rows: int, cols: int) -> SparseTensor:
    none = torch.empty(0, dtype=torch.long)
    return SparseTensor(row=none, col=none, sparse_sizes=(rows, cols))


def faults(data: Any) -> list[str]:
    """The warnings of an unsound graph."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        assert not data.validate(raise_on_error=False)
    assert found[-1].filename == __file__
    return [str(warning.message) for warning in found]


FAULTS: list[tuple[dict[str, Any], str]] = [
    ({"edge_index": torch.zeros(3, 4).long()}, r"'edge_index' must be of shape \[2, \*\] in 'Data', found \[3, 4\]"),
    ({"edge_index": torch.zeros(2).long()}, r"'edge_index' must be of shape \[2, \*\] in 'Data', found \[2\]"),
    ({"edge_index": torch.zeros(2, 4)}, "'edge_index' must hold integers in 'Data', found torch.float32"),
    ({"edge_index": torch.zeros(2, 4).bool()}, "'edge_index' must hold integers in 'Data', found torch.bool"),
    ({"edge_index": torch.empty(2, 0)}, "'edge_index' must hold integers in 'Data', found torch.float32"),
    ({"edge_index": [[0], [1]]}, "'edge_index' must be a tensor in 'Data', found list"),
    (
        {"edge_index": torch.tensor([[0, 1, 1, 9], [1, 0, 2, 1]])},
        r"the ids in 'edge_index' must lie in \[0, 3\) in 'Data', found 9",
    ),
    (
        {"edge_index": torch.tensor([[0, 1, 1, -1], [1, 0, 2, 1]])},
        r"the ids in 'edge_index' must lie in \[0, 3\) in 'Data', found -1",
    ),
    ({"edge_label_index": torch.tensor([[3], [0]])}, r"the ids in 'edge_label_index' must lie in \[0, 3\)"),
    ({"face": torch.tensor([[0], [1]])}, r"'face' must be of shape \[3, \*\] in 'Data', found \[2, 1\]"),
    ({"face": torch.tensor([[0], [1], [3]])}, r"the ids in 'face' must lie in \[0, 3\) in 'Data', found 3"),
    ({"num_nodes": -1}, "'num_nodes' must not be negative in 'Data', found -1"),
    ({"num_nodes": 7}, "'x' must have num_nodes=7 entries in 'Data', found 3"),
    ({"pos": torch.ones(2, 2)}, "'pos' must have num_nodes=3 entries in 'Data', found 2"),
    ({"batch": torch.zeros(4).long()}, "'batch' must have num_nodes=3 entries in 'Data', found 4"),
    ({"node_type": [0, 0]}, "'node_type' must have num_nodes=3 entries in 'Data', found 2"),
    ({"n_id": torch.tensor(1)}, "'n_id' must have num_nodes=3 entries in 'Data', found a Tensor that has none"),
    ({"edge_attr": torch.ones(3, 1)}, "'edge_attr' must have num_edges=4 entries in 'Data', found 3"),
    ({"edge_weight": 1.0}, "'edge_weight' must have num_edges=4 entries in 'Data', found a float that has none"),
    ({"adj_t": adjacency(2, 3)}, r"'adj_t' must be of size \[3, 3\] in 'Data', found \[2, 3\]"),
]


@pytest.mark.parametrize(("attributes", "text"), FAULTS)
def test_faults_are_named(attributes: dict[str, Any], text: str) -> None:
    data = path().update(attributes)
    with pytest.raises(ValueError, match=text):
        data.validate()
    assert re.search(text, faults(data)[0])


@pytest.mark.filterwarnings(INFERRED)
def test_the_number_of_nodes_must_be_known() -> None:
    with pytest.raises(ValueError, match="'num_nodes' is undefined in 'Data'"):
        Data().validate()
    assert faults(Data())[-1] == "'num_nodes' is undefined in 'Data'"
    assert Data(edge_index=torch.tensor([[0], [5]])).validate()


def test_all_faults_are_warned_of() -> None:
    data = path().update({"edge_attr": torch.ones(1), "face": torch.ones(3, 1), "pos": torch.ones(1, 3)})
    assert [fault.split("'")[1] for fault in faults(data)] == ["pos", "face", "edge_attr"]


def test_levels_that_a_class_declares_are_checked() -> None:
    class Molecule(Data):
        rules: ClassVar[Mapping[str, Rule]] = {
            "charge": Rule(level="node"),
            "bond": Rule(level="edge"),
            "name": Rule(level="graph"),
        }

    data = Molecule(**path().to_dict(), charge=torch.ones(3), bond=torch.ones(4), name="water")
    assert data.validate()
    data.charge = torch.ones(2)
    with pytest.raises(ValueError, match="'charge' must have num_nodes=3 entries in 'Molecule', found 2"):
        data.validate()
    data.charge, data.bond = torch.ones(3), torch.ones(2)
    with pytest.raises(ValueError, match="'bond' must have num_edges=4 entries in 'Molecule', found 2"):
        data.validate()


def edges(sources: list[int], targets: list[int]) -> torch.Tensor:
    return torch.tensor([sources, targets])


@pytest.mark.parametrize(
    ("key", "attributes", "text"),
    [
        (
            ("author", "writes", "paper"),
            {"edge_index": edges([0, 2, 0], [0, 0, 0])},
            r"the sources of 'edge_index' must lie in \[0, 2\) in edge type "
            r"\('author', 'writes', 'paper'\) of 'HeteroData', found 2",
        ),
        (
            ("author", "writes", "paper"),
            {"edge_index": edges([0, 1, 0], [0, 3, 0])},
            r"the targets of 'edge_index' must lie in \[0, 3\) in edge type .* found 3",
        ),
        (
            ("paper", "cites", "paper"),
            {"edge_index": edges([-2], [0])},
            r"the ids in 'edge_index' must lie in \[0, 3\) in edge type .* found -2",
        ),
        (
            ("author", "writes", "paper"),
            {"adj": adjacency(3, 2)},
            r"'adj' must be of size \[2, 3\] in edge type .* found \[3, 2\]",
        ),
        ("paper", {"pos": torch.ones(1, 2)}, "'pos' must have num_nodes=3 entries in node type 'paper'"),
        (
            ("author", "writes", "paper"),
            {"edge_attr": torch.ones(2)},
            "'edge_attr' must have num_edges=3 entries in edge type .* found 2",
        ),
        (
            ("paper", "in", "venue"),
            {"edge_index": edges([0], [7])},
            r"node type 'venue' of edge type \('paper', 'in', 'venue'\) of 'HeteroData' is missing",
        ),
    ],
)
def test_faults_of_types_are_named(key: Any, attributes: dict[str, Any], text: str) -> None:
    data = two_types()
    data[key].update(attributes)
    before = data.metadata()
    with pytest.raises(ValueError, match=text):
        data.validate()
    assert re.search(text, faults(data)[0])
    assert data.metadata() == before


@pytest.mark.filterwarnings(INFERRED, LONELY)
def test_every_type_must_know_its_number_of_nodes() -> None:
    data = two_types()
    data["venue"].name = "somewhere"
    with pytest.raises(ValueError, match="'num_nodes' is undefined in node type 'venue' of 'HeteroData'"):
        data.validate()


def test_a_node_type_without_edges_is_worth_a_warning() -> None:
    data = two_types()
    data["venue"].num_nodes = 2
    with pytest.warns(UserWarning, match=r"the node types \['venue'\] have no edges of any type"):
        assert data.validate()


@given(graphs(), st.integers(0, 8), st.integers(-1, 6))
def test_what_pyg_refuses_we_refuse(data: Data, at: int, node: int) -> None:
    pyg = pytest.importorskip("torch_geometric.data", reason="compares with torch_geometric")
    if data.num_edges and "edge_index" in data:
        data.edge_index.view(-1)[at % (2 * data.num_edges)] = node
    try:
        sound = pyg.Data.from_dict(data.to_dict()).validate()
    except ValueError:
        sound = False
    if sound:
        assert data.validate()
    else:
        assert faults(data)
