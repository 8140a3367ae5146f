"""Normalisation that keeps the distances between a graph's nodes from shrinking layer by layer."""

from torch import Tensor
from torch.nn import Module

from gnnlab.nn.groups import check_features, graph_mean, graphs_of


class PairNorm(Module):
    """Centre each channel over the graph, then scale the nodes so that their mean squared length is `scale`².

    scale: the length to reach. scale_individually: give each node that length, instead of the mean over a graph.
    eps: keeps the divisor from 0.

    It has no parameters. PyG: `torch_geometric.nn.norm.PairNorm`; arXiv:1909.12223.

    >>> import torch
    >>> PairNorm(scale=2.0)(torch.tensor([[1.0], [3.0]])).round()
    tensor([[-2.],
            [ 2.]])
    """

    def __init__(self, scale: float = 1.0, scale_individually: bool = False, eps: float = 1e-5) -> None:
        super().__init__()
        self.scale = scale
        self.scale_individually = scale_individually
        self.eps = eps

    def forward(self, x: Tensor, batch: Tensor | None = None, batch_size: int | None = None) -> Tensor:
        """x: [num_nodes, channels] float. batch: [num_nodes] integers in [0, batch_size), in any order.

        Returns the shape of `x`. Raises ValueError for an `x` or a `batch` of another shape.
        """
        check_features(x)
        graph, num_graphs = graphs_of(x, batch, batch_size)
        centred = x - graph_mean(x, graph, num_graphs)[graph]
        if self.scale_individually:
            return self.scale * centred / (self.eps + centred.norm(dim=-1, keepdim=True))
        squared = centred.square().sum(-1, keepdim=True)
        return self.scale * centred / (self.eps + graph_mean(squared, graph, num_graphs)).sqrt()[graph]

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"
