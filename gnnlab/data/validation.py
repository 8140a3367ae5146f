"""Finding out whether a graph is sound."""

import warnings
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from gnnlab.data.rules import EDGE_COUNT_KEYS, NODE_COUNT_KEYS
from gnnlab.data.storage import EdgeStorage, NodeStorage
from gnnlab.sparse import is_sparse

#: Attributes that hold node ids, and how many rows each has.
ID_ROWS = {"edge_index": 2, "edge_label_index": 2, "face": 3}


def validate(data: Any, raise_on_error: bool = True) -> bool:
    """Whether a graph is sound (PyG's `Data.validate` and `HeteroData.validate`, and more).

    The number of nodes must be known; `edge_index`, `edge_label_index` and `face` must be integer
    tensors of 2, 2 and 3 rows with ids of nodes that exist; `adj` and `adj_t` must have the size
    of the graph; `x` and the like must have one entry a node, `edge_attr` and the like one an edge;
    the node types of every edge type must exist. A node type without edges is worth a warning.

    Args:
        data: a `Data` or `HeteroData`.
        raise_on_error: raise at the first fault; otherwise warn of each of them.

    Raises:
        ValueError: if the graph has a fault and `raise_on_error` is set.
    """
    sound = True
    for fault in _faults(data):
        sound = False
        if raise_on_error:
            raise ValueError(fault)
        warnings.warn(fault, stacklevel=3)
    if hasattr(type(data), "edge_types"):
        ends = {end for edge_type in data.edge_types for end in (edge_type[0], edge_type[-1])}
        lone = [node_type for node_type in data.node_types if node_type not in ends]
        if lone and data.edge_types:
            warnings.warn(f"the node types {lone} have no edges of any type", stacklevel=3)
    return sound


def _faults(data: Any) -> Iterator[str]:
    counts: dict[Any, int | None] = {}
    for store in data.node_stores:
        where = _where(data, store)
        counts[store._key] = store.num_nodes
        if counts[store._key] is None:
            yield f"'num_nodes' is undefined in {where}"
            continue
        if store.num_nodes < 0:
            yield f"'num_nodes' must not be negative in {where}, found {store.num_nodes}"
            continue
        named = {key for key in NODE_COUNT_KEYS if key in store} | _declared(data, store, "node")
        yield from _wrong_lengths(store, named, counts[store._key], "num_nodes", where)

    for store in data.edge_stores:
        where = _where(data, store)
        ends = (None, None) if store._key is None else (store._key[0], store._key[-1])
        for end in dict.fromkeys(ends):
            if end not in counts:
                yield f"node type '{end}' of {where} is missing"
        sizes = tuple(counts.get(end) for end in ends)
        for key, rows in ID_ROWS.items():
            if key in store:
                yield from _wrong_ids(store, key, rows, ends, sizes, where)
        yield from _wrong_adjacency(store, sizes, where)
        named = {key for key in EDGE_COUNT_KEYS if key in store} | _declared(data, store, "edge")
        num_edges = store.num_edges
        yield from _wrong_lengths(store, named - {"edge_index"}, num_edges, "num_edges", where)


def _wrong_ids(
    store: EdgeStorage,
    key: str,
    rows: int,
    ends: tuple[Any, Any],
    sizes: tuple[int | None, ...],
    where: str,
) -> Iterator[str]:
    ids = store[key]
    if not isinstance(ids, Tensor):
        yield f"'{key}' must be a tensor in {where}, found {type(ids).__name__}"
        return
    if ids.is_floating_point() or ids.is_complex() or ids.dtype == torch.bool:
        yield f"'{key}' must hold integers in {where}, found {ids.dtype}"
        return
    if ids.dim() != 2 or ids.size(0) != rows:
        yield f"'{key}' must be of shape [{rows}, *] in {where}, found {list(ids.shape)}"
        return
    if ids.size(1) == 0:
        return
    if rows == 2 and ends[0] != ends[1]:
        parts = [(f"sources of '{key}'", ids[0], sizes[0]), (f"targets of '{key}'", ids[1], sizes[1])]
    else:
        parts = [(f"ids in '{key}'", ids, sizes[0])]
    for what, part, size in parts:
        low, high = int(part.min()), int(part.max())
        if size is not None and (low < 0 or high >= size):
            found = low if low < 0 else high
            yield f"the {what} must lie in [0, {size}) in {where}, found {found}"


def _wrong_adjacency(store: EdgeStorage, sizes: tuple[int | None, ...], where: str) -> Iterator[str]:
    for key, expected in (("adj", sizes), ("adj_t", sizes[::-1])):
        matrix: Any = store.get(key)
        if is_sparse(matrix) and None not in sizes:
            found = (matrix.size(0), matrix.size(1))
            if found != expected:
                yield f"'{key}' must be of size {list(expected)} in {where}, found {list(found)}"


def _wrong_lengths(
    store: NodeStorage | EdgeStorage, keys: set[str], size: int | None, what: str, where: str
) -> Iterator[str]:
    for key in [key for key in store if key in keys]:
        value = store[key]
        if isinstance(value, (list, tuple)):
            found: int | None = len(value)
        elif hasattr(value, "ndim"):
            found = store._size_of(key, value)
        else:
            found = None
        if found != size:
            yield f"'{key}' must have {what}={size} entries in {where}, found {_length(value, found)}"


def _length(value: Any, found: int | None) -> str:
    return f"a {type(value).__name__} that has none" if found is None else str(found)


def _declared(data: Any, store: NodeStorage | EdgeStorage, level: str) -> set[str]:
    return {key for key, rule in data.rules.items() if rule.level == level and key in store}


def _where(data: Any, store: NodeStorage | EdgeStorage) -> str:
    name = f"'{type(data).__name__}'"
    if store._key is None:
        return name
    kind = "edge" if isinstance(store._key, tuple) else "node"
    return f"{kind} type {store._key!r} of {name}"
