"""`RocksDatabase`: rows in a folder of RocksDB."""

import errno
import json
import os
import struct
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from gnnlab.data.database.base import Cells, Database, checksum, lengths, to_text
from gnnlab.data.database.schema import NONE, Schema
from gnnlab.files import FileFormatError

VERSION = 1

#: Shorter than any row's key, so that no row has it.
_ABOUT, _SCHEMA, _COUNT, _VERSION = b"about", b"schema", b"count", b"version"
_NONE_LENGTH = -2

#: A file in the folder that RocksDB knows nothing of.
_SEAL = "gnnlab-seal.json"


class RocksDatabase(Database):
    """Rows in a folder of RocksDB, through `rocksdict` (`torch_geometric.data.RocksDatabase`).

    The key of a row is its position, `[8]` bytes, most significant first; its value a checksum (CRC-32, compared
    whenever it is read), the lengths of its cells and the cells. Readers see what was committed when they opened it.
    When a writer closes, it notes the number of rows in a file of its own, for where RocksDB's list of its files is cut
    short, RocksDB takes it for that of a smaller database.

    Args:
        path: the folder.
        schema, trust, verify: as for `Database`.

    Raises:
        ImportError: when it is opened and `rocksdict` is not installed.
    """

    backend = "rocksdb"

    def _open(self, writing: bool) -> Any:
        rocksdict = _rocksdict()
        if not writing and not os.path.isfile(self.path / "CURRENT"):
            raise FileFormatError(f"{self.path}: expected a folder of RocksDB, found none of its files")
        if writing and _FIRST_USED_BY not in (None, os.getpid()):
            raise RuntimeError(
                f"{self.path}: RocksDB was used before this process was forked, and can't be written here without its "
                "threads: write in the process itself, or in a spawned one"
            )
        access = rocksdict.AccessType.read_write() if writing else rocksdict.AccessType.read_only()
        _note_use()
        with self._errors():
            handle = rocksdict.Rdict(str(self.path), rocksdict.Options(raw_mode=True), access_type=access)
        try:
            self._read_about(handle)
            self._compare_seal()
        except BaseException:
            handle.close()
            raise
        return handle

    def _compare_seal(self) -> None:
        try:
            text = (self.path / _SEAL).read_bytes()
        except FileNotFoundError:
            return
        try:
            found = json.loads(text)
            fits = found["crc"] == zlib.crc32(str(found["count"]).encode())
        except (ValueError, KeyError, TypeError):
            fits = False
        if not fits:
            raise FileFormatError(f"{self.path / _SEAL}: damaged: {text[:80]!r}")
        if found["count"] > self._committed:
            raise FileFormatError(f"{self.path}: damaged: expected {found['count']} rows, found {self._committed}")

    def _seal(self) -> None:
        """Note how many rows there are."""
        count = self._committed
        part = self.path / f"{_SEAL}.part"
        part.write_text(json.dumps({"count": count, "crc": zlib.crc32(str(count).encode())}))
        os.replace(part, self.path / _SEAL)

    def _read_about(self, handle: Any) -> None:
        version = self._about(handle, _VERSION)
        if version is None:
            with self._errors():
                if any(True for _ in handle.keys()):  # noqa: SIM118
                    raise FileFormatError(f"{self.path}: expected a database of gnnlab's, found another")
            return
        if version != VERSION:
            raise FileFormatError(f"{self.path}: expected version {VERSION}, found {version}: upgrade gnnlab")
        schema, count = self._about(handle, _SCHEMA), self._about(handle, _COUNT)
        if schema is not None:
            if not isinstance(count, int) or count < 0:
                raise FileFormatError(f"{self.path}: expected a number of rows, found {count}")
            self._schema, self._committed = Schema.from_json(schema, self.trust), count

    def _about(self, handle: Any, key: bytes) -> Any:
        with self._errors():
            value = handle.get(key)
        if value is None:
            return None
        if int.from_bytes(value[:4], "little") != zlib.crc32(value[4:], zlib.crc32(key)):
            raise FileFormatError(f"{self.path}: damaged: the checksum of its {key.decode()} does not fit")
        return json.loads(value[4:])

    def _close(self) -> None:
        with self._errors():
            if self._is_writer:
                self._handle.flush()
            self._handle.close()
            if self._is_writer:
                self._seal()

    def _append(self, rows: list[Cells]) -> None:
        rocksdict = _rocksdict()
        schema = self._known_schema()
        first = self._committed
        with self._errors():
            batch = rocksdict.WriteBatch(raw_mode=True)
            if first == 0:
                batch[_VERSION], batch[_SCHEMA] = _marked(_VERSION, VERSION), _marked(_SCHEMA, schema.to_json())
            for index, cells in enumerate(rows, first):
                batch[_key(index)] = _pack(index, cells)
            batch[_COUNT] = _marked(_COUNT, first + len(rows))
            self._write(batch)

    def _write(self, batch: Any) -> None:
        options = _rocksdict().WriteOptions()
        options.sync = self.durable
        self._handle.write(batch, options)

    def about(self) -> Any:
        if self._handle is None and not os.path.lexists(self.path):
            return None
        self.connect()
        return self._about(self._handle, _ABOUT)

    def note(self, about: Any) -> None:
        self.begin()
        with self._errors():
            batch = _rocksdict().WriteBatch(raw_mode=True)
            batch[_VERSION], batch[_ABOUT] = _marked(_VERSION, VERSION), _marked(_ABOUT, about)
            self._write(batch)

    def _fetch(self, ids: Sequence[int]) -> list[Cells]:
        width = len(self._known_schema().columns)
        with self._errors():
            values = self._handle.get([_key(index) for index in ids])
        return [self._unpack(index, value, width) for index, value in zip(ids, values, strict=True)]

    def _unpack(self, index: int, value: bytes | None, width: int) -> Cells:
        if value is None:
            raise FileFormatError(f"{self.path}: row {index} is missing")
        head = struct.Struct(f"<I{width}i")
        if len(value) >= head.size:
            crc, *sizes = head.unpack_from(value)
            cells: Cells = []
            start = head.size
            for length in sizes:
                if length < 0:
                    cells.append(NONE if length == _NONE_LENGTH else None)
                else:
                    cells.append(value[start : start + length])
                    start += length
            if start == len(value) and checksum(index, cells) == crc:
                return cells
        raise FileFormatError(f"{self.path}: row {index} is damaged: its checksum does not fit")

    def _check(self) -> None:
        with self._errors():
            count = sum(len(key) == 8 for key in self._handle.keys())  # noqa: SIM118
        if count != self._committed:
            raise FileFormatError(f"{self.path}: expected {self._committed} rows, found {count}")
        for _ in self.iter_cells():
            pass

    @contextmanager
    def _errors(self) -> Iterator[None]:
        """RocksDB's errors, which are plain exceptions, in the words of the system."""
        try:
            yield
        except OSError as error:
            raise type(error)(error.errno, f"{self.path}: {error.strerror}") from error
        except Exception as error:
            if type(error) is not Exception:
                raise
            text = str(error)
            where = f"{self.path}: {text}"
            if "No space left" in text:
                raise OSError(errno.ENOSPC, f"{where}; what was committed before is as it was") from error
            if text.startswith("IO error: While ") and any(word in text for word in ("append", "sync", "writ")):
                raise OSError(errno.EIO, f"{where}; what was committed before is as it was") from error
            if "ermission denied" in text or "Read-only file system" in text:
                raise PermissionError(errno.EACCES, where) from error
            if "lock" in text.lower() and "LOCK" in text:
                raise BlockingIOError(errno.EAGAIN, f"{where}: another process is writing it") from error
            raise FileFormatError(f"{where}: it is damaged, or no database") from error


def _rocksdict() -> Any:
    try:
        import rocksdict
    except ImportError as error:
        raise ImportError("RocksDatabase needs rocksdict: pip install 'gnnlab[stores]'") from error
    return rocksdict


#: The process that opened RocksDB first, or that this one was forked from since.
_FIRST_USED_BY: int | None = None


def _note_use() -> None:
    global _FIRST_USED_BY
    if _FIRST_USED_BY is None:
        _FIRST_USED_BY = os.getpid()


def _key(index: int) -> bytes:
    return index.to_bytes(8, "big")


def _marked(key: bytes, value: Any) -> bytes:
    text = to_text(value).encode()
    return zlib.crc32(text, zlib.crc32(key)).to_bytes(4, "little") + text


def _pack(index: int, cells: Cells) -> bytes:
    head = struct.pack(f"<I{len(cells)}i", checksum(index, cells), *lengths(cells))
    return b"".join([head, *(cell for cell in cells if cell is not None and cell is not NONE)])
