"""Chebyshev polynomials of the Laplacian."""

from typing import Any

import torch
from torch import Tensor
from torch.nn import ModuleList

from gnnlab import sparse
from gnnlab.nn.conv.parts import bias_of
from gnnlab.nn.conv.products import WeightedConv
from gnnlab.nn.dense import Linear
from gnnlab.nn.inits import reset, zeros
from gnnlab.typing import Adj
from gnnlab.utils import get_laplacian
from gnnlab.utils._checks import check_index
from gnnlab.utils._spmm import as_sparse_tensor


class ChebConv(WeightedConv):
    """x' = the sum of W_k T_k x for k = 0 to K - 1, + b, with the Chebyshev polynomials T_k of the scaled Laplacian L̂.

    T_0 = I, T_1 = L̂ and T_k = 2 L̂ T_{k-1} - T_{k-2}, where L̂ = 2 L / lambda_max - I has its spectrum within ±1.

    in_channels: the size of the input, or -1: that of the first. out_channels: the size of the output. K: the number of
    polynomials. normalization: of L, None, "sym" or "rw"; see `get_laplacian`. bias: whether to add b.

    Raises ValueError for K < 1 or another `normalization`. Source: https://arxiv.org/abs/1606.09375.
    PyG: `torch_geometric.nn.ChebConv`, which takes no adjacency.
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        K: int,
        normalization: str | None = "sym",
        bias: bool = True,
        **kwargs: Any,
    ) -> None:
        kwargs.setdefault("aggr", "add")
        super().__init__(**kwargs)
        if K < 1:
            raise ValueError(f"K: expected at least 1, found {K}")
        if normalization not in (None, "sym", "rw"):
            raise ValueError(f"normalization: expected None, 'sym' or 'rw', found {normalization!r}")
        self.in_channels, self.out_channels, self.normalization = in_channels, out_channels, normalization
        self.lins = ModuleList(
            Linear(in_channels, out_channels, bias=False, weight_initializer="glorot") for _ in range(K)
        )
        self.bias = bias_of(out_channels, bias)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the parameters anew."""
        super().reset_parameters()
        reset(self.lins)
        zeros(self.bias)

    def forward(
        self,
        x: Tensor,
        edge_index: Adj,
        edge_weight: Tensor | None = None,
        batch: Tensor | None = None,
        lambda_max: Tensor | float | None = None,
    ) -> Tensor:
        """[num_nodes, out_channels].

        x: [num_nodes, in_channels] float. edge_index: edges or transposed adjacency, whose values are weights.
        edge_weight: [num_edges], for an edge_index. batch: [num_nodes] integers, the graph of each node.
        lambda_max: the largest eigenvalue of L, a number, or [num_graphs] with `batch`; by default a bound on it, twice
        the largest entry of L. Where it is 0, so that there are no edges, it is taken as 1.

        Raises ValueError for shapes that do not fit, or an `edge_weight` beside an adjacency.
        """
        if not isinstance(x, Tensor):
            raise ValueError("x: expected the features of one set of nodes, found a pair: ChebConv is not bipartite")
        edge_index, edge_weight = self._scaled_laplacian(x, edge_index, edge_weight, batch, lambda_max)
        before, now, out = x, x, self.lins[0](x)
        for k, lin in enumerate(self.lins[1:], start=1):
            step = self.propagate(edge_index, x=now, edge_weight=edge_weight)
            before, now = now, step if k == 1 else 2 * step - before
            out = out + lin(now)
        return out if self.bias is None else out + self.bias

    def _scaled_laplacian(
        self, x: Tensor, given: Adj, weight: Tensor | None, batch: Tensor | None, lambda_max: Tensor | float | None
    ) -> tuple[Adj, Tensor | None]:
        """2 L / lambda_max - I in the form of the edges that were given."""
        num_nodes = x.size(self.node_dim)
        if not sparse.is_sparse(given):
            assert isinstance(given, Tensor)
            edges, off, diagonal = self._entries(given, weight, num_nodes, x.dtype, batch, lambda_max)
            return edges, torch.cat([off, diagonal])
        if weight is not None:
            raise ValueError("edge_weight: expected None with an adjacency, whose values are the weights, found some")
        adj = as_sparse_tensor(given)
        if adj.sparse_sizes() != (num_nodes, num_nodes):
            raise ValueError(f"edge_index: expected an adjacency of {num_nodes} nodes, found {adj.sparse_sizes()}")
        row, col, weight = adj.coo()
        _, off, diagonal = self._entries(torch.stack([col, row]), weight, num_nodes, x.dtype, batch, lambda_max)
        return adj.remove_diag().set_value(off, layout="coo").set_diag(diagonal), None

    def _entries(
        self,
        edge_index: Tensor,
        weight: Tensor | None,
        num_nodes: int,
        dtype: torch.dtype,
        batch: Tensor | None,
        lambda_max: Tensor | float | None,
    ) -> tuple[Tensor, Tensor, Tensor]:
        """The edges between two nodes, in their order, and then those of the diagonal; and the entries of both."""
        if weight is not None and weight.dim() != 1:
            raise ValueError(f"edge_weight: expected shape [num_edges], found {list(weight.shape)}")
        if weight is not None and not weight.is_floating_point():
            weight = weight.to(dtype)
        edges, value = get_laplacian(edge_index, weight, self.normalization, dtype, num_nodes)
        if lambda_max is None:
            lambda_max = 2 * value.max() if value.numel() else 1.0
        scale = torch.as_tensor(lambda_max, dtype=value.dtype, device=value.device)
        scale = scale.where(scale != 0, torch.ones_like(scale))
        if scale.numel() != 1:
            if batch is None or scale.dim() != 1:
                raise ValueError(
                    "lambda_max: expected one number, or one for each graph of batch, found shape "
                    f"{list(scale.shape)} {'without' if batch is None else 'with'} batch"
                )
            check_index(batch, "batch", scale.numel())
            if batch.numel() != num_nodes:
                raise ValueError(f"batch: expected one entry for each of {num_nodes} nodes, found {batch.numel()}")
            scale = scale[batch.long()][edges[0]]
        off, diagonal = (2 * value / scale).split([value.numel() - num_nodes, num_nodes])
        return edges, off, diagonal - 1

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}({self.in_channels}, {self.out_channels}, K={len(self.lins)}, "
            f"normalization={self.normalization})"
        )
