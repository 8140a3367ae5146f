"""Cutting graphs down: to some nodes, some edges, some types, or into connected components.

One function does the cutting for every kind of graph; a homogeneous graph is one whose only node
type, and only edge type, is called `None`.
"""

import copy
from collections.abc import Iterable, Mapping
from itertools import accumulate
from typing import Any, TypeVar

import torch
from torch import Tensor

from gnnlab.data.storage import EdgeStorage, NodeStorage, take
from gnnlab.sparse import is_sparse, sizes

#: A `Data` or `HeteroData`.
Graph = TypeVar("Graph", bound=Any)


def subgraph(data: Graph, subset: Any) -> Graph:
    """The graph of some nodes and all edges among them (PyG's `Data.subgraph`).

    Node and edge attributes follow their nodes and edges, `edge_index` gets the new ids, `adj` and
    `adj_t` lose the rows and columns of the other nodes. Attributes of the graph stay as they are,
    also those that hold node ids, such as `face`.

    Args:
        data: a homogeneous graph.
        subset: `[num_kept]` integer node ids, in the order in which the nodes are wanted, or
            `[num_nodes]` bool. A tensor, array or list. Of an id that comes twice, the last one
            keeps the edges.

    Raises:
        IndexError: if a mask has the wrong length or an id is out of range.
        ValueError: if the number of nodes is not known.
    """
    return _subgraph(data, {None: subset})


def hetero_subgraph(data: Graph, subset_dict: Mapping[str, Any]) -> Graph:
    """The graph of some nodes of some types, all nodes of the others, and all edges among them.

    Args:
        data: a heterogeneous graph.
        subset_dict: by node type, ids or a mask as in `subgraph`.

    Raises:
        KeyError: if there is no such node type.
        IndexError: if a mask has the wrong length or an id is out of range.
    """
    return _subgraph(data, {_known(key, data.node_types): ids for key, ids in subset_dict.items()})


def edge_subgraph(data: Graph, subset: Any) -> Graph:
    """The graph of all nodes and some edges (PyG's `Data.edge_subgraph`).

    Args:
        data: a homogeneous graph.
        subset: `[num_kept]` integer positions of edges, in the order wanted, or `[num_edges]`
            bool. A tensor, array or list.

    Raises:
        IndexError: if a mask has the wrong length or a position is out of range.
        ValueError: if the edges are held in a sparse matrix and so have no positions.
    """
    return _edge_subgraph(data, {None: subset})


def hetero_edge_subgraph(data: Graph, subset_dict: Mapping[Any, Any]) -> Graph:
    """The graph of all nodes, some edges of some types and all edges of the others.

    Args:
        data: a heterogeneous graph.
        subset_dict: by edge type (or an abbreviation of it), positions or a mask as in
            `edge_subgraph`.

    Raises:
        KeyError: if there is no such edge type.
        IndexError: if a mask has the wrong length or a position is out of range.
        ValueError: if the edges are held in a sparse matrix and so have no positions.
    """
    subsets = {_known_edge(data, key): subset for key, subset in subset_dict.items()}
    return _edge_subgraph(data, subsets)


def node_type_subgraph(data: Graph, node_types: Iterable[str]) -> Graph:
    """The graph of the given node types and the edge types among them.

    Raises:
        KeyError: if there is no such node type.
    """
    kept = {_known(node_type, data.node_types) for node_type in node_types}
    out = copy.copy(data)
    for edge_type in data.edge_types:
        if edge_type[0] not in kept or edge_type[-1] not in kept:
            del out[edge_type]
    for node_type in data.node_types:
        if node_type not in kept:
            del out[node_type]
    return out


def edge_type_subgraph(data: Graph, edge_types: Iterable[Any]) -> Graph:
    """The graph of the given edge types (or abbreviations of them) and the node types they join.

    Raises:
        KeyError: if there is no such edge type.
    """
    kept = {_known_edge(data, edge_type) for edge_type in edge_types}
    touched = {node_type for src, _, dst in kept for node_type in (src, dst)}
    out = copy.copy(data)
    for edge_type in data.edge_types:
        if edge_type not in kept:
            del out[edge_type]
    for node_type in data.node_types:
        if node_type not in touched:
            del out[node_type]
    return out


