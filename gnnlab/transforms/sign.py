"""Features of the neighbourhood, computed before training."""

from typing import Any

from torch import Tensor

from gnnlab.sparse import SparseTensor
from gnnlab.transforms.base_transform import BaseTransform, functional_transform
from gnnlab.transforms.edges import edge_index_of
from gnnlab.utils import spmm
from gnnlab.utils.gcn_norm import gcn_norm


@functional_transform("sign")
class SIGN(BaseTransform):
    """Add `x1` to `xK`, the features after one to K steps along the edges (`torch_geometric.transforms.SIGN`).

    `x` and each of these are [num_nodes, num_features] float; one step multiplies by the adjacency that
    `gnnlab.utils.gcn_norm` normalises, with `edge_weight` [num_edges] where there is one, without self-loops. A model
    then reads the nodes' features alone. Source: Frasca et al., "SIGN: Scalable Inception Graph Neural Networks",
    arXiv:2004.11198.

    Args:
        K: how many steps.

    Raises:
        ValueError: for a negative K, or a graph that is heterogeneous or has no `edge_index` or no `x` of that form.
    """

    def __init__(self, K: int) -> None:
        if K < 0:
            raise ValueError(f"K: expected a number of steps from 0, found {K}")
        self.K = K

    def forward(self, data: Any) -> Any:
        edge_index = edge_index_of(data, self)
        x = data.x
        if not isinstance(x, Tensor) or x.dim() != 2 or not x.is_floating_point():
            raise ValueError("x: expected node features, [num_nodes, num_features] float, found another or none")
        num_nodes = x.size(0)
        _, weight = gcn_norm(edge_index, data.edge_weight, num_nodes, add_self_loops=False, dtype=x.dtype)
        adj_t = SparseTensor(row=edge_index[1], col=edge_index[0], value=weight, sparse_sizes=(num_nodes, num_nodes))
        for step in range(1, self.K + 1):
            x = data[f"x{step}"] = spmm(adj_t, x)
        return data

    def __repr__(self) -> str:
        return f"{type(self).__name__}(K={self.K})"
