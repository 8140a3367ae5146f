"""Joining a stream of graphs: the growing result is held, and the graphs of about one MiB, never all of them."""

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import islice
from typing import Any

import torch
from torch import Tensor

from gnnlab import sparse
from gnnlab.data.collate import PRESENT, collate, new_graph, offsets_of, place, shift
from gnnlab.data.separate import Separator
from gnnlab.files import Growing

#: Graphs are joined in pieces of about this many bytes, of one graph at least.
CHUNK_BYTES = 1 << 20
_CHUNK_GRAPHS = 4096

#: About what the Python objects of a graph take beside its values.
_OBJECTS = 2048

#: From an attribute's value to the dimension along which it is joined.
DimOf = Callable[[Any], Any]


def collate_stream(graphs: Iterable[Any], increment: bool = False) -> tuple[Any, dict[Any, Any] | None]:
    """Join the graphs of any iterable into one, as `collate(..., add_batch=False)` joins those of a list.

    Memory peaks at the result, an eighth of it as room to grow, and one MiB of graphs or the largest single graph.
    (Sparse matrices are the exception: their pieces are joined at the end, so that they are held twice for a moment.)

    Returns:
        The joined graph and its slices. A stream of one graph gives that graph and `None`.

    Raises:
        ValueError, TypeError: as `collate` does, with the graph's position in the stream.
    """
    stream = _Stream()
    for chunk in _chunks(iter(graphs)):
        if stream.single is not None:
            stream.append([stream.single])
        if stream.length == 0 and len(chunk) == 1:
            stream.single = chunk[0]
        else:
            stream.append(chunk)
        chunk.clear()
    if stream.single is not None:
        return stream.single, None
    if stream.length == 0:
        raise ValueError("data_list must hold at least one graph, found none")
    joined, slices = stream.finish()
    return incremented(joined, slices) if increment else joined, slices


def _chunks(graphs: Iterator[Any]) -> Iterator[list[Any]]:
    while True:
        chunk: list[Any] = []
        size = 0
        for graph in islice(graphs, _CHUNK_GRAPHS):
            chunk.append(graph)
            size += _rough_bytes(graph)
            if size >= CHUNK_BYTES:
                break
        if not chunk:
            return
        del graph
        yield chunk


def _rough_bytes(graph: Any) -> int:
    return _OBJECTS + sum(
        value.numel() * value.element_size() if isinstance(value, Tensor) and value.layout == torch.strided else 64
        for store in getattr(graph, "stores", [])
        for value in store.values()
    )


class _Stream:
    """By storage and attribute, what has been joined so far."""

    def __init__(self) -> None:
        self.length = 0
        self.single: Any = None  # the only graph so far, as long as it is
        self.cls: Any = None
        self.columns: dict[Any, dict[str, _Column]] = {}

    def append(self, graphs: list[Any]) -> None:
        self.single = None
        cls = type(graphs[0])
        if self.cls is not None and cls is not self.cls:
            raise TypeError(
                f"graphs must be of one class: the first is a {self.cls.__name__}, graph {self.length} a {cls.__name__}"
            )
        self.cls = cls
        try:
            block, slices, _ = collate(cls, graphs, increment=False, add_batch=False)
        except (ValueError, TypeError) as error:
            error.add_note(f"Graphs are counted from graph {self.length} of the stream.")
            raise
        for store in block.stores:
            columns = self.columns.setdefault(store._key, {})
            part = slices if store._key is None else slices[store._key]
            present = part.get(PRESENT, {})
            for name, value in store.items():
                if name not in columns:
                    columns[name] = _Column(place(store._key, name))
                dim_of = partial(_dim_of, block, name, store)
                columns[name].append(value, part[name], present.get(name), dim_of, self.length)
        self.length += len(graphs)

    def finish(self) -> tuple[Any, dict[Any, Any]]:
        mappings: dict[Any, dict[str, Any]] = {}
        slices: dict[Any, Any] = {}
        for key in [None, *(key for key in self.columns if isinstance(key, str)), *self.columns]:
            columns = self.columns.get(key)
            if columns is None or key in mappings:
                continue
            part = slices if key is None else slices.setdefault(key, {})
            mappings[key], present = {}, {}
            for name in list(columns):
                column = columns.pop(name)
                mappings[key][name], part[name], mask = column.finish(self.length)
                if mask is not None:
                    present[name] = mask
            if present:
                part[PRESENT] = present
        return new_graph(self.cls, mappings), slices