def connected_components(data: Graph) -> list[Graph]:
    """One graph for each connected component; the direction of edges doesn't count.

    As in PyG, components and the nodes in them come in the order in which the edges name them
    (source before target), and nodes without edges come last. Attributes of the graph are in every
    component.

    Args:
        data: a homogeneous or heterogeneous graph.

    Raises:
        ValueError: if the number of nodes of a type is not known, or a node type is missing.
    """
    counts = {store._key: _num_nodes(store) for store in data.node_stores}
    offsets = dict(zip(counts, _offsets(list(counts.values())), strict=True))
    ends = {}
    for store in data.edge_stores:
        shift = [offsets[_known_end(store, key, offsets)] for key in _end_types(store)]
        ends[store._key] = torch.stack(store._ends()).cpu() + torch.tensor(shift).view(2, 1)
    total = sum(counts.values())
    rank, named = _rank_components(torch.cat([torch.empty(2, 0).long(), *ends.values()], 1), total)

    num_components = int(rank.max()) + 1 if total > 0 else 0
    nodes, edges, new_ids = {}, {}, {}
    for node_type, count in counts.items():
        here = slice(offsets[node_type], offsets[node_type] + count)
        order = torch.argsort(named[here])
        order, lengths = _grouped(order, rank[here], num_components)
        nodes[node_type] = order.split(lengths.tolist())
        new_ids[node_type] = torch.empty_like(order)
        starts = (lengths.cumsum(0) - lengths).repeat_interleave(lengths)
        new_ids[node_type][order] = torch.arange(count) - starts
    for edge_type, (src, _) in ends.items():
        order, lengths = _grouped(torch.arange(src.numel()), rank[src], num_components)
        edges[edge_type] = order.split(lengths.tolist())
    return [
        _cut(
            data,
            {key: ids[at] for key, ids in nodes.items()},
            {key: ids[at] for key, ids in edges.items()},
            new_ids,
        )
        for at in range(num_components)
    ]


def hetero_connected_components(data: Graph) -> list[Graph]:
    """`connected_components` of a heterogeneous graph."""
    return connected_components(data)


def as_ids(subset: Any, size: int, what: str) -> Tensor:
    """`[num_kept]` int64. The ids that `subset`, ids or a mask, means.

    Args:
        subset: `[num_kept]` integer ids or `[size]` bool. A tensor, array or list.
        size: how many ids there are.
        what: what the ids stand for, for the error's text.

    Raises:
        TypeError: if `subset` holds neither integers nor bools.
        IndexError: if a mask has the wrong length or an id is out of range.

    >>> as_ids([True, False, True], 3, "nodes").tolist(), as_ids([2, 0], 3, "nodes").tolist()
    ([0, 2], [2, 0])
    """
    ids = torch.as_tensor(subset)
    if ids.dim() != 1:
        raise IndexError(f"the subset of {what} must have one dimension, found {list(ids.shape)}")
    if ids.dtype == torch.bool:
        if ids.numel() != size:
            raise IndexError(f"the mask of {what} must have {size} entries, found {ids.numel()}")
        return ids.nonzero().view(-1)
    if ids.numel() == 0:
        return ids.long()
    if ids.is_floating_point() or ids.is_complex():
        raise TypeError(f"the subset of {what} must hold integers or bools, found {ids.dtype}")
    low, high = int(ids.min()), int(ids.max())
    if low < 0 or high >= size:
        found = low if low < 0 else high
        raise IndexError(f"ids of {what} must lie in [0, {size}), found {found}")
    return ids.long()


def entries(store: NodeStorage | EdgeStorage, key: str, ids: Tensor) -> Any:
    """The entries `ids` of an attribute with one entry a node or edge, be it a sparse matrix."""
    value = store[key]
    if not is_sparse(value):
        return take(store, key, ids)
    by_rows = store._parent().__cat_dim__(key, value, store) == 0
    return _block(value, ids, None) if by_rows else _block(value, None, ids)


