"""A linear layer for each number of steps."""

from typing import Any

from torch import Tensor
from torch.nn import ModuleList

from gnnlab.nn.conv.normalized import NormalizedConv
from gnnlab.nn.conv.parts import bias_of
from gnnlab.nn.dense import Linear
from gnnlab.nn.inits import zeros
from gnnlab.typing import Adj


class TAGConv(NormalizedConv):
    """x' = the sum of W_k Âᵏ x for k = 0 to K, + b, with the normalised adjacency Â without self-loops of its own.

    in_channels: the size of the input, or -1: that of the first. out_channels: the size of the output. K: the number of
    steps. bias: whether to add b. normalize: scale by degrees.

    Source: https://arxiv.org/abs/1710.10370. PyG: `torch_geometric.nn.TAGConv`.
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        K: int = 3,
        bias: bool = True,
        normalize: bool = True,
        **kwargs: Any,
    ) -> None:
        super().__init__(normalize=normalize, add_self_loops=False, **kwargs)
        self.in_channels, self.out_channels, self.K = in_channels, out_channels, K
        self.lins = ModuleList(Linear(in_channels, out_channels, bias=False) for _ in range(K + 1))
        self.bias = bias_of(out_channels, bias)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the parameters anew."""
        super().reset_parameters()
        for lin in self.lins:
            lin.reset_parameters()  # type: ignore[operator]
        zeros(self.bias)

    def forward(self, x: Tensor, edge_index: Adj, edge_weight: Tensor | None = None) -> Tensor:
        """[num_nodes, out_channels].

        x: [num_nodes, in_channels] float. edge_index: edges or transposed adjacency, whose values are weights.
        edge_weight: [num_edges], for an edge_index.
        """
        edge_index, edge_weight = self._edges(x, edge_index, edge_weight)
        out: Tensor = self.lins[0](x)
        for lin in self.lins[1:]:
            x = self.propagate(edge_index, x=x, edge_weight=edge_weight)
            out = out + lin(x)
        return out if self.bias is None else out + self.bias

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.in_channels}, {self.out_channels}, K={self.K})"
