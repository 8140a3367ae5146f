"""One row for each graph, out of the rows of its nodes."""

from collections.abc import Callable

import torch
from torch import Tensor

from gnnlab.utils import scatter

_WHOLE: dict[str, Callable[..., Tensor]] = {"sum": torch.sum, "mean": torch.mean, "max": torch.amax}


def global_add_pool(x: Tensor, batch: Tensor | None, size: int | None = None) -> Tensor:
    """The sum over the nodes of each graph.

    x: [num_nodes, channels] or [..., num_nodes, channels] numbers.
    batch: [num_nodes] integers, the graph of each node, in any order; with None all nodes are of one graph.
    size: the number of graphs, by default one more than the greatest in `batch`.

    Returns [size, channels]; a graph without nodes holds 0. Raises ValueError for a `batch` that does not fit `x`,
    IndexError for graphs outside of [0, size). PyG: `torch_geometric.nn.global_add_pool`.

    >>> global_add_pool(torch.tensor([[1.0], [2.0], [4.0]]), torch.tensor([0, 1, 0]))
    tensor([[5.],
            [2.]])
    """
    return _pool(x, batch, size, "sum")


def global_mean_pool(x: Tensor, batch: Tensor | None, size: int | None = None) -> Tensor:
    """The mean over the nodes of each graph; arguments and result as of `global_add_pool`.

    PyG: `torch_geometric.nn.global_mean_pool`.
    """
    return _pool(x, batch, size, "mean")


def global_max_pool(x: Tensor, batch: Tensor | None, size: int | None = None) -> Tensor:
    """The greatest value over the nodes of each graph, channel by channel; nodes that tie share the gradient evenly.

    Arguments and result as of `global_add_pool`. PyG: `torch_geometric.nn.global_max_pool`.
    """
    return _pool(x, batch, size, "max")


def _pool(x: Tensor, batch: Tensor | None, size: int | None, reduce: str) -> Tensor:
    dim = -1 if x.dim() == 1 else -2
    if batch is not None:
        return scatter(x, batch, dim, size, reduce)
    whole = _WHOLE[reduce] if x.size(dim) > 0 else torch.sum
    return whole(x, dim=dim, keepdim=x.dim() <= 2)
