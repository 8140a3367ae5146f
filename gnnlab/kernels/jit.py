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
from llvmlite import ir
from numba.core import cgutils
from numba.extending import intrinsic

F = TypeVar("F", bound=Callable[..., object])


def compile(kernel: F, *, any_order: bool = False) -> F:
    """`kernel` compiled at its first call for the dtypes of its arguments, without the GIL, and cached on disk.

    any_order: the compiler may choose the order in which a loop adds up numbers, and so add several at a time.

    With `NUMBA_DISABLE_JIT=1` it stays the Python function it is.
    """
    settings: Any = numba.config
    before = settings.CACHE_DIR
    settings.CACHE_DIR = str(cache_folder())
    freedom = {"reassoc", "nsz"} if any_order else False
    try:
        compiled: Any = numba.njit(nogil=True, cache=True, error_model="numpy", fastmath=freedom)(kernel)
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


def _prefetch(array: Any, row: int, column: int) -> None:
    """Ask for the memory where `array[row, column]` lies, of a contiguous array, without waiting for it."""


@intrinsic
def _compiled_prefetch(typing, array, row, column):  # type: ignore[no-untyped-def]
    def code(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        x = context.make_array(signature.args[0])(context, builder, arguments[0])
        at = builder.add(builder.mul(arguments[1], cgutils.unpack_tuple(builder, x.shape)[1]), arguments[2])
        number, pointer = ir.IntType(32), builder.bitcast(builder.gep(x.data, [at]), ir.IntType(8).as_pointer())
        kind = ir.FunctionType(ir.VoidType(), [pointer.type, number, number, number])
        ask = builder.module.declare_intrinsic("llvm.prefetch", [pointer.type], kind)
        to_read, keep_long, of_data = (ir.Constant(number, value) for value in (0, 3, 1))
        builder.call(ask, [pointer, to_read, keep_long, of_data])
        return context.get_dummy_value()

    return numba.void(array, numba.intp, numba.intp), code


prefetch = _prefetch if cast(Any, numba.config).DISABLE_JIT else cast(Any, _compiled_prefetch)
