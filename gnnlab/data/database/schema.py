"""What the rows of a database hold: which columns there are, and of which kind the values of each are.

A *kind* turns a value into the bytes of a cell and back. There is one for tensors (`TensorInfo`), one for each plain
type (`int`, `float`, `bool`, `str`), `typing.Any` for every other value that can be written without pickling it
(containers, sparse matrices, NumPy arrays, bytes), and `object`, which pickles.
"""

import math
import pickle
import struct
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from gnnlab.files.packed import pack, unpack
from gnnlab.files.tensors import DTYPES, blocks, from_bytes
from gnnlab.files.tree import FileFormatError

#: How a column is called: an attribute's name, its position in a tuple, or node or edge type and name.
Key = Any

_SHAPE_ITEM = 8


@dataclass(frozen=True)
class TensorInfo:
    """The tensors of a column (`torch_geometric.data.database.TensorInfo`).

    Args:
        dtype: their dtype.
        size: their shape; -1 stands for a size that varies from row to row.
        requires_grad: whether they track gradients once they are read.
    """

    dtype: torch.dtype
    size: tuple[int, ...] = (-1,)
    requires_grad: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.dtype, torch.dtype) or _name(self.dtype) not in DTYPES:
            raise ValueError(f"dtype must be a dtype whose bytes can be stored, found {self.dtype!r}")
        if not all(isinstance(size, int) and size >= -1 for size in self.size):
            raise ValueError(f"size must hold sizes of at least 0, or -1 for one that varies, found {self.size!r}")
        object.__setattr__(self, "size", tuple(self.size))

    @property
    def ragged_dim(self) -> int | None:
        """The dimension whose size can be told from the number of bytes; `None` where there is not exactly one."""
        rest = [size for size in self.size if size >= 0]
        return self.size.index(-1) if len(rest) == len(self.size) - 1 and math.prod(rest) > 0 else None

    @property
    def is_fixed(self) -> bool:
        """Whether all tensors are of one shape."""
        return all(size >= 0 for size in self.size)

    def __str__(self) -> str:
        size = ", ".join("*" if size < 0 else str(size) for size in self.size)
        return f"a tensor of {_name(self.dtype)} [{size}]{' that requires grad' if self.requires_grad else ''}"


@dataclass(frozen=True)
class Nullable:
    """A column that rows may lack, or that may be `None`.

    Args:
        kind: what it holds otherwise: `TensorInfo`, `int`, `float`, `bool`, `str`, `typing.Any` or `object`.
    """

    kind: Any


class Mismatch(ValueError):
    """A value is not of its column's kind; the message says what was found."""


class Kind(ABC):
    """Turns the values of a column into bytes and back."""

    #: How schemas name it: a type, or a `TensorInfo`.
    spec: Any

    @abstractmethod
    def encode(self, value: Any) -> bytes:
        """The bytes of `value`. Raises `Mismatch` if it is of another kind."""

    @abstractmethod
    def decode(self, cell: bytes) -> Any:
        """The value, new, of the bytes that `encode` gave. Raises `ValueError` or `struct.error` for others."""

    def __str__(self) -> str:
        return f"a {self.spec.__name__}"


class Number(Kind):
    """An `int` of 64 bits, a `float` or a `bool`."""

    def __init__(self, spec: type, code: str) -> None:
        self.spec = spec
        self._code = code

    def encode(self, value: Any) -> bytes:
        if type(value) is not self.spec:
            raise Mismatch(found(value))
        try:
            return struct.pack(self._code, value)
        except struct.error:
            raise Mismatch("an int beyond 64 bits") from None

    def decode(self, cell: bytes) -> Any:
        return struct.unpack(self._code, cell)[0]


class Text(Kind):
    """A `str`."""

    spec = str

    def encode(self, value: Any) -> bytes:
        if type(value) is not str:
            raise Mismatch(found(value))
        return value.encode("utf-8", "surrogatepass")

    def decode(self, cell: bytes) -> str:
        return cell.decode("utf-8", "surrogatepass")


class Plain(Kind):
    """Any value that can be written without pickling it."""

    spec = Any

    def encode(self, value: Any) -> bytes:
        try:
            return pack(value)
        except (TypeError, ValueError) as error:
            raise Mismatch(f"{found(value)}, which can't be written without pickling it ({error})") from error

    def decode(self, cell: bytes) -> Any:
        return unpack(cell)

    def __str__(self) -> str:
        return "a value that can be written without pickling it"


