"""Weights by the number of neighbours, as in molecular fingerprints."""

from typing import Any

import torch
from torch import Tensor
from torch.nn import ModuleList

from gnnlab import sparse
from gnnlab.nn.conv.by_type import by_type
from gnnlab.nn.conv.parts import channels_of, pair_of
from gnnlab.nn.conv.products import UnweightedConv
from gnnlab.nn.dense import Linear
from gnnlab.nn.inits import reset
from gnnlab.typing import Adj, Size
from gnnlab.utils import degree
from gnnlab.utils._spmm import as_sparse_tensor


class MFConv(UnweightedConv):
    """x'_i = W_d x_i + V_d times the sum of the neighbours' x_j + b_d, where d is the number of edges that reach i.

    in_channels: the size of the input, or a pair for sources and targets; -1: that of the first input. out_channels:
    the size of the output. max_degree: the largest d, which all larger ones count as. bias: whether to add b. An
    adjacency's values are ignored.

    Raises ValueError for a negative `max_degree`. Source: https://arxiv.org/abs/1509.09292.
    PyG: `torch_geometric.nn.MFConv`.
    """

    def __init__(
        self,
        in_channels: int | tuple[int, int],
        out_channels: int,
        max_degree: int = 10,
        bias: bool = True,
        **kwargs: Any,
    ) -> None:
        kwargs.setdefault("aggr", "add")
        super().__init__(**kwargs)
        if max_degree < 0:
            raise ValueError(f"max_degree: expected at least 0, found {max_degree}")
        self.in_channels, self.out_channels, self.max_degree = in_channels, out_channels, max_degree
        sources, targets = channels_of(in_channels)
        self.lins_l = ModuleList(Linear(sources, out_channels, bias=bias) for _ in range(max_degree + 1))
        self.lins_r = ModuleList(Linear(targets, out_channels, bias=False) for _ in range(max_degree + 1))

    def reset_parameters(self) -> None:
        """Draw the parameters anew."""
        super().reset_parameters()
        reset(self.lins_l)
        reset(self.lins_r)

    def forward(self, x: Tensor | tuple[Tensor, Tensor | None], edge_index: Adj, size: Size = None) -> Tensor:
        """[num_targets, out_channels].

        x: [num_nodes, in_channels] float, or a pair for sources and targets. edge_index: edges or transposed adjacency.
        """
        own = pair_of(x)
        edges = as_sparse_tensor(edge_index, own[0].requires_grad) if sparse.is_sparse(edge_index) else edge_index
        h = self.propagate(edges, x=own, size=size)
        if isinstance(edges, Tensor):
            target = 1 if self.flow == "source_to_target" else 0
            degrees = degree(edges[target], h.size(self.node_dim), torch.long)
        else:
            degrees = edges.storage.rowcount()
        rows = (h,) if own[1] is None else (h, own[1])
        return by_type(self._of_degree, degrees.clamp(max=self.max_degree), self.max_degree + 1, rows, self.node_dim)

    def _of_degree(self, i: int, h: Tensor, own: Tensor | None = None) -> Tensor:
        """[n, out_channels]: of nodes of degree `i`."""
        out: Tensor = self.lins_l[i](h)
        return out if own is None else out + self.lins_r[i](own)
