"""Walking through a loader's batches: graphs, tensors, and tuples, lists and dicts of these."""

import copy
from collections.abc import Callable, Mapping
from typing import Any

from torch import Tensor

from gnnlab import sparse
from gnnlab.data.data import BaseData
from gnnlab.data.nested import map_tensors


def map_batch(batch: Any, func: Callable[[Any], Any]) -> Any:
    """`batch` with `func` applied to every tensor and sparse matrix in it.

    Graphs are copied and containers rebuilt, so that `batch` stays as it is; what is none of these is passed on.
    """
    if isinstance(batch, BaseData):
        return copy.copy(batch).apply(func)
    if isinstance(batch, tuple) and hasattr(batch, "_fields"):
        return type(batch)(*(map_batch(part, func) for part in batch))
    if isinstance(batch, (list, tuple)):
        return type(batch)(map_batch(part, func) for part in batch)
    if isinstance(batch, Mapping):
        return {key: map_batch(part, func) for key, part in batch.items()}
    return map_tensors(batch, func)


def tensors_in(batch: Any) -> list[Tensor]:
    """The tensors in `batch`, and those that its sparse matrices are made of."""
    found: list[Tensor] = []

    def note(x: Any) -> Any:
        found.extend(sparse.to_parts(x)[1].values() if sparse.is_sparse(x) else [x])
        return x

    map_batch(batch, note)
    return found
