"""How an attribute's name decides what happens to it: the one table behind batching, slicing and counting.

A rule answers three questions about an attribute.

* `cat_dim`: along which dimension are the values of several graphs joined? An int is a dimension, a pair of ints puts
  sparse matrices on the diagonal, and `None` stacks the values along a new first dimension.
* `inc`: what is added to the values of each graph when graphs are joined? `'num_nodes'` shifts node ids past the nodes
  of the graphs before, `'max'` shifts by the largest value plus one, `None` leaves the values alone.
* `level`: does the attribute describe nodes, edges or the graph? `None` lets its size decide.

The table is read from top to bottom and the first line that matches holds. A class of your own declares rules by exact
name, which come before the table and are inherited::

    class Molecule(Data):
        rules = {'ring_atoms': Rule(inc='num_nodes', level='graph')}
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from torch import Tensor

from gnnlab.sparse import is_sparse

Level = Literal["node", "edge", "graph"]

#: Whose attributes a storage holds: those of a homogeneous graph, or of one type of nodes or edges.
Kind = Literal["graph", "nodes", "edges"]


@dataclass(frozen=True)
class Rule:
    """What one attribute's name says about it (see the module's docstring)."""

    cat_dim: int | tuple[int, int] | None = 0
    inc: Literal["num_nodes", "max"] | None = None
    level: Level | None = None


@dataclass(frozen=True)
class _Line:
    says: str
    matches: Callable[[str, Any, Kind], bool]
    rule: Rule


TABLE = (
    _Line(
        "a sparse matrix whose name holds 'adj' or 'edge_index'",
        lambda key, value, kind: ("adj" in key or "edge_index" in key) and is_sparse(value),
        Rule(cat_dim=(0, 1)),
    ),
    _Line(
        "a name that holds both 'batch' and 'index'",
        lambda key, value, kind: "batch" in key and "index" in key and kind != "nodes",
        Rule(cat_dim=-1, inc="max"),
    ),
    _Line("a name that holds 'batch'", lambda key, value, kind: "batch" in key, Rule(inc="max")),
    _Line(
        "a name that holds both 'edge' and 'index'",
        lambda key, value, kind: "edge" in key and "index" in key and kind != "nodes",
        Rule(cat_dim=-1, inc="num_nodes", level="edge"),
    ),
    _Line(
        "a name that holds 'index', and 'face'",
        lambda key, value, kind: ("index" in key and kind != "nodes") or (key == "face" and kind == "graph"),
        Rule(cat_dim=-1, inc="num_nodes"),
    ),
    _Line(
        "a name that holds 'edge', and 'e_id'",
        lambda key, value, kind: "edge" in key or key == "e_id",
        Rule(level="edge"),
    ),
    _Line("every other name", lambda key, value, kind: True, Rule()),
)

#: Names from which the number of nodes is read where `num_nodes` itself is not given.
NODE_COUNT_KEYS = frozenset({"x", "pos", "batch", "node_type", "n_id", "tf"})

#: Names from which the number of edges is read before any other name that holds 'edge'.
EDGE_COUNT_KEYS = frozenset({"edge_index", "edge_weight", "edge_attr", "edge_type", "e_id"})


def rule_of(key: str, value: Any, declared: Mapping[str, Rule], kind: Kind = "graph") -> Rule:
    """The rule for attribute `key` holding `value`: the one declared for its name, else the first line that matches.

    In a heterogeneous graph, names that hold 'index' hold ids only in the attributes of edges (`kind='edges'`).
    """
    if key in declared:
        return declared[key]
    return next(line.rule for line in TABLE if line.matches(key, value, kind))


def increment_of(rule: Rule, value: Any, num_nodes: Callable[[], Any]) -> Any:
    """How far the values of the next graph are shifted past this graph's: a number or tensor, 0 where nothing is
    shifted.
    """
    if rule.inc == "num_nodes":
        return num_nodes()
    if rule.inc == "max" and isinstance(value, Tensor):
        return int(value.max()) + 1 if value.numel() > 0 else 0
    return 0


def describe_rules() -> list[dict[str, str]]:
    """The table as plain rows, for people: one dict a line with `names`, `join`, `shift` and `level`."""
    shift = {"num_nodes": "by the number of nodes", "max": "by the largest value + 1", None: "not"}
    return [
        {
            "names": line.says,
            "join": f"along dimension {line.rule.cat_dim}" if isinstance(line.rule.cat_dim, int) else "on the diagonal",
            "shift": shift[line.rule.inc],
            "level": line.rule.level or "by size",
        }
        for line in TABLE
    ]
