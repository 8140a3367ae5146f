"""`MmapDatabase`: rows in columns, each in raw files that are mapped into memory.

    manifest.json     format, version, schema, count, about, files, checksum
    c0.bin            the cells of the first column, one after another
    c0.offsets.bin    [count + 1] int64, where each begins and ends, if they are of different sizes
    c0.states.bin     [count] uint8, whether each is there, if the column is nullable
    c1.bin            ...

The manifest says how many bytes of each file count, with a checksum for every `SHARD_BYTES` of them. Rows are appended
by writing behind these bytes, and count once the next manifest has taken the place of the last.
"""

import json
import os
import re
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from gnnlab.data.database.base import Cells, Database, to_text
from gnnlab.data.database.columns import NONE_STATE, PRESENT_STATE, Layout, Packed, pack_cells
from gnnlab.data.database.schema import NONE, Column, Schema, place
from gnnlab.files import FileFormatError
from gnnlab.files.folder import map_file

FORMAT, VERSION = "gnnlab.columns", 1
MANIFEST = "manifest.json"

#: A checksum in the manifest covers so many bytes of a file.
SHARD_BYTES = 64 << 20
_BLOCK = 1 << 22


@dataclass
class _File:
    """A file of a column: how many bytes of it count, and the checksum (CRC-32) of each shard of them."""

    nbytes: int = 0
    sums: list[int] = field(default_factory=list)

    def add(self, data: bytes) -> None:
        """Count bytes that were written behind the others."""
        view = memoryview(data)
        while len(view):
            used = self.nbytes % SHARD_BYTES
            if used == 0:
                self.sums.append(0)
            part = view[: SHARD_BYTES - used]
            self.sums[-1] = zlib.crc32(part, self.sums[-1])
            self.nbytes += len(part)
            view = view[len(part) :]


class MmapDatabase(Database):
    """Rows in columns that are mapped into memory: opened in the same time whatever their size, shared by all processes
    of a machine through its page cache, and read in batches without a copy in between. Ours; PyG has none.

    Whatever is read is checked to lie within its file. Checksums are compared by `verify`, or with `verify=True` when
    it is opened, not at every read. Readers see what was committed when they opened it.

    Args:
        path: the folder.
        schema, trust, verify: as for `Database`.
    """

    backend = "mmap"

    # Opening and closing ---------------------------------------------------------------------------------------------

    def _open(self, writing: bool) -> "_Columns":
        manifest = self.path / MANIFEST
        if writing and not manifest.exists():
            self.path.mkdir(parents=True, exist_ok=True)
            foreign = [name for name in os.listdir(self.path) if not _OWN_NAME.fullmatch(name)]
            if foreign:
                raise FileExistsError(
                    f"{self.path} is a folder that holds other things than rows: {sorted(foreign)[:3]}"
                )
            return _Columns(self.path, None, {}, None, self.durable)
        body = _read_manifest(manifest)
        self._schema = None if body["schema"] is None else Schema.from_json(body["schema"], self.trust)
        self._committed = body["count"]
        columns = _Columns(self.path, self._schema, _parse_files(manifest, body), body["about"], self.durable)
        columns.check_sizes(self._committed)
        if writing:
            columns.cut_tails()
        return columns

    def _close(self) -> None:
        self._handle.drop_maps()

    # Writing ---------------------------------------------------------------------------------------------------------

    def _append(self, rows: list[Cells]) -> None:
        columns: _Columns = self._handle
        if columns.schema is None:
            columns.schema = self._known_schema()
        files = columns.append(rows)
        self._commit(files, self._committed + len(rows), columns.about)

    def note(self, about: Any) -> None:
        to_text(about)
        self.begin()
        self._commit(self._handle.files, self._committed, about)

    def _commit(self, files: dict[str, _File], count: int, about: Any) -> None:
        columns: _Columns = self._handle
        body = {
            "format": FORMAT,
            "version": VERSION,
            "schema": None if columns.schema is None else columns.schema.to_json(),
            "count": count,
            "about": about,
            "files": {name: [file.nbytes, file.sums] for name, file in files.items()},
        }
        _replace_text(self.path / MANIFEST, json.dumps(body | {"checksum": _sum(body)}), self.durable)
        columns.files, columns.about = files, about
        columns.drop_maps()

    def about(self) -> Any:
        if self._handle is None and not os.path.lexists(self.path):
            return None
        self.connect()
        return self._handle.about

    # Reading ---------------------------------------------------------------------------------------------------------

    def _fetch(self, ids: Sequence[int]) -> list[Cells]:
        columns = self._handle.mapped()
        return [[column.cell(index) for column in columns] for index in ids]

    def _fetch_one(self, index: int) -> Cells:
        return [column.cell(index) for column in self._handle.mapped()]

    def columns(self, ids: Sequence[int]) -> tuple[list[Packed], int, NDArray[np.int64]]:
        self.connect()
        self.flush()
        length, index = self._committed, np.asarray(ids, dtype=np.int64)
        wrong = (index < 0) | (index >= length)
        if wrong.any():
            raise IndexError(f"row {index[wrong][0]} is out of range: {self.path} has {length} rows")
        return self._handle.packed(), length, index

    def _check(self) -> None:
        self._handle.check_sums()
        for column in self._handle.mapped() if self._committed else ():
            column.check()


