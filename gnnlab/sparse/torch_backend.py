"""Sparse times dense by torch's own operations, on any device: the product where torch has one, else gather and scatter
over blocks of rows, so that the messages of one block at a time are in memory.
"""

import torch
from torch import Tensor

from gnnlab.sparse.backends import Backend, Pattern
from gnnlab.sparse.pointers import ptr_to_index
from gnnlab.sparse.torch_compressed import build

#: Messages that may be in memory at once.
_BLOCK = 1 << 24


class TorchBackend(Backend):
    """See `Backend`. On a graphics card the gradients of minima and maxima are added up in any order."""

    deterministic = False

    def multiply(self, matrix: Pattern, value: Tensor | None, x: Tensor, reduce: str) -> Tensor:
        """See `Backend.multiply`."""
        num_rows = matrix.rowptr.numel() - 1
        if reduce in ("sum", "mean") and x.dtype in (torch.float32, torch.float64):
            ones = value if value is not None else x.new_ones(()).expand(matrix.col.numel())
            csr = build(matrix.rowptr, matrix.col, ones.contiguous(), [num_rows, x.size(0)], torch.sparse_csr)
            out = csr @ x
            return out / _counts(matrix, x) if reduce == "mean" else out
        out = x.new_zeros(num_rows, x.size(1), dtype=_wide(x))
        for part, rows in _blocks(matrix, x.size(1)):
            messages = _messages(x, matrix.col[part], None if value is None else value[part])
            index = rows.unsqueeze(1).expand_as(messages)
            kind = {"min": "amin", "max": "amax"}.get(reduce, reduce)
            out.scatter_reduce_(0, index, messages.to(out.dtype), kind, include_self=False)
        return out.to(x.dtype)

    def dots(self, matrix: Pattern, a: Tensor, b: Tensor) -> Tensor:
        """See `Backend.dots`."""
        dots = a.new_empty(matrix.col.numel())
        for part, rows in _blocks(matrix, a.size(1)):
            dots[part] = (a[rows].to(_wide(a)) * b[matrix.col[part]]).sum(1).to(a.dtype)
        return dots

    def extreme_backward(
        self,
        matrix: Pattern,
        transposed: Pattern | None,
        order: Tensor | None,
        value: Tensor | None,
        x: Tensor,
        out: Tensor,
        grad: Tensor,
    ) -> tuple[Tensor | None, Tensor | None]:
        """See `Backend.extreme_backward`."""
        shared = torch.zeros_like(out, dtype=_wide(x))
        for part, rows in _blocks(matrix, x.size(1)):
            messages = _messages(x, matrix.col[part], None if value is None else value[part])
            shared.index_add_(0, rows, (messages == out[rows]).to(shared.dtype))
        shared = grad / shared.clamp(min=1)
        grad_x = torch.zeros_like(x, dtype=_wide(x)) if transposed is not None else None
        grad_value = torch.empty_like(value) if value is not None else None
        for part, rows in _blocks(matrix, x.size(1)):
            col, weight = matrix.col[part], None if value is None else value[part]
            held = (_messages(x, col, weight) == out[rows]) * shared[rows]
            if grad_value is not None:
                grad_value[part] = (held * x[col]).sum(1).to(grad_value.dtype)
            if grad_x is not None:
                grad_x.index_add_(0, col, held if weight is None else held * weight.unsqueeze(1))
        return None if grad_x is None else grad_x.to(x.dtype), grad_value


def _blocks(matrix: Pattern, width: int) -> list[tuple[slice, Tensor]]:
    """Ranges of entries that end where a row ends, and the row of each entry."""
    size = max(_BLOCK // max(width, 1), 1)
    nnz = matrix.col.numel()
    rows = ptr_to_index(matrix.rowptr, nnz)
    targets = torch.arange(size, nnz + size, size, device=rows.device).clamp(max=nnz)
    cuts = matrix.rowptr[torch.searchsorted(matrix.rowptr, targets)].unique().tolist()
    starts = [0, *(cut for cut in cuts if 0 < cut < nnz)]
    return [(slice(a, b), rows[a:b]) for a, b in zip(starts, [*starts[1:], nnz], strict=True) if b > a]


def _messages(x: Tensor, col: Tensor, value: Tensor | None) -> Tensor:
    rows = x.index_select(0, col)
    return rows if value is None else rows * value.unsqueeze(1)


def _counts(matrix: Pattern, x: Tensor) -> Tensor:
    return matrix.rowptr.diff().clamp(min=1).unsqueeze(1).to(x.dtype)


def _wide(x: Tensor) -> torch.dtype:
    return torch.float32 if x.dtype in (torch.float16, torch.bfloat16) else x.dtype
