"""The folder format: a manifest and one raw file per tensor.

    manifest.json   format, version, byteorder, meta, tree, tensors, checksum
    0000.bin        the elements of the first tensor, row-major, little-endian, nothing else
    0001.bin        ...

`tree` is the stored value as JSON (see `tree.py`). `tensors` holds, by number, each tensor's file,
name, dtype, shape, bytes and checksum. An attribute's name is in the manifest only, so it may be
any string. The manifest's own checksum covers all the rest of it. Nothing is ever unpickled.
"""

import json
import math
import mmap
import os
import re
import sys
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn import Parameter

from gnnlab.files.atomic import building, recover
from gnnlab.files.tensors import DTYPES, blocks, checksum, from_bytes
from gnnlab.files.tree import FileFormatError, decode, encode

FORMAT, VERSION = "gnnlab.folder", 1
MANIFEST = "manifest.json"

_LEAST_MAPPED = 1 << 16


def write_folder(path: str | os.PathLike[str], tree: Any, meta: Any = None) -> None:
    """Writes a tree of plain values and tensors as a folder, which appears when it is complete.

    Args:
        path: The folder.
        tree: Nested dicts (keys: strings, integers, tuples of them), lists, tuples, strings,
            integers, floats, booleans, `None`, bytes, and tensors of any dtype but the quantised
            ones, dense or sparse, on any device; and objects of classes that have a codec
            (`register_codec`): `SparseTensor`, NumPy arrays. Of a view only its own elements are
            written. A tensor keeps its `requires_grad`, not its graph or its device.
        meta: What is to be known beside `tree`, such as a fingerprint: plain JSON values.

    Raises:
        TypeError: If `tree` or `meta` holds anything else; the message names the attribute.
        ValueError: If the tree is nested too deeply, or holds itself.
    """
    _check_byte_order()
    node, tensors = encode(tree)
    body = {
        "format": FORMAT,
        "version": VERSION,
        "byteorder": "little",
        "meta": _plain_json(meta),
        "tree": node,
    }
    with building(path) as folder:
        body["tensors"] = [
            _write_tensor(folder / f"{number:04d}.bin", name, tensor) for number, (name, tensor) in enumerate(tensors)
        ]
        text = json.dumps(body | {"checksum": _json_checksum(body)}, indent=1)
        (folder / MANIFEST).write_text(text, encoding="ascii")


def read_folder(path: str | os.PathLike[str], *, mmap: bool = False, verify: bool = False) -> tuple[Any, Any]:
    """Reads what `write_folder` wrote.

    Args:
        path: The folder.
        mmap: Whether to map the files into memory rather than reading them: opening then takes the
            same time for any size, and processes on one machine share the pages. The mapping is
            private (copy on write): tensors can be written to, the file never changes by that, and
            a written page becomes the process's own. Files under 64 KiB are read anyway, which is
            as fast and keeps no file open. A set that is rebuilt leaves open mappings as they were.
        verify: Whether to compare every file with its checksum, which reads it all. Sizes are
            compared always.

    Returns:
        `(tree, meta)`, the tensors on the CPU.

    Raises:
        FileNotFoundError: If there is nothing at `path`.
        FileFormatError: If a file is missing, cut short, too long, unknown, damaged (as far as
            `verify` looked), of a newer format, or of none. The message names file and attribute.
            Files whose name starts with a dot are left alone.
    """
    _check_byte_order()
    while True:
        recover(path)
        before = _identity(path)
        try:
            result = _read(Path(path), mmap, verify)
        except FileFormatError:
            if _identity(path) == before:
                raise
        else:
            if _identity(path) == before:
                return result
        # The folder was replaced meanwhile: what was read may be half old, half new.


def _check_byte_order() -> None:
    if sys.byteorder != "little":
        raise RuntimeError("the folder format needs a little-endian machine")


def _identity(path: str | os.PathLike[str]) -> tuple[int, int, int]:
    stat = os.stat(path)
    return stat.st_dev, stat.st_ino, stat.st_mtime_ns


def _json_checksum(body: dict[str, Any]) -> str:
    text = json.dumps(body, separators=(",", ":"))
    return blake2b(text.encode("ascii"), digest_size=16).hexdigest()


def _plain_json(meta: Any) -> Any:
    try:
        copy = json.loads(json.dumps(meta, allow_nan=False))
    except (TypeError, ValueError, RecursionError) as error:
        raise TypeError(f"meta: expected plain JSON values: {error}") from error
    if copy != meta:
        raise TypeError("meta: expected plain JSON values, found tuples or keys that are no strings")
    return copy


def _write_tensor(path: Path, name: str, tensor: Tensor) -> dict[str, Any]:
    digest = blake2b(digest_size=16)
    with open(path, "xb") as file:
        for block in blocks(tensor):
            file.write(block.data)
            digest.update(block.data)
    entry = {
        "file": path.name,
        "name": name,
        "dtype": str(tensor.dtype).removeprefix("torch."),
        "shape": list(tensor.shape),
        "nbytes": tensor.nbytes,
        "checksum": digest.hexdigest(),
    }
    if tensor.requires_grad:
        entry["requires_grad"] = True
    if isinstance(tensor, Parameter):
        entry["parameter"] = True
    return entry


