"""Peak memory of a callable, measured in a process of its own.

In the process that asks, a peak can't be told: memory freed earlier is used again without growth,
what other cells left behind is there too, and a call that runs out of memory takes the notebook
with it.
"""

import inspect
import os
import pickle
import signal
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import FunctionType
from typing import Any

from gnnlab.profile.show import Shown, duration, size

_CHILD = Path(__file__).with_name("child.py")


@dataclass(frozen=True)
class Peak(Shown):
    """What a call took in a fresh process; sizes in bytes of resident memory (RSS).

    - `baseline`: resident before the call, with the imports done, `setup` run and the arguments
      loaded.
    - `peak`: the most that was resident during the call, over the baseline; None if the process was
      killed.
    - `kept`: still resident after it, its return value alive, over the baseline; None if the
      process was killed.
    - `seconds`: the call's duration; None if the process was killed.
    - `result`: what it returned; None if that can't be pickled or takes more than 1 MiB, which
      `dropped` then says.
    - `failed`: why it didn't end: out of memory, or killed by a signal; empty if it did end.
    - `output`: what it printed, standard error included.
    """

    baseline: int | None
    peak: int | None
    kept: int | None
    seconds: float | None
    result: Any
    dropped: str
    failed: str
    output: str

    def table(self) -> list[tuple[str, ...]]:
        rows = [
            ("baseline after imports", _or_unknown(size, self.baseline)),
            ("peak over the baseline", _or_unknown(size, self.peak)),
            ("kept at the end", _or_unknown(size, self.kept)),
            ("duration", _or_unknown(duration, self.seconds)),
        ]
        return [("in a fresh process", "value"), *rows]

    def note(self) -> str:
        return f"failed: {self.failed}" if self.failed else ""


def peak(
    fn: Callable[..., Any] | str,
    *args: Any,
    setup: str = "",
    limit: int | None = None,
    timeout: float | None = None,
    **kwargs: Any,
) -> Peak:
    """Call `fn(*args, **kwargs)` in a fresh Python process and measure its peak memory.

    `fn` is one of:

    - a function that can be imported, or anything else that pickles and is callable;
    - a function of the notebook or script itself: its source is sent, so it must import what it
      needs, or `setup` must;
    - `"package.module:function"`;
    - the name of a function that `setup` defines;
    - source text, run with the keyword arguments as its variables; its result is what it leaves in
      `result`.

    The rest is keyword-only:

    - `setup`: source text that is run first and isn't measured: imports, and calls that compile or
      warm up. Besides it only the module of `fn` and those of its arguments' types are imported
      beforehand; what the call itself imports is measured with it.
    - `limit`: bytes that the call may ask the system for beyond what the process has by then
      (RLIMIT_DATA: private memory, touched or not; a file mapped for reading is free). Running out
      is no error here: see `Peak.failed`.
    - `timeout`: seconds, imports included, after which the process is ended and
      `subprocess.TimeoutExpired` raised.

    The peak is the kernel's own high-water mark of resident memory, set back before the call; no
    sampling is involved. Memory that the process shares with others, pages of a mapped file for
    instance, is in it as far as it was touched.

    An exception of the call other than running out of memory is raised here, with the traceback
    from the process as a note. Raises ValueError for a `fn` that can't be sent, OSError where the
    system shows no such mark.

    >>> small = peak("result = len(bytearray(n))", n=64 * 2**20)
    >>> small.result, 60 * 2**20 < small.peak < 80 * 2**20
    (67108864, True)
    """
    if not Path("/proc/self/status").exists():
        raise OSError("peak needs /proc/self/status, which Linux has: it tells the high-water mark")
    if limit is not None and limit <= 0:
        raise ValueError(f"limit is a number of bytes above zero; found {limit}")
    if isinstance(fn, FunctionType) and (source := _source_of(fn)):
        setup, fn = f"{setup}\n{source}", fn.__name__
    try:
        call = pickle.dumps((fn, args, kwargs))
    except (pickle.PicklingError, TypeError, AttributeError) as error:
        raise ValueError(f"fn and its arguments must pickle to reach a fresh process, found {fn!r}: {error}") from error
    with tempfile.TemporaryDirectory() as folder:
        request, reply = Path(folder, "request"), Path(folder, "reply")
        path = [os.path.abspath(folder) for folder in sys.path]
        request.write_bytes(pickle.dumps({"path": path, "setup": setup, "call": call, "limit": limit}))
        done = subprocess.run(
            [sys.executable, "-P", _CHILD, request, reply],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            timeout=timeout,
            check=False,
        )
        answer = pickle.loads(reply.read_bytes()) if reply.exists() else {}
    if "error" in answer:
        raise answer["error"]
    if "peak" in answer:
        return Peak(**{**answer, "result": pickle.loads(answer["result"])}, output=done.stdout)
    if done.returncode >= 0:
        raise RuntimeError(f"the process ended with status {done.returncode} and no answer:\n{done.stdout}")
    return Peak(
        baseline=answer.get("baseline"),
        peak=None,
        kept=None,
        seconds=None,
        result=None,
        dropped="",
        failed=f"killed by {signal.Signals(-done.returncode).name}",
        output=done.stdout,
    )


def _source_of(fn: FunctionType) -> str:
    """The source of a function of the running script or notebook; empty if `fn` can be imported."""
    if "<" in fn.__qualname__:
        raise ValueError(
            f"a fresh process can't get at the local function or lambda {fn.__qualname__}; "
            "pass a function of a module or of the notebook's top level, or source text"
        )
    if fn.__module__ != "__main__":
        return ""
    return textwrap.dedent(inspect.getsource(fn))


def _or_unknown(show: Callable[[Any], str], value: float | None) -> str:
    return "unknown" if value is None else show(value)
