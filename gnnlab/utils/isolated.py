"""Nodes without an edge to another node."""

import torch
from torch import Tensor

from gnnlab.utils._checks import check_edge_index, check_per_edge, count_nodes


def _connected(edge_index: Tensor, num_nodes: int) -> Tensor:
    """[num_nodes] bool: which nodes have an edge to or from another node."""
    connected = torch.zeros(num_nodes, dtype=torch.bool, device=edge_index.device)
    connected[edge_index[:, edge_index[0] != edge_index[1]].reshape(-1).long()] = True
    return connected


def contains_isolated_nodes(edge_index: Tensor, num_nodes: int | None = None) -> bool:
    """Whether any node has no edge to or from another node; self-loops do not count.

    edge_index: [2, num_edges] integers. num_nodes: by default one more than the greatest node.

    Raises ValueError for wrong shapes or dtypes, IndexError for nodes that are not in [0, num_nodes).
    PyG: `torch_geometric.utils.contains_isolated_nodes`.
    """
    check_edge_index(edge_index)
    return not bool(_connected(edge_index, count_nodes(edge_index, num_nodes)).all())


def remove_isolated_nodes(
    edge_index: Tensor, edge_attr: Tensor | None = None, num_nodes: int | None = None
) -> tuple[Tensor, Tensor | None, Tensor]:
    """Drop the nodes that have no edge to or from another node, with their self-loops, and number the others anew.

    edge_index: [2, num_edges] integers. edge_attr: [num_edges, ...].

    Returns `edge_index` and `edge_attr` of what stays, self-loops last, and the mask of the nodes that stay,
    [num_nodes] bool. Raises ValueError for wrong shapes or dtypes, IndexError for nodes that are not in [0, num_nodes).
    PyG: `torch_geometric.utils.remove_isolated_nodes`.

    >>> remove_isolated_nodes(torch.tensor([[0, 2, 1], [2, 0, 1]]))
    (tensor([[0, 1],
            [1, 0]]), None, tensor([ True, False,  True]))
    """
    check_edge_index(edge_index)
    num_nodes = count_nodes(edge_index, num_nodes)
    mask = _connected(edge_index, num_nodes)
    loop = edge_index[0] == edge_index[1]
    stays = loop & mask[edge_index[0].long()]
    order = torch.cat([(~loop).nonzero().view(-1), stays.nonzero().view(-1)])
    if edge_attr is not None:
        check_per_edge(edge_attr, "edge_attr", edge_index.size(1))
        edge_attr = edge_attr[order]
    number = (mask.cumsum(0) - 1).to(edge_index.dtype)
    return number[edge_index[:, order].long()], edge_attr, mask