def _dim_of(block: Any, name: str, store: Any, value: Any) -> Any:
    return block.__cat_dim__(name, value, store)


class _Column:
    """One attribute: what has been joined of it, and which graphs had it."""

    def __init__(self, where: str) -> None:
        self.where = where
        self.joint: Any = None
        self.present = Growing(torch.bool)

    def append(self, value: Any, slices: Any, present: Tensor | None, dim: DimOf, at: int) -> None:
        if self.joint is None:
            self.joint = _joint(value, slices, dim)
        if at > self.seen:
            self._skip(at - self.seen)
        try:
            self.joint.append(value, slices)
        except (ValueError, TypeError, KeyError, IndexError, AttributeError) as error:
            raise ValueError(f"{self.where} does not fit the graphs before, from graph {at} on: {error}") from error
        self.present.append(torch.ones(_length(slices), dtype=torch.bool) if present is None else present)

    @property
    def seen(self) -> int:
        return len(self.present)

    def _skip(self, count: int) -> None:
        self.present.append(torch.zeros(count, dtype=torch.bool))
        self.joint.skip(count)

    def finish(self, total: int) -> tuple[Any, Any, Tensor | None]:
        if total > self.seen:
            self._skip(total - self.seen)
        present = self.present.finish()
        value, slices = self.joint.finish()
        return value, slices, None if bool(present.all()) else present


def _joint(value: Any, slices: Any, dim: DimOf) -> Any:
    """What values like `value` are joined in."""
    if isinstance(value, dict):
        return _JointDict({key: _joint(value[key], slices[key], dim) for key in value})
    if isinstance(slices, list):
        return _JointRow(type(value), [_joint(part, ends, dim) for part, ends in zip(value, slices, strict=True)])
    if sparse.is_sparse(value):
        return _JointSparse(slices, dim(value))
    if isinstance(value, Tensor):
        return _JointTensor(value, slices, dim(value) or 0)
    return _JointCount(slices) if isinstance(value, int) else _JointValues(slices)


class _Slices:
    """Slices of a growing attribute."""

    def __init__(self, slices: Tensor) -> None:
        self.sizes = Growing(torch.long, tuple(slices.shape[1:]))
        self.sizes.append(slices[:1] * 0)

    def append(self, slices: Tensor) -> None:
        self.sizes.append(slices.diff(dim=0))

    def skip(self, count: int) -> None:
        self.sizes.append(torch.zeros((count, *self.sizes.shape[1:]), dtype=torch.long))

    def finish(self) -> Tensor:
        sizes = self.sizes.finish()
        return torch.cumsum(sizes, 0, out=sizes)


class _JointTensor(_Slices):
    def __init__(self, value: Tensor, slices: Tensor, dim: int) -> None:
        super().__init__(slices)
        self.dim = dim % value.dim()
        self.dtype = value.dtype
        self.grown = Growing(
            value.dtype,
            [size for axis, size in enumerate(value.shape) if axis != self.dim],
            self.dim,
        )
        self.requires_grad = False

    def append(self, value: Tensor, slices: Tensor) -> None:  # type: ignore[override]
        if value.dtype != self.dtype:
            raise TypeError(f"it was of {self.dtype} and is of {value.dtype}")
        self.grown.append(value.detach())
        self.requires_grad |= value.requires_grad
        super().append(slices)

    def finish(self) -> tuple[Tensor, Tensor]:  # type: ignore[override]
        return self.grown.finish().requires_grad_(self.requires_grad), super().finish()


class _JointSparse(_Slices):
    def __init__(self, slices: Tensor, dim: Any) -> None:
        super().__init__(slices)
        self.dim = dim
        self.pieces: list[Any] = []

    def append(self, value: Any, slices: Tensor) -> None:  # type: ignore[override]
        if self.pieces and type(value) is not type(self.pieces[0]):
            raise TypeError(f"it was a {type(self.pieces[0]).__name__} and is a {type(value).__name__}")
        self.pieces.append(value)
        super().append(slices)

    def finish(self) -> tuple[Any, Tensor]:  # type: ignore[override]
        return sparse.cat(self.pieces, self.dim), super().finish()


