"""SparseTensor: a sparse matrix with values of any shape. Its methods are one-line calls; the work
is in the files beside this.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import Any

import torch
from torch import Tensor

from gnnlab.sparse.bandwidth import avg_bandwidth, bandwidth, bandwidth_proportion, reverse_cuthill_mckee
from gnnlab.sparse.checks import dimension
from gnnlab.sparse.coalesce import coalesce, is_coalesced
from gnnlab.sparse.compare import equal, is_symmetric
from gnnlab.sparse.convert import (
    read_dense,
    read_scipy,
    read_torch,
    read_torch_sparse,
    to_dense,
    to_scipy,
    to_torch_coo,
    to_torch_csc,
    to_torch_csr,
    to_torch_sparse,
)
from gnnlab.sparse.diag import fill_diag, get_diag, remove_diag, set_diag
from gnnlab.sparse.display import to_html, to_text
from gnnlab.sparse.elementwise import add, add_, add_nnz, add_nnz_, mul, mul_, mul_nnz, mul_nnz_
from gnnlab.sparse.matmul import matmul
from gnnlab.sparse.partitions import partition
from gnnlab.sparse.reduce import reduction
from gnnlab.sparse.reshape import sparse_reshape, sparse_resize
from gnnlab.sparse.sampling import random_walk, saint_subgraph, sample, sample_adj
from gnnlab.sparse.select import (
    getitem,
    index_select,
    index_select_nnz,
    masked_select,
    masked_select_nnz,
    narrow,
    narrow_diag,
    permute,
    select,
)
from gnnlab.sparse.spmm import spmm
from gnnlab.sparse.spspmm import spspmm
from gnnlab.sparse.storage import SparseStorage, compact
from gnnlab.sparse.transpose import t, to_symmetric


class SparseTensor:
    """A matrix of M rows and N columns of which only some entries are there.

    Names and meanings are those of `torch_sparse.SparseTensor`. Entries are held in row order and
    may be there more than once (`coalesce` adds them up). What operations derive from them (row
    pointers, the transpose, ...) is computed when first needed and kept: `cache_info()` counts it.

    Args:
        row: [nnz] integers, the row of each entry. Either this or `rowptr` is needed.
        rowptr: [M + 1] integers, where each row starts.
        col: [nnz] integers, the column of each entry.
        value: [nnz, ...] of any dtype, or None for a pattern, whose entries count as ones.
        sparse_sizes: (M, N); None in place of either, or of both, takes the smallest that holds all
            entries. Give them where the last rows or columns may be empty.
        is_sorted: rows are in order already; the columns within a row stay as they are given.
        trust_data: do not check ids, sizes and shapes.
        is_transposed: True says that rows are the targets of edges and columns their sources, as message passing
            wants it (`ToSparseTensor` says so of the adjacency it makes), False the opposite, None that nobody knows.
            Operations keep it where it stays true; `t` turns it around.

    Raises:
        TypeError: something is no tensor, or not of integers where ids are expected.
        ValueError: ids out of range, or shapes, sizes or devices that do not fit each other.

    >>> adj = SparseTensor(row=torch.tensor([1, 0]), col=torch.tensor([0, 2]), sparse_sizes=(2, 3))
    >>> adj
    SparseTensor(row=tensor([0, 1]),
                 col=tensor([2, 0]),
                 size=(2, 3), nnz=2, density=33.33%)
    """

    storage: SparseStorage
    is_transposed: bool | None = None

    def __init__(
        self,
        row: Tensor | None = None,
        rowptr: Tensor | None = None,
        col: Tensor | None = None,
        value: Tensor | None = None,
        sparse_sizes: tuple[int | None, int | None] | None = None,
        is_sorted: bool = False,
        trust_data: bool = False,
        *,
        is_transposed: bool | None = None,
    ) -> None:
        if is_transposed is not None:
            self.is_transposed = is_transposed
        self.storage = SparseStorage(
            row=row,
            rowptr=rowptr,
            col=col,
            value=value,
            sparse_sizes=sparse_sizes,
            is_sorted=is_sorted,
            trust_data=trust_data,
        )

    # From other forms

    @classmethod
    def from_storage(cls, storage: SparseStorage) -> SparseTensor:
        """A tensor that holds `storage` itself."""
        out = cls.__new__(cls)
        out.storage = storage
        return out

    def with_storage(self, storage: SparseStorage, *others: SparseTensor) -> SparseTensor:
        """A tensor that holds `storage` itself, and is transposed if this and `others` are."""
        out = self.from_storage(storage)
        if all(other.is_transposed == self.is_transposed for other in others):
            out.is_transposed = self.is_transposed
        return out

    @classmethod
    def from_edge_index(
        cls,
        edge_index: Tensor,
        edge_attr: Tensor | None = None,
        sparse_sizes: tuple[int | None, int | None] | None = None,
        is_sorted: bool = False,
        trust_data: bool = False,
    ) -> SparseTensor:
        """Edges [2, nnz] as entries, sources as rows, with `edge_attr` [nnz, ...] as values; else as the constructor.

        For message passing take the transpose: rows are then the targets.
        """
        if edge_index.dim() != 2 or edge_index.size(0) != 2:
            raise ValueError(f"edge_index must have shape [2, nnz], found {list(edge_index.shape)}")
        row, col = edge_index
        return cls(row, None, col, edge_attr, sparse_sizes, is_sorted, trust_data)

    @classmethod
    def from_dense(cls, mat: Tensor, has_value: bool = True) -> SparseTensor:
        """`mat` [M, N, ...]: an entry wherever anything is not zero."""
        return cls(**read_dense(mat, has_value))

    @classmethod
    def from_torch_sparse_coo_tensor(cls, mat: Tensor, has_value: bool = True) -> SparseTensor:
        """A `torch.sparse_coo` matrix; TypeError for another layout."""
        return cls(**read_torch(mat, torch.sparse_coo, has_value))

    @classmethod
    def from_torch_sparse_csr_tensor(cls, mat: Tensor, has_value: bool = True) -> SparseTensor:
        """A `torch.sparse_csr` matrix, tensors shared; TypeError for another layout."""
        return cls(**read_torch(mat, torch.sparse_csr, has_value))

    @classmethod
    def from_torch_sparse_csc_tensor(cls, mat: Tensor, has_value: bool = True) -> SparseTensor:
        """A `torch.sparse_csc` matrix, whose column pointers are kept in the cache; TypeError for another layout."""
        return cls(**read_torch(mat, torch.sparse_csc, has_value)).t()

    @classmethod
    def from_scipy(cls, mat: Any, has_value: bool = True) -> SparseTensor:
        """Any SciPy sparse matrix or array of two dimensions; arrays are shared where torch can."""
        return cls(**read_scipy(mat, has_value))

    @classmethod
    def from_torch_sparse(cls, mat: Any) -> SparseTensor:
        """A `torch_sparse.SparseTensor`, with its caches; all tensors are shared. TypeError for anything else."""
        return cls.from_storage(read_torch_sparse(mat))

    @classmethod
    def eye(
        cls,
        M: int,
        N: int | None = None,
        has_value: bool = True,
        dtype: torch.dtype | None = None,
        device: torch.device | str | None = None,
        fill_cache: bool = False,
    ) -> SparseTensor:
        """[M, N] (N: M unless given): ones on the diagonal; `fill_cache` fills every cache."""
        sizes = (M, M if N is None else N)
        index = torch.arange(min(sizes), device=device)
        value = torch.ones(index.numel(), dtype=dtype, device=device) if has_value else None
        out = cls(index, None, index, value, sizes, is_sorted=True, trust_data=True)
        return out.fill_cache_() if fill_cache else out

    # To other forms

    def coo(self) -> tuple[Tensor, Tensor, Tensor | None]:
        """Rows [nnz], columns [nnz], values [nnz, ...] or None, by row."""
        return self.storage.row(), self.storage.col(), self.storage.value()

    def csr(self) -> tuple[Tensor, Tensor, Tensor | None]:
        """Row pointers [M + 1], columns [nnz], values [nnz, ...] or None, by row."""
        return self.storage.rowptr(), self.storage.col(), self.storage.value()

    def csc(self) -> tuple[Tensor, Tensor, Tensor | None]:
        """Column pointers [N + 1], rows [nnz], values [nnz, ...] or None, by column."""
        order, value = self.storage.csr2csc(), self.storage.value()
        row = self.storage.row()[order]
        return self.storage.colptr(), row, None if value is None else value[order]

    def to_dense(self, dtype: torch.dtype | None = None) -> Tensor:
        """[M, N, ...]: values where entries are (added up where several are), else 0."""
        return to_dense(self, dtype)

    def to_torch_sparse_coo_tensor(self, dtype: torch.dtype | None = None) -> Tensor:
        """A `torch.sparse_coo` tensor, marked as coalesced if it is."""
        return to_torch_coo(self, dtype)

    def to_torch_sparse_csr_tensor(self, dtype: torch.dtype | None = None) -> Tensor:
        """A `torch.sparse_csr` tensor; ValueError unless coalesced."""
        return to_torch_csr(self, dtype)

    def to_torch_sparse_csc_tensor(self, dtype: torch.dtype | None = None) -> Tensor:
        """A `torch.sparse_csc` tensor; ValueError unless coalesced."""
        return to_torch_csc(self, dtype)

    def to_scipy(self, layout: str | None = None, dtype: torch.dtype | None = None) -> Any:
        """A SciPy matrix in `layout` 'coo' (default), 'csr' or 'csc'; ValueError unless values have shape [nnz]."""
        return to_scipy(self, layout, dtype)

    def to_torch_sparse(self) -> Any:
        """A `torch_sparse.SparseTensor`, with the caches; all tensors are shared. ImportError without torch_sparse."""
        return to_torch_sparse(self)

    # Sizes

    def sparse_sizes(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.storage.sparse_sizes()

    def sparse_size(self, dim: int) -> int:
        """Rows (0) or columns (1)."""
        return self.storage.sparse_size(dim)

    def sizes(self) -> list[int]:
        """Rows, columns, and the shape of a value."""
        value = self.storage.value()
        return [*self.sparse_sizes(), *(() if value is None else value.shape[1:])]

    def size(self, dim: int) -> int:
        """One of `sizes()`; IndexError where there is none."""
        return self.sizes()[dimension(dim, self.dim())]

    def dim(self) -> int:
        """2, and more where a value has dimensions of its own."""
        value = self.storage.value()
        return 2 if value is None else 1 + value.dim()

    def nnz(self) -> int:
        """The number of entries."""
        return self.storage.nnz()

    def numel(self) -> int:
        """The number of numbers in the values, or of entries."""
        value = self.storage.value()
        return self.nnz() if value is None else value.numel()

    def density(self) -> float:
        """Entries a cell; 0 in a matrix without cells."""
        rows, cols = self.sparse_sizes()
        return self.nnz() / (rows * cols) if rows and cols else 0.0

    def sparsity(self) -> float:
        """1 less `density()`."""
        return 1 - self.density()

    def avg_row_length(self) -> float:
        """Entries a row; 0 without rows."""
        return self.nnz() / self.sparse_size(0) if self.sparse_size(0) else 0.0

    def avg_col_length(self) -> float:
        """Entries a column; 0 without columns."""
        return self.nnz() / self.sparse_size(1) if self.sparse_size(1) else 0.0

    def is_quadratic(self) -> bool:
        """Whether there are as many rows as columns."""
        return self.sparse_size(0) == self.sparse_size(1)

    def sparse_resize(self, sparse_sizes: tuple[int, int]) -> SparseTensor:
        """The same entries in a matrix of other sizes; ValueError where one would lie outside."""
        return sparse_resize(self, sparse_sizes)

    def sparse_reshape(self, num_rows: int, num_cols: int) -> SparseTensor:
        """The matrix, read row by row, with other sizes of as many cells (-1: what is left)."""
        return sparse_reshape(self, num_rows, num_cols)

    # Values

    def has_value(self) -> bool:
        """Whether the entries have values."""
        return self.storage.has_value()

    def set_value(self, value: Tensor | None, layout: str | None = None) -> SparseTensor:
        """The same entries and caches with `value` [nnz, ...] or None, by row, or by column with `layout='csc'`."""
        return self.with_storage(self.storage.set_value(value, layout))

    def set_value_(self, value: Tensor | None, layout: str | None = None) -> SparseTensor:
        """`set_value` in place."""
        self.storage.set_value_(value, layout)
        return self

    def fill_value(self, fill_value: float, dtype: torch.dtype | None = None) -> SparseTensor:
        """The same entries with the value `fill_value` each."""
        return self.set_value(torch.full((self.nnz(),), fill_value, dtype=dtype, device=self.device()))

    def fill_value_(self, fill_value: float, dtype: torch.dtype | None = None) -> SparseTensor:
        """`fill_value` in place."""
        self.storage.set_value_(self.fill_value(fill_value, dtype).storage.value())
        return self

    def sum(self, dim: int | None = None) -> Tensor:
        """All values added up, or those of each column (0) or row (1); see `reduce.reduction`."""
        return reduction(self, dim, "sum")

    def mean(self, dim: int | None = None) -> Tensor:
        """The mean of the entries that are there, of all, or of each column (0) or row (1)."""
        return reduction(self, dim, "mean")

    def min(self, dim: int | None = None) -> Tensor:
        """The least of the entries that are there, of all, or of each column (0) or row (1)."""
        return reduction(self, dim, "min")

    def max(self, dim: int | None = None) -> Tensor:
        """The greatest of the entries that are there, of all, or of each column (0) or row (1)."""
        return reduction(self, dim, "max")

    def add(self, other: SparseTensor | Tensor) -> SparseTensor:
        """Plus another matrix, or a number for each row [M, 1, ...] or column [1, N, ...]."""
        return add(self, other)

    def add_(self, other: Tensor) -> SparseTensor:
        """`add` of a tensor in place: the values themselves are changed."""
        return add_(self, other)

    def add_nnz(self, other: Tensor, layout: str | None = None) -> SparseTensor:
        """Each entry plus a number of its own, [nnz, ...], by row, or by column with `layout='csc'`."""
        return add_nnz(self, other, layout)

    def add_nnz_(self, other: Tensor, layout: str | None = None) -> SparseTensor:
        """`add_nnz` in place: the values themselves are changed."""
        return add_nnz_(self, other, layout)

    def mul(self, other: SparseTensor | Tensor) -> SparseTensor:
        """Times another matrix, entry by entry, or a number for each row [M, 1, ...] or column [1, N, ...]."""
        return mul(self, other)

    def mul_(self, other: Tensor) -> SparseTensor:
        """`mul` by a tensor in place: the values themselves are changed."""
        return mul_(self, other)

    def mul_nnz(self, other: Tensor, layout: str | None = None) -> SparseTensor:
        """Each entry times a number of its own, [nnz, ...], by row, or by column with `layout='csc'`."""
        return mul_nnz(self, other, layout)

    def mul_nnz_(self, other: Tensor, layout: str | None = None) -> SparseTensor:
        """`mul_nnz` in place: the values themselves are changed."""
        return mul_nnz_(self, other, layout)

    # The matrix product

    def matmul(self, other: Any, reduce: str = "sum") -> Any:
        """`self @ other`: a dense tensor for a dense `other`, a matrix for a sparse one; see `spmm` and `spspmm`."""
        return matmul(self, other, reduce)

    def spmm(self, other: Tensor, reduce: str = "sum", *, backend: str | None = None) -> Tensor:
        """[M, ...]: the rows of `other`, [N, ...], that each row's entries name, times their values, reduced."""
        return spmm(self, other, reduce, backend=backend)

    def spspmm(self, other: SparseTensor, reduce: str = "sum") -> SparseTensor:
        """The product of two sparse matrices; `reduce` is 'sum'."""
        return spspmm(self, other, reduce)

    # The diagonal

    def get_diag(self) -> Tensor:
        """[min(M, N), ...]: the values of the main diagonal, 0 where no entry is."""
        return get_diag(self)

    def set_diag(self, values: Tensor | None = None, k: int = 0) -> SparseTensor:
        """Every entry of the `k`-th diagonal there once, with `values` (ones unless given)."""
        return set_diag(self, values, k)

    def fill_diag(self, fill_value: float, k: int = 0) -> SparseTensor:
        """Every entry of the `k`-th diagonal there once, with one value."""
        return fill_diag(self, fill_value, k)

    def remove_diag(self, k: int = 0) -> SparseTensor:
        """No entry of the `k`-th diagonal there."""
        return remove_diag(self, k)

    # Order, duplicates, the transpose

    def t(self) -> SparseTensor:
        """The transpose, with the caches."""
        return t(self)

    def is_coalesced(self) -> bool:
        """Whether each row's columns are in order, and none is there twice."""
        return is_coalesced(self)

    def coalesce(self, reduce: str = "sum") -> SparseTensor:
        """Each entry once, values of equal ones reduced by 'sum', 'mean', 'min' or 'max'."""
        return coalesce(self, reduce)

    def is_symmetric(self) -> bool:
        """Whether this equals its transpose to the last bit."""
        return is_symmetric(self)

    def to_symmetric(self, reduce: str = "sum") -> SparseTensor:
        """The entries of this and of its transpose, values of equal ones reduced."""
        return to_symmetric(self, reduce)

    def permute(self, perm: Tensor) -> SparseTensor:
        """Rows and columns in the order `perm`; ValueError unless square."""
        return permute(self, perm)

    def bandwidth(self) -> int:
        """The largest distance of an entry from the diagonal."""
        return bandwidth(self)

    def avg_bandwidth(self) -> float:
        """The mean distance of an entry from the diagonal."""
        return avg_bandwidth(self)

    def bandwidth_proportion(self, bandwidth: int) -> float:
        """The share of entries at most `bandwidth` from the diagonal."""
        return bandwidth_proportion(self, bandwidth)

    def reverse_cuthill_mckee(self, is_symmetric: bool | None = None) -> tuple[SparseTensor, Tensor]:
        """The matrix in an order with a small bandwidth, and that order; needs SciPy."""
        return reverse_cuthill_mckee(self, is_symmetric)

    def partition(
        self,
        num_parts: int,
        recursive: bool = False,
        weighted: bool = False,
        node_weight: Tensor | None = None,
        balance_edge: bool = False,
    ) -> tuple[SparseTensor, Tensor, Tensor]:
        """Parts with few entries between them: the matrix in their order, where each begins, and the order."""
        return partition(self, num_parts, recursive, weighted, node_weight, balance_edge)

    # Parts

    def __getitem__(self, index: Any) -> SparseTensor:
        """Ints, slices, masks, ids and `...`, one for each dimension; see `select.getitem`."""
        return getitem(self, index)

    def narrow(self, dim: int, start: int, length: int) -> SparseTensor:
        """`length` rows (0), columns (1) or value positions (2 and on) from `start`."""
        return narrow(self, dim, start, length)

    def __narrow_diag__(self, start: tuple[int, int], length: tuple[int, int]) -> SparseTensor:
        """The block of `length` rows and columns from `start`."""
        return narrow_diag(self, start, length)

    def select(self, dim: int, idx: int) -> SparseTensor:
        """One row, column or value position; the dimension stays, with size 1."""
        return select(self, dim, idx)

    def index_select(self, dim: int, idx: Tensor) -> SparseTensor:
        """The rows, columns or value positions `idx`, in that order."""
        return index_select(self, dim, idx)

    def masked_select(self, dim: int, mask: Tensor) -> SparseTensor:
        """The rows, columns or value positions where `mask`."""
        return masked_select(self, dim, mask)

    def index_select_nnz(self, idx: Tensor, layout: str | None = None) -> SparseTensor:
        """The entries `idx`, in a matrix of the same size."""
        return index_select_nnz(self, idx, layout)

    def masked_select_nnz(self, mask: Tensor, layout: str | None = None) -> SparseTensor:
        """The entries where `mask`, in a matrix of the same size."""
        return masked_select_nnz(self, mask, layout)

    # Neighbours: row i holds those of node i

    def random_walk(self, start: Tensor, walk_length: int, *, generator: torch.Generator | None = None) -> Tensor:
        """[n, walk_length + 1]: the nodes of a random walk from each node of `start`."""
        return random_walk(self, start, walk_length, generator=generator)

    def sample(
        self, num_neighbors: int, subset: Tensor | None = None, *, generator: torch.Generator | None = None
    ) -> Tensor:
        """[n, num_neighbors]: neighbours of each row of `subset`, or of all, chosen with replacement."""
        return sample(self, num_neighbors, subset, generator=generator)

    def sample_adj(
        self,
        subset: Tensor,
        num_neighbors: int,
        replace: bool = False,
        *,
        generator: torch.Generator | None = None,
    ) -> tuple[SparseTensor, Tensor]:
        """The rows `subset` with at most `num_neighbors` entries each, and the nodes that its columns stand for."""
        return sample_adj(self, subset, num_neighbors, replace, generator=generator)

    def saint_subgraph(self, node_idx: Tensor) -> tuple[SparseTensor, Tensor]:
        """The entries between the nodes `node_idx`, and which entries of this matrix they are."""
        return saint_subgraph(self, node_idx)

    # What is kept

    def cache_info(self) -> dict[str, int]:
        """The bytes of each part that was derived and is kept, by name."""
        return self.storage.cache_info()

    def fill_cache_(self) -> SparseTensor:
        """Compute and keep all that can be derived."""
        self.storage.fill_cache_()
        return self

    def clear_cache_(self) -> SparseTensor:
        """Let go of all that was derived."""
        self.storage.clear_cache_()
        return self

    # Where and how it is held

    def copy(self) -> SparseTensor:
        """Another object that shares all tensors; caches filled later are its own."""
        return self.with_storage(self.storage.copy())

    def clone(self) -> SparseTensor:
        """A copy with tensors of its own."""
        return self.with_storage(self.storage.clone())

    def contiguous(self) -> SparseTensor:
        """The same with tensors that are each contiguous. gnnlab's own."""
        return self._map(Tensor.contiguous)

    def __copy__(self) -> SparseTensor:
        return self.copy()

    def __deepcopy__(self, memo: dict[int, Any]) -> SparseTensor:
        """A copy with tensors of its own, each no larger than what it shows; as in torch, of leaves of a graph only."""
        return self._map(lambda part: deepcopy(compact(part), memo))

    def _map(self, func: Callable[[Tensor], Tensor]) -> SparseTensor:
        return self.with_storage(self.storage.map(func))

    def device(self) -> torch.device:
        """Where the tensors are."""
        return self.storage.col().device

    def dtype(self) -> torch.dtype:
        """The dtype of the values; without values the one that ones would have."""
        value = self.storage.value()
        return torch.get_default_dtype() if value is None else value.dtype

    def is_cuda(self) -> bool:
        """Whether the tensors are on a CUDA device."""
        return self.storage.col().is_cuda

    def is_floating_point(self) -> bool:
        """Whether the values have, or would have, a floating-point dtype."""
        return self.dtype().is_floating_point

    def to(
        self,
        *args: Any,
        device: torch.device | str | int | None = None,
        dtype: torch.dtype | None = None,
        non_blocking: bool = False,
        copy: bool = False,
    ) -> SparseTensor:
        """Tensors on another device, values in another dtype; `self` if there is nothing to do and `copy` is not set.

        Positional arguments are those of `torch.Tensor.to`: a device, a dtype, both, or a tensor
        whose device and dtype to take.
        """
        for arg in args:
            if isinstance(arg, Tensor):
                device, dtype = arg.device, arg.dtype
            elif isinstance(arg, torch.dtype):
                dtype = arg
            elif isinstance(arg, bool):
                non_blocking = arg
            elif arg is not None:
                device = arg

        value = self.storage.value()
        if value is not None and dtype not in (None, value.dtype):
            value = value.to(dtype)
        moved = self if value is self.storage.value() else self.set_value(value)
        if device is not None and torch.empty(0, device=device).device != self.device():
            return moved._map(lambda part: part.to(device, non_blocking=non_blocking))
        return moved.clone() if copy else moved

    def to_device(self, device: torch.device | str | int, non_blocking: bool = False) -> SparseTensor:
        """Tensors on `device`."""
        return self.to(device=device, non_blocking=non_blocking)

    def device_as(self, tensor: Tensor, non_blocking: bool = False) -> SparseTensor:
        """Tensors where `tensor` is."""
        return self.to(device=tensor.device, non_blocking=non_blocking)

    def cpu(self) -> SparseTensor:
        """Tensors on the CPU."""
        return self.to(device="cpu")

    def cuda(self, device: torch.device | str | int | None = None, non_blocking: bool = False) -> SparseTensor:
        """Tensors on a CUDA device, the current one unless given."""
        return self.to(device="cuda" if device is None else device, non_blocking=non_blocking)

    def pin_memory(self) -> SparseTensor:
        """Tensors in page-locked memory; needs an accelerator."""
        return self._map(Tensor.pin_memory)

    def is_pinned(self) -> bool:
        """Whether all tensors are in page-locked memory."""
        return all(part.is_pinned() for part in self.storage.tensors().values())

    def share_memory_(self) -> SparseTensor:
        """Move all tensors, caches too, to memory that other processes can share."""
        for part in self.storage.tensors().values():
            part.share_memory_()
        return self

    def is_shared(self) -> bool:
        """Whether all tensors are in memory that other processes can share."""
        return all(part.is_shared() for part in self.storage.tensors().values())

    # Gradients

    def requires_grad(self) -> bool:
        """Whether gradients flow to the values."""
        value = self.storage.value()
        return value is not None and value.requires_grad

    def requires_grad_(self, requires_grad: bool = True, dtype: torch.dtype | None = None) -> SparseTensor:
        """Let gradients flow to the values, or not. A matrix without values is first given ones (of `dtype`)."""
        if requires_grad and not self.has_value():
            self.fill_value_(1.0, dtype)
        if (value := self.storage.value()) is not None:
            value.requires_grad_(requires_grad)
        return self

    def detach(self) -> SparseTensor:
        """The same with values that no gradient flows to."""
        value = self.storage.value()
        return self.set_value(None if value is None else value.detach())

    def detach_(self) -> SparseTensor:
        """Cut the values off from what they were computed from, in place."""
        if (value := self.storage.value()) is not None:
            value.detach_()
        return self

    # Python's own

    def __eq__(self, other: object) -> bool:
        """Whether `other` has the same entries, values and sizes; see `compare.equal`. So a matrix cannot be hashed."""
        return isinstance(other, SparseTensor) and equal(self, other)

    def __add__(self, other: Any) -> SparseTensor:
        return add(self, other)

    def __radd__(self, other: Any) -> SparseTensor:
        return add(self, other)

    def __iadd__(self, other: Any) -> SparseTensor:
        return add_(self, other)

    def __mul__(self, other: Any) -> SparseTensor:
        return mul(self, other)

    def __rmul__(self, other: Any) -> SparseTensor:
        return mul(self, other)

    def __imul__(self, other: Any) -> SparseTensor:
        return mul_(self, other)

    def __matmul__(self, other: Any) -> Any:
        return matmul(self, other)

    def __repr__(self) -> str:
        return to_text(self)

    def _repr_html_(self) -> str:
        return to_html(self)

    # Other dtypes of the values. These are last in the class: their names are those of Python's
    # types.

    def type(self, dtype: torch.dtype, non_blocking: bool = False) -> SparseTensor:
        """Values in `dtype`; a matrix without values stays as it is."""
        return self.to(dtype=dtype, non_blocking=non_blocking)

    def type_as(self, tensor: Tensor, non_blocking: bool = False) -> SparseTensor:
        """Values in the dtype of `tensor`."""
        return self.to(dtype=tensor.dtype, non_blocking=non_blocking)

    def bool(self) -> SparseTensor:
        """Values as bool."""
        return self.type(torch.bool)

    def byte(self) -> SparseTensor:
        """Values as uint8."""
        return self.type(torch.uint8)

    def char(self) -> SparseTensor:
        """Values as int8."""
        return self.type(torch.int8)

    def short(self) -> SparseTensor:
        """Values as int16."""
        return self.type(torch.int16)

    def int(self) -> SparseTensor:
        """Values as int32."""
        return self.type(torch.int32)

    def long(self) -> SparseTensor:
        """Values as int64."""
        return self.type(torch.int64)

    def half(self) -> SparseTensor:
        """Values as float16."""
        return self.type(torch.float16)

    def bfloat16(self) -> SparseTensor:
        """Values as bfloat16."""
        return self.type(torch.bfloat16)

    def float(self) -> SparseTensor:
        """Values as float32."""
        return self.type(torch.float32)

    def double(self) -> SparseTensor:
        """Values as float64."""
        return self.type(torch.float64)


# Files written by torch.save load under torch's default, weights_only=True.
torch.serialization.add_safe_globals([SparseTensor, SparseStorage])
