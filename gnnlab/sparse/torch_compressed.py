"""Joining and cutting `torch.sparse_csr` and `torch.sparse_csc` tensors: rows of the one are
columns of the other.
"""

import warnings
from collections.abc import Sequence
from functools import cache
from itertools import accumulate

import torch
from torch import Tensor

from gnnlab.sparse.pointers import cat_shifted, ptr_to_index


@cache
def _spend_beta_warning() -> None:
    """torch says once a process that its compressed layouts are in beta. Whoever uses ours did not
    choose them: hear it here.

    Torch keeps the count itself, so one tiny tensor spends the warning, and none of ours has to
    filter anything later.
    """
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Sparse CSR tensor support is in beta state")
        empty = torch.zeros(0, dtype=torch.int64)
        ptr = torch.zeros(1, dtype=torch.int64)
        torch.sparse_csr_tensor(ptr, empty, torch.zeros(0), (0, 0), check_invariants=False)


def build(
    ptr: Tensor,
    index: Tensor,
    value: Tensor,
    size: torch.Size | list[int],
    layout: torch.layout,
    check: bool = False,
) -> Tensor:
    """A `torch.sparse_csr` or `torch.sparse_csc` tensor, without torch's beta warning.

    Its parts are known to be right, or with `check` looked at by torch.
    """
    _spend_beta_warning()
    return torch.sparse_compressed_tensor(ptr, index, value, size, layout=layout, check_invariants=check)


def parts(src: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Pointers, indices and values (with their gradient): of rows for CSR, of columns for CSC."""
    if src.layout == torch.sparse_csr:
        return src.crow_indices(), src.col_indices(), src.values()
    return src.ccol_indices(), src.row_indices(), src.values()


def cat(tensors: Sequence[Tensor], dims: tuple[int, ...]) -> Tensor:
    """The tensors joined along `dims` (both: on the diagonal). Across the rows, row by row, one
    tensor after the other.
    """
    layout = tensors[0].layout
    major, minor = (0, 1) if layout == torch.sparse_csr else (1, 0)
    size = list(tensors[0].size())
    ptrs, indices, values = zip(*(parts(tensor) for tensor in tensors), strict=True)

    shifts = [0] * len(tensors)
    if minor in dims:
        *shifts, size[minor] = accumulate((t.size(minor) for t in tensors), initial=0)
    index, value = cat_shifted(indices, shifts), torch.cat(values)

    if major in dims:
        size[major] = sum(tensor.size(major) for tensor in tensors)
        *entries, _ = accumulate((index.numel() for index in indices), initial=0)
        ptr = cat_shifted([ptrs[0], *(ptr[1:] for ptr in ptrs[1:])], entries)
    else:
        lines = [ptr_to_index(ptr, index.numel()) for ptr, index in zip(ptrs, indices, strict=True)]
        order = torch.argsort(torch.cat(lines), stable=True)
        ptr, index, value = sum(ptrs[1:], ptrs[0]), index[order], value[order]

    dtype = torch.promote_types(ptr.dtype, index.dtype)
    return build(ptr.to(dtype), index.to(dtype), value, size, layout)


def narrow(src: Tensor, dims: tuple[int, ...], start: tuple[int, ...], length: tuple[int, ...]) -> Tensor:
    """The block of `src` that `length[i]` from `start[i]` along each `dims[i]` spans; entries keep their order.

    Along the compressed dimension nothing but the block is read, and its values are a view.
    """
    ptr, index, value = parts(src)
    major = 0 if src.layout == torch.sparse_csr else 1
    size = list(src.size())
    blocks = {dim: (first, count) for dim, first, count in zip(dims, start, length, strict=True)}
    if major in blocks:
        first, size[major] = blocks[major]
        ptr = ptr[first : first + size[major] + 1]
        low, high = ptr[[0, -1]].tolist()
        ptr, index, value = ptr - low, index[low:high], value[low:high]
    if 1 - major in blocks:
        first, size[1 - major] = blocks[1 - major]
        ptr, index, keep = cut(ptr, index, first, size[1 - major])
        value = value if keep is None else value[keep]
    return build(ptr, index, value, size, src.layout)


def cut(ptr: Tensor, index: Tensor, first: int, count: int) -> tuple[Tensor, Tensor, Tensor | None]:
    """Of every row only the entries with `first <= index < first + count`, counted from `first`.

    Returns the new pointers and indices, and which entries stayed ([nnz] bool; None: all of them).
    """
    keep = (index >= first) & (index < first + count)
    if bool(keep.all()):
        return ptr, index - first, None
    kept = torch.cat([ptr.new_zeros(1), keep.cumsum(0, dtype=ptr.dtype)])
    return kept[ptr], index[keep] - first, keep
