"""Running the same lines on PyG's classes and on ours, and comparing what comes of them."""

import copy
import io
import pickle
import warnings
from collections.abc import Iterator, Mapping
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

import gnnlab.data
import gnnlab.data.storage
from gnnlab.sparse import is_sparse

CLASSES = ("Data", "HeteroData", "Batch", "TemporalData", "Dataset", "InMemoryDataset")
STORAGES = ("BaseStorage", "NodeStorage", "EdgeStorage", "GlobalStorage")


def _namespace(data: Any, storage: Any, pyg: bool) -> SimpleNamespace:
    classes = {name: getattr(data, name) for name in CLASSES} | {name: getattr(storage, name) for name in STORAGES}
    return SimpleNamespace(**classes, pyg=pyg)


OURS = _namespace(gnnlab.data, gnnlab.data.storage, pyg=False)


def theirs() -> SimpleNamespace:
    """PyG's classes, under the same names; skips the test where PyG is not installed."""
    reason = "compares with torch_geometric"
    data = pytest.importorskip("torch_geometric.data", reason=reason)
    return _namespace(data, pytest.importorskip("torch_geometric.data.storage", reason=reason), pyg=True)


def evaluate(lines: str, classes: SimpleNamespace, setup: str = "", **names: Any) -> Any:
    """The plain value (`plain`) of the last of `lines`, parted by ' ; ', or 'raises'; warnings don't count."""
    scope = {"n": classes, "torch": torch, "np": np, "copy": copy, "pickle": pickle, "ids": ids, **names}
    *statements, last = lines.split(" ; ")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(setup, scope)
        try:
            for statement in statements:
                exec(statement, scope)
            return plain(eval(last, scope))
        except Exception as error:  # any error will do, PyG's are of many kinds, but for slips in `lines`
            if isinstance(error, (NameError, SyntaxError)):
                raise
            return "raises"


def assert_same(lines: str, setup: str = "", **names: Any) -> Any:
    """Both do the same; returns what."""
    found, expected = evaluate(lines, OURS, setup, **names), evaluate(lines, theirs(), setup, **names)
    assert found == expected
    return found


def ids(*values: Any) -> Tensor:
    """A tensor of integers (or whatever they are)."""
    return torch.tensor(values)


def plain(value: Any) -> Any:
    """`value` as nested lists, tuples and dicts that compare by `==`."""
    if is_sparse(value):
        dense = value.to_dense()
        return "sparse", tuple(dense.shape), dense.tolist()
    if isinstance(value, Tensor):
        numbers = "meta" if value.device.type == "meta" else value.detach().tolist()
        return "tensor", str(value.dtype), tuple(value.shape), value.requires_grad, numbers
    if isinstance(value, np.ndarray):
        return "array", str(value.dtype), value.tolist()
    if hasattr(type(value), "to_namedtuple"):  # graphs and storages
        return type(value).__name__, plain(value.to_dict())
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items() if key != "_num_nodes"}  # PyG's own note
    if isinstance(value, tuple):
        return (
            ("fields", value._fields, list(map(plain, value)))
            if hasattr(value, "_fields")
            else tuple(map(plain, value))
        )
    if isinstance(value, (set, frozenset)):
        return "set", sorted(map(str, value))
    if isinstance(value, (list, Iterator)) or type(value).__name__.endswith(("View", "_keys", "_values", "_items")):
        return [plain(item) for item in value]
    return value if value is None or isinstance(value, (bool, int, float, str)) else type(value).__name__


def reload(value: Any) -> Any:
    """`value` saved by `torch.save` and loaded as torch does by default, running no code from the file."""
    file = io.BytesIO()
    torch.save(value, file)
    file.seek(0)
    return torch.load(file)
