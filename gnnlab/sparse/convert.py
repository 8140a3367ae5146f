"""From and to dense, torch.sparse, SciPy and torch_sparse.

The `read_*` functions return what the constructor of SparseTensor takes; `SparseTensor.from_*` call
them.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from gnnlab.sparse import torch_compressed, torch_coo
from gnnlab.sparse.coalesce import is_coalesced
from gnnlab.sparse.storage import CACHES, SparseStorage

if TYPE_CHECKING:
    from gnnlab.sparse.tensor import SparseTensor


# In


def read_dense(mat: Tensor, has_value: bool = True) -> dict[str, Any]:
    """[M, N, ...]: an entry wherever anything is not zero."""
    if not isinstance(mat, Tensor) or mat.layout != torch.strided:
        found = mat.layout if isinstance(mat, Tensor) else type(mat).__name__
        raise TypeError(f"mat must be a dense tensor, found {found}")
    if mat.dim() < 2:
        raise ValueError(f"mat must have shape [M, N, ...], found {list(mat.shape)}")
    filled = mat != 0
    row, col = (filled.flatten(2).any(-1) if mat.dim() > 2 else filled).nonzero().t().contiguous()
    return {
        "row": row,
        "col": col,
        "value": mat[row, col] if has_value else None,
        "sparse_sizes": (mat.size(0), mat.size(1)),
        "is_sorted": True,
        "trust_data": True,
    }


def read_torch(mat: Tensor, layout: torch.layout, has_value: bool = True) -> dict[str, Any]:
    """A matrix in `torch.sparse_coo`, `torch.sparse_csr` or, as its transpose, `torch.sparse_csc`;
    values of any shape.
    """
    if not isinstance(mat, Tensor) or mat.layout != layout:
        found = mat.layout if isinstance(mat, Tensor) else type(mat).__name__
        raise TypeError(f"mat must be a tensor in {layout}, found {found}")
    rows, cols = mat.shape[:2]
    if layout == torch.sparse_coo:
        if mat.sparse_dim() != 2:
            raise ValueError(f"mat must have two sparse dimensions, found {mat.sparse_dim()}")
        row, col = mat._indices()
        entries = {"row": row, "col": col, "is_sorted": mat.is_coalesced()}
        value = torch_coo.values(mat)
    else:
        ptr, index, value = torch_compressed.parts(mat)
        if ptr.dim() != 1:
            raise ValueError(f"mat must not be batched, found shape {list(mat.shape)}")
        entries = {"rowptr": ptr, "col": index}
        rows, cols = (rows, cols) if layout == torch.sparse_csr else (cols, rows)
    return {**entries, "value": value if has_value else None, "sparse_sizes": (rows, cols)}


def read_scipy(mat: Any, has_value: bool = True) -> dict[str, Any]:
    """Any SciPy sparse matrix or array of two dimensions; arrays are shared, not copied, where torch can."""
    if len(mat.shape) != 2:
        raise ValueError(f"mat must have two dimensions, found shape {tuple(mat.shape)}")
    if mat.format == "csr":
        entries = {"rowptr": _from_numpy(mat.indptr), "col": _from_numpy(mat.indices)}
    else:
        mat = mat.tocoo()
        entries = {"row": _from_numpy(mat.row), "col": _from_numpy(mat.col)}
    value = _from_numpy(mat.data) if has_value else None
    return {**entries, "value": value, "sparse_sizes": tuple(mat.shape)}


def _from_numpy(array: Any) -> Tensor:
    return torch.from_numpy(array if array.flags.writeable else array.copy())


def is_torch_sparse(x: Any) -> bool:
    """Whether `x` is a `torch_sparse.SparseTensor`; does not import torch_sparse."""
    module = sys.modules.get("torch_sparse")
    return module is not None and isinstance(x, module.SparseTensor)


def as_matrix(name: str, value: Any) -> SparseTensor:
    """`value`, which may also be torch_sparse's, as one of ours; a TypeError that calls it `name` for anything else."""
    from gnnlab.sparse.tensor import SparseTensor

    if isinstance(value, SparseTensor):
        return value
    if is_torch_sparse(value):
        return SparseTensor.from_torch_sparse(value)
    found = value.layout if isinstance(value, Tensor) else type(value).__name__
    raise TypeError(f"{name} must be a SparseTensor or a dense tensor, found {found}")


def read_torch_sparse(mat: Any) -> SparseStorage:
    """A `torch_sparse.SparseTensor`, with its caches; all tensors are shared."""
    if not is_torch_sparse(mat):
        raise TypeError(f"mat must be a torch_sparse.SparseTensor, found {type(mat).__name__}")
    given = "row" if mat.storage.has_row() else "rowptr"
    held = [key for key in ("row", "rowptr", *CACHES) if getattr(mat.storage, f"has_{key}")()]
    index = {key: getattr(mat.storage, key)() for key in held}
    sizes = mat.sparse_sizes()
    return SparseStorage.trusted(given, index, mat.storage.col(), mat.storage.value(), tuple(sizes))


