"""Layer normalisation, over a node's channels or over a whole graph."""

import torch
from torch import Tensor
from torch.nn import Module, Parameter

from gnnlab.nn.groups import check_features, graph_mean, graphs_of


class LayerNorm(Module):
    """Centre and scale all entries of a graph together, or those of each node.

    in_channels: the number of channels. eps: keeps the divisor from 0.
    affine: learn a scale and a shift for each channel.
    mode: "graph" takes mean and variance over all nodes and channels of a graph, "node" over the channels of a node.

    Without `batch`, "graph" divides by std + eps, with it by sqrt(var + eps), as PyG does. Raises ValueError for
    another `mode`. PyG: `torch_geometric.nn.norm.LayerNorm`; arXiv:1607.06450.

    >>> LayerNorm(1)(torch.tensor([[1.0], [3.0], [5.0], [5.0]]), torch.tensor([0, 0, 1, 1])).detach().round()
    tensor([[-1.],
            [ 1.],
            [ 0.],
            [ 0.]])
    """

    def __init__(
        self,
        in_channels: int,
        eps: float = 1e-5,
        affine: bool = True,
        mode: str = "graph",
        device: torch.device | None = None,
    ) -> None:
        super().__init__()
        if mode not in ("graph", "node"):
            raise ValueError(f"mode: expected 'graph' or 'node', found {mode!r}")
        self.in_channels = in_channels
        self.eps = eps
        self.affine = affine
        self.mode = mode
        self.weight = Parameter(torch.ones(in_channels, device=device)) if affine else None
        self.bias = Parameter(torch.zeros(in_channels, device=device)) if affine else None

    def reset_parameters(self) -> None:
        """Set the scale to 1 and the shift to 0."""
        if self.weight is not None and self.bias is not None:
            torch.nn.init.ones_(self.weight)
            torch.nn.init.zeros_(self.bias)

    def forward(self, x: Tensor, batch: Tensor | None = None, batch_size: int | None = None) -> Tensor:
        """x: [num_nodes, in_channels] float. batch: [num_nodes] integers in [0, batch_size), in any order.

        Returns the shape of `x`. Raises ValueError for an `x` or a `batch` of another shape.
        """
        check_features(x, self.in_channels)
        if self.mode == "node":
            return torch.nn.functional.layer_norm(x, (self.in_channels,), self.weight, self.bias, self.eps)
        out = _over_all(x, self.eps) if batch is None else _over_graphs(x, batch, batch_size, self.eps)
        return out if self.weight is None or self.bias is None else out * self.weight + self.bias

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.in_channels}, affine={self.affine}, mode={self.mode})"


def _over_all(x: Tensor, eps: float) -> Tensor:
    if x.numel() == 0:
        return x
    centred = x - x.mean()
    return centred / (centred.std(correction=0) + eps)


def _over_graphs(x: Tensor, batch: Tensor, batch_size: int | None, eps: float) -> Tensor:
    graph, num_graphs = graphs_of(x, batch, batch_size)
    centred = x - graph_mean(x, graph, num_graphs).mean(-1, keepdim=True)[graph]
    variance = graph_mean(centred.square(), graph, num_graphs).mean(-1, keepdim=True)
    return centred / (variance + eps).sqrt()[graph]
