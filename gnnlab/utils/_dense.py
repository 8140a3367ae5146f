"""Batches of graphs as dense tensors, one block a graph."""

import torch
from torch import Tensor

from gnnlab.utils._checks import check_edge_index, check_index, check_per_edge, check_range
from gnnlab.utils._scatter import rank_in_group, scatter
from gnnlab.utils.num_nodes import maybe_num_nodes


def to_dense_batch(
    x: Tensor,
    batch: Tensor | None = None,
    fill_value: float | Tensor = 0.0,
    max_num_nodes: int | None = None,
    batch_size: int | None = None,
) -> tuple[Tensor, Tensor]:
    """Node features as one block a graph, padded to the largest graph.

    x: [num_nodes, ...]. batch: [num_nodes] integers, the graph of each node, in any order; one graph by default.
    fill_value: what the padding holds. max_num_nodes: the length of a block, by default that of the largest graph; what
    is over in a graph is cut off. batch_size: the number of graphs, by default one more than the greatest in `batch`.

    Returns [batch_size, max_num_nodes, ...] and the mask of what is no padding, [batch_size, max_num_nodes] bool.
    Raises ValueError for a `batch` that does not fit `x`, IndexError for graphs outside of [0, batch_size).
    PyG: `torch_geometric.utils.to_dense_batch`.
    """
    graph, place, batch_size, largest = _places(batch, x.size(0), batch_size, x.device)
    length = largest if max_num_nodes is None else max_num_nodes
    fill = fill_value.to(x) if isinstance(fill_value, Tensor) else x.new_tensor(fill_value)
    out = fill.expand(batch_size, length, *x.shape[1:]).clone()
    mask = torch.zeros(batch_size, length, dtype=torch.bool, device=x.device)
    if length < largest:
        fits = place < length
        graph, place, x = graph[fits], place[fits], x[fits]
    out[graph, place] = x
    mask[graph, place] = True
    return out, mask


def to_dense_adj(
    edge_index: Tensor,
    batch: Tensor | None = None,
    edge_attr: Tensor | None = None,
    max_num_nodes: int | None = None,
    batch_size: int | None = None,
) -> Tensor:
    """Edges as one dense adjacency matrix a graph.

    edge_index: [2, num_edges] integers. batch: [num_nodes] integers, the graph of each node, in any order; one graph by
    default. edge_attr: [num_edges, ...] the entries, by default 1.0; those of equal edges are added up.
    max_num_nodes: the side of a matrix, by default the size of the largest graph; edges of nodes over it are left out.
    batch_size: the number of graphs, by default one more than the greatest in `batch`.

    Returns [batch_size, max_num_nodes, max_num_nodes, ...]. Raises ValueError for wrong shapes or an edge between two
    graphs, IndexError for nodes that `batch` does not know. PyG: `torch_geometric.utils.to_dense_adj`.

    >>> to_dense_adj(torch.tensor([[0, 1], [1, 0]]))
    tensor([[[0., 1.],
             [1., 0.]]])
    """
    check_edge_index(edge_index)
    num_nodes = maybe_num_nodes(edge_index) if batch is None else batch.numel()
    check_range(edge_index, "edge_index", num_nodes)
    graph, place, batch_size, largest = _places(batch, num_nodes, batch_size, edge_index.device)
    length = largest if max_num_nodes is None else max_num_nodes
    if edge_attr is None:
        edge_attr = torch.ones(edge_index.size(1), device=edge_index.device)
    check_per_edge(edge_attr, "edge_attr", edge_index.size(1))

    source, target = edge_index.long()
    check_within_graphs(graph[source], graph[target])
    row, col = place[source], place[target]
    at = (graph[source] * length + row) * length + col
    if length < largest:
        fits = (row < length) & (col < length)
        at, edge_attr = at[fits], edge_attr[fits]
    flat = scatter(edge_attr, at, 0, batch_size * length * length)
    return flat.view(batch_size, length, length, *edge_attr.shape[1:])


def check_within_graphs(source_graph: Tensor, target_graph: Tensor) -> None:
    """Refuse edges that lead from one graph to another."""
    if not torch.equal(source_graph, target_graph):
        raise ValueError("edge_index: expected edges within a graph, found some between two of them")


def _places(
    batch: Tensor | None, num_nodes: int, batch_size: int | None, device: torch.device
) -> tuple[Tensor, Tensor, int, int]:
    """Graph and place in it of each node, both [num_nodes] int64; the number of graphs; the size of the largest."""
    if batch is None:
        graph = torch.zeros(num_nodes, dtype=torch.long, device=device)
        return graph, torch.arange(num_nodes, device=device), batch_size or 1, num_nodes
    check_index(batch, "batch")
    if batch.numel() != num_nodes:
        raise ValueError(f"batch: expected one entry for each of {num_nodes} nodes, found {batch.numel()}")
    batch_size = maybe_num_nodes(batch, batch_size)
    check_range(batch, "batch", batch_size)
    graph = batch.long()
    place = rank_in_group(graph)
    return graph, place, batch_size, int(place.max()) + 1 if num_nodes > 0 else 0
