"""What a SparseTensor holds: its entries in row order, and what was derived from them and kept."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor

from gnnlab.sparse import checks
from gnnlab.sparse.pointers import (
    count_to_ptr,
    in_order,
    index_to_ptr,
    inverse,
    ptr_to_index,
    stable_order,
)

# What can be derived and kept; and `csc_row`, which products keep for their gradients, and which is neither pickled nor
# filled ahead.
DERIVED = ("row", "rowptr", "rowcount", "colptr", "colcount", "csr2csc", "csc2csr")

# Those that torch_sparse counts as caches; we also count `row` or `rowptr`, whichever of the two was not given.
CACHES = ("rowcount", "colptr", "colcount", "csr2csc", "csc2csr")


class SparseStorage:
    """The entries of a sparse matrix of M rows and N columns, ordered by row (method names: torch_sparse's).

    Exactly one of `row` and `rowptr` is given and held for good; the other, and the rest below, are
    computed when first asked for and kept. `cache_info` counts them, `clear_cache_` lets them go.

    - `row()`: [nnz] int64, the row of each entry. `rowptr()`: [M + 1] int64, row `i` is
      `rowptr[i]:rowptr[i + 1]`.
    - `col()`: [nnz] int64. `value()`: [nnz, ...] of any dtype, or None: a pattern without values.
    - `rowcount()`: [M] int64, entries a row. `colcount()`: [N] int64. `colptr()`: [N + 1] int64.
    - `csr2csc()`: [nnz] int64, the order that sorts the entries by column; `csc2csr()`: [nnz]
      int64, its inverse. `csc_row()`: [nnz] int64, the rows in the order `csr2csc()`.

    The arguments may be given in any integer dtype. Entries are sorted by row, then column (equal
    ones keep their order), unless `is_sorted=True` says that rows are in order already; the columns
    within a row then stay as given. All is checked unless `trust_data=True`.

    Raises:
        TypeError: an argument is no tensor, or no integer tensor where one is needed.
        ValueError: shapes, sizes, devices or ids do not fit each other.
    """

    __slots__ = ("_col", "_given", "_index", "_sparse_sizes", "_value")

    _given: str  # 'row' or 'rowptr'
    _index: dict[str, Tensor]  # the given one and whatever of DERIVED is kept

    def __init__(
        self,
        row: Tensor | None = None,
        rowptr: Tensor | None = None,
        col: Tensor | None = None,
        value: Tensor | None = None,
        sparse_sizes: tuple[int | None, int | None] | None = None,
        rowcount: Tensor | None = None,
        colptr: Tensor | None = None,
        colcount: Tensor | None = None,
        csr2csc: Tensor | None = None,
        csc2csr: Tensor | None = None,
        is_sorted: bool = False,
        trust_data: bool = False,
    ) -> None:
        if col is None or (row is None and rowptr is None):
            missing = "col" if col is None else "row or rowptr"
            raise TypeError(f"{missing} must be given: row and col, or rowptr and col")
        given = {
            "row": row,
            "rowptr": rowptr,
            "rowcount": rowcount,
            "colptr": colptr,
            "colcount": colcount,
            "csr2csc": csr2csc,
            "csc2csr": csc2csr,
        }
        self._given = "row" if row is not None else "rowptr"
        self._index = {key: checks.index_tensor(key, tensor) for key, tensor in given.items() if tensor is not None}
        self._col = checks.index_tensor("col", col)
        self._value = value
        self._sparse_sizes = self._sizes(*(sparse_sizes or (None, None)))
        if not trust_data:
            self._check(is_sorted)
        if not is_sorted:
            self._sort()

    def _sizes(self, rows: int | None, cols: int | None) -> tuple[int, int]:
        """The sizes given, or the smallest that hold all ids."""
        if rows is None and "rowptr" in self._index:
            rows = max(self._index["rowptr"].numel() - 1, 0)
        if rows is None:
            row = self._index["row"]
            rows = max(int(row.max()) + 1, 0) if row.numel() else 0
        if cols is None:
            cols = max(int(self._col.max()) + 1, 0) if self._col.numel() else 0
        return int(rows), int(cols)

    def _check(self, is_sorted: bool) -> None:
        rows, cols = self._sparse_sizes
        nnz = self._col.numel()
        if rows < 0 or cols < 0:
            raise ValueError(f"sparse_sizes must not be negative, found ({rows}, {cols})")
        lengths = {"rowptr": rows + 1, "rowcount": rows, "colptr": cols + 1, "colcount": cols}
        for key, tensor in self._index.items():
            of = "sparse_sizes" if key in lengths else "entries of col"
            checks.length(key, tensor, lengths.get(key, nnz), of)
        if self._value is not None:
            if not isinstance(self._value, Tensor):
                raise TypeError(f"value must be a tensor, found {type(self._value).__name__}")
            checks.length("value", self._value, nnz, "entries of col")
        for key, tensor in self.tensors().items():
            if tensor.device != self._col.device:
                device = self._col.device
                raise ValueError(f"{key} must be on {device} as col is, found {tensor.device}")

        checks.in_range("col", self._col, cols, "columns")
        row, rowptr = self._index.get("row"), self._index.get("rowptr")
        if row is not None:
            checks.in_range("row", row, rows, "rows")
            if is_sorted and bool((row[1:] < row[:-1]).any()):
                raise ValueError("row must be in order where is_sorted=True, found a step down")
        for key in ("rowptr", "colptr"):
            if key in self._index:
                checks.pointers(key, self._index[key], nnz)
        if row is not None and rowptr is not None and not torch.equal(ptr_to_index(rowptr, nnz), row):
            raise ValueError("row and rowptr must say the same, found different rows")
        for key in ("csr2csc", "csc2csr"):
            if key in self._index:
                checks.in_range(key, self._index[key], nnz, "entries")

    def _sort(self) -> None:
        row, kept = self._index.get("row"), self._index
        if row is None:
            row = ptr_to_index(self._index["rowptr"], self._col.numel())
        if not torch.compiler.is_compiling() and in_order(row, self._col):  # a graph of operations can't branch on it
            return
        order = stable_order(row, self._col, self._sparse_sizes)
        self._index = {key: kept[key] for key in kept if key not in ("csr2csc", "csc2csr")}
        if "row" in kept:
            self._index["row"] = row[order]
        self._col = self._col[order]
        self._value = None if self._value is None else self._value[order]

    # The entries

    def given(self) -> str:
        """'row' or 'rowptr': which of the two was given, and is never let go."""
        return self._given

    def has_row(self) -> bool:
        """Whether `row()` costs nothing."""
        return "row" in self._index

    def row(self) -> Tensor:
        """[nnz] int64: the row of each entry, in order."""
        return self._get("row", lambda: ptr_to_index(self._index["rowptr"], self._col.numel()))

    def has_rowptr(self) -> bool:
        """Whether `rowptr()` costs nothing."""
        return "rowptr" in self._index

    def rowptr(self) -> Tensor:
        """[M + 1] int64: where each row starts."""
        return self._get("rowptr", lambda: index_to_ptr(self._index["row"], self._sparse_sizes[0]))

    def col(self) -> Tensor:
        """[nnz] int64: the column of each entry."""
        return self._col

    def has_value(self) -> bool:
        """Whether the entries have values."""
        return self._value is not None

    def value(self) -> Tensor | None:
        """[nnz, ...]: the value of each entry, or None."""
        return self._value

    def nnz(self) -> int:
        """The number of entries."""
        return self._col.numel()

    def sparse_sizes(self) -> tuple[int, int]:
        """Rows and columns."""
        return self._sparse_sizes

    def sparse_size(self, dim: int) -> int:
        """Rows (0) or columns (1)."""
        return self._sparse_sizes[dim]

    def set_value_(self, value: Tensor | None, layout: str | None = None) -> SparseStorage:
        """Replace the values in place; see `set_value`."""
        self._value = None if value is None else self.in_row_order(value, layout)
        return self

    def set_value(self, value: Tensor | None, layout: str | None = None) -> SparseStorage:
        """The same entries with `value`: [nnz, ...] or None, in row order, or with `layout='csc'` in column order.

        Raises TypeError if `value` is no tensor, ValueError for a wrong length, device or layout.
        """
        return self.copy().set_value_(value, layout)

    def in_row_order(self, value: Tensor, layout: str | None) -> Tensor:
        """[nnz, ...]: `value`, given in the order of `layout`, by row; raises as `set_value` does."""
        if layout not in (None, "coo", "csr", "csc"):
            raise ValueError(f"layout must be 'coo', 'csr' or 'csc', found {layout!r}")
        if not isinstance(value, Tensor):
            raise TypeError(f"value must be a tensor, found {type(value).__name__}")
        checks.length("value", value, self.nnz(), "entries")
        if value.device != self._col.device:
            raise ValueError(f"value must be on {self._col.device}, found {value.device}")
        return value[self.csc2csr()] if layout == "csc" else value

    # What is derived

    def _get(self, key: str, compute: Callable[[], Tensor]) -> Tensor:
        if key not in self._index:
            self._index[key] = compute()
        return self._index[key]

    def has_rowcount(self) -> bool:
        """Whether `rowcount()` costs nothing."""
        return "rowcount" in self._index

    def rowcount(self) -> Tensor:
        """[M] int64: the number of entries in each row."""
        return self._get("rowcount", lambda: self.rowptr().diff())

    def has_colcount(self) -> bool:
        """Whether `colcount()` costs nothing."""
        return "colcount" in self._index

    def colcount(self) -> Tensor:
        """[N] int64: the number of entries in each column."""
        return self._get("colcount", lambda: torch.bincount(self._col, minlength=self._sparse_sizes[1]))

    def has_colptr(self) -> bool:
        """Whether `colptr()` costs nothing."""
        return "colptr" in self._index

    def colptr(self) -> Tensor:
        """[N + 1] int64: where each column starts once the entries are taken in the order `csr2csc()`."""
        return self._get("colptr", lambda: count_to_ptr(self.colcount()))

    def has_csr2csc(self) -> bool:
        """Whether `csr2csc()` costs nothing."""
        return "csr2csc" in self._index

    def csr2csc(self) -> Tensor:
        """[nnz] int64: the order that sorts the entries by column (within a column by row)."""
        if "csc2csr" in self._index:
            return self._get("csr2csc", lambda: inverse(self._index["csc2csr"]))
        if "csr2csc" not in self._index and self._sorts_by_kernel():
            self._sort_by_column()
        return self._get("csr2csc", lambda: torch.argsort(self._col, stable=True))

    def has_csc_row(self) -> bool:
        """Whether `csc_row()` costs nothing."""
        return "csc_row" in self._index

    def csc_row(self) -> Tensor:
        """[nnz] int64: the row of each entry, the entries taken by column; with `colptr` the transposed matrix."""
        if "csc_row" not in self._index and self._sorts_by_kernel():
            self._sort_by_column()
        return self._get("csc_row", lambda: self.row()[self.csr2csc()])

    def _sorts_by_kernel(self) -> bool:
        """Whether a sort is long enough to wait for the kernels' import, and where they can do it."""
        return self._col.is_cpu and self._col.numel() > 100_000

    def _sort_by_column(self) -> None:
        """Keep `csr2csc`, `colptr` and `csc_row`, from one counting sort."""
        from gnnlab.kernels.csr import by_column

        colptr = torch.empty(self._sparse_sizes[1] + 1, dtype=torch.int64)
        order, row = torch.empty_like(self._col), torch.empty_like(self._col)
        parts = [self.rowptr(), self._col, colptr, order, row]
        by_column(*(part.contiguous().numpy() for part in parts))
        self._index |= {"colptr": colptr, "csr2csc": order, "csc_row": row}

    def has_csc2csr(self) -> bool:
        """Whether `csc2csr()` costs nothing."""
        return "csc2csr" in self._index

    def csc2csr(self) -> Tensor:
        """[nnz] int64: the order that sorts entries taken by column back by row."""
        return self._get("csc2csr", lambda: inverse(self.csr2csc()))

    # What is kept

    def cache_info(self) -> dict[str, int]:
        """The bytes of each part that was derived and is kept, by name; empty if there is none.

        Beside the five that `cached_keys` counts these are `csc_row`, and `row` or `rowptr`, whichever was not given.
        """
        kept = [key for key in (*DERIVED, "csc_row") if key in self._index and key != self._given]
        return {key: self._index[key].nbytes for key in kept}

    def cached_keys(self) -> list[str]:
        """The names of the caches, as torch_sparse counts them: without `row`, `rowptr` and `csc_row`."""
        return [key for key in self.cache_info() if key in CACHES]

    def num_cached_keys(self) -> int:
        """How many caches there are, as torch_sparse counts them."""
        return len(self.cached_keys())

    def fill_cache_(self) -> SparseStorage:
        """Compute and keep all that can be derived."""
        for key in DERIVED:
            getattr(self, key)()
        return self

    def clear_cache_(self) -> SparseStorage:
        """Let go of all that was derived."""
        self._index = {self._given: self._index[self._given]}
        return self

    # All of it

    def tensors(self) -> dict[str, Tensor]:
        """Every tensor that is held but `csc_row`, by name: those given first, then the caches."""
        held = {self._given: self._index[self._given], "col": self._col}
        if self._value is not None:
            held["value"] = self._value
        return held | {key: self._index[key] for key in self.cache_info() if key in DERIVED}

    def give(self, key: str) -> SparseStorage:
        """The same storage, in which `key`, 'row' or 'rowptr', counts as given; ValueError unless it is held."""
        out = self.copy()
        out._given = self._held_as(key)
        return out

    def _held_as(self, given: str) -> str:
        if given not in ("row", "rowptr") or given not in self._index:
            raise ValueError(f"given must be 'row' or 'rowptr', and held, found {given!r}")
        return given

    def held(self, *keys: str) -> dict[str, Tensor]:
        """Those of the parts `keys` (row, rowptr, caches) that cost nothing, by name."""
        return {key: self._index[key] for key in keys if key in self._index}

    def map(self, func: Callable[[Tensor], Tensor]) -> SparseStorage:
        """A storage with `func` applied to every tensor that is held. `func` must keep what they say."""
        index = {key: func(tensor) for key, tensor in self._index.items()}
        value = None if self._value is None else func(self._value)
        return SparseStorage.trusted(self._given, index, func(self._col), value, self._sparse_sizes)

    def copy(self) -> SparseStorage:
        """A storage of its own that shares all tensors."""
        return SparseStorage.trusted(self._given, self._index, self._col, self._value, self._sparse_sizes)

    def replace(self, **index: Tensor) -> SparseStorage:
        """A storage that shares all tensors but those given here: `row`, `rowptr` or caches, by name."""
        out = self.copy()
        out._index.update(index)
        return out

    @staticmethod
    def trusted(
        given: str,
        index: Mapping[str, Tensor],
        col: Tensor,
        value: Tensor | None,
        sparse_sizes: tuple[int, int],
    ) -> SparseStorage:
        """A storage of parts that are known to be right: nothing is looked at.

        given: 'row' or 'rowptr'. index: that one, and what else of `DERIVED` is known.
        """
        out = SparseStorage.__new__(SparseStorage)
        out._given, out._index = given, dict(index)
        out._col, out._value, out._sparse_sizes = col, value, sparse_sizes
        return out

    def clone(self) -> SparseStorage:
        """A storage with copies of all tensors."""
        return self.map(torch.clone)

    def __getstate__(self) -> dict[str, Any]:
        """Tensors and sizes. What is a view of a larger tensor goes as a copy of its own bytes."""
        held = {key: compact(tensor) for key, tensor in self.tensors().items()}
        return {"given": self._given, "sparse_sizes": self._sparse_sizes, **held}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Checked as if built by hand: the state may come from a file."""
        parts = {key: part for key, part in state.items() if key != "given"}
        SparseStorage.__init__(self, **parts, is_sorted=True)
        self._given = self._held_as(state["given"])


def compact(tensor: Tensor) -> Tensor:
    """`tensor`, or a copy of its own bytes where it is a view of something larger."""
    if tensor.untyped_storage().nbytes() <= tensor.nbytes:
        return tensor
    own = tensor.detach().clone(memory_format=torch.contiguous_format)
    return own.requires_grad_(tensor.requires_grad)
