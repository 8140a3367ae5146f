"""Parts of a matrix: a range, an index, a mask, or several at once by `[]`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from gnnlab.sparse import checks
from gnnlab.sparse.pointers import gather_ranges, ptr_to_index
from gnnlab.sparse.storage import SparseStorage

if TYPE_CHECKING:
    from gnnlab.sparse.tensor import SparseTensor


# A range


def narrow(src: SparseTensor, dim: int, start: int, length: int) -> SparseTensor:
    """`length` rows (dim 0), columns (dim 1) or positions in the values (dim 2 and on) from `start`.

    Rows are found by bisection: only the block itself is read, and its columns and values are
    views. Nothing is added to the caches of `src`; those it has are handed on where a range of them
    is still right.

    Raises IndexError where the range is not inside the dimension.
    """
    dim = checks.dimension(dim, src.dim())
    start = checks.span(start, length, src.size(dim), dim)
    if dim == 0:
        return src.with_storage(_narrow_rows(src.storage, start, length))
    if dim == 1:
        return src.with_storage(_narrow_cols(src.storage, start, length))
    return src.set_value(_value(src).narrow(dim - 1, start, length))


def narrow_diag(src: SparseTensor, start: tuple[int, int], length: tuple[int, int]) -> SparseTensor:
    """The block of `length` rows and columns from `start`: the inverse of `cat` along the diagonal.

    In a matrix made of such blocks every cache of `src` is handed on, too. Of any other matrix it
    is the plain block (torch_sparse would give wrong columns).

    Raises IndexError where the block is not inside the matrix.
    """
    first_row = checks.span(start[0], length[0], src.size(0), 0)
    first_col = checks.span(start[1], length[1], src.size(1), 1)
    storage = src.storage
    low, high = _bounds(storage, first_row, length[0])
    out = _narrow_cols(_narrow_rows(storage, first_row, length[0]), first_col, length[1])
    if not storage.has_colptr() or out.nnz() != high - low:
        return src.with_storage(out)

    # These rows hold nothing outside these columns. Where these columns hold nothing else either,
    # what is kept by column is a range as well.
    cols = slice(first_col, first_col + length[1])
    colptr = storage.colptr()[cols.start : cols.stop + 1]
    first, last = colptr[[0, -1]].tolist()
    if last - first != out.nnz():
        return src.with_storage(out)
    kept = {"colptr": colptr - first}
    if storage.has_colcount():
        kept["colcount"] = storage.colcount()[cols]
    if storage.has_csr2csc():
        kept["csr2csc"] = storage.csr2csc()[first:last] - low
    if storage.has_csc2csr():
        kept["csc2csr"] = storage.csc2csr()[low:high] - first
    return src.with_storage(out.replace(**kept))


def _bounds(storage: SparseStorage, start: int, length: int) -> tuple[int, int]:
    """Where the entries of `length` rows from `start` begin and end."""
    if storage.has_rowptr():
        low, high = storage.rowptr()[[start, start + length]].tolist()
    else:
        row = storage.row()
        low, high = torch.searchsorted(row, row.new_tensor([start, start + length])).tolist()
    return low, high


def _narrow_rows(storage: SparseStorage, start: int, length: int) -> SparseStorage:
    low, high = _bounds(storage, start, length)
    index, value = storage.held("row", "rowptr", "rowcount"), storage.value()
    if "row" in index:
        index["row"] = index["row"][low:high] - start
    if "rowptr" in index:
        index["rowptr"] = index["rowptr"][start : start + length + 1] - low
    if "rowcount" in index:
        index["rowcount"] = index["rowcount"][start : start + length]
    return SparseStorage.trusted(
        storage.given(),
        index,
        storage.col()[low:high],
        None if value is None else value[low:high],
        (length, storage.sparse_size(1)),
    )


def _narrow_cols(storage: SparseStorage, start: int, length: int) -> SparseStorage:
    keep = (storage.col() >= start) & (storage.col() < start + length)
    kept = storage if bool(keep.all()) else keep_entries(storage, keep)
    by_col = storage.held("colptr", "colcount")
    if "colptr" in by_col:
        colptr = by_col["colptr"][start : start + length + 1]
        by_col["colptr"] = colptr - colptr[0]
    if "colcount" in by_col:
        by_col["colcount"] = by_col["colcount"][start : start + length]
    return SparseStorage.trusted(
        kept.given(),
        kept.held("row", "rowptr", "rowcount") | by_col,
        kept.col() - start,
        kept.value(),
        (storage.sparse_size(0), length),
    )


def keep_entries(storage: SparseStorage, keep: Tensor) -> SparseStorage:
    """The entries where `keep`, [nnz] bool, in their order, in a matrix of the same size."""
    index, value = storage.held("row", "rowptr"), storage.value()
    if "row" in index:
        index["row"] = index["row"][keep]
    if "rowptr" in index:
        kept = torch.cat([index["rowptr"].new_zeros(1), keep.cumsum(0)])
        index["rowptr"] = kept[index["rowptr"]]
    return SparseStorage.trusted(
        storage.given(),
        index,
        storage.col()[keep],
        None if value is None else value[keep],
        storage.sparse_sizes(),
    )


def _value(src: SparseTensor) -> Tensor:
    """The values of a matrix that has more than two dimensions, which it has by its values."""
    value = src.storage.value()
    assert value is not None
    return value


# An index or a mask


def index_select(src: SparseTensor, dim: int, idx: Tensor) -> SparseTensor:
    """The rows (dim 0), columns (dim 1) or positions in the values (dim 2 and on) `idx`, in that
    order, repeats included.

    idx: [n], any integer dtype. Columns go through the cached transpose (`csr2csc`), which is
    computed once and kept in `src`.

    Raises TypeError or ValueError unless `idx` is an integer vector, IndexError where it is out of
    range.
    """
    dim = checks.dimension(dim, src.dim())
    idx = checks.ids("idx", idx, src.size(dim), f"size of dimension {dim}").to(src.device())
    if dim == 0:
        return src.with_storage(_select_rows(src.storage, idx))
    if dim == 1:
        return src.with_storage(_select_cols(src.storage, idx))
    return src.set_value(_value(src).index_select(dim - 1, idx))


def _select_rows(storage: SparseStorage, idx: Tensor) -> SparseStorage:
    entry, rowptr = gather_ranges(storage.rowptr(), idx)
    value = storage.value()
    return SparseStorage.trusted(
        "rowptr",
        {"rowptr": rowptr},
        storage.col()[entry],
        None if value is None else value[entry],
        (idx.numel(), storage.sparse_size(1)),
    )


def _select_cols(storage: SparseStorage, idx: Tensor) -> SparseStorage:
    position, colptr = gather_ranges(storage.colptr(), idx)
    entry = storage.csr2csc()[position]
    row, order = torch.sort(storage.row()[entry], stable=True)
    entry, value = entry[order], storage.value()
    return SparseStorage.trusted(
        "row",
        {"row": row, "colptr": colptr},
        ptr_to_index(colptr, position.numel())[order],
        None if value is None else value[entry],
        (storage.sparse_size(0), idx.numel()),
    )


def masked_select(src: SparseTensor, dim: int, mask: Tensor) -> SparseTensor:
    """The rows (dim 0), columns (dim 1) or positions in the values (dim 2 and on) where `mask`, [size(dim)] bool.

    Raises TypeError unless `mask` is a bool tensor, IndexError unless it has the length of the
    dimension.
    """
    dim = checks.dimension(dim, src.dim())
    _check_mask(mask, src.size(dim), f"size of dimension {dim}")
    mask = mask.to(src.device())
    if dim != 1:
        return index_select(src, dim, mask.nonzero().view(-1))
    kept = keep_entries(src.storage, mask[src.storage.col()])
    number = mask.cumsum(0) - 1
    return src.with_storage(
        SparseStorage.trusted(
            kept.given(),
            kept.held("row", "rowptr"),
            number[kept.col()],
            kept.value(),
            (src.sparse_size(0), int(mask.sum())),
        )
    )


def _check_mask(mask: Any, size: int, of: str) -> None:
    if not isinstance(mask, Tensor) or mask.dtype != torch.bool:
        found = mask.dtype if isinstance(mask, Tensor) else type(mask).__name__
        raise TypeError(f"mask must be a tensor of bools, found {found}")
    if mask.shape != (size,):
        raise IndexError(f"mask must have shape [{size}] ({of}), found {list(mask.shape)}")


def index_select_nnz(src: SparseTensor, idx: Tensor, layout: str | None = None) -> SparseTensor:
    """The entries `idx`, [n] integers, of `src` in a matrix of the same size, sorted again.

    With `layout='csc'` entries are numbered by column. Raises TypeError or ValueError unless `idx`
    is an integer vector, IndexError where it is out of range.
    """
    idx = checks.ids("idx", idx, src.nnz(), "entries")
    if layout == "csc":
        idx = src.storage.csr2csc()[idx]
    value = src.storage.value()
    return src.with_storage(
        SparseStorage(
            row=src.storage.row()[idx],
            col=src.storage.col()[idx],
            value=None if value is None else value[idx],
            sparse_sizes=src.sparse_sizes(),
            trust_data=True,
        )
    )


def masked_select_nnz(src: SparseTensor, mask: Tensor, layout: str | None = None) -> SparseTensor:
    """The entries where `mask`, [nnz] bool, of `src` in a matrix of the same size.

    With `layout='csc'` entries are numbered by column. Raises as `masked_select` does.
    """
    _check_mask(mask, src.nnz(), "entries")
    if layout == "csc":
        mask = mask[src.storage.csc2csr()]
    return src.with_storage(keep_entries(src.storage, mask))


def select(src: SparseTensor, dim: int, idx: int) -> SparseTensor:
    """Row, column or value position `idx` alone. As in torch_sparse the dimension stays, with size 1."""
    return narrow(src, dim, idx, 1)


def permute(src: SparseTensor, perm: Tensor) -> SparseTensor:
    """Rows and columns in the order `perm`, [M] integers, of a square matrix.

    Raises ValueError if the matrix is not square.
    """
    if not src.is_quadratic():
        raise ValueError(f"permute needs as many rows as columns, found {src.sparse_sizes()}")
    return index_select(index_select(src, 0, perm), 1, perm)


# Several at once


def getitem(src: SparseTensor, index: Any) -> SparseTensor:
    """`src[index]`, each part of which stands for one dimension, and one `...` for as many as are left.

    A part is an int (its dimension stays, with size 1), a slice, a mask, or ids (tensor, array or
    list). Unlike NumPy's, two lists choose rows and columns, not pairs.

    Raises IndexError for too many parts, a second `...` or None, and whatever lies out of range.
    """
    parts = list(index) if isinstance(index, tuple) else [index]
    rest = src.dim() - sum(part is not ... for part in parts)
    dots = sum(part is ... for part in parts)
    if rest < 0 or dots > 1:
        raise IndexError(f"index must have at most {src.dim()} parts and one '...', found {index}")
    dim = 0
    for part in parts:
        if part is ...:
            dim += rest
        else:
            src = _getitem(src, dim, part)
            dim += 1
    return src


def _getitem(src: SparseTensor, dim: int, part: Any) -> SparseTensor:
    if isinstance(part, slice):
        start, stop, step = part.indices(src.size(dim))
        if step == 1:
            return narrow(src, dim, start, max(stop - start, 0))
        part = range(start, stop, step)
    if isinstance(part, (list, range, np.ndarray)):
        part = torch.as_tensor(np.array(part, dtype=None if len(part) else np.int64))
    if isinstance(part, Tensor) and part.dim() == 1:
        return masked_select(src, dim, part) if part.dtype == torch.bool else index_select(src, dim, part)
    if isinstance(part, (int, np.integer)) and not isinstance(part, bool):
        return select(src, dim, int(part))
    if isinstance(part, Tensor) and part.dim() == 0:
        return select(src, dim, int(part))
    raise IndexError(f"a part of an index must be an int, slice, mask or ids, found {part!r}")
