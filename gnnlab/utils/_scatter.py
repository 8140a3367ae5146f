"""Reduce, order and join the rows of groups that an index names."""

from collections.abc import Sequence

import torch
from torch import Tensor

from gnnlab.sparse.pointers import count_to_ptr
from gnnlab.sparse.reduce import scatter_extreme
from gnnlab.utils._checks import check_index, extremes

REDUCTIONS = ("sum", "add", "mean", "min", "amin", "max", "amax", "mul", "prod", "any")


def scatter(src: Tensor, index: Tensor, dim: int = 0, dim_size: int | None = None, reduce: str = "sum") -> Tensor:
    """Reduce all rows of `src` that `index` sends to the same place.

    src: [..., n, ...], any dtype, with n entries along `dim`.
    index: [n] integers in [0, dim_size), in any order.
    dim_size: the length of the result along `dim`; by default one more than the greatest index.
    reduce: "sum" ("add"), "mean", "min" ("amin"), "max" ("amax"), "mul" ("prod"), or "any", which keeps one of the
    rows.

    Returns [..., dim_size, ...] of the dtype of `src`; the mean of integers or bools is float. A place that nothing is
    sent to holds 0, and 1 for "mul". The gradient of "min" and "max" is shared evenly by the entries that tie.

    Raises ValueError for an `index` that is no [n] tensor of integers or an unknown `reduce`, IndexError for values of
    `index` outside of [0, dim_size). On an accelerator torch's own assertion takes the place of the IndexError where
    `dim_size` is given. PyG: `torch_geometric.utils.scatter`.

    >>> scatter(torch.tensor([1.0, 2.0, 3.0]), torch.tensor([0, 2, 2]))
    tensor([1., 0., 5.])
    """
    check_index(index, "index")
    if not -src.dim() <= dim < src.dim():
        raise ValueError(f"dim: expected a dimension of src {list(src.shape)}, found {dim}")
    if index.numel() != src.size(dim):
        raise ValueError(
            f"index: expected one entry for each of {src.size(dim)} along dim {dim} of src, found {index.numel()}"
        )
    if reduce not in REDUCTIONS:
        raise ValueError(f"reduce: expected one of {REDUCTIONS}, found {reduce!r}")
    if dim_size is None:
        dim_size = extremes(index)[1] + 1 if index.numel() > 0 else 0
    try:
        return _reduce(src, index.long(), dim % src.dim(), dim_size, reduce)
    except (RuntimeError, IndexError):
        check_index(index, "index", dim_size)
        raise


def _reduce(src: Tensor, index: Tensor, dim: int, dim_size: int, reduce: str) -> Tensor:
    shape = [*src.shape[:dim], dim_size, *src.shape[dim + 1 :]]
    aligned = [1] * dim + [-1] + [1] * (src.dim() - dim - 1)
    wide = index.view(aligned).expand_as(src)
    if reduce in ("sum", "add"):
        return src.new_zeros(shape).scatter_add_(dim, wide, src)
    if reduce == "mean":
        exact = src if src.is_floating_point() or src.is_complex() else src.long()
        total = _reduce(exact, index, dim, dim_size, "sum")
        count = index.new_zeros(dim_size).scatter_add_(0, index, torch.ones_like(index))
        return total / count.clamp_(min=1).view(aligned)
    if reduce in ("mul", "prod"):
        return src.new_ones(shape).scatter_reduce_(dim, wide, src, "prod")
    if reduce == "any":
        return src.new_zeros(shape).scatter_(dim, wide, src)
    return scatter_extreme(src, index, dim, dim_size, "amin" if reduce in ("min", "amin") else "amax")


def group_argsort(
    src: Tensor,
    index: Tensor,
    dim: int = 0,
    num_groups: int | None = None,
    descending: bool = False,
    return_consecutive: bool = False,
    stable: bool = False,
) -> Tensor:
    """The place that each entry takes when its group is sorted.

    src: [n] numbers. index: [n] integers, the group of each entry, in any order.
    dim: 0, the only dimension there is.
    num_groups: an upper bound on the groups; by default one more than the greatest index.
    return_consecutive: count on from group to group instead of from 0 in each.
    stable: accepted for PyG; ties always keep the order given.

    Returns [n] int64. Raises ValueError for other shapes. PyG: `torch_geometric.utils.group_argsort`.

    >>> group_argsort(torch.tensor([0.4, 0.1, 0.7, 0.2]), torch.tensor([0, 0, 1, 1]))
    tensor([1, 0, 1, 0])
    """
    check_index(index, "index", num_groups)
    if src.shape != index.shape or dim not in (0, -1):
        raise ValueError(
            f"src: expected one entry for each of {index.numel()} in index, along dim 0; "
            f"found shape {list(src.shape)}, dim {dim}"
        )
    group = index.long()
    order = src.argsort(stable=True, descending=descending)
    order = order[group[order].argsort(stable=True)]
    place = torch.empty_like(order)
    place[order] = torch.arange(order.numel(), device=order.device)
    return place if return_consecutive else place - count_to_ptr(torch.bincount(group))[group]


def rank_in_group(index: Tensor) -> Tensor:
    """[n] int64: how many earlier entries have the same value; `index` is [n] int64 of values from 0, in any order."""
    rank = torch.arange(index.numel(), device=index.device)
    start = count_to_ptr(torch.bincount(index))
    if bool((index[1:] >= index[:-1]).all()):
        return rank - start[index]
    order = index.argsort(stable=True)
    return torch.empty_like(index).index_copy_(0, order, rank - start[index[order]])


def group_cat(
    tensors: Sequence[Tensor],
    indices: Sequence[Tensor],
    dim: int = 0,
    return_index: bool = False,
) -> Tensor | tuple[Tensor, Tensor]:
    """Join tensors so that the rows of a group, from whichever tensor, stand together.

    tensors: [..., n_i, ...] each, alike but for `dim`. indices: [n_i] integers each, the group of each entry.

    Returns the entries in the order of their groups, within one first those of the first tensor, and with
    `return_index` the sorted groups, [sum of n_i]. Raises ValueError if an index does not fit its tensor.
    PyG: `torch_geometric.utils.group_cat`.
    """
    if len(tensors) == 0 or len(tensors) != len(indices):
        raise ValueError(
            f"indices: expected one for each of the tensors, at least one; "
            f"found {len(indices)} for {len(tensors)} tensors"
        )
    for i, (tensor, index) in enumerate(zip(tensors, indices, strict=True)):
        check_index(index, f"indices[{i}]")
        if tensor.size(dim) != index.numel():
            raise ValueError(
                f"indices[{i}]: expected {tensor.size(dim)} entries, as tensors[{i}] along dim {dim}, "
                f"found {index.numel()}"
            )
    index, order = torch.cat(list(indices)).sort(stable=True)
    out = torch.cat(list(tensors), dim).index_select(dim, order)
    return (out, index) if return_index else out
