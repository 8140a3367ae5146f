"""What convolutions over normalised edges share."""

from typing import Any

from torch import Tensor

from gnnlab.nn.conv.products import WeightedConv
from gnnlab.typing import Adj
from gnnlab.utils.gcn_norm import gcn_norm


class NormalizedConv(WeightedConv):
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
        """What `_normalized` gives, or gave at the first call where it is kept."""
        if self._cached is None:
            found = self._normalized(x, edge_index, edge_weight)
            if self.cached and self.normalize:
                self._cached = found
            return found
        self._check_one_set(x)
        return self._cached

    def _normalized(self, x: Tensor, edge_index: Adj, edge_weight: Tensor | None) -> tuple[Adj, Tensor | None]:
        """The edges and their weights, normalised where the layer does so."""
        self._check_one_set(x)
        if not self.normalize:
            return edge_index, edge_weight
        size = x.size(self.node_dim)
        found = gcn_norm(edge_index, edge_weight, size, self.improved, self.add_self_loops, self.flow, x.dtype)
        return found if isinstance(found, tuple) else (found, None)

    def _check_one_set(self, x: Tensor) -> None:
        if isinstance(x, (tuple, list)):
            raise ValueError(
                f"x: expected the features of one set of nodes, found a pair: {type(self).__name__} is not bipartite"
            )
