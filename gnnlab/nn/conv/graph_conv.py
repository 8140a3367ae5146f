"""Two weight matrices: one for the node, one for its neighbours."""

from typing import Any

from torch import Tensor

from gnnlab.nn.conv.parts import channels_of, pair_of
from gnnlab.nn.conv.products import WeightedConv
from gnnlab.nn.dense import Linear
from gnnlab.typing import Adj, Size


class GraphConv(WeightedConv):
    """x'_i = W₁ x_i + W₂ times the weighted neighbours' x_j, reduced.

    in_channels: the size of the input, or a pair for sources and targets; -1: that of the first input. out_channels:
    the size of the output. aggr: how to reduce. bias: whether to add one.

    Source: https://arxiv.org/abs/1810.02244. PyG: `torch_geometric.nn.GraphConv`.
    """

    def __init__(
        self,
        in_channels: int | tuple[int, int],
        out_channels: int,
        aggr: Any = "add",
        bias: bool = True,
        **kwargs: Any,
    ) -> None:
        super().__init__(aggr=aggr, **kwargs)
        self.in_channels, self.out_channels = in_channels, out_channels
        sources, targets = channels_of(in_channels)
        self.lin_rel = Linear(sources, out_channels, bias=bias)
        self.lin_root = Linear(targets, out_channels, bias=False)

    def reset_parameters(self) -> None:
        """Draw the parameters anew."""
        super().reset_parameters()
        self.lin_rel.reset_parameters()
        self.lin_root.reset_parameters()

    def forward(
        self,
        x: Tensor | tuple[Tensor, Tensor | None],
        edge_index: Adj,
        edge_weight: Tensor | None = None,
        size: Size = None,
    ) -> Tensor:
        """[num_targets, out_channels].

        x: [num_nodes, in_channels] float, or a pair for sources and targets. edge_index: edges or transposed adjacency,
        whose values are weights. edge_weight: [num_edges], for an edge_index.
        """
        own = pair_of(x)
        out: Tensor = self.lin_rel(self.propagate(edge_index, x=own, edge_weight=edge_weight, size=size))
        return out if own[1] is None else out + self.lin_root(own[1])
