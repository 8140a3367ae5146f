"""Auto-regressive moving average filters."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.nn import Parameter, ReLU, UninitializedParameter, functional

from gnnlab.nn.conv.normalized import NormalizedConv
from gnnlab.nn.inits import glorot, zeros
from gnnlab.typing import Adj

_RELU = ReLU()  # which has no state


class ARMAConv(NormalizedConv):
    """x' = the mean over stacks k of x_k⁽ᵀ⁾, where x_k⁽ᵗ⁺¹⁾ = act(Â x_k⁽ᵗ⁾ W + x V + b), and x_k⁽⁰⁾ is x.

    Â is the normalised adjacency without self-loops of its own; W, V and b are of stack k and layer t. All stacks go
    through one product, side by side.

    in_channels: the size of the input, or -1: that of the first. out_channels: the size of the output. num_stacks: how
    many stacks. num_layers: T. shared_weights: the same V and b for all layers, and the same W for all but the first,
    whose input has another size. act: the activation, or None. dropout: the probability at which a number of x is left
    out of x V in training. bias: whether to add b.

    Raises ValueError for no stacks or layers. Source: https://arxiv.org/abs/1901.01343.
    PyG: `torch_geometric.nn.ARMAConv`.
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        num_stacks: int = 1,
        num_layers: int = 1,
        shared_weights: bool = False,
        act: Callable[[Tensor], Tensor] | None = _RELU,
        dropout: float = 0.0,
        bias: bool = True,
        **kwargs: Any,
    ) -> None:
        if num_stacks < 1 or num_layers < 1:
            raise ValueError(
                f"num_stacks, num_layers: expected at least 1, found num_stacks={num_stacks}, num_layers={num_layers}"
            )
        super().__init__(normalize=True, add_self_loops=False, improved=False, cached=False, **kwargs)
        self.in_channels, self.out_channels = in_channels, out_channels
        self.num_stacks, self.num_layers, self.shared_weights = num_stacks, num_layers, shared_weights
        self.act, self.dropout = act, dropout
        layers = 1 if shared_weights else num_layers
        self.weight = Parameter(torch.empty(max(1, layers - 1), num_stacks, out_channels, out_channels))
        self.init_weight: Tensor = UninitializedParameter()
        self.root_weight: Tensor = UninitializedParameter()
        self.bias = Parameter(torch.empty(layers, num_stacks, 1, out_channels)) if bias else None
        if in_channels >= 0:
            self._materialize(in_channels)
        self.reset_parameters()

    def _materialize(self, in_channels: int) -> None:
        """Give the parameters of the input their sizes."""
        layers = 1 if self.shared_weights else self.num_layers
        shape = self.num_stacks, in_channels, self.out_channels
        self.init_weight.materialize(shape)  # type: ignore[attr-defined]
        self.root_weight.materialize((layers, *shape))  # type: ignore[attr-defined]

    def reset_parameters(self) -> None:
        """Draw the parameters anew, those that have a size."""
        super().reset_parameters()
        glorot(self.weight)
        if not isinstance(self.init_weight, UninitializedParameter):
            glorot(self.init_weight)
            glorot(self.root_weight)
        zeros(self.bias)

    def forward(self, x: Tensor, edge_index: Adj, edge_weight: Tensor | None = None) -> Tensor:
        """[num_nodes, out_channels].

        x: [num_nodes, in_channels] float. edge_index: edges or transposed adjacency, whose values are weights.
        edge_weight: [num_edges], for an edge_index.
        """
        edge_index, edge_weight = self._edges(x, edge_index, edge_weight)
        if isinstance(self.init_weight, UninitializedParameter):
            self._materialize(x.size(-1))
            self.reset_parameters()
        out = torch.einsum("...i,kio->...ko", x, self.init_weight)
        for layer in range(self.num_layers):
            own = 0 if self.shared_weights else layer
            if layer > 0:
                out = torch.einsum("...ki,kio->...ko", out, self.weight[max(0, own - 1)])
            out = self.propagate(edge_index, x=out.flatten(-2), edge_weight=edge_weight)
            out = out.unflatten(-1, (self.num_stacks, -1))  # [num_nodes, num_stacks, out_channels]
            kept = functional.dropout(x, self.dropout, self.training)
            out = out + torch.einsum("...i,kio->...ko", kept, self.root_weight[own])
            if self.bias is not None:
                out = out + self.bias[own].squeeze(1)
            if self.act is not None:
                out = self.act(out)
        return out.mean(-2)

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}({self.in_channels}, {self.out_channels}, "
            f"num_stacks={self.num_stacks}, num_layers={self.num_layers})"
        )
