"""What the cache of an in-memory dataset holds and costs as graphs are read, beside PyG's."""

import argparse
import pickle
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from torch.utils.data import get_worker_info

from gnnlab.bench.graphs import peer
from gnnlab.data import InMemoryDataset
from gnnlab.data.cache import Limit
from gnnlab.datasets.python_functions import iter_python_functions
from gnnlab.loader import DataLoader
from gnnlab.profile import machine, peak, report
from gnnlab.profile.show import Shown, duration, size


def functions(num_graphs: int) -> InMemoryDataset:
    """The first graphs of `iter_python_functions` as a dataset."""
    dataset = InMemoryDataset()
    dataset.data, dataset.slices = dataset.collate(iter_python_functions(limit=num_graphs))
    return dataset


def fresh(dataset: InMemoryDataset, cache: Limit = "all", transform: Callable[[Any], Any] | None = None) -> Any:
    """Another dataset around the block of `dataset`, sharing its tensors, with nothing cached yet."""
    out = InMemoryDataset(transform=transform, cache=cache)
    out.data, out.slices = dataset._data, dataset.slices
    return out


def twins(dataset: InMemoryDataset) -> dict[str, Any]:
    """`fresh` of `dataset`, and PyG's dataset around the same block where PyG is installed."""
    found = {"gnnlab": fresh(dataset)}
    if pyg := peer():
        theirs = pyg.data.InMemoryDataset()
        theirs.data, theirs.slices = pyg.data.Data(**dataset._data.to_dict()), dataset.slices
        found["PyG"] = theirs
    return found


def loaders(dataset: InMemoryDataset, batch_size: int = 128) -> dict[str, Any]:
    """Loaders over fresh datasets around one block: ours both ways, and PyG's where it is installed."""
    found: dict[str, Any] = {
        "gnnlab": DataLoader(fresh(dataset), batch_size),
        "gnnlab, vectorised=False": DataLoader(fresh(dataset), batch_size, vectorised=False),
    }
    if pyg := peer():
        found["PyG"] = pyg.loader.DataLoader(twins(dataset)["PyG"], batch_size)
    return found


# Epoch by epoch -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Moment:
    """The cache of a dataset at one moment.

    Attributes:
        read: graphs read so far.
        cached: graphs held.
        held: bytes that the cache takes: Python objects, tensor headers, tensors of its own.
        views: bytes of cached tensors that lie in the block, and cost nothing.
        seconds: a read, on average since the moment before; 0 at the first.
        pickled: bytes of `pickle.dumps(dataset)`; 0 if it wasn't asked for.
    """

    read: int
    cached: int
    held: int
    views: int
    seconds: float
    pickled: int


