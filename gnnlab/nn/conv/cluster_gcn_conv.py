"""Graph convolution for clusters, with the diagonal strengthened."""

from typing import Any

import torch
from torch import Tensor

from gnnlab import sparse
from gnnlab.nn.conv.products import WeightedConv
from gnnlab.nn.dense import Linear
from gnnlab.sparse import SparseTensor
from gnnlab.typing import Adj
from gnnlab.utils import add_self_loops, degree, remove_self_loops
from gnnlab.utils._spmm import as_sparse_tensor


class ClusterGCNConv(WeightedConv):
    """x' = W₁ (Â + lambda diag(Â)) x + W₂ x + b, where Â is the adjacency with self-loops, each row divided by its sum.

    in_channels: the size of the input, or -1: that of the first. out_channels: the size of the output. diag_lambda:
    lambda. add_self_loops: give each node one self-loop. bias: whether to add b.

    Source: https://arxiv.org/abs/1905.07953. PyG: `torch_geometric.nn.ClusterGCNConv`.
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        diag_lambda: float = 0.0,
        add_self_loops: bool = True,
        bias: bool = True,
        **kwargs: Any,
    ) -> None:
        kwargs.setdefault("aggr", "add")
        super().__init__(**kwargs)
        self.in_channels, self.out_channels = in_channels, out_channels
        self.diag_lambda, self.add_self_loops = diag_lambda, add_self_loops
        self.lin_out = Linear(in_channels, out_channels, bias=bias, weight_initializer="glorot")
        self.lin_root = Linear(in_channels, out_channels, bias=False, weight_initializer="glorot")
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the parameters anew."""
        super().reset_parameters()
        self.lin_out.reset_parameters()
        self.lin_root.reset_parameters()

    def forward(self, x: Tensor, edge_index: Adj) -> Tensor:
        """[num_nodes, out_channels].

        x: [num_nodes, in_channels] float. edge_index: edges or transposed adjacency, whose values are ignored.
        """
        size = x.size(self.node_dim)
        by_adjacency = sparse.is_sparse(edge_index)
        if by_adjacency:
            given = as_sparse_tensor(edge_index)
            if given.sparse_sizes() != (size, size):
                raise ValueError(f"edge_index: expected sizes ({size}, {size}), found {given.sparse_sizes()}")
            row, col, _ = given.coo()
            edges = torch.stack([col, row])
        else:
            assert isinstance(edge_index, Tensor)
            edges = edge_index
        if self.add_self_loops:
            edges, _ = remove_self_loops(edges)
            edges, _ = add_self_loops(edges, num_nodes=size)
        share = 1 / degree(edges[1], size, dtype=x.dtype).clamp(min=1)
        weight = share[edges[1]]
        weight = torch.where(edges[0] == edges[1], (1 + self.diag_lambda) * weight, weight)
        if by_adjacency:
            adj = SparseTensor(
                row=edges[1],
                col=edges[0],
                value=weight,
                sparse_sizes=(size, size),
                trust_data=True,
                is_transposed=given.is_transposed,
            )
            out = self.propagate(adj, x=x, edge_weight=None)
        else:
            out = self.propagate(edges, x=x, edge_weight=weight)
        return self.lin_out(out) + self.lin_root(x)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.in_channels}, {self.out_channels}, diag_lambda={self.diag_lambda})"