class Pickled(Kind):
    """Any value, pickled; read only where the caller trusts the file."""

    spec = object

    def __init__(self, trust: bool = False) -> None:
        self.trust = trust

    def encode(self, value: Any) -> bytes:
        return pickle.dumps(value)

    def decode(self, cell: bytes) -> Any:
        if not self.trust:
            raise pickle.UnpicklingError(
                "a column of the schema is `object`, which is pickled, and unpickling runs whatever the file says: "
                "open it with trust=True if you made it yourself, or store it with another schema (None infers one)"
            )
        return pickle.loads(cell)


class Dense(Kind):
    """Tensors. A cell holds the elements with the ragged dimension first; where the number of bytes does not tell the
    shape, the shape stands before them.
    """

    def __init__(self, info: TensorInfo) -> None:
        self.spec = info
        self.dtype, self.size = info.dtype, info.size
        self.dim = info.ragged_dim
        self.shaped = self.dim is None and not info.is_fixed
        #: The shape of a cell's elements.
        self.stored = info.size if not self.dim else (-1, *info.size[: self.dim], *info.size[self.dim + 1 :])
        #: In which order a cell's dimensions are those of the tensor.
        self._axes = [*range(1, len(info.size))]
        self._axes.insert(self.dim or 0, 0)
        try:
            self._numpy: Any = torch.empty(0, dtype=info.dtype).numpy().dtype
        except TypeError:
            self._numpy = None

    def encode(self, value: Any) -> bytes:
        self._check(value)
        if value.requires_grad:
            value = value.detach()
        shape = struct.pack(f"<{value.dim()}q", *value.shape) if self.shaped else b""
        if self.dim:
            value = value.movedim(self.dim, 0)
        if self._numpy is not None and value.is_cpu and not (value.is_conj() or value.is_neg()):
            return shape + value.numpy().tobytes() if shape else value.numpy().tobytes()
        return shape + b"".join(block.tobytes() for block in blocks(value))

    def _check(self, value: Any) -> None:
        if type(value) is Tensor and value.dtype is self.dtype and value.layout is torch.strided:
            shape = tuple(value.shape)
            fits = shape == self.size or (
                len(shape) == len(self.size)
                and all(want in (-1, size) for want, size in zip(self.size, shape, strict=True))
            )
            if fits and value.requires_grad == self.spec.requires_grad:
                return
        raise Mismatch(found(value))

    def decode(self, cell: bytes) -> Tensor:
        stored = self.stored
        if self.shaped:
            head = _SHAPE_ITEM * len(self.size)
            stored, cell = struct.unpack(f"<{len(self.size)}q", cell[:head]), cell[head:]
            if any(want not in (-1, size) or size < 0 for want, size in zip(self.size, stored, strict=True)):
                raise ValueError(f"its shape is {stored}")
        if not cell:
            shape = [max(size, 0) for size in stored]
            if math.prod(shape) > 0:
                raise ValueError(f"it is to have the shape {shape}, and has no elements")
            value = torch.empty(shape, dtype=self.dtype)
        elif self._numpy is None:
            value = torch.frombuffer(bytearray(cell), dtype=torch.uint8).view(self.dtype).view(stored)
        elif not self.dim:  # by NumPy, whose views take a third of the time of torch's
            array = np.frombuffer(bytearray(cell), self._numpy)
            return self._finished(torch.from_numpy(array if len(stored) == 1 else array.reshape(stored)))
        else:
            array = np.frombuffer(cell, self._numpy).reshape(stored)
            return self._finished(torch.from_numpy(array.transpose(self._axes).copy()))
        return self._finished(value.movedim(0, self.dim).contiguous() if self.dim else value)

    def _finished(self, value: Tensor) -> Tensor:
        return value.requires_grad_() if self.spec.requires_grad else value

    def join(self, cells: Sequence[bytes]) -> Tensor:
        """The tensors of several cells, one after another: along the ragged dimension, which is the first here, or
        along a new one if there is none. Not for those with `shaped` cells.
        """
        stored = self.stored if self.dim is not None else (len(cells), *self.size)
        joined = b"".join(cells)
        raw = torch.frombuffer(bytearray(joined or b"\0"), dtype=torch.uint8)[: len(joined)]
        return from_bytes(raw, self.dtype, tuple(0 if size < 0 and not joined else size for size in stored))

    @property
    def row_bytes(self) -> int:
        """Bytes of one row of the stored form, or of a whole cell where there is no ragged dimension."""
        return math.prod(size for size in self.size if size >= 0) * self.dtype.itemsize

    def __str__(self) -> str:
        return str(self.spec)


