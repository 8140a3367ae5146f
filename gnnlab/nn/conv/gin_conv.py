"""The layers of graph isomorphism networks."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.nn import Module, Parameter

from gnnlab.nn.conv.message_passing import CHUNK_BYTES, MessagePassing
from gnnlab.nn.conv.parts import pair_of
from gnnlab.nn.conv.products import UnweightedConv
from gnnlab.nn.dense import Linear
from gnnlab.nn.inits import reset
from gnnlab.typing import Adj, Size


class _Isomorphism(MessagePassing):
    """nn((1 + eps) x_i + messages, summed): what both layers have in common."""

    def __init__(self, nn: Callable[[Tensor], Tensor], eps: float, train_eps: bool, **kwargs: Any) -> None:
        kwargs.setdefault("aggr", "add")
        super().__init__(**kwargs)
        self.nn = nn
        self.initial_eps = eps
        value = torch.full((1,), float(eps))
        if train_eps:
            self.eps: Tensor = Parameter(value)
        else:
            self.register_buffer("eps", value)

    def reset_parameters(self) -> None:
        """Draw the parameters anew."""
        super().reset_parameters()
        reset(self.nn)
        self.eps.data.fill_(self.initial_eps)

    def _combine(self, out: Tensor, own: Tensor | None) -> Tensor:
        return self.nn(out if own is None else out + (1 + self.eps) * own)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(nn={self.nn})"


class GINConv(_Isomorphism, UnweightedConv):
    """x'_i = nn((1 + eps) x_i + sum of x_j); an adjacency's values are ignored.

    nn: maps [num_nodes, in_channels] to [num_nodes, out_channels]. eps: the first eps. train_eps: whether it is a
    parameter. Source: https://arxiv.org/abs/1810.00826. PyG: `torch_geometric.nn.GINConv`.
    """

    def __init__(
        self, nn: Callable[[Tensor], Tensor], eps: float = 0.0, train_eps: bool = False, **kwargs: Any
    ) -> None:
        super().__init__(nn, eps, train_eps, **kwargs)
        self.reset_parameters()

    def forward(self, x: Tensor | tuple[Tensor, Tensor | None], edge_index: Adj, size: Size = None) -> Tensor:
        """[num_targets, out_channels].

        x: [num_nodes, in_channels] float, or a pair for sources and targets. edge_index: edges or transposed adjacency.
        """
        own = pair_of(x)
        return self._combine(self.propagate(edge_index, x=own, size=size), own[1])


class GINEConv(_Isomorphism):
    """x'_i = nn((1 + eps) x_i + sum of relu(x_j + e_ji)). Its messages are no product: an adjacency sends them too.

    nn, eps, train_eps: as in `GINConv`. edge_dim: the size of edge features, mapped to that of `x` where given.

    Raises ValueError where edge features do not fit, or where `edge_dim` is given and no layer of `nn` tells the size
    of its input. Source: https://arxiv.org/abs/1905.12265. PyG: `torch_geometric.nn.GINEConv`.
    """

    def __init__(
        self, nn: Module, eps: float = 0.0, train_eps: bool = False, edge_dim: int | None = None, **kwargs: Any
    ) -> None:
        kwargs.setdefault("chunk_bytes", CHUNK_BYTES)
        super().__init__(nn, eps, train_eps, **kwargs)
        self.lin = None if edge_dim is None else Linear(edge_dim, _in_channels(nn))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the parameters anew."""
        super().reset_parameters()
        if self.lin is not None:
            self.lin.reset_parameters()

    def forward(
        self,
        x: Tensor | tuple[Tensor, Tensor | None],
        edge_index: Adj,
        edge_attr: Tensor | None = None,
        size: Size = None,
    ) -> Tensor:
        """[num_targets, out_channels].

        x: [num_nodes, in_channels] float, or a pair for sources and targets. edge_index: edges or transposed adjacency,
        whose values are edge features. edge_attr: [num_edges, edge_dim], for an edge_index.
        """
        own = pair_of(x)
        return self._combine(self.propagate(edge_index, x=own, edge_attr=edge_attr, size=size), own[1])

    def message(self, x_j: Tensor, edge_attr: Tensor) -> Tensor:
        """[num_edges, in_channels]."""
        if edge_attr is None:
            raise ValueError("edge_attr: expected edge features, as an argument or the adjacency's values, found none")
        if edge_attr.dim() == 1:
            edge_attr = edge_attr.view(-1, 1)
        if self.lin is not None:
            edge_attr = self.lin(edge_attr)
        if edge_attr.size(-1) != x_j.size(-1):
            raise ValueError(
                f"edge_attr: expected {x_j.size(-1)} features as x has, found {edge_attr.size(-1)}: give edge_dim"
            )
        return (x_j + edge_attr).relu()


def _in_channels(nn: Module) -> int:
    """The size of the input of the first layer that tells it."""
    for module in nn.modules():
        for name in ("in_features", "in_channels"):
            if isinstance(getattr(module, name, None), int):
                return int(getattr(module, name))
    raise ValueError("nn: expected a layer with in_features or in_channels, which edge_dim needs, found none")
