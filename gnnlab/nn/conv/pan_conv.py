"""Convolution along paths of several lengths."""

from typing import Any

import torch
from torch import Tensor
from torch.nn import Parameter

from gnnlab.nn.conv.edges import Edges
from gnnlab.nn.conv.message_passing import FuseReport
from gnnlab.nn.conv.products import WeightedConv
from gnnlab.nn.dense import Linear
from gnnlab.nn.inits import constant
from gnnlab.sparse import SparseTensor
from gnnlab.typing import Adj
from gnnlab.utils._checks import check_range


class PANConv(WeightedConv):
    """x' = W M x + b with M = Z^(-1/2) (sum over n of w₀ ⋯ wₙ Aⁿ) Z^(-1/2), which counts paths of up to L steps.

    Aⁿ has the numbers of paths of n steps, and Z of each node how many entries its row of the sum has. An edge_index is
    made an adjacency, whose values are ignored.

    in_channels: the size of the input, or -1: that of the first. out_channels: the size of the output.
    filter_size: L, the longest path.

    Raises ValueError for a negative `filter_size`, or for the flow "target_to_source". Source:
    https://arxiv.org/abs/2006.14811. PyG: `torch_geometric.nn.PANConv`, which takes float32 alone, and where gradients
    of w stop at the products of A.
    """

    def __init__(self, in_channels: int, out_channels: int, filter_size: int, **kwargs: Any) -> None:
        if filter_size < 0:
            raise ValueError(f"filter_size: expected at least 0, found {filter_size}")
        kwargs.setdefault("aggr", "add")
        super().__init__(**kwargs)
        if self.flow != "source_to_target":
            raise ValueError(f"flow: expected 'source_to_target', found {self.flow!r}: give the edges turned around")
        self.in_channels, self.out_channels, self.filter_size = in_channels, out_channels, filter_size
        self.lin = Linear(in_channels, out_channels)
        self.weight = Parameter(torch.empty(filter_size + 1))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the parameters anew."""
        super().reset_parameters()
        self.lin.reset_parameters()
        constant(self.weight, 0.5)

    def forward(self, x: Tensor, edge_index: Adj) -> tuple[Tensor, SparseTensor]:
        """[num_nodes, out_channels], and M, [num_nodes, num_nodes] sparse.

        x: [num_nodes, in_channels] float. edge_index: edges or transposed adjacency.

        Raises ValueError for an adjacency that is not [num_nodes, num_nodes], IndexError for ids beyond the nodes.
        """
        paths = self.panentropy(self._adjacency(x, edge_index), x.dtype)
        return self.lin(self.propagate(paths, x=x, edge_weight=None)), paths

    def panentropy(self, adj_t: SparseTensor, dtype: torch.dtype | None = None) -> SparseTensor:
        """M of the transposed adjacency, with values of `dtype`, by default that of the weights."""
        weight = self.weight.to(dtype)
        steps = SparseTensor.eye(adj_t.size(0), dtype=weight.dtype, device=weight.device)
        steps.is_transposed = adj_t.is_transposed
        steps = paths = steps.mul_nnz(weight[0])
        for factor in weight[1:]:
            steps = (steps @ adj_t).mul_nnz(factor)
            paths = paths + steps
        scale = paths.storage.rowcount().to(weight.dtype).rsqrt()
        return paths * scale.view(-1, 1) * scale.view(1, -1)

    def fuse_report(self, x: Tensor, adj: Adj) -> FuseReport:
        """Whether the layer multiplies by M instead of sending messages along it; arguments as of `forward`."""
        return super().fuse_report(x, self._adjacency(x, adj))

    def _adjacency(self, x: Tensor, edge_index: Adj) -> SparseTensor:
        """The edges as a transposed adjacency without values."""
        if not isinstance(x, Tensor):
            raise ValueError("x: expected the features of one set of nodes, found a pair: PANConv is not bipartite")
        edges, num_nodes = Edges(edge_index, None, self.flow), x.size(self.node_dim)
        if not edges.is_adj:
            target, source = edges.ids(edges.target), edges.ids(edges.source)
            for ids in (target, source):
                check_range(ids, "edge_index", num_nodes)
            return SparseTensor(row=target, col=source, sparse_sizes=(num_nodes, num_nodes), is_transposed=True)
        if edges.size != [num_nodes, num_nodes]:
            cols, rows = edges.size
            raise ValueError(f"edge_index: expected an adjacency of {num_nodes} x {num_nodes}, found {rows} x {cols}")
        return edges.adj.set_value(None)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.in_channels}, {self.out_channels}, filter_size={self.filter_size})"
