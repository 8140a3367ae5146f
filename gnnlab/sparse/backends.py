"""What multiplies a sparse matrix by dense rows: backends, and which one is taken when.

A backend works on plain tensors. It knows nothing of gradients; `gnnlab.sparse.product` puts its three operations
together. `print(table())` shows what `pick` goes by.
"""

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from typing import NamedTuple

import torch
from torch import Tensor

from gnnlab.sparse.measured import RULE, Table, read


class Pattern(NamedTuple):
    """Where a sparse matrix has entries, in row order.

    - rowptr: [num_rows + 1] int64. Row `i` has the entries `rowptr[i]:rowptr[i + 1]`.
    - col: [nnz] int64.
    """

    rowptr: Tensor
    col: Tensor


class Backend(ABC):
    """Sums, means, minima and maxima of dense rows, named by a sparse matrix of `num_rows` rows and `num_cols` columns.

    Throughout: value: [nnz] of the dtype of x, or None for ones. x: [num_cols, width] contiguous. Sums are formed in
    float32 where x has 16 bits. Every operation is deterministic unless `deterministic` says otherwise.
    """

    #: Whether equal input gives equal bits.
    deterministic = True

    @abstractmethod
    def multiply(self, matrix: Pattern, value: Tensor | None, x: Tensor, reduce: str) -> Tensor:
        """[num_rows, width]: the rows of x that the entries of each row name, times their values, reduced by 'sum',
        'mean', 'min' or 'max'; 0 for a row without entries.
        """

    @abstractmethod
    def dots(self, matrix: Pattern, a: Tensor, b: Tensor) -> Tensor:
        """[nnz] of the dtype of a: for each entry the dot product of its row of a, [num_rows, width], and the row of b,
        [num_cols, width], that it names.
        """

    @abstractmethod
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
        """The gradients of `multiply(..., 'min' or 'max')` for x and for value, shared evenly by entries that tie.

        transposed, order: the matrix in column order and, where it has values, the order that sorts its entries so;
        None where no gradient for x is asked for. The second gradient is None where there are no values.
        """


def _numba() -> Backend:
    from gnnlab.sparse.numba_backend import NumbaBackend

    return NumbaBackend()


def _torch() -> Backend:
    from gnnlab.sparse.torch_backend import TorchBackend

    return TorchBackend()


def _triton() -> Backend:
    if not _HAS_TRITON:
        raise ImportError("backend: 'triton' needs the package triton: pip install 'gnnlab[gpu]'")
    from gnnlab.sparse.triton_backend import TritonBackend

    return TritonBackend()


_HAS_TRITON = find_spec("triton") is not None


_LOADERS: dict[str, Callable[[], Backend]] = {"numba": _numba, "torch": _torch, "triton": _triton}


@cache
def backend(name: str) -> Backend:
    """The backend 'numba' (processors), 'triton' (GPUs) or 'torch' (anywhere).

    Raises:
        ValueError: for another name.
        ImportError: for 'triton' where it is not installed.
    """
    if name not in _LOADERS:
        raise ValueError(f"backend: expected one of {', '.join(map(repr, _LOADERS))}, found {name!r}")
    return _LOADERS[name]()


def table() -> Table:
    """What was measured of the backends, and what `pick` takes by it, to print."""
    return read()


# Read here, once, so that `pick` is a look into a dictionary, which torch.compile sees through.
_TAKEN = {(kind, getattr(torch, dtype), reduce): name for (kind, dtype, reduce), name in read().taken().items()}


def pick(x: Tensor, reduce: str = "sum") -> str:
    """The name of the backend that is taken by default for dense rows like `x` and a reduction.

    It is 'numba' on a CPU, on a GPU 'triton' where it is installed, elsewhere 'torch'; unless in `table()` another one
    took less time for that kind of device, dtype and reduction at every size.

    All of these repeat to the bit but torch's on a GPU, which is not taken while torch's deterministic algorithms are
    on (see `gnnlab.deterministic`).

    Raises:
        RuntimeError: if there is no other; with `warn_only` that is a warning.
    """
    kind = x.device.type
    name = _TAKEN.get((kind, x.dtype, reduce)) or RULE.get(kind, "torch")
    if kind != "cuda":
        return name
    must_repeat = torch.are_deterministic_algorithms_enabled()
    if _HAS_TRITON:
        return "triton" if must_repeat else name
    if must_repeat:
        problem = "spmm: no backend on a GPU repeats to the bit without the package triton: pip install 'gnnlab[gpu]'"
        if not torch.is_deterministic_algorithms_warn_only_enabled():
            raise RuntimeError(problem)
        warnings.warn(problem, stacklevel=2)
    return "torch"
