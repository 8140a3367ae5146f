"""Building a file or folder so that its name only ever shows a complete one.

The work is done beside the target, under a lock that the operating system frees when its holder
dies. For a target `data` the siblings are `.lock-data` (kept: removing it would race),
`.building-data` and, where two paths cannot be swapped in one step, `.replaced-data` for a moment.
Who holds the lock owns the siblings, so what a killed build left behind is removed by the next.
"""

import ctypes
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_AT_FDCWD, _RENAME_EXCHANGE = -100, 2


@contextmanager
def building(path: str | os.PathLike[str], *, folder: bool = True, timeout: float | None = None) -> Iterator[Path]:
    """Builds `path` in a temporary sibling that takes its place when the block ends without error.

    On an error the sibling is removed and `path` stays as it was. If the process is killed at any
    moment, `path` is afterwards either the old one or the new one, complete: files and folders are
    flushed to the disk before they are renamed. An old folder is swapped for the new one in one
    step on Linux; elsewhere it is renamed aside first, and a process killed just between the two
    renames leaves it there until `recover`, `read_folder` or the next `building` puts it back.

    Args:
        path: What to build. Missing parents are made; a symbolic link is followed.
        folder: Whether to build a folder, which is made, or a file, which the block writes.
        timeout: How many seconds to wait for another builder of the same path; `None` waits until
            it is done.

    Yields:
        The path of the sibling, which ends in the target's own name.

    Raises:
        TimeoutError: If another builder is not done in time.
        FileNotFoundError: If the block wrote nothing.
    """
    target = _resolve(path)
    new = _sibling(target, "building")
    with locked(target, timeout=timeout):
        _tidy(target)
        if folder:
            new.mkdir()
        try:
            yield new
            if not os.path.lexists(new):
                raise FileNotFoundError(f"{path}: nothing was written to {new}")
            flush_tree(new)
            replace(target, new)
        finally:
            remove(new)


@contextmanager
def locked(path: str | os.PathLike[str], *, timeout: float | None = None) -> Iterator[None]:
    """Holds the lock under which `path` is built, so that one can look whether it needs building.

    Within a thread the lock may be taken again, as `building` does. Another thread or process waits
    `timeout` seconds (`None`: as long as it takes), then raises `TimeoutError`.
    """
    from filelock import FileLock, Timeout

    target = _resolve(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    lock = FileLock(_sibling(target, "lock"), is_singleton=True)
    try:
        lock.acquire(timeout=-1 if timeout is None else timeout)
    except Timeout as error:
        raise TimeoutError(f"{path}: another builder of it was not done after {timeout} seconds") from error
    try:
        yield
    finally:
        lock.release()


def recover(path: str | os.PathLike[str]) -> None:
    """Puts `path` back if a build was killed just after it had renamed it aside."""
    target = _resolve(path)
    if not os.path.lexists(target) and os.path.lexists(_sibling(target, "replaced")):
        with locked(target):
            _tidy(target)


def _resolve(path: str | os.PathLike[str]) -> Path:
    return Path(os.path.realpath(path))


def _sibling(target: Path, role: str) -> Path:
    return target.with_name(f".{role}-{target.name}")


def _tidy(target: Path) -> None:
    """Undoes what a killed build left undone. The lock is held."""
    old = _sibling(target, "replaced")
    if os.path.lexists(old) and not os.path.lexists(target):
        os.rename(old, target)
    remove(old)
    remove(_sibling(target, "building"))


def replace(target: Path, new: Path) -> None:
    """Gives `new`, a sibling, the name `target`. What had it is removed, or bears the name `new` then."""
    old = _sibling(target, "replaced")
    if not os.path.lexists(target) or (target.is_file() and new.is_file()):
        os.replace(new, target)
    elif not _exchange(target, new):
        os.rename(target, old)
        os.rename(new, target)
    _flush(target.parent)
    remove(old)


def _exchange(one: Path, other: Path) -> bool:
    """Swaps two names in one step, and says whether this system and file system can."""
    renameat2 = getattr(ctypes.CDLL(None), "renameat2", None) if os.name == "posix" else None
    if renameat2 is None:
        return False
    names = os.fsencode(one), os.fsencode(other)
    return bool(renameat2(_AT_FDCWD, names[0], _AT_FDCWD, names[1], _RENAME_EXCHANGE) == 0)


def remove(path: Path) -> None:
    """Removes a file, or a folder with all that is in it, if it is there."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def flush_tree(path: Path) -> None:
    """Waits until a file, or a folder with all that is in it, is on the disk."""
    for root, _, names in os.walk(path):
        for name in names:
            _flush(Path(root, name))
        _flush(Path(root))
    if path.is_file():
        _flush(path)


def _flush(path: Path) -> None:
    if os.name != "posix":  # Elsewhere a folder cannot be opened, nor a file flushed that is open for reading.
        return
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
