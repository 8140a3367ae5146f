"""What convolutions over normalised edges share."""

from typing import Any

from torch import Tensor

from gnnlab.nn.conv.message_passing import MessagePassing
from gnnlab.typing import Adj
from gnnlab.utils import spmm
from gnnlab.utils.gcn_norm import gcn_norm


class NormalizedConv(MessagePassing):
    """Neighbours' features times edge weights, which may be normalised first, and kept.

    normalize: scale weights by the degrees of both ends; see `gcn_norm` for `improved` and `add_self_loops`.
    cached: keep what was normalised at the first call, for layers that see one graph only.
    """

    def __init__(
        self,
        *,
        normalize: bool = True,
        improved: bool = False,
        add_self_loops: bool = True,
        cached: bool = False,
        **kwargs: Any,
    ) -> None:
        kwargs.setdefault("aggr", "add")
        super().__init__(**kwargs)
        self.normalize, self.improved = normalize, improved
        self.add_self_loops, self.cached = add_self_loops, cached
        self._cached: Any = None

    def reset_parameters(self) -> None:
        """Draw the parameters anew, and forget what was kept."""
        super().reset_parameters()
        self._cached = None

    def _edges(self, x: Tensor, edge_index: Adj, edge_weight: Tensor | None) -> tuple[Adj, Tensor | None]:
        """The edges and their weights, normalised where the layer does so."""
        if isinstance(x, (tuple, list)):
            raise ValueError(
                f"x: expected the features of one set of nodes, found a pair: {type(self).__name__} is not bipartite"
            )
        if not self.normalize:
            return edge_index, edge_weight
        found = self._cached
        if found is None:
            size = x.size(self.node_dim)
            found = gcn_norm(edge_index, edge_weight, size, self.improved, self.add_self_loops, self.flow, x.dtype)
            found = found if isinstance(found, tuple) else (found, None)
            self._cached = found if self.cached else None
        return found

    def message(self, x_j: Tensor, edge_weight: Tensor | None) -> Tensor:
        """[num_edges, channels]."""
        return x_j if edge_weight is None else edge_weight.view(-1, 1) * x_j

    def message_and_aggregate(self, adj_t: Adj, x: Tensor) -> Tensor:
        """[num_nodes, channels]."""
        return spmm(adj_t, x, str(self.aggr))
