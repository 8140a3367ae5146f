"""Weisfeiler and Lehman's refinement of continuous features."""

from typing import Any

from torch import Tensor

from gnnlab.nn.conv.parts import pair_of
from gnnlab.nn.conv.products import WeightedConv
from gnnlab.typing import Adj, Size


class WLConvContinuous(WeightedConv):
    """x'_i = (x_i + the mean of x_j, weighted by edge weights where there are any) / 2; no parameters.

    Neighbours of a total weight of 0, such as none, have a mean of 0. Where targets have no features of their own, x'_i
    is the mean itself.

    Source: https://arxiv.org/abs/1906.01277. PyG: `torch_geometric.nn.WLConvContinuous`.
    """

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(aggr="add", **kwargs)

    def forward(
        self,
        x: Tensor | tuple[Tensor, Tensor | None],
        edge_index: Adj,
        edge_weight: Tensor | None = None,
        size: Size = None,
    ) -> Tensor:
        """[num_targets, in_channels].

        x: [num_nodes, in_channels] float, or a pair for sources and targets. edge_index: edges or transposed adjacency,
        whose values are weights. edge_weight: [num_edges], for an edge_index.
        """
        sources, own = pair_of(x)
        ones = (self._ones(sources), None if own is None else self._ones(own))
        total = self.propagate(edge_index, x=ones, edge_weight=edge_weight, size=size)
        out = self.propagate(edge_index, x=(sources, own), edge_weight=edge_weight, size=size)
        out = out * total.masked_fill(total == 0, float("inf")).reciprocal()
        return out if own is None else 0.5 * (own + out)

    def _ones(self, x: Tensor) -> Tensor:
        """[num_nodes, 1]: of which a node receives the total weight of its edges."""
        return x.new_ones(x.size(self.node_dim), 1)
