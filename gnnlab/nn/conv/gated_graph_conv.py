"""Rounds of messages that a gated recurrent unit takes in."""

from typing import Any

import torch
from torch import Tensor
from torch.nn import GRUCell, Parameter, functional

from gnnlab.nn.conv.products import WeightedConv
from gnnlab.nn.inits import uniform
from gnnlab.typing import Adj


class GatedGraphConv(WeightedConv):
    """h ← GRU(messages of h W_l, h) for each layer l, from x with zeros behind it.

    out_channels: the size of the output, at least that of the input. num_layers: the number of rounds. aggr: how to
    reduce. bias: whether the unit has one.

    Source: https://arxiv.org/abs/1511.05493. PyG: `torch_geometric.nn.GatedGraphConv`.
    """

    def __init__(self, out_channels: int, num_layers: int, aggr: Any = "add", bias: bool = True, **kwargs: Any) -> None:
        super().__init__(aggr=aggr, **kwargs)
        self.out_channels, self.num_layers = out_channels, num_layers
        self.weight = Parameter(torch.empty(num_layers, out_channels, out_channels))
        self.rnn = GRUCell(out_channels, out_channels, bias=bias)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the parameters anew."""
        super().reset_parameters()
        uniform(self.out_channels, self.weight)
        self.rnn.reset_parameters()

    def forward(self, x: Tensor, edge_index: Adj, edge_weight: Tensor | None = None) -> Tensor:
        """[num_nodes, out_channels].

        x: [num_nodes, in_channels] float. edge_index: edges or transposed adjacency, whose values are weights.
        edge_weight: [num_edges], for an edge_index. Raises ValueError for more input than output.
        """
        missing = self.out_channels - x.size(-1)
        if missing < 0:
            raise ValueError(f"x: expected at most {self.out_channels} features, as out_channels, found {x.size(-1)}")
        x = functional.pad(x, (0, missing))
        for weight in self.weight:
            x = self.rnn(self.propagate(edge_index, x=x @ weight, edge_weight=edge_weight), x)
        return x

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.out_channels}, num_layers={self.num_layers})"
