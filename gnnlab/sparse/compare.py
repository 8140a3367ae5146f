"""Whether two matrices, or a matrix and its transpose, are the same."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from gnnlab.sparse.coalesce import coalesce
from gnnlab.sparse.transpose import t

if TYPE_CHECKING:
    from gnnlab.sparse.tensor import SparseTensor


def equal(a: SparseTensor, b: SparseTensor) -> bool:
    """Whether both hold the same entries in the same order, with equal values, in matrices of the same size.

    Dtypes count, devices too; what is cached does not. A value that is not a number equals nothing.
    """
    if a.sizes() != b.sizes() or a.nnz() != b.nnz() or a.device() != b.device():
        return False
    x, y = a.storage.value(), b.storage.value()
    if (x is None) != (y is None):
        return False
    if x is not None and y is not None and (x.dtype != y.dtype or not torch.equal(x, y)):
        return False
    return torch.equal(a.storage.row(), b.storage.row()) and torch.equal(a.storage.col(), b.storage.col())


def is_symmetric(src: SparseTensor) -> bool:
    """Whether the matrix equals its transpose to the last bit; the values of entries that are there
    twice are added up first.
    """
    if not src.is_quadratic():
        return False
    src = coalesce(src)
    return equal(src, t(src))
