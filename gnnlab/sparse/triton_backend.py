"""Sparse times dense on a GPU: the kernels of `gnnlab.sparse.triton_kernels`, and how they are launched."""

import torch
import triton
import triton.language as tl
from torch import Tensor

from gnnlab.sparse import triton_kernels as kernels
from gnnlab.sparse.backends import Backend, Pattern

#: Bytes of a dense row that one program works on: what one request for memory brings, twice.
_ROW_BYTES = 256

#: Numbers that one program works on at a time.
_TILE = 512

#: Entries whose dot products one program forms.
_DOTS = 32

_HALVES = (torch.float16, torch.bfloat16)


class TritonBackend(Backend):
    """See `Backend`. Takes real numbers of any dtype on a GPU; whole numbers are reduced as int64.

    piece: rows of more entries than that are worked on in pieces of that many, whose results take
    2 * nnz / piece * width numbers of memory.
    """

    def __init__(self, piece: int = 1024) -> None:
        self.piece = piece

    def multiply(self, matrix: Pattern, value: Tensor | None, x: Tensor, reduce: str) -> Tensor:
        """See `Backend.multiply`."""
        return self._reduce(reduce, matrix, value, x, x.dtype)

    def dots(self, matrix: Pattern, a: Tensor, b: Tensor) -> Tensor:
        """See `Backend.dots`."""
        return _dots(matrix, None, a, b, None)

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
        shared = self._reduce("ties", matrix, value, x, _wide(x), out, grad)
        grad_x = grad_value = None
        if transposed is not None:
            by_column = None if value is None else value[order]
            grad_x = self._reduce("back", transposed, by_column, x, x.dtype, out, shared)
        if value is not None:
            grad_value = _dots(matrix, value, shared, x, out)
        return grad_x, grad_value

    def _reduce(
        self,
        kind: str,
        matrix: Pattern,
        value: Tensor | None,
        x: Tensor,
        dtype: torch.dtype,
        best: Tensor | None = None,
        given: Tensor | None = None,
    ) -> Tensor:
        """Reduce rows; see `kernels.reduce_rows` for what `kind`, `best` and `given` are."""
        _check(x)
        ptr, col = matrix.rowptr.contiguous(), matrix.col.contiguous()
        num_rows, nnz, width = ptr.numel() - 1, col.numel(), x.size(1)
        out = x.new_empty(num_rows, width, dtype=dtype)
        if out.numel() == 0:
            return out
        num_pieces = 2 * triton.cdiv(nnz, self.piece) if nnz > self.piece else 0
        partial = x.new_empty(num_pieces, width, dtype=_wide(x))
        value, best, given = (None if part is None else part.contiguous() for part in (value, best, given))
        columns = min(triton.next_power_of_2(width), _ROW_BYTES // x.element_size(), 128)
        entries = min(max(_TILE // columns, 4), 32)
        blocks = triton.cdiv(width, columns)
        sizes = num_rows, nnz, width, num_rows.bit_length()
        fixed = {
            "KIND": kind,
            "START": _start(kind, _wide(x)),
            "SUMS": _triton(_wide(x)),
            "PIECE": self.piece,
            "BLOCK_K": entries,
            "BLOCK_F": columns,
            "num_warps": 1,
        }
        with torch.cuda.device_of(x):
            kernels.reduce_rows[(num_pieces + num_rows, blocks)](
                ptr, col, value, x.contiguous(), best, given, out, partial, num_pieces, *sizes, **fixed
            )
            if num_pieces:
                kernels.join_pieces[(num_pieces, blocks)](ptr, given, out, partial, *sizes, **fixed)
        return out


def _dots(matrix: Pattern, value: Tensor | None, a: Tensor, b: Tensor, best: Tensor | None) -> Tensor:
    """[nnz] of the dtype of b; see `kernels.dot_entries`."""
    _check(b)
    ptr, col = matrix.rowptr.contiguous(), matrix.col.contiguous()
    num_rows, nnz, width = ptr.numel() - 1, col.numel(), b.size(1)
    dots = b.new_empty(nnz)
    if nnz:
        value, best = (None if part is None else part.contiguous() for part in (value, best))
        sizes = num_rows, nnz, width, num_rows.bit_length()
        columns = min(triton.next_power_of_2(max(width, 1)), _ROW_BYTES // b.element_size())
        with torch.cuda.device_of(b):
            kernels.dot_entries[(triton.cdiv(nnz, _DOTS),)](
                ptr,
                col,
                value,
                a.contiguous(),
                b.contiguous(),
                best,
                dots,
                *sizes,
                SUMS=_triton(_wide(b)),
                BLOCK_K=_DOTS,
                BLOCK_F=columns,
                num_warps=4,
            )
    return dots


def _check(x: Tensor) -> None:
    """Refuse what is not on a GPU, unless Triton's interpreter runs (`TRITON_INTERPRET=1` at the import)."""
    if not x.is_cuda and isinstance(kernels.reduce_rows, triton.JITFunction):
        raise ValueError(f"backend: 'triton' multiplies on a GPU, found a tensor on {x.device}")


def _start(kind: str, dtype: torch.dtype) -> float:
    """What a reduction starts from."""
    bounds = (-float("inf"), float("inf")) if dtype.is_floating_point else (-(2**63), 2**63 - 1)
    return {"max": bounds[0], "min": bounds[1]}.get(kind, 0)


def _wide(x: Tensor) -> torch.dtype:
    """The dtype that numbers like those of `x` are reduced in."""
    if not x.is_floating_point():
        return torch.int64
    return torch.float32 if x.dtype in _HALVES else x.dtype


def _triton(dtype: torch.dtype) -> tl.dtype:
    found: tl.dtype = {torch.float32: tl.float32, torch.float64: tl.float64, torch.int64: tl.int64}[dtype]
    return found
