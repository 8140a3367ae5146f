"""The graphs a dataset has already taken out of its block, kept for the next time."""

import sys
from collections import OrderedDict
from collections.abc import Iterable, MutableSequence
from dataclasses import dataclass
from typing import Any, Literal

from torch import Tensor

from gnnlab import sparse

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
        self.slots: list[Any] | None = None  # by position; for 'all' only
        self._recent: OrderedDict[int, tuple[Any, int]] = OrderedDict()  # for a budget: graph and cost
        self._held = 0
        self._handed: dict[int, Any] = {}  # graphs that the user has held in hand, with their version then

    def fresh(self) -> "GraphCache":
        """An empty cache with the same limit."""
        return GraphCache(self.limit)

    def read(self, at: int) -> Any:
        """The graph at position `at`, or `None`."""
        if self.slots is not None:
            graph = self.slots[at]
        elif self._recent and at in self._recent:
            self._recent.move_to_end(at)
            graph = self._recent[at][0]
        else:
            graph = None
        if graph is None:
            self.misses += 1
        else:
            self.hits += 1
        return graph

    def keep(self, at: int, graph: Any, length: int, block: frozenset[int]) -> None:
        """Keep `graph`, one of `length`, where the limit allows it. `block` tells views (`storages_of`)."""
        if self.limit is None:
            return
        if self.limit == "all":
            if self.slots is None:
                self.slots = [None] * length
            self.slots[at] = graph
            return
        own, objects, _ = costs(graph, block)
        self._recent[at] = (graph, own + objects)
        self._held += own + objects
        while self._held > self.limit:
            old, (_, cost) = self._recent.popitem(last=False)
            self._held -= cost
            self._handed.pop(old, None)

    def graphs(self) -> list[Any]:
        """All graphs held."""
        if self.slots is not None:
            return [graph for graph in self.slots if graph is not None]
        return [graph for graph, _ in self._recent.values()]

    def info(self, block: frozenset[int], note: str = "") -> CacheInfo:
        """What the cache did and holds."""
        graphs = self.graphs()
        sums = [sum(part) for part in zip(*(costs(graph, block) for graph in graphs), strict=True)] or [0, 0, 0]
        own, objects, views = sums
        slots = 0 if self.slots is None else sys.getsizeof(self.slots)
        return CacheInfo(
            self.limit,
            self.hits,
            self.misses,
            len(graphs),
            own + objects + slots,
            own,
            objects + slots,
            views,
            note,
        )

    # Edits by the user -----------------------------------------------------------------------------------------------

    def hand_out(self, at: int) -> Any:
        """The graph at `at` for the user to hold, who may change it."""
        graph = self.slots[at] if self.slots is not None else self._recent.get(at, (None, 0))[0]
        if graph is not None and at not in self._handed:
            self._handed[at] = None if _has_containers(graph) else version_of(graph)
        return graph

    def replace(self, at: int, graph: Any, length: int, block: frozenset[int]) -> None:
        """Put the user's `graph` at `at`; `None` drops what is there."""
        if graph is None and self.slots is not None:
            self.slots[at] = None
            self._handed.pop(at, None)
        elif graph is None:
            self._held -= self._recent.pop(at, (None, 0))[1]
            self._handed.pop(at, None)
        else:
            self.keep(at, graph, length, block)
            self._handed[at] = None

    def edited(self, positions: Iterable[int]) -> bool:
        """Whether the user may have changed any of the graphs at `positions`."""
        return bool(self._handed) and any(at in self._handed and self._is_edited(at) for at in positions)

    def any_edited(self) -> bool:
        """Whether the user may have changed any graph."""
        return any(self._is_edited(at) for at in self._handed)

    def _is_edited(self, at: int) -> bool:
        graph = self.slots[at] if self.slots is not None else self._recent[at][0]
        return self._handed[at] is None or self._handed[at] != version_of(graph)


class CachedGraphs(MutableSequence[Any]):
    """The cache as PyG shows it in `_data_list`: one entry a graph, `None` where it is not held. Entries may be set."""

    def __init__(self, cache: GraphCache, length: int, block: frozenset[int]) -> None:
        self._cache, self._length, self._block = cache, length, block

    def __len__(self) -> int:
        return self._length

    def __getitem__(self, idx: Any) -> Any:
        if isinstance(idx, slice):
            return [self._cache.hand_out(i) for i in range(self._length)[idx]]
        return self._cache.hand_out(range(self._length)[idx])

    def __setitem__(self, idx: Any, graph: Any) -> None:
        self._cache.replace(range(self._length)[idx], graph, self._length, self._block)

    def __delitem__(self, idx: Any) -> None:
        raise TypeError(
            "an entry of _data_list can't be deleted, since the others keep their positions: set it to None"
        )

    def insert(self, index: int, value: Any) -> None:
        raise TypeError("_data_list has one entry for each graph and can't grow")

    def __repr__(self) -> str:
        held = len(self._cache.graphs())
        return f"<{held} of {self._length} graphs cached>"


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


def costs(graph: Any, block: frozenset[int]) -> tuple[int, int, int]:
    """Bytes of `graph`: its own tensors, its Python objects, and its tensors that are views of `block`."""
    own = views = 0
    tensors: list[Any] = []
    graph.apply_(tensors.append)
    for x in tensors:
        for part in _strided_parts(x):
            size = part.numel() * part.element_size()
            if part.untyped_storage().data_ptr() in block:
                views += size
            else:
                own += size
    objects = _object_bytes(graph) + sum(_object_bytes(store) for store in graph.stores)
    objects += sum(sys.getsizeof(store._mapping) + _value_bytes(store._mapping.values()) for store in graph.stores)
    return own, objects, views


def _object_bytes(obj: Any) -> int:
    return sys.getsizeof(obj) + sys.getsizeof(obj.__dict__)


def _value_bytes(values: Iterable[Any]) -> int:
    """Python objects of attribute values; a tensor counts with its header, not its data."""
    total = 0
    for value in values:
        total += _TENSOR_HEADER if isinstance(value, Tensor) else sys.getsizeof(value)
        if isinstance(value, dict):
            total += _value_bytes(value.values())
        elif isinstance(value, (list, tuple)):
            total += _value_bytes(value)
    return total


#: A Python tensor object (about 80 bytes) and the C++ TensorImpl behind it (192 bytes in torch 2.x, and its allocation
#: header).
_TENSOR_HEADER = 80 + 208


def _has_containers(graph: Any) -> bool:
    return any(isinstance(value, (dict, list)) for store in graph.stores for value in store.values())


def _strided_parts(x: Any) -> list[Tensor]:
    """The dense tensors in a tensor or sparse matrix."""
    return list(sparse.to_parts(x)[1].values()) if sparse.is_sparse(x) else [x]
