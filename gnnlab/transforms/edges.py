"""What transforms ask of the edges of a graph, and how they refuse what they can't do."""

from typing import Any, TypeGuard

import torch
from torch import Tensor

from gnnlab.data.storage import EdgeStorage, take
from gnnlab.sparse import is_sparse


def stores_to_change(data: Any, transform: object) -> list[EdgeStorage]:
    """The storages with an `edge_index`, for a transform that changes edges.

    Raises ValueError where `ToSparseTensor` has put the edges into an adjacency, which would stay as it was.
    """
    name = type(transform).__name__
    for store in data.edge_stores:
        for key in adjacencies(store):
            raise ValueError(
                f"{name} changes 'edge_index', but {_edges_of(store)} are held in {key!r} as well or only there: "
                f"put {name} before ToSparseTensor"
            )
    return stores_with_edges(data)


def stores_with_edges(data: Any) -> list[EdgeStorage]:
    """The storages with an `edge_index`, for a transform that moves edges.

    A batch then can't be taken apart into its graphs any more: where each one's edges lie is not known.
    """
    found = [store for store in data.edge_stores if "edge_index" in store]
    if found:
        data.stores[0].__dict__.pop("_slice_dict", None)
    return found


def edge_index_of(data: Any, transform: object) -> Tensor:
    """[2, num_edges]: the `edge_index` of a homogeneous graph, for a transform that reads it.

    Raises ValueError for a heterogeneous graph, or where there is none.
    """
    name, store = type(transform).__name__, homogeneous_store(data, transform)
    if "edge_index" not in store:
        held = adjacencies(store)
        why = (
            f"but its edges are held in {held[0]!r} only: put {name} before ToSparseTensor, "
            "or keep them with ToSparseTensor(remove_edge_index=False)"
            if held
            else "found none"
        )
        raise ValueError(f"{name} expects a graph with 'edge_index', {why}")
    return store.edge_index


def homogeneous_store(data: Any, transform: object) -> Any:
    """The one storage of a homogeneous graph; ValueError for a heterogeneous one."""
    if len(data.stores) != 1:
        raise ValueError(f"{type(transform).__name__} expects a homogeneous graph, found {type(data).__name__}")
    return data.stores[0]


def adjacencies(store: EdgeStorage) -> list[str]:
    """Which of 'adj_t' and 'adj' hold the edges of `store`."""
    return [key for key in ("adj_t", "adj") if is_sparse(store.get(key))]


def is_dense(value: Any) -> TypeGuard[Tensor]:
    """Whether `value` is a tensor in torch's usual layout."""
    return isinstance(value, Tensor) and value.layout == torch.strided


def edge_keys(store: EdgeStorage) -> list[str]:
    """Names of the attributes, beside `edge_index`, with one entry an edge.

    `edge_label*` are left out: they belong to `edge_label_index`. What is no tensor [num_edges, ...] counts only if its
    name holds 'edge': a list may have as many entries as there are edges by accident, node ids as many columns.
    """

    def is_of_edges(key: str) -> bool:
        return "edge" in key or (is_dense(store[key]) and store._cat_dim(key, store[key]) == 0)

    others = [key for key in store.edge_attrs() if key != "edge_index" and not key.startswith("edge_label")]
    return [key for key in others if is_of_edges(key)]


def edge_tensors(store: EdgeStorage, transform: object) -> dict[str, Tensor]:
    """The attributes of `edge_keys`, each a [num_edges, ...] tensor, for a transform that makes new entries.

    Raises ValueError for another kind of value, of which no new entries can be made.
    """
    found = {key: store[key] for key in edge_keys(store)}
    for key, value in found.items():
        if not is_dense(value) or store._cat_dim(key, value) != 0:
            raise ValueError(
                f"{type(transform).__name__} expects edge attributes to be tensors [num_edges, ...], found {key!r}, "
                f"{_described(value)}: remove it first"
            )
    return found


def take_edges(store: EdgeStorage, index: Tensor) -> None:
    """Cut the edges down to `index` (positions or a mask), all their attributes along."""
    for key in [*edge_keys(store), "edge_index"]:
        store[key] = take(store, key, index)
    recount(store)


def recount(store: EdgeStorage) -> None:
    """Have a `num_edges` that was set say how many edges there are now."""
    if "num_edges" in store:
        store["num_edges"] = store.edge_index.size(1)


def append_columns(data: Any, columns: Tensor, cat: bool = True) -> None:
    """Put [num_nodes, n] `columns` behind those of `x`, or in its place without `cat`, in the storage `data`.

    Raises ValueError if `x` has more than two dimensions.
    """
    x = data.get("x") if cat else None
    if x is not None:
        x = x.view(-1, 1) if x.dim() == 1 else x
        if not is_dense(x) or x.dim() != 2:
            raise ValueError(f"x: expected a dense [num_nodes, num_features] to add columns to, found {_described(x)}")
        columns = torch.cat([x, columns.to(x.device)], dim=-1)
    data.x = columns


def _edges_of(store: EdgeStorage) -> str:
    return "its edges" if store._key is None else f"the edges of type {store._key}"


def _described(value: Any) -> str:
    if isinstance(value, Tensor) or is_sparse(value):
        return f"of shape {list(value.shape if isinstance(value, Tensor) else value.sizes())}"
    return f"a {type(value).__name__}"
