"""Sparse times dense."""

import torch
from torch import Tensor

from gnnlab.typing import Adj, is_sparse_tensor
from gnnlab.utils._scatter import scatter
from gnnlab.utils.sparse import is_torch_sparse_tensor, to_edge_index


def spmm(src: Adj, other: Tensor, reduce: str = "sum") -> Tensor:
    """Reduce, for each row of `src`, the rows of `other` that its entries name, each times its entry.

    src: [rows, columns] sparse, of torch's (COO, CSR, CSC) or a `SparseTensor`. other: [columns, ...] float.
    reduce: "sum" ("add"), "mean" (over the entries of the row), "min" or "max".

    Returns [rows, ...]; a row without entries holds 0. Raises ValueError for sizes that do not fit, a `src` that is not
    sparse, or another `reduce`. PyG: `torch_geometric.utils.spmm`.
    """
    if reduce not in ("sum", "add", "mean", "min", "max"):
        raise ValueError(f"reduce: expected 'sum', 'add', 'mean', 'min' or 'max', found {reduce!r}")
    if is_sparse_tensor(src):
        rows, columns = src.sparse_sizes()
    elif is_torch_sparse_tensor(src):
        rows, columns = src.size(0), src.size(1)
    else:
        raise ValueError(f"src: expected a sparse matrix, found {type(src).__name__} that is none")
    if other.dim() == 0 or other.size(0) != columns:
        raise ValueError(
            f"other: expected one row for each of {columns} columns of src, found shape {list(other.shape)}"
        )
    if isinstance(src, Tensor) and _torch_multiplies(src, other) and reduce not in ("min", "max"):
        total = torch.sparse.mm(src, other)
        return total / _row_counts(src).clamp(min=1).unsqueeze(1) if reduce == "mean" else total
    (row, col), value = to_edge_index(src)
    if value.dim() != 1:
        raise ValueError(f"src: expected one number in each entry, found shape {list(value.shape[1:])}")
    messages = other.index_select(0, col)
    messages = messages * value.view([-1] + [1] * (other.dim() - 1)).to(other.dtype)
    return scatter(messages, row, 0, rows, reduce)


def _torch_multiplies(src: Tensor, other: Tensor) -> bool:
    """Whether torch has a product for these, with gradients for both."""
    layouts, dtypes = (torch.sparse_coo, torch.sparse_csr), (torch.float32, torch.float64)
    return src.layout in layouts and src.dtype == other.dtype and src.dtype in dtypes and src.dim() == other.dim() == 2


def _row_counts(src: Tensor) -> Tensor:
    """[rows] int64: the number of entries in each row."""
    if src.layout == torch.sparse_csr:
        return src.crow_indices().diff()
    return torch.bincount(src._indices()[0], minlength=src.size(0))
