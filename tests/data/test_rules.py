"""The table of rules: PyG's rules for every name, and rules of one's own."""

import itertools
from collections.abc import Mapping
from typing import ClassVar

import pytest
import torch

from gnnlab.data import Batch, Data, HeteroData, Rule
from gnnlab.data.rules import TABLE, describe_rules, increment_of, rule_of
from gnnlab.data.testing import assert_equal
from tests.data.side_by_side import assert_same, ids

PARTS = ["x", "edge", "index", "batch", "face", "adj", "node", "e_id", "label", "attr", "ptr"]
NAMES = [*PARTS, *("_".join(pair) for pair in itertools.permutations(PARTS, 2)), "edge_label_index", "index2", "INDEX"]

GRAPHS = """
d = n.Data(num_nodes=7)
h = n.HeteroData()
h['a'].num_nodes, h['b'].num_nodes = 3, 4
h['a', 'to', 'b'].own = h['a'].own = 1
dense = ids([0, 2], [1, 0])
sparse = torch.eye(2).to_sparse()
"""


@pytest.mark.parametrize("name", NAMES)
def test_names_mean_what_they_mean_in_pyg(name: str) -> None:
    for value in ("dense", "dense.float()", "dense[0]"):
        for graph, store in (("d", ""), ("h", ", h['a']"), ("h", ", h['a', 'b']"), ("h", ", h._global_store")):
            assert_same(f"{graph}.__cat_dim__({name!r}, {value}{store})", GRAPHS)
            assert_same(f"{graph}.__inc__({name!r}, {value}{store})", GRAPHS)
    assert_same(f"d.__cat_dim__({name!r}, sparse)", GRAPHS)
    assert_same(f"h.__cat_dim__({name!r}, sparse, h['a', 'b'])", GRAPHS)


def test_sparse_matrices_of_edges_are_joined_on_the_diagonal() -> None:
    graphs = [
        Data(num_nodes=n, edge_index=torch.eye(n).to_sparse(), own_adj=torch.ones(n, 1).to_sparse()) for n in (2, 3)
    ]
    batch = Batch.from_data_list(graphs)
    assert torch.equal(batch.edge_index.to_dense(), torch.eye(5))
    assert batch.own_adj.shape == (5, 2)
    assert_equal(batch.to_data_list(), graphs)


def test_a_graph_s_own_ids_are_not_shifted_by_type() -> None:
    assert_same("h.__inc__('own_index', dense, h._global_store), h.__inc__('own_index', dense)", GRAPHS)


class Molecule(Data):
    rules: ClassVar[Mapping[str, Rule]] = {
        "rings": Rule(inc="num_nodes", level="graph"),
        "bond_index": Rule(),
        "fingerprint": Rule(cat_dim=None),
        "charge": Rule(level="node"),
        "group": Rule(inc="max"),
    }


class Protein(Molecule):
    rules: ClassVar[Mapping[str, Rule]] = {"charge": Rule(level="edge"), "chain": Rule(cat_dim=-1)}


def protein() -> Protein:
    return Protein(
        num_nodes=3,
        edge_index=ids([0, 1, 2], [1, 2, 0]),
        rings=ids(0, 1, 2),
        bond_index=ids(0, 2),
        fingerprint=torch.ones(5),
        charge=torch.ones(3),
        group=ids(0, 4),
        chain=torch.ones(2, 4),
    )


def test_declared_rules_come_first_and_are_inherited() -> None:
    batch = Batch.from_data_list([protein(), protein()])
    assert batch.rings.tolist() == [0, 1, 2, 3, 4, 5]
    assert batch.bond_index.tolist() == [0, 2, 0, 2]
    assert batch.fingerprint.shape == (2, 5)
    assert batch.group.tolist() == [0, 4, 5, 9]
    assert batch.chain.shape == (2, 8)
    assert_equal(batch.to_data_list(), [protein(), protein()])
    assert not protein().is_node_attr("rings")
    assert protein().is_edge_attr("charge")
    assert Molecule(num_nodes=3, charge=torch.ones(3)).is_node_attr("charge")
    assert set(Protein.rules) == {*Molecule.rules, "chain"}
    assert "chain" not in Molecule.rules
    assert not Data.rules


def test_declared_rules_hold_for_types() -> None:
    class Ring(HeteroData):
        rules: ClassVar[Mapping[str, Rule]] = {"members": Rule(inc="num_nodes", level="graph")}

    data = Ring()
    data["atom"].num_nodes = 3
    data["atom"].members = ids(0, 2)
    batch = Batch.from_data_list([data, data])
    assert batch["atom"].members.tolist() == [0, 2, 3, 5]
    assert_equal(batch.to_data_list(), [data, data])


@pytest.mark.parametrize(
    ("value", "expected"), [(ids(0, 4, 2), 5), (torch.empty(0), 0), ([1, 2], 0), (torch.tensor(3), 4)]
)
def test_the_largest_value_plus_one(value: object, expected: int) -> None:
    assert increment_of(Rule(inc="max"), value, lambda: pytest.fail("no nodes are counted")) == expected
    assert increment_of(Rule(), value, lambda: pytest.fail("no nodes are counted")) == 0


def test_the_description_tells_every_line() -> None:
    rows = describe_rules()
    assert [row["names"] for row in rows] == [line.says for line in TABLE]
    assert rows[0]["join"] == "on the diagonal"
    assert rows[-1] == {"names": "every other name", "join": "along dimension 0", "shift": "not", "level": "by size"}
    by_name = {row["names"]: row for row in rows}
    assert by_name["a name that holds both 'edge' and 'index'"] == {
        "names": "a name that holds both 'edge' and 'index'",
        "join": "along dimension -1",
        "shift": "by the number of nodes",
        "level": "edge",
    }


def test_the_last_line_takes_all() -> None:
    assert rule_of("anything", 1, {}) == Rule()
    assert rule_of("edge_index", 1, {"edge_index": Rule(cat_dim=0)}) == Rule(cat_dim=0)
