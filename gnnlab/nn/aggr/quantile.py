"""Aggregations by the order of a group's entries."""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from gnnlab.nn.aggr.base import Aggregation
from gnnlab.utils import scatter

#: The entry to take for a place between two.
_ROUNDED: dict[str, Callable[[Tensor], Tensor]] = {"lower": torch.floor, "higher": torch.ceil, "nearest": torch.round}
_INTERPOLATIONS = ("linear", *_ROUNDED, "midpoint")


class QuantileAggregation(Aggregation):
    """What a share q of a group's entries lies below, channel by channel.

    q: the share, in [0, 1], or a list of them, whose quantiles stand one after another, all channels of one q first.
    interpolation: what to take where q falls between two entries: "linear", "lower", "higher", "nearest" (the one at an
    even place of two as near) or "midpoint". fill_value: what an empty group holds.

    Raises ValueError for q outside of [0, 1], no q, or another `interpolation`.
    PyG: `torch_geometric.nn.aggr.QuantileAggregation`.
    """

    def __init__(self, q: float | Sequence[float], interpolation: str = "linear", fill_value: float = 0.0) -> None:
        super().__init__()
        shares = [q] if isinstance(q, (int, float)) else list(q)
        if not shares or not all(0.0 <= share <= 1.0 for share in shares):
            raise ValueError(f"q: expected at least one number, each in [0, 1], found {q}")
        if interpolation not in _INTERPOLATIONS:
            raise ValueError(f"interpolation: expected one of {_INTERPOLATIONS}, found {interpolation!r}")
        self._q = q
        self.register_buffer("q", torch.tensor(shares, dtype=torch.get_default_dtype()).view(-1, 1))
        self.q: Tensor
        self.interpolation = interpolation
        self.fill_value = fill_value

    def get_out_channels(self, in_channels: int) -> int:
        """As many as come in, for each q."""
        return in_channels * self.q.numel()

    def forward(
        self,
        x: Tensor,
        index: Tensor,
        ptr: Tensor | None = None,
        dim_size: int | None = None,
        dim: int = -2,
    ) -> Tensor:
        """[..., dim_size, number of q times the next dimension, ...]; see `Aggregation.forward`."""
        dim = dim % x.dim()
        assert dim_size is not None
        count = scatter(torch.ones_like(index), index, 0, dim_size)
        first = (count.cumsum(0) - count).view(-1, 1)
        place = self.q.t() * (count - 1).clamp(min=0).view(-1, 1)  # [dim_size, number of q], within the group
        along = [-1 if d == dim else 1 for d in range(x.dim())]
        if x.size(dim) == 0:
            found = x.new_zeros([*x.shape[:dim], place.numel(), *x.shape[dim + 1 :]])
        else:
            entries = _sorted_in_groups(x, index.view(along), dim)

            def at(rounded: Tensor) -> Tensor:
                spots = (first + rounded.long()).clamp(max=x.size(dim) - 1)
                return entries.index_select(dim, spots.flatten())

            if self.interpolation in _ROUNDED:
                found = at(_ROUNDED[self.interpolation](place))
            else:
                part = place.frac() if self.interpolation == "linear" else torch.full_like(place, 0.5)
                found = torch.lerp(at(place.floor()), at(place.ceil()), part.flatten().view(along).to(x.dtype))
        empty = (count == 0).repeat_interleave(self.q.numel()).view(along)
        found = found.masked_fill(empty, self.fill_value).unflatten(dim, (dim_size, self.q.numel()))
        return found if found.dim() == dim + 2 else found.flatten(dim + 1, dim + 2)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(q={self._q})"


class MedianAggregation(QuantileAggregation):
    """The middle entry of a group, channel by channel, or the lower of two. fill_value: what an empty group holds.

    PyG: `torch_geometric.nn.aggr.MedianAggregation`.
    """

    def __init__(self, fill_value: float = 0.0) -> None:
        super().__init__(0.5, "lower", fill_value)

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


def _sorted_in_groups(x: Tensor, group: Tensor, dim: int) -> Tensor:
    """`x` sorted along `dim` by group and then by value; `group` is int64 and expands to `x`."""
    entries, order = x.sort(stable=True, dim=dim)
    order = group.expand_as(x).gather(dim, order).argsort(stable=True, dim=dim)
    return entries.gather(dim, order)
