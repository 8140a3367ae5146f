"""Leave out edges or nodes at random while training."""

import torch
from torch import Tensor

from gnnlab.utils._checks import check_edge_index, check_probability, count_nodes
from gnnlab.utils._subgraph import subgraph


def dropout_edge(
    edge_index: Tensor,
    p: float = 0.5,
    force_undirected: bool = False,
    training: bool = True,
    *,
    generator: torch.Generator | None = None,
) -> tuple[Tensor, Tensor]:
    """Leave out each edge with probability `p`.

    edge_index: [2, num_edges] integers.
    force_undirected: for graphs in which every edge has its reverse: both stay or both go. Decided over the edges with
    row <= column, whose reverses follow after them.
    training: False changes nothing.

    Returns `edge_index` of the edges that stay, and their mask, [num_edges] bool; with `force_undirected` their places
    instead, [edges that stay] int64, where a reverse has the place of the edge that it mirrors. Raises ValueError for
    wrong shapes or dtypes, or a `p` outside of [0, 1]. PyG: `torch_geometric.utils.dropout_edge` (which, with
    `force_undirected`, gives self-loops twice).
    """
    check_edge_index(edge_index)
    check_probability(p, "p")
    row, col = edge_index
    if not training or p == 0.0:
        return edge_index, torch.ones_like(row, dtype=torch.bool)
    stays = _coins(edge_index.size(1), p, row.device, generator)
    if not force_undirected:
        return edge_index[:, stays], stays
    place = (stays & (row <= col)).nonzero().view(-1)
    mirrored = place[row[place] < col[place]]
    kept = torch.cat([edge_index[:, place], edge_index[:, mirrored].flip(0)], dim=1)
    return kept, torch.cat([place, mirrored])


def dropout_node(
    edge_index: Tensor,
    p: float = 0.5,
    num_nodes: int | None = None,
    training: bool = True,
    relabel_nodes: bool = False,
    *,
    generator: torch.Generator | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """Leave out each node, and the edges from and to it, with probability `p`.

    edge_index: [2, num_edges] integers. training: False changes nothing.
    relabel_nodes: number the nodes that stay anew.

    Returns `edge_index` of the edges that stay, their mask, [num_edges] bool, and the mask of the nodes that stay,
    [num_nodes] bool. Raises ValueError for wrong shapes or dtypes, or a `p` outside of [0, 1], IndexError for nodes
    that are not in [0, num_nodes). PyG: `torch_geometric.utils.dropout_node`.
    """
    check_edge_index(edge_index)
    check_probability(p, "p")
    num_nodes = count_nodes(edge_index, num_nodes)
    if not training or p == 0.0:
        mask = torch.ones(num_nodes, dtype=torch.bool, device=edge_index.device)
        return edge_index, torch.ones_like(edge_index[0], dtype=torch.bool), mask
    mask = _coins(num_nodes, p, edge_index.device, generator)
    kept, _, edge_mask = subgraph(mask, edge_index, relabel_nodes=relabel_nodes, return_edge_mask=True)
    return kept, edge_mask, mask


def _coins(n: int, p: float, device: torch.device, generator: torch.Generator | None) -> Tensor:
    """[n] bool, each False with probability `p`."""
    return torch.rand(n, device=device, generator=generator) >= p
