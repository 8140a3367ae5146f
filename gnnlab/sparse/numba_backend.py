"""Sparse times dense on the processor: the kernels of `gnnlab.kernels.spmm`, over blocks of rows of equal work."""

from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from gnnlab.kernels import spmm as kernels
from gnnlab.kernels import threads
from gnnlab.kernels.halves import BFLOAT16, FLOAT16, PLAIN
from gnnlab.sparse.backends import Backend, Pattern
from gnnlab.sparse.memory import empty

Array = NDArray[Any]

#: Below this many multiplications threads take longer to meet than to work.
_WORTH_THREADS = 1 << 21

_HALVES = {torch.bfloat16: BFLOAT16, torch.float16: FLOAT16}


class NumbaBackend(Backend):
    """See `Backend`. Takes real numbers of any dtype; whole numbers are reduced as int64."""

    def multiply(self, matrix: Pattern, value: Tensor | None, x: Tensor, reduce: str) -> Tensor:
        """See `Backend.multiply`."""
        if not x.is_floating_point():
            value = None if value is None else value.long()
            return self._multiply(matrix, value, x.long(), reduce).to(x.dtype)
        return self._multiply(matrix, value, x, reduce)

    def _multiply(self, matrix: Pattern, value: Tensor | None, x: Tensor, reduce: str) -> Tensor:
        ptr, col = _arrays(matrix)
        out = empty([len(ptr) - 1, x.size(1)], x.dtype)
        if out.numel() == 0:
            return out
        kernel = kernels.sum_rows if reduce in ("sum", "mean") else kernels.extreme
        flag, half = reduce in ("mean", "max"), _half(x)
        run = partial(kernel, ptr, col, _column(value), _array(x), _array(out))
        _over_rows(ptr, x.size(1), lambda begin, end: run(begin, end, flag, half))
        return out

    def dots(self, matrix: Pattern, a: Tensor, b: Tensor) -> Tensor:
        """See `Backend.dots`."""
        dots = torch.empty(matrix.col.numel(), dtype=_wide(a))
        ptr, col = _arrays(matrix)
        run = partial(kernels.entry_dots, ptr, col, None, _array(a), _array(b), None, dots.numpy())
        _over_rows(ptr, a.size(1), lambda begin, end: run(begin, end, _half(a)))
        return dots.to(a.dtype)

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
        ptr, col = _arrays(matrix)
        width, half = x.size(1), _half(x)
        shared = empty(out.shape, _wide(x))
        seen = _array(x), _array(out)
        run = partial(kernels.ties, ptr, col, _column(value), *seen, _array(grad), shared.numpy())
        _over_rows(ptr, width, lambda begin, end: run(begin, end, half))
        grad_x = grad_value = None
        if transposed is not None:
            grad_x = empty(x.shape, x.dtype)
            colptr, row = _arrays(transposed)
            by_column = None if value is None else value[order]
            run = partial(kernels.extreme_back, colptr, row, _column(by_column), *seen, shared.numpy(), _array(grad_x))
            _over_rows(colptr, width, lambda begin, end: run(begin, end, half))
        if value is not None:
            dots = torch.empty(value.numel(), dtype=_wide(x))
            run = partial(kernels.entry_dots, ptr, col, _column(value), shared.numpy(), *seen, dots.numpy())
            _over_rows(ptr, width, lambda begin, end: run(begin, end, half))
            grad_value = dots.to(value.dtype)
        return grad_x, grad_value


def _over_rows(ptr: Array, width: int, work: Callable[[int, int], None]) -> None:
    """`work` on ranges of rows with about as many entries each, by all threads."""
    num_threads = torch.get_num_threads() if int(ptr[-1]) * width > _WORTH_THREADS else 1
    if num_threads == 1:
        work(0, len(ptr) - 1)
        return
    cuts = np.searchsorted(ptr, np.linspace(0, ptr[-1], num_threads + 1)).tolist()
    cuts[0], cuts[-1] = 0, len(ptr) - 1
    threads.run([partial(work, begin, end) for begin, end in pairwise(cuts)], num_threads)


def _arrays(matrix: Pattern) -> tuple[Array, Array]:
    return matrix.rowptr.contiguous().numpy(), matrix.col.contiguous().numpy()


def _array(x: Tensor) -> Array:
    """`x` as the kernels take it: 16-bit numbers as uint16."""
    x = x.detach().contiguous()
    return x.view(torch.uint16).numpy() if x.dtype in _HALVES else x.numpy()


def _column(value: Tensor | None) -> Array | None:
    return None if value is None else _array(value).reshape(-1, 1)


def _half(x: Tensor) -> int:
    return _HALVES.get(x.dtype, PLAIN)


def _wide(x: Tensor) -> torch.dtype:
    """The dtype that sums of numbers like those of `x` are formed in."""
    return torch.float32 if x.dtype in _HALVES else x.dtype
