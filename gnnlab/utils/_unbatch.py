"""Batches back into one tensor a graph."""

import torch
from torch import Tensor

from gnnlab.utils._checks import check_edge_index, check_index, check_range
from gnnlab.utils._degree import degree
from gnnlab.utils._dense import check_within_graphs
from gnnlab.utils._scatter import rank_in_group
from gnnlab.utils.num_nodes import maybe_num_nodes


def unbatch(src: Tensor, batch: Tensor, dim: int = 0, batch_size: int | None = None) -> list[Tensor]:
    """One tensor for each graph.

    src: [..., num_nodes, ...] with the nodes along `dim`. batch: [num_nodes] integers, the graph of each node; where
    they are sorted, as in a `Batch`, the result is views.
    batch_size: the number of graphs, by default one more than the greatest in `batch`.

    Returns `batch_size` tensors. Raises ValueError for a `batch` that does not fit `src`, IndexError for graphs outside
    of [0, batch_size). PyG: `torch_geometric.utils.unbatch`.
    """
    check_index(batch, "batch")
    if batch.numel() != src.size(dim):
        raise ValueError(
            f"batch: expected one entry for each of {src.size(dim)} along dim {dim} of src, found {batch.numel()}"
        )
    sizes = degree(batch, batch_size, dtype=torch.long)
    if bool((batch[1:] < batch[:-1]).any()):
        src = src.index_select(dim, batch.argsort(stable=True))
    return list(src.split(sizes.tolist(), dim))


def unbatch_edge_index(edge_index: Tensor, batch: Tensor, batch_size: int | None = None) -> list[Tensor]:
    """The edges of each graph, with its nodes numbered from 0.

    edge_index: [2, num_edges] integers. batch: [num_nodes] integers, the graph of each node.
    batch_size: the number of graphs, by default one more than the greatest in `batch`.

    Returns `batch_size` tensors [2, num_edges of the graph]: a graph without edges has one too. Raises ValueError for
    an edge between two graphs, IndexError for nodes that `batch` does not know.
    PyG: `torch_geometric.utils.unbatch_edge_index`, which leaves out the last graphs if they have no edges.
    """
    check_edge_index(edge_index)
    check_index(batch, "batch")
    check_range(edge_index, "edge_index", batch.numel())
    graph = batch.long()
    source, target = edge_index.long()
    check_within_graphs(graph[source], graph[target])
    local = rank_in_group(graph).to(edge_index.dtype)[edge_index.long()]
    return unbatch(local, graph[source], 1, maybe_num_nodes(batch, batch_size))
