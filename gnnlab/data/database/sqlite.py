"""`SQLiteDatabase`: rows in one file of SQLite."""

import errno
import math
import os
import sqlite3
import struct
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from hashlib import blake2b
from json import JSONDecodeError, loads
from typing import Any

from gnnlab.data.database.base import Cells, Database, checksum, to_text
from gnnlab.data.database.burst import Burst
from gnnlab.data.database.schema import NONE, Column, Schema, place
from gnnlab.files import FileFormatError

VERSION = 1

#: Milliseconds for which a locked file is tried again.
_BUSY = 30_000

#: Bytes of a page.
_PAGE = 16384

_SQL_TYPES = {int: "INTEGER", bool: "INTEGER", float: "REAL", str: "TEXT"}
_FLOAT, _INT = struct.Struct("<d"), struct.Struct("<q")


class SQLiteDatabase(Database):
    """Rows in a file of SQLite (`torch_geometric.data.SQLiteDatabase`).

    The table `name` has the columns `id`, `crc` (of the whole row, compared whenever it is read) and `c0`, `c1`, …,
    typed from the schema; `name.about` holds what they are called and of which kind they are. Whatever happens, there
    is one file, which can be read while it is written, and from a folder that can't be written to. Only while a portion
    is being committed there is a journal beside it; if the process is killed just then, the next one to open the file
    for reading or writing takes the portion back.

    Args:
        path: the file.
        name: the table's name.
        schema, trust, verify: as for `Database`.
    """

    backend = "sqlite"

    def __init__(
        self,
        path: str | os.PathLike[str],
        name: str = "graphs",
        schema: Any = None,
        *,
        trust: bool = False,
        verify: bool = False,
    ) -> None:
        if "\0" in name or name.lower().startswith("sqlite_"):
            raise ValueError(f"name must be one that SQLite takes for a table, found {name!r}")
        self.name = name
        self._rows_table, self._about_table = (
            f'"{part.replace(chr(34), chr(34) * 2)}"' for part in (name, f"{name}.about")
        )
        super().__init__(path, schema, trust=trust, verify=verify)

    def _reset(self) -> None:
        super()._reset()
        self._burst: Burst | None = None

    @property
    def connection(self) -> sqlite3.Connection:
        """The open connection."""
        self.connect()
        return self._handle

    @property
    def cursor(self) -> sqlite3.Cursor:
        """A cursor of the open connection."""
        return self.connection.cursor()

    # Opening and closing ---------------------------------------------------------------------------------------------

    def _open(self, writing: bool) -> sqlite3.Connection:
        with self._errors():
            connection = self._connect(writing)
            try:
                connection.execute(f"PRAGMA busy_timeout = {_BUSY}")
                connection.execute("PRAGMA trusted_schema = OFF")
                connection.execute("PRAGMA cell_size_check = ON")
                if writing:
                    connection.execute(f"PRAGMA page_size = {_PAGE}")
                    connection.execute("PRAGMA journal_mode = TRUNCATE")
                    connection.execute(f"PRAGMA synchronous = {'NORMAL' if self.durable else 'OFF'}")
                else:
                    connection.execute("PRAGMA query_only = ON")
                self._read_about(connection, writing)
            except BaseException:
                connection.close()
                raise
            return connection

    def _connect(self, writing: bool) -> sqlite3.Connection:
        # Who may write may also take back what a killed writer has begun, though only reading.
        mode = (
            "rwc"
            if writing
            else "rw"
            if os.access(self.path, os.W_OK) and os.access(self.path.parent, os.W_OK)
            else "ro"
        )
        # Handles are one to a process, not to a thread; SQLite itself is built to be used by several.
        return sqlite3.connect(
            f"{self.path.absolute().as_uri()}?mode={mode}", uri=True, isolation_level=None, check_same_thread=False
        )

    def _read_about(self, connection: sqlite3.Connection, writing: bool) -> None:
        kinds = dict(connection.execute("SELECT name, type FROM sqlite_master WHERE type != 'index'"))
        tables = [name for name in (self.name, f"{self.name}.about") if name in kinds]
        if any(kinds[name] != "table" for name in tables) or tables == [self.name]:
            raise FileFormatError(
                f"{self.path}: expected {self.name!r} and {self.name}.about to be tables, found {kinds}"
            )
        if not tables:
            if kinds and not writing:
                raise FileFormatError(f"{self.path}: expected a table {self.name!r}, found {sorted(kinds)}")
            return
        version = self._about(connection, "version")
        if version != VERSION:
            raise FileFormatError(f"{self.path}: expected version {VERSION}, found {version}: upgrade gnnlab")
        if self.name not in tables:
            return
        schema = Schema.from_json(self._about(connection, "schema"), self.trust)
        count = self._about(connection, "count")
        if not isinstance(count, int) or count < 0:
            raise FileFormatError(f"{self.path}: expected a number of rows, found {count}")
        columns = [row[1] for row in connection.execute(f"PRAGMA table_info({self._rows_table})")]
        for at, column in enumerate(schema.columns):
            if f"c{at}" not in columns:
                raise FileFormatError(f"{self.path}: {place(column.key)}: its column c{at} is missing")
        self._schema, self._committed = schema, count
        self._prepare(schema)

    def _about(self, connection: sqlite3.Connection, key: str) -> Any:
        row = connection.execute(f"SELECT value, sum FROM {self._about_table} WHERE key = ?", (key,)).fetchone()
        if row is None:
            return None
        if not isinstance(row[0], str) or row[1] != _sum(key, row[0]):
            raise FileFormatError(f"{self.path}: damaged: the checksum of its {key} does not fit")
        try:
            return loads(row[0])
        except JSONDecodeError as error:
            raise FileFormatError(f"{self.path}: damaged: its {key} is {row[0][:80]!r}") from error

    def _set_about(self, key: str, value: Any) -> None:
        text = to_text(value)
        self._handle.execute(
            f"INSERT OR REPLACE INTO {self._about_table} VALUES (?, ?, ?)", (key, text, _sum(key, text))
        )

    def _close(self) -> None:
        with self._errors():
            self._end_burst()
            self._handle.close()
            journal = self.path.with_name(f"{self.path.name}-journal")
            if self._is_writer and journal.exists() and journal.stat().st_size == 0:
                journal.unlink()

    # Writing ---------------------------------------------------------------------------------------------------------

    def _append(self, rows: list[Cells]) -> None:
        schema = self._known_schema()
        with self._transaction():
            if self._committed == 0:
                self._create_about()
                self._create_rows(schema)
            marks = ", ".join("?" * (2 + len(schema.columns)))
            kinds, first = self._kinds, self._committed
            values = (
                (index, checksum(index, cells), *(cells if self._are_blobs else map(_to_sql, kinds, cells)))
                for index, cells in enumerate(rows, first)
            )
            self._handle.executemany(f"INSERT INTO {self._rows_table} VALUES ({marks})", values)
            self._set_about("count", first + len(rows))

    def _create_about(self) -> None:
        self._handle.execute(
            f"CREATE TABLE IF NOT EXISTS {self._about_table} (key TEXT PRIMARY KEY, value TEXT, sum TEXT)"
        )
        if self._about(self._handle, "version") is None:
            self._set_about("version", VERSION)

    def _create_rows(self, schema: Schema) -> None:
        types = [f"c{at} {_sql_type(column)}" for at, column in enumerate(schema.columns)]
        columns = ", ".join(["id INTEGER PRIMARY KEY", "crc INTEGER", *types])
        self._handle.execute(f"CREATE TABLE {self._rows_table} ({columns})")
        self._prepare(schema)
        self._set_about("schema", schema.to_json())

    def about(self) -> Any:
        if self._handle is None and not os.path.lexists(self.path):
            return None
        self.connect()
        with self._errors():
            known = self._handle.execute(
                "SELECT 1 FROM sqlite_master WHERE name = ?", (f"{self.name}.about",)
            ).fetchone()
            return self._about(self._handle, "about") if known else None

    def note(self, about: Any) -> None:
        self.begin()
        with self._transaction():
            self._create_about()
            self._set_about("about", about)

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        with self._errors():
            self._end_burst()
            self._handle.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._handle.execute("COMMIT")
            except BaseException:
                if self._handle.in_transaction:
                    self._handle.execute("ROLLBACK")
                raise

    # Reading ---------------------------------------------------------------------------------------------------------

    def _fetch(self, ids: Sequence[int]) -> list[Cells]:
        query = f"{self._query} IN (SELECT value FROM json_each(?))"
        with self._errors():
            found = (self._burst or self._start_reading()).fetchall(query, (to_text(list(ids)),))
        rows = {row[0]: row for row in found}
        return [self._cells_of(index, rows.get(index)) for index in ids]

    def _end_burst(self) -> None:
        if self._burst is not None:
            self._burst.end()

    def _start_reading(self) -> Burst:
        self._burst = Burst(self._handle)
        return self._burst

    def _fetch_one(self, index: int) -> Cells:
        try:
            row = (self._burst or self._start_reading()).fetchone(self._query_one, (index,))
        except sqlite3.Error:
            with self._errors():
                raise
        return self._cells_of(index, row)

    def _cells_of(self, index: int, row: tuple[Any, ...] | None) -> Cells:
        if row is not None:
            try:
                cells = list(row[2:]) if self._are_blobs else list(map(_from_sql, self._kinds, row[2:]))
                if checksum(index, cells) == row[1]:
                    return cells
            except (TypeError, ValueError, struct.error, OverflowError):
                pass
        what = "is missing" if row is None else "is damaged: its checksum does not fit"
        raise FileFormatError(f"{self.path}: row {index} {what}")

    def _prepare(self, schema: Schema) -> None:
        """Note what reading and writing rows of a schema takes."""
        self._kinds = [column.kind.spec for column in schema.columns]
        self._are_blobs = not any(column.nullable or _sql_type(column) != "BLOB" for column in schema.columns)
        columns = "".join(f", c{at}" for at in range(len(self._kinds)))
        self._query = f"SELECT id, crc{columns} FROM {self._rows_table} WHERE id"
        self._query_one = f"{self._query} = ?"  # made once: its hash is what SQLite's statements are found by

    def _check(self) -> None:
        with self._errors():
            problems = [row[0] for row in self._handle.execute("PRAGMA integrity_check(5)")]
            count = (
                self._handle.execute(f"SELECT count(*) FROM {self._rows_table}").fetchone()[0] if self._committed else 0
            )
        if problems != ["ok"]:
            raise FileFormatError(f"{self.path}: damaged: {'; '.join(problems)[:500]}")
        if count != self._committed:
            raise FileFormatError(f"{self.path}: expected {self._committed} rows, found {count}")
        for _ in self.iter_cells():
            pass

    @contextmanager
    def _errors(self) -> Iterator[None]:
        """SQLite's errors in the words of the system."""
        try:
            yield
        except sqlite3.Error as error:
            name = getattr(error, "sqlite_errorname", "")
            where = f"{self.path}: {error}"
            if name.startswith("SQLITE_FULL"):
                raise OSError(errno.ENOSPC, f"{where}; what was committed before is as it was") from error
            if name.startswith(("SQLITE_READONLY", "SQLITE_PERM", "SQLITE_AUTH")):
                raise PermissionError(errno.EACCES, where) from error
            if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
                raise BlockingIOError(errno.EAGAIN, f"{where}: another process is writing it") from error
            if name.startswith(("SQLITE_CANTOPEN", "SQLITE_IOERR")):
                raise OSError(errno.EIO, where) from error
            raise FileFormatError(f"{where}: it is damaged, or no database") from error


