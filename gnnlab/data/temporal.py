"""`TemporalData`: a graph as a stream of events in time."""

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, Self

import numpy as np
import torch
from torch import Tensor

from gnnlab.data.data import BaseData
from gnnlab.data.positions import is_scalar, positions
from gnnlab.data.rules import Rule, increment_of, rule_of
from gnnlab.data.storage import BaseStorage, EdgeStorage, GlobalStorage, NodeStorage
from gnnlab.data.text import one_line


class TemporalData(BaseData):
    """A stream of events, each an edge at a point in time (`torch_geometric.data.TemporalData`).

    Indexing selects events: `data[0]`, `data[:10]`, `data[ids]` and `data[mask]` are streams
    again, `data['src']` is an attribute. `len(data)` is the number of events.

    Args:
        src: `[num_events]` int64. The source node of every event.
        dst: `[num_events]` int64. The target node of every event.
        t: `[num_events]`. The time of every event, as a rule sorted.
        msg: `[num_events, msg_dim]` float. The features of every event.
        **kwargs: any further attributes; tensors with `num_events` rows go with the events.

    >>> ids = torch.arange(4)
    >>> data = TemporalData(src=ids, dst=ids + 4, t=ids * 10, msg=torch.ones(4, 2))
    >>> data[data.t >= 20]
    TemporalData(src=[2], dst=[2], t=[2], msg=[2, 2])
    >>> data.num_nodes, data.num_events
    (8, 4)
    """

    rules: ClassVar[Mapping[str, Rule]] = {
        "src": Rule(inc="num_nodes"),
        "dst": Rule(inc="num_nodes"),
    }
    _store: GlobalStorage

    def __init__(
        self,
        src: Tensor | None = None,
        dst: Tensor | None = None,
        t: Tensor | None = None,
        msg: Tensor | None = None,
        **kwargs: Any,
    ) -> None:
        self.__dict__["_store"] = GlobalStorage._of({}, self)
        given = {"src": src, "dst": dst, "t": t, "msg": msg}
        for key, value in {**given, **kwargs}.items():
            if value is not None:
                setattr(self, key, value)

    @classmethod
    def _from_mapping(cls, mapping: dict[str, Any]) -> Self:
        """A stream around `mapping` itself, which must hold no `None`."""
        out = cls()
        out.__dict__["_store"] = GlobalStorage._of(mapping, out)
        return out

    @classmethod
    def from_dict(cls, mapping: Mapping[str, Any]) -> Self:
        """A stream with the attributes of `mapping`."""
        return cls(**mapping)

    # Storages ------------------------------------------------------------------------------------

    @property
    def stores(self) -> list[BaseStorage]:
        """The one storage, in a list."""
        return [self._store]

    @property
    def node_stores(self) -> list[NodeStorage]:
        """The one storage, in a list."""
        return [self._store]

    @property
    def edge_stores(self) -> list[EdgeStorage]:
        """The one storage, in a list."""
        return [self._store]

    def stores_as(self, data: Any) -> Self:
        """Nothing to do: every stream has one storage."""
        return self

    # Events --------------------------------------------------------------------------------------

    def index_select(self, idx: Any) -> Self:
        """The events at `idx`, with every attribute that has one entry an event.

        Args:
            idx: an int, a slice, a range, ids, or a mask with one entry an event.

        Raises:
            IndexError: if an event doesn't exist, a mask has the wrong length, or `idx` is of
                another kind.
        """
        if is_scalar(idx):
            idx = [int(idx)]
        chosen: Any = positions(idx, self.num_events)
        if isinstance(chosen, range) and chosen.step == 1:
            chosen = slice(chosen.start, chosen.stop)
        else:
            chosen = torch.tensor(chosen, dtype=torch.long)
        out = type(self)()
        for key, value in self._store.items():
            out[key] = _select(value, chosen) if self._is_event_attr(value) else value
        return out

    def _is_event_attr(self, value: Any) -> bool:
        if isinstance(value, (Tensor, np.ndarray)):
            return value.ndim > 0 and value.shape[0] == self.num_events
        return isinstance(value, (list, tuple)) and len(value) == self.num_events

    def __getitem__(self, idx: Any) -> Any:
        return self._store[idx] if isinstance(idx, str) else self.index_select(idx)

    def __iter__(self) -> Iterator[Self]:
        return (self.index_select(at) for at in range(self.num_events))

    def __len__(self) -> int:
        return self.num_events

    def train_val_test_split(self, val_ratio: float = 0.15, test_ratio: float = 0.15) -> tuple[Self, Self, Self]:
        """The stream cut at two points in time, for training, validation and testing.

        Args:
            val_ratio: the share of events for validation.
            test_ratio: the share of the last events, for testing.

        Raises:
            ValueError: if the ratios don't lie in [0, 1] or exceed 1 together, or the events are
                not ordered by time, so that training would see what comes after.
        """
        if min(val_ratio, test_ratio) < 0 or val_ratio + test_ratio > 1:
            raise ValueError(
                f"val_ratio and test_ratio must be shares of one whole, found {val_ratio} and {test_ratio}"
            )
        if not self.is_sorted_by_time():
            raise ValueError("events must be ordered by 't' to be split: use sort_by_time()")
        times = self.t.cpu().numpy()
        shares = [1.0 - val_ratio - test_ratio, 1.0 - test_ratio]
        ends = np.quantile(times, shares) if len(times) else []
        # Shares are binary fractions, so that a quantile may fall short of the event it should hit by a rounding error.
        rounding = 1e-12 * float(times[-1] - times[0]) if len(times) else 0.0
        cuts = [int((times <= end + rounding).sum()) for end in ends] or [0, 0]
        return self[: cuts[0]], self[cuts[0] : cuts[1]], self[cuts[1] :]

    def is_sorted_by_time(self) -> bool:
        """Whether `t` never falls."""
        return bool((self.t[1:] >= self.t[:-1]).all())

    def sort_by_time(self) -> Self:
        """The events ordered by `t` (stable)."""
        return self[torch.argsort(self.t, stable=True)]

    def snapshot(self, start_time: float, end_time: float, attr: str = "t") -> Self:
        """The events with `attr` in [`start_time`, `end_time`]."""
        return self[(self[attr] >= start_time) & (self[attr] <= end_time)]

    def up_to(self, end_time: float, attr: str = "t") -> Self:
        """The events with `attr` of at most `end_time`."""
        return self[self[attr] <= end_time]

    # Sizes ---------------------------------------------------------------------------------------

    @property
    def num_nodes(self) -> int | None:
        """The number of nodes: as set, else the largest id in `src` and `dst` plus one."""
        if "num_nodes" in self._store:
            return self._store["num_nodes"]
        if "src" not in self._store or "dst" not in self._store:
            return None
        return max(self.size())

    @num_nodes.setter
    def num_nodes(self, value: int | None) -> None:
        self._store["num_nodes"] = value

    @property
    def num_events(self) -> int:
        """The number of events."""
        first = next((self._store[key] for key in ("src", "dst", "t", "msg") if key in self), None)
        return 0 if first is None else int(first.shape[0])

    @property
    def num_edges(self) -> int:
        """The number of events."""
        return self.num_events

    def size(self, dim: int | None = None) -> Any:
        """The largest id in `src` and in `dst` plus one, as a pair, or one of the two."""
        ends = [self._store[key] for key in ("src", "dst")]
        size = tuple(int(ids.max()) + 1 if ids.numel() > 0 else 0 for ids in ends)
        return size if dim is None else size[dim]

    @property
    def edge_index(self) -> Tensor:
        """`[2, num_events]` int64. Source and target of every event."""
        return torch.stack([self._store["src"], self._store["dst"]])

    def node_attrs(self) -> list[str]:
        """No names: a stream has no attributes of nodes."""
        return []

    def edge_attrs(self) -> list[str]:
        """Names of the attributes with one entry an event."""
        return [key for key, value in self._store.items() if self._is_event_attr(value)]

    # Dictionary and attribute access -------------------------------------------------------------

    def __getattr__(self, key: str) -> Any:
        if "_store" not in self.__dict__:
            raise AttributeError(f"'{type(self).__name__}' is not set up yet: no '{key}'")
        return getattr(self._store, key)

    def __setattr__(self, key: str, value: Any) -> None:
        if isinstance(getattr(type(self), key, None), property):
            object.__setattr__(self, key, value)
        else:
            setattr(self._store, key, value)

    def __delattr__(self, key: str) -> None:
        delattr(self._store, key)

    def __setitem__(self, key: str, value: Any) -> None:
        self._store[key] = value

    def __delitem__(self, key: str) -> None:
        del self._store[key]

    def __call__(self, *args: str) -> Iterator[tuple[str, Any]]:
        """Pairs of name and value, of the attributes named in `args` or of all."""
        yield from self._store.items(*args)

    def to_dict(self) -> dict[str, Any]:
        """The attributes as a new dictionary."""
        return self._store.to_dict()

    def to_namedtuple(self) -> Any:
        """The attributes as a named tuple."""
        return self._store.to_namedtuple()

    def update(self, data: Self | Mapping[str, Any]) -> Self:
        """Set every attribute that `data` (a stream or a mapping) has."""
        self._store.update(data if isinstance(data, Mapping) else data._store)
        return self

    def debug(self) -> None:
        """Nothing; kept because PyG has it."""

    def __repr__(self) -> str:
        return one_line(type(self).__name__, self._store.items())

    # How streams are joined ----------------------------------------------------------------------

    def __cat_dim__(self, key: str, value: Any, *args: Any, **kwargs: Any) -> Any:
        return rule_of(key, value, self.rules, "nodes").cat_dim

    def __inc__(self, key: str, value: Any, *args: Any, **kwargs: Any) -> Any:
        rule = rule_of(key, value, self.rules, "nodes")
        return increment_of(rule, value, lambda: self.num_nodes)

    # What a stream of events refuses ------------------------------------------------------------

    def coalesce(self) -> Self:
        """Not for streams of events: an edge may happen many times."""
        raise NotImplementedError("the events of a TemporalData can't be coalesced")

    def has_isolated_nodes(self) -> bool:
        """Not for streams of events."""
        raise NotImplementedError("a TemporalData doesn't know of nodes without events")

    def has_self_loops(self) -> bool:
        """Not for streams of events."""
        raise NotImplementedError("the events of a TemporalData have no self-loops to ask for")

    def is_undirected(self) -> bool:
        """Not for streams of events."""
        raise NotImplementedError("the events of a TemporalData have a direction")

    def is_directed(self) -> bool:
        """Not for streams of events."""
        raise NotImplementedError("the events of a TemporalData have a direction")


def _select(value: Any, chosen: slice | Tensor) -> Any:
    """The entries of an event attribute; a slice of a tensor is a view."""
    if isinstance(value, (list, tuple)):
        ids = range(len(value))[chosen] if isinstance(chosen, slice) else chosen.tolist()
        return type(value)(value[at] for at in ids)
    if isinstance(value, np.ndarray) and isinstance(chosen, Tensor):
        return value[chosen.numpy()]
    return value[chosen if isinstance(chosen, slice) else chosen.to(value.device)]
