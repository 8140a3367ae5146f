"""The layer of signed graph convolutional networks."""

from typing import Any

import torch
from torch import Tensor

from gnnlab.nn.conv.parts import pair_of
from gnnlab.nn.conv.products import UnweightedConv
from gnnlab.nn.dense import Linear
from gnnlab.typing import Adj


class SignedConv(UnweightedConv):
    """What friends and foes say, apart: positive and negative edges, reduced, give one half of the output each.

    The first layer: x⁺'_i = W₁ mean over positive edges of x_j + W₂ x_i + b, and x⁻' alike over negative ones. Later
    layers: x⁺'_i = W₁ [mean of x⁺_j over positive edges, mean of x⁻_j over negative edges] + W₂ x⁺_i + b (a friend's
    friends, a foe's foes), and x⁻'_i = W₃ [mean of x⁻_j over positive edges, mean of x⁺_j over negative edges] +
    W₄ x⁻_i + c. An adjacency's values are ignored.

    in_channels: the size of the input, half of it in later layers; in the first -1: that of the first input.
    out_channels: the size of each half of the output. first_aggr: whether this is the first layer. bias: whether to add
    b and c.

    Raises ValueError for a later layer whose input's size is open. Source: https://arxiv.org/abs/1808.06354.
    PyG: `torch_geometric.nn.SignedConv`.
    """

    def __init__(self, in_channels: int, out_channels: int, first_aggr: bool, bias: bool = True, **kwargs: Any) -> None:
        if in_channels < 0 and not first_aggr:
            raise ValueError("in_channels: expected half the size of the input of a later layer, found it open")
        kwargs.setdefault("aggr", "mean")
        super().__init__(**kwargs)
        self.in_channels, self.out_channels, self.first_aggr = in_channels, out_channels, first_aggr
        received = in_channels if first_aggr else 2 * in_channels
        self.lin_pos_l = Linear(received, out_channels, bias=False)
        self.lin_pos_r = Linear(in_channels, out_channels, bias=bias)
        self.lin_neg_l = Linear(received, out_channels, bias=False)
        self.lin_neg_r = Linear(in_channels, out_channels, bias=bias)

    def reset_parameters(self) -> None:
        """Draw the parameters anew."""
        super().reset_parameters()
        for lin in (self.lin_pos_l, self.lin_pos_r, self.lin_neg_l, self.lin_neg_r):
            lin.reset_parameters()

    def forward(self, x: Tensor | tuple[Tensor, Tensor], pos_edge_index: Adj, neg_edge_index: Adj) -> Tensor:
        """[num_targets, 2 * out_channels]: what is positive, then what is negative.

        x: [num_nodes, in_channels] float, 2 * in_channels in a later layer, or a pair for sources and targets.
        pos_edge_index, neg_edge_index: edges or transposed adjacency, of the same nodes.

        Raises ValueError for the features of a later layer that are not 2 * in_channels.
        """
        sources, targets = pair_of(x)
        if targets is None:
            raise ValueError("x: expected the features of sources and targets, found None for the targets")
        if self.first_aggr:
            of_pos, of_neg = (self.propagate(edges, x=(sources, targets)) for edges in (pos_edge_index, neg_edge_index))
            pos, neg = targets, targets
        else:
            pos, neg = self._halves(targets)
            friends, foes = zip(self._halves(sources), (pos, neg), strict=True)
            of_pos = torch.cat([self.propagate(pos_edge_index, x=friends), self.propagate(neg_edge_index, x=foes)], -1)
            of_neg = torch.cat([self.propagate(pos_edge_index, x=foes), self.propagate(neg_edge_index, x=friends)], -1)
        out_pos = self.lin_pos_l(of_pos) + self.lin_pos_r(pos)
        out_neg = self.lin_neg_l(of_neg) + self.lin_neg_r(neg)
        return torch.cat([out_pos, out_neg], dim=-1)

    def _halves(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """What is positive and what is negative of the features."""
        if x.size(-1) != 2 * self.in_channels:
            raise ValueError(f"x: expected {2 * self.in_channels} features, 2 * in_channels, found {x.size(-1)}")
        return x[..., : self.in_channels], x[..., self.in_channels :]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.in_channels}, {self.out_channels}, first_aggr={self.first_aggr})"
