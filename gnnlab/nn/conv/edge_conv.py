"""Messages from the difference of both ends."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from gnnlab.nn.conv.message_passing import MessagePassing
from gnnlab.nn.conv.parts import pair_of
from gnnlab.nn.inits import reset
from gnnlab.typing import Adj


class EdgeConv(MessagePassing):
    """x'_i = the greatest of nn(x_i, x_j - x_i). Its messages are no product: an adjacency sends them too.

    nn: maps [num_edges, 2 in_channels] to [num_edges, out_channels]. aggr: how to reduce.

    Source: https://arxiv.org/abs/1801.07829. PyG: `torch_geometric.nn.EdgeConv`.
    """

    def __init__(self, nn: Callable[[Tensor], Tensor], aggr: Any = "max", **kwargs: Any) -> None:
        super().__init__(aggr=aggr, **kwargs)
        self.nn = nn
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the parameters anew."""
        super().reset_parameters()
        reset(self.nn)

    def forward(self, x: Tensor | tuple[Tensor, Tensor], edge_index: Adj) -> Tensor:
        """[num_targets, out_channels].

        x: [num_nodes, in_channels] float, or a pair for sources and targets. edge_index: edges or transposed adjacency,
        whose values are ignored.
        """
        return self.propagate(edge_index, x=pair_of(x))

    def message(self, x_i: Tensor, x_j: Tensor) -> Tensor:
        """[num_edges, out_channels]."""
        return self.nn(torch.cat([x_i, x_j - x_i], dim=-1))

    def __repr__(self) -> str:
        return f"{type(self).__name__}(nn={self.nn})"
