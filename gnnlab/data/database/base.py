"""`Database`: rows by their position, in a file or folder."""

import contextlib
import copy
import ctypes
import json
import os
import struct
import sys
import weakref
import zlib
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from tqdm import tqdm

from gnnlab.data.database.schema import NONE, Schema, infer
from gnnlab.data.positions import is_scalar, positions
from gnnlab.files import FileFormatError

if TYPE_CHECKING:
    from gnnlab.data.database.columns import Packed

#: Rows are committed in portions of about this many bytes, and of at most so many rows.
PORTION_BYTES, PORTION_ROWS = 8 << 20, 4096

#: A row of cells: bytes (or a view of some), `NONE` for a value that is `None`, or `None` for a missing one.
Cells = list[Any]

#: Databases of this process that may hold rows that are not committed yet.
_WRITERS: "weakref.WeakSet[Database]" = weakref.WeakSet()


class Database(ABC):
    """Rows by their position, in a file or folder (`torch_geometric.data.Database`).

    Positions run from 0 without gaps, and a row that has been written stays as it is: to insert it again does nothing
    where it is equal, and raises where it is not. So whoever was interrupted may insert all rows from the first one on.

    A database opens when it is used first, by itself, and again in every process that it is pickled or forked into. It
    is read until a row is inserted; then this object is its only writer, until `close`. Inserted rows are committed in
    portions of `PORTION_BYTES`, and at `flush`, `close`, a fork, or the end of a `with` block; rows read are always
    those inserted before.

    Args:
        path: file or folder.
        schema: the kinds of the values, as `Schema.of` takes them: a dict of columns, a tuple of them, or one kind; of
            a database that exists it must be its own. `None` takes that of the file, or infers one of the rows that are
            inserted first.
        trust: unpickle values of `object` columns, which runs whatever the file says.
        verify: check the whole file when it is opened (`verify`).

    Raises:
        FileFormatError: when it is opened and is damaged or no database.
        ValueError: when it is opened and has another schema.
    """

    #: What `OnDiskDataset` calls the backend.
    backend: ClassVar[str]
    #: Whether a commit waits until the disk has it. Without, what is committed outlives a killed process, but not a
    #: machine that goes down.
    durable = True

    def __init__(
        self, path: str | os.PathLike[str], schema: Any = None, *, trust: bool = False, verify: bool = False
    ) -> None:
        self.path = Path(path).expanduser()
        self.trust, self._verify = trust, verify
        self._asked = None if schema is None else Schema.of(schema, trust)
        self._reset()

    def _reset(self) -> None:
        self._schema: Schema | None = self._asked
        self._handle: Any = None
        self._pid = os.getpid()
        self._is_writer = False
        self._lock: Any = None
        self._committed = 0
        self._pending: list[Cells] = []
        self._pending_bytes = 0

    # What backends define --------------------------------------------------------------------------------------------

    @abstractmethod
    def _open(self, writing: bool) -> Any:
        """Open the existing file, or with `writing` make one if there is none, and set `_schema` and `_committed`."""

    @abstractmethod
    def _close(self) -> None:
        """Close `_handle`; a writer leaves the file ready to be read from a folder that can't be written to."""

    @abstractmethod
    def _append(self, rows: list[Cells]) -> None:
        """Write rows after the committed ones: all of them or, whatever happens, none. `_schema` is set."""

    @abstractmethod
    def _fetch(self, ids: Sequence[int]) -> list[Cells]:
        """The cells of committed rows; each id is within them."""

    @abstractmethod
    def _check(self) -> None:
        """Read everything and raise `FileFormatError` where it is not what was written."""

    @abstractmethod
    def about(self) -> Any:
        """What was noted beside the rows by `note`, or `None`."""

    @abstractmethod
    def note(self, about: Any) -> None:
        """Keep plain JSON values beside the rows, such as how they were made."""

    # Opening and closing ---------------------------------------------------------------------------------------------

    def connect(self) -> None:
        """Open the database for reading, if it is not open yet.

        Raises:
            FileNotFoundError: if there is none.
        """
        self._of_this_process()
        if self._handle is None:
            if not os.path.lexists(self.path):
                raise FileNotFoundError(f"there is no database at {self.path}")
            self._handle = self._open(writing=False)
            self._compare_schema()
            if self._verify:
                self._check()

    def close(self) -> None:
        """Commit what was inserted, and close the database. It opens again when it is used again."""
        self._of_this_process()
        try:
            if self._is_writer:
                self.flush()
        finally:
            if self._handle is not None:
                try:
                    self._close()
                finally:
                    self._release()

    def _release(self) -> None:
        if self._lock is not None:
            self._lock.release()
        _WRITERS.discard(self)
        self._reset()

    def _of_this_process(self) -> None:
        """In a forked child: let go of what is the parent's."""
        if self._pid != os.getpid():
            if self._handle is not None:  # never closed here, not even by the garbage collector
                ctypes.pythonapi.Py_IncRef(ctypes.py_object(self._handle))
            self._reset()

    def _compare_schema(self) -> None:
        if self._asked is not None and self._schema is not None and self._asked != self._schema:
            message = f"{self.path} has another schema than is asked for: it is {self._schema}, asked for {self._asked}"
            self._close()
            self._release()
            raise ValueError(message)

    def begin(self) -> None:
        """Become the writer, until `close`; `insert` does so by itself.

        Raises:
            BlockingIOError: if another object or process is it.
            OSError: if the file can't be written.
        """
        self._of_this_process()
        if self._is_writer:
            return
        if self._handle is not None:
            self._close()
            self._reset()
        with _plain_errors(self.path):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            lock = _lock(self.path)
        try:
            with _plain_errors(self.path):
                self._handle = self._open(writing=True)
        except BaseException:
            lock.release()
            raise
        self._lock, self._is_writer = lock, True
        self._compare_schema()
        _WRITERS.add(self)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        if self.__dict__.get("_is_writer") and self._pid == os.getpid() and not sys.is_finalizing():
            with contextlib.suppress(Exception):
                self.close()

    # Writing ---------------------------------------------------------------------------------------------------------

    @property
    def schema(self) -> Schema | None:
        """The columns and their kinds; `None` as long as nothing tells them."""
        self._of_this_process()
        if self._handle is None and os.path.lexists(self.path):
            self.connect()
        return self._schema

    @property
    def num_committed(self) -> int:
        """The number of rows that a killed process would leave behind."""
        self._of_this_process()
        if self._handle is None and os.path.lexists(self.path):
            self.connect()
        return self._committed

    def insert(self, index: int, data: Any) -> None:
        """Insert a row.

        Args:
            index: its position: `len(self)`, or that of an equal row.
            data: the row, as the schema has it.

        Raises:
            IndexError: if `index` would leave a gap.
            ValueError: if the row does not fit the schema, or another one is at `index` already.
            BlockingIOError: if another object or process is writing the database.
            OSError: if it can't be written.
        """
        self.begin()
        self._insert(index, data)

    def _insert(self, index: int, row: Any) -> None:
        index = int(index)
        if self._schema is None:
            self._schema = infer([row]) if isinstance(row, dict) else Schema.of(Any)
        self.insert_cells(index, self._schema.encode(row, index))

    def insert_cells(self, index: int, cells: Cells) -> None:
        """`insert` of a row whose cells are known; `declare` or an insert has set the schema."""
        length = self._committed + len(self._pending)
        if not 0 <= index <= length:
            raise IndexError(f"index must be that of a row or the next one, {length}, found {index}")
        if index < length:
            if self._cells([index])[0] != cells:
                raise ValueError(
                    f"row {index} of {self.path} is another one already; rows that were written can't be changed"
                )
            return
        self._pending.append(cells)
        self._pending_bytes += sum(map(len, filter(None, cells)))
        if self._pending_bytes >= PORTION_BYTES or len(self._pending) >= PORTION_ROWS:
            self.flush()

    def insert_portion(self, start: int, rows: list[Cells]) -> None:
        """`insert_cells` of some rows, the first of them at `start`."""
        if start == self._committed + len(self._pending) and len(rows) <= PORTION_ROWS:
            self._pending.extend(rows)
            self._pending_bytes += sum(sum(map(len, filter(None, cells))) for cells in rows)
            if self._pending_bytes >= PORTION_BYTES or len(self._pending) >= PORTION_ROWS:
                self.flush()
            return
        for index, cells in enumerate(rows, start):
            self.insert_cells(index, cells)

    def multi_insert(
        self, indices: Any, data_list: Iterable[Any], batch_size: int | None = None, log: bool = False
    ) -> None:
        """Insert rows.

        Args:
            indices: their positions: a sequence, range, tensor, or slice.
            data_list: the rows, of any iterable; one for each position.
            batch_size: commit after so many rows; `None` commits by bytes.
            log: show a progress bar.

        Raises:
            ValueError: if there are not as many rows as positions.
            Others: as `insert`.
        """
        self.begin()
        total = len(data_list) if isinstance(data_list, Sequence) else None
        if isinstance(indices, slice):
            start, step = indices.start or 0, indices.step or 1
            stop = indices.stop if indices.stop is not None else start + step * len(list(data_list))
            indices = range(start, stop, step)
        indices = indices.tolist() if hasattr(indices, "tolist") else indices
        if total is not None and total != len(indices):
            raise ValueError(f"expected as many rows as positions, found {total} rows for {len(indices)} positions")
        if self._schema is None and isinstance(data_list, Sequence) and data_list and isinstance(data_list[0], dict):
            self._schema = infer(data_list)
        rows = zip(indices, data_list, strict=True)
        for at, (index, row) in enumerate(tqdm(rows, total=len(indices), desc="Writing", disable=not log), 1):
            self._insert(index, row)
            if batch_size is not None and at % batch_size == 0:
                self.flush()
        self.flush()

    def declare(self, schema: Schema) -> None:
        """Set the schema of a database that has none yet.

        Raises:
            ValueError: if it has another one.
        """
        self.begin()
        if self._schema is None:
            self._schema = Schema.of(schema, self.trust)
        elif self._schema != schema:
            raise ValueError(f"{self.path} has another schema already: it is {self._schema}, found {schema}")

    def flush(self) -> None:
        """Commit what was inserted: a process that is killed afterwards leaves it behind."""
        self._of_this_process()
        if self._pending:
            rows = self._pending
            with _plain_errors(self.path):
                self._append(rows)
            self._committed += len(rows)
            self._pending, self._pending_bytes = [], 0

    # Reading ---------------------------------------------------------------------------------------------------------

    def get(self, index: int) -> Any:
        """The row at `index`, counted from 0.

        Raises:
            IndexError: if there is none.
            FileFormatError: if it is damaged.
        """
        if self._handle is None or self._pid != os.getpid():
            self.connect()
        if 0 <= index < self._committed:
            cells = self._fetch_one(index)
        else:
            (cells,) = self._cells([index])
        return self._known_schema().decode(cells)

    def _fetch_one(self, index: int) -> Cells:
        """The cells of a committed row."""
        return self._fetch([index])[0]

    def multi_get(self, indices: Any, batch_size: int | None = None) -> list[Any]:
        """The rows at `indices`: a sequence, range, mask, tensor or slice; negative ones count from the end.

        Args:
            indices: positions.
            batch_size: how many to read at once; `None` reads all at once.

        Raises:
            IndexError: if there is no row at one of them; the message names it.
            FileFormatError: if one is damaged.
        """
        ids = positions(indices, len(self))
        step = len(ids) if batch_size is None else batch_size
        decode = self._known_schema().decode if ids else None
        return [decode(cells) for at in range(0, len(ids), step or 1) for cells in self._cells(ids[at : at + step])]  # type: ignore[misc]

    def _known_schema(self) -> Schema:
        if self._schema is None:
            raise IndexError(f"{self.path} has no rows")
        return self._schema

    def _cells(self, ids: Sequence[int]) -> list[Cells]:
        """The cells of the rows at `ids`, of those that are not committed yet too."""
        if self._pid != os.getpid() or self._handle is None:
            self.connect()
        committed, length = self._committed, self._committed + len(self._pending)
        for index in ids:
            if not 0 <= index < length:
                raise IndexError(f"row {index} is out of range: {self.path} has {length} rows")
        if length == committed or max(ids, default=0) < committed:
            return self._fetch(ids)
        kept = [index for index in ids if index < committed]
        read = iter(self._fetch(kept) if kept else ())
        return [next(read) if index < committed else self._pending[index - committed] for index in ids]

    def columns(self, ids: Sequence[int]) -> tuple[list["Packed"], int, NDArray[np.int64]]:
        """Columns that hold the rows at `ids`, how many rows they hold, and where in them these are, `[n]`."""
        from gnnlab.data.database.columns import columns_of

        rows = self._cells(ids)
        return columns_of(self._known_schema(), rows), len(rows), np.arange(len(rows), dtype=np.int64)

    def iter_cells(self, step: int = 256) -> Iterator[Cells]:
        """The cells of all rows, in order."""
        for start in range(0, len(self), step):
            yield from self._cells(range(start, min(start + step, len(self))))

    def verify(self) -> None:
        """Read everything and compare it with its checksums.

        Raises:
            FileFormatError: if something is damaged; the message names it.
        """
        self.connect()
        self._check()

    def __len__(self) -> int:
        self._of_this_process()
        if self._handle is None:
            if not os.path.lexists(self.path):
                return 0
            self.connect()
        return self._committed + len(self._pending)

    def __getitem__(self, key: Any) -> Any:
        return self.get(int(key)) if is_scalar(key) else self.multi_get(key)

    def __setitem__(self, key: Any, value: Any) -> None:
        if is_scalar(key):
            self.insert(int(key), value)
        else:
            self.multi_insert(key, value)

    def __repr__(self) -> str:
        try:
            return f"{type(self).__name__}({len(self)})"
        except (OSError, ValueError) as error:
            return f"{type(self).__name__}({error})"

    # Processes -------------------------------------------------------------------------------------------------------

    def __getstate__(self) -> dict[str, Any]:
        if self._pid == os.getpid():
            self.flush()
        blank = type(self).__new__(type(self))
        blank.__dict__.update(self.__dict__)
        blank._reset()
        return blank.__dict__

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._pid = os.getpid()

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        out = type(self).__new__(type(self))
        out.__setstate__(copy.deepcopy(self.__getstate__(), memo))
        return out


