"""The graphs a dataset has already taken out of its block, kept for the next time."""

import sys
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, MutableSequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, Literal

from torch import Tensor

from gnnlab import sparse
from gnnlab.data.data import BaseData
from gnnlab.data.nested import map_tensors

Limit = Literal["all"] | int | None


@dataclass(frozen=True)
class CacheInfo:
    """What a dataset's cache did and holds.

    Attributes:
        limit: 'all', `None` (nothing is kept) or the largest number of bytes.
        hits: reads that were answered from the cache.
        misses: reads that were not.
        graphs: graphs held.
        bytes: what releasing the cache would free: `own_bytes` and `object_bytes`.
        own_bytes: tensors of the cached graphs that have memory of their own.
        object_bytes: Python objects of the cached graphs (graph, storage, dictionaries, tensor headers), by
            `sys.getsizeof`.
        view_bytes: tensors of the cached graphs that are views of the dataset's block; they cost nothing.
        note: why nothing is cached, where that needs saying.
    """

    limit: Limit
    hits: int
    misses: int
    graphs: int
    bytes: int
    own_bytes: int
    object_bytes: int
    view_bytes: int
    note: str = ""


class GraphCache:
    """Keeps graphs by position: all of them, none, or those last used within a budget of bytes.

    What is kept of a graph is the dictionary of its attributes (`Separator.read`), the least that saves cutting it out
    again; a graph that the user puts in is kept as it is.

    Args:
        limit: 'all', `None`, or a number of bytes.
    """

    def __init__(self, limit: Limit = "all") -> None:
        valid = (
            limit is None or limit == "all" or (isinstance(limit, int) and not isinstance(limit, bool) and limit >= 0)
        )
        if not valid:
            raise ValueError(f"cache must be 'all', None or a number of bytes, found {limit!r}")
        self.limit = limit
        self.hits = 0
        self.misses = 0
        self._slots: list[Any] | None = None  # by position; for 'all' only
        self._recent: OrderedDict[int, tuple[Any, int]] = OrderedDict()  # for a budget: what is kept, and its cost
        self._used = 0
        self._handed: dict[int, tuple[Any, int]] = {}  # graphs that the user has held in hand, with their version then
        self._paused = False

    def fresh(self) -> "GraphCache":
        """An empty cache with the same limit."""
        return GraphCache(self.limit)

    @contextmanager
    def paused(self) -> Iterator[None]:
        """For a while, answer from what is held, but keep and count nothing."""
        before = self._paused, self.hits, self.misses
        self._paused = True
        try:
            yield
        finally:
            self._paused, self.hits, self.misses = before

    def read(self, at: int) -> Any:
        """What is kept of the graph at position `at`, or `None`."""
        if self._slots is not None:
            kept = self._slots[at]
        elif at in self._recent:
            kept = self._recent.get(at, (None, 0))[0]
            with suppress(KeyError):  # another thread may just have dropped it
                self._recent.move_to_end(at)
        else:
            kept = None
        if kept is None:
            self.misses += 1
        else:
            self.hits += 1
        return kept

    def keep(self, at: int, kept: Any, length: int, block: frozenset[int]) -> None:
        """Keep a graph, one of `length`, where the limit allows it. `block` tells views (`storages_of`)."""
        if self.limit is None or self._paused:
            return
        if self.limit == "all":
            if self._slots is None:
                self._slots = [None] * length
            self._slots[at] = kept
            return
        own, objects, _ = costs(kept, block)
        entry = kept, own + objects
        if self._recent.setdefault(at, entry) is entry:  # else another thread was quicker
            self._used += entry[1]
        while self._used > self.limit and self._recent:
            with suppress(KeyError):
                oldest, (_, cost) = self._recent.popitem(last=False)
                self._used -= cost
                self._handed.pop(oldest, None)

    def _drop(self, at: int) -> None:
        _, cost = self._recent.pop(at, (None, 0))
        self._used -= cost
        self._handed.pop(at, None)

    def _kept(self) -> list[Any]:
        if self._slots is not None:
            return [kept for kept in self._slots if kept is not None]
        return [kept for kept, _ in list(self._recent.values())]

    def __bool__(self) -> bool:
        return any(kept is not None for kept in self._slots) if self._slots is not None else bool(self._recent)

    def info(self, block: frozenset[int], note: str = "") -> CacheInfo:
        """What the cache did and holds."""
        kept = self._kept()
        found = [costs(one, block) for one in kept]
        own, objects, views = (sum(part) for part in zip(*found, strict=True)) if found else (0, 0, 0)
        if self._slots is not None:
            objects += sys.getsizeof(self._slots)
        return CacheInfo(self.limit, self.hits, self.misses, len(kept), own + objects, own, objects, views, note)

    # Edits by the user -----------------------------------------------------------------------------------------------

    def hand_out(self, at: int, build: Callable[[Any], Any]) -> Any:
        """The graph at `at` for the user to hold, who may change it; `build` makes a graph around what is kept."""
        if at in self._handed:
            return self._handed[at][0]
        kept = self._slots[at] if self._slots is not None else self._recent.get(at, (None, 0))[0]
        if kept is None:
            return None
        graph = build(kept)
        self._handed[at] = graph, _ALWAYS if _has_containers(graph) else version_of(graph)
        return graph

    def replace(self, at: int, graph: Any, length: int, block: frozenset[int]) -> None:
        """Put the user's `graph` at `at`; `None` drops what is there."""
        self._drop(at)
        if graph is not None:
            self.keep(at, graph, length, block)
            self._handed[at] = graph, _ALWAYS
        elif self._slots is not None:
            self._slots[at] = None

    def edited(self, positions: Iterable[int] | None = None) -> bool:
        """Whether the user may have changed any of the graphs at `positions` (of all, without)."""
        if not self._handed:
            return False
        chosen = self._handed if positions is None else self._handed.keys() & set(positions)
        return any(version_of(self._handed[at][0]) != self._handed[at][1] for at in chosen)


