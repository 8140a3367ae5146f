"""The part of a graph that some of its nodes span."""

from collections.abc import Sequence
from typing import Literal, overload

import torch
from torch import Tensor

from gnnlab.utils._checks import check_edge_index, check_integer, check_per_edge, check_range
from gnnlab.utils.num_nodes import maybe_num_nodes


@overload
def subgraph(
    subset: Tensor | Sequence[int],
    edge_index: Tensor,
    edge_attr: Tensor | None = None,
    relabel_nodes: bool = False,
    num_nodes: int | None = None,
    *,
    return_edge_mask: Literal[False] = False,
) -> tuple[Tensor, Tensor | None]: ...
@overload
def subgraph(
    subset: Tensor | Sequence[int],
    edge_index: Tensor,
    edge_attr: Tensor | None = None,
    relabel_nodes: bool = False,
    num_nodes: int | None = None,
    *,
    return_edge_mask: Literal[True],
) -> tuple[Tensor, Tensor | None, Tensor]: ...
def subgraph(
    subset: Tensor | Sequence[int],
    edge_index: Tensor,
    edge_attr: Tensor | None = None,
    relabel_nodes: bool = False,
    num_nodes: int | None = None,
    *,
    return_edge_mask: bool = False,
) -> tuple[Tensor, Tensor | None] | tuple[Tensor, Tensor | None, Tensor]:
    """The edges between the nodes of `subset`.

    subset: node numbers, a tensor of integers or a list, or a [num_nodes] mask, a bool tensor or a list of bools.
    edge_index: [2, num_edges] integers. edge_attr: [num_edges, ...].
    relabel_nodes: number the nodes anew, in the order in which `subset` lists them.

    Returns `edge_index` and `edge_attr` of the edges that stay, and with `return_edge_mask` their mask, [num_edges]
    bool. Raises ValueError for wrong shapes or dtypes, IndexError for nodes that are not in [0, num_nodes) or that a
    mask does not know. PyG: `torch_geometric.utils.subgraph` (where a list of bools is read as node numbers).

    >>> subgraph([2, 1], torch.tensor([[0, 1, 2], [1, 2, 0]]), relabel_nodes=True)
    (tensor([[1],
            [0]]), None)
    """
    check_edge_index(edge_index)
    nodes = _as_tensor(subset, edge_index.device)
    size = nodes.numel() if nodes.dtype == torch.bool else maybe_num_nodes(edge_index, num_nodes)
    members = (nodes, nodes)
    return _between(members, edge_index, edge_attr, relabel_nodes, (size, size), return_edge_mask)


@overload
def bipartite_subgraph(
    subset: tuple[Tensor | Sequence[int], Tensor | Sequence[int]],
    edge_index: Tensor,
    edge_attr: Tensor | None = None,
    relabel_nodes: bool = False,
    size: tuple[int, int] | None = None,
    return_edge_mask: Literal[False] = False,
) -> tuple[Tensor, Tensor | None]: ...
@overload
def bipartite_subgraph(
    subset: tuple[Tensor | Sequence[int], Tensor | Sequence[int]],
    edge_index: Tensor,
    edge_attr: Tensor | None = None,
    relabel_nodes: bool = False,
    size: tuple[int, int] | None = None,
    *,
    return_edge_mask: Literal[True],
) -> tuple[Tensor, Tensor | None, Tensor]: ...
def bipartite_subgraph(
    subset: tuple[Tensor | Sequence[int], Tensor | Sequence[int]],
    edge_index: Tensor,
    edge_attr: Tensor | None = None,
    relabel_nodes: bool = False,
    size: tuple[int, int] | None = None,
    return_edge_mask: bool = False,
) -> tuple[Tensor, Tensor | None] | tuple[Tensor, Tensor | None, Tensor]:
    """The edges from the nodes of `subset[0]` to those of `subset[1]`, two sets of nodes that are numbered apart.

    subset: a pair, each as in `subgraph`. size: the numbers of source and of target nodes.

    Otherwise as `subgraph`. PyG: `torch_geometric.utils.bipartite_subgraph`.
    """
    check_edge_index(edge_index)
    sources, targets = (_as_tensor(nodes, edge_index.device) for nodes in subset)
    sizes = [
        nodes.numel()
        if nodes.dtype == torch.bool
        else maybe_num_nodes(edge_index[side], None if size is None else size[side])
        for side, nodes in enumerate((sources, targets))
    ]
    return _between((sources, targets), edge_index, edge_attr, relabel_nodes, sizes, return_edge_mask)


def _as_tensor(subset: Tensor | Sequence[int], device: torch.device) -> Tensor:
    """Node numbers or a mask as a [n] tensor."""
    if not isinstance(subset, Tensor):
        subset = torch.tensor(subset, dtype=None if len(subset) > 0 else torch.long, device=device)
    if subset.dtype != torch.bool:
        check_integer(subset, "subset")
    if subset.dim() != 1:
        raise ValueError(f"subset: expected one dimension, found shape {list(subset.shape)}")
    return subset


def _between(
    members: tuple[Tensor, Tensor],
    edge_index: Tensor,
    edge_attr: Tensor | None,
    relabel_nodes: bool,
    sizes: Sequence[int],
    return_edge_mask: bool,
) -> tuple[Tensor, Tensor | None] | tuple[Tensor, Tensor | None, Tensor]:
    """The edges between two sets of nodes, each given by number or as a mask, of `sizes` nodes that there are."""
    if edge_attr is not None:
        check_per_edge(edge_attr, "edge_attr", edge_index.size(1))
    chosen = []
    for side, nodes, size in zip((0, 1), members, sizes, strict=True):
        check_range(edge_index[side], f"edge_index[{side}]", size)
        if nodes.dtype == torch.bool:
            nodes = nodes.nonzero().view(-1)
        check_range(nodes, "subset", size)
        chosen.append(nodes.long())
    mask = torch.ones(edge_index.size(1), dtype=torch.bool, device=edge_index.device)
    for ends, nodes, size in zip(edge_index.long(), chosen, sizes, strict=True):
        inside = torch.zeros(size, dtype=torch.bool, device=edge_index.device)
        inside[nodes] = True
        mask &= inside[ends]

    kept = edge_index[:, mask]
    if relabel_nodes:
        ends = [_places(chosen[side], sizes[side])[kept[side].long()] for side in (0, 1)]
        kept = torch.stack(ends).to(edge_index.dtype)
    attr = None if edge_attr is None else edge_attr[mask]
    return (kept, attr, mask) if return_edge_mask else (kept, attr)


def _places(nodes: Tensor, size: int) -> Tensor:
    """[size] int64: the place of each node among `nodes`, the last one if it is listed twice."""
    place = torch.zeros(size, dtype=torch.long, device=nodes.device)
    place[nodes] = torch.arange(nodes.numel(), device=nodes.device)
    return place