def _sum(key: str, text: str) -> str:
    return blake2b(f"{key}={text}".encode(), digest_size=16).hexdigest()


def _sql_type(column: Column) -> str:
    kind = column.kind.spec
    return _SQL_TYPES.get(kind, "BLOB") if isinstance(kind, type) else "BLOB"


def _to_sql(kind: Any, cell: Any) -> Any:
    """A cell as SQLite keeps it. Numbers and text are kept as such, as far as SQLite gives back the same; `None` is a
    number in a column of bytes, and bytes in a column of numbers or text.
    """
    if cell is None:
        return None
    if kind is int:
        return b"" if cell is NONE else _INT.unpack(cell)[0]
    if kind is bool:
        return b"" if cell is NONE else cell[0]
    if kind is float:
        if cell is NONE:
            return b""
        (value,) = _FLOAT.unpack(cell)
        return cell if math.isnan(value) or (value == 0 and cell[-1]) else value
    if kind is str:
        if cell is NONE:
            return b""
        try:
            return cell.decode()
        except UnicodeDecodeError:
            return cell
    return 0 if cell is NONE else cell


def _from_sql(kind: Any, value: Any) -> Any:
    """The cell that `_to_sql` was given."""
    if type(value) is bytes:
        return NONE if value == b"" and kind in (int, bool, float, str) else value
    if value is None:
        return None
    if kind is int:
        return _INT.pack(value)
    if kind is bool:
        return bytes([value])
    if kind is float:
        return _FLOAT.pack(value)
    if kind is str:
        return value.encode()
    if value != 0:
        raise ValueError("expected bytes")
    return NONE