class _Entry(NamedTuple):
    """One tensor, as the manifest describes it, and how errors call it."""

    label: str
    file: str
    dtype: torch.dtype
    shape: list[int]
    nbytes: int
    checksum: str
    requires_grad: bool
    parameter: bool


def _read(folder: Path, mapped: bool, verify: bool) -> tuple[Any, Any]:
    body = _read_manifest(folder / MANIFEST)
    entries = [_parse_entry(folder, entry) for entry in body["tensors"]]
    _check_files(folder, entries)
    tensors = [_read_tensor(folder, entry, mapped, verify) for entry in entries]
    try:
        return decode(body["tree"], tensors), body["meta"]
    except FileFormatError as error:
        raise FileFormatError(f"{folder / MANIFEST}: {error}") from error


def _read_manifest(path: Path) -> dict[str, Any]:
    try:
        body = json.loads(path.read_bytes())
    except (FileNotFoundError, NotADirectoryError) as error:
        raise FileFormatError(f"{path.parent}: expected a folder with a {MANIFEST}") from error
    except (ValueError, RecursionError) as error:
        raise FileFormatError(f"{path}: damaged: {error}") from error
    if not isinstance(body, dict) or body.get("format") != FORMAT:
        raise FileFormatError(f"{path}: expected the manifest of a {FORMAT!r}, found something else")
    version = body.get("version")
    if isinstance(version, int) and version > VERSION:
        raise FileFormatError(f"{path}: expected format version {VERSION} at most, found {version}: upgrade gnnlab")
    if body.pop("checksum", None) != _json_checksum(body):
        raise FileFormatError(f"{path}: damaged: its checksum does not fit")
    match body:
        case {"version": int(), "byteorder": "little", "tensors": [*_], "tree": _, "meta": _}:
            return body
    raise FileFormatError(f"{path}: expected version, byteorder, tensors, tree and meta")


def _parse_entry(folder: Path, entry: Any) -> _Entry:
    match entry:
        case {
            "file": str(file),
            "name": str(name),
            "dtype": str(dtype),
            "shape": [*shape],
            "nbytes": int(nbytes),
            "checksum": str(digest),
        } if (
            re.fullmatch(r"[0-9]{4,}\.bin", file)  # A bare name: never a path out of the folder.
            and dtype in DTYPES
            and all(type(size) is int and 0 <= size < 1 << 63 for size in shape)
            and nbytes == math.prod(shape) * DTYPES[dtype].itemsize
        ):
            return _Entry(
                f"{folder}: file {file!r} of attribute {name!r}",
                file,
                DTYPES[dtype],
                shape,
                nbytes,
                digest,
                bool(entry.get("requires_grad")),
                bool(entry.get("parameter")),
            )
    raise FileFormatError(f"{folder / MANIFEST}: expected a tensor, found {str(entry)[:300]}")


def _check_files(folder: Path, entries: list[_Entry]) -> None:
    with os.scandir(folder) as files:
        sizes = {file.name: file.stat().st_size for file in files if not file.name.startswith(".")}
    sizes.pop(MANIFEST, None)
    for entry in entries:
        size = sizes.pop(entry.file, None)
        if size is None:
            raise FileFormatError(f"{entry.label}: missing, or named twice in the manifest")
        if size != entry.nbytes:
            raise FileFormatError(f"{entry.label}: expected {entry.nbytes} bytes, found {size}")
    if sizes:
        raise FileFormatError(f"{folder}: found files the manifest does not name: {sorted(sizes)}")


def _read_tensor(folder: Path, entry: _Entry, mapped: bool, verify: bool) -> Tensor:
    try:
        with open(folder / entry.file, "rb") as file:
            if mapped and entry.nbytes >= _LEAST_MAPPED:
                raw = torch.frombuffer(map_file(file.fileno(), entry.nbytes), dtype=torch.uint8)
            else:
                raw = torch.from_numpy(np.fromfile(file, dtype=np.uint8))
        tensor = from_bytes(raw, entry.dtype, entry.shape).requires_grad_(entry.requires_grad)
    except (FileNotFoundError, ValueError, RuntimeError) as error:
        raise FileFormatError(f"{entry.label}: cannot be read: {error}") from error
    if verify and checksum(raw) != entry.checksum:
        raise FileFormatError(f"{entry.label}: damaged: its checksum does not fit")
    return Parameter(tensor, entry.requires_grad) if entry.parameter else tensor


def map_file(handle: int, nbytes: int) -> mmap.mmap:
    """Maps the first `nbytes` of an open file: writing to the memory copies its page, and never changes the file."""
    if sys.platform != "linux":
        return mmap.mmap(handle, nbytes, access=mmap.ACCESS_COPY)
    # Without MAP_NORESERVE, which older Pythons do not name, Linux refuses a private mapping larger than its memory.
    on_these = 0x4000 if os.uname().machine in ("x86_64", "aarch64") else 0
    return mmap.mmap(handle, nbytes, flags=mmap.MAP_PRIVATE | getattr(mmap, "MAP_NORESERVE", on_these))