class _JointValues(_Slices):
    def __init__(self, slices: Tensor) -> None:
        super().__init__(slices)
        self.values: list[Any] = []

    def append(self, value: Any, slices: Tensor) -> None:  # type: ignore[override]
        if not isinstance(value, list):
            raise TypeError(f"it was of plain values and is a {type(value).__name__}")
        self.values.extend(value)
        super().append(slices)

    def finish(self) -> tuple[list[Any], Tensor]:  # type: ignore[override]
        return self.values, super().finish()


class _JointCount(_Slices):
    def __init__(self, slices: Tensor) -> None:
        super().__init__(slices)
        self.total = 0

    def append(self, value: int, slices: Tensor) -> None:  # type: ignore[override]
        self.total += value
        super().append(slices)

    def finish(self) -> tuple[int, Tensor]:  # type: ignore[override]
        return self.total, super().finish()


class _JointDict:
    def __init__(self, parts: dict[str, Any]) -> None:
        self.parts = parts

    def append(self, value: dict[str, Any], slices: dict[str, Any]) -> None:
        if not isinstance(value, dict) or value.keys() != self.parts.keys():
            raise ValueError(f"it was a dict with the keys {list(self.parts)} and is no longer")
        for key, part in self.parts.items():
            part.append(value[key], slices[key])

    def skip(self, count: int) -> None:
        for part in self.parts.values():
            part.skip(count)

    def finish(self) -> tuple[Any, Any]:
        done = {key: part.finish() for key, part in self.parts.items()}
        return {key: value for key, (value, _) in done.items()}, {key: slices for key, (_, slices) in done.items()}


class _JointRow:
    def __init__(self, kind: type, parts: list[Any]) -> None:
        self.kind, self.parts = kind, parts

    def append(self, value: list[Any], slices: list[Any]) -> None:
        if not isinstance(slices, list) or not isinstance(value, self.kind) or len(slices) != len(self.parts):
            raise ValueError(f"it was a {self.kind.__name__} of {len(self.parts)} tensors and is no longer")
        for part, item, ends in zip(self.parts, value, slices, strict=True):
            part.append(item, ends)

    def skip(self, count: int) -> None:
        for part in self.parts:
            part.skip(count)

    def finish(self) -> tuple[Any, Any]:
        done = [part.finish() for part in self.parts]
        return self.kind(value for value, _ in done), [slices for _, slices in done]


def _length(slices: Any) -> int:
    """The number of graphs that slices speak of."""
    while not isinstance(slices, Tensor):
        slices = next(iter(slices.values() if isinstance(slices, dict) else slices))
    return slices.size(0) - 1


def incremented(joined: Any, slices: dict[Any, Any]) -> Any:
    """`joined` with the values of each graph shifted past the graphs before, as a batch's are."""
    separator = Separator(type(joined), joined, slices)
    length = count_graphs(slices)
    for store in joined.stores:
        part = slices if store._key is None else slices[store._key]
        for name, value in list(store.items()):
            if not isinstance(value, Tensor) or sparse.is_sparse(value):
                continue
            steps = []
            for i in range(length):
                graph = separator.get(i)
                own = graph.stores[0] if store._key is None else graph[store._key]
                steps.append(graph.__inc__(name, own[name], own) if name in own else 0)
            offsets = offsets_of(steps)
            if offsets is not None:
                dim = joined.__cat_dim__(name, value, store) or 0
                store[name] = shift(value, part[name], offsets, dim, place(store._key, name))
    return joined


def count_graphs(slices: dict[Any, Any]) -> int:
    """The number of graphs that the slices of a joined graph speak of."""
    for key, part in slices.items():
        if key != PRESENT and (not isinstance(part, (dict, list)) or part):
            if isinstance(part, dict):
                count = count_graphs(part)
                if count:
                    return count
            else:
                return _length(part)
    return 0
