"""Sparse times dense."""

from typing import Any

import torch
from torch import Tensor

from gnnlab import sparse
from gnnlab.sparse.convert import is_torch_sparse
from gnnlab.sparse.spmm import spmm as multiply
from gnnlab.typing import Adj
from gnnlab.utils.sparse import is_torch_sparse_tensor


def spmm(src: Adj, other: Tensor, reduce: str = "sum", *, backend: str | None = None) -> Tensor:
    """Reduce, for each row of `src`, the rows of `other` that its entries name, each times its entry.

    src: [rows, columns] sparse: a `SparseTensor` of ours or of torch_sparse, with values [nnz] or without, or one of
    torch's (COO, CSR, CSC). What is computed for the gradient is kept in a `SparseTensor`, not with torch's.
    other: [columns, ...], real, of any dtype.
    reduce: "sum" ("add"), "mean" (over the entries of the row), "min" or "max"; see `gnnlab.sparse.spmm.spmm`.
    backend: "numba" or "torch"; by default the fastest for `other`.

    Returns [rows, ...]; a row without entries holds 0. Raises ValueError for sizes that do not fit, a `src` that is not
    sparse, or another `reduce`. PyG: `torch_geometric.utils.spmm`.
    """
    return multiply(as_sparse_tensor(src, other.requires_grad), other, reduce, backend=backend)


def as_sparse_tensor(src: Adj, for_gradient: bool = False) -> sparse.SparseTensor:
    """Any sparse matrix as a `SparseTensor` of ours that shares its parts where it can.

    Torch's are checked, since torch itself lets ids pass that are beyond their sizes: ValueError then.

    for_gradient: have torch_sparse's compute and keep what the gradient for the dense side needs.
    """
    if isinstance(src, sparse.SparseTensor):
        return src
    if is_torch_sparse(src):
        mat: Any = src
        if for_gradient:
            mat.storage.colptr()
            mat.storage.csr2csc()
        return sparse.SparseTensor.from_torch_sparse(mat)
    if not is_torch_sparse_tensor(src):
        raise ValueError(f"src: expected a sparse matrix, found {type(src).__name__} that is none")
    assert isinstance(src, Tensor)
    return _READERS[src.layout](src.coalesce() if src.layout == torch.sparse_coo else src)


_READERS = {
    torch.sparse_coo: sparse.SparseTensor.from_torch_sparse_coo_tensor,
    torch.sparse_csr: sparse.SparseTensor.from_torch_sparse_csr_tensor,
    torch.sparse_csc: sparse.SparseTensor.from_torch_sparse_csc_tensor,
}