def lengths(cells: Cells) -> list[int]:
    """The length of every cell; -1 for a missing one, -2 for `NONE`."""
    return [-1 if cell is None else -2 if cell is NONE else len(cell) for cell in cells]


def checksum(index: int, cells: Cells) -> int:
    """A checksum (CRC-32) of a row: of its position, the lengths of its cells, and their bytes."""
    sizes = lengths(cells)
    head = zlib.crc32(struct.pack(f"<{len(sizes) + 1}q", index, *sizes))
    return zlib.crc32(b"".join(cells if min(sizes, default=0) >= 0 else filter(_is_bytes, cells)), head)


def _is_bytes(cell: Any) -> bool:
    return cell is not None and cell is not NONE


def to_text(value: Any) -> str:
    """Plain JSON values as text; raises TypeError for others."""
    text = json.dumps(value, separators=(",", ":"), allow_nan=False)
    if json.loads(text) != value:
        raise TypeError("expected plain JSON values, found tuples or keys that are no strings")
    return text


def _lock(path: Path) -> Any:
    from filelock import FileLock, Timeout

    target = Path(os.path.realpath(path))
    lock = FileLock(target.with_name(f".writing-{target.name}"), timeout=0)
    try:
        lock.acquire()
    except Timeout as error:
        raise BlockingIOError(f"another object or process is writing {path}: close it first") from error
    return lock


@contextlib.contextmanager
def _plain_errors(path: Path) -> Iterator[None]:
    """Say in errors of the system which database could not be written."""
    try:
        yield
    except FileFormatError:
        raise
    except OSError as error:
        if str(path) not in str(error):
            error.add_note(f"{path} could not be written; what was committed before is as it was.")
        raise


def _flush_all() -> None:
    for database in list(_WRITERS):
        with contextlib.suppress(Exception):
            database.flush()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_flush_all)
