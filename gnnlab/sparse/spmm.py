"""Sparse times dense."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from gnnlab.sparse.backends import backend as load
from gnnlab.sparse.backends import pick
from gnnlab.sparse.reduce import REDUCTIONS

if TYPE_CHECKING:
    from gnnlab.sparse.storage import SparseStorage
    from gnnlab.sparse.tensor import SparseTensor


def spmm(src: SparseTensor, other: Tensor, reduce: str = "sum", *, backend: str | None = None) -> Tensor:
    """Reduce, for each row of `src`, the rows of `other` that its entries name, each times its entry.

    Nothing of the size [nnz, ...] is formed. What the gradient for `other` needs, the order of the entries by column,
    is computed once and kept in `src`. The gradient of "min" and "max" is shared evenly by entries that tie. The result
    has the same bits for any number of threads.

    src: [num_rows, num_cols], with values [nnz] or without; values are taken in the dtype of `other`.
    other: [num_cols, ...], real, of any dtype. Sums of 16-bit numbers are formed in float32.
    reduce: "sum" ("add"), "mean" (over the entries of the row), "min" or "max".
    backend: "numba", "triton" or "torch"; by default what `gnnlab.sparse.backends.pick` says.

    Returns [num_rows, ...] of the dtype of `other`; a row without entries holds 0. The mean of integers is float.

    Raises ValueError for sizes, devices or values that do not fit, another `reduce` or `backend`, TypeError for bool
    and complex numbers. torch_sparse: `matmul`; method: Yang, Buluc, Owens, https://arxiv.org/abs/1803.08601
    """
    storage = src.storage
    value = storage.value()
    check(src.sparse_sizes()[1], value, storage.col().device, other, reduce)
    reduce = "sum" if reduce == "add" else reduce
    if reduce == "mean" and not other.is_floating_point():
        other = other.float()
    if value is not None and value.dtype != other.dtype:
        value = value.to(other.dtype)
    name = pick(other, reduce) if backend is None else backend
    load(name)

    from gnnlab.sparse.product import spmm as multiply

    transposed = gradient_parts(storage) if other.requires_grad else (None, None, None)
    rows = other.unsqueeze(1) if other.dim() == 1 else other.flatten(1)
    out = multiply(storage.rowptr(), storage.col(), value, rows, reduce, name, *transposed)
    return out.view(out.size(0), *other.shape[1:])


def gradient_parts(storage: SparseStorage) -> tuple[Tensor, Tensor, Tensor | None]:
    """What the gradient for the dense rows needs: the transposed matrix, and with values the order of the entries by
    column. All is kept in `storage`.
    """
    return storage.colptr(), storage.csc_row(), storage.csr2csc() if storage.has_value() else None


def check(num_cols: int, value: Tensor | None, device: torch.device, other: Tensor, reduce: str) -> None:
    """Refuse what can't be multiplied; see `spmm`."""
    if reduce not in REDUCTIONS:
        raise ValueError(f"reduce: expected 'sum', 'add', 'mean', 'min' or 'max', found {reduce!r}")
    if not isinstance(other, Tensor):
        raise TypeError(f"other: expected a tensor, found {type(other).__name__}")
    if other.dim() == 0 or other.size(0) != num_cols:
        raise ValueError(f"other: expected one row for each of {num_cols} columns of src, found {list(other.shape)}")
    if other.is_complex() or other.dtype == torch.bool:
        raise TypeError(f"other: expected real numbers, found {other.dtype}")
    if other.device != device:
        raise ValueError(f"other: expected it on {device} as src is, found it on {other.device}")
    if value is not None and value.dim() != 1:
        raise ValueError(f"src: expected one number in each entry, found shape {list(value.shape[1:])}")
