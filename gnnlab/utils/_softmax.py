"""Softmax within groups."""

from torch import Tensor

from gnnlab.utils._scatter import scatter
from gnnlab.utils._segment import expand_ptr
from gnnlab.utils.num_nodes import maybe_num_nodes


def softmax(
    src: Tensor,
    index: Tensor | None = None,
    ptr: Tensor | None = None,
    num_nodes: int | None = None,
    dim: int = 0,
) -> Tensor:
    """Softmax over the entries of each group, such as the edges into one node.

    src: [..., n, ...] float with n entries along `dim`.
    index: [n] integers, the group of each entry. ptr: [num_groups + 1] integers, which mark the groups off instead
    where the entries stand group by group; it wins if both are given.
    num_nodes: the number of groups; by default one more than the greatest index.

    Returns the shape and dtype of `src`, summing to 1 in each group; a group of nothing but -inf gives nan, as
    `torch.softmax` does. Raises ValueError if neither `index` nor `ptr` is given or they do not fit `src`, IndexError
    for values out of range. PyG: `torch_geometric.utils.softmax`.

    >>> import torch
    >>> softmax(torch.zeros(3), torch.tensor([0, 1, 1]))
    tensor([1.0000, 0.5000, 0.5000])
    """
    if ptr is not None:
        index = expand_ptr(ptr, src.size(dim))
        num_nodes = ptr.numel() - 1
    elif index is None:
        raise ValueError("index: expected `index` or `ptr`, found neither")
    num_nodes = maybe_num_nodes(index, num_nodes)
    peak = scatter(src.detach(), index, dim, num_nodes, "max")
    index = index.long()
    out = (src - peak.index_select(dim, index)).exp()
    return out / scatter(out, index, dim, num_nodes, "sum").index_select(dim, index)
