"""Comparing graphs exactly, for tests."""

from collections.abc import Mapping
from typing import Any, NoReturn

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
    _compare("", found, expected, normalised)


def equal(found: Any, expected: Any, *, normalised: bool = False) -> bool:
    """Whether two graphs, or two lists of graphs, are the same in the sense of `assert_equal`."""
    try:
        _compare("", found, expected, normalised)
    except AssertionError:
        return False
    return True


def _compare(where: str, found: Any, expected: Any, normalised: bool) -> None:
    if normalised:
        found, expected = _normalised(found), _normalised(expected)
    if type(found) is not type(expected):
        _fail(where, f"a {type(expected).__name__}", f"a {type(found).__name__}")
    if hasattr(type(expected), "node_stores"):
        _compare_graphs(where, found, expected, normalised)
    elif is_sparse(found) and is_sparse(expected):
        _compare_sparse(where, found, expected)
    elif isinstance(expected, Tensor):
        _compare_tensors(where, found, expected)
    elif isinstance(expected, np.ndarray):
        _compare_arrays(where, found, expected)
    elif isinstance(expected, Mapping):
        _compare_names(where, "keys", found, expected)
        for key, value in found.items():
            _compare(f"{where}[{key!r}]", value, expected[key], normalised)
    elif isinstance(expected, (list, tuple)):
        _compare_sequences(where, found, expected, normalised)
    elif found != expected and not (found != found and expected != expected):
        _fail(where, repr(expected), repr(found))


def _compare_graphs(where: str, found: Any, expected: Any, normalised: bool) -> None:
    stores = {store._key: store for store in found.stores}
    others = {store._key: store for store in expected.stores}
    _compare_names(where, "types", stores, others)
    for key, store in stores.items():
        here = where
        if key is not None:
            here = _join(where, f"{'edge' if isinstance(key, tuple) else 'node'} type {key!r}")
        _compare_names(here, "attributes", store, others[key])
        for name, value in store.items():
            _compare(_join(here, f"attribute {name!r}"), value, others[key][name], normalised)


def _compare_sequences(where: str, found: Any, expected: Any, normalised: bool) -> None:
    if len(found) != len(expected):
        _fail(where, f"{len(expected)} items", str(len(found)))
    for at, (item, other) in enumerate(zip(found, expected, strict=True)):
        is_graph = hasattr(type(other), "node_stores")
        here = _join(where, f"graph {at}") if is_graph else f"{where}[{at}]"
        _compare(here, item, other, normalised)


def _compare_tensors(where: str, found: Tensor, expected: Tensor) -> None:
    for what in ("layout", "dtype", "shape", "device", "requires_grad"):
        ours, theirs = getattr(found, what), getattr(expected, what)
        if ours != theirs:
            ours, theirs = (list(x) if what == "shape" else x for x in (ours, theirs))
            _fail(where, f"{what} {theirs}", str(ours))
    found, expected = found.detach(), expected.detach()
    if found.is_complex():
        found, expected = torch.view_as_real(found), torch.view_as_real(expected)
    same = (found == expected) | ((found != found) & (expected != expected))
    if not bool(same.all()):
        at = tuple((~same).nonzero()[0].tolist())
        _fail(where, f"the value {expected[at].item()} at {list(at)}", str(found[at].item()))


def _compare_arrays(where: str, found: Any, expected: Any) -> None:
    for what in ("dtype", "shape"):
        if getattr(found, what) != getattr(expected, what):
            _fail(where, f"{what} {getattr(expected, what)}", str(getattr(found, what)))
    same = (found == expected) | ((found != found) & (expected != expected))
    if not np.all(same):
        at = tuple(np.argwhere(~same)[0].tolist())
        _fail(where, f"the value {expected[at]} at {list(at)}", str(found[at]))


def _compare_sparse(where: str, found: Any, expected: Any) -> None:
    for what, of in (("the kind", kind), ("the sizes", sizes)):
        if of(found) != of(expected):
            _fail(where, f"{what} {of(expected)}", str(of(found)))
    parts, others = _parts(found), _parts(expected)
    _compare_names(where, "parts", parts, others)
    for name, part in parts.items():
        _compare_tensors(_join(where, name), part, others[name])


def _parts(matrix: Any) -> dict[str, Tensor]:
    """Rows, columns and values of our matrices (whatever they are stored as), else what is held."""
    if kind(matrix) in ("coo", "csr", "csc"):
        return to_parts(matrix)[1]
    ours = isinstance(matrix, SparseTensor)
    copy = matrix.copy() if ours else SparseTensor.from_torch_sparse(matrix)
    row, col, value = copy.coo()  # of a copy: comparing leaves nothing in the cache
    return {"row": row, "col": col} | ({} if value is None else {"value": value})


def _compare_names(where: str, what: str, found: Any, expected: Any) -> None:
    if set(found) != set(expected):
        ours, theirs = (sorted((key for key in names if key is not None), key=str) for names in (found, expected))
        _fail(where, f"the {what} {theirs}", str(ours))


def _normalised(value: Any) -> Any:
    if isinstance(value, (bool, int, float)):
        return torch.tensor([value])
    if isinstance(value, Tensor) and value.dim() == 0 and not is_sparse(value):
        return value.view(1)
    return value


def _join(where: str, what: str) -> str:
    return f"{where}, {what}" if where else what


def _fail(where: str, expected: str, found: str) -> NoReturn:
    raise AssertionError(f"{where or 'value'}: expected {expected}, found {found}")
