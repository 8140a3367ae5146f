"""One set of file functions for every place that fsspec reaches: the disk, `memory://`, `s3://`, …

PyG's `torch_geometric.io.fs`. A path without a protocol is local. Import it as `gnnlab.io.fs`.
"""

import os
import shutil
import tempfile
from collections.abc import Callable
from functools import partial
from typing import Any, Literal, overload

import fsspec
import torch
from fsspec import AbstractFileSystem

from gnnlab.files.extract import extract_gz, extract_tar, extract_zip

# What `cp(..., extract=True)` recognises; a longer ending stands before one that it ends in.
_EXTRACTORS: dict[str, Callable[..., None]] = {
    ".tar.gz": partial(extract_tar, mode="r"),
    ".tgz": partial(extract_tar, mode="r"),
    ".tar": partial(extract_tar, mode="r"),
    ".zip": extract_zip,
    ".gz": extract_gz,
}


def get_fs(path: str) -> AbstractFileSystem:
    """The fsspec file system that `path` lives on."""
    return fsspec.core.url_to_fs(path)[0]


def isdisk(path: str) -> bool:
    """Whether `path` lies on this machine's disk."""
    return "file" in _protocols(path)


def islocal(path: str) -> bool:
    """Whether `path` lies on this machine: on its disk or in its memory."""
    return isdisk(path) or "memory" in _protocols(path)


def normpath(path: str) -> str:
    """`path` without `.`, `..` and doubled slashes; one with a protocol comes back as it is."""
    return path if "://" in path else os.path.normpath(path)


def exists(path: str) -> bool:
    """Whether there is a file or folder at `path`."""
    return get_fs(path).exists(path)


def isdir(path: str) -> bool:
    """Whether there is a folder at `path`."""
    return get_fs(path).isdir(path)


def isfile(path: str) -> bool:
    """Whether there is a file at `path`."""
    return get_fs(path).isfile(path)


def makedirs(path: str, exist_ok: bool = True) -> None:
    """Make the folder `path` and those above it.

    Raises:
        FileExistsError: if it is already there and `exist_ok` is false.
    """
    get_fs(path).makedirs(path, exist_ok=exist_ok)


@overload
def ls(path: str, detail: Literal[False] = False) -> list[str]: ...


@overload
def ls(path: str, detail: Literal[True]) -> list[dict[str, Any]]: ...


def ls(path: str, detail: bool = False) -> list[str] | list[dict[str, Any]]:
    """The full paths in a folder, or with `detail` a dictionary (name, size, type, …) each."""
    found = get_fs(path).ls(path, detail=True)
    entries = [{**entry, "name": _full_path(path, entry["name"])} for entry in found]
    return entries if detail else [entry["name"] for entry in entries]


def glob(path: str) -> list[str]:
    """The full paths that match the pattern `path`, sorted; `**` is any number of folders."""
    return [_full_path(path, name) for name in get_fs(path).glob(path)]


def cp(path1: str, path2: str, extract: bool = False, log: bool = True) -> None:
    """Copy a file or a folder, from any file system to any other.

    As with `cp -r`, the copy is named `path2`, or goes into `path2` if that is a folder already.

    Args:
        path1: what to copy.
        path2: where to.
        extract: unpack the archive `path1` (`.zip`, `.tar`, `.tar.gz`, `.tgz`, `.gz`) into the
            local folder `path2` instead.
        log: say what is extracted.

    Raises:
        FileNotFoundError: if there is no `path1`.
        ValueError: if `extract` is asked for and `path1` is no such archive, or `path2` not on the
            disk.
    """
    if extract:
        _extract(path1, path2, log)
        return
    if isfile(path1):
        _copy_file(path1, _inside_if_folder(path1, path2))
        return
    source = get_fs(path1)
    if not source.isdir(path1):
        raise FileNotFoundError(f"cp: there is no file or folder {path1!r}")
    target = _inside_if_folder(path1, path2)
    top = source._strip_protocol(path1)
    makedirs(target)
    for name, entry in source.find(path1, withdirs=True, detail=True).items():
        copy = f"{target}/{os.path.relpath(name, top)}"
        if entry["type"] == "directory":
            makedirs(copy)
        else:
            _copy_file(_full_path(path1, name), copy)


def mv(path1: str, path2: str) -> None:
    """Rename or move `path1` to `path2`, within one file system.

    Raises:
        ValueError: if the two lie on different file systems (copy and remove then).
    """
    source, target = get_fs(path1), get_fs(path2)
    if source is not target:
        raise ValueError(f"mv: {path1!r} and {path2!r} lie on different file systems; use cp and rm")
    source.mv(path1, path2, recursive=True)


def rm(path: str, recursive: bool = True) -> None:
    """Remove the file or folder `path`.

    Raises:
        FileNotFoundError: if there is none.
    """
    get_fs(path).rm(path, recursive=recursive)


def torch_save(data: Any, path: str) -> None:
    """`torch.save` to any file system. On the disk the file appears when it is complete."""
    if not isdisk(path):
        with fsspec.open(path, "wb") as file:
            torch.save(data, file)
        return
    target = get_fs(path)._strip_protocol(path)
    part = f"{target}.{os.getpid()}.part"
    try:
        torch.save(data, part)
        os.replace(part, target)
    except BaseException:
        if os.path.exists(part):
            os.remove(part)
        raise


def torch_load(path: str, map_location: Any = None, *, weights_only: bool = True) -> Any:
    """`torch.load` from any file system.

    Args:
        path: a file that `torch.save` wrote.
        map_location: where its tensors go, as in `torch.load`.
        weights_only: read tensors, plain containers and the classes registered with
            `torch.serialization.add_safe_globals`, and nothing else. Without it the file can run
            any code: only for files of your own. (PyG falls back to that by itself; this never does.)

    Raises:
        pickle.UnpicklingError: if the file holds something else and `weights_only` is true.
    """
    with fsspec.open(path, "rb") as file:
        return torch.load(file, map_location=map_location, weights_only=weights_only)


def _protocols(path: str) -> tuple[str, ...]:
    protocol = get_fs(path).protocol
    return (protocol,) if isinstance(protocol, str) else tuple(protocol)


def _full_path(like: str, name: str) -> str:
    """`name`, as a file system gives it, with the protocol of `like` put back."""
    return name if isdisk(like) else get_fs(like).unstrip_protocol(name)


def _inside_if_folder(path1: str, path2: str) -> str:
    return f"{path2.rstrip('/')}/{os.path.basename(path1.rstrip('/'))}" if isdir(path2) else path2.rstrip("/")


def _copy_file(path1: str, path2: str) -> None:
    makedirs(get_fs(path2)._parent(path2))
    with fsspec.open(path1, "rb") as source, fsspec.open(path2, "wb") as target:
        shutil.copyfileobj(source, target)


def _extract(path1: str, path2: str, log: bool) -> None:
    if not isdisk(path2):
        raise ValueError(f"cp: archives are extracted to the disk only, found path2={path2!r}")
    extractor = next((_EXTRACTORS[end] for end in _EXTRACTORS if path1.endswith(end)), None)
    if extractor is None:
        raise ValueError(f"cp: extract=True expects one of {', '.join(_EXTRACTORS)}, found path1={path1!r}")
    if isdisk(path1):
        extractor(path1, path2, log=log)
        return
    with tempfile.TemporaryDirectory() as folder:
        local = os.path.join(folder, os.path.basename(path1))
        _copy_file(path1, local)
        extractor(local, path2, log=log)
