"""Joining a stream of graphs: the growing result is held, and the graphs of about one MiB, never all of them."""

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from typing import Any

import numpy as np
import torch
from torch import Tensor

from gnnlab import sparse
from gnnlab.data.collate import (
    PRESENT,
    blank_storage,
    collate,
    increments_by_rules,
    new_graph,
    offsets_of,
    place,
    shift,
    sign,
)
from gnnlab.data.separate import Separator
from gnnlab.files import Growing

#: Graphs are joined in pieces of about this many bytes, of one graph at least.
CHUNK_BYTES = 1 << 20
_CHUNK_GRAPHS = 4096

#: About what the Python objects of a graph, and of each of its values, take beside the data.
_GRAPH, _VALUE = 1024, 512

#: From an attribute's name and value to the dimension along which it is joined.
DimOf = Callable[[str, Any], Any]


def collate_stream(graphs: Iterable[Any], increment: bool = False) -> tuple[Any, dict[Any, Any] | None]:
    """Join the graphs of any iterable into one, as `collate(..., add_batch=False)` joins those of a list.

    Memory peaks at the result, an eighth of it as room to grow, and one MiB of graphs or the largest single graph.
    (Sparse matrices and tensors on a device are the exception: their pieces are joined at the end, so that they are
    held twice for a moment.)

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
    if stream.single is not None:
        return stream.single, None
    if stream.length == 0:
        raise ValueError("data_list must hold at least one graph, found none")
    joined, slices = stream.finish()
    if not count_graphs(slices):
        raise ValueError("graphs without any attribute can't be joined, since nothing would tell how many they are")
    return incremented(joined, slices) if increment else joined, slices


def _chunks(graphs: Iterator[Any]) -> Iterator[list[Any]]:
    while True:
        chunk: list[Any] = []
        size = 0
        for graph in islice(graphs, _CHUNK_GRAPHS):
            chunk.append(graph)
            size += rough_bytes(graph)
            if size >= CHUNK_BYTES:
                break
        if not chunk:
            return
        del graph
        yield chunk


def rough_bytes(graph: Any) -> int:
    """About what a graph takes, its Python objects included."""
    return _GRAPH + sum(_value_bytes(value) for store in getattr(graph, "stores", []) for value in store.values())


def _value_bytes(value: Any) -> int:
    if sparse.is_sparse(value):
        return sum(_VALUE + part.nbytes for part in sparse.to_parts(value)[1].values())
    if isinstance(value, (Tensor, np.ndarray)):
        return _VALUE + value.nbytes
    if isinstance(value, Mapping):
        return _VALUE + sum(map(_value_bytes, value.values()))
    if isinstance(value, (list, tuple)):
        return _VALUE + sum(map(_value_bytes, value))
    return sys.getsizeof(value)


class _Stream:
    """By storage and attribute, what has been joined so far."""

    def __init__(self) -> None:
        self.length = 0
        self.single: Any = None  # the only graph so far, as long as it is
        self.cls: Any = None
        self.columns: dict[Any, dict[str, _Column]] = {}

    def append(self, graphs: list[Any]) -> None:
        """Join `graphs`, and let go of them: the list is empty afterwards."""
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
        count = len(graphs)
        graphs.clear()
        for store in block.stores:
            columns = self.columns.setdefault(store._key, {})
            part = slices if store._key is None else slices[store._key]
            present = part.get(PRESENT, {})
            for name, value in store.items():
                if name not in columns:
                    columns[name] = _Column(place(store._key, name))
                dim_of = partial(_dim_of, block, store)
                has = present.get(name, torch.ones(count, dtype=torch.bool))
                columns[name].append(name, value, part[name], has, dim_of, self.length)
        self.length += count

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


def _dim_of(block: Any, store: Any, name: str, value: Any) -> Any:
    return block.__cat_dim__(name, value, store)


class _Column:
    """One attribute: what has been joined of it, and which graphs had it."""

    def __init__(self, where: str) -> None:
        self.where = where
        self.joint: Any = None
        self.present = Growing(torch.bool)

    def append(self, name: str, value: Any, slices: Any, present: Tensor, dim_of: DimOf, at: int) -> None:
        if self.joint is None:
            self.joint = _joint(name, value, slices, dim_of)
        if at > self.seen:
            self._skip(at - self.seen)
        try:
            self.joint.append(value, slices)
        except (ValueError, TypeError, KeyError, IndexError, AttributeError) as error:
            raise ValueError(f"{self.where} does not fit the graphs before, from graph {at} on: {error}") from error
        self.present.append(present)

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
        try:
            value, slices = self.joint.finish()
        except ValueError as error:
            raise ValueError(f"{self.where} can't be joined: {error}") from error
        return value, slices, None if bool(present.all()) else present


def _joint(name: str, value: Any, slices: Any, dim_of: DimOf) -> Any:
    """What values like `value`, an attribute or entry called `name`, are joined in."""
    if isinstance(value, dict):
        return _JointDict({key: _joint(str(key), value[key], slices[key], dim_of) for key in value})
    if isinstance(slices, list):
        parts = [_joint(name, part, ends, dim_of) for part, ends in zip(value, slices, strict=True)]
        return _JointRow(type(value), parts)
    if sparse.is_sparse(value) or (isinstance(value, Tensor) and value.device.type != "cpu"):
        return _JointPieces(value, slices, dim_of(name, value))
    if isinstance(value, Tensor):
        return _JointTensor(value, slices, dim_of(name, value) or 0)
    return _JointCount(value, slices) if isinstance(value, int) else _JointValues(value, slices)


class _Joint:
    """What was joined of one plain attribute, with its slices; `value` and `slices` are the first portion's."""

    def __init__(self, value: Any, slices: Tensor) -> None:
        self.sign = sign(value)
        self.sizes = Growing(torch.long, tuple(slices.shape[1:]))
        self.sizes.append(slices[:1] * 0)

    def append(self, value: Any, slices: Tensor) -> None:
        if not isinstance(slices, Tensor):
            raise TypeError(f"it was {self.sign} and is nested")
        if sign(value) != self.sign:
            raise TypeError(f"it was {self.sign} and is {sign(value)}")
        self.extend(value)
        self.sizes.append(slices.diff(dim=0))

    def extend(self, value: Any) -> None:
        raise NotImplementedError

    def skip(self, count: int) -> None:
        self.sizes.append(torch.zeros((count, *self.sizes.shape[1:]), dtype=torch.long))

    def finish(self) -> tuple[Any, Tensor]:
        sizes = self.sizes.finish()
        return self.joined(), torch.cumsum(sizes, 0, out=sizes)

    def joined(self) -> Any:
        raise NotImplementedError