def watch(dataset: Any, epochs: int, points: int = 1, *, pickles: bool = False) -> Iterator[Moment]:
    """Read all graphs in order `epochs` times, and yield what the cache holds at first and `points` times an epoch.

    The dataset may be PyG's. `pickles` also measures its pickle, which with PyG takes the square of the graphs cached.
    """
    yield _moment(dataset, 0, 0.0, pickles)
    bounds = [len(dataset) * i // points for i in range(points + 1)]
    for epoch in range(epochs):
        for begin, end in pairwise(bounds):
            began = time.perf_counter()
            for i in range(begin, end):
                dataset[i]
            seconds = (time.perf_counter() - began) / (end - begin)
            yield _moment(dataset, epoch * len(dataset) + end, seconds, pickles)


def _moment(dataset: Any, read: int, seconds: float, pickles: bool) -> Moment:
    found = report(dataset)
    cache = found.cache
    size_of_pickle = len(pickle.dumps(dataset)) if pickles else 0
    return Moment(read, found.cached, cache.held + cache.objects + cache.headers, cache.known, seconds, size_of_pickle)


@dataclass(frozen=True)
class Epochs(Shown):
    """What `watch` saw of several datasets, by name."""

    moments: dict[str, Sequence[Moment]]

    def table(self) -> list[tuple[str, ...]]:
        rows = []
        for name, moments in self.moments.items():
            for epoch, at in enumerate(moments):
                pickled = size(at.pickled) if at.pickled else ""
                rows.append(
                    (
                        f"{name}, epoch {epoch}" if epoch else f"{name}, at first",
                        f"{at.cached:,}",
                        size(at.held),
                        size(at.views),
                        pickled,
                        duration(at.seconds) if epoch else "",
                    )
                )
        return [("dataset", "cached", "cache takes", "views", "pickle", "a read"), *rows]

    def plot(self, axes: Any) -> None:
        """Draw the bytes that each cache takes over the graphs read, on matplotlib's `axes`."""
        for name, moments in self.moments.items():
            axes.plot([at.read for at in moments], [at.held / 2**20 for at in moments], "o-", markersize=4, label=name)
        axes.set(xlabel="graphs read", ylabel="MiB that the cache takes", ylim=(0, None))
        axes.grid(alpha=0.3)
        axes.legend(frameon=False)


# The operating system's view ------------------------------------------------------------------------------------------


_alive: list[Any] = []


def read_all(num_graphs: int, cache: Limit) -> None:
    """Build the set and read it once. It stays, with its cache, for as long as the process lives."""
    dataset = fresh(functions(num_graphs), cache)
    for i in range(len(dataset)):
        dataset[i]
    _alive.append(dataset)


def resident(num_graphs: int) -> dict[Limit, int]:
    """By `cache=`, 'all' and `None`, the bytes that a fresh process still has after it has read all graphs."""
    caches: list[Limit] = ["all", None]
    setup = f"from {__name__} import functions\nfunctions(20)[0]"
    with ThreadPoolExecutor(2) as pool:
        found = pool.map(lambda cache: peak(read_all, num_graphs, cache, setup=setup), caches)
        return {cache: each.kept or 0 for cache, each in zip(caches, found, strict=True)}


# Workers --------------------------------------------------------------------------------------------------------------


def note_cache(graph: Any) -> Any:
    """A transform that writes down, in a worker of a loader, its number and how many graphs its cache holds by now."""
    worker: Any = get_worker_info()
    graph.worker, graph.cached = worker.id, worker.dataset.cache_info().graphs
    return graph


@dataclass(frozen=True)
class InWorkers(Shown):
    """Cached graphs by epoch: of each worker after its first and after its last read, and of the main process.

    Attributes:
        workers: by epoch, by worker, the two numbers.
        main: by epoch, the number in the main process.
    """

    workers: list[list[tuple[int, int]]]
    main: list[int]

    def table(self) -> list[tuple[str, ...]]:
        rows = [
            (f"epoch {epoch}", *(f"{first} .. {last}" for first, last in found), str(main))
            for epoch, (found, main) in enumerate(zip(self.workers, self.main, strict=True), start=1)
        ]
        return [("graphs cached", *(f"worker {i}" for i in range(len(self.workers[0]))), "main process"), *rows]


def in_workers(dataset: InMemoryDataset, num_workers: int, epochs: int, **options: Any) -> InWorkers:
    """Load all of `dataset`, which has `note_cache` as its transform, `epochs` times, with a cache in every worker.

    `options` are the loader's.
    """
    loader = DataLoader(dataset, batch_size=10, num_workers=num_workers, **options)
    workers, main = [], []
    for _ in range(epochs):
        counts: dict[int, list[int]] = {}
        for batch in loader:
            for worker, cached in zip(batch.worker.tolist(), batch.cached.tolist(), strict=True):
                counts.setdefault(worker, []).append(cached)
        workers.append([(seen[0], seen[-1]) for _, seen in sorted(counts.items())])
        main.append(dataset.cache_info().graphs)
    return InWorkers(workers, main)


def main(argv: list[str]) -> int:
    """Measure and print; see `--help`."""
    parser = argparse.ArgumentParser(prog="python -m gnnlab.bench cache_growth", description=__doc__)
    parser.add_argument("--graphs", type=int, default=16_000, help="number of graphs (default: 16000)")
    parser.add_argument("--epochs", type=int, default=3, help="how often each is read (default: 3)")
    parser.add_argument("--pickled", type=int, default=200, help="graphs of the set that is pickled (default: 200)")
    options = parser.parse_args(argv)
    print(machine(), "\n")
    for count, pickles in ((options.graphs, False), (options.pickled, True)):
        print(f"{count:,} graphs")
        sides = twins(functions(count))
        print(Epochs({name: list(watch(each, options.epochs, pickles=pickles)) for name, each in sides.items()}), "\n")
    print("resident after one epoch in a fresh process:")
    for cache, found in resident(options.graphs).items():
        print(f"  cache={cache!r:<6} {size(found)}")
    return 0
