"""Cutting graphs down to a window of time."""

from collections.abc import Callable
from typing import Any, TypeVar

from torch import Tensor

from gnnlab.data import subgraphs

#: A `Data` or `HeteroData`.
Graph = TypeVar("Graph", bound=Any)


def snapshot(data: Graph, start_time: float, end_time: float, attr: str = "time") -> Graph:
    """The part of a graph between two times, both included.

    Where `attr` is an attribute of nodes, the nodes of the window stay, and the edges among them;
    where it is one of edges, the edges of the window stay, and all nodes. Types without `attr`
    stay whole. (PyG leaves edges to nodes that are gone; here they go with the nodes.)

    Args:
        data: a homogeneous or heterogeneous graph.
        start_time: the earliest time that stays.
        end_time: the latest time that stays.
        attr: `[num_nodes]` or `[num_edges]` in `data`. The attribute with the times.

    Raises:
        ValueError: if `attr` has neither one entry a node nor one an edge.
    """
    return _window(data, attr, lambda time: (time >= start_time) & (time <= end_time))


def up_to(data: Graph, end_time: float, attr: str = "time") -> Graph:
    """The part of a graph up to `end_time` (included), as in `snapshot`.

    Raises:
        ValueError: if `attr` has neither one entry a node nor one an edge.
    """
    return _window(data, attr, lambda time: time <= end_time)


def _window(data: Graph, attr: str, inside: Callable[[Tensor], Tensor]) -> Graph:
    nodes: dict[Any, Tensor] = {}
    edges: dict[Any, Tensor] = {}
    for store in {store._key: store for store in [*data.node_stores, *data.edge_stores]}.values():
        if attr not in store:
            continue
        time = store[attr]
        level = store._level_of(attr) if isinstance(time, Tensor) and time.dim() == 1 else "graph"
        if level == "graph":
            where = f"'{attr}'" if store._key is None else f"'{attr}' of type {store._key!r}"
            what = list(time.shape) if isinstance(time, Tensor) else type(time).__name__
            raise ValueError(f"{where} must be a tensor with one time for each node or each edge, found {what}")
        kept = nodes if level == "node" else edges
        kept[store._key] = inside(time)
    return subgraphs._subgraph(subgraphs._edge_subgraph(data, edges), nodes)