def level_of(store: NodeStorage | EdgeStorage, key: str) -> str:
    """'node', 'edge' or 'graph': what attribute `key` has an entry for, sparse matrices included."""
    value = store[key]
    if not is_sparse(value):
        return store._level_of(key)
    dim = store._parent().__cat_dim__(key, value, store)
    level = "edge" if "edge" in key or not isinstance(store, NodeStorage) else "node"
    count = store.num_nodes if level == "node" else store.num_edges
    return level if isinstance(dim, int) and sizes(value)[dim] == count else "graph"


def _subgraph(data: Graph, subsets: Mapping[Any, Any]) -> Graph:
    nodes, new_ids = {}, {}
    for store in data.node_stores:
        count = _num_nodes(store)
        if store._key in subsets:
            nodes[store._key] = as_ids(subsets[store._key], count, _named("nodes", store))
            ids = nodes[store._key]
            new_ids[store._key] = ids.new_full((count,), -1)
            new_ids[store._key][ids] = torch.arange(ids.numel(), device=ids.device)
    edges = {}
    for store in data.edge_stores:
        kept = [
            new_ids[key].to(ids.device)[ids.long()] >= 0
            for ids, key in zip(store._ends(), _end_types(store), strict=True)
            if key in new_ids
        ]
        if kept:
            edges[store._key] = torch.stack(kept).all(dim=0).nonzero().view(-1)
    return _cut(data, nodes, edges, new_ids)


def _edge_subgraph(data: Graph, subsets: Mapping[Any, Any]) -> Graph:
    edges = {}
    for store in data.edge_stores:
        if store._key in subsets:
            held = _adjacencies(store)
            if held and "edge_index" not in store:
                raise ValueError(
                    f"the {_named('edges', store)} are held in '{held[0]}' and have no positions; "
                    "a subset of edges needs 'edge_index'"
                )
            what = _named("edges", store)
            edges[store._key] = as_ids(subsets[store._key], store.num_edges, what)
    return _cut(data, {}, edges, {})


def _cut(
    data: Graph,
    nodes: Mapping[Any, Tensor],
    edges: Mapping[Any, Tensor],
    new_ids: Mapping[Any, Tensor],
) -> Graph:
    """A copy of `data` with nothing but the given nodes and edges of the types that are given.

    Args:
        data: a homogeneous or heterogeneous graph.
        nodes: by node type, `[num_kept]` int64 ids.
        edges: by edge type, `[num_kept]` int64 positions.
        new_ids: by node type, `[num_nodes]` int64. The new id of every node that is kept.
    """
    out = copy.copy(data)
    out.stores[0].__dict__.pop("_slice_dict", None)  # a batch can't be taken apart any more
    for old, new in zip(data.node_stores, out.node_stores, strict=True):
        if old._key in nodes:
            for key in [key for key in old if level_of(old, key) == "node"]:
                new[key] = entries(old, key, nodes[old._key])
            if "num_nodes" in old:
                new["num_nodes"] = nodes[old._key].numel()
            if "batch" in old and "ptr" in old:
                counts = torch.bincount(new["batch"], minlength=old["ptr"].numel() - 1)
                new["ptr"] = torch.cat([counts.new_zeros(1), counts.cumsum(0)])
    for old, new in zip(data.edge_stores, out.edge_stores, strict=True):
        if old._key in edges:
            for key in [key for key in old if level_of(old, key) == "edge"]:
                new[key] = entries(old, key, edges[old._key])
            if "num_edges" in old:
                new["num_edges"] = edges[old._key].numel()
            if "edge_index" in old:
                new["edge_index"] = _renamed(new["edge_index"], _end_types(old), new_ids)
        rows, cols = (nodes.get(end) for end in _end_types(old))
        for key in _adjacencies(old):
            ends = (cols, rows) if key.endswith("_t") else (rows, cols)
            new[key] = _block(old[key], *ends)
    return out


