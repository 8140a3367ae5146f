"""Sorting: indices, several keys at once, edges."""

from collections.abc import Sequence
from typing import overload

import numpy as np
import torch
from torch import Tensor

from gnnlab.sparse.pointers import stable_order
from gnnlab.utils._checks import check_edge_index, check_per_edge, count_nodes

# The default of an edge attribute that is not given at all; None means "there is none, but return a pair".
MISSING = "???"

EdgeAttr = Tensor | None | list[Tensor] | tuple[Tensor, ...] | str


def index_sort(inputs: Tensor, max_value: int | None = None, stable: bool = False) -> tuple[Tensor, Tensor]:
    """Sort non-negative integers.

    inputs: [n] integers. max_value: an upper bound on them; torch's sort has no use for it.

    Returns the sorted values and the positions they came from, both [n]. PyG: `torch_geometric.utils.index_sort`.
    """
    values, order = torch.sort(inputs, stable=stable)
    return values, order


def lexsort(keys: Sequence[Tensor], dim: int = -1, descending: bool = False) -> Tensor:
    """The order that sorts by the last key, ties by the one before it, and so on; as `numpy.lexsort`.

    keys: tensors of one shape, at least one. Returns int64 of that shape, the positions along `dim`; entries that tie
    in every key stay in the order given. Raises ValueError for no keys. PyG: `torch_geometric.utils.lexsort`.

    >>> lexsort([torch.tensor([3, 2, 1]), torch.tensor([1, 0, 1])])
    tensor([1, 2, 0])
    """
    if len(keys) == 0:
        raise ValueError("keys: expected at least one, found none")
    order = keys[0].argsort(dim=dim, descending=descending, stable=True)
    for key in keys[1:]:
        step = key.gather(dim, order).argsort(dim=dim, descending=descending, stable=True)
        order = order.gather(dim, step)
    return order


def edge_order(edge_index: Tensor, num_nodes: int, sort_by_row: bool = True) -> Tensor:
    """[num_edges] int64: the stable order by row, then column (or the other way), all nodes below `num_nodes`."""
    row, col = edge_index.long()
    major, minor = (row, col) if sort_by_row else (col, row)
    return stable_order(major, minor, (num_nodes, num_nodes))


def sort_numbers(numbers: Tensor) -> Tensor:
    """[n] int64, sorted: on a CPU by NumPy, which sorts numbers far faster than torch finds their order."""
    if numbers.device.type != "cpu":
        return numbers.sort().values
    return torch.from_numpy(np.sort(numbers.numpy()))


def sort_edges_only(edge_index: Tensor, num_nodes: int, sort_by_row: bool = True) -> Tensor:
    """`edge_index` sorted, where no attribute has to follow."""
    if num_nodes**2 > torch.iinfo(torch.int64).max:
        return edge_index[:, edge_order(edge_index, num_nodes, sort_by_row)]
    row, col = edge_index.long()
    major, minor = (row, col) if sort_by_row else (col, row)
    key = sort_numbers(major * num_nodes + minor)
    major = key // max(num_nodes, 1)
    minor = key - major * num_nodes
    return torch.stack([major, minor] if sort_by_row else [minor, major]).to(edge_index.dtype)


def attrs_of(edge_attr: EdgeAttr, num_edges: int) -> list[Tensor]:
    """The tensors in an `edge_attr` argument, each with one row an edge."""
    if isinstance(edge_attr, Tensor):
        attrs = [edge_attr]
    elif isinstance(edge_attr, list | tuple):
        attrs = list(edge_attr)
    elif edge_attr is None or edge_attr == MISSING:
        attrs = []
    else:
        raise ValueError(f"edge_attr: expected a tensor, a list of them or None, found {edge_attr!r}")
    for i, attr in enumerate(attrs):
        name = "edge_attr" if isinstance(edge_attr, Tensor) else f"edge_attr[{i}]"
        check_per_edge(attr, name, num_edges)
    return attrs


def like_given(edge_index: Tensor, attrs: list[Tensor], edge_attr: EdgeAttr) -> object:
    """What a function of (edge_index, edge_attr) returns: in the form in which `edge_attr` came."""
    if isinstance(edge_attr, Tensor):
        return edge_index, attrs[0]
    if isinstance(edge_attr, list | tuple):
        return edge_index, attrs
    return (edge_index, None) if edge_attr is None else edge_index


@overload
def sort_edge_index(
    edge_index: Tensor, edge_attr: str = MISSING, num_nodes: int | None = None, sort_by_row: bool = True
) -> Tensor: ...
@overload
def sort_edge_index(
    edge_index: Tensor, edge_attr: Tensor, num_nodes: int | None = None, sort_by_row: bool = True
) -> tuple[Tensor, Tensor]: ...
@overload
def sort_edge_index(
    edge_index: Tensor, edge_attr: None, num_nodes: int | None = None, sort_by_row: bool = True
) -> tuple[Tensor, None]: ...
@overload
def sort_edge_index(
    edge_index: Tensor,
    edge_attr: list[Tensor] | tuple[Tensor, ...],
    num_nodes: int | None = None,
    sort_by_row: bool = True,
) -> tuple[Tensor, list[Tensor]]: ...
def sort_edge_index(
    edge_index: Tensor,
    edge_attr: EdgeAttr = MISSING,
    num_nodes: int | None = None,
    sort_by_row: bool = True,
) -> object:
    """Sort edges by row, then by column.

    edge_index: [2, num_edges] integers. edge_attr: one tensor or a list of tensors [num_edges, ...] that follow.
    sort_by_row: False sorts by column, then by row.

    Returns `edge_index`, or the pair of it and `edge_attr` in the form given (None too) where one is given. Edges that
    are equal stay in their order. Raises ValueError for wrong shapes or dtypes, IndexError for nodes that are not in
    [0, num_nodes). PyG: `torch_geometric.utils.sort_edge_index`.
    """
    check_edge_index(edge_index)
    num_nodes = count_nodes(edge_index, num_nodes)
    attrs = attrs_of(edge_attr, edge_index.size(1))
    if not attrs:
        return like_given(sort_edges_only(edge_index, num_nodes, sort_by_row), [], edge_attr)
    order = edge_order(edge_index, num_nodes, sort_by_row)
    return like_given(edge_index[:, order], [attr[order] for attr in attrs], edge_attr)
