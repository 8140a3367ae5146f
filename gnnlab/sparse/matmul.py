"""The matrix product, whatever stands to the right."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from gnnlab.sparse.convert import as_matrix
from gnnlab.sparse.spmm import spmm
from gnnlab.sparse.spspmm import spspmm

if TYPE_CHECKING:
    from gnnlab.sparse.tensor import SparseTensor


def matmul(src: SparseTensor, other: SparseTensor | Tensor, reduce: str = "sum") -> SparseTensor | Tensor:
    """`src @ other`: a dense tensor for a dense `other` (see `spmm`), a matrix for a sparse one (see `spspmm`).

    reduce: 'sum' (or 'add'); for a dense `other` also 'mean', 'min' or 'max'. Raises TypeError for another `other`,
    otherwise as the two do.
    """
    if isinstance(other, Tensor) and other.layout == torch.strided:
        return spmm(src, other, reduce)
    return spspmm(src, as_matrix("other", other), reduce)