class _JointTensor(_Joint):
    def __init__(self, value: Tensor, slices: Tensor, dim: int) -> None:
        super().__init__(value, slices)
        dim = dim % value.dim()
        self.grown = Growing(value.dtype, [size for axis, size in enumerate(value.shape) if axis != dim], dim)
        self.requires_grad = False

    def extend(self, value: Tensor) -> None:
        self.grown.append(value.detach())
        self.requires_grad |= value.requires_grad

    def joined(self) -> Tensor:
        return self.grown.finish().requires_grad_(self.requires_grad)


class _JointPieces(_Joint):
    """Sparse matrices, and tensors on a device, which can't grow."""

    def __init__(self, value: Any, slices: Tensor, dim: Any) -> None:
        super().__init__(value, slices)
        self.dim = dim
        self.pieces: list[Any] = []

    def extend(self, value: Any) -> None:
        self.pieces.append(value)

    def joined(self) -> Any:
        if sparse.is_sparse(self.pieces[0]):
            return sparse.cat(self.pieces, self.dim)
        try:
            joined = torch.cat(self.pieces, self.dim or 0)
        except RuntimeError as error:
            raise ValueError(str(error)) from error
        return joined.detach().requires_grad_(joined.requires_grad)


class _JointValues(_Joint):
    def __init__(self, value: list[Any], slices: Tensor) -> None:
        super().__init__(value, slices)
        self.values: list[Any] = []

    def extend(self, value: list[Any]) -> None:
        self.values.extend(value)

    def joined(self) -> list[Any]:
        return self.values


