"""Masks and the indices they stand for."""

import torch
from torch import Tensor

from gnnlab.utils._checks import check_integer, check_range
from gnnlab.utils.num_nodes import maybe_num_nodes


def index_to_mask(index: Tensor, size: int | None = None) -> Tensor:
    """A mask that is True at each of `index`.

    index: integers in [0, size), of any shape. size: by default one more than the greatest.

    Returns [size] bool. Raises ValueError for a dtype that is no integer, IndexError for values out of range.
    PyG: `torch_geometric.utils.index_to_mask`.

    >>> index_to_mask(torch.tensor([1, 3]))
    tensor([False,  True, False,  True])
    """
    check_integer(index, "index")
    size = maybe_num_nodes(index, size)
    check_range(index, "index", size)
    mask = torch.zeros(size, dtype=torch.bool, device=index.device)
    mask[index.reshape(-1).long()] = True
    return mask


def mask_to_index(mask: Tensor) -> Tensor:
    """[n] int64: where the [size] `mask` is True (or not zero). Raises ValueError for other shapes.

    PyG: `torch_geometric.utils.mask_to_index`.
    """
    if mask.dim() != 1:
        raise ValueError(f"mask: expected one dimension, found shape {list(mask.shape)}")
    return mask.nonzero().view(-1)


def mask_select(src: Tensor, dim: int, mask: Tensor) -> Tensor:
    """The entries of `src` along `dim` where `mask` is True.

    src: [..., n, ...]. mask: [n] bool. Raises ValueError for another shape or dtype of `mask`.
    PyG: `torch_geometric.utils.mask_select`.
    """
    if mask.dtype != torch.bool or mask.shape != src.shape[dim : dim + 1 or None]:
        raise ValueError(
            f"mask: expected [{src.size(dim)}] bool, as src along dim {dim}, found {list(mask.shape)} {mask.dtype}"
        )
    return src.index_select(dim, mask_to_index(mask))
