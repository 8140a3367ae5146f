"""Aggregations scaled by how many rows a group has."""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn import Parameter

from gnnlab.nn.aggr.base import Aggregation
from gnnlab.nn.inits import reset
from gnnlab.nn.resolver import aggregation_resolver
from gnnlab.utils import scatter

#: What a group is multiplied by, of its size and the mean size and mean log(size + 1) of the training data.
_SCALERS: dict[str, Callable[[Tensor, Tensor, Tensor], Any]] = {
    "identity": lambda size, lin, log: 1.0,
    "amplification": lambda size, lin, log: (size + 1).log() / log,
    "attenuation": lambda size, lin, log: log / (size.clamp(min=1) + 1).log(),
    "linear": lambda size, lin, log: size / lin,
    "inverse_linear": lambda size, lin, log: lin / size.clamp(min=1),
}


class DegreeScalerAggregation(Aggregation):
    """One or several aggregations, times functions of the group's size, side by side.

    aggr: an aggregation, its name, or a list of them. scaler: one or several of "identity", "amplification",
    "attenuation", "linear" and "inverse_linear". deg: [max_size + 1] integers, how many groups of each size the
    training data has. train_norm: whether its mean size and mean log(size + 1) are parameters. aggr_kwargs: arguments
    of aggregations given by name: a list of dicts for a list, a dict for one.

    Raises ValueError for another `aggr` or `scaler`, or a `deg` without groups. Source:
    https://arxiv.org/abs/2004.05718. PyG: `torch_geometric.nn.aggr.DegreeScalerAggregation`.
    """

    def __init__(
        self,
        aggr: str | Sequence[Any] | Aggregation,
        scaler: str | Sequence[str],
        deg: Tensor,
        train_norm: bool = False,
        aggr_kwargs: Any = None,
    ) -> None:
        super().__init__()
        if isinstance(aggr, (list, tuple)):
            self.aggr = aggregation_resolver(aggr, aggrs_kwargs=aggr_kwargs)
        else:
            self.aggr = aggregation_resolver(aggr, **(aggr_kwargs or {}))
        self.scaler = [scaler] if isinstance(scaler, str) else list(scaler)
        for name in self.scaler:
            if name not in _SCALERS:
                raise ValueError(f"scaler: expected one of {list(_SCALERS)}, found {name!r}")
        total = int(deg.sum())
        if total == 0:
            raise ValueError("deg: expected the number of groups of each size, found no group")
        size = torch.arange(deg.numel(), dtype=torch.get_default_dtype(), device=deg.device)
        self.init_avg_deg_lin = float((size * deg).sum()) / total
        self.init_avg_deg_log = float(((size + 1).log() * deg).sum()) / total
        for name in ("avg_deg_lin", "avg_deg_log"):
            if train_norm:
                self.register_parameter(name, Parameter(torch.empty(1)))
            else:
                self.register_buffer(name, torch.empty(1))
        self.avg_deg_lin: Tensor
        self.avg_deg_log: Tensor
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Take the means of the training data again, and draw the aggregation's parameters anew."""
        reset(self.aggr)
        self.avg_deg_lin.data.fill_(self.init_avg_deg_lin)
        self.avg_deg_log.data.fill_(self.init_avg_deg_log)

    def get_out_channels(self, in_channels: int) -> int:
        """As many as the aggregation gives, for each scaler."""
        return self.aggr.get_out_channels(in_channels) * len(self.scaler)

    def forward(
        self,
        x: Tensor,
        index: Tensor,
        ptr: Tensor | None = None,
        dim_size: int | None = None,
        dim: int = -2,
    ) -> Tensor:
        """The scaled aggregations, joined along the last dimension; see `Aggregation.forward`."""
        out = self.aggr(x, index, ptr, dim_size, dim)
        along = [-1 if d == dim % x.dim() else 1 for d in range(x.dim())]
        size = scatter(torch.ones_like(index, dtype=out.dtype), index, 0, dim_size).view(along)
        scales = (_SCALERS[name](size, self.avg_deg_lin, self.avg_deg_log) for name in self.scaler)
        return torch.cat([out * scale for scale in scales], dim=-1)
