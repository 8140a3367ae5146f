"""Normalisation of each channel over a graph."""

import torch
from torch import Tensor
from torch.nn import InstanceNorm1d

from gnnlab.nn.groups import check_features, graph_mean, graphs_of
from gnnlab.utils import degree


class InstanceNorm(InstanceNorm1d):
    """Centre and scale each channel over the nodes of each graph.

    in_channels: the number of channels. eps: added to the variance.
    momentum: the weight of a batch in the running statistics. affine: learn a scale and a shift for each channel.
    track_running_stats: keep the mean over graphs of their statistics, which stand in for a graph's own in evaluation.

    A graph of one node comes out as 0, with `batch` or without. PyG: `torch_geometric.nn.norm.InstanceNorm` (which
    refuses one node without `batch`); arXiv:1607.08022.

    >>> InstanceNorm(1)(torch.tensor([[1.0], [3.0], [5.0]]), torch.tensor([0, 0, 1])).round()
    tensor([[-1.],
            [ 1.],
            [ 0.]])
    """

    momentum: float

    def __init__(
        self,
        in_channels: int,
        eps: float = 1e-5,
        momentum: float = 0.1,
        affine: bool = False,
        track_running_stats: bool = False,
        device: torch.device | None = None,
    ) -> None:
        super().__init__(in_channels, eps, momentum, affine, track_running_stats, device)

    def forward(self, x: Tensor, batch: Tensor | None = None, batch_size: int | None = None) -> Tensor:
        """x: [num_nodes, in_channels] float. batch: [num_nodes] integers in [0, batch_size), in any order.

        Returns the shape of `x`. Raises ValueError for an `x` or a `batch` of another shape.
        """
        check_features(x, self.num_features)
        if self.training or self.running_mean is None or self.running_var is None:
            graph, num_graphs = graphs_of(x, batch, batch_size)
            mean = graph_mean(x, graph, num_graphs)
            out = x - mean[graph]
            variance = graph_mean(out.square(), graph, num_graphs)
            self._track(mean, variance, degree(graph, num_graphs, x.dtype))
            out = out / (variance + self.eps).sqrt()[graph]
        else:
            out = (x - self.running_mean) / (self.running_var + self.eps).sqrt()
        return out * self.weight + self.bias if self.affine else out

    @torch.no_grad()
    def _track(self, mean: Tensor, variance: Tensor, num_nodes: Tensor) -> None:
        """Move the running statistics towards the mean over graphs of theirs, the variance unbiased."""
        if self.running_mean is None or self.running_var is None or not num_nodes.any():
            return
        unbiased = variance * (num_nodes / (num_nodes - 1).clamp(min=1)).unsqueeze(-1)
        self.running_mean.lerp_(mean.mean(0), self.momentum)
        self.running_var.lerp_(unbiased.mean(0), self.momentum)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.num_features})"
