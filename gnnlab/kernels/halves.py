"""Floating-point numbers of 16 bits, given as uint16, next to arrays that NumPy knows the dtype of.

A kernel that reads its rows as `fetch` says and writes them as `store` does is one piece of code for both: rows of
16 bits pass through rows of float32, any other row is used where it lies. Nothing here makes a view of an array in a
loop, since numba counts the references to each view, which takes longer than reading a row.
"""

from typing import Any

import numba
import numpy as np
from numba.extending import overload
from numpy.typing import NDArray

from gnnlab.kernels.jit import compile

Array = NDArray[Any]

#: What uint16 stands for; `PLAIN` where an array is what its dtype says.
PLAIN, BFLOAT16, FLOAT16 = 0, 1, 2


def widen(halves: Array, row: int, wide: Array, bits: Array, slot: int, half: int) -> None:
    """`halves[row]`, `[n]` uint16, as float32 into `wide[slot]`. Serial; allocates nothing.

    Args:
        bits: `wide` as uint32.
    """
    for i in range(halves.shape[1]):
        if half == BFLOAT16:
            bits[slot, i] = np.uint32(halves[row, i]) << np.uint32(16)
        else:
            bits[slot, i] = np.uint32(halves[row, i] & np.uint16(0x7FFF)) << np.uint32(13)
            wide[slot, i] *= np.float32(2.0**112)  # from an exponent's offset of 15 to 127; right for subnormals too
            special = np.uint32(0x7F800000) if wide[slot, i] >= np.float32(65536) else np.uint32(0)
            sign = np.uint32(halves[row, i] & np.uint16(0x8000)) << np.uint32(16)
            bits[slot, i] = bits[slot, i] | special | sign


def narrow(bits: Array, slot: int, halves: Array, row: int, half: int) -> None:
    """`bits[slot]`, float32 given as uint32, rounded to the nearest (to even in the middle) into `halves[row]`. Serial;
    allocates one number.
    """
    one = np.empty(1, np.float32)
    one_bits = one.view(np.uint32)
    for i in range(halves.shape[1]):
        size = bits[slot, i] & np.uint32(0x7FFFFFFF)
        sign = np.uint32(bits[slot, i] >> np.uint32(16)) & np.uint32(0x8000)
        if half == BFLOAT16:
            if size > np.uint32(0x7F800000):
                found = np.uint32(0x7FC0)
            else:
                odd = np.uint32(size >> np.uint32(16)) & np.uint32(1)
                found = np.uint32(size + np.uint32(0x7FFF) + odd) >> np.uint32(16)
        elif size > np.uint32(0x7F800000):
            found = np.uint32(0x7E00)
        elif size >= np.uint32(0x47800000):
            found = np.uint32(0x7C00)
        elif size < np.uint32(0x38800000):  # subnormal: adding 1/2 rounds at the last bit that is left
            one_bits[0] = size
            one[0] += np.float32(0.5)
            found = np.uint32(one_bits[0] - np.uint32(0x3F000000))
        else:
            odd = np.uint32(size >> np.uint32(13)) & np.uint32(1)
            found = np.uint32(size - np.uint32(0x38000000) + np.uint32(0xFFF) + odd) >> np.uint32(13)
        halves[row, i] = np.uint16(sign | found)


widen, narrow = compile(widen), compile(narrow)


def times(wide: Array, bits: Array, slot: int, factor: Any, rounded: Array, half: int) -> None:
    """`wide[slot]` times `factor`, rounded to what 16 bits can say; `rounded`, `[1, n]` uint16, is scratch."""
    for i in range(wide.shape[1]):
        wide[slot, i] *= factor
    narrow(bits, slot, rounded, 0, half)
    widen(rounded, 0, wide, bits, slot, half)


times = compile(times)


def either(x: Array, wide: Array) -> Array:
    """Where the rows of `x` are read or put together: in `x`, or for 16-bit numbers in `wide`."""
    return x if x.dtype != np.uint16 else wide


def fetch(x: Array, row: int, wide: Array, bits: Array, slot: int, half: int) -> int:
    """Which row of `either(x, wide)` has row `row` of `x`, once 16-bit numbers are widened in row `slot` of `wide`."""
    if x.dtype != np.uint16:
        return row
    widen(x, row, wide, bits, slot, half)
    return slot


def entry(value: Array | None, k: int, one: Array, bits: Array, half: int) -> Any:
    """`value[k, 0]`, as float32 if it has 16 bits, and 1 for `None`.

    Args:
        one: `[1, 1]` float32 or of the dtype of `value`: 1, and scratch for numbers of 16 bits.
        bits: `one` as uint32, where it is float32.
    """
    if value is None:
        return one[0, 0]
    if value.dtype != np.uint16:
        return value[k, 0]
    widen(value, k, one, bits, 0, half)
    return one[0, 0]


def place(out: Array, row: int) -> int:
    """Which row of `either(out, wide)` is put together for row `row` of `out`: of 16-bit numbers the first."""
    return row if out.dtype != np.uint16 else 0


def store(out: Array, row: int, bits: Array, half: int) -> None:
    """Have what was put together for row `row` in `out`; `bits`: `wide` as uint32."""
    if out.dtype == np.uint16:
        narrow(bits, 0, out, row, half)


# numba must know at compile time which of the two ways an array takes, since they give arrays of different types.


@overload(either, inline="always")
def _either(x, wide):  # type: ignore[no-untyped-def]
    if x.dtype == numba.uint16:
        return lambda x, wide: wide
    return lambda x, wide: x


@overload(fetch, inline="always")
def _fetch(x, row, wide, bits, slot, half):  # type: ignore[no-untyped-def]
    def widened(x, row, wide, bits, slot, half):  # type: ignore[no-untyped-def]
        widen(x, row, wide, bits, slot, half)
        return slot

    return widened if x.dtype == numba.uint16 else lambda x, row, wide, bits, slot, half: row


@overload(entry, inline="always")
def _entry(value, k, one, bits, half):  # type: ignore[no-untyped-def]
    def widened(value, k, one, bits, half):  # type: ignore[no-untyped-def]
        widen(value, k, one, bits, 0, half)
        return one[0, 0]

    if isinstance(value, numba.types.NoneType):
        return lambda value, k, one, bits, half: one[0, 0]
    return widened if value.dtype == numba.uint16 else lambda value, k, one, bits, half: value[k, 0]


@overload(place, inline="always")
def _place(out, row):  # type: ignore[no-untyped-def]
    if out.dtype == numba.uint16:
        return lambda out, row: 0
    return lambda out, row: row


@overload(store, inline="always")
def _store(out, row, bits, half):  # type: ignore[no-untyped-def]
    if out.dtype == numba.uint16:
        return lambda out, row, bits, half: narrow(bits, 0, out, row, half)
    return lambda out, row, bits, half: None
