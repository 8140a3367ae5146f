"""Graph convolution for deep models: a part of the first features in every layer."""

from math import log
from typing import Any

import torch
from torch import Tensor
from torch.nn import Parameter

from gnnlab.nn.conv.normalized import NormalizedConv
from gnnlab.nn.inits import glorot
from gnnlab.typing import Adj


class GCN2Conv(NormalizedConv):
    """x' = ((1 - alpha) Â x + alpha x⁽⁰⁾)((1 - beta) I + beta W), with the normalised adjacency Â.

    channels: the size of input and output. alpha: the share of the first features. theta, layer: beta is
    log(theta / layer + 1), or 1 where they are not given. shared_weights: one W for both parts, or one each.
    cached, add_self_loops, normalize: as in `GCNConv`.

    Raises ValueError for `theta` without `layer`. Source: https://arxiv.org/abs/2007.02133.
    PyG: `torch_geometric.nn.GCN2Conv`.
    """

    def __init__(
        self,
        channels: int,
        alpha: float,
        theta: float | None = None,
        layer: int | None = None,
        shared_weights: bool = True,
        cached: bool = False,
        add_self_loops: bool = True,
        normalize: bool = True,
        **kwargs: Any,
    ) -> None:
        super().__init__(normalize=normalize, add_self_loops=add_self_loops, cached=cached, **kwargs)
        if (theta is None) != (layer is None):
            raise ValueError(f"theta: expected it with layer, or neither, found theta={theta}, layer={layer}")
        self.channels, self.alpha = channels, alpha
        self.beta = 1.0 if theta is None or layer is None else log(theta / layer + 1)
        self.weight1 = Parameter(torch.empty(channels, channels))
        self.weight2 = None if shared_weights else Parameter(torch.empty(channels, channels))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the parameters anew."""
        super().reset_parameters()
        glorot(self.weight1)
        glorot(self.weight2)

    def forward(self, x: Tensor, x_0: Tensor, edge_index: Adj, edge_weight: Tensor | None = None) -> Tensor:
        """[num_nodes, channels].

        x, x_0: [num_nodes, channels] float, the layer's input and the first features; of more first features than
        nodes the first are taken. edge_index: edges or transposed adjacency, whose values are weights. edge_weight:
        [num_edges], for an edge_index.
        """
        edge_index, edge_weight = self._edges(x, edge_index, edge_weight)
        x = (1 - self.alpha) * self.propagate(edge_index, x=x, edge_weight=edge_weight)
        start = self.alpha * x_0[: x.size(0)]
        if self.weight2 is None:
            return self._mixed(x + start, self.weight1)
        return self._mixed(x, self.weight1) + self._mixed(start, self.weight2)

    def _mixed(self, x: Tensor, weight: Tensor) -> Tensor:
        return torch.addmm(x, x, weight, beta=1 - self.beta, alpha=self.beta)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.channels}, alpha={self.alpha}, beta={self.beta})"
