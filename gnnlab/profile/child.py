"""The other side of `peak`: the script that the fresh process runs.

It is run by its path and imports nothing but the standard library, so that what is measured is all
that the process does.
"""

import __future__

import ctypes
import errno
import gc
import io
import mmap
import pickle
import re
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from operator import attrgetter
from pathlib import Path
from typing import Any

LARGEST_RESULT = 2**20


def main(request: str, reply: str) -> None:
    """Do what the file `request` asks for, and write what came of it to the file `reply`."""
    asked = pickle.loads(Path(request).read_bytes())
    sys.path[:] = asked["path"]
    try:
        answer = _run(asked["setup"], asked["call"], asked["limit"], Path(reply))
    except Exception as error:  # of any kind: it is for the caller to see
        answer = {"error": _portable(error)}
    Path(reply).write_bytes(pickle.dumps(answer))


def _run(setup: str, call: bytes, limit: int | None, reply: Path) -> dict[str, Any]:
    namespace: dict[str, Any] = {"__name__": "__peak__"}
    # Annotations stay text, so that a function can be sent without the names of its types.
    exec(compile(setup, "<setup>", "exec", __future__.annotations.compiler_flag), namespace)
    fn, args, kwargs = pickle.loads(call)
    if isinstance(fn, str):
        fn = _function(fn, namespace)

    baseline, _ballast = set_mark()
    reply.write_bytes(pickle.dumps({"baseline": baseline}))  # should this process not live longer
    result, failed = None, ""
    begin = time.perf_counter()
    try:
        with _capped(limit):
            result = fn(*args, **kwargs)
    except Exception as error:
        if not ran_out_of_memory(error):
            raise
        failed = f"{type(error).__name__}: {error}".splitlines()[0].rstrip(": ")
    seconds = time.perf_counter() - begin
    highest = status()["VmHWM"]
    _give_back()
    kept = status()["VmRSS"]
    highest = max(highest, kept)  # the kernel brings its two counters up to date at different moments
    pickled, dropped = _pickled(result)
    return {
        "baseline": baseline,
        "peak": highest - baseline,
        "kept": kept - baseline,
        "seconds": seconds,
        "result": pickled,
        "dropped": dropped,
        "failed": failed,
    }


def status() -> dict[str, int]:
    """The sizes in this process's `/proc/self/status` (VmRSS, VmHWM, VmData, ...) in bytes."""
    return kilobytes(Path("/proc/self/status").read_text())


def kilobytes(text: str) -> dict[str, int]:
    """The lines `name: number kB` of a file in `/proc`, in bytes."""
    return {name: 1024 * int(n) for name, n in re.findall(r"^(\w+):\s+(\d+) kB$", text, re.M)}


def set_mark(clear_refs: str = "/proc/self/clear_refs") -> tuple[int, mmap.mmap | None]:
    """Make the high-water mark of resident memory (VmHWM) equal to what is resident now.

    Returns what is resident, in bytes, and a ballast that the caller holds while it measures. Linux
    sets the mark back on request; where it refuses, the ballast fills what is resident up to the
    mark, and a little beyond.
    """
    _give_back()
    try:
        Path(clear_refs).write_text("5")
        ballast = None
    except OSError:
        now = status()
        ballast = mmap.mmap(-1, now["VmHWM"] - now["VmRSS"] + 2**20)
        for page in range(0, len(ballast), mmap.PAGESIZE):
            ballast[page] = 1
    return status()["VmRSS"], ballast


def ran_out_of_memory(error: BaseException) -> bool:
    """Whether `error` is how Python, NumPy, torch or the system say that memory was refused."""
    if isinstance(error, OSError):
        return error.errno == errno.ENOMEM
    words = r"can't allocate memory|Cannot allocate memory|bad_alloc|out of memory"
    return isinstance(error, MemoryError) or (
        isinstance(error, RuntimeError) and re.search(words, str(error)) is not None
    )


def _give_back() -> None:
    """Collect garbage, and have the C library (glibc can) return its free memory to the system."""
    gc.collect()
    libc = ctypes.CDLL(None)
    if hasattr(libc, "malloc_trim"):
        libc.malloc_trim(0)


@contextmanager
def _capped(limit: int | None) -> Iterator[None]:
    """Let the process ask for `limit` bytes of private memory more, and no further."""
    import resource  # Unix only, and processes.py, which imports this file, isn't

    soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    if limit is not None:
        resource.setrlimit(resource.RLIMIT_DATA, (status()["VmData"] + limit, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))


def _function(text: str, namespace: dict[str, Any]) -> Callable[..., Any]:
    """The callable that `text` means: see `peak`."""
    if re.fullmatch(r"[\w.]+:[\w.]+", text):
        module, _, name = text.partition(":")
        return attrgetter(name)(import_module(module))
    if text.isidentifier():
        if text not in namespace:
            raise NameError(f"setup defines no function {text!r}; it defines {sorted(namespace)}")
        return namespace[text]
    code = compile(text, "<source>", "exec")

    def source_text(**variables: Any) -> Any:
        namespace.update(variables)
        exec(code, namespace)
        return namespace.get("result")

    return source_text


class _Small(io.BytesIO):
    """A buffer that refuses to grow beyond `LARGEST_RESULT`."""

    def write(self, data: Any, /) -> int:
        if self.tell() + memoryview(data).nbytes > LARGEST_RESULT:
            raise OverflowError(f"it takes more than {LARGEST_RESULT} bytes")
        return super().write(data)


def _pickled(result: Any) -> tuple[bytes, str]:
    """`result` in bytes and an empty text, or None in bytes and why."""
    buffer = _Small()
    try:
        pickle.Pickler(buffer).dump(result)
    except (pickle.PicklingError, TypeError, AttributeError, OverflowError) as error:
        return pickle.dumps(None), f"{type(result).__name__}: {error}"
    return buffer.getvalue(), ""


def _portable(error: Exception) -> Exception:
    """`error` with its traceback as a note; a RuntimeError that quotes it if it doesn't pickle."""
    trace = "in the fresh process:\n" + "".join(traceback.format_exception(error))
    error.add_note(trace)
    try:
        pickle.loads(pickle.dumps(error))
    except (pickle.PicklingError, TypeError, AttributeError):
        return RuntimeError(trace)
    return error


if __name__ == "__main__":
    main(*sys.argv[1:])
