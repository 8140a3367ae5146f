"""Where plain functions become machine code: `compile` at the end of each kernel file, and the folder it is cached in.

numba keys its cache by the file of the compiled function alone, so that a change in another file which that function
calls would go unseen. Here the folder's name holds a hash of all kernel files instead.
"""

import hashlib
import os
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar, cast

import numba

F = TypeVar("F", bound=Callable[..., object])


def compile(kernel: F) -> F:
    """`kernel` compiled at its first call for the dtypes of its arguments, without the GIL, and cached on disk.

    With `NUMBA_DISABLE_JIT=1` it stays the Python function it is.
    """
    settings: Any = numba.config
    before = settings.CACHE_DIR
    settings.CACHE_DIR = str(cache_folder())
    try:
        compiled: Any = numba.njit(nogil=True, cache=True)(kernel)
    finally:
        settings.CACHE_DIR = before
    return cast(F, compiled)


@lru_cache(maxsize=1)
def cache_folder() -> Path:
    """The folder of compiled kernels: in this package where that can be written, else in the user's cache."""
    here = Path(__file__).parent
    text = b"".join(file.read_bytes() for file in sorted(here.glob("*.py")))
    name = hashlib.blake2b(text + numba.__version__.encode(), digest_size=8).hexdigest()
    for base in (
        here / "__pycache__",
        Path(os.environ.get("XDG_CACHE_HOME", "~/.cache")).expanduser() / "gnnlab",
    ):
        folder = base / f"kernels-{name}"
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError:
            continue
        if os.access(folder, os.W_OK):
            return folder
    raise OSError(f"found no folder to keep compiled kernels in: neither {here} nor the user's cache can be written")
