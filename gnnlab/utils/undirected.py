"""Graphs in which every edge has its reverse."""

from typing import overload

import torch
from torch import Tensor

from gnnlab.utils._checks import check_edge_index, count_nodes
from gnnlab.utils._coalesce import coalesce
from gnnlab.utils._sort import MISSING, EdgeAttr, attrs_of, like_given, sort_edge_index


def is_undirected(
    edge_index: Tensor,
    edge_attr: Tensor | list[Tensor] | None = None,
    num_nodes: int | None = None,
) -> bool:
    """Whether every edge has its reverse, as many times and with equal attributes.

    edge_index: [2, num_edges] integers. edge_attr: a tensor [num_edges, ...] or a list of them.

    Equal edges are compared in the order given. Raises ValueError for wrong shapes or dtypes, IndexError for nodes that
    are not in [0, num_nodes). PyG: `torch_geometric.utils.is_undirected`.
    """
    check_edge_index(edge_index)
    num_nodes = count_nodes(edge_index, num_nodes)
    attrs = attrs_of(edge_attr, edge_index.size(1))
    there, attrs_there = sort_edge_index(edge_index, attrs, num_nodes, sort_by_row=True)
    back, attrs_back = sort_edge_index(edge_index, attrs, num_nodes, sort_by_row=False)
    return (
        torch.equal(there[0], back[1])
        and torch.equal(there[1], back[0])
        and all(torch.equal(a, b) for a, b in zip(attrs_there, attrs_back, strict=True))
    )


@overload
def to_undirected(
    edge_index: Tensor, edge_attr: str = MISSING, num_nodes: int | None = None, reduce: str = "add"
) -> Tensor: ...
@overload
def to_undirected(
    edge_index: Tensor, edge_attr: Tensor, num_nodes: int | None = None, reduce: str = "add"
) -> tuple[Tensor, Tensor]: ...
@overload
def to_undirected(
    edge_index: Tensor, edge_attr: None, num_nodes: int | None = None, reduce: str = "add"
) -> tuple[Tensor, None]: ...
@overload
def to_undirected(
    edge_index: Tensor,
    edge_attr: list[Tensor] | tuple[Tensor, ...],
    num_nodes: int | None = None,
    reduce: str = "add",
) -> tuple[Tensor, list[Tensor]]: ...
def to_undirected(
    edge_index: Tensor,
    edge_attr: EdgeAttr = MISSING,
    num_nodes: int | None = None,
    reduce: str = "add",
) -> object:
    """Add the reverse of every edge, sort, and merge equal edges.

    edge_index: [2, num_edges] integers. edge_attr: a tensor [num_edges, ...] or a list of them.
    reduce: how the attributes of equal edges merge, as in `scatter`. An edge whose reverse is there too is merged with
    it, and a self-loop with its own copy, so "add" doubles them.

    Returns `edge_index`, or the pair of it and `edge_attr` in the form given (None too) where one is given. Raises
    ValueError for wrong shapes or dtypes, IndexError for nodes that are not in [0, num_nodes).
    PyG: `torch_geometric.utils.to_undirected`.

    >>> to_undirected(torch.tensor([[0, 1], [1, 2]]))
    tensor([[0, 1, 1, 2],
            [1, 0, 2, 1]])
    """
    check_edge_index(edge_index)
    attrs = [torch.cat([attr, attr]) for attr in attrs_of(edge_attr, edge_index.size(1))]
    both = torch.cat([edge_index, edge_index.flip(0)], dim=1)
    both, attrs = coalesce(both, attrs, num_nodes, reduce)
    return like_given(both, attrs, edge_attr)
