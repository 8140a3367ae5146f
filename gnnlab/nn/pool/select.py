"""Which nodes a pooling layer keeps."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.nn import Module, Parameter

from gnnlab.nn.groups import check_features, graphs_of
from gnnlab.nn.inits import uniform
from gnnlab.nn.resolver import activation_resolver
from gnnlab.utils import degree, lexsort, scatter, softmax
from gnnlab.utils._checks import check_index


@dataclass
class SelectOutput:
    """Which node goes to which node of the pooled graph.

    node_index: [n] int64, nodes of the graph. cluster_index: [n] int64, the node of the pooled graph that each goes to.
    num_nodes, num_clusters: the number of nodes before and after. weight: [n] float, the share of each, or None for 1.

    Raises ValueError for tensors of other shapes. PyG: `torch_geometric.nn.pool.select.SelectOutput`.
    """

    node_index: Tensor
    num_nodes: int
    cluster_index: Tensor
    num_clusters: int
    weight: Tensor | None = None

    def __post_init__(self) -> None:
        check_index(self.node_index, "node_index")
        for name, tensor in (("cluster_index", self.cluster_index), ("weight", self.weight)):
            if tensor is not None and tensor.shape != self.node_index.shape:
                expected, found = list(self.node_index.shape), list(tensor.shape)
                raise ValueError(f"{name}: expected shape {expected}, as node_index has, found {found}")


def topk(
    x: Tensor,
    ratio: float | int | None,
    batch: Tensor,
    min_score: float | None = None,
    tol: float = 1e-7,
) -> Tensor:
    """The nodes of the highest scores in each graph.

    x: [num_nodes] float, the scores. batch: [num_nodes] integers, the graph of each node, in any order.
    ratio: a float from 0 to 1 is the share of a graph's nodes to keep, rounded up, an int the number of them.
    min_score: keep all above it instead, but of every graph at least those within `tol` of its best.

    Returns [n] int64: nodes graph by graph, in each by falling score and then as they stand; with `min_score` all as
    they stand. Raises ValueError if neither is given or `ratio` is out of range.
    PyG: `torch_geometric.nn.pool.select.topk.topk`, which takes 1.0 for a count of one node.

    >>> topk(torch.tensor([0.1, 0.9, 0.5, 0.2]), 0.5, torch.tensor([0, 1, 0, 1]))
    tensor([2, 1])
    """
    score, graph = x.view(-1), batch.long()
    if min_score is not None:
        best = scatter(score, graph, reduce="max")[graph] - tol
        return (score > best.clamp(max=min_score)).nonzero().view(-1)
    ratio = check_ratio(ratio)
    num_nodes = degree(graph, dtype=torch.long)
    keep = num_nodes.clamp(max=ratio) if isinstance(ratio, int) else (ratio * num_nodes.to(x.dtype)).ceil().long()
    order = lexsort([-score, graph])
    graph = graph[order]
    start = num_nodes.cumsum(0) - num_nodes
    rank = torch.arange(graph.numel(), device=graph.device) - start[graph]
    return order[rank < keep[graph]]


def check_ratio(ratio: float | int | None) -> float | int:
    """`ratio` itself, unless it is neither a share nor a count."""
    if ratio is None:
        raise ValueError("ratio: expected `ratio` or `min_score`, found neither")
    if isinstance(ratio, bool) or ratio < 0 or (isinstance(ratio, float) and ratio > 1):
        raise ValueError(f"ratio: expected a float from 0 to 1 or an int from 0, found {ratio}")
    return ratio


class SelectTopK(Module):
    """Score each node by a learnt direction, and keep the best of each graph.

    in_channels: the number of channels. ratio, min_score: as in `topk`.
    act: what the projection goes through, a name or a function; with `min_score` a softmax over the graph instead.

    `weight` is the direction, [1, in_channels]. Raises ValueError as `topk` does.
    PyG: `torch_geometric.nn.pool.select.SelectTopK`; arXiv:1905.05178.
    """

    def __init__(
        self,
        in_channels: int,
        ratio: int | float = 0.5,
        min_score: float | None = None,
        act: str | Callable[..., Any] = "tanh",
    ) -> None:
        super().__init__()
        if min_score is None:
            check_ratio(ratio)
        self.in_channels = in_channels
        self.ratio = ratio
        self.min_score = min_score
        self.act = activation_resolver(act)
        self.weight = Parameter(torch.empty(1, in_channels))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the direction anew."""
        uniform(self.in_channels, self.weight)

    def forward(self, x: Tensor, batch: Tensor | None = None) -> SelectOutput:
        """x: [num_nodes, in_channels] float. batch: [num_nodes] integers, the graph of each node; one graph by default.

        Returns the nodes kept, each a node of its own, their scores as weights. Raises ValueError for other shapes.
        """
        x = x.view(-1, 1) if x.dim() == 1 else x
        check_features(x, self.in_channels)
        graph, num_graphs = graphs_of(x, batch, None)
        score = (x * self.weight).sum(-1)
        if self.min_score is None:
            score = self.act(score / self.weight.norm())
        else:
            score = softmax(score, graph, num_nodes=num_graphs)
        kept = topk(score, self.ratio, graph, self.min_score)
        cluster = torch.arange(kept.numel(), device=x.device)
        return SelectOutput(kept, x.size(0), cluster, kept.numel(), score[kept])

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.in_channels}, {describe_ratio(self.ratio, self.min_score)})"


def describe_ratio(ratio: float | int, min_score: float | None) -> str:
    """How a pooling layer shows what it keeps."""
    return f"ratio={ratio}" if min_score is None else f"min_score={min_score}"
