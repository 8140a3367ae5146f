"""Sort edges and merge those that are there more than once."""

from typing import overload

import torch
from torch import Tensor

from gnnlab.utils._checks import check_edge_index, count_nodes
from gnnlab.utils._scatter import scatter
from gnnlab.utils._sort import (
    MISSING,
    EdgeAttr,
    attrs_of,
    edge_order,
    like_given,
    sort_edges_only,
)


@overload
def coalesce(
    edge_index: Tensor,
    edge_attr: str = MISSING,
    num_nodes: int | None = None,
    reduce: str = "sum",
    is_sorted: bool = False,
    sort_by_row: bool = True,
) -> Tensor: ...
@overload
def coalesce(
    edge_index: Tensor,
    edge_attr: Tensor,
    num_nodes: int | None = None,
    reduce: str = "sum",
    is_sorted: bool = False,
    sort_by_row: bool = True,
) -> tuple[Tensor, Tensor]: ...
@overload
def coalesce(
    edge_index: Tensor,
    edge_attr: None,
    num_nodes: int | None = None,
    reduce: str = "sum",
    is_sorted: bool = False,
    sort_by_row: bool = True,
) -> tuple[Tensor, None]: ...
@overload
def coalesce(
    edge_index: Tensor,
    edge_attr: list[Tensor] | tuple[Tensor, ...],
    num_nodes: int | None = None,
    reduce: str = "sum",
    is_sorted: bool = False,
    sort_by_row: bool = True,
) -> tuple[Tensor, list[Tensor]]: ...
def coalesce(
    edge_index: Tensor,
    edge_attr: EdgeAttr = MISSING,
    num_nodes: int | None = None,
    reduce: str = "sum",
    is_sorted: bool = False,
    sort_by_row: bool = True,
) -> object:
    """Sort edges by row, then column, and merge equal ones.

    edge_index: [2, num_edges] integers. edge_attr: one tensor or a list of tensors [num_edges, ...] to merge.
    reduce: how attributes of equal edges merge, as in `scatter`.
    is_sorted: True promises that the edges are sorted already. sort_by_row: False sorts by column, then row.

    Returns `edge_index`, or the pair of it and `edge_attr` in the form given (None too) where one is given. Raises
    ValueError for wrong shapes or dtypes, IndexError for nodes that are not in [0, num_nodes).
    PyG: `torch_geometric.utils.coalesce`.

    >>> coalesce(torch.tensor([[1, 0, 1], [2, 1, 2]]), torch.tensor([1.0, 2.0, 3.0]))
    (tensor([[0, 1],
            [1, 2]]), tensor([2., 4.]))
    """
    check_edge_index(edge_index)
    num_nodes = count_nodes(edge_index, num_nodes)
    attrs = attrs_of(edge_attr, edge_index.size(1))
    if not is_sorted and attrs:
        order = edge_order(edge_index, num_nodes, sort_by_row)
        edge_index, attrs = edge_index[:, order], [attr[order] for attr in attrs]
    elif not is_sorted:
        edge_index = sort_edges_only(edge_index, num_nodes, sort_by_row)

    # The first of each run of equal edges.
    first = torch.ones(edge_index.size(1), dtype=torch.bool, device=edge_index.device)
    first[1:] = (edge_index[:, 1:] != edge_index[:, :-1]).any(dim=0)
    if first.all():
        return like_given(edge_index, attrs, edge_attr)
    run = first.cumsum(0) - 1
    attrs = [scatter(attr, run, 0, None, reduce) for attr in attrs]
    return like_given(edge_index[:, first], attrs, edge_attr)
