"""Convolution with Gaussian kernels over the places of neighbours."""

from typing import Any, no_type_check

import torch
from torch import Tensor
from torch.nn import UninitializedParameter

from gnnlab.nn.conv.message_passing import CHUNK_BYTES, MessagePassing
from gnnlab.nn.conv.parts import bias_of, channels_of, pair_of
from gnnlab.nn.dense import Linear
from gnnlab.nn.inits import glorot, zeros
from gnnlab.typing import Adj, Size
from gnnlab.utils._checks import check_per_edge

_LEAST = 1e-15  # is added to variances


class GMMConv(MessagePassing):
    """x'_i = W₀ x_i + the neighbours' sum over kernels k of w_k(e_ji) Θ_k x_j, reduced, + b.

    e_ji is where j lies as seen from i, and w_k(e) = exp(-½ (e - mu_k)ᵀ diag(sigma_k²)⁻¹ (e - mu_k)). The messages are
    no product: an adjacency sends them too.

    in_channels: the size of the input, or a pair for sources and targets; -1: that of the first input. out_channels:
    the size of the output. dim: the size of e. kernel_size: the number of kernels. separate_gaussians: a Gaussian for
    each pair of an input and an output channel, in place of one for all. aggr: how to reduce. root_weight: whether to
    add W₀ x_i. bias: whether to add b.

    Separate Gaussians make messages from many more numbers than nodes have, so that blocks are as much smaller by
    default (see `chunk_bytes` of `MessagePassing`).

    Source: https://arxiv.org/abs/1611.08402. PyG: `torch_geometric.nn.GMMConv`.
    """

    def __init__(
        self,
        in_channels: int | tuple[int, int],
        out_channels: int,
        dim: int,
        kernel_size: int,
        separate_gaussians: bool = False,
        aggr: Any = "mean",
        root_weight: bool = True,
        bias: bool = True,
        **kwargs: Any,
    ) -> None:
        if dim < 1 or kernel_size < 1:
            raise ValueError(f"dim, kernel_size: expected at least 1, found dim={dim}, kernel_size={kernel_size}")
        more = out_channels * kernel_size * dim if separate_gaussians else 1
        kwargs.setdefault("chunk_bytes", max(1, CHUNK_BYTES // max(1, more)))
        super().__init__(aggr=aggr, **kwargs)
        self.in_channels, self.out_channels = in_channels, out_channels
        self.dim, self.kernel_size = dim, kernel_size
        self.separate_gaussians, self.root_weight = separate_gaussians, root_weight
        self.g: Tensor = UninitializedParameter()
        self.mu: Tensor = UninitializedParameter()
        self.sigma: Tensor = UninitializedParameter()
        sources, targets = channels_of(in_channels)
        if root_weight:
            self.root = Linear(targets, out_channels, bias=False, weight_initializer="glorot")
        self.bias = bias_of(out_channels, bias)
        if sources >= 0:
            self._materialize(sources)
        self.reset_parameters()

    def _materialize(self, sources: int) -> None:
        """Give the parameters their sizes, that of the input now being known."""
        gaussians = (sources, self.out_channels) if self.separate_gaussians else ()
        self.g.materialize((sources, self.out_channels * self.kernel_size))  # type: ignore[attr-defined]
        for parameter in (self.mu, self.sigma):
            parameter.materialize((*gaussians, self.kernel_size, self.dim))  # type: ignore[attr-defined]

    def reset_parameters(self) -> None:
        """Draw the parameters anew, those that have a size."""
        super().reset_parameters()
        if not isinstance(self.g, UninitializedParameter):
            for parameter in (self.g, self.mu, self.sigma):
                glorot(parameter)
        if self.root_weight:
            self.root.reset_parameters()
        zeros(self.bias)

    def forward(
        self,
        x: Tensor | tuple[Tensor, Tensor | None],
        edge_index: Adj,
        edge_attr: Tensor | None = None,
        size: Size = None,
    ) -> Tensor:
        """[num_targets, out_channels].

        x: [num_nodes, in_channels] float, or a pair for sources and targets. edge_index: edges or transposed adjacency,
        whose values are places. edge_attr: [num_edges, dim] float, or [num_edges] where that is 1, for an edge_index.

        Raises ValueError for an `edge_attr` of another shape, or none.
        """
        own = pair_of(x)
        if isinstance(self.g, UninitializedParameter):
            self._materialize(own[0].size(-1))
            self.reset_parameters()
        sent = own[0] if self.separate_gaussians else own[0] @ self.g
        both = sent if own[0] is own[1] else (sent, own[1])
        out = self.propagate(edge_index, x=both, edge_attr=edge_attr, size=size)
        if self.root_weight and own[1] is not None:
            out = out + self.root(own[1])
        return out if self.bias is None else out + self.bias

    @no_type_check  # places are looked at where messages are made
    def message(self, x_j: Tensor, edge_attr: Tensor | None) -> Tensor:
        """[num_edges, out_channels]; x_j: features, or what all kernels make of them."""
        weights = self._gaussians(edge_attr)
        check_per_edge(weights, "edge_attr", x_j.size(self.node_dim))
        if not self.separate_gaussians:
            return (weights.unsqueeze(-2) @ x_j.unflatten(-1, (self.kernel_size, -1))).squeeze(-2)
        kernels = (weights * self.g.view(weights.shape[1:])).sum(-1)  # [num_edges, in_channels, out_channels]
        return (x_j.unsqueeze(-2) @ kernels).squeeze(-2)

    def _gaussians(self, edge_attr: Tensor | None) -> Tensor:
        """[num_edges, kernel_size], or [num_edges, in_channels, out_channels, kernel_size]: weights of kernels."""
        if edge_attr is None:
            raise ValueError("edge_attr: expected places, as an argument or the adjacency's values, found none")
        places = edge_attr.view(-1, 1) if edge_attr.dim() == 1 else edge_attr
        if places.dim() != 2 or places.size(1) != self.dim:
            raise ValueError(f"edge_attr: expected shape [num_edges, {self.dim}], found {list(edge_attr.shape)}")
        places = places.view(-1, *[1] * (self.mu.dim() - 1), self.dim)
        return torch.exp((-0.5 * (places - self.mu).square() / (self.sigma.square() + _LEAST)).sum(-1))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.in_channels}, {self.out_channels}, dim={self.dim})"
