"""Graph convolution."""

from typing import Any

from torch import Tensor

from gnnlab.nn.conv.normalized import NormalizedConv
from gnnlab.nn.conv.parts import bias_of
from gnnlab.nn.dense import Linear
from gnnlab.nn.inits import zeros
from gnnlab.typing import Adj
from gnnlab.utils.gcn_norm import gcn_norm

__all__ = ["GCNConv", "gcn_norm"]


class GCNConv(NormalizedConv):
    """x'_i = Wᵀ sum over j of x_j / sqrt(degree(j) degree(i)) + b, each node among its own neighbours.

    in_channels: the size of the input, or -1: that of the first. out_channels: the size of the output.
    improved: weigh self-loops 2 instead of 1. cached: keep the normalised edges of the first call (for one graph only).
    add_self_loops: by default as `normalize`. normalize: scale by degrees. bias: whether to add b.

    Raises ValueError for self-loops without normalisation. Source: https://arxiv.org/abs/1609.02907.
    PyG: `torch_geometric.nn.GCNConv`.
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        improved: bool = False,
        cached: bool = False,
        add_self_loops: bool | None = None,
        normalize: bool = True,
        bias: bool = True,
        **kwargs: Any,
    ) -> None:
        if add_self_loops and not normalize:
            raise ValueError("add_self_loops: expected False without normalize, found True")
        loops = normalize if add_self_loops is None else add_self_loops
        super().__init__(normalize=normalize, improved=improved, add_self_loops=loops, cached=cached, **kwargs)
        self.in_channels, self.out_channels = in_channels, out_channels
        self.lin = Linear(in_channels, out_channels, bias=False, weight_initializer="glorot")
        self.bias = bias_of(out_channels, bias)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the parameters anew, and forget the kept edges."""
        super().reset_parameters()
        self.lin.reset_parameters()
        zeros(self.bias)

    def forward(self, x: Tensor, edge_index: Adj, edge_weight: Tensor | None = None) -> Tensor:
        """[num_nodes, out_channels].

        x: [num_nodes, in_channels] float. edge_index: edges or transposed adjacency, whose values are weights.
        edge_weight: [num_edges], for an edge_index.
        """
        edge_index, edge_weight = self._edges(x, edge_index, edge_weight)
        out = self.propagate(edge_index, x=self.lin(x), edge_weight=edge_weight)
        return out if self.bias is None else out + self.bias
