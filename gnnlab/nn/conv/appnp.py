"""Steps to neighbours that lead back to the start."""

from typing import Any

from torch import Tensor
from torch.nn import functional

from gnnlab import sparse
from gnnlab.nn.conv.normalized import NormalizedConv
from gnnlab.typing import Adj
from gnnlab.utils._spmm import as_sparse_tensor


class APPNP(NormalizedConv):
    """x ← (1 - alpha) Â x + alpha x⁽⁰⁾, K times, with the normalised adjacency Â; no parameters.

    K: the number of steps. alpha: the share of the start. dropout: the probability at which an edge is left out of a
    step in training. cached: keep the normalised edges of the first call (for one graph only). add_self_loops,
    normalize: as in `gcn_norm`.

    Source: https://arxiv.org/abs/1810.05997. PyG: `torch_geometric.nn.APPNP`.
    """

    def __init__(
        self,
        K: int,
        alpha: float,
        dropout: float = 0.0,
        cached: bool = False,
        add_self_loops: bool = True,
        normalize: bool = True,
        **kwargs: Any,
    ) -> None:
        super().__init__(normalize=normalize, add_self_loops=add_self_loops, cached=cached, **kwargs)
        self.K, self.alpha, self.dropout = K, alpha, dropout

    def forward(self, x: Tensor, edge_index: Adj, edge_weight: Tensor | None = None) -> Tensor:
        """[num_nodes, in_channels].

        x: [num_nodes, in_channels] float. edge_index: edges or transposed adjacency, whose values are weights.
        edge_weight: [num_edges], for an edge_index.
        """
        edge_index, edge_weight = self._edges(x, edge_index, edge_weight)
        start = x
        for _ in range(self.K):
            edges, weight = self._dropped(edge_index, edge_weight)
            x = self.propagate(edges, x=x, edge_weight=weight)
            x = (1 - self.alpha) * x + self.alpha * start
        return x

    def _dropped(self, edge_index: Adj, edge_weight: Tensor | None) -> tuple[Adj, Tensor | None]:
        """The edges of one step."""
        if not self.training or self.dropout == 0:
            return edge_index, edge_weight
        if not sparse.is_sparse(edge_index):
            assert isinstance(edge_index, Tensor)
            weight = edge_index.new_ones(edge_index.size(1)).float() if edge_weight is None else edge_weight
            return edge_index, functional.dropout(weight, self.dropout)
        adj = as_sparse_tensor(edge_index)
        adj = adj if adj.has_value() else adj.fill_value(1.0)
        value = adj.storage.value()
        assert value is not None
        return adj.set_value(functional.dropout(value, self.dropout), layout="coo"), None

    def __repr__(self) -> str:
        return f"{type(self).__name__}(K={self.K}, alpha={self.alpha})"
