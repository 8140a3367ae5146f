"""Sparse times sparse."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from gnnlab.sparse.coalesce import coalesce
from gnnlab.sparse.elementwise import aligned, with_values
from gnnlab.sparse.pointers import gather_ranges, ptr_to_index
from gnnlab.sparse.storage import SparseStorage

if TYPE_CHECKING:
    from gnnlab.sparse.tensor import SparseTensor

Ids = NDArray[np.int64]

#: Below this many products it takes less time to sort them than to load the kernels.
_WORTH_KERNELS = 100_000


def spspmm(src: SparseTensor, other: SparseTensor, reduce: str = "sum") -> SparseTensor:
    """The product of two sparse matrices, each of whose entries is there once, by row, then column.

    Gradients of any order flow to the values of both. Where one of them has no values, its entries count as ones; the
    product of two patterns is a pattern. Values [nnz, ...] are multiplied position by position, and take the dtype that
    holds both; 16-bit sums are formed in float32. An entry whose sum is 0 stays.

    src: [M, K]. other: [K, N]. reduce: 'sum' (or 'add').

    Returns [M, N]. Raises ValueError for sizes or shapes of values that do not fit, or another `reduce`.
    torch_sparse: `spspmm`, `matmul`
    """
    if reduce not in ("sum", "add"):
        raise ValueError(f"reduce must be 'sum' (or 'add') between sparse matrices, found {reduce!r}")
    if src.sparse_size(1) != other.sparse_size(0):
        raise ValueError(
            f"other must have as many rows as src has columns, {src.sparse_size(1)}, found {other.sparse_size(0)}"
        )
    if src.device() != other.device():
        raise ValueError(f"other must be on {src.device()} as src is, found {other.device()}")
    values, dtype = _values(src, other)
    num_products = int(other.storage.rowptr().diff()[src.storage.col()].sum())
    if src.device().type == "cpu" and num_products > _WORTH_KERNELS:
        out = _by_kernel(src, other, values)
    else:
        out = _by_sorting(src, other, values)
    if dtype is not None and (value := out.storage.value()) is not None:
        out.set_value_(value.to(dtype))
    return out


def _values(src: SparseTensor, other: SparseTensor) -> tuple[tuple[Tensor, Tensor] | None, torch.dtype | None]:
    """[nnz, ...] twice, of one shape and a dtype in which they can be added up, and the dtype of the product."""
    src, other = with_values(src, other)
    value, factor = src.storage.value(), other.storage.value()
    if value is None or factor is None:
        return None, None
    dtype = torch.promote_types(value.dtype, factor.dtype)
    wide = {torch.bool: torch.int64, torch.float16: torch.float32, torch.bfloat16: torch.float32}.get(dtype, dtype)
    return aligned(value.to(wide), factor.to(wide)), dtype


def _by_sorting(src: SparseTensor, other: SparseTensor, values: tuple[Tensor, Tensor] | None) -> SparseTensor:
    """Write down every product of two entries that meet, and add up those that go into the same entry."""
    theirs, ptr = gather_ranges(other.storage.rowptr(), src.storage.col())
    ours = ptr_to_index(ptr, theirs.numel())
    products = SparseStorage(
        row=src.storage.row()[ours],
        col=other.storage.col()[theirs],
        value=None if values is None else values[0].index_select(0, ours) * values[1].index_select(0, theirs),
        sparse_sizes=(src.sparse_size(0), other.sparse_size(1)),
        trust_data=True,
    )
    return coalesce(src.with_storage(products, other))


def _by_kernel(src: SparseTensor, other: SparseTensor, values: tuple[Tensor, Tensor] | None) -> SparseTensor:
    from gnnlab.kernels.spspmm import PRODUCT, count_entries, find_entries

    sizes = (src.sparse_size(0), other.sparse_size(1))
    ptr_a, col_a, ptr_b, col_b = map(_array, (*src.csr()[:2], *other.csr()[:2]))
    ptr, spot = np.empty(sizes[0] + 1, np.int64), np.empty(sizes[1], np.int64)
    count_entries(ptr_a, col_a, ptr_b, col_b, ptr, spot)
    col = np.empty(ptr[-1], np.int64)
    find_entries(ptr_a, col_a, ptr_b, col_b, ptr, col, spot)
    value = None
    if values is not None:
        meeting = _Meeting((ptr_a, col_a, ptr_b, col_b, ptr, col), (src.nnz(), other.nnz(), col.size), sizes[1])
        shape = values[0].shape[1:]
        value = _Products.apply(meeting, PRODUCT, *(part.reshape(part.size(0), shape.numel()) for part in values))
        value = value.view(col.size, *shape)
    index = {"rowptr": torch.from_numpy(ptr)}
    return src.with_storage(SparseStorage.trusted("rowptr", index, torch.from_numpy(col), value, sizes), other)


def _array(part: Tensor) -> NDArray[Any]:
    return part.detach().resolve_conj().contiguous().numpy()


class _Meeting(NamedTuple):
    """Which entries of two matrices meet, and in which of the product.

    - arrays: row pointers and columns of both and of the product.
    - sizes: the numbers of entries of both and of the product.
    - num_cols: the columns of the product.
    """

    arrays: tuple[Ids, Ids, Ids, Ids, Ids, Ids]
    sizes: tuple[int, int, int]
    num_cols: int


class _Products(torch.autograd.Function):
    """`gnnlab.kernels.spspmm.add_products` of two values, [nnz, width], to those of the third matrix, `to`.

    It is linear in both, and its gradients are the same sums to the other matrices; so it has gradients of any order.
    """

    @staticmethod
    def forward(ctx: Any, meeting: _Meeting, to: int, *values: Tensor) -> Tensor:
        from gnnlab.kernels.spspmm import add_products

        ctx.meeting, ctx.to = meeting, to
        ctx.save_for_backward(*values)
        out = values[0].new_zeros(meeting.sizes[to], values[0].size(1))
        parts = list(values)
        parts.insert(to, out)
        a, b, c = map(_array, parts)
        add_products(*meeting.arrays, np.empty(meeting.num_cols, np.int64), a, b, c, to)
        return out

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        (grad,) = grads
        values = dict(zip([i for i in range(3) if i != ctx.to], ctx.saved_tensors, strict=True))
        out: list[Tensor | None] = []
        for number, wanted in zip(values, ctx.needs_input_grad[2:], strict=True):
            given = {i: value.conj() for i, value in values.items() if i != number} | {ctx.to: grad}
            out.append(_Products.apply(ctx.meeting, number, *(given[i] for i in sorted(given))) if wanted else None)
        return None, None, *out
