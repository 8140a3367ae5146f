"""Several steps to neighbours before one linear layer."""

from typing import Any

from torch import Tensor

from gnnlab.nn.conv.normalized import NormalizedConv
from gnnlab.nn.dense import Linear
from gnnlab.typing import Adj


class SGConv(NormalizedConv):
    """x' = W Âᴷ x + b with the normalised adjacency Â.

    in_channels: the size of the input, or -1: that of the first. out_channels: the size of the output. K: the number of
    steps. cached: keep Âᴷ x of the first call (for one graph and one x only). add_self_loops: before normalising.
    bias: whether to add b.

    Source: https://arxiv.org/abs/1902.07153. PyG: `torch_geometric.nn.SGConv`.
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        K: int = 1,
        cached: bool = False,
        add_self_loops: bool = True,
        bias: bool = True,
        **kwargs: Any,
    ) -> None:
        super().__init__(add_self_loops=add_self_loops, cached=cached, **kwargs)
        self.in_channels, self.out_channels, self.K = in_channels, out_channels, K
        self.lin = Linear(in_channels, out_channels, bias=bias)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the parameters anew, and forget what was kept."""
        super().reset_parameters()
        self.lin.reset_parameters()

    def forward(self, x: Tensor, edge_index: Adj, edge_weight: Tensor | None = None) -> Tensor:
        """[num_nodes, out_channels].

        x: [num_nodes, in_channels] float. edge_index: edges or transposed adjacency, whose values are weights.
        edge_weight: [num_edges], for an edge_index.
        """
        steps = self._cached
        if steps is None:
            steps = self._steps(x, *self._normalized(x, edge_index, edge_weight))
            self._cached = steps if self.cached else None
        return self.lin(steps)

    def _steps(self, x: Tensor, edge_index: Adj, edge_weight: Tensor | None) -> Tensor:
        for _ in range(self.K):
            x = self.propagate(edge_index, x=x, edge_weight=edge_weight)
        return x

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.in_channels}, {self.out_channels}, K={self.K})"


class SSGConv(SGConv):
    """x' = W (alpha x + (1 - alpha) / K times the sum of Âᵏ x for k = 1 to K) + b.

    alpha: the share of x itself; the rest as in `SGConv`.

    Source: https://openreview.net/forum?id=CYO5T-YjWZV. PyG: `torch_geometric.nn.SSGConv`.
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        alpha: float,
        K: int = 1,
        cached: bool = False,
        add_self_loops: bool = True,
        bias: bool = True,
        **kwargs: Any,
    ) -> None:
        super().__init__(in_channels, out_channels, K, cached, add_self_loops, bias, **kwargs)
        self.alpha = alpha

    def _steps(self, x: Tensor, edge_index: Adj, edge_weight: Tensor | None) -> Tensor:
        out = self.alpha * x
        for _ in range(self.K):
            x = self.propagate(edge_index, x=x, edge_weight=edge_weight)
            out = out + (1 - self.alpha) / self.K * x
        return out

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.in_channels}, {self.out_channels}, K={self.K}, alpha={self.alpha})"
