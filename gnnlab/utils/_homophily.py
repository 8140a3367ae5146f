"""How alike neighbours are."""

import torch
from torch import Tensor

from gnnlab.typing import Adj, is_sparse_tensor
from gnnlab.utils._checks import check_edge_index, check_index, check_range
from gnnlab.utils._degree import degree
from gnnlab.utils._scatter import scatter
from gnnlab.utils.num_nodes import maybe_num_nodes
from gnnlab.utils.sparse import is_torch_sparse_tensor, to_edge_index


def homophily(edge_index: Adj, y: Tensor, batch: Tensor | None = None, method: str = "edge") -> float | Tensor:
    """How far nodes with the same label are neighbours, between 0 and 1.

    edge_index: [2, num_edges] integers, or a sparse adjacency matrix. y: [num_nodes] or [num_nodes, 1] integer labels.
    batch: [num_nodes] integers, the graph of each node.
    method: "edge", the share of edges that join equal labels (Zhu et al., 2020); "node", that share among the edges
    into a node, averaged over all nodes (Pei et al., 2020); "edge_insensitive", the mean over classes of how far the
    share among the edges into a class is above the share of the class among all nodes (Lim et al., 2021).

    Returns a number, or [num_graphs] float with `batch`. Without edges, "edge" is nan. Raises ValueError for another
    `method`, wrong shapes or dtypes, or a single class with "edge_insensitive", IndexError for nodes that `y` does not
    know. PyG: `torch_geometric.utils.homophily`.

    >>> homophily(torch.tensor([[0, 1], [1, 2]]), torch.tensor([0, 0, 1]))
    0.5
    """
    if method not in ("edge", "node", "edge_insensitive"):
        raise ValueError(f"method: expected 'edge', 'node' or 'edge_insensitive', found {method!r}")
    if is_sparse_tensor(edge_index) or is_torch_sparse_tensor(edge_index):
        edge_index, _ = to_edge_index(edge_index)
    check_edge_index(edge_index)
    if y.dim() not in (1, 2) or y.numel() != y.size(0):
        raise ValueError(f"y: expected [num_nodes] or [num_nodes, 1] labels, found {list(y.shape)}")
    y = y.view(-1)
    check_range(edge_index, "edge_index", y.numel())
    row, col = edge_index.long()
    alike = (y[row] == y[col]).float()

    if batch is not None:
        check_index(batch, "batch")
    graph = y.new_zeros(y.numel(), dtype=torch.long) if batch is None else batch.long()
    num_graphs = 1 if batch is None else maybe_num_nodes(batch)
    if method == "edge" and batch is None:
        out = alike.mean()
    elif method == "edge":
        out = scatter(alike, graph[col], 0, num_graphs, "mean")
    elif method == "node":
        out = scatter(scatter(alike, col, 0, y.numel(), "mean"), graph, 0, num_graphs, "mean")
    else:
        out = _edge_insensitive(alike, col, y, graph, num_graphs)
    return out if batch is not None else float(out)


def _edge_insensitive(alike: Tensor, col: Tensor, y: Tensor, graph: Tensor, num_graphs: int) -> Tensor:
    check_index(y, "y")
    num_classes = maybe_num_nodes(y)
    if num_classes < 2:
        raise ValueError(f"y: expected two classes or more, found {num_classes}")
    group = graph * num_classes + y  # a class within a graph
    share = scatter(alike, group[col], 0, num_graphs * num_classes, "mean").view(-1, num_classes)
    size = degree(group, num_graphs * num_classes).view(-1, num_classes)
    expected = size / size.sum(dim=1, keepdim=True).clamp(min=1)
    return (share - expected).clamp(min=0).sum(dim=1) / (num_classes - 1)
