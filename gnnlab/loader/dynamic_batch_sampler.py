"""`DynamicBatchSampler`: batches of as many graphs as fit into a budget of nodes or edges."""

import operator
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from itertools import islice
from typing import Any, Literal

import torch
from torch import Tensor

from gnnlab.data.collate import PRESENT
from gnnlab.data.rules import EDGE_COUNT_KEYS, NODE_COUNT_KEYS
from gnnlab.loader.per_graph import per_graph
from gnnlab.sparse import is_sparse

Mode = Literal["node", "edge"]


class DynamicBatchSampler(torch.utils.data.Sampler[list[int]]):
    """Batches of graphs that hold at most `max_num` nodes or edges together
    (`torch_geometric.loader.DynamicBatchSampler`), for `DataLoader(dataset, batch_sampler=...)`.

    Graphs are taken in order; a batch ends where the next graph would exceed the budget. A graph that exceeds it alone
    makes a batch of its own, or is left out with `skip_too_big`.

    The sizes of all graphs are found once, when they are first needed: from the slices of an `InMemoryDataset` at once
    where those tell, else by reading every graph. Neither fills the dataset's cache.

    Args:
        dataset: a dataset or list of graphs.
        max_num: the budget: the largest number of nodes or edges of a batch.
        mode: 'node' or 'edge': what is counted.
        shuffle: take the graphs in a new random order every epoch.
        skip_too_big: leave out the graphs that exceed the budget alone; `too_big` lists them.
        num_steps: end the epoch after this many batches; fewer graphs may give fewer. `None` for all graphs.
        generator: draws the random orders; torch's global one by default.

    Raises:
        ValueError: if an argument is out of range, or later, if a graph doesn't tell its number of nodes or every graph
            is left out.

    >>> from gnnlab.data import Data
    >>> graphs = [Data(num_nodes=n) for n in (3, 1, 4, 1, 5)]
    >>> list(DynamicBatchSampler(graphs, max_num=5))
    [[0, 1], [2, 3], [4]]
    """

    def __init__(
        self,
        dataset: Any,
        max_num: int,
        mode: Mode = "node",
        shuffle: bool = False,
        skip_too_big: bool = False,
        num_steps: int | None = None,
        *,
        generator: torch.Generator | None = None,
    ) -> None:
        if mode not in ("node", "edge"):
            raise ValueError(f"mode must be 'node' or 'edge', found {mode!r}")
        self.dataset = dataset
        self.max_num = _positive("max_num", max_num)
        self.mode = mode
        self.shuffle = shuffle
        self.skip_too_big = skip_too_big
        self.num_steps = None if num_steps is None else _positive("num_steps", num_steps)
        self.generator = generator
        self._sizes: Tensor | None = None

    @property
    def sizes(self) -> Tensor:
        """`[num_graphs]` int64. The number of nodes or edges of every graph."""
        if self._sizes is None or len(self._sizes) != len(self.dataset):
            self._sizes = sizes(self.dataset, self.mode)
        return self._sizes

    @property
    def too_big(self) -> list[int]:
        """The graphs that exceed the budget alone."""
        return (self.sizes > self.max_num).nonzero().view(-1).tolist()

    def __iter__(self) -> Iterator[list[int]]:
        count = len(self.sizes)
        order = torch.randperm(count, generator=self.generator).tolist() if self.shuffle else range(count)
        yield from self._batches(order)

    def _batches(self, order: Iterable[int]) -> Iterator[list[int]]:
        budget, counts = self.max_num, self.sizes.tolist()
        if self.skip_too_big:
            if counts and min(counts) > budget:
                raise ValueError(
                    f"with skip_too_big=True and max_num={budget} every graph is left out: the smallest has "
                    f"{min(counts)} {self.mode}s"
                )
            order = (i for i in order if counts[i] <= budget)
        return islice(fill(order, counts, budget), self.num_steps)

    def __len__(self) -> int:
        """The number of batches of an epoch; with `shuffle`, at most so many.

        Raises:
            TypeError: with `shuffle` and without `num_steps`, since it depends on the order.
        """
        if not self.shuffle:
            return sum(1 for _ in self._batches(range(len(self.sizes))))
        if self.num_steps is None:
            raise TypeError(
                "a DynamicBatchSampler with shuffle=True has no length, since the number of batches depends on the "
                "order: set num_steps"
            )
        return self.num_steps


def fill(order: Iterable[int], counts: list[int], budget: int) -> Iterator[list[int]]:
    """The ids of `order` in batches whose `counts` add up to at most `budget`, or of a single id."""
    batch: list[int] = []
    total = 0
    for i in order:
        if batch and total + counts[i] > budget:
            yield batch
            batch, total = [], 0
        batch.append(i)
        total += counts[i]
    if batch:
        yield batch


def sizes(dataset: Any, mode: Mode) -> Tensor:
    """`[num_graphs]` int64. The number of nodes or edges of every graph.

    Raises:
        ValueError: if a graph doesn't tell it.
    """
    return per_graph(dataset, partial(_size_of, mode=mode), partial(_sizes_in, mode=mode)).long()


def _size_of(graph: Any, at: int, mode: Mode) -> int:
    size = getattr(graph, f"num_{mode}s", None)
    if size is None:
        raise ValueError(
            f"the number of {mode}s of graph {at} (of type {type(graph).__name__}) is not known: set num_{mode}s or x"
        )
    return int(size)


def _sizes_in(block: Any, slices: Mapping[Any, Any], mode: Mode) -> Tensor | None:
    total = None
    for store in block.node_stores if mode == "node" else block.edge_stores:
        sizes = _sizes_in_store(block, store, slices if store._key is None else slices.get(store._key, {}), mode)
        if sizes is None:
            return None
        total = sizes if total is None else total + sizes
    return total


def _sizes_in_store(block: Any, store: Any, slices: Mapping[str, Any], mode: Mode) -> Tensor | None:
    """The same attribute tells the sizes of all graphs as would tell each one's (`num_nodes` and `num_edges` of
    storages), or it can't be said here.
    """
    names = [name for name in store if name in slices]
    declared, usual = f"num_{mode}s", NODE_COUNT_KEYS if mode == "node" else EDGE_COUNT_KEYS
    telling = (
        [name for name in names if name == declared]
        or [name for name in names if name in usual]
        or [name for name in names if mode in name]
    )
    if not telling:
        return None
    first = telling[0]
    if first == declared:
        exact = mode == "node"  # the slices of num_nodes add up its values
    else:
        exact = _is_sized(store[first], block.__cat_dim__(first, store[first], store))
    present = slices.get(PRESENT, {})
    if not exact or any(not _is_whole(store, name, names, present) for name in telling):
        return None
    return slices[first].diff()


def _is_sized(value: Any, dim: Any) -> bool:
    return isinstance(value, Tensor) and not is_sparse(value) and isinstance(dim, int)


def _is_whole(store: Any, name: str, names: list[str], present: Mapping[str, Tensor]) -> bool:
    """Whether every graph has attribute `name` of this storage, or doesn't have its type at all."""
    if name not in present:
        return True
    return store._key is not None and all(
        other in present and not (present[other] & ~present[name]).any() for other in names
    )


def _positive(name: str, value: Any) -> int:
    try:
        number = operator.index(value)
    except TypeError:
        number = 0
    if number < 1:
        raise ValueError(f"{name} must be a positive integer, found {value!r}")
    return number
