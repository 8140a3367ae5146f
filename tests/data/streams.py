"""Streams of graphs whose bytes lie in odd places, to be joined in a fresh process."""

from collections.abc import Iterator

import torch

from gnnlab.data import Data, InMemoryDataset


def in_dicts(count: int) -> Iterator[Data]:
    for i in range(count):
        yield Data(num_nodes=1, meta={"inner": {"table": torch.full((50_000,), float(i))}})


def in_lists(count: int) -> Iterator[Data]:
    for i in range(count):
        yield Data(num_nodes=1, parts=[torch.full((50_000,), float(i)), torch.ones(3)])


def one_of_many(count: int) -> Iterator[Data]:
    """One graph takes half of all memory."""
    for i in range(count):
        yield Data(x=torch.full((20 * count if i == count // 2 else 20, 16), float(i)))


def join(name: str, count: int) -> int:
    """Joins the stream called `name`; returns the bytes of the result."""
    block, _ = InMemoryDataset.collate(globals()[name](count))
    total: list[int] = []
    block.apply_(lambda x: total.append(x.nbytes))
    return sum(total)
