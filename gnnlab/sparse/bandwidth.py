"""How far from the diagonal the entries are, and an order of rows and columns that brings them closer."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from gnnlab.sparse.compare import is_symmetric as equals_transpose
from gnnlab.sparse.convert import to_scipy
from gnnlab.sparse.select import permute
from gnnlab.sparse.transpose import to_symmetric

if TYPE_CHECKING:
    from gnnlab.sparse.tensor import SparseTensor


def bandwidth(src: SparseTensor) -> int:
    """The largest distance of an entry from the diagonal, `|row - col|`; 0 without entries."""
    return int(_distance(src).max()) if src.nnz() else 0


def avg_bandwidth(src: SparseTensor) -> float:
    """The mean distance of an entry from the diagonal; 0 without entries."""
    return float(_distance(src).double().mean()) if src.nnz() else 0.0


def bandwidth_proportion(src: SparseTensor, bandwidth: int) -> float:
    """The share of entries at most `bandwidth` from the diagonal; 1 without entries."""
    return float((_distance(src) <= bandwidth).double().mean()) if src.nnz() else 1.0


def reverse_cuthill_mckee(src: SparseTensor, is_symmetric: bool | None = None) -> tuple[SparseTensor, Tensor]:
    """The matrix in an order of rows and columns with a small bandwidth, and that order, [N] int64.

    is_symmetric: whether the matrix is; None: look. One that is not is made so first, by `to_symmetric`, and is
    returned so.

    Raises ImportError without SciPy, ValueError where a matrix that is said to be symmetric is not square.
    torch_sparse: `reverse_cuthill_mckee`; method: Cuthill, McKee, https://doi.org/10.1145/800195.805928
    """
    try:
        from scipy.sparse.csgraph import reverse_cuthill_mckee as order_of
    except ModuleNotFoundError:
        raise ImportError("SciPy must be installed for reverse_cuthill_mckee") from None

    if not (equals_transpose(src) if is_symmetric is None else is_symmetric):
        src = to_symmetric(src)
    order = order_of(to_scipy(src.set_value(None), "csr"), symmetric_mode=True)
    perm = torch.from_numpy(order.copy()).to(src.device(), torch.int64)
    return permute(src, perm), perm


def _distance(src: SparseTensor) -> Tensor:
    """[nnz] int64: the distance of each entry from the diagonal."""
    return (src.storage.row() - src.storage.col()).abs()
