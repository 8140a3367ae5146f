"""Layers whose messages are neighbours' features: over an adjacency they multiply by it."""

from torch import Tensor

from gnnlab.nn.conv.message_passing import MessagePassing
from gnnlab.nn.conv.parts import pair_of, spmm_pattern
from gnnlab.typing import Adj
from gnnlab.utils import spmm


class WeightedConv(MessagePassing):
    """Messages are neighbours' features times edge weights, where there are any: an adjacency's values."""

    def message(self, x_j: Tensor, edge_weight: Tensor | None) -> Tensor:
        """[num_edges, channels]."""
        return x_j if edge_weight is None else edge_weight.view(-1, 1) * x_j

    def message_and_aggregate(self, adj_t: Adj, x: Tensor | tuple[Tensor, Tensor | None]) -> Tensor:
        """[num_targets, channels]."""
        return spmm(adj_t, pair_of(x)[0], str(self.aggr))


class UnweightedConv(MessagePassing):
    """Messages are neighbours' features as they are; an adjacency's values are ignored."""

    def message_and_aggregate(self, adj_t: Adj, x: Tensor | tuple[Tensor, Tensor | None]) -> Tensor:
        """[num_targets, channels]."""
        return spmm_pattern(adj_t, pair_of(x)[0], str(self.aggr))
