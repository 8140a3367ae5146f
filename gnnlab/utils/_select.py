"""Parts of tensors and of lists."""

from collections.abc import Sequence
from typing import Any, overload

import torch
from torch import Tensor

from gnnlab.utils._checks import check_index
from gnnlab.utils.mask import mask_select


@overload
def select(src: Tensor, index_or_mask: Tensor, dim: int) -> Tensor: ...
@overload
def select(src: Sequence[Any], index_or_mask: Tensor, dim: int) -> list[Any]: ...
def select(src: Tensor | Sequence[Any], index_or_mask: Tensor, dim: int) -> Tensor | list[Any]:
    """The entries of a tensor along `dim`, or of a list, that an index or a mask names.

    src: [..., n, ...] or a list of length n (`dim` 0). index_or_mask: [m] integers in [0, n), or [n] bool.

    Raises ValueError for a mask of another length or a `dim` that a list has not, IndexError for values out of range.
    PyG: `torch_geometric.utils.select`.

    >>> select(["a", "b", "c"], torch.tensor([True, False, True]), dim=0)
    ['a', 'c']
    """
    if isinstance(src, Tensor):
        if index_or_mask.dtype == torch.bool:
            return mask_select(src, dim, index_or_mask)
        check_index(index_or_mask, "index_or_mask", src.size(dim))
        return src.index_select(dim, index_or_mask.long())
    _check_list_dim(dim)
    places = select(torch.arange(len(src)), index_or_mask.cpu(), 0)
    return [src[i] for i in places.tolist()]


@overload
def narrow(src: Tensor, dim: int, start: int, length: int) -> Tensor: ...
@overload
def narrow(src: list[Any], dim: int, start: int, length: int) -> list[Any]: ...
def narrow(src: Tensor | list[Any], dim: int, start: int, length: int) -> Tensor | list[Any]:
    """`length` entries from `start` on: of a tensor along `dim`, as a view, or of a list (`dim` 0).

    Raises ValueError for a `dim` that a list has not. PyG: `torch_geometric.utils.narrow`.
    """
    if isinstance(src, Tensor):
        return src.narrow(dim, start, length)
    _check_list_dim(dim)
    return src[start : start + length]


def _check_list_dim(dim: int) -> None:
    if dim not in (0, -1):
        raise ValueError(f"dim: expected 0, the only dimension of a list, found {dim}")
