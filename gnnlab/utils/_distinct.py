"""Draw numbers without repeats, from several ranges at once, and skip those that are taken."""

import torch
from torch import Tensor

from gnnlab.utils._sort import sort_numbers
from gnnlab.utils.functions import cumsum


def random_below(size: Tensor, generator: torch.Generator | None = None) -> Tensor:
    """A random number in [0, size) for each of `size`, [n] int64 of numbers above 0."""
    u = torch.rand(size.shape, dtype=torch.float64, device=size.device, generator=generator)
    return torch.minimum((u * size).long(), size - 1)


def distinct_below(size: Tensor, wanted: Tensor, generator: torch.Generator | None = None) -> tuple[Tensor, Tensor]:
    """`wanted[g]` different random numbers in [0, size[g]) for each range g, in random order.

    size, wanted: [num_ranges] int64, wanted <= size. Returns the range and the number of each draw, range by range,
    [sum of wanted] int64 both. Takes memory of at most twice what is wanted.
    """
    crowded = 2 * wanted > size
    # Where most of a range is wanted: all its numbers in random order, and of those the first.
    whole = torch.where(crowded, size, 0)
    group, number = _shuffled(*_enumerate(whole), generator)
    first = torch.arange(group.numel(), device=group.device) - cumsum(whole)[group] < wanted[group]
    group, number = group[first], number[first]

    # Where little is wanted: draw, drop repeats, and draw again what is missing, at most half of it each time.
    start = cumsum(size)
    wanted = torch.where(crowded, 0, wanted)
    drawn = drawn_of = start.new_empty(0)
    missing = wanted
    while bool(missing.any()):
        of, _ = _enumerate(missing)
        drawn = torch.cat([drawn, start[of] + random_below(size[of], generator)])
        drawn = sort_numbers(drawn).unique_consecutive()
        drawn_of = torch.searchsorted(start, drawn, right=True) - 1
        missing = wanted - torch.bincount(drawn_of, minlength=wanted.numel())
    drawn_of, drawn = _shuffled(drawn_of, drawn - start[drawn_of], generator)

    group, number = torch.cat([group, drawn_of]), torch.cat([number, drawn])
    order = group.argsort(stable=True)
    return group[order], number[order]


def nth_free(taken: Tensor, rank: Tensor) -> Tensor:
    """The `rank`-th of the numbers from 0 on that are not `taken`.

    taken: [m] int64, sorted, no number twice. rank: [n] int64. Returns [n] int64.

    Below `taken[i]` there are `taken[i] - i` free numbers; those taken numbers with at most `rank` of them are skipped.
    """
    free_below = taken - torch.arange(taken.numel(), device=taken.device)
    return rank + torch.searchsorted(free_below, rank, right=True)


def below_diagonal(number: Tensor) -> tuple[Tensor, Tensor]:
    """The pairs (0-based) below the diagonal of a square, numbered row by row: number row (row - 1) / 2 + col.

    number: [n] int64, below 2^52. Returns row and col < row, [n] int64 both.
    """
    row = ((1 + (1 + 8 * number.double()).sqrt()) / 2).long()
    # The root is rounded: it may be one off either way.
    row = row - (row * (row - 1) // 2 > number).long()
    row = row + (row * (row + 1) // 2 <= number).long()
    return row, number - row * (row - 1) // 2


def _shuffled(group: Tensor, number: Tensor, generator: torch.Generator | None) -> tuple[Tensor, Tensor]:
    """The pairs group by group, within one in random order."""
    order = torch.randperm(group.numel(), device=group.device, generator=generator)
    order = order[group[order].argsort(stable=True)]
    return group[order], number[order]


def _enumerate(count: Tensor) -> tuple[Tensor, Tensor]:
    """0, ..., count[g] - 1 for each g: g and the number."""
    group = torch.arange(count.numel(), device=count.device).repeat_interleave(count)
    return group, torch.arange(group.numel(), device=count.device) - cumsum(count)[group]
