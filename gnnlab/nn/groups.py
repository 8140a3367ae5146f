"""Which graph of a batch each node is of, and means over the nodes of a graph."""

import torch
from torch import Tensor

from gnnlab.utils import scatter
from gnnlab.utils._checks import check_index
from gnnlab.utils.num_nodes import maybe_num_nodes


def graphs_of(x: Tensor, batch: Tensor | None, batch_size: int | None) -> tuple[Tensor, int]:
    """The graph of each node, [num_nodes] int64, and the number of graphs; without `batch` all nodes are of one.

    x: [num_nodes, channels] float. batch: [num_nodes] integers in [0, batch_size), in any order.

    Raises ValueError for a `batch` that does not fit `x`.
    """
    if batch is None:
        return torch.zeros(x.size(0), dtype=torch.long, device=x.device), 1
    check_index(batch, "batch")
    if batch.numel() != x.size(0):
        raise ValueError(f"batch: expected one entry for each of {x.size(0)} nodes, found {batch.numel()}")
    return batch.long(), maybe_num_nodes(batch, batch_size)


def graph_mean(x: Tensor, graph: Tensor, num_graphs: int) -> Tensor:
    """The mean over the nodes of each graph: [num_graphs, channels], of an empty graph 0."""
    return scatter(x, graph, 0, num_graphs, "mean")


def check_features(x: Tensor, channels: int | None = None) -> None:
    """Refuse what is not [num_nodes, channels]."""
    if x.dim() != 2 or channels not in (None, x.size(1)):
        wanted = "channels" if channels is None else channels
        raise ValueError(f"x: expected shape [num_nodes, {wanted}], found {list(x.shape)}")