def found(value: Any) -> str:
    """What `value` is, in words."""
    if isinstance(value, Tensor):
        kind = "a tensor" if type(value) is Tensor else f"a {type(value).__name__}"
        layout = "" if value.layout == torch.strided else f" ({_name(value.layout)})"
        grad = " that requires grad" if value.requires_grad else ""
        return f"{kind} of {_name(value.dtype)} {list(value.shape)}{layout}{grad}"
    return "nothing" if value is None else f"a {type(value).__name__}"


def _name(value: Any) -> str:
    return str(value).removeprefix("torch.")


# Schemas -------------------------------------------------------------------------------------------------------------

_PLAIN: dict[Any, Callable[[], Kind]] = {
    int: lambda: Number(int, "<q"),
    float: lambda: Number(float, "<d"),
    bool: lambda: Number(bool, "<?"),
    str: Text,
    Any: Plain,
    object: Pickled,
}
_SPEC_NAMES = {"int": int, "float": float, "bool": bool, "str": str, "any": Any, "object": object}


@dataclass(frozen=True)
class Column:
    """One column: its key, the kind of its values, and whether rows may do without."""

    key: Key
    kind: Kind
    nullable: bool

    def __str__(self) -> str:
        return f"{self.kind}{' or nothing' if self.nullable else ''}"


class _None:
    """The class of `NONE`."""

    def __len__(self) -> int:
        return 0

    def __repr__(self) -> str:
        return "NONE"


#: Stands in a row of cells for a value that is `None`; `None` stands for one that is missing.
NONE = _None()

#: What a row is made of: a dict of columns, a tuple of them, or the value of the only one.
_FORMS = ("dict", "tuple", "value")


