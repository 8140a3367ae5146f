"""Small parts that several convolutions have in common."""

import torch
from torch import Tensor
from torch.nn import Parameter

from gnnlab.sparse.spmm import gradient_parts
from gnnlab.typing import Adj
from gnnlab.utils import spmm
from gnnlab.utils._spmm import as_sparse_tensor


def bias_of(size: int, wanted: bool) -> Parameter | None:
    """A bias of `size` numbers, or None where none is wanted."""
    return Parameter(torch.empty(size)) if wanted else None


def pair_of(x: Tensor | tuple[Tensor, Tensor | None]) -> tuple[Tensor, Tensor | None]:
    """What sources and targets have: a pair as it is, one tensor for both."""
    return (x, x) if isinstance(x, Tensor) else (x[0], x[1])


def channels_of(in_channels: int | tuple[int, int]) -> tuple[int, int]:
    """The sizes of the input at sources and targets."""
    return (in_channels, in_channels) if isinstance(in_channels, int) else in_channels


def spmm_pattern(adj_t: Adj, x: Tensor, reduce: str) -> Tensor:
    """`spmm` with the places of the entries alone: what a layer without edge weights multiplies by."""
    adj = as_sparse_tensor(adj_t, x.requires_grad)
    if adj.has_value():
        adj.storage.rowptr()  # what is computed of the places is kept in the adjacency that was given
        if x.requires_grad:
            gradient_parts(adj.storage)
        adj = adj.set_value(None)
    return spmm(adj, x, reduce)
