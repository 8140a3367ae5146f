"""Graphs from and to NetworkX and PyG. `gnnlab.utils` offers these functions under PyG's names."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor

from gnnlab.data.batch import Batch
from gnnlab.data.data import Data
from gnnlab.data.hetero_data import HeteroData
from gnnlab.data.nested import map_tensors
from gnnlab.data.storage import BaseStorage
from gnnlab.data.temporal import TemporalData
from gnnlab.sparse import SparseTensor, kind
from gnnlab.typing import is_sparse_tensor

# NetworkX ------------------------------------------------------------------------------------------------------------


def to_networkx(
    data: Data | HeteroData,
    node_attrs: Iterable[str] | None = None,
    edge_attrs: Iterable[str] | None = None,
    graph_attrs: Iterable[str] | None = None,
    to_undirected: bool | str | None = False,
    to_multi: bool = False,
    remove_self_loops: bool = False,
) -> Any:
    """A graph as a `networkx.DiGraph`, or one of its siblings; tensors become numbers and lists.

    Nodes are numbered from 0, those of a heterogeneous graph on from type to type; there nodes and edges have a `type`.

    Args:
        data: the graph.
        node_attrs, edge_attrs, graph_attrs: the names of the attributes to take along. In a heterogeneous graph every
            type must have them.
        to_undirected: True gives an undirected graph, in which the later of an edge and its reverse leaves its
            attributes; "upper" takes only edges with source <= target, "lower" those with source >= target. Not for
            heterogeneous graphs.
        to_multi: keep edges that are there twice, in a `MultiDiGraph` or `MultiGraph`.
        remove_self_loops: leave out edges from a node to itself.

    Raises:
        ValueError: for an attribute that is not there, or another `to_undirected`.

    PyG: `torch_geometric.utils.to_networkx`.
    """
    import networkx as nx

    if to_undirected not in (True, False, None, "upper", "lower"):
        raise ValueError(f"to_undirected: expected a bool, 'upper' or 'lower', found {to_undirected!r}")
    typed = isinstance(data, HeteroData)
    if typed and to_undirected:
        raise ValueError("to_undirected: expected False for a heterogeneous graph: its edges have a type one way")
    if to_undirected:
        graph = nx.MultiGraph() if to_multi else nx.Graph()
    else:
        graph = nx.MultiDiGraph() if to_multi else nx.DiGraph()
    own = data._global_store if isinstance(data, HeteroData) else data._store
    graph.graph.update(_columns(own, graph_attrs or (), "graph_attrs"))

    first = 0
    start: dict[Any, int] = {}
    for nodes in data.node_stores:
        start[nodes._key] = first
        rows = _rows(nodes, node_attrs or (), "node_attrs", _num_nodes(nodes), typed)
        graph.add_nodes_from(enumerate(rows, start=first))
        first += _num_nodes(nodes)
    for edges in data.edge_stores:
        source, target = edges.edge_index.detach().cpu().long()
        if typed:
            source, target = source + start[edges._key[0]], target + start[edges._key[2]]
        rows = _rows(edges, edge_attrs or (), "edge_attrs", source.numel(), typed)
        for i, j, row in zip(source.tolist(), target.tolist(), rows, strict=True):
            wrong_half = (to_undirected == "upper" and i > j) or (to_undirected == "lower" and i < j)
            if not wrong_half and not (remove_self_loops and i == j):
                graph.add_edge(i, j, **row)
    return graph


def _num_nodes(store: Any) -> int:
    if store.num_nodes is None:
        raise ValueError(
            f"data: expected a known number of nodes, found none in {store._key or 'the graph'}: set num_nodes"
        )
    return int(store.num_nodes)


def _columns(store: BaseStorage, names: Iterable[str], argument: str) -> dict[str, Any]:
    """The attributes `names` of a storage, tensors as numbers and lists."""
    columns = {}
    for name in names:
        if name not in store:
            where = f" of type {store._key!r}" if store._key is not None else ""
            raise ValueError(f"{argument}: expected attributes{where}, among {list(store.keys())}, found {name!r}")
        value = store[name]
        columns[name] = value.tolist() if isinstance(value, Tensor | np.ndarray) else value
    return columns


def _rows(
    store: BaseStorage, names: Iterable[str], argument: str, num_rows: int, typed: bool
) -> Iterator[dict[str, Any]]:
    """The attributes of each node or edge as a dictionary."""
    columns = _columns(store, names, argument)
    for name, column in columns.items():
        if not isinstance(column, Sequence) or len(column) != num_rows:
            raise ValueError(f"{argument}: expected {num_rows} entries in each attribute, found others in {name!r}")
    shared = {"type": store._key} if typed else {}
    return (shared | {name: column[i] for name, column in columns.items()} for i in range(num_rows))


def from_networkx(
    G: Any,
    group_node_attrs: list[str] | Literal["all"] | None = None,
    group_edge_attrs: list[str] | Literal["all"] | None = None,
) -> Data:
    """A NetworkX graph of any kind as `Data`.

    Nodes are numbered in the order of `G.nodes`; an undirected edge becomes two. An attribute of all nodes, of all
    edges or of the graph becomes a tensor if its values make one, else a list. An edge attribute with the name of a
    node attribute is called `edge_...`, a graph attribute with such a name `graph_...`.

    Args:
        G: a `networkx.Graph`, `DiGraph`, `MultiGraph` or `MultiDiGraph`.
        group_node_attrs: names of node attributes, or "all", that are joined in `x`, [num_nodes, channels].
        group_edge_attrs: names of edge attributes, or "all", that are joined in `edge_attr`, [num_edges, channels].

    Raises:
        ValueError: if an attribute is not there for all nodes (edges) or one to be joined is no tensor.

    PyG: `torch_geometric.utils.from_networkx`.
    """
    number = {node: i for i, node in enumerate(G.nodes())}
    nodes = [values for _, values in G.nodes(data=True)]
    directed = G if G.is_directed() else G.to_directed(as_view=True)
    edges = list(directed.edges(data=True))
    ends = [[number[i], number[j]] for i, j, _ in edges]

    node_columns = _collect(nodes, "nodes")
    edge_columns = {
        f"edge_{name}" if name in node_columns else name: column
        for name, column in _collect([values for *_, values in edges], "edges").items()
    }
    graph_columns = {
        f"graph_{name}" if name in node_columns else name: _as_tensor(value)
        for name, value in G.graph.items()
        if name not in ("node_default", "edge_default")  # what NetworkX's readers leave there
    }
    x = _join(node_columns, group_node_attrs, "group_node_attrs")
    if isinstance(group_edge_attrs, list):
        group_edge_attrs = [name if name in edge_columns else f"edge_{name}" for name in group_edge_attrs]
    edge_attr = _join(edge_columns, group_edge_attrs, "group_edge_attrs")

    data = Data(edge_index=torch.tensor(ends, dtype=torch.long).view(-1, 2).t().contiguous())
    for name, value in {**node_columns, **edge_columns, **graph_columns}.items():
        data[name] = value
    if x is not None:
        data.x = x
    if edge_attr is not None:
        data.edge_attr = edge_attr
    if not isinstance(data.x, Tensor) and not isinstance(data.get("pos"), Tensor):
        data.num_nodes = len(nodes)
    return data


def _collect(rows: list[dict[str, Any]], what: str) -> dict[str, Any]:
    """The attributes that all rows have, each as a tensor or a list."""
    names = list(rows[0]) if rows else []
    for i, row in enumerate(rows):
        if row.keys() != rows[0].keys():
            raise ValueError(f"G: expected the attributes {names} in all {what}, found {list(row)} in number {i}")
    return {str(name): _as_tensor([row[name] for row in rows]) for name in names}


def _as_tensor(value: Any) -> Any:
    """`value` as a tensor if it is a number or nested lists (or NumPy arrays, or tensors) of one shape, else itself."""
    if isinstance(value, list) and value and all(isinstance(item, Tensor) for item in value):
        return torch.stack(value) if len({item.shape for item in value}) == 1 else value
    if isinstance(value, list) and value and all(isinstance(item, np.ndarray) for item in value):
        value = np.stack(value) if len({item.shape for item in value}) == 1 else value
    try:
        return torch.as_tensor(value)
    except (ValueError, TypeError, RuntimeError):  # strings, ragged lists, dictionaries
        return value


def _join(columns: dict[str, Any], names: list[str] | str | None, argument: str) -> Tensor | None:
    """Take attributes out of `columns` and put them side by side: [n, channels]."""
    if names is None:
        return None
    parts = []
    for name in list(columns) if names == "all" else names:
        if not isinstance(columns.get(name), Tensor):
            found = "which is not there" if name not in columns else "which is no tensor"
            raise ValueError(f"{argument}: expected attributes that make a tensor, found {name!r}, {found}")
        column = columns.pop(name)
        parts.append(column if column.dim() > 1 else column.view(-1, 1))
    return torch.cat(parts, dim=-1) if parts else None


# PyG -----------------------------------------------------------------------------------------------------------------


def to_pyg(data: Any) -> Any:
    """The same graph as an object of PyG's. Tensors are shared, not copied.

    `Data`, `HeteroData` and `TemporalData` become PyG's classes of the same name, a list (or tuple) of graphs a list,
    and a `Batch` the list of its graphs, whose node numbers start from 0 again and so are not shared. A `SparseTensor`
    becomes one of torch_sparse, around the same tensors. Subclasses lose their class.

    Raises TypeError for anything else, ImportError without torch_geometric, or without torch_sparse if that is needed.
    """
    import torch_geometric.data as peer

    if isinstance(data, Batch):
        return [to_pyg(graph) for graph in data.to_data_list()]
    if isinstance(data, list | tuple):
        return [to_pyg(graph) for graph in data]
    ours = _class_of(data, (Data, HeteroData, TemporalData))
    return getattr(peer, ours.__name__).from_dict(map_tensors(data.to_dict(), _sparse_to_peer))


def from_pyg(data: Any) -> Any:
    """The inverse of `to_pyg`: an object of PyG's as ours. Tensors are shared, not copied.

    An `EdgeIndex` or `Index` becomes the plain tensor that it is. Raises TypeError for anything but PyG's `Data`,
    `HeteroData`, `TemporalData`, `Batch` or a list of them, ImportError without torch_geometric.
    """
    import torch_geometric.data as peer

    if isinstance(data, peer.Batch):
        return [from_pyg(graph) for graph in data.to_data_list()]
    if isinstance(data, list | tuple):
        return [from_pyg(graph) for graph in data]
    theirs = _class_of(data, (peer.Data, peer.HeteroData, peer.TemporalData))
    classes: dict[str, Any] = {"Data": Data, "HeteroData": HeteroData, "TemporalData": TemporalData}
    return classes[theirs.__name__].from_dict(map_tensors(data.to_dict(), _tensor_from_peer))


def _class_of(data: Any, classes: tuple[type, ...]) -> type:
    for cls in classes:
        if isinstance(data, cls):
            return cls
    names = [f"{cls.__module__.partition('.')[0]}.{cls.__name__}" for cls in classes]
    raise TypeError(f"data: expected one of {names}, a Batch or a list of them, found {type(data).__name__}")


def _sparse_to_peer(value: Any) -> Any:
    return value.to_torch_sparse() if isinstance(value, SparseTensor) else value


def _tensor_from_peer(value: Any) -> Any:
    if is_sparse_tensor(value) and kind(value) == "torch_sparse":
        return SparseTensor.from_torch_sparse(value)
    return value.as_tensor() if type(value).__name__ in ("EdgeIndex", "Index") else value
