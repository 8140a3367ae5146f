"""Putting the attributes of two graphs one after the other."""

import copy
from typing import Any, TypeVar

import torch
from torch import Tensor

#: A `Data`, `HeteroData` or `TemporalData`.
Graph = TypeVar("Graph", bound=Any)


def concat(data: Graph, other: Graph) -> Graph:
    """A copy of `data` in which every attribute is followed by that of `other`.

    Nothing is shifted: the node ids of `other` mean the nodes of `data`. (To put graphs side by
    side, use `Batch.from_data_list`.)

    Args:
        data: a graph.
        other: a graph with the same types and the same attributes.

    Raises:
        AttributeError: if the types or the attributes are not the same.
        NotImplementedError: if an attribute is neither a tensor nor a list.
        ValueError: if two tensors don't fit together.
    """
    out = copy.copy(data)
    theirs = {store._key: store for store in other.stores}
    ours = {store._key for store in data.stores}
    if type(data.stores[0]) is not type(other.stores[0]) or ours != set(theirs):
        raise AttributeError(
            f"graphs to concatenate must have the same types, found {_types(ours)} and {_types(set(theirs))}"
        )
    for store in out.stores:
        where = "" if store._key is None else f" of type {store._key!r}"
        if set(store) != set(theirs[store._key]):
            raise AttributeError(
                f"graphs to concatenate must have the same attributes{where}, "
                f"found {sorted(store)} and {sorted(theirs[store._key])}"
            )
        for key, value in list(store.items()):
            dim = data.__cat_dim__(key, value, store)
            store[key] = _joined(f"'{key}'{where}", value, theirs[store._key][key], dim)
    return out


def _joined(name: str, value: Any, other: Any, dim: Any) -> Any:
    if isinstance(value, Tensor) and isinstance(other, Tensor) and isinstance(dim, int):
        sizes = [list(x.shape) for x in (value, other)]
        for size in sizes:
            if size:
                size[dim] = 0
        if not sizes[0] or sizes[0] != sizes[1]:
            found = f"{list(value.shape)} and {list(other.shape)}"
            raise ValueError(f"{name} can't be joined along dimension {dim}: found shapes {found}")
        return torch.cat([value, other], dim)
    if isinstance(value, list) and isinstance(other, list):
        return value + other
    found = " and ".join(dict.fromkeys(type(x).__name__ for x in (value, other)))
    raise NotImplementedError(f"{name} can't be concatenated: it is {found}, not a tensor or list")


def _types(keys: set[Any]) -> list[Any]:
    return sorted(keys - {None}, key=str)
