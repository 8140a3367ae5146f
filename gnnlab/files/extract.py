"""Unpacking archives that came from elsewhere. Import the functions from `gnnlab.data`.

Each one unpacks into a hidden folder inside the target and moves the files into place at the end: a
broken or a hostile archive leaves nothing behind. Files that are already there under the same names
are replaced.
"""

import bz2
import gzip
import os
import shutil
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import PurePosixPath, PureWindowsPath
from typing import Literal


def extract_zip(path: str, folder: str, log: bool = True) -> None:
    """Unpack the zip archive `path` into `folder`.

    Raises:
        ValueError: naming a member that would land outside `folder`.
        zipfile.BadZipFile: if the archive is broken.
    """
    _log(path, log)
    with zipfile.ZipFile(path) as archive:
        _refuse_escapes(path, archive.namelist())
        with _staged(folder) as staging:
            archive.extractall(staging)


def extract_tar(
    path: str,
    folder: str,
    mode: Literal["r", "r:", "r:*", "r:gz", "r:bz2", "r:xz"] = "r:gz",
    log: bool = True,
) -> None:
    """Unpack the tar archive `path`, files and folders only, into `folder`.

    Args:
        path: the archive.
        folder: where its members go.
        mode: how the archive is compressed, as in `tarfile.open`.
        log: say what is extracted.

    Raises:
        ValueError: naming a member that would land outside `folder`, or that is a link or a device.
        tarfile.TarError: if the archive is broken.
    """
    _log(path, log)
    with tarfile.open(path, mode) as archive:
        members = archive.getmembers()
        _refuse_escapes(path, (member.name for member in members))
        for member in members:
            if not (member.isfile() or member.isdir()):
                raise ValueError(f"{path}: member {member.name!r} is a link or a device; expected files and folders")
        with _staged(folder) as staging:
            archive.extractall(staging, members, filter="data")


def extract_gz(path: str, folder: str, log: bool = True) -> None:
    """Unpack the gzip file `path` into `folder`, under its name without the last suffix.

    Raises:
        ValueError: if the name has no suffix.
        gzip.BadGzipFile, EOFError: if the file is broken or cut short.
    """
    _log(path, log)
    with gzip.open(path) as packed:
        _extract_one(path, packed, folder)


def extract_bz2(path: str, folder: str, log: bool = True) -> None:
    """Unpack the bzip2 file `path` into `folder`, under its name without the last suffix.

    Raises:
        ValueError: if the name has no suffix.
        OSError, EOFError: if the file is broken or cut short.
    """
    _log(path, log)
    with bz2.open(path) as packed:
        _extract_one(path, packed, folder)


def _extract_one(path: str, packed: gzip.GzipFile | bz2.BZ2File, folder: str) -> None:
    name, suffix = os.path.splitext(os.path.basename(path))
    if not suffix:
        raise ValueError(f"expected a file name that ends in .gz or .bz2, found {path!r}")
    with _staged(folder) as staging, open(os.path.join(staging, name), "wb") as plain:
        shutil.copyfileobj(packed, plain)


def _refuse_escapes(path: str, names: Iterable[str]) -> None:
    for name in names:
        member = PurePosixPath(name.replace("\\", "/"))
        if member.is_absolute() or ".." in member.parts or PureWindowsPath(name).drive:
            raise ValueError(f"{path}: member {name!r} would land outside the folder; nothing was extracted")


@contextmanager
def _staged(folder: str) -> Iterator[str]:
    """A temporary folder in `folder`, whose files move up if the block ends without an error."""
    os.makedirs(folder, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".extract-", dir=folder) as staging:
        yield staging
        for parent, _, names in os.walk(staging):
            target = os.path.join(folder, os.path.relpath(parent, staging))
            os.makedirs(target, exist_ok=True)
            for name in names:
                os.replace(os.path.join(parent, name), os.path.join(target, name))


def _log(path: str, log: bool) -> None:
    if log:
        print(f"Extracting {path}", file=sys.stderr)
