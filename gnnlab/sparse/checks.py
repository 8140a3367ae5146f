"""Errors that name the argument, say what was expected and what was found."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor


def index_tensor(name: str, value: Any) -> Tensor:
    """`value` as a contiguous [n] int64 tensor; TypeError or ValueError where it is no integer vector."""
    if not isinstance(value, Tensor):
        raise TypeError(f"{name} must be a tensor of integers, found {type(value).__name__}")
    if value.dtype == torch.bool or value.is_floating_point() or value.is_complex():
        raise TypeError(f"{name} must have an integer dtype, found {value.dtype}")
    if value.dim() != 1:
        raise ValueError(f"{name} must have shape [n], found {list(value.shape)}")
    value = value.to(torch.int64)
    # Of one element, `contiguous()` keeps any stride, which torch's compressed layouts refuse.
    return value if value.stride(0) == 1 else value.clone(memory_format=torch.contiguous_format)


def in_range(name: str, value: Tensor, stop: int, of: str) -> None:
    """ValueError unless all of `value` lies in `0 <= value < stop`."""
    if value.numel() == 0:
        return
    low, high = (int(bound) for bound in value.aminmax())
    if low < 0 or high >= stop:
        wrong = low if low < 0 else high
        raise ValueError(f"{name} must lie in 0 <= {name} < {stop} ({of}), found {wrong}")


def ids(name: str, value: Any, stop: int, of: str) -> Tensor:
    """`value` as an [n] int64 tensor; TypeError or ValueError where it is no integer vector, IndexError unless all of
    it lies in `0 <= value < stop`.
    """
    value = index_tensor(name, value)
    try:
        in_range(name, value, stop, of)
    except ValueError as error:
        raise IndexError(str(error)) from None
    return value


def pointers(name: str, value: Tensor, nnz: int) -> None:
    """ValueError unless `value` starts at 0, never falls and ends at `nnz`."""
    if value.numel() == 0:
        raise ValueError(f"{name} must have shape [size + 1], found [0]")
    if int(value[0]) != 0 or int(value[-1]) != nnz:
        found = f"{int(value[0])} to {int(value[-1])}"
        raise ValueError(f"{name} must run from 0 to the number of entries, {nnz}, found {found}")
    if bool((value[1:] < value[:-1]).any()):
        raise ValueError(f"{name} must never fall, found a step down")


def length(name: str, value: Tensor, expected: int, of: str) -> None:
    """ValueError unless `value` has `expected` rows."""
    if value.dim() == 0 or value.size(0) != expected:
        found = list(value.shape)
        raise ValueError(f"{name} must have {expected} rows ({of}), found shape {found}")


def dimension(dim: int, total: int, name: str = "dim") -> int:
    """`dim` counted from the front; IndexError where there is no such dimension."""
    if not -total <= dim < total:
        raise IndexError(f"{name} must lie in {-total} <= {name} < {total}, found {dim}")
    return dim % total


def span(start: int, length: int, size: int, dim: int) -> int:
    """`start` counted from the front; IndexError where `length` from there is more than dimension `dim` holds."""
    first = start + size if start < 0 else start
    if length < 0 or first < 0 or first + length > size:
        raise IndexError(
            f"start and length must stay inside dimension {dim} of size {size}, found start={start}, length={length}"
        )
    return first


def same(name: str, values: Sequence[Any]) -> None:
    """ValueError naming the first of `values` that differs from `values[0]`."""
    for i, value in enumerate(values):
        if value != values[0]:
            raise ValueError(f"{name} must be equal, found {values[0]} at 0 and {value} at {i}")
