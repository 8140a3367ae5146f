"""Neighbours' features, scaled by degrees and nothing else."""

from typing import Any

from torch import Tensor

from gnnlab.nn.conv.normalized import NormalizedConv
from gnnlab.typing import Adj


class LGConv(NormalizedConv):
    """x'_i = the sum of x_j / sqrt(degree(j) degree(i)), without self-loops of its own; no parameters.

    normalize: scale by degrees. Source: https://arxiv.org/abs/2002.02126. PyG: `torch_geometric.nn.LGConv`.
    """

    def __init__(self, normalize: bool = True, **kwargs: Any) -> None:
        super().__init__(normalize=normalize, add_self_loops=False, **kwargs)

    def forward(self, x: Tensor, edge_index: Adj, edge_weight: Tensor | None = None) -> Tensor:
        """[num_nodes, in_channels].

        x: [num_nodes, in_channels] float. edge_index: edges or transposed adjacency, whose values are weights.
        edge_weight: [num_edges], for an edge_index.
        """
        edge_index, edge_weight = self._edges(x, edge_index, edge_weight)
        return self.propagate(edge_index, x=x, edge_weight=edge_weight)

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"
