"""The graph Laplacian."""

import torch
from torch import Tensor

from gnnlab.utils._checks import check_edge_index, check_per_edge, count_nodes
from gnnlab.utils._scatter import scatter
from gnnlab.utils.loop import add_self_loops


def get_laplacian(
    edge_index: Tensor,
    edge_weight: Tensor | None = None,
    normalization: str | None = None,
    dtype: torch.dtype | None = None,
    num_nodes: int | None = None,
) -> tuple[Tensor, Tensor]:
    """The Laplacian of a graph as weighted edges; A is its adjacency matrix without self-loops, D the sums of A's rows.

    edge_index: [2, num_edges] integers. edge_weight: [num_edges], by default 1 of `dtype` (by default float32).
    normalization: None for D - A, "sym" for I - D^(-1/2) A D^(-1/2), "rw" for I - D^(-1) A.

    Returns `edge_index` with one self-loop for each node at the end, [2, num_edges + num_nodes], and its entries.
    Raises ValueError for wrong shapes, dtypes or `normalization`, IndexError for nodes that are not in [0, num_nodes).
    PyG: `torch_geometric.utils.get_laplacian`.
    """
    if normalization not in (None, "sym", "rw"):
        raise ValueError(f"normalization: expected None, 'sym' or 'rw', found {normalization!r}")
    check_edge_index(edge_index)
    num_nodes = count_nodes(edge_index, num_nodes)
    if edge_weight is None:
        edge_weight = torch.ones(edge_index.size(1), dtype=dtype, device=edge_index.device)
    check_per_edge(edge_weight, "edge_weight", edge_index.size(1))
    between_two = edge_index[0] != edge_index[1]
    edge_index, edge_weight = edge_index[:, between_two], edge_weight[between_two]
    row, col = edge_index.long()
    diagonal = scatter(edge_weight, row, 0, num_nodes)
    if normalization is not None:
        power = -0.5 if normalization == "sym" else -1.0
        scale = diagonal.pow(power)
        scale = scale.masked_fill(scale.isinf(), 0.0)
        edge_weight = scale.index_select(0, row) * edge_weight
        if normalization == "sym":
            edge_weight = edge_weight * scale.index_select(0, col)
        diagonal = torch.ones_like(diagonal)
    edge_index, _ = add_self_loops(edge_index, num_nodes=num_nodes)
    return edge_index, torch.cat([-edge_weight, diagonal])
