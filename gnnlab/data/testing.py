"""Comparing graphs exactly, for tests."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor

from gnnlab.sparse import SparseTensor, is_sparse, kind, sizes, to_parts


def assert_equal(found: Any, expected: Any, *, normalised: bool = False) -> None:
    """Raise unless two graphs, or two lists of graphs, are the same to the last bit.

    The same are: classes, types, names of attributes (in any order), and values with their dtypes,
    shapes, layouts, devices and `requires_grad`, however nested. NaN equals NaN.

    Args:
        found: the graph or list of graphs to test.
        expected: what it should be.
        normalised: take numbers, and tensors without dimensions, for tensors of shape [1], which is
            what becomes of them in a batch.

    Raises:
        AssertionError: at the first difference; it names graph, storage and attribute, and what was
            expected and found there.

    >>> from gnnlab.data import Data
    >>> assert_equal(Data(x=torch.ones(2)), Data(x=torch.zeros(2)))
    Traceback (most recent call last):
        ...
    AssertionError: attribute 'x': expected the value 0.0 at [0], found 1.0
    """
    difference = next(_differences("", found, expected, normalised), None)
    if difference is not None:
        raise AssertionError(difference)


def equal(found: Any, expected: Any, *, normalised: bool = False) -> bool:
    """Whether two graphs, or two lists of graphs, are the same in the sense of `assert_equal`."""
    return next(_differences("", found, expected, normalised), None) is None


def _differences(where: str, found: Any, expected: Any, normalised: bool) -> Iterator[str]:
    if normalised:
        found, expected = _normalised(found), _normalised(expected)
    if type(found) is not type(expected):
        yield _text(where, f"a {type(expected).__name__}", f"a {type(found).__name__}")
    elif hasattr(type(expected), "node_stores"):
        yield from _of_graphs(where, found, expected, normalised)
    elif is_sparse(found) and is_sparse(expected):
        yield from _of_sparse(where, found, expected)
    elif isinstance(expected, Tensor):
        yield from _of_tensors(where, found, expected)
    elif isinstance(expected, np.ndarray):
        yield from _of_arrays(where, found, expected)
    elif isinstance(expected, Mapping):
        yield from _of_mappings(where, found, expected, normalised)
    elif isinstance(expected, (list, tuple)):
        yield from _of_sequences(where, found, expected, normalised)
    elif found != expected and not (found != found and expected != expected):
        yield _text(where, repr(expected), repr(found))


def _of_graphs(where: str, found: Any, expected: Any, normalised: bool) -> Iterator[str]:
    stores = {store._key: store for store in found.stores}
    others = {store._key: store for store in expected.stores}
    if set(stores) != set(others):
        yield _text(where, f"the types {_names(others)}", _names(stores))
        return
    for key, store in stores.items():
        here = where
        if key is not None:
            here = _join(where, f"{'edge' if isinstance(key, tuple) else 'node'} type {key!r}")
        if set(store) != set(others[key]):
            yield _text(here, f"the attributes {_names(others[key])}", _names(store))
            continue
        for name, value in store.items():
            there = _join(here, f"attribute {name!r}")
            yield from _differences(there, value, others[key][name], normalised)


def _of_mappings(where: str, found: Mapping[Any, Any], expected: Mapping[Any, Any], normalised: bool) -> Iterator[str]:
    if set(found) != set(expected):
        yield _text(where, f"the keys {_names(expected)}", _names(found))
        return
    for key, value in found.items():
        yield from _differences(f"{where}[{key!r}]", value, expected[key], normalised)


def _of_sequences(where: str, found: Any, expected: Any, normalised: bool) -> Iterator[str]:
    if len(found) != len(expected):
        yield _text(where, f"{len(expected)} items", str(len(found)))
        return
    for at, (item, other) in enumerate(zip(found, expected, strict=True)):
        is_graph = hasattr(type(other), "node_stores")
        here = _join(where, f"graph {at}") if is_graph else f"{where}[{at}]"
        yield from _differences(here, item, other, normalised)


def _of_tensors(where: str, found: Tensor, expected: Tensor) -> Iterator[str]:
    for what in ("layout", "dtype", "shape", "device", "requires_grad"):
        ours, theirs = getattr(found, what), getattr(expected, what)
        if ours != theirs:
            ours, theirs = (list(x) if what == "shape" else x for x in (ours, theirs))
            yield _text(where, f"{what} {theirs}", str(ours))
            return
    found, expected = found.detach(), expected.detach()
    if found.is_complex():
        found, expected = torch.view_as_real(found), torch.view_as_real(expected)
    same = (found == expected) | ((found != found) & (expected != expected))
    if not bool(same.all()):
        at = tuple((~same).nonzero()[0].tolist())
        values = f"the value {expected[at].item()} at {list(at)}"
        yield _text(where, values, str(found[at].item()))


def _of_arrays(where: str, found: Any, expected: Any) -> Iterator[str]:
    for what in ("dtype", "shape"):
        if getattr(found, what) != getattr(expected, what):
            yield _text(where, f"{what} {getattr(expected, what)}", str(getattr(found, what)))
            return
    same = (found == expected) | ((found != found) & (expected != expected))
    if not np.all(same):
        at = tuple(int(i[0]) for i in np.nonzero(~np.atleast_1d(same)))
        values = [np.atleast_1d(x)[at] for x in (expected, found)]
        yield _text(where, f"the value {values[0]} at {list(at)}", str(values[1]))


def _of_sparse(where: str, found: Any, expected: Any) -> Iterator[str]:
    for what, of in (("the kind", kind), ("the sizes", sizes)):
        if of(found) != of(expected):
            yield _text(where, f"{what} {of(expected)}", str(of(found)))
            return
    parts, others = _parts(found), _parts(expected)
    if set(parts) != set(others):
        yield _text(where, f"the parts {_names(others)}", _names(parts))
        return
    for name, part in parts.items():
        yield from _differences(_join(where, name), part, others[name], False)


def _parts(matrix: Any) -> dict[str, Tensor]:
    """Rows, columns and values of our matrices (whatever they are stored as), else what is held."""
    if kind(matrix) in ("coo", "csr", "csc"):
        return to_parts(matrix)[1]
    ours = isinstance(matrix, SparseTensor)
    copy = matrix.copy() if ours else SparseTensor.from_torch_sparse(matrix)
    row, col, value = copy.coo()  # of a copy: comparing leaves nothing in the cache
    return {"row": row, "col": col} | ({} if value is None else {"value": value})


def _normalised(value: Any) -> Any:
    if isinstance(value, (bool, int, float)):
        return torch.tensor([value])
    if isinstance(value, Tensor) and value.dim() == 0 and not is_sparse(value):
        return value.view(1)
    return value


def _join(where: str, what: str) -> str:
    return f"{where}, {what}" if where else what


def _text(where: str, expected: str, found: str) -> str:
    return f"{where or 'value'}: expected {expected}, found {found}"


def _names(keys: Any) -> str:
    return str(sorted((key for key in keys if key is not None), key=str))
