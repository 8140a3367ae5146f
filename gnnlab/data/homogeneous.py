"""From one type to many and back: homogeneous graphs as heterogeneous ones, and the other way."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from gnnlab import sparse
from gnnlab.data.rules import NODE_COUNT_KEYS
from gnnlab.data.storage import EdgeStorage, GlobalStorage, NodeStorage
from gnnlab.data.subgraphs import entries, level_of
from gnnlab.typing import EdgeType, NodeType

#: Attributes that say how a graph hangs together: they are made anew, not shared out or joined.
STRUCTURE = frozenset({"edge_index", "num_nodes", "num_edges", "ptr", "node_type", "edge_type"})


def to_heterogeneous(
    data: Any,
    node_type: Tensor | None = None,
    edge_type: Tensor | None = None,
    node_type_names: list[NodeType] | None = None,
    edge_type_names: list[EdgeType] | None = None,
) -> Any:
    """The same graph as a `HeteroData` (PyG's `Data.to_heterogeneous`).

    Tensors with one entry a node or an edge are shared out among the types; the nodes and edges of
    a type keep their order. All other attributes become attributes of the graph, but for `ptr`.

    Args:
        data: a homogeneous graph.
        node_type: `[num_nodes]` int64. The type of every node; by default `data.node_type`, else
            all nodes are of type 0.
        edge_type: `[num_edges]` int64. The same for edges.
        node_type_names: the name of each node type; by default those that `to_homogeneous`
            remembered, else the numbers as strings.
        edge_type_names: the name of each edge type; by default those that `to_homogeneous`
            remembered, else the names of the node types around the number as a string.

    Raises:
        ValueError: if a type has no name, `node_type` or `edge_type` has the wrong length, edges of
            one type join nodes of several types or of others than its name says, the number of
            nodes is not known, or edges are held in a sparse matrix.
    """
    from gnnlab.data.hetero_data import HeteroData

    store = data.stores[0]
    _refuse_adjacency(store)
    if store.num_nodes is None:
        raise ValueError("the number of nodes is not known: set 'num_nodes'")
    edge_index = store.get("edge_index", torch.empty(2, 0, dtype=torch.long))
    node_type = _types("node_type", node_type, store, store.num_nodes).to(edge_index.device)
    edge_type = _types("edge_type", edge_type, store, edge_index.size(1)).to(edge_index.device)
    node_names = _names("node_type", node_type, node_type_names, store)
    edge_names = _names("edge_type", edge_type, edge_type_names, store)
    if "edge_index" in store and not edge_names and len(node_names) == 1:
        edge_names = {0: None}  # without any edge, the only type that edges could be of

    keys = [key for key in store if key not in STRUCTURE]
    node_keys = [key for key in keys if _is_column(store, key, "node")]
    edge_keys = [key for key in keys if _is_column(store, key, "edge")]
    out = HeteroData()
    new_ids = torch.empty_like(node_type)
    for number, name in node_names.items():
        ids = (node_type == number).nonzero().view(-1)
        new_ids[ids] = torch.arange(ids.numel(), device=ids.device)
        out[name].update({key: entries(store, key, ids) for key in node_keys})
        if not out[name].can_infer_num_nodes:
            out[name].num_nodes = ids.numel()
    for number, name in edge_names.items():
        ids = (edge_type == number).nonzero().view(-1)
        ends = edge_index[:, ids].long()
        whole_name = _edge_type(number, name, node_type[ends], node_names)
        out[whole_name].edge_index = new_ids[ends].to(edge_index.dtype)
        out[whole_name].update({key: entries(store, key, ids) for key in edge_keys})
    for key in keys:
        if key not in node_keys and key not in edge_keys:
            out[key] = store[key]
    return out


def to_homogeneous(
    data: Any,
    node_attrs: list[str] | None = None,
    edge_attrs: list[str] | None = None,
    add_node_type: bool = True,
    add_edge_type: bool = True,
    dummy_values: bool = True,
) -> Any:
    """The same graph as a `Data` (PyG's `HeteroData.to_homogeneous`).

    The nodes of the first type come first, then those of the second, and so on; edges likewise.
    Tensors with one entry a node or an edge are joined, narrower matrices filled up with zero
    columns. What doesn't fit is left out: other values of types, and tensors that differ in the
    number of dimensions or in a dimension after the second. The names of the types are remembered
    for the way back.

    Args:
        data: a heterogeneous graph.
        node_attrs: names of the node attributes to join; by default all that fit.
        edge_attrs: names of the edge attributes to join; by default all that fit.
        add_node_type: add `node_type`, `[num_nodes]` int64.
        add_edge_type: add `edge_type`, `[num_edges]` int64.
        dummy_values: where a type lacks an attribute, fill in NaN (floats), `False` (bools) or -1;
            otherwise only attributes that every type has are joined.

    Raises:
        KeyError: if a named attribute is found nowhere, or not everywhere without `dummy_values`.
        ValueError: if a named attribute doesn't fit, an attribute of nodes and one of edges or the
            graph have the same name, a node type is missing or has an unknown number of nodes, or
            edges are held in a sparse matrix.
    """
    from gnnlab.data.data import Data

    counts = {store._key: store.num_nodes for store in data.node_stores}
    for store in data.node_stores:
        if counts[store._key] is None:
            raise ValueError(f"the number of nodes of type '{store._key}' is not known")
    for store in data.edge_stores:
        _refuse_adjacency(store)
        missing = [end for end in (store._key[0], store._key[-1]) if end not in counts]
        if missing:
            raise ValueError(f"node type '{missing[0]}' of edge type {store._key} is missing")
    num_nodes = list(counts.values())
    num_edges = [store.num_edges for store in data.edge_stores]

    out = Data(**data.stores[0].to_dict())
    ids = _joined_ids(data, "edge_index")
    if ids is not None:
        out.edge_index = ids
    nodes = _joined(data, data.node_stores, num_nodes, node_attrs, dummy_values)
    edges = _joined(data, data.edge_stores, num_edges, edge_attrs, dummy_values)
    for key, value in [*nodes.items(), *edges.items(), *_joined_labels(data).items()]:
        if key in out:
            raise ValueError(
                f"'{key}' is the name of more than one attribute of nodes, edges and the graph; "
                "name the attributes to join in node_attrs and edge_attrs"
            )
        out[key] = value

    device = next((value.device for _, value in out if isinstance(value, Tensor)), None)
    if add_node_type:
        out.node_type = _repeated(num_nodes, device)
    if add_edge_type and ids is not None:
        out.edge_type = _repeated(num_edges, device)
    if not any(key in NODE_COUNT_KEYS or "node" in key for key in out.keys()):  # noqa: SIM118
        out.num_nodes = sum(num_nodes)
    out._node_type_names, out._edge_type_names = data.node_types, data.edge_types
    return out


def _repeated(counts: list[int], device: torch.device | None) -> Tensor:
    """`[sum(counts)]` int64. Each position in `counts` as often as it says there."""
    times = torch.tensor(counts, dtype=torch.long, device=device)
    return torch.arange(len(counts), device=device).repeat_interleave(times)


def _joined(
    data: Any,
    stores: Sequence[NodeStorage | EdgeStorage],
    counts: list[int],
    wanted: list[str] | None,
    dummy_values: bool,
) -> dict[str, Any]:
    """By name, the attributes of all `stores` joined: those in `wanted`, or all that fit."""
    found = dict.fromkeys(key for store in stores for key in store)
    out = {}
    for key in found if wanted is None else wanted:
        if key in STRUCTURE or (key == "edge_label" and _label_stores(data)):
            continue
        fault = _misfit(stores, key, dummy_values)
        if fault is None:
            out[key] = _joined_column(stores, counts, key)
        elif wanted is not None:
            raise fault
    return out


def _misfit(stores: Sequence[NodeStorage | EdgeStorage], key: str, dummy_values: bool) -> Exception | None:
    """Why attribute `key` of all `stores` can't be joined, or `None`."""
    having = [store for store in stores if key in store]
    lacking = [store._key for store in stores if key not in store]
    if not having or (lacking and not dummy_values):
        return KeyError(f"attribute '{key}' is missing in the types {lacking}")
    for store in having:
        level = "node" if isinstance(store, NodeStorage) else "edge"
        if not _is_column(store, key, level):
            return ValueError(f"'{key}' of type {store._key!r} is no tensor with one entry a {level}")
    values = [store[key] for store in having]
    kinds = {sparse.kind(value) if sparse.is_sparse(value) else "dense" for value in values}
    if len(kinds) > 1 or (kinds != {"dense"} and lacking):
        return ValueError(f"'{key}' is sparse, so all types must have it, and of one kind: found {kinds}")
    shapes = [sparse.sizes(x) if sparse.is_sparse(x) else tuple(x.shape) for x in values]
    may_pad = kinds == {"dense"} and all(len(shape) == 2 for shape in shapes)
    if len({len(shape) if may_pad else shape[1:] for shape in shapes}) > 1:
        return ValueError(f"'{key}' has shapes that can't be joined: {shapes}")
    return None


def _joined_column(stores: Sequence[NodeStorage | EdgeStorage], counts: list[int], key: str) -> Any:
    values = [store[key] for store in stores if key in store]
    if sparse.is_sparse(values[0]):
        return sparse.cat(values, 0)
    shape = list(values[0].shape[1:])
    if len(shape) == 1:
        shape[0] = max(value.size(1) for value in values)
    parts = []
    for store, count in zip(stores, counts, strict=True):
        if key not in store:
            parts.append(values[0].new_full((count, *shape), _dummy(values[0].dtype)))
        elif len(shape) == 1:
            parts.append(torch.nn.functional.pad(store[key], (0, shape[0] - store[key].size(1))))
        else:
            parts.append(store[key])
    return torch.cat(parts)


def _dummy(dtype: torch.dtype) -> float | bool:
    if dtype.is_floating_point:
        return float("nan")
    return False if dtype == torch.bool else -1


def _joined_ids(data: Any, key: str) -> Tensor | None:
    """`[2, *]`. Attribute `key` of all edge types, as ids of the nodes of all types."""
    offsets = data.node_offsets
    parts = [
        store[key] + torch.tensor([[offsets[store._key[0]]], [offsets[store._key[-1]]]]).to(store[key])
        for store in data.edge_stores
        if key in store
    ]
    return torch.cat(parts, dim=1) if parts else None


def _label_stores(data: Any) -> list[EdgeStorage]:
    return [store for store in data.edge_stores if "edge_label_index" in store]


def _joined_labels(data: Any) -> dict[str, Tensor]:
    """`edge_label` and `edge_label_index` of the edge types that have them."""
    ids = _joined_ids(data, "edge_label_index")
    if ids is None:
        return {}
    labels = [store["edge_label"] for store in _label_stores(data) if "edge_label" in store]
    if labels and len(labels) < len(_label_stores(data)):
        raise ValueError("'edge_label' is missing in some of the edge types with 'edge_label_index'")
    return {"edge_label": torch.cat(labels), "edge_label_index": ids} if labels else {"edge_label_index": ids}


def _is_column(store: NodeStorage | EdgeStorage, key: str, level: str) -> bool:
    """Whether attribute `key` is a tensor or sparse matrix with one entry a node (or an edge)."""
    value = store[key]
    return (isinstance(value, Tensor) or sparse.is_sparse(value)) and level_of(store, key) == level


def _types(name: str, given: Tensor | None, store: GlobalStorage, size: int) -> Tensor:
    """`[size]` int64. The type of every node or edge: as given, as stored, or 0."""
    types = store.get(name) if given is None else given
    if types is None:
        return torch.zeros(size, dtype=torch.long)
    if types.dim() != 1 or types.numel() != size:
        raise ValueError(f"'{name}' must be of shape [{size}], found {list(types.shape)}")
    return types.long()


def _names(name: str, types: Tensor, given: Sequence[Any] | None, store: GlobalStorage) -> Any:
    """By number, the name of every type, `None` for an edge type whose name is up to its ends."""
    found = types.unique().tolist()
    names = given if given is not None else store.__dict__.get(f"_{name}_names")
    if names is None:
        return {number: str(number) if name == "node_type" else None for number in found}
    if found and (found[0] < 0 or found[-1] >= len(names)):
        wrong = found[0] if found[0] < 0 else found[-1]
        raise ValueError(f"'{name}' holds {wrong}, but there are {len(names)} names: {names}")
    return dict(enumerate(names))


def _edge_type(number: int, name: EdgeType | None, end_types: Tensor, node_names: dict[int, NodeType]) -> EdgeType:
    """The name of edge type `number`, whose edges join nodes of `end_types`, `[2, *]` int64."""
    found = [(node_names[src], node_names[dst]) for src, dst in end_types.unique(dim=1).t().tolist()]
    if len(found) > 1:
        raise ValueError(
            "Could not construct a 'HeteroData' object from the 'Data' object because single edge "
            f"types span over multiple node types: edge type {number} joins {found}"
        )
    if name is None:
        src, dst = found[0] if found else [*node_names.values()] * 2
        return src, str(number), dst
    if found and (name[0], name[-1]) != found[0]:
        raise ValueError(f"edges of type {name} must not join nodes of the types {found[0]}")
    return name


def _refuse_adjacency(store: EdgeStorage) -> None:
    held = [key for key in ("adj", "adj_t") if sparse.is_sparse(store.get(key))]
    if held and "edge_index" not in store:
        what = "the graph" if store._key is None else f"edge type {store._key}"
        raise ValueError(f"edges of {what} are held in '{held[0]}'; 'edge_index' is needed here")
