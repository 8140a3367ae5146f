"""How objects that are more than one dense tensor are taken apart and put together again.

A codec has a name, which is what a file records. For most classes it is the top-level package and
the class's name, as in `gnnlab.SparseTensor`, so that moving a class between modules of its package
does not make old files unreadable.
"""

from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor


class Codec(NamedTuple):
    """Two inverse functions between an object and a tree of plain containers and tensors."""

    decompose: Callable[[Any], Any]
    recompose: Callable[[Any], Any]


_CODECS: dict[str, Codec] = {}


def register_codec(name: str, decompose: Callable[[Any], Any], recompose: Callable[[Any], Any]) -> None:
    """Makes objects of one class storable.

    Args:
        name: The top-level package and the qualified name of the class, `"package.Class"`.
        decompose: Takes an object, returns a plain tree.
        recompose: Takes the tree, returns the object. A tree that does not fit may raise
            `KeyError`, `TypeError`, `ValueError` or `RuntimeError`.

    Raises:
        ValueError: If another codec has that name.
    """
    if name in _CODECS:
        raise ValueError(f"name: expected one that is not taken, found {name!r}")
    _CODECS[name] = Codec(decompose, recompose)


def codec_name(value: object) -> str | None:
    """Returns the name of the codec for `value`, or `None` if there is none."""
    if isinstance(value, Tensor) and value.layout in _LAYOUTS.values():
        return "torch.sparse"
    cls = type(value)
    name = f"{cls.__module__.partition('.')[0]}.{cls.__qualname__}"
    return name if name in _CODECS else None


def find_codec(name: str) -> Codec | None:
    """Returns the codec of that name, or `None`."""
    return _CODECS.get(name)


_LAYOUTS = {
    "coo": torch.sparse_coo,
    "csr": torch.sparse_csr,
    "csc": torch.sparse_csc,
    "bsr": torch.sparse_bsr,
    "bsc": torch.sparse_bsc,
}


def _split_torch_sparse(tensor: Tensor) -> dict[str, Any]:
    plain = tensor.detach()
    parts: dict[str, Any] = {
        "layout": next(name for name, layout in _LAYOUTS.items() if layout == plain.layout),
        "shape": list(plain.shape),
        "requires_grad": tensor.requires_grad,
    }
    if plain.layout == torch.sparse_coo:
        # The public `indices()` refuses tensors that are not coalesced.
        return parts | {
            "coalesced": plain.is_coalesced(),
            "indices": plain._indices(),
            "values": plain._values(),
        }
    by_row = plain.layout in (torch.sparse_csr, torch.sparse_bsr)
    return parts | {
        "compressed": plain.crow_indices() if by_row else plain.ccol_indices(),
        "plain": plain.col_indices() if by_row else plain.row_indices(),
        "values": plain.values(),
    }


def _join_torch_sparse(parts: dict[str, Any]) -> Tensor:
    # Indices are not checked, which would read every one: what is stored came from a valid tensor.
    if parts["layout"] == "coo":
        tensor = torch.sparse_coo_tensor(
            parts["indices"],
            parts["values"],
            parts["shape"],
            is_coalesced=parts["coalesced"],
            check_invariants=False,
        )
    else:
        tensor = torch.sparse_compressed_tensor(
            parts["compressed"],
            parts["plain"],
            parts["values"],
            parts["shape"],
            layout=_LAYOUTS[parts["layout"]],
            check_invariants=False,
        )
    return tensor.requires_grad_(parts["requires_grad"])


def _split_sparse_tensor(tensor: Any) -> dict[str, Any]:
    storage, sizes = tensor.storage, tensor.sparse_sizes()
    if storage.has_rowptr():
        rowptr = storage.rowptr()
    else:  # Asking the storage for it would leave it there.
        row = storage.row()
        rowptr = torch.searchsorted(row, torch.arange(sizes[0] + 1, device=row.device))
    parts = {"rowptr": rowptr, "col": storage.col(), "value": storage.value(), "sizes": list(sizes)}
    mark = getattr(tensor, "is_transposed", None)  # torch_sparse's has none
    return parts if mark is None else parts | {"is_transposed": mark}


def _join_sparse_tensor(module: str, parts: dict[str, Any]) -> Any:
    tensor = import_module(module).SparseTensor(
        rowptr=parts["rowptr"],
        col=parts["col"],
        value=parts["value"],
        sparse_sizes=tuple(parts["sizes"]),
        is_sorted=True,
        trust_data=True,
    )
    if "is_transposed" in parts:  # which folders of before there was a mark lack
        tensor.is_transposed = parts["is_transposed"]
    return tensor


def _split_array(array: NDArray[Any]) -> Tensor:
    native = array.astype(array.dtype.newbyteorder("="))  # A copy: writable, contiguous, native.
    return torch.from_numpy(native)


register_codec("torch.sparse", _split_torch_sparse, _join_torch_sparse)
register_codec("numpy.ndarray", _split_array, Tensor.numpy)
_SCALARS: list[type[np.generic]] = [np.dtype(code).type for code in "?bhilqBHILQefd"]
for _scalar in _SCALARS:
    if find_codec(f"numpy.{_scalar.__qualname__}") is None:  # Two codes can mean one type.
        register_codec(f"numpy.{_scalar.__qualname__}", _scalar.item, _scalar)
for _name, _module in (
    ("gnnlab.SparseTensor", "gnnlab.sparse"),
    ("torch_sparse.SparseTensor", "torch_sparse"),
):
    register_codec(_name, _split_sparse_tensor, partial(_join_sparse_tensor, _module))