# Out


def to_dense(src: SparseTensor, dtype: torch.dtype | None = None) -> Tensor:
    """[M, N, ...]: the values where entries are, their sum where there are several, else 0.

    A matrix without values gives ones, in `dtype` or else torch's default.
    """
    row, col, value = src.storage.row(), src.storage.col(), _value(src, dtype)
    if value.dtype == torch.bool:  # a sum of bools is whether any is true
        return to_dense(src.set_value(value.to(torch.uint8))).bool()
    out = value.new_zeros(src.sparse_sizes() + tuple(value.shape[1:]))
    return out.index_put((row, col), value, accumulate=True)


def to_torch_coo(src: SparseTensor, dtype: torch.dtype | None = None) -> Tensor:
    """A `torch.sparse_coo` tensor, marked as coalesced if it is."""
    indices = torch.stack([src.storage.row(), src.storage.col()])
    return torch_coo.build(indices, _value(src, dtype), src.sizes(), is_coalesced(src))


def to_torch_csr(src: SparseTensor, dtype: torch.dtype | None = None) -> Tensor:
    """A `torch.sparse_csr` tensor.

    Raises ValueError where an entry is there twice, or a row's columns are not in order: torch
    takes neither.
    """
    _check_coalesced(src, torch.sparse_csr)
    value = _value(src, dtype)
    return torch_compressed.build(src.storage.rowptr(), src.storage.col(), value, src.sizes(), torch.sparse_csr)


def to_torch_csc(src: SparseTensor, dtype: torch.dtype | None = None) -> Tensor:
    """A `torch.sparse_csc` tensor. Raises ValueError as `to_torch_csr` does."""
    _check_coalesced(src, torch.sparse_csc)
    order = src.storage.csr2csc()
    row, value = src.storage.row()[order], _value(src, dtype)[order]
    return torch_compressed.build(src.storage.colptr(), row, value, src.sizes(), torch.sparse_csc)


def to_scipy(src: SparseTensor, layout: str | None = None, dtype: torch.dtype | None = None) -> Any:
    """A SciPy `coo_matrix`, or with `layout` 'csr' or 'csc' that one; values are detached and brought to the CPU.

    Raises ValueError for another layout, or where the values are not numbers (shape [nnz]).
    """
    from scipy import sparse

    if src.dim() != 2:
        raise ValueError(f"value must have shape [nnz] for SciPy, found sizes {src.sizes()}")
    if layout not in (None, "coo", "csr", "csc"):
        raise ValueError(f"layout must be 'coo', 'csr' or 'csc', found {layout!r}")
    value, storage = _value(src, dtype), src.storage
    if layout == "csr":
        parts = _to_numpy(value, storage.col(), storage.rowptr())
        return sparse.csr_matrix(parts, src.sparse_sizes())
    if layout == "csc":
        order = storage.csr2csc()
        parts = _to_numpy(value[order], storage.row()[order], storage.colptr())
        return sparse.csc_matrix(parts, src.sparse_sizes())
    data, row, col = _to_numpy(value, storage.row(), storage.col())
    return sparse.coo_matrix((data, (row, col)), src.sparse_sizes())


def to_torch_sparse(src: SparseTensor) -> Any:
    """A `torch_sparse.SparseTensor`, with the caches; all tensors are shared. Raises ImportError
    without torch_sparse.
    """
    try:
        module = import_module("torch_sparse")
    except ModuleNotFoundError:
        raise ImportError("torch_sparse must be installed to make one of its tensors") from None
    return build_torch_sparse(src.storage, module.SparseTensor, module.SparseStorage)


def build_torch_sparse(storage: SparseStorage, tensor_class: Any, storage_class: Any) -> Any:
    """A `torch_sparse.SparseTensor` of the entries and caches of `storage`."""
    other = storage_class(
        **storage.tensors(),
        sparse_sizes=storage.sparse_sizes(),
        is_sorted=True,
        trust_data=True,
    )
    return tensor_class.from_storage(other)


def _value(src: SparseTensor, dtype: torch.dtype | None = None) -> Tensor:
    """[nnz, ...]: the values, or ones."""
    value = src.storage.value()
    if value is None:
        return torch.ones(src.nnz(), dtype=dtype or src.dtype(), device=src.device())
    return value if dtype is None else value.to(dtype)


def _to_numpy(*parts: Tensor) -> tuple[Any, ...]:
    return tuple(part.detach().cpu().numpy() for part in parts)


def _check_coalesced(src: SparseTensor, layout: torch.layout) -> None:
    if not is_coalesced(src):
        raise ValueError(f"entries must be in order and there once for {layout}, found others: coalesce() first")
