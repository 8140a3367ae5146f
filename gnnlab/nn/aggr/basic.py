"""Aggregations of one reduction, and of a few after one another."""

import math

import torch
from torch import Tensor
from torch.nn import Parameter

from gnnlab.nn.aggr.base import Aggregation
from gnnlab.utils import scatter, softmax

_LEAST_VARIANCE = 1e-5  # what `StdAggregation` takes for 0


class _Reduction(Aggregation):
    """One reduction of `gnnlab.utils.scatter`."""

    reduction: str

    def forward(
        self,
        x: Tensor,
        index: Tensor,
        ptr: Tensor | None = None,
        dim_size: int | None = None,
        dim: int = -2,
    ) -> Tensor:
        """See `Aggregation.forward`."""
        return self.reduce(x, index, ptr, dim_size, dim, self.reduction)


class SumAggregation(_Reduction):
    """The sum of a group; 0 for an empty one. PyG: `torch_geometric.nn.aggr.SumAggregation`."""

    reduction = "sum"


class MeanAggregation(_Reduction):
    """The mean of a group; 0 for an empty one. PyG: `torch_geometric.nn.aggr.MeanAggregation`."""

    reduction = "mean"


class MaxAggregation(_Reduction):
    """The greatest of a group; 0 for an empty one. Entries that tie share the gradient evenly.

    PyG: `torch_geometric.nn.aggr.MaxAggregation`.
    """

    reduction = "max"


class MinAggregation(_Reduction):
    """The least of a group; 0 for an empty one. Entries that tie share the gradient evenly.

    PyG: `torch_geometric.nn.aggr.MinAggregation`.
    """

    reduction = "min"


class MulAggregation(_Reduction):
    """The product of a group; 1 for an empty one. PyG: `torch_geometric.nn.aggr.MulAggregation`."""

    reduction = "mul"


class VarAggregation(Aggregation):
    """The mean squared distance from the mean of a group; 0 for an empty one.

    semi_grad: take the mean of squares, of which it is one part, as constant, so that only the other, the squared mean,
    has a gradient.

    It is computed of the distances, and keeps the digits that a difference of large squares loses.
    PyG: `torch_geometric.nn.aggr.VarAggregation`.
    """

    def __init__(self, semi_grad: bool = False) -> None:
        super().__init__()
        self.semi_grad = semi_grad

    def forward(
        self,
        x: Tensor,
        index: Tensor,
        ptr: Tensor | None = None,
        dim_size: int | None = None,
        dim: int = -2,
    ) -> Tensor:
        """See `Aggregation.forward`."""
        mean = scatter(x, index, dim, dim_size, "mean")
        distance = x - mean.index_select(dim, index)
        out = scatter(distance * distance, index, dim, dim_size, "mean")
        if not self.semi_grad:
            return out
        square = mean * mean
        return out.detach() - (square - square.detach())


class StdAggregation(Aggregation):
    """The square root of the variance of a group; 0, without a gradient, where the variance is at most 1e-5.

    semi_grad: see `VarAggregation`. PyG: `torch_geometric.nn.aggr.StdAggregation`.
    """

    def __init__(self, semi_grad: bool = False) -> None:
        super().__init__()
        self.var_aggr = VarAggregation(semi_grad)

    def forward(
        self,
        x: Tensor,
        index: Tensor,
        ptr: Tensor | None = None,
        dim_size: int | None = None,
        dim: int = -2,
    ) -> Tensor:
        """See `Aggregation.forward`."""
        var: Tensor = self.var_aggr(x, index, ptr, dim_size, dim)
        out = var.clamp(min=_LEAST_VARIANCE).sqrt()
        return out.masked_fill(out <= math.sqrt(_LEAST_VARIANCE), 0.0)


class SoftmaxAggregation(Aggregation):
    """The mean of a group, each entry weighted by softmax(t x): t = 0 gives the mean, a large t the greatest.

    t: the (first) inverse temperature. learn: whether it is a parameter. semi_grad: take the weights as constant.
    channels: how many t there are, one for all channels or one for each, if learned.

    Raises ValueError for `semi_grad` or several `channels` that do not go with `learn`. Source:
    https://arxiv.org/abs/2006.07739. PyG: `torch_geometric.nn.aggr.SoftmaxAggregation`.
    """

    def __init__(self, t: float = 1.0, learn: bool = False, semi_grad: bool = False, channels: int = 1) -> None:
        super().__init__()
        if learn and semi_grad:
            raise ValueError("semi_grad: expected False with learn, found True")
        _check_channels(channels, learn)
        self._init_t = t
        self.learn = learn
        self.semi_grad = semi_grad
        self.channels = channels
        self.t: Tensor | float = Parameter(torch.empty(channels)) if learn else t
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Take the first t again."""
        if isinstance(self.t, Tensor):
            self.t.data.fill_(self._init_t)

    def forward(
        self,
        x: Tensor,
        index: Tensor,
        ptr: Tensor | None = None,
        dim_size: int | None = None,
        dim: int = -2,
    ) -> Tensor:
        """See `Aggregation.forward`; with several t the channels are the last dimension of `x`."""
        with torch.set_grad_enabled(torch.is_grad_enabled() and not self.semi_grad):
            weight = softmax(x * self.t, index, num_nodes=dim_size, dim=dim)
        return scatter(x * weight, index, dim, dim_size, "sum")

    def __repr__(self) -> str:
        return f"{type(self).__name__}(learn={self.learn})"


class PowerMeanAggregation(Aggregation):
    """The p-th root of the mean of the p-th powers of a group: p = 1 gives the mean, a large p the greatest.

    p: the (first) power. learn: whether it is a parameter. channels: how many p there are, one for all channels or one
    for each, if learned. clamp_min, clamp_max: entries and means are brought between these, where they are not None;
    nothing is where p is 1 and not learned.

    Raises ValueError for several `channels` without `learn`. Source: https://arxiv.org/abs/2006.07739.
    PyG: `torch_geometric.nn.aggr.PowerMeanAggregation`.
    """

    def __init__(
        self,
        p: float = 1.0,
        learn: bool = False,
        channels: int = 1,
        clamp_min: float | None = 1e-4,
        clamp_max: float | None = 100.0,
    ) -> None:
        super().__init__()
        _check_channels(channels, learn)
        self._init_p = p
        self.learn = learn
        self.channels = channels
        self.clamp_min, self.clamp_max = clamp_min, clamp_max
        self.p: Tensor | float = Parameter(torch.empty(channels)) if learn else p
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Take the first p again."""
        if isinstance(self.p, Tensor):
            self.p.data.fill_(self._init_p)

    def forward(
        self,
        x: Tensor,
        index: Tensor,
        ptr: Tensor | None = None,
        dim_size: int | None = None,
        dim: int = -2,
    ) -> Tensor:
        """See `Aggregation.forward`; with several p the channels are the last dimension of `x`."""
        if not self.learn and self.p == 1:
            return scatter(x, index, dim, dim_size, "mean")
        mean = scatter(self._clamp(x).pow(self.p), index, dim, dim_size, "mean")
        return self._clamp(mean).pow(1.0 / self.p)

    def _clamp(self, x: Tensor) -> Tensor:
        return x if self.clamp_min is self.clamp_max is None else x.clamp(self.clamp_min, self.clamp_max)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(learn={self.learn})"


def _check_channels(channels: int, learn: bool) -> None:
    if channels != 1 and not learn:
        raise ValueError(f"channels: expected 1 without learn, found {channels}")