class Schema:
    """The columns of a database, and how rows are made of them.

    Args:
        columns: the columns, in order.
        form: 'dict', 'tuple' or 'value'.
    """

    def __init__(self, columns: Sequence[Column], form: str = "dict") -> None:
        self.columns = list(columns)
        self.form = form
        self._known = {column.key for column in self.columns}
        self._decoders = [(column.key, column.kind.decode) for column in self.columns]

    @staticmethod
    def of(schema: Any, trust: bool = False) -> "Schema":
        """A schema as users write it: a kind, or a dict, tuple or list of kinds.

        A kind is `int`, `float`, `bool`, `str`, a `TensorInfo` or the dict of its arguments, `typing.Any`, `object`, or
        a `Nullable` of one. The dict may be nested once, by node or edge type.

        Raises:
            TypeError: if something else stands in it; the message names the column.
        """
        if isinstance(schema, Schema):
            return Schema([_column(c.key, Nullable(c.kind.spec) if c.nullable else c.kind.spec, trust)
                           for c in schema.columns], schema.form)  # fmt: skip
        if isinstance(schema, Mapping) and not _is_info(schema):
            flat: dict[Key, Any] = {}
            for key, spec in schema.items():
                nested = isinstance(spec, Mapping) and not _is_info(spec)
                flat.update({(key, name): part for name, part in spec.items()} if nested else {key: spec})
            return Schema([_column(key, spec, trust) for key, spec in flat.items()])
        if isinstance(schema, (tuple, list)):
            return Schema([_column(at, spec, trust) for at, spec in enumerate(schema)], "tuple")
        return Schema([_column(0, schema, trust)], "value")

    # Rows ------------------------------------------------------------------------------------------------------------

    def encode(self, row: Any, index: int) -> list[Any]:
        """The cells of a row: bytes, `NONE`, or `None` for a missing value.

        Raises:
            ValueError: if it does not fit; the message names row, column, what was expected and what was found.
        """
        values = self._values(row, index)
        cells: list[Any] = []
        for column in self.columns:
            key = column.key
            cell: Any
            if key not in values:
                cell, problem = None, None if column.nullable else "nothing"
            elif values[key] is None and column.kind.spec not in (Any, object):
                cell, problem = NONE, None if column.nullable else "None"
            else:
                try:
                    cell, problem = column.kind.encode(values[key]), None
                except Mismatch as mismatch:
                    problem = str(mismatch)
            if problem is not None:
                raise ValueError(f"row {index}: {place(key)}: expected {column}, found {problem}")
            cells.append(cell)
        return cells

    def _values(self, row: Any, index: int) -> Mapping[Key, Any]:
        if self.form == "value":
            return {0: row}
        if self.form == "tuple":
            if not isinstance(row, (tuple, list)) or len(row) != len(self.columns):
                raise ValueError(f"row {index}: expected {len(self.columns)} values, found {found_row(row)}")
            return dict(enumerate(row))
        if not isinstance(row, Mapping):
            raise ValueError(f"row {index}: expected a dict, found {found_row(row)}")
        unknown = row.keys() - self._known
        if unknown:
            key = min(unknown, key=str)
            raise ValueError(
                f"row {index}: {place(key)}: expected nothing, since the schema has no such column, found "
                f"{found(row[key])}; give a schema that names it (Nullable(...) if not every row has it)"
            )
        return row

    def decode(self, cells: Sequence[Any]) -> Any:
        """The row of some cells.

        Raises:
            FileFormatError: if a cell is not what `encode` gave; the message names the column.
        """
        values = {}
        try:
            for (key, decode), cell in zip(self._decoders, cells, strict=True):
                if cell is not None:
                    values[key] = None if cell is NONE else decode(cell)
        except (ValueError, struct.error, RuntimeError) as error:
            raise FileFormatError(f"{place(key)} is damaged: {error}") from error
        if self.form == "dict":
            return values
        return tuple(values.get(at) for at in range(len(self.columns))) if self.form == "tuple" else values.get(0)

    # Files -----------------------------------------------------------------------------------------------------------

    def to_json(self) -> dict[str, Any]:
        """The schema as plain JSON values."""
        return {
            "form": self.form,
            "columns": [[_key_json(c.key), _spec_json(c.kind.spec), c.nullable] for c in self.columns],
        }

    @staticmethod
    def from_json(found: Any, trust: bool = False) -> "Schema":
        """The schema that `to_json` gave.

        Raises:
            FileFormatError: if `found` is nothing of the kind.
        """
        try:
            form = found["form"]
            columns = [
                Column(_key_of(key), _kind(_spec_of(spec), trust), bool(nullable))
                for key, spec, nullable in found["columns"]
            ]
        except (KeyError, TypeError, ValueError) as error:
            raise FileFormatError(f"expected a schema, found {str(found)[:200]}") from error
        if form not in _FORMS or len({column.key for column in columns}) != len(columns):
            raise FileFormatError(f"expected a schema, found {str(found)[:200]}")
        return Schema(columns, form)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Schema) and self.to_json() == other.to_json()

    def __hash__(self) -> int:
        return hash(str(self.to_json()))

    def __repr__(self) -> str:
        return f"Schema({', '.join(f'{place(column.key)}: {column}' for column in self.columns)})"


def place(key: Key) -> str:
    """What errors call a column."""
    if isinstance(key, tuple):
        return f"attribute '{key[1]}' of type {key[0]!r}"
    return f"attribute '{key}'" if isinstance(key, str) else f"value {key}"


def found_row(row: Any) -> str:
    """What a row is, in words."""
    return f"{len(row)}" if isinstance(row, (tuple, list)) else f"a {type(row).__name__}"


def _is_info(spec: Any) -> bool:
    return isinstance(spec, Mapping) and isinstance(spec.get("dtype"), torch.dtype)


def _column(key: Key, spec: Any, trust: bool) -> Column:
    nullable = isinstance(spec, Nullable)
    if isinstance(spec, Nullable):
        spec = spec.kind
    if _is_info(spec):
        extra = spec.keys() - {"dtype", "size", "requires_grad"}
        if extra:
            raise TypeError(
                f"{place(key)}: expected dtype, size and requires_grad in the schema, found {sorted(extra)}"
            )
        spec = TensorInfo(**{**spec, "size": tuple(spec.get("size", (-1,)))})
    try:
        return Column(key, _kind(spec, trust), nullable)
    except ValueError:
        raise TypeError(
            f"{place(key)}: expected int, float, bool, str, a TensorInfo, typing.Any, object or a Nullable of one in "
            f"the schema, found {spec!r}"
        ) from None


