"""Sparse times dense as operators of torch, with gradients: what `torch.compile` and `torch.export` see of it.

`gnnlab::spmm` is linear in the values and in the dense rows for sums and means, and its gradients are products again:
for the dense rows along the transposed matrix, for the values a dot product for each entry (`gnnlab::entry_dots`). The
gradient of minima and maxima goes to the entries that reach them, in equal shares where several do.
"""

from typing import Any

import torch
from torch import Tensor

from gnnlab.sparse.backends import Pattern, backend
from gnnlab.sparse.pointers import inverse

__all__ = ["entry_dots", "spmm"]


@torch.library.custom_op("gnnlab::spmm", mutates_args=())
def spmm(
    rowptr: Tensor,
    col: Tensor,
    value: Tensor | None,
    x: Tensor,
    reduce: str,
    by: str,
    colptr: Tensor | None,
    csc_row: Tensor | None,
    csr2csc: Tensor | None,
) -> Tensor:
    """[num_rows, width]: see `Backend.multiply`; `by` names the backend.

    colptr, csc_row: the transposed matrix, which the gradient for x needs; csr2csc: the order that sorts the entries by
    column, needed with values.
    """
    return backend(by).multiply(Pattern(rowptr, col), value, x.contiguous(), reduce)


@torch.library.custom_op("gnnlab::entry_dots", mutates_args=())
def entry_dots(
    rowptr: Tensor,
    col: Tensor,
    a: Tensor,
    b: Tensor,
    by: str,
    colptr: Tensor | None,
    csc_row: Tensor | None,
    csr2csc: Tensor | None,
) -> Tensor:
    """[nnz]: see `Backend.dots`."""
    return backend(by).dots(Pattern(rowptr, col), a.contiguous(), b.contiguous())


@torch.library.custom_op("gnnlab::spmm_extreme_backward", mutates_args=())
def _extreme_backward(
    rowptr: Tensor,
    col: Tensor,
    value: Tensor | None,
    x: Tensor,
    out: Tensor,
    grad: Tensor,
    by: str,
    colptr: Tensor | None,
    csc_row: Tensor | None,
    csr2csc: Tensor | None,
) -> tuple[Tensor, Tensor]:
    """The gradients for x and for the values, `[0]` for those not asked for."""
    transposed = None if colptr is None or csc_row is None else Pattern(colptr, csc_row)
    order = csr2csc if transposed is not None else None
    found = backend(by).extreme_backward(
        Pattern(rowptr, col), transposed, order, value, x.contiguous(), out, grad.contiguous()
    )
    none = x.new_empty(0)
    return none if found[0] is None else found[0], none if found[1] is None else found[1]


@spmm.register_fake
def _(rowptr, col, value, x, reduce, by, colptr, csc_row, csr2csc):  # type: ignore[no-untyped-def]
    return x.new_empty(rowptr.size(0) - 1, x.size(1))


@entry_dots.register_fake
def _(rowptr, col, a, b, by, colptr, csc_row, csr2csc):  # type: ignore[no-untyped-def]
    return a.new_empty(col.size(0))


@_extreme_backward.register_fake
def _(rowptr, col, value, x, out, grad, by, colptr, csc_row, csr2csc):  # type: ignore[no-untyped-def]
    grad_x = x.new_empty(0) if colptr is None else torch.empty_like(x)
    return grad_x, x.new_empty(0) if value is None else torch.empty_like(value)


def _keep_spmm(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    rowptr, col, value, x, ctx.reduce, ctx.by, colptr, csc_row, csr2csc = inputs
    out = output if ctx.reduce in ("min", "max") else None
    ctx.save_for_backward(rowptr, col, value, x, out, colptr, csc_row, csr2csc)


def _spmm_backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
    rowptr, col, value, x, out, colptr, csc_row, csr2csc = ctx.saved_tensors
    wants_value, wants_x = ctx.needs_input_grad[2], ctx.needs_input_grad[3]
    grad_value = grad_x = None
    if wants_x and colptr is None:
        raise RuntimeError("the gradient of gnnlab::spmm for the dense rows needs colptr and csc_row")
    if out is not None:
        transposed = (colptr, csc_row, csr2csc) if wants_x else (None, None, None)
        grad_x, grad_value = torch.ops.gnnlab.spmm_extreme_backward(
            rowptr, col, value, x, out, grad, ctx.by, *transposed
        )
        return None, None, grad_value if wants_value else None, grad_x if wants_x else None, *[None] * 5
    if ctx.reduce == "mean":
        grad = grad / rowptr.diff().clamp(min=1).unsqueeze(1).to(grad.dtype)
    if wants_value:
        grad_value = torch.ops.gnnlab.entry_dots(rowptr, col, grad, x, ctx.by, colptr, csc_row, csr2csc)
    if wants_x:
        by_column = None if value is None else value.index_select(0, csr2csc)
        order = inverse(csr2csc) if torch.is_grad_enabled() and csr2csc is not None else None
        back = rowptr, col, order
        grad_x = torch.ops.gnnlab.spmm(colptr, csc_row, by_column, grad, "sum", ctx.by, *back)
    return None, None, grad_value, grad_x, *[None] * 5


def _keep_dots(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    rowptr, col, a, b, ctx.by, colptr, csc_row, csr2csc = inputs
    ctx.save_for_backward(rowptr, col, a, b, colptr, csc_row, csr2csc)


def _dots_backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
    rowptr, col, a, b, *transposed = ctx.saved_tensors
    grad_a = grad_b = None
    if ctx.needs_input_grad[2]:
        grad_a = torch.ops.gnnlab.spmm(rowptr, col, grad, b, "sum", ctx.by, *transposed)
    if ctx.needs_input_grad[3]:
        colptr, csc_row, csr2csc = transposed
        if colptr is None or csr2csc is None:
            raise RuntimeError("the gradient of gnnlab::entry_dots for b needs colptr, csc_row and csr2csc")
        back = rowptr, col, inverse(csr2csc)
        grad_b = torch.ops.gnnlab.spmm(colptr, csc_row, grad[csr2csc], a, "sum", ctx.by, *back)
    return None, None, grad_a, grad_b, *[None] * 4


spmm.register_autograd(_spmm_backward, setup_context=_keep_spmm)
entry_dots.register_autograd(_dots_backward, setup_context=_keep_dots)
