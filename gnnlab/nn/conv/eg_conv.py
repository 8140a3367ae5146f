"""Efficient graph convolution: a few bases for all nodes, and weights of each node's own to combine them by."""

from collections.abc import Callable
from typing import Any, no_type_check

import torch
from torch import Tensor

from gnnlab import sparse
from gnnlab.nn.conv.normalized import NormalizedConv
from gnnlab.nn.conv.parts import bias_of, pair_of, spmm_pattern
from gnnlab.nn.dense import Linear
from gnnlab.nn.inits import zeros
from gnnlab.typing import Adj
from gnnlab.utils import scatter, spmm
from gnnlab.utils._spmm import as_sparse_tensor

_AGGREGATORS = ("sum", "mean", "symnorm", "min", "max", "var", "std")

_LEAST_VARIANCE = 1e-5  # below it "std" has no gradient


class EGConv(NormalizedConv):
    """x'_i = for each head h: sum over aggregators a and bases b of w_hab(x_i) a of (Θ_b x_j), beside one another, + c.

    in_channels: the size of the input, or -1: that of the first. out_channels: the size of the output, that of all
    heads together. aggregators: any of "sum", "mean", "min", "max", "var", "std", and "symnorm", the sum normalised as
    in `GCNConv`; by default that alone. num_heads, num_bases: how many. cached: keep the edges of the first call, with
    self-loops and weights (for one graph only). add_self_loops: give each node one. bias: whether to add c.

    An adjacency's values are ignored. A variance is the mean of squares less the square of the mean, both taken of
    distances from the mean of all, which saves digits; "std" is the root of it, of 1e-5 at least.

    Raises ValueError for other `aggregators`, or `out_channels` that the heads do not divide. Source:
    https://arxiv.org/abs/2104.01481. PyG: `torch_geometric.nn.EGConv`, where "std" differs between edges and adjacency.
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        aggregators: list[str] | None = None,
        num_heads: int = 8,
        num_bases: int = 4,
        cached: bool = False,
        add_self_loops: bool = True,
        bias: bool = True,
        **kwargs: Any,
    ) -> None:
        if num_heads < 1 or num_bases < 1 or out_channels % num_heads:
            raise ValueError(
                "num_heads, num_bases: expected at least 1, and out_channels in equal parts for the heads, "
                f"found num_heads={num_heads}, num_bases={num_bases}, out_channels={out_channels}"
            )
        chosen = list(aggregators or ["symnorm"])
        for name in chosen:
            if name not in _AGGREGATORS:
                raise ValueError(f"aggregators: expected any of {_AGGREGATORS}, found {name!r}")
        kwargs.setdefault("node_dim", 0)
        normalize = add_self_loops or "symnorm" in chosen
        super().__init__(normalize=normalize, add_self_loops=add_self_loops, improved=False, cached=cached, **kwargs)
        self.in_channels, self.out_channels, self.aggregators = in_channels, out_channels, chosen
        self.num_heads, self.num_bases = num_heads, num_bases
        self.bases_lin = Linear(
            in_channels, out_channels // num_heads * num_bases, bias=False, weight_initializer="glorot"
        )
        self.comb_lin = Linear(in_channels, num_heads * num_bases * len(chosen))
        self.bias = bias_of(out_channels, bias)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the parameters anew, and forget the kept edges."""
        super().reset_parameters()
        self.bases_lin.reset_parameters()
        self.comb_lin.reset_parameters()
        zeros(self.bias)

    def forward(self, x: Tensor, edge_index: Adj) -> Tensor:
        """[num_nodes, out_channels].

        x: [num_nodes, in_channels] float. edge_index: edges or transposed adjacency.
        """
        if self.normalize and sparse.is_sparse(edge_index):
            edge_index = as_sparse_tensor(edge_index).set_value(None)
        edge_index, edge_weight = self._edges(x, edge_index, None)
        weight = self.comb_lin(x).view(-1, self.num_heads, len(self.aggregators) * self.num_bases)
        out = self.propagate(edge_index, x=self.bases_lin(x), edge_weight=edge_weight)
        # [num_nodes, aggregators, bases * size of a head] -> [num_nodes, heads, size of a head]
        out = weight @ out.view(-1, weight.size(2), self.out_channels // self.num_heads)
        out = out.flatten(1)
        return out if self.bias is None else out + self.bias

    @no_type_check  # weights are taken where messages are reduced
    def message(self, x_j: Tensor) -> Tensor:
        """[num_edges, channels]."""
        return x_j

    def aggregate(
        self, inputs: Tensor, index: Tensor, dim_size: int | None = None, edge_weight: Tensor | None = None
    ) -> Tensor:
        """[num_nodes, aggregators, channels]; edge_weight: of "symnorm"."""

        def reduced(values: Tensor, how: str) -> Tensor:
            if how == "symnorm":
                assert edge_weight is not None
                return scatter(edge_weight.view(-1, 1) * values, index, 0, dim_size, "sum")
            return scatter(values, index, 0, dim_size, how)

        return self._all(inputs, reduced)

    def message_and_aggregate(self, adj_t: Adj, x: Tensor | tuple[Tensor, Tensor | None]) -> Tensor:
        """[num_nodes, aggregators, channels]; the values of `adj_t` are the weights of "symnorm"."""
        return self._all(pair_of(x)[0], lambda values, how: _product(adj_t, values, how))

    def _all(self, x: Tensor, reduced: Callable[[Tensor, str], Tensor]) -> Tensor:
        """What each aggregator makes of the rows of `x`."""
        outs = []
        for name in self.aggregators:
            if name not in ("var", "std"):
                outs.append(reduced(x, name))
                continue
            centred = x - x.detach().mean(0)
            var = reduced(centred * centred, "mean") - reduced(centred, "mean").square()
            outs.append(var if name == "var" else var.clamp(min=_LEAST_VARIANCE).sqrt())
        return torch.stack(outs, dim=1)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.in_channels}, {self.out_channels}, aggregators={self.aggregators})"


def _product(adj_t: Adj, x: Tensor, how: str) -> Tensor:
    return spmm(adj_t, x, "sum") if how == "symnorm" else spmm_pattern(adj_t, x, how)
