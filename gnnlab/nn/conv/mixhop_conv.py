"""Several numbers of steps side by side."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn import Identity, ModuleList

from gnnlab.nn.conv.normalized import NormalizedConv
from gnnlab.nn.conv.parts import bias_of
from gnnlab.nn.dense import Linear
from gnnlab.nn.inits import reset, zeros
from gnnlab.typing import Adj


class MixHopConv(NormalizedConv):
    """x' = W_p Âᵖ x for each power p, one beside the other, + b, with the normalised adjacency Â.

    in_channels: the size of the input, or -1: that of the first. out_channels: the size of each part of the output.
    powers: the powers p, by default 0, 1 and 2. add_self_loops: before normalising. bias: whether to add b.

    Raises ValueError for no powers or negative ones. Source: https://arxiv.org/abs/1905.00067.
    PyG: `torch_geometric.nn.MixHopConv`.
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        powers: Sequence[int] | None = None,
        add_self_loops: bool = True,
        bias: bool = True,
        **kwargs: Any,
    ) -> None:
        super().__init__(add_self_loops=add_self_loops, **kwargs)
        self.powers = [0, 1, 2] if powers is None else list(powers)
        if not self.powers or min(self.powers) < 0:
            raise ValueError(f"powers: expected at least one, none negative, found {self.powers}")
        self.in_channels, self.out_channels = in_channels, out_channels
        self.lins = ModuleList(
            Linear(in_channels, out_channels, bias=False) if power in self.powers else Identity()
            for power in range(max(self.powers) + 1)
        )
        self.bias = bias_of(len(self.powers) * out_channels, bias)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the parameters anew."""
        super().reset_parameters()
        reset(self.lins)
        zeros(self.bias)

    def forward(self, x: Tensor, edge_index: Adj, edge_weight: Tensor | None = None) -> Tensor:
        """[num_nodes, number of powers times out_channels], in rising powers.

        x: [num_nodes, in_channels] float. edge_index: edges or transposed adjacency, whose values are weights.
        edge_weight: [num_edges], for an edge_index.
        """
        edge_index, edge_weight = self._edges(x, edge_index, edge_weight)
        outs = []
        for power, lin in enumerate(self.lins):
            if power > 0:
                x = self.propagate(edge_index, x=x, edge_weight=edge_weight)
            if power in self.powers:
                outs.append(lin(x))
        out = torch.cat(outs, dim=-1)
        return out if self.bias is None else out + self.bias

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.in_channels}, {self.out_channels}, powers={self.powers})"
