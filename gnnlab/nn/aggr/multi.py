"""Several aggregations side by side."""

from collections.abc import Sequence
from typing import Any, cast

import torch
from torch import Tensor
from torch.nn import ModuleList, MultiheadAttention

from gnnlab.nn.aggr.base import Aggregation
from gnnlab.nn.dense import HeteroDictLinear, Linear
from gnnlab.nn.inits import reset
from gnnlab.nn.joins import join
from gnnlab.nn.resolver import aggregation_resolver

_MODES = ("cat", "sum", "add", "mean", "max", "min", "logsumexp", "std", "var", "proj", "attn")


class MultiAggregation(Aggregation):
    """Several aggregations of the same groups, joined.

    aggrs: aggregations, or names of them. aggrs_kwargs: arguments for each that is given by name.
    mode: "cat" (side by side in the last dimension); "sum" ("add"), "mean", "max", "min", "logsumexp", "std", "var";
    "proj" (side by side, then a linear layer), or "attn" (a linear layer each, attention between them, their mean).
    mode_kwargs: for "proj" and "attn" `in_channels` and `out_channels`, and what else `Linear` or
    `torch.nn.MultiheadAttention` takes (`num_heads`, 1 by default).

    Raises ValueError for no aggregations, another number of arguments, another mode, or a mode that lacks its sizes.
    PyG: `torch_geometric.nn.aggr.MultiAggregation`.
    """

    def __init__(
        self,
        aggrs: Sequence[Aggregation | str],
        aggrs_kwargs: Sequence[dict[str, Any]] | None = None,
        mode: str = "cat",
        mode_kwargs: dict[str, Any] | None = None,
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
        if mode in ("proj", "attn"):
            self._make_layers(dict(mode_kwargs or {}))

    def _make_layers(self, kwargs: dict[str, Any]) -> None:
        if len(self.aggrs) == 1:
            raise ValueError(f"aggrs: expected several for mode={self.mode!r}, found one")
        if not kwargs.keys() >= {"in_channels", "out_channels"}:
            raise ValueError(
                f"mode_kwargs: expected in_channels and out_channels for mode={self.mode!r}, found {sorted(kwargs)}"
            )
        self.in_channels, self.out_channels = kwargs.pop("in_channels"), kwargs.pop("out_channels")
        each = self._channels(self.in_channels)
        if self.mode == "proj":
            self.lin = Linear(sum(each), self.out_channels, **kwargs)
            return
        self.lin_heads = HeteroDictLinear({str(i): size for i, size in enumerate(each)}, self.out_channels)
        self.multihead_attn = MultiheadAttention(self.out_channels, kwargs.pop("num_heads", 1), **kwargs)

    def reset_parameters(self) -> None:
        """Draw the parameters of all aggregations, and of the mode, anew."""
        for aggr in self.aggrs:
            reset(aggr)
        if self.mode == "proj":
            self.lin.reset_parameters()
        elif self.mode == "attn":
            self.lin_heads.reset_parameters()
            self.multihead_attn.out_proj.reset_parameters()
            self.multihead_attn._reset_parameters()

    def get_out_channels(self, in_channels: int) -> int:
        """How many channels come out where so many come in."""
        if self.mode in ("proj", "attn"):
            return int(self.out_channels)
        each = self._channels(in_channels)
        return sum(each) if self.mode == "cat" else each[0]

    def _channels(self, in_channels: int) -> list[int]:
        """How many channels each aggregation gives."""
        return [cast(Aggregation, aggr).get_out_channels(in_channels) for aggr in self.aggrs]

    def forward(
        self,
        x: Tensor,
        index: Tensor,
        ptr: Tensor | None = None,
        dim_size: int | None = None,
        dim: int = -2,
    ) -> Tensor:
        """See `Aggregation.forward`."""
        return self.combine([aggr(x, index, ptr, dim_size, dim) for aggr in self.aggrs])

    def combine(self, inputs: list[Tensor]) -> Tensor:
        """What the aggregations gave, joined. With "attn" each is [num_groups, channels]."""
        if len(inputs) == 1:
            return inputs[0]
        if self.mode == "proj":
            out: Tensor = self.lin(torch.cat(inputs, dim=-1))
            return out
        if self.mode == "attn":
            heads = self.lin_heads({str(i): value for i, value in enumerate(inputs)})
            stacked = torch.stack(list(heads.values()))  # [number of aggregations, num_groups, out_channels]
            return self.multihead_attn(stacked, stacked, stacked)[0].mean(dim=0)
        return join(inputs, self.mode)

    def __repr__(self) -> str:
        lines = ",\n".join(f"  {aggr}" for aggr in self.aggrs)
        return f"{type(self).__name__}([\n{lines},\n], mode={self.mode})"