class _Columns:
    """The files of a database, opened in this process."""

    def __init__(self, path: Path, schema: Schema | None, files: dict[str, _File], about: Any, durable: bool) -> None:
        self.path, self.schema, self.files, self.about, self.durable = path, schema, files, about, durable
        self._mapped: list[_Mapped] | None = None
        self._packed: list[Packed] = []

    def append(self, rows: list[Cells]) -> dict[str, _File]:
        """Write rows behind those that count, and give the files as they are with them."""
        assert self.schema is not None
        files = {name: _File(file.nbytes, list(file.sums)) for name, file in self.files.items()}
        for at, (column, cells) in enumerate(zip(self.schema.columns, zip(*rows, strict=True), strict=True)):
            layout = Layout.of(column)
            data, offsets, states = pack_cells(layout, cells)
            self._write(files, f"c{at}.bin", data)
            if offsets is not None:
                name = f"c{at}.offsets.bin"
                start = files[f"c{at}.bin"].nbytes - len(data)
                first = b"" if name in files else bytes(8)
                self._write(files, name, first + (offsets[1:] + start // layout.unit).tobytes())
            if states is not None:
                self._write(files, f"c{at}.states.bin", states.tobytes())
        return files

    def _write(self, files: dict[str, _File], name: str, data: bytes) -> None:
        file = files.setdefault(name, _File())
        with open(self.path / name, "r+b" if os.path.lexists(self.path / name) else "xb") as target:
            target.seek(file.nbytes)
            target.write(data)
            target.flush()
            if self.durable:
                os.fsync(target.fileno())
        file.add(data)

    def cut_tails(self) -> None:
        """Cut off what a killed writer left behind the bytes that count."""
        for name, file in self.files.items():
            if os.stat(self.path / name).st_size > file.nbytes:
                os.truncate(self.path / name, file.nbytes)

    def check_sizes(self, count: int) -> None:
        """Raise unless the files are those of `count` rows."""
        expected: dict[str, tuple[int | None, str]] = {}
        for at, column in enumerate(self.schema.columns if self.schema is not None and count else ()):
            layout, where = Layout.of(column), place(column.key)
            expected[f"c{at}.bin"] = None if layout.ragged else layout.unit * count, where
            if layout.ragged:
                expected[f"c{at}.offsets.bin"] = 8 * (count + 1), where
            if layout.nullable:
                expected[f"c{at}.states.bin"] = count, where
        if expected.keys() != self.files.keys():
            odd = min(expected.keys() ^ self.files.keys())
            raise FileFormatError(f"{self.path / MANIFEST}: damaged: {odd} is missing in it, or too much")
        for name, (nbytes, where) in expected.items():
            file = self.files[name]
            if nbytes is not None and nbytes != file.nbytes:
                raise FileFormatError(
                    f"{self.path / MANIFEST}: damaged: {name} is to have {file.nbytes} bytes, not {nbytes}"
                )
            try:
                size = os.stat(self.path / name).st_size
            except FileNotFoundError as error:
                raise FileFormatError(f"{self.path / name}: {where}: the file is missing") from error
            if size < file.nbytes:
                raise FileFormatError(f"{self.path / name}: {where}: expected {file.nbytes} bytes, found {size}")

    def check_sums(self) -> None:
        """Raise unless every file has its checksums."""
        for name, file in self.files.items():
            with open(self.path / name, "rb") as source:
                for shard, sum in enumerate(file.sums):
                    left = min(SHARD_BYTES, file.nbytes - shard * SHARD_BYTES)
                    found = 0
                    while left > 0:
                        block = source.read(min(_BLOCK, left))
                        if not block:
                            break
                        found, left = zlib.crc32(block, found), left - len(block)
                    if left > 0 or found != sum:
                        where = f"{shard * SHARD_BYTES} to {min((shard + 1) * SHARD_BYTES, file.nbytes)}"
                        raise FileFormatError(
                            f"{self.path / name}: damaged: the checksum of bytes {where} does not fit"
                        )

    def mapped(self) -> list["_Mapped"]:
        """All columns, mapped."""
        if self._mapped is None:
            assert self.schema is not None
            self._mapped = [self._map_column(at, column) for at, column in enumerate(self.schema.columns)]
            self._packed = [column.packed for column in self._mapped]
        return self._mapped

    def packed(self) -> list[Packed]:
        """All columns as they are mapped: the same list as long as no row is added."""
        self.mapped()
        return self._packed

    def _map_column(self, at: int, column: Column) -> "_Mapped":
        layout = Layout.of(column)
        offsets = self._map(f"c{at}.offsets.bin").view(torch.int64).numpy() if layout.ragged else None
        states = self._map(f"c{at}.states.bin").numpy() if layout.nullable else None
        where = f"{self.path / f'c{at}.bin'}: {place(column.key)}"
        return _Mapped(layout, Packed(self._map(f"c{at}.bin"), offsets, states), where)

    def _map(self, name: str) -> Tensor:
        nbytes = self.files[name].nbytes
        if nbytes == 0:
            return torch.empty(0, dtype=torch.uint8)
        with open(self.path / name, "rb") as file:
            return torch.frombuffer(map_file(file.fileno(), nbytes), dtype=torch.uint8)

    def drop_maps(self) -> None:
        """Let go of the mapped files. They stay as long as something read from them is there."""
        self._mapped = None


class _Mapped:
    """A mapped column."""

    def __init__(self, layout: Layout, packed: Packed, where: str) -> None:
        self.packed, self.where, self._unit = packed, where, layout.unit
        self._bytes = memoryview(packed.data.numpy())  # type: ignore[arg-type]
        self._offsets = None if packed.offsets is None else memoryview(packed.offsets)  # type: ignore[arg-type]
        self._states = None if packed.states is None else memoryview(packed.states)  # type: ignore[arg-type]

    def cell(self, index: int) -> Any:
        """The cell of a row; its bytes are a copy."""
        if self._states is not None and self._states[index] != PRESENT_STATE:
            if self._states[index] > NONE_STATE:
                raise FileFormatError(f"{self.where}: row {index} is damaged: its state is {self._states[index]}")
            return NONE if self._states[index] == NONE_STATE else None
        offsets, unit = self._offsets, self._unit
        if offsets is None:
            start, stop = index * unit, (index + 1) * unit
        else:
            start, stop = offsets[index] * unit, offsets[index + 1] * unit
        if not 0 <= start <= stop <= len(self._bytes):
            raise FileFormatError(f"{self.where}: row {index} is damaged: it is to lie at bytes {start} to {stop}")
        return bytes(self._bytes[start:stop])

    def check(self) -> None:
        """Raise unless the offsets grow from 0 to the end."""
        offsets = self.packed.offsets
        if offsets is None:
            return
        if offsets[0] != 0 or offsets[-1] * self._unit != len(self._bytes) or bool((np.diff(offsets) < 0).any()):
            raise FileFormatError(f"{self.where}: damaged: its offsets do not grow from 0 to {len(self._bytes)} bytes")


# The manifest --------------------------------------------------------------------------------------------------------

_OWN_NAME = re.compile(r"c[0-9]+(\.offsets|\.states)?\.bin|\.manifest\.part")


def _read_manifest(path: Path) -> dict[str, Any]:
    try:
        body = json.loads(path.read_bytes())
    except (FileNotFoundError, NotADirectoryError) as error:
        raise FileFormatError(f"{path.parent}: expected a folder with a {MANIFEST}") from error
    except (ValueError, RecursionError) as error:
        raise FileFormatError(f"{path}: damaged: {error}") from error
    if not isinstance(body, dict) or body.get("format") != FORMAT:
        raise FileFormatError(f"{path}: expected the manifest of {FORMAT!r}, found something else")
    if isinstance(body.get("version"), int) and body["version"] > VERSION:
        raise FileFormatError(f"{path}: expected version {VERSION} at most, found {body['version']}: upgrade gnnlab")
    if body.pop("checksum", None) != _sum(body):
        raise FileFormatError(f"{path}: damaged: its checksum does not fit")
    match body:
        case {"version": int(), "schema": _, "count": int(count), "about": _, "files": dict()} if 0 <= count < 1 << 60:
            return body
    raise FileFormatError(f"{path}: expected version, schema, count, about and files")


def _parse_files(path: Path, body: dict[str, Any]) -> dict[str, _File]:
    files = {}
    for name, entry in body["files"].items():
        match entry:
            case [int(nbytes), [*sums]] if (
                _OWN_NAME.fullmatch(name)  # a bare name: never a path out of the folder
                and 0 <= nbytes < 1 << 60
                and len(sums) == -(-nbytes // SHARD_BYTES)
                and all(type(sum) is int for sum in sums)
            ):
                files[name] = _File(nbytes, sums)
            case _:
                raise FileFormatError(f"{path}: expected a file, found {name!r}: {str(entry)[:80]}")
    return files


def _sum(body: dict[str, Any]) -> str:
    return blake2b(json.dumps(body, separators=(",", ":")).encode("ascii"), digest_size=16).hexdigest()


def _replace_text(path: Path, text: str, durable: bool) -> None:
    part = path.with_name(".manifest.part")
    with open(part, "w", encoding="ascii") as file:
        file.write(text)
        file.flush()
        if durable:
            os.fsync(file.fileno())
    os.replace(part, path)
    if durable and os.name == "posix":
        handle = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
