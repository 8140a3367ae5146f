"""Finding out what a file or folder is, and copying one kind of database into another."""

import os
from pathlib import Path
from typing import Any

from tqdm import tqdm

from gnnlab.data.database.base import Database
from gnnlab.data.database.mmap import FORMAT, MANIFEST, MmapDatabase
from gnnlab.data.database.rocks import RocksDatabase
from gnnlab.data.database.sqlite import SQLiteDatabase
from gnnlab.files import FileFormatError, building, read_folder

#: The databases by the names that `OnDiskDataset` has for them.
BACKENDS: dict[str, type[Database]] = {cls.backend: cls for cls in (SQLiteDatabase, RocksDatabase, MmapDatabase)}


def open_database(path: str | os.PathLike[str], *, trust: bool = False, verify: bool = False) -> Database:
    """The database at `path`, whichever it is, open for reading.

    Args:
        path: file or folder.
        trust, verify: as for `Database`.

    Raises:
        FileNotFoundError: if there is nothing at `path`.
        FileFormatError: if it is no database, or damaged.
    """
    path = Path(path).expanduser()
    if not path.exists():
        raise FileNotFoundError(f"there is no database at {path}")
    cls: type[Database]
    if path.is_file():
        cls = SQLiteDatabase
    elif (path / "CURRENT").exists():
        cls = RocksDatabase
    elif _is_columns(path):
        cls = MmapDatabase
    else:
        raise FileFormatError(f"{path}: expected a file of SQLite or a folder of RocksDB or gnnlab, found neither")
    database = cls(path, trust=trust, verify=verify)
    database.connect()
    return database


def _is_columns(path: Path) -> bool:
    try:
        return f'"{FORMAT}"' in (path / MANIFEST).read_text("ascii", "replace")[:200]
    except OSError:
        return False


def convert_database(
    source: str | os.PathLike[str] | Database, target: str | os.PathLike[str], backend: str, *, log: bool = False
) -> None:
    """Copy a database, with what is noted beside its rows, into one of another kind, which appears when it is complete.

    Args:
        source: the database, or its path.
        target: where the copy goes. What is there is replaced only by a complete one.
        backend: 'sqlite', 'rocksdb' or 'mmap'.
        log: show a progress bar.

    Raises:
        ValueError: if there is no such backend.
        FileFormatError: if a row is damaged.
    """
    cls = backend_named(backend)
    database = source if isinstance(source, Database) else open_database(source)
    database.connect()
    with building(target, folder=backend != "sqlite") as part:
        with cls(part) as copy:
            about = database.about()
            if about is not None:
                copy.note(about)
            if database.schema is not None:
                copy.declare(database.schema)
            rows = tqdm(database.iter_cells(), total=len(database), desc="Copying", disable=not log)
            for index, cells in enumerate(rows):
                copy.insert_cells(index, cells)
        lock = part.with_name(f".writing-{part.name}")
        lock.unlink(missing_ok=True)


def backend_named(backend: str) -> type[Database]:
    """The class of a backend."""
    if backend not in BACKENDS:
        raise ValueError(f"backend must be one of {', '.join(map(repr, BACKENDS))}, found {backend!r}")
    return BACKENDS[backend]


def verify(path: str | os.PathLike[str]) -> None:
    """Read a database, or a folder of saved graphs, whole and compare it with its checksums.

    Raises:
        FileNotFoundError: if there is nothing at `path`.
        FileFormatError: if it is damaged; the message names what.
    """
    path = Path(path).expanduser()
    if path.is_dir() and (path / MANIFEST).exists() and not _is_columns(path):
        read_folder(path, verify=True)
        return
    database: Any = open_database(path)
    try:
        database.verify()
    finally:
        database.close()