#: Stands for the version of a graph that always counts as changed.
_ALWAYS = -1


class CachedGraphs(MutableSequence[Any]):
    """The cache as PyG shows it in `_data_list`: one entry a graph, `None` where it is not held. Entries may be set."""

    def __init__(self, cache: GraphCache, length: int, block: frozenset[int], build: Callable[[Any], Any]) -> None:
        self._cache, self._length, self._block, self._build = cache, length, block, build

    def __len__(self) -> int:
        return self._length

    def __getitem__(self, idx: Any) -> Any:
        if isinstance(idx, slice):
            return [self[i] for i in range(self._length)[idx]]
        return self._cache.hand_out(range(self._length)[idx], self._build)

    def __setitem__(self, idx: Any, graph: Any) -> None:
        self._cache.replace(range(self._length)[idx], graph, self._length, self._block)

    def __delitem__(self, idx: Any) -> None:
        raise TypeError("an entry of _data_list can't be deleted, since the others keep their place: set it to None")

    def insert(self, index: int, value: Any) -> None:
        raise TypeError("_data_list has one entry for each graph and can't grow")

    def __repr__(self) -> str:
        return f"<{len(self._cache._kept())} of {self._length} graphs cached>"


def version_of(graph: Any) -> int:
    """How many writes the storages of `graph` have seen."""
    return sum(store._version for store in graph.stores)


def storages_of(graph: Any) -> frozenset[int]:
    """The addresses of the memory that the tensors of `graph` lie in."""
    found: set[int] = set()

    def note(x: Any) -> None:
        for part in _strided_parts(x):
            found.add(part.untyped_storage().data_ptr())

    if graph is not None:
        graph.apply_(note)
    return frozenset(found)


def costs(kept: Any, block: frozenset[int]) -> tuple[int, int, int]:
    """Bytes of a kept graph: its own tensors, its Python objects, and its tensors that are views of `block`."""
    own = views = objects = 0
    if isinstance(kept, BaseData):
        objects = sum(sys.getsizeof(part) + sys.getsizeof(part.__dict__) for part in (kept, *kept.stores))
        kept = {store._key: store._mapping for store in kept.stores}
    tensors: list[Any] = []
    map_tensors(kept, tensors.append)
    for x in tensors:
        for part in _strided_parts(x):
            size = part.numel() * part.element_size()
            if part.untyped_storage().data_ptr() in block:
                views += size
            else:
                own += size
    return own, objects + _value_bytes(kept), views


def _value_bytes(value: Any) -> int:
    """Python objects of a value; a tensor counts with its header, not its data."""
    if isinstance(value, Tensor):
        return sys.getsizeof(value) + (OWN_HEADER if value._base is None else VIEW_HEADER)
    total = sys.getsizeof(value)
    if isinstance(value, dict):
        total += sum(map(_value_bytes, value.values()))
    elif isinstance(value, (list, tuple)):
        total += sum(map(_value_bytes, value))
    return total


#: What a tensor takes on torch's C++ side: one with a storage of its own, and a view. Measured by malloc's own count
#: (mallinfo2) with torch 2.13 on 64-bit Linux; a test of `gnnlab.profile` holds them against a process's memory.
OWN_HEADER = 336
VIEW_HEADER = 512


def _has_containers(graph: Any) -> bool:
    return any(isinstance(value, (dict, list)) for store in graph.stores for value in store.values())


def _strided_parts(x: Any) -> list[Tensor]:
    """The dense tensors in a tensor or sparse matrix."""
    return list(sparse.to_parts(x)[1].values()) if sparse.is_sparse(x) else [x]
