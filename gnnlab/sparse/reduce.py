"""Sums, means, minima and maxima of the entries, whole or row by row or column by column."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from gnnlab.sparse import checks

if TYPE_CHECKING:
    from gnnlab.sparse.tensor import SparseTensor

REDUCTIONS = ("sum", "add", "mean", "min", "max")


def reduction(src: SparseTensor, dim: int | None = None, reduce: str = "sum") -> Tensor:
    """The entries reduced along `dim`; entries that are not there do not count, and an empty row or column gives 0.

    dim: None gives one number (shape []), 0 one value a column ([N, ...]), 1 one value a row ([M,
    ...]), 2 and on reduces the values ([nnz, ...]). reduce: 'sum' (or 'add'), 'mean', 'min', 'max'.
    Entries without values count as 1.

    Raises ValueError for another `reduce`, IndexError for another `dim`.
    """
    check_reduce(reduce)
    value = src.storage.value()
    if value is None:
        value = torch.ones(src.nnz(), dtype=src.dtype(), device=src.device())
    if dim is None:
        return _dense(value.flatten(), 0, reduce)
    dim = checks.dimension(dim, src.dim())
    if dim > 1:
        return _dense(value, dim - 1, reduce)
    index = src.storage.col() if dim == 0 else src.storage.row()
    return scatter(value, index, src.sparse_size(1 - dim), reduce)


def sum(src: SparseTensor, dim: int | None = None) -> Tensor:
    """All values added up, or those of each column (0) or row (1); see `reduction`."""
    return reduction(src, dim, "sum")


def mean(src: SparseTensor, dim: int | None = None) -> Tensor:
    """The mean of the entries that are there, of all, or of each column (0) or row (1); see `reduction`."""
    return reduction(src, dim, "mean")


def min(src: SparseTensor, dim: int | None = None) -> Tensor:
    """The least of the entries that are there, of all, or of each column (0) or row (1); see `reduction`."""
    return reduction(src, dim, "min")


def max(src: SparseTensor, dim: int | None = None) -> Tensor:
    """The greatest of the entries that are there, of all, or of each column (0) or row (1); see `reduction`."""
    return reduction(src, dim, "max")


def check_reduce(reduce: str) -> None:
    """ValueError unless `reduce` names a reduction."""
    if reduce not in REDUCTIONS:
        raise ValueError(f"reduce must be one of {', '.join(REDUCTIONS)}, found {reduce!r}")


def scatter(value: Tensor, index: Tensor, size: int, reduce: str) -> Tensor:
    """[size, ...]: `value` [n, ...] reduced by `index` [n]; 0 where nothing is. Means of integers are rounded down.

    Sums of bools are whether any is true. Gradients of 'min' and 'max' are shared evenly by equal
    values.
    """
    check_reduce(reduce)
    if value.dtype == torch.bool:
        return scatter(value.to(torch.uint8), index, size, "min" if reduce == "min" else "max").bool()
    if reduce in ("min", "max"):
        return scatter_extreme(value, index, 0, size, f"a{reduce}")
    out = value.new_zeros(size, *value.shape[1:]).index_add(0, index, value)
    if reduce != "mean":
        return out
    count = torch.bincount(index, minlength=size).clamp_(min=1)
    count = count.view(-1, *[1] * (value.dim() - 1)).to(value.device)
    exact = out.is_floating_point() or out.is_complex()
    return out / count if exact else out.div(count, rounding_mode="floor")


def scatter_extreme(src: Tensor, index: Tensor, dim: int, size: int, extreme: str) -> Tensor:
    """[..., size, ...]: the 'amin' or 'amax' of the entries of `src`, [..., n, ...], that `index`, [n] int64, sends to
    the same place along `dim`; 0 where nothing is.

    What torch starts from counts as one more entry that ties, where it equals the result, even with
    `include_self=False`; so floating-point numbers start from one that equals nothing.
    """
    shape = [*src.shape[:dim], size, *src.shape[dim + 1 :]]
    aligned = [1] * dim + [-1] + [1] * (src.dim() - dim - 1)
    wide = index.view(aligned).expand_as(src)
    start = src.new_full(shape, float("nan") if src.is_floating_point() else 0)
    out = start.scatter_reduce(dim, wide, src, extreme, include_self=False)
    if not src.is_floating_point():
        return out
    untouched = torch.ones(size, dtype=torch.bool, device=index.device).index_fill_(0, index, False)
    return out.masked_fill(untouched.view(aligned), 0)


def _dense(value: Tensor, dim: int, reduce: str) -> Tensor:
    if reduce == "mean":
        return value.mean(dim)
    if reduce in ("min", "max"):
        return value.amin(dim) if reduce == "min" else value.amax(dim)
    return value.sum(dim)