def _kind(spec: Any, trust: bool) -> Kind:
    if isinstance(spec, TensorInfo):
        return Dense(spec)
    if not isinstance(spec, Mapping) and spec in _PLAIN:
        return Pickled(trust) if spec is object else _PLAIN[spec]()
    raise ValueError(f"expected a kind, found {spec!r}")


def _spec_json(spec: Any) -> Any:
    if isinstance(spec, TensorInfo):
        return {"dtype": _name(spec.dtype), "size": list(spec.size), "requires_grad": spec.requires_grad}
    return next(name for name, known in _SPEC_NAMES.items() if known is spec)


def _spec_of(found: Any) -> Any:
    if isinstance(found, dict):
        return TensorInfo(DTYPES[found["dtype"]], tuple(found["size"]), bool(found["requires_grad"]))
    return _SPEC_NAMES[found]


def _key_json(key: Key) -> Any:
    if isinstance(key, tuple):
        return [_key_json(part) for part in key]
    if key is None or isinstance(key, (str, int)):
        return key
    raise TypeError(f"a column must be called by a string, an integer or a tuple of them, found {key!r}")


def _key_of(found: Any) -> Key:
    if isinstance(found, list):
        return tuple(_key_of(part) for part in found)
    if found is None or isinstance(found, (str, int)):
        return found
    raise TypeError(f"expected a key, found {found!r}")


# Inference -----------------------------------------------------------------------------------------------------------


class Inference:
    """The schema that rows have in common, found row by row.

    A column that some rows lack, or that is `None` in some, is nullable.
    """

    def __init__(self) -> None:
        self._specs: dict[Key, Any] = {}
        self._since: dict[Key, int] = {}
        self._counts: dict[Key, int] = {}
        self._rows = 0

    def add(self, row: Mapping[Key, Any], dim_of: Callable[[Key, Any], Any] | None = None) -> None:
        """Look at a row.

        Args:
            row: the row, as a dict.
            dim_of: from a column's key and its value to the dimension whose size may vary, beside those that do; the
                first one where it is not given.

        Raises:
            ValueError: if a value is of another kind than those before; the message names row, column and both.
        """
        for key, value in row.items():
            if value is None:
                self._specs.setdefault(key, None)
                continue
            dim = 0 if dim_of is None or not isinstance(value, Tensor) else dim_of(key, value)
            spec, known = _spec_like(value, dim), self._specs.get(key)
            if known is None:
                self._since[key] = self._rows
            elif known != spec:
                spec = _merge(known, spec)
                if spec is None:
                    raise ValueError(
                        f"row {self._rows}: {place(key)}: expected {_kind(known, False)} as in row {self._since[key]}, "
                        f"found {found(value)}; give a schema in which it is typing.Any if it is to be kept as it is"
                    )
            self._specs[key] = spec
            self._counts[key] = self._counts.get(key, 0) + 1
        self._rows += 1

    def schema(self) -> Schema:
        """The schema of the rows so far."""
        return Schema(
            [
                Column(key, _kind(Any if spec is None else spec, False), self._counts.get(key, 0) < self._rows)
                for key, spec in self._specs.items()
            ]
        )


def infer(rows: Iterable[Mapping[Key, Any]]) -> Schema:
    """The schema that some rows have in common."""
    inference = Inference()
    for row in rows:
        inference.add(row)
    return inference.schema()


def _spec_like(value: Any, dim: Any) -> Any:
    if type(value) is Tensor and value.layout == torch.strided and _name(value.dtype) in DTYPES:
        size = list(value.shape)
        if isinstance(dim, int) and size:
            size[dim] = -1
        return TensorInfo(value.dtype, tuple(size), value.requires_grad)
    if type(value) is int:
        return int if -(1 << 63) <= value < 1 << 63 else Any
    return type(value) if type(value) in (float, bool, str) else Any


def _merge(one: Any, other: Any) -> Any:
    if one is other:
        return one
    if not isinstance(one, TensorInfo) or not isinstance(other, TensorInfo):
        return Any if Any in (one, other) and int in (one, other) else None
    if (one.dtype, one.requires_grad, len(one.size)) != (other.dtype, other.requires_grad, len(other.size)):
        return None
    size = tuple(a if a == b else -1 for a, b in zip(one.size, other.size, strict=True))
    return TensorInfo(one.dtype, size, one.requires_grad)
