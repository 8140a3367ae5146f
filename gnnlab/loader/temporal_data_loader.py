"""`TemporalDataLoader`: mini-batches of events in the order of time."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor

from gnnlab.data.temporal import TemporalData


class TemporalDataLoader(torch.utils.data.DataLoader[Any]):
    """Mini-batches of successive events (`torch_geometric.loader.TemporalDataLoader`).

    A batch is a `TemporalData` of `batch_size` events, the last one of those that are left, with two more attributes:

    - `neg_dst: [round(neg_sampling_ratio * num_events)]`, with a ratio above 0: target nodes drawn uniformly from the
      range between the smallest and the largest target of the whole stream, true targets not excluded.
    - `n_id`: the distinct nodes of `src`, `dst` and `neg_dst`, sorted.

    Args:
        data: the stream of events, as a rule sorted by time.
        batch_size: events a batch.
        neg_sampling_ratio: targets drawn for each event.
        **kwargs: further arguments of `torch.utils.data.DataLoader`. `drop_last` drops a last batch of fewer events.
            `generator` draws `neg_dst`; of workers, each has a generator of its own that is seeded from it. `dataset`
            and `collate_fn` are left out.

    Raises:
        TypeError: if `data` is no `TemporalData`.
        ValueError: if `data` lacks `src` or `dst`, or has no events to draw targets from, if an argument is out of
            range, or for `shuffle=True` (which PyG ignores) and `batch_sampler`: batches are made of successive events.

    >>> data = TemporalData(src=torch.arange(3), dst=torch.arange(3) + 5, t=torch.arange(3))
    >>> [batch.n_id.tolist() for batch in TemporalDataLoader(data, batch_size=2)]
    [[0, 1, 5, 6], [2, 7]]
    """

    def __init__(self, data: Any, batch_size: int = 1, neg_sampling_ratio: float = 0.0, **kwargs: Any) -> None:
        if not isinstance(data, TemporalData):
            raise TypeError(f"data must be a TemporalData, found {type(data).__name__}")
        missing = [key for key in ("src", "dst") if key not in data]
        if missing:
            raise ValueError(f"data must have 'src' and 'dst', found no {' and no '.join(map(repr, missing))}")
        if not isinstance(batch_size, int) or batch_size < 1:
            raise ValueError(f"batch_size must be a positive integer, found {batch_size!r}")
        if not 0 <= neg_sampling_ratio < float("inf"):
            raise ValueError(f"neg_sampling_ratio must be a number of at least 0, found {neg_sampling_ratio!r}")
        if kwargs.pop("shuffle", False):
            raise ValueError("shuffle must be False: batches come in the order of the events")
        if kwargs.get("batch_sampler") is not None:
            raise ValueError("batch_sampler can't be used: batches are made of batch_size successive events")
        if neg_sampling_ratio > 0 and data.num_events == 0:
            raise ValueError("neg_sampling_ratio must be 0 for a stream without events: it has no targets to draw from")
        self.data = data
        self.events_per_batch = batch_size
        self.neg_sampling_ratio = neg_sampling_ratio
        draw = None
        if neg_sampling_ratio > 0:
            self.min_dst, self.max_dst = (int(bound) for bound in data.dst.aminmax())
            generator = None if kwargs.get("num_workers") else kwargs.get("generator")
            draw = partial(_draw, neg_sampling_ratio, self.min_dst, self.max_dst, generator)
        count = data.num_events
        if kwargs.pop("drop_last", False):
            count -= count % batch_size
        for key in ("dataset", "collate_fn"):
            kwargs.pop(key, None)
        starts: Any = range(0, count, batch_size)
        super().__init__(starts, collate_fn=partial(_batch, data, batch_size, draw), **kwargs)

    def __call__(self, starts: Sequence[int]) -> TemporalData:
        """The batch that begins at event `starts[0]`, the only entry."""
        return self.collate_fn(list(starts))


def _batch(data: TemporalData, batch_size: int, draw: Callable[[Tensor], Tensor] | None, starts: Any) -> TemporalData:
    (start,) = starts
    batch = data[start : start + batch_size]
    ends = [batch.src, batch.dst]
    if draw is not None:
        batch.neg_dst = draw(batch.dst)
        ends.append(batch.neg_dst)
    batch.n_id = torch.cat(ends).unique()
    return batch


def _draw(ratio: float, low: int, high: int, generator: torch.Generator | None, dst: Tensor) -> Tensor:
    """`ratio` targets in [`low`, `high`] for each of `dst`."""
    device = dst.device if generator is None else generator.device
    count = round(ratio * len(dst))
    return torch.randint(low, high + 1, (count,), generator=generator, dtype=dst.dtype, device=device).to(dst.device)
