"""Datasets on disk: beside PyG's, a million graphs from a generator, one map in several processes, and the ladder."""

import argparse
import gc
import importlib.util
import multiprocessing
import random
import shutil
import sqlite3
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import torch

import gnnlab
from gnnlab.bench.data_layer import drain, timed
from gnnlab.bench.graphs import in_memory_dataset, peer, random_graphs
from gnnlab.data import InMemoryDataset, OnDiskDataset
from gnnlab.data.database import BACKENDS
from gnnlab.data.testing import equal
from gnnlab.loader import DataLoader
from gnnlab.profile import footprint, machine, nbytes, peak, pss
from gnnlab.profile.show import Shown, duration, size

MiB = 2**20


def backends() -> list[str]:
    """The backends whose libraries are here."""
    return [name for name in BACKENDS if name != "rocksdb" or importlib.util.find_spec("rocksdict") is not None]


@contextmanager
def workspace() -> Iterator[Path]:
    """A folder that is gone afterwards."""
    folder = Path(tempfile.mkdtemp(prefix="gnnlab-on-disk-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def disk_bytes(path: Path) -> int:
    """Bytes of a file, or of all files in a folder."""
    files = [path] if path.is_file() else [file for file in path.rglob("*") if file.is_file()]
    return sum(file.stat().st_size for file in files)


def read_each(dataset: Any, ids: list[int]) -> None:
    """Read graphs one by one."""
    for i in ids:
        dataset[i]


# Beside PyG -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Beside(Shown):
    """Times in microseconds a graph, of the same graphs: a row for each way of keeping them, PyG's SQLite first.

    `times`: by way and figure ("write", "read one", "read batches"), one number for each round.
    """

    times: dict[str, dict[str, tuple[float, ...]]]
    remark: str

    def median(self, way: str, figure: str) -> float:
        """The median over the rounds, in microseconds a graph."""
        return statistics.median(self.times[way][figure])

    def ratio(self, way: str, figure: str, other: str = "PyG, sqlite") -> float:
        """How many times as long `way` takes as `other`: the median over the rounds."""
        pairs = zip(self.times[way][figure], self.times[other][figure], strict=True)
        return statistics.median(one / two for one, two in pairs)

    def table(self) -> list[tuple[str, ...]]:
        figures = list(next(iter(self.times.values())))
        header = ("us a graph", *(cell for figure in figures for cell in (figure, "/ PyG")))
        rows = []
        for way, found in self.times.items():
            cells = [way]
            for figure in figures:
                known = figure in found
                cells += [f"{self.median(way, figure):.2f}", f"{self.ratio(way, figure):.3f}"] if known else ["", ""]
            rows.append(tuple(cells))
        return [header, *rows]

    def note(self) -> str:
        return self.remark


def beside(pyg: Any, num_graphs: int, batch_size: int, repeat: int) -> Beside:
    """Our backends, our dataset in memory and PyG's SQLite on the same graphs, taking turns, after a check that they
    give the same batches.
    """
    block, slices = InMemoryDataset.collate(random_graphs(num_graphs))
    ours = in_memory_dataset(block, slices, gnnlab)
    theirs = in_memory_dataset(pyg.data.Data(**block.to_dict()), slices, pyg)
    ids = random.Random(0).sample(range(num_graphs), min(num_graphs, 3000))
    times: dict[str, dict[str, list[float]]] = {}

    def note(way: str, figure: str, seconds: float, graphs: int) -> None:
        times.setdefault(way, {}).setdefault(figure, []).append(seconds / graphs * 1e6)

    with workspace() as folder:
        for turn in range(repeat):
            ways: dict[str, tuple[Callable[[], Any], Any]] = {
                "PyG, sqlite": (
                    partial(theirs.to_on_disk_dataset, str(folder / f"pyg {turn}"), log=False),
                    pyg.loader.DataLoader,
                ),
                **{
                    f"gnnlab, {name}": (
                        partial(ours.to_on_disk_dataset, str(folder / f"{name} {turn}"), name, log=False),
                        DataLoader,
                    )
                    for name in backends()
                },
            }
            order = list(ways.items()) if turn % 2 == 0 else list(ways.items())[::-1]
            for way, (write, loader) in order:
                began = time.perf_counter()
                dataset = write()
                note(way, "write", time.perf_counter() - began, num_graphs)
                if turn == 0:
                    _check_equal(dataset, loader, ours, batch_size)
                dataset[0]
                note(way, "read one", min(timed(partial(read_each, dataset, ids)) for _ in range(2)), len(ids))
                epoch = partial(drain, loader(dataset, batch_size, shuffle=True))
                note(way, "read batches", min(timed(epoch) for _ in range(2)), num_graphs)
                if way == "gnnlab, sqlite":
                    note("bare query of SQLite", "read one", _bare_query(dataset, ids), len(ids))
                dataset.close()
            in_memory = partial(drain, DataLoader(ours, batch_size, shuffle=True))
            note("gnnlab, in memory", "read batches", min(timed(in_memory) for _ in range(3)), num_graphs)
    remark = (
        f"{num_graphs:,} graphs of {nbytes(block) / MiB:.0f} MiB, batches of {batch_size}, {repeat} rounds that took "
        "turns. Pages are in the system's cache. The bare query fetches the row as bytes and makes no tensor of it."
    )
    return Beside({way: {key: tuple(each) for key, each in found.items()} for way, found in times.items()}, remark)


def _check_equal(dataset: Any, loader: Any, ours: Any, batch_size: int) -> None:
    pairs = zip(loader(dataset, batch_size), DataLoader(ours, batch_size), strict=True)
    for found, expected in pairs:
        for key, value in expected.to_dict().items():
            if not equal(found[key], value):
                raise AssertionError(f"the batches of {dataset} differ in '{key}'")


def _bare_query(dataset: Any, ids: list[int]) -> float:
    """Seconds to fetch the rows of some graphs of ours from SQLite, and nothing more."""
    path = dataset.db.path
    columns = ", ".join(f"c{at}" for at in range(len(dataset.db.schema.columns)))
    with sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True) as connection:
        query = f"SELECT {columns} FROM graphs WHERE id = ?"
        return min(timed(lambda: [connection.execute(query, (index,)).fetchone() for index in ids]) for _ in range(3))


# A million ------------------------------------------------------------------------------------------------------------


def write_many(root: str, count: int) -> int:
    """Fill a set from a generator; its bytes on disk."""
    dataset = OnDiskDataset(root, backend="mmap", log=False)
    dataset.extend(random_graphs(count))
    dataset.close()
    return disk_bytes(Path(dataset.processed_paths[0]))


def read_some(root: str, count: int) -> tuple[float, int]:
    """Seconds to open a set and read its first graph; and by how many bytes anonymous memory has grown while `count`
    random graphs were read.
    """
    began = time.perf_counter()
    dataset = OnDiskDataset(root, backend="mmap", log=False)
    dataset[0]
    opened = time.perf_counter() - began
    choice = random.Random(0)
    ids = [choice.randrange(len(dataset)) for _ in range(count)]
    read_each(dataset, ids[:100])
    before = pss().anonymous
    read_each(dataset, ids)
    return opened, pss().anonymous - before


#: Before a peak is measured: what is imported and compiled once.
WARM = """
import tempfile
from gnnlab.bench import on_disk
with tempfile.TemporaryDirectory() as folder:
    on_disk.write_many(folder, 10)
"""


def many(count: int, reads: int) -> str:
    """A set of many graphs from a generator: the peak of its building, and what opening and reading it takes."""
    with workspace() as folder:
        root = str(folder / "many")
        built = peak(f"{__name__}:write_many", root, count, setup=WARM)
        if built.failed or built.peak is None:
            raise RuntimeError(f"building {count:,} graphs failed: {built.failed}\n{built.output}")
        used = peak(f"{__name__}:read_some", root, reads, setup=WARM)
        opened, grown = used.result
        return (
            f"{count:,} graphs, {size(built.result)} on disk, from a generator in {duration(built.seconds or 0)}: peak "
            f"{size(built.peak)} over the imports; opened, with its first graph, in {duration(opened)}; {reads:,} "
            f"random graphs read: anonymous memory grows by {size(grown)}"
        )


# Sharing --------------------------------------------------------------------------------------------------------------


def share(gigabytes: float, processes: int, method: str) -> str:
    """Several processes read one mapped set: how much memory its pages take together, and what each has of its own."""
    with workspace() as folder:
        graphs = int(gigabytes * 1e9 / 8192)
        dataset = OnDiskDataset(folder, backend="mmap", log=False)
        dataset.extend(gnnlab.data.Data(x=torch.full((16, 128), float(i)), y=torch.tensor([i])) for i in range(graphs))
        dataset.close()
        total = disk_bytes(Path(dataset.processed_paths[0]))
        context: Any = multiprocessing.get_context(method)
        ready, go = context.Semaphore(0), context.Event()
        workers = [context.Process(target=_reader, args=(dataset, ready, go)) for _ in range(processes)]
        for worker in workers:
            worker.start()
        for _ in workers:
            if not ready.acquire(timeout=600):
                raise RuntimeError("a reader did not come to its end")
        own = max(pss(worker.pid, children=False).anonymous for worker in workers)
        mapped = sum(pss(worker.pid, children=False, match=str(folder)).total for worker in workers)
        idle = context.Process(target=_idle, args=(ready, go))
        idle.start()
        ready.acquire(timeout=600)
        imports = pss(idle.pid, children=False).anonymous
        go.set()
        for worker in (*workers, idle):
            worker.join()
        return (
            f"{processes} processes by {method} read a set of {total / 1e9:.2f} GB: its pages take {mapped / total:.3f}"
            f" times the set together; the most that one has of its own over the imports is {size(own - imports)}"
        )


def _reader(dataset: OnDiskDataset, ready: Any, go: Any) -> None:
    for _ in DataLoader(dataset, batch_size=64):
        pass
    ready.release()
    go.wait(600)


def _idle(ready: Any, go: Any) -> None:
    import numba  # noqa: F401

    ready.release()
    go.wait(600)


# The ladder -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Rung:
    """One way of keeping the graphs: bytes in memory and on disk, and seconds a graph."""

    name: str
    resident: int
    on_disk: int
    write: float | None
    one: float
    batches: float
    workers: float | None


@dataclass(frozen=True)
class Ladder(Shown):
    """A row for each way of keeping the same graphs."""

    rungs: tuple[Rung, ...]
    remark: str

    def table(self) -> list[tuple[str, ...]]:
        header = ("kept as", "in memory", "on disk", "written", "read one", "in batches", "with 2 workers")
        rows = [
            (
                rung.name,
                size(rung.resident) if rung.resident else "-",
                size(rung.on_disk) if rung.on_disk else "-",
                duration(rung.write) if rung.write is not None else "-",
                duration(rung.one),
                duration(rung.batches),
                duration(rung.workers) if rung.workers is not None else "-",
            )
            for rung in self.rungs
        ]
        return [header, *rows]

    def note(self) -> str:
        return self.remark

    def rung(self, name: str) -> Rung:
        """The row of that name."""
        return next(rung for rung in self.rungs if rung.name == name)

    def plot(self, axes: Any) -> None:
        """Draw the time of a graph, read alone and in a batch, for each way."""
        names = [rung.name for rung in self.rungs]
        places = range(len(names))
        axes.barh([at - 0.2 for at in places], [rung.one * 1e6 for rung in self.rungs], 0.38, label="one by one")
        axes.barh([at + 0.2 for at in places], [rung.batches * 1e6 for rung in self.rungs], 0.38, label="in batches")
        axes.set_yticks(list(places), names)
        axes.invert_yaxis()
        axes.set_xscale("log")
        axes.set_xlabel("microseconds a graph")
        axes.legend(frameon=False)


def ladder(source: InMemoryDataset, folder: Path, batch_size: int, reads: int, workers: bool = True) -> Ladder:
    """The graphs of a dataset as a list, collated, and on each backend.

    source: the dataset. folder: where the sets are written. reads: graphs that are read one by one. workers: also time
    an epoch with two worker processes.
    """
    ids = random.Random(0).choices(range(len(source)), k=reads)
    graphs = [source[i].clone() for i in range(len(source))]
    source._data_list = None
    rungs = [_rung("list of Data", graphs, _all_bytes(graphs), 0, None, batch_size, ids, workers)]
    graphs.clear()
    block_bytes = _all_bytes((source._data, source.slices))
    rungs.append(_rung("collated", source, block_bytes, 0, None, batch_size, ids, workers))
    source._data_list = None
    for backend in backends():
        began = time.perf_counter()
        dataset = source.to_on_disk_dataset(str(folder / backend), backend, log=False)
        seconds = time.perf_counter() - began
        on_disk = disk_bytes(Path(dataset.processed_paths[0]))
        rungs.append(_rung(backend, dataset, 0, on_disk, seconds, batch_size, ids, workers))
        dataset.close()
    remark = (
        f"{len(source):,} graphs; times are for one graph, over {reads:,} random ones, and over the better of two "
        f"epochs in batches of {batch_size}. Files are in the system's cache. 'In memory' counts tensors and "
        "the objects around them; from the disk nothing is kept but pages of the system's, which it takes back when it "
        "needs them."
    )
    return Ladder(tuple(rungs), remark)


def _all_bytes(obj: Any) -> int:
    """Bytes of tensors and of the objects around them."""
    found = footprint(obj)
    return found.held + found.objects + found.headers


def _rung(
    name: str,
    dataset: Any,
    resident: int,
    on_disk: int,
    write: float | None,
    batch_size: int,
    ids: list[int],
    workers: bool,
) -> Rung:
    dataset[0]
    gc.collect()  # what went before is not this one's to search for garbage
    one = timed(partial(read_each, dataset, ids)) / len(ids)
    loader = DataLoader(dataset, batch_size, shuffle=True)
    batches = min(timed(partial(drain, loader)) for _ in range(2)) / len(dataset)
    with_workers = None
    if workers:
        loader = DataLoader(dataset, batch_size, shuffle=True, num_workers=2, persistent_workers=True)
        drain(loader)  # the workers start
        with_workers = timed(partial(drain, loader)) / len(dataset)
        del loader
    return Rung(name, resident, on_disk, write, one, batches, with_workers)


def main(argv: list[str]) -> int:
    """Measure and print; see `--help`."""
    parser = argparse.ArgumentParser(prog="python -m gnnlab.bench on_disk", description=__doc__)
    parser.add_argument("--graphs", type=int, default=10_000, help="compared with PyG (default: 10000)")
    parser.add_argument("--batch-size", type=int, default=128, help="graphs a batch (default: 128)")
    parser.add_argument("--repeat", type=int, default=5, help="rounds (default: 5)")
    parser.add_argument("--many", type=int, default=1_000_000, help="graphs from a generator (default: 1000000)")
    parser.add_argument("--reads", type=int, default=100_000, help="of these that are read (default: 100000)")
    parser.add_argument("--gigabytes", type=float, default=1.0, help="of the set that is shared (default: 1)")
    options = parser.parse_args(argv)
    print(machine())
    pyg = peer()
    if pyg is None:
        print("\nbeside PyG: skipped: torch_geometric is not installed")
    else:
        print(f"\n{beside(pyg, options.graphs, options.batch_size, options.repeat)}")
    print(f"\n{many(options.many, options.reads)}")
    for method in ("fork", "spawn"):
        print(f"\n{share(options.gigabytes, 4, method)}")
    return 0