class _JointCount(_Joint):
    def __init__(self, value: int, slices: Tensor) -> None:
        super().__init__(value, slices)
        self.total = 0

    def extend(self, value: int) -> None:
        self.total += value

    def joined(self) -> int:
        return self.total


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


@dataclass
class _Leaf:
    """A tensor of the joined graph, in attribute `name` of a storage or within it, and every graph's step."""

    store: Any
    name: str
    path: tuple[Any, ...]
    key: str
    value: Tensor
    slices: Tensor
    steps: list[Any] = field(default_factory=list)


def incremented(joined: Any, slices: dict[Any, Any]) -> Any:
    """`joined` with the values of each graph shifted past the graphs before, as a batch's are.

    Graphs without an attribute move those after them all the same, by their nodes.
    """
    separator = Separator(type(joined), joined, slices)
    leaves = [
        _Leaf(store, name, *leaf)
        for store in joined.stores
        for name, value in store.items()
        for leaf in _leaves(name, value, (slices if store._key is None else slices[store._key])[name])
    ]
    if increments_by_rules(type(joined)):
        leaves = [leaf for leaf in leaves if joined._rule(leaf.key, leaf.value, leaf.store).inc is not None]
    for i in range(count_graphs(slices) if leaves else 0):
        graph = separator.get(i)
        stores = {store._key: store for store in graph.stores}
        for leaf in leaves:
            key = leaf.store._key
            own = stores[key] if key in stores else blank_storage(key)
            value = _at(own[leaf.name], leaf.path) if leaf.name in own else leaf.value[:0]
            leaf.steps.append(graph.__inc__(leaf.key, value, own))
    for leaf in leaves:
        offsets = offsets_of(leaf.steps)
        if offsets is not None:
            dim = joined.__cat_dim__(leaf.key, leaf.value, leaf.store) or 0
            shifted = shift(leaf.value, leaf.slices, offsets, dim, place(leaf.store._key, leaf.name))
            leaf.store[leaf.name] = _replaced(leaf.store[leaf.name], leaf.path, shifted)
    return joined


def _leaves(key: str, value: Any, slices: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Path, name, value and slices of every dense tensor in the joined `value`."""
    if isinstance(value, dict):
        for name in value:
            yield from _leaves(str(name), value[name], slices[name], (*path, name))
    elif isinstance(slices, list):
        for at, ends in enumerate(slices):
            yield from _leaves(key, value[at], ends, (*path, at))
    elif isinstance(value, Tensor) and not sparse.is_sparse(value):
        yield path, key, value, slices


def _at(value: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        value = value[key]
    return value


def _replaced(value: Any, path: tuple[Any, ...], new: Tensor) -> Any:
    """`value` with the tensor at `path` replaced."""
    if not path:
        return new
    key, *rest = path
    if isinstance(value, dict):
        return {**value, key: _replaced(value[key], tuple(rest), new)}
    return type(value)(_replaced(x, tuple(rest), new) if at == key else x for at, x in enumerate(value))


def count_graphs(slices: dict[Any, Any]) -> int:
    """The number of graphs that the slices of a joined graph speak of."""
    for key, part in slices.items():
        while isinstance(part, list):
            part = part[0]
        count = 0 if key == PRESENT else count_graphs(part) if isinstance(part, dict) else part.size(0) - 1
        if count:
            return count
    return 0
