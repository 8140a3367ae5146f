"""Sums and products entry by entry: with another matrix, with a number for each row or column, or one for each entry.

Entries without values count as ones. Tensors are taken in the dtype of the values, if there are any; where one of the
two has dimensions that the other lacks, its numbers stand for all positions in them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from gnnlab.sparse.coalesce import coalesce
from gnnlab.sparse.convert import as_matrix
from gnnlab.sparse.pointers import stable_order
from gnnlab.sparse.storage import SparseStorage

if TYPE_CHECKING:
    from gnnlab.sparse.tensor import SparseTensor

Operation = Callable[[Tensor, Tensor], Tensor]


def add(src: SparseTensor, other: SparseTensor | Tensor) -> SparseTensor:
    """The sum of two matrices, each of whose entries is there once; or each entry plus a number for its row or column.

    other: a matrix, or a tensor [M, 1, ...] or [1, N, ...], as torch_sparse takes them. Sizes of two matrices may
    differ: the larger ones are taken. Two patterns without values give a pattern; a pattern plus values is ones plus
    values (torch_sparse drops the values).

    Raises TypeError or ValueError for another `other`.
    """
    if isinstance(other, Tensor):
        return src.set_value(_values(src, _by_line(src, other), torch.add))
    other = as_matrix("other", other)
    return coalesce(src.with_storage(_joined(src, other), other))


def mul(src: SparseTensor, other: SparseTensor | Tensor) -> SparseTensor:
    """The product, entry by entry, of two matrices; or each entry times a number for its row or column.

    other: as for `add`. Of two matrices only the entries that both have are left, each once.

    Raises TypeError or ValueError for another `other`.
    """
    if isinstance(other, Tensor):
        return src.set_value(_values(src, _by_line(src, other), torch.mul))
    src, other = (coalesce(matrix) for matrix in with_values(src, as_matrix("other", other)))
    sizes = _larger(src, other)
    row = torch.cat([src.storage.row(), other.storage.row()])
    col = torch.cat([src.storage.col(), other.storage.col()])

    # Sorted, an entry that both have is there twice, that of `src` first.
    order = stable_order(row, col, sizes)
    row, col = row[order], col[order]
    twice = (row[1:] == row[:-1]) & (col[1:] == col[:-1])
    ours, theirs = order[:-1][twice], order[1:][twice] - src.nnz()
    value, factor = src.storage.value(), other.storage.value()
    if value is not None and factor is not None:
        value = torch.mul(*aligned(value[ours], factor[theirs]))
    kept = SparseStorage.trusted("row", {"row": row[1:][twice]}, col[1:][twice], value, sizes)
    return src.with_storage(kept, other)


def add_(src: SparseTensor, other: Tensor) -> SparseTensor:
    """`add` of a tensor in place: the values themselves are changed."""
    return _in_place(src, _by_line(src, other), Tensor.add_)


def mul_(src: SparseTensor, other: Tensor) -> SparseTensor:
    """`mul` by a tensor in place: the values themselves are changed."""
    return _in_place(src, _by_line(src, other), Tensor.mul_)


def add_nnz(src: SparseTensor, other: Tensor, layout: str | None = None) -> SparseTensor:
    """Each entry plus a number of its own.

    other: [nnz, ...], by row, or by column with `layout='csc'`; or one number, [] or [1].

    Raises TypeError or ValueError for another `other` or `layout`.
    """
    return src.set_value(_values(src, _by_entry(src, other, layout), torch.add))


def mul_nnz(src: SparseTensor, other: Tensor, layout: str | None = None) -> SparseTensor:
    """Each entry times a number of its own; `other` and `layout` are those of `add_nnz`."""
    return src.set_value(_values(src, _by_entry(src, other, layout), torch.mul))


def add_nnz_(src: SparseTensor, other: Tensor, layout: str | None = None) -> SparseTensor:
    """`add_nnz` in place: the values themselves are changed."""
    return _in_place(src, _by_entry(src, other, layout), Tensor.add_)


def mul_nnz_(src: SparseTensor, other: Tensor, layout: str | None = None) -> SparseTensor:
    """`mul_nnz` in place: the values themselves are changed."""
    return _in_place(src, _by_entry(src, other, layout), Tensor.mul_)


def _by_line(src: SparseTensor, other: Any) -> Tensor:
    """[nnz, ...]: for each entry what `other` has for its row or column."""
    rows, cols = src.sparse_sizes()
    shape = _tensor(other).shape
    if shape[:2] == (rows, 1):
        return other.squeeze(1).index_select(0, src.storage.row())
    if shape[:2] == (1, cols):
        return other.squeeze(0).index_select(0, src.storage.col())
    raise ValueError(f"other must have shape [{rows}, 1, ...] or [1, {cols}, ...], found {list(shape)}")


def _by_entry(src: SparseTensor, other: Any, layout: str | None) -> Tensor:
    """[nnz, ...] in row order, or [1, ...]."""
    shape, nnz = _tensor(other).shape, src.nnz()
    if shape[:1] == (nnz,):
        return src.storage.in_row_order(other, layout)
    if shape[:1] in ((), (1,)):
        return other.view(1) if other.dim() == 0 else other
    raise ValueError(f"other must have shape [{nnz}, ...] (entries) or be one number, found {list(shape)}")


def _tensor(other: Any) -> Tensor:
    if not isinstance(other, Tensor):
        raise TypeError(f"other must be a tensor, found {type(other).__name__}")
    return other


def _values(src: SparseTensor, other: Tensor, operation: Operation) -> Tensor:
    """[nnz, ...]: the values of `src`, or ones, and `other`, [nnz, ...] or [1, ...], put together."""
    value = src.storage.value()
    if value is None:
        value = other.new_ones(src.nnz())
    return operation(*aligned(value, other.to(value.dtype)))


def _in_place(src: SparseTensor, other: Tensor, operation: Operation) -> SparseTensor:
    value = src.storage.value()
    if value is None:
        return src.set_value_(_values(src, other, operation))
    same, other = aligned(value, other.to(value.dtype))
    if same.shape != value.shape:
        raise ValueError(f"other must fit into values of shape {list(value.shape)}, found {list(other.shape)}")
    operation(value, other)
    return src


def with_values(src: SparseTensor, other: SparseTensor) -> tuple[SparseTensor, SparseTensor]:
    """Both matrices, with ones as values where one is a pattern and the other is not."""
    value, more = src.storage.value(), other.storage.value()
    if value is None and more is not None:
        return src.set_value(more.new_ones(src.nnz())), other
    if value is not None and more is None:
        return src, other.set_value(value.new_ones(other.nnz()))
    return src, other


def aligned(value: Tensor, other: Tensor) -> tuple[Tensor, Tensor]:
    """Values [n, ...] and [m, ...] of one shape beyond their first dimension, by expanding them.

    Raises ValueError where the shapes do not fit each other.
    """
    dim = max(value.dim(), other.dim())
    value, other = (part.view(*part.shape, *[1] * (dim - part.dim())) for part in (value, other))
    try:
        shape = torch.broadcast_shapes(value.shape[1:], other.shape[1:])
    except RuntimeError:
        found = f"{list(value.shape[1:])} and {list(other.shape[1:])}"
        raise ValueError(f"values of entries must have shapes that fit each other, found {found}") from None
    return value.expand(-1, *shape), other.expand(-1, *shape)


def _larger(src: SparseTensor, other: SparseTensor) -> tuple[int, int]:
    (rows, cols), (more_rows, more_cols) = src.sparse_sizes(), other.sparse_sizes()
    return max(rows, more_rows), max(cols, more_cols)


def _joined(src: SparseTensor, other: SparseTensor) -> SparseStorage:
    """The entries of both, sorted."""
    src, other = with_values(src, other)
    value, more = src.storage.value(), other.storage.value()
    if value is not None and more is not None:
        value = torch.cat(aligned(value, more))
    return SparseStorage(
        row=torch.cat([src.storage.row(), other.storage.row()]),
        col=torch.cat([src.storage.col(), other.storage.col()]),
        value=value,
        sparse_sizes=_larger(src, other),
        trust_data=True,
    )
