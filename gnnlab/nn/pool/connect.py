"""Which edges a pooling layer keeps."""

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import Module

from gnnlab.nn.pool.select import SelectOutput
from gnnlab.utils._checks import check_edge_index, check_per_edge, check_range
from gnnlab.utils.num_nodes import maybe_num_nodes


@dataclass
class ConnectOutput:
    """The edges of a pooled graph.

    edge_index: [2, num_edges] integers. edge_attr: [num_edges, ...], or None.
    batch: [num_nodes] integers, the graph of each pooled node, or None.

    PyG: `torch_geometric.nn.pool.connect.ConnectOutput`.
    """

    edge_index: Tensor
    edge_attr: Tensor | None = None
    batch: Tensor | None = None


def filter_adj(
    edge_index: Tensor,
    edge_attr: Tensor | None,
    node_index: Tensor,
    cluster_index: Tensor | None = None,
    num_nodes: int | None = None,
) -> tuple[Tensor, Tensor | None]:
    """The edges between nodes that are kept, in the order given, under the nodes' new numbers.

    edge_index: [2, num_edges] integers. edge_attr: [num_edges, ...]. node_index: [n] integers, the nodes kept.
    cluster_index: [n] integers, the new number of each, by default its place in `node_index`.
    num_nodes: the number of nodes before, by default one more than the greatest in `edge_index`.

    Returns `edge_index` and `edge_attr` of what stays. Raises ValueError for wrong shapes or dtypes, IndexError for
    nodes outside of [0, num_nodes). PyG: `torch_geometric.nn.pool.connect.filter_edges.filter_adj`.

    >>> filter_adj(torch.tensor([[0, 2, 1], [2, 0, 2]]), None, torch.tensor([2, 0]))
    (tensor([[1, 0],
            [0, 1]]), None)
    """
    check_edge_index(edge_index)
    num_nodes = maybe_num_nodes(edge_index, num_nodes)
    check_range(edge_index, "edge_index", num_nodes)
    if cluster_index is None:
        cluster_index = torch.arange(node_index.numel(), dtype=edge_index.dtype, device=edge_index.device)
    number = cluster_index.new_full((num_nodes,), -1)
    number[node_index] = cluster_index
    moved = number[edge_index.long()]
    stays = (moved >= 0).all(0)
    if edge_attr is not None:
        check_per_edge(edge_attr, "edge_attr", edge_index.size(1))
        edge_attr = edge_attr[stays]
    return moved[:, stays], edge_attr


class FilterEdges(Module):
    """Keep the edges between nodes that are kept. PyG: `torch_geometric.nn.pool.connect.FilterEdges`."""

    def forward(
        self,
        select_output: SelectOutput,
        edge_index: Tensor,
        edge_attr: Tensor | None = None,
        batch: Tensor | None = None,
    ) -> ConnectOutput:
        """As `filter_adj`, and `batch` of the nodes that are kept."""
        edge_index, edge_attr = filter_adj(
            edge_index, edge_attr, select_output.node_index, select_output.cluster_index, select_output.num_nodes
        )
        kept = batch[select_output.node_index] if batch is not None else None
        return ConnectOutput(edge_index, edge_attr, kept)
