"""Several aggregations side by side."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn import ModuleList

from gnnlab.nn.aggr.base import Aggregation
from gnnlab.nn.inits import reset
from gnnlab.nn.resolver import aggregation_resolver

_MODES = {
    "cat": lambda outs: torch.cat(outs, dim=-1),
    "sum": lambda outs: torch.stack(outs).sum(0),
    "add": lambda outs: torch.stack(outs).sum(0),
    "mean": lambda outs: torch.stack(outs).mean(0),
    "max": lambda outs: torch.stack(outs).amax(0),
    "min": lambda outs: torch.stack(outs).amin(0),
    "logsumexp": lambda outs: torch.stack(outs).logsumexp(0),
    "std": lambda outs: torch.stack(outs).std(0),
    "var": lambda outs: torch.stack(outs).var(0),
}


class MultiAggregation(Aggregation):
    """Several aggregations of the same groups, joined.

    aggrs: aggregations, or names of them. aggrs_kwargs: arguments for each that is given by name.
    mode: "cat" (side by side in the last dimension), "sum" ("add"), "mean", "max", "min", "logsumexp", "std", "var".

    Raises ValueError for no aggregations, another number of arguments, or another mode.
    PyG: `torch_geometric.nn.aggr.MultiAggregation`.
    """

    def __init__(
        self,
        aggrs: Sequence[Aggregation | str],
        aggrs_kwargs: Sequence[dict[str, Any]] | None = None,
        mode: str = "cat",
    ) -> None:
        super().__init__()
        if not isinstance(aggrs, (list, tuple)) or len(aggrs) == 0:
            raise ValueError(f"aggrs: expected a list of at least one aggregation, found {aggrs!r}")
        kwargs = [{}] * len(aggrs) if aggrs_kwargs is None else aggrs_kwargs
        if len(kwargs) != len(aggrs):
            raise ValueError(f"aggrs_kwargs: expected {len(aggrs)}, one for each of aggrs, found {len(kwargs)}")
        if mode not in _MODES:
            raise ValueError(f"mode: expected one of {', '.join(map(repr, _MODES))}, found {mode!r}")
        self.aggrs = ModuleList(aggregation_resolver(a, **k) for a, k in zip(aggrs, kwargs, strict=True))
        self.mode = mode

    def reset_parameters(self) -> None:
        """Draw the parameters of all aggregations anew."""
        for aggr in self.aggrs:
            reset(aggr)

    def forward(
        self,
        x: Tensor,
        index: Tensor | None = None,
        ptr: Tensor | None = None,
        dim_size: int | None = None,
        dim: int = -2,
    ) -> Tensor:
        """See `Aggregation.forward`."""
        outs = [aggr(x, index, ptr, dim_size, dim) for aggr in self.aggrs]
        return outs[0] if len(outs) == 1 else _MODES[self.mode](outs)

    def __repr__(self) -> str:
        lines = ",\n".join(f"  {aggr}" for aggr in self.aggrs)
        return f"{type(self).__name__}([\n{lines},\n], mode={self.mode})"
