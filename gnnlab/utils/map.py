"""Numbers to their places in a list of numbers."""

import torch
from torch import Tensor

from gnnlab.utils._checks import check_index, check_integer


def map_index(
    src: Tensor,
    index: Tensor,
    max_index: int | Tensor | None = None,
    inclusive: bool = False,
) -> tuple[Tensor, Tensor | None]:
    """The place in `index` of each number in `src`: global node numbers to local ones.

    src: integers of any shape. index: [n] integers, in any order; of a number that is there twice the last place
    counts.
    max_index: an upper bound on both; not needed here.
    inclusive: True promises that every number is in `index`.

    Returns the places, of the dtype of `src`, of those numbers that are in `index`, flat, and the mask of where in
    `src` they stand; with `inclusive` the places in the shape of `src`, and None. Raises ValueError for a dtype that is
    no integer, or if `inclusive` and a number is missing. PyG: `torch_geometric.utils.map.map_index`.

    >>> map_index(torch.tensor([7, 2, 5]), torch.tensor([5, 7]))
    (tensor([1, 0]), tensor([ True, False,  True]))
    """
    check_integer(src, "src")
    check_index(index, "index")
    wanted = src.long()
    if index.numel() == 0:
        found, place = wanted != wanted, wanted
    else:
        numbers, order = index.long().sort(stable=True)
        after = (torch.searchsorted(numbers, wanted, right=True) - 1).clamp_(min=0)
        found, place = numbers[after] == wanted, order[after]
    if not inclusive:
        return place[found].to(src.dtype), found
    if not found.all():
        missing = int(wanted[~found][0])
        raise ValueError(f"src: expected every number to be in index, found {missing}, which is not")
    return place.to(src.dtype), None
