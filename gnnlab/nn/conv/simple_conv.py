"""Neighbours' features, reduced and nothing else."""

from typing import Any

import torch
from torch import Tensor

from gnnlab import sparse
from gnnlab.nn.conv.parts import pair_of
from gnnlab.nn.conv.products import WeightedConv
from gnnlab.sparse import SparseTensor
from gnnlab.typing import Adj, Size
from gnnlab.utils import add_self_loops
from gnnlab.utils._spmm import as_sparse_tensor


class SimpleConv(WeightedConv):
    """x'_i = the neighbours' x_j, times edge weights where there are any, reduced; no parameters.

    aggr: how to reduce. combine_root: what becomes of the node's own x: "sum" (added), "cat" (beside), "self_loop"
    (one more neighbour), or None (nothing).

    Raises ValueError for another `combine_root`. PyG: `torch_geometric.nn.SimpleConv`.
    """

    def __init__(self, aggr: Any = "sum", combine_root: str | None = None, **kwargs: Any) -> None:
        if combine_root not in ("sum", "cat", "self_loop", None):
            raise ValueError(f"combine_root: expected 'sum', 'cat', 'self_loop' or None, found {combine_root!r}")
        super().__init__(aggr, **kwargs)
        self.combine_root = combine_root

    def forward(
        self,
        x: Tensor | tuple[Tensor, Tensor | None],
        edge_index: Adj,
        edge_weight: Tensor | None = None,
        size: Size = None,
    ) -> Tensor:
        """[num_targets, in_channels], twice as many with "cat".

        x: [num_nodes, in_channels] float, or a pair for sources and targets. edge_index: edges or transposed adjacency,
        whose values are weights. edge_weight: [num_edges], for an edge_index.
        """
        if self.combine_root == "self_loop":
            if not isinstance(x, Tensor) or (size is not None and size[0] != size[1]):
                raise ValueError("combine_root: expected other than 'self_loop' for edges between two sets of nodes")
            if sparse.is_sparse(edge_index):
                edge_index = _with_loops(as_sparse_tensor(edge_index))
            else:
                assert isinstance(edge_index, Tensor)
                edge_index, edge_weight = add_self_loops(edge_index, edge_weight, num_nodes=x.size(self.node_dim))
        own = pair_of(x)
        out = self.propagate(edge_index, x=own, edge_weight=edge_weight, size=size)
        if own[1] is None or self.combine_root not in ("sum", "cat"):
            return out
        return out + own[1] if self.combine_root == "sum" else torch.cat([own[1], out], dim=-1)


def _with_loops(adj: SparseTensor) -> SparseTensor:
    row, col, value = adj.coo()
    edges, value = add_self_loops(torch.stack([row, col]), value, num_nodes=adj.size(0))
    sizes = adj.sparse_sizes()
    return SparseTensor(row=edges[0], col=edges[1], value=value, sparse_sizes=sizes, is_transposed=adj.is_transposed)
