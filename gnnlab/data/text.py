"""How graphs print: one short text with the shape of every attribute."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from gnnlab.sparse import is_sparse


def data_repr(data: Any) -> str:
    """The text that `repr` gives for a graph, as in PyG.

    A tensor shows as its shape, a tensor without dimensions as its number, a list as its length. A
    homogeneous graph takes one line unless an attribute is a dictionary; a heterogeneous one takes
    one block a type.

    Args:
        data: a `Data`, `HeteroData`, `Batch` or `TemporalData`.

    >>> from gnnlab.data import Data
    >>> Data(x=torch.ones(3, 2), y=1, name="path", meta={"size": torch.ones(2)})
    Data(
      x=[3, 2],
      y=1,
      name='path',
      meta={ size=[2] }
    )
    """
    name = type(data).__name__
    items = _attributes(data)
    nested = any(isinstance(value, Mapping) for _, value in items)
    if not nested and not _is_hetero(data):
        return one_line(name, items)
    lines = [pair(key, value, indent=2) for key, value in items]
    return f"{name}({_block(lines)})" if lines else f"{name}()"


def one_line(name: str, items: Iterable[tuple[Any, Any]]) -> str:
    """`name(key=value, ...)` with every value in short."""
    return f"{name}({', '.join(pair(key, value) for key, value in items)})"


def pair(key: Any, value: Any, indent: int = 0) -> str:
    """`key=value` in short: `x=[3, 2]`. An edge type as key shows as `(author, writes, paper)`.

    Args:
        key: the attribute's name, or a node or edge type.
        value: the attribute's value; a dictionary shows over several lines.
        indent: spaces that a new line starts with.
    """
    name = f"({', '.join(map(str, key))})" if isinstance(key, tuple) else str(key)
    return f"{' ' * indent}{name}={short(value, indent)}"


def short(value: Any, indent: int = 0) -> str:
    """A value in short: the shape of a tensor, the length of a list, else the value itself.

    >>> short(torch.ones(3, 2)), short(torch.tensor(1.5)), short([1, 2]), short("path")
    ('[3, 2]', '1.5', '[2]', "'path'")
    """
    if isinstance(value, Tensor):
        return _tensor(value)
    if isinstance(value, np.ndarray):
        return str(list(value.shape))
    if is_sparse(value):
        return f"[{', '.join(map(str, value.sizes()))}, nnz={value.nnz()}]"
    if isinstance(value, str):
        return f"'{value}'"
    if isinstance(value, Mapping):
        return _mapping(value, indent)
    if isinstance(value, (Sequence, set)):
        return f"[{len(value)}]"
    return str(value)


def _attributes(data: Any) -> list[tuple[Any, Any]]:
    """Names and values; of a heterogeneous graph the graph's own, then the storages by type."""
    own = list(data.stores[0].items())
    return [*own, *data.node_items(), *data.edge_items()] if _is_hetero(data) else own


def _is_hetero(data: Any) -> bool:
    return hasattr(type(data), "node_types")


def _tensor(value: Tensor) -> str:
    if value.is_nested:
        value = torch.nested.to_padded_tensor(value, 0.0)
    if value.dim() == 0 and value.device.type != "meta":
        return str(value.item())
    return str(list(value.shape))


def _mapping(value: Mapping[Any, Any], indent: int) -> str:
    if not value:
        return "{}"
    if len(value) == 1 and not isinstance(next(iter(value.values())), Mapping):
        return f"{{ {pair(*next(iter(value.items())))} }}"
    lines = [pair(key, item, indent + 2) for key, item in value.items()]
    return f"{{{_block(lines, end=',')}{' ' * indent}}}"


def _block(lines: list[str], end: str = "") -> str:
    return "\n" + ",\n".join(lines) + f"{end}\n"