def _renamed(edge_index: Tensor, end_types: tuple[Any, Any], new_ids: Mapping[Any, Tensor]) -> Tensor:
    return torch.stack(
        [
            new_ids[end].to(ids.device)[ids.long()].to(ids.dtype) if end in new_ids else ids
            for end, ids in zip(end_types, edge_index, strict=True)
        ]
    )


def _adjacencies(store: EdgeStorage) -> list[str]:
    """Names of the sparse matrices that hold edges, one row and column a node."""
    parent = store._parent()
    return [
        key
        for key, value in store.items()
        if is_sparse(value) and isinstance(parent.__cat_dim__(key, value, store), tuple)
    ]


def _block(matrix: Any, rows: Tensor | None, cols: Tensor | None) -> Any:
    """The given rows and columns of a sparse matrix (all where `None`), in its layout."""
    out = matrix.to_sparse_coo() if isinstance(matrix, Tensor) else matrix
    for dim, ids in ((0, rows), (1, cols)):
        if ids is not None:
            out = out.index_select(dim, ids.to(matrix.device if isinstance(matrix, Tensor) else matrix.device()))
    return out.to_sparse(layout=matrix.layout) if isinstance(matrix, Tensor) else out


def _rank_components(edge_index: Tensor, num_nodes: int) -> tuple[Tensor, Tensor]:
    """For each node the rank of its component, and when the edges first name the node.

    Each round hangs every component below the smallest-numbered one that an edge leads to, until
    no edge leads out of a component.
    """
    src, dst = edge_index
    label = torch.arange(num_nodes)
    while True:
        ends = torch.cat([label[src], label[dst]])
        lower = torch.minimum(label[src], label[dst]).repeat(2)
        hung = label.scatter_reduce(0, ends, lower, "amin")
        while not torch.equal(hung, hung[hung]):
            hung = hung[hung]
        if torch.equal(hung, label):
            break
        label = hung

    mentions = edge_index.t().flatten()
    named = torch.arange(num_nodes) + mentions.numel()  # nodes that no edge names come last
    named = named.scatter_reduce(0, mentions, torch.arange(mentions.numel()), "amin")
    first = torch.full_like(named, mentions.numel() + num_nodes)
    first = first.scatter_reduce(0, label, named, "amin")
    return torch.unique(first[label], return_inverse=True)[1], named


def _grouped(ids: Tensor, group: Tensor, num_groups: int) -> tuple[Tensor, Tensor]:
    """`ids` ordered by `group[ids]` (stable), and the size of each group."""
    order = ids[torch.argsort(group[ids], stable=True)]
    return order, torch.bincount(group, minlength=num_groups)


def _offsets(counts: list[int]) -> list[int]:
    return list(accumulate(counts, initial=0))[:-1]


def _end_types(store: EdgeStorage) -> tuple[Any, Any]:
    """Source and target type of an edge storage, `None` in a homogeneous graph."""
    return (None, None) if store._key is None else (store._key[0], store._key[-1])


def _known_end(store: EdgeStorage, node_type: Any, known: Iterable[Any]) -> Any:
    if node_type not in known:
        raise ValueError(f"edge type {store._key} needs node type '{node_type}', which is missing")
    return node_type


def _num_nodes(store: NodeStorage) -> int:
    count = store.num_nodes
    if count is None:
        raise ValueError(f"the number of {_named('nodes', store)} is not known: set 'num_nodes'")
    return count


def _named(what: str, store: NodeStorage | EdgeStorage) -> str:
    return what if store._key is None else f"{what} of type {store._key!r}"


def _known(node_type: str, node_types: list[str]) -> str:
    if node_type not in node_types:
        raise KeyError(f"there is no node type {node_type!r}; there are {node_types}")
    return node_type


def _known_edge(data: Any, edge_type: Any) -> tuple[str, str, str]:
    names = edge_type if isinstance(edge_type, tuple) else (edge_type,)
    found = data._to_canonical(*names)
    if found not in data.edge_types:
        raise KeyError(f"there is no edge type {edge_type!r}; there are {data.edge_types}")
    return found
