"""Normalisation of each channel over a graph, less a learnable share of its mean."""

import torch
from torch import Tensor
from torch.nn import Module, Parameter

from gnnlab.nn.groups import check_features, graph_mean, graphs_of


class GraphNorm(Module):
    """Take a learnable share of its mean over the graph off each channel, then scale it over the graph.

    in_channels: the number of channels. eps: added to the variance.

    `mean_scale` is the share, 1 at first; `weight` and `bias` scale and shift each channel.
    PyG: `torch_geometric.nn.norm.GraphNorm`; arXiv:2009.03294.

    >>> GraphNorm(1)(torch.tensor([[1.0], [3.0], [5.0]]), torch.tensor([0, 0, 1])).detach().round()
    tensor([[-1.],
            [ 1.],
            [ 0.]])
    """

    def __init__(self, in_channels: int, eps: float = 1e-5, device: torch.device | None = None) -> None:
        super().__init__()
        self.in_channels = in_channels
        self.eps = eps
        self.weight = Parameter(torch.ones(in_channels, device=device))
        self.bias = Parameter(torch.zeros(in_channels, device=device))
        self.mean_scale = Parameter(torch.ones(in_channels, device=device))

    def reset_parameters(self) -> None:
        """Set scale and share of the mean to 1, the shift to 0."""
        torch.nn.init.ones_(self.weight)
        torch.nn.init.zeros_(self.bias)
        torch.nn.init.ones_(self.mean_scale)

    def forward(self, x: Tensor, batch: Tensor | None = None, batch_size: int | None = None) -> Tensor:
        """x: [num_nodes, in_channels] float. batch: [num_nodes] integers in [0, batch_size), in any order.

        Returns the shape of `x`. Raises ValueError for an `x` or a `batch` of another shape.
        """
        check_features(x, self.in_channels)
        graph, num_graphs = graphs_of(x, batch, batch_size)
        out = x - (graph_mean(x, graph, num_graphs) * self.mean_scale)[graph]
        variance = graph_mean(out.square(), graph, num_graphs)
        return self.weight * out / (variance + self.eps).sqrt()[graph] + self.bias

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.in_channels})"
