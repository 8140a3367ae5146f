"""The values of many rows, column by column: what `MmapDatabase` keeps in files, and what batches are gathered from."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from gnnlab.data.block import Block, BlockRefused, Count, Dense, Part, Sized, Slices, Values, why_not
from gnnlab.data.collate import PRESENT, new_graph
from gnnlab.data.database.base import Cells
from gnnlab.data.database.schema import NONE, Column, Key, Number, Schema, TensorInfo, Text, place
from gnnlab.data.database.schema import Dense as DenseKind
from gnnlab.data.hetero_data import HeteroData
from gnnlab.files import FileFormatError

MISSING_STATE, PRESENT_STATE, NONE_STATE = 0, 1, 2


@dataclass(frozen=True)
class Layout:
    """How the cells of a column lie one after another.

    Args:
        unit: bytes of what the offsets count: of one step along the ragged dimension, or 1.
        ragged: whether cells are of different sizes, so that offsets tell where each lies; otherwise each is one unit.
        nullable: whether a state tells of each row whether it has a value.
    """

    unit: int
    ragged: bool
    nullable: bool

    @staticmethod
    def of(column: Column) -> "Layout":
        """The layout of a column."""
        kind = column.kind
        if isinstance(kind, Number):
            return Layout(len(kind.encode(kind.spec())), False, column.nullable)
        if isinstance(kind, DenseKind) and not kind.shaped:
            return Layout(kind.row_bytes, kind.dim is not None, column.nullable)
        return Layout(1, True, column.nullable)


@dataclass(frozen=True)
class Packed:
    """The cells of a column.

    Args:
        data: `[bytes]` uint8. One after another.
        offsets: `[n + 1]` int64. Where each begins and ends, in units; `None` where they are not ragged.
        states: `[n]` uint8. Whether each is missing (0), there (1) or `None` (2); `None` where the column is not
            nullable.
    """

    data: Tensor
    offsets: NDArray[np.int64] | None
    states: NDArray[np.uint8] | None


def pack_cells(
    layout: Layout, cells: Sequence[Any]
) -> tuple[bytes, NDArray[np.int64] | None, NDArray[np.uint8] | None]:
    """The bytes, offsets (`[n + 1]`, from 0) and states of some cells of a column."""
    states = None
    if layout.nullable:
        states = np.fromiter(
            (MISSING_STATE if cell is None else NONE_STATE if cell is NONE else PRESENT_STATE for cell in cells),
            np.uint8,
            len(cells),
        )
        if not (states == PRESENT_STATE).all():
            blank = b"" if layout.ragged else bytes(layout.unit)
            cells = [blank if cell is None or cell is NONE else cell for cell in cells]
    offsets = None
    if layout.ragged:
        offsets = np.zeros(len(cells) + 1, np.int64)
        np.cumsum(np.fromiter(map(len, cells), np.int64, len(cells)), out=offsets[1:])
        offsets //= layout.unit
    return b"".join(cells), offsets, states


def packed_cells(column: Column, cells: Sequence[Any]) -> Packed:
    """Some cells of a column, in memory."""
    data, offsets, states = pack_cells(Layout.of(column), cells)
    raw = torch.frombuffer(bytearray(data), dtype=torch.uint8) if data else torch.empty(0, dtype=torch.uint8)
    return Packed(raw, offsets, states)


def columns_of(schema: Schema, rows: Sequence[Cells]) -> list[Packed]:
    """Some rows, column by column, in memory."""
    return [packed_cells(column, cells) for column, cells in zip(schema.columns, zip(*rows, strict=True), strict=True)]


# A dataset's block ----------------------------------------------------------------------------------------------------


def cells_of_block(
    joined: Any, slices: Mapping[Any, Any]
) -> tuple[Schema, Callable[[Sequence[int]], Iterator[Cells]]] | None:
    """The schema of the graphs in a dataset's block, and a function from graphs' positions to their cells.

    `None` where an attribute is no plain tensor that every graph has: then graphs must be encoded one by one.
    """
    columns: list[Column] = []
    readers: list[Callable[[Sequence[int]], list[Any]]] = []
    for store in joined.stores:
        part = slices if store._key is None else slices.get(store._key, {})
        if PRESENT in part or not store._mapping:
            return None
        for name, value in store._mapping.items():
            dim, ends = joined.__cat_dim__(name, value, store), part.get(name)
            plain = type(value) is Tensor and value.layout == torch.strided and value.is_cpu and not value.requires_grad
            if not plain or not isinstance(dim, int) or not isinstance(ends, Tensor):
                return None
            size = [*value.shape]
            size[dim] = -1
            kind = DenseKind(TensorInfo(value.dtype, tuple(size)))
            if kind.dim is None or value.is_conj() or value.is_neg():
                return None
            columns.append(Column(name if store._key is None else (store._key, name), kind, False))
            readers.append(_part_reader(value.movedim(dim, 0), ends.numpy(), kind.row_bytes))
    return Schema(columns), lambda ids: map(list, zip(*(read(ids) for read in readers), strict=True))


def _part_reader(value: Tensor, ends: NDArray[np.int64], step: int) -> Callable[[Sequence[int]], list[Any]]:
    """From graphs' positions to the bytes of each one's part along the first dimension, of `step` bytes an entry."""
    if value.dtype not in (torch.complex64, torch.complex128):
        value = value.view({1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}[value.element_size()])
    array = value.numpy()

    def read(ids: Sequence[int]) -> list[Any]:
        if len(ids) > 0 and ids[-1] - ids[0] == len(ids) - 1 and all(b - a == 1 for a, b in pairwise(ids)):
            bounds = ends[ids[0] : ids[-1] + 2]
            run = memoryview(array[bounds[0] : bounds[-1]].tobytes())
            return [run[start:end] for start, end in pairwise(((bounds - bounds[0]) * step).tolist())]
        return [array[ends[i] : ends[i + 1]].tobytes() for i in ids]

    return read


# Batches -------------------------------------------------------------------------------------------------------------


class Plan:
    """How graphs of class `cls` that are stored as rows of attributes come out of columns as batches.

    Args:
        cls: the graphs' class.
        schema: the schema of rows whose keys are attributes' names, or (type, name) in heterogeneous graphs.

    Attributes:
        refused: why batches can't be gathered, or `None`.
    """

    def __init__(self, cls: Any, schema: Schema) -> None:
        self.cls, self.schema = cls, schema
        self.refused = why_not(cls)
        if self.refused is not None:
            return
        try:
            self.example = _example(cls, schema)
            stores = {store._key: store for store in self.example.stores}
            for column in schema.columns:
                _refuse(self.example, stores[split_key(column.key)[0]], column)
        except BlockRefused as reason:
            self.refused = str(reason)

    def block(self, columns: Sequence[Packed], length: int) -> Block:
        """The block of `length` graphs whose columns these are."""
        return Block(self.cls, length, lambda: self._parts(columns, length))

    def _parts(self, columns: Sequence[Packed], length: int) -> dict[Any, Part]:
        stores = {store._key: store for store in self.example.stores}
        made: dict[Any, dict[str, Any]] = {key: {} for key in stores}
        present: dict[Any, dict[str, Any]] = {key: {} for key in stores}
        for column, packed in zip(self.schema.columns, columns, strict=True):
            key, name = split_key(column.key)
            mask = _mask(column, packed)
            if mask is not None:
                present[key][name] = mask
            made[key][name] = self._column(stores[key], name, column, packed, mask, length)
        return {key: Part(self.example, store, made[key], present[key]) for key, store in stores.items()}

    def _column(self, store: Any, name: str, column: Column, packed: Packed, mask: Any, length: int) -> Any:
        kind = column.kind
        if isinstance(kind, Text):
            return Values(_Strings(column, packed), _even(length, 1, mask))
        if isinstance(kind, Number):
            dtype = {int: torch.int64, float: torch.float64, bool: torch.bool}[kind.spec]
            value = packed.data.view(dtype)
            if name == "num_nodes":
                return Count(Sized(value.numpy(), 0))
            return Dense(self.example, store, name, value, _even(length, 1, mask), numbers=True, fixed=True)
        assert isinstance(kind, DenseKind)
        value = packed.data.view(kind.dtype)
        if kind.dim is not None:
            assert packed.offsets is not None
            return Dense(
                self.example, store, name, value.view(kind.stored).movedim(0, kind.dim), packed.offsets, fixed=True
            )
        if kind.size and self.example.__cat_dim__(name, store[name], store) is not None:
            steps, rest = kind.size[0], kind.size[1:]
            value = value.view(length * steps, *rest)
            return Dense(self.example, store, name, value, _even(length, steps, mask), fixed=True)
        return Dense(self.example, store, name, value.view(length, *kind.size), _even(length, 1, mask), fixed=True)


def _mask(column: Column, packed: Packed) -> NDArray[np.bool_] | None:
    """`[n]`. Which rows have a value; `None` if all have."""
    if packed.states is None:
        return None
    if (packed.states == NONE_STATE).any():
        raise BlockRefused(f"{place(column.key)} is None in some graphs")
    mask = packed.states == PRESENT_STATE
    return None if mask.all() else mask


def _even(length: int, step: int, mask: NDArray[np.bool_] | None) -> Slices:
    """The slices of values of one size, of which some may be missing."""
    return range(0, length * step + 1, step) if mask is None else Sized(mask * step, step)


def split_key(key: Key) -> tuple[Any, Any]:
    """Node or edge type (`None` for the graph's own), and name, of the attribute that a column holds."""
    return key if isinstance(key, tuple) else (None, key)


def _example(cls: Any, schema: Schema) -> Any:
    """A graph of class `cls` with the attributes of a schema, all empty."""
    if schema.form != "dict" or not all(isinstance(split_key(column.key)[1], str) for column in schema.columns):
        raise BlockRefused("rows do not hold a graph's attributes by name")
    mappings: dict[Any, dict[str, Any]] = {None: {}}
    for column in schema.columns:
        key, name = split_key(column.key)
        kind = column.kind
        size = [max(part, 0) for part in kind.size] if isinstance(kind, DenseKind) else []
        value = torch.empty(size, dtype=kind.dtype) if isinstance(kind, DenseKind) else _blank(kind)
        mappings.setdefault(key, {})[name] = value
    if not issubclass(cls, HeteroData) and mappings.keys() != {None}:
        raise BlockRefused(f"{cls.__name__} has no types")
    return new_graph(cls, mappings)


def _blank(kind: Any) -> Any:
    return kind.spec() if isinstance(kind, (Number, Text)) else None


def _refuse(example: Any, store: Any, column: Column) -> None:
    """Raise where the values of a column can't be joined as single graphs' are."""
    kind, name = column.kind, split_key(column.key)[1]
    value = store[name]
    if isinstance(kind, (Number, Text)):
        return
    if not isinstance(kind, DenseKind):
        raise BlockRefused(f"{place(column.key)} is {kind}")
    if kind.shaped:
        raise BlockRefused(f"{place(column.key)} has more than one size that varies, or none that tells the shape")
    if kind.spec.requires_grad:
        raise BlockRefused(f"{place(column.key)} requires grad")
    if kind.row_bytes == 0:
        raise BlockRefused(f"{place(column.key)} has no elements")
    dim = example.__cat_dim__(name, value, store)
    if kind.dim is not None:
        if not isinstance(dim, int) or dim % len(kind.size) != kind.dim:
            raise BlockRefused(f"{place(column.key)} is joined along another dimension than the one whose size varies")
    elif kind.size and dim not in (0, None):
        raise BlockRefused(f"{place(column.key)} is joined along another dimension than the first")


class _Strings(Sequence[str]):
    """The strings of a column, decoded when asked for."""

    def __init__(self, column: Column, packed: Packed) -> None:
        self.column, self.packed = column, packed

    def __len__(self) -> int:
        assert self.packed.offsets is not None
        return len(self.packed.offsets) - 1

    def __getitem__(self, at: Any) -> Any:
        assert self.packed.offsets is not None
        start, end = self.packed.offsets[at], self.packed.offsets[at + 1]
        try:
            return self.column.kind.decode(self.packed.data[start:end].numpy().tobytes())
        except ValueError as error:
            raise FileFormatError(f"{place(self.column.key)} of row {at} is damaged: {error}") from error
