"""Reduce runs of neighbouring rows, which pointers mark off."""

from torch import Tensor

from gnnlab.sparse.pointers import ptr_to_index
from gnnlab.utils._checks import check_index
from gnnlab.utils._scatter import scatter


def expand_ptr(ptr: Tensor, size: int) -> Tensor:
    """[ptr[-1] - ptr[0]] int64: the segment of each row between the pointers, of `size` rows that there are.

    Raises ValueError for `ptr` that is no [num_segments + 1] tensor of integers that never fall, IndexError for
    pointers outside of [0, size].
    """
    check_index(ptr, "ptr")
    if ptr.numel() == 0:
        raise ValueError("ptr: expected num_segments + 1 pointers, found none")
    ptr = ptr.long()
    if bool((ptr.diff() < 0).any()):
        raise ValueError("ptr: expected pointers that never fall, found some that do")
    first, last = int(ptr[0]), int(ptr[-1])
    if first < 0 or last > size:
        raise IndexError(f"ptr: expected pointers in [0, {size}], found {first if first < 0 else last}")
    return ptr_to_index(ptr, last - first)


def segment(src: Tensor, ptr: Tensor, reduce: str = "sum", *, dim: int = 0) -> Tensor:
    """Reduce the rows `ptr[i]` to `ptr[i + 1]` of `src`, for each segment i.

    src: [..., n, ...] with n rows along `dim`. ptr: [num_segments + 1] integers in [0, n] that never fall.
    reduce: as in `scatter`.

    Returns [..., num_segments, ...]. An empty segment holds 0, and 1 for "mul". Rows before the first pointer or after
    the last belong to no segment. Raises ValueError or IndexError for wrong pointers.
    PyG: `torch_geometric.utils.segment`.

    >>> import torch
    >>> segment(torch.tensor([1.0, 2.0, 3.0]), torch.tensor([0, 1, 1, 3]))
    tensor([1., 0., 5.])
    """
    index = expand_ptr(ptr, src.size(dim))
    rows = src.narrow(dim, int(ptr[0]), index.numel())
    return scatter(rows, index, dim, ptr.numel() - 1, reduce)


def segment_logsumexp(src: Tensor, ptr: Tensor, dim: int) -> Tensor:
    """The logarithm of the sum of exponentials over each segment, safe against overflow.

    src: [..., n, ...] float with n rows along `dim`. ptr: [num_segments + 1] integers from 0 to n that never fall.

    Returns [..., num_segments, ...]; an empty segment holds 0. PyG: `torch_geometric.utils.segment_logsumexp`.
    """
    index = expand_ptr(ptr, src.size(dim))
    num_segments = ptr.numel() - 1
    peak = scatter(src.detach(), index, dim, num_segments, "max")
    peak = peak.masked_fill(peak.isinf(), 0.0)
    total = scatter((src - peak.index_select(dim, index)).exp(), index, dim, num_segments, "sum")
    empty = (ptr.diff() == 0).view([-1 if d == dim % src.dim() else 1 for d in range(src.dim())])
    return total.masked_fill(empty, 1.0).log() + peak
