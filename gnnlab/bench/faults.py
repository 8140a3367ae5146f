"""Datasets on disk under attack: processes killed while they write, bytes changed and files cut short."""

import argparse
import contextlib
import multiprocessing
import os
import random
import shutil
import signal
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import torch

from gnnlab.bench import records
from gnnlab.bench.records import Section
from gnnlab.data import Data, InMemoryDataset, OnDiskDataset, verify
from gnnlab.data.database import BACKENDS, base, open_database
from gnnlab.data.testing import equal
from gnnlab.files import FileFormatError
from gnnlab.profile import machine
from gnnlab.profile.show import Shown

#: Graphs that are written, and how many are committed at once, so that there are many moments between.
GRAPHS, PORTION = 600, 40

WRITINGS = ("building", "converting", "appending")


def graph(i: int) -> Data:
    """Graph number `i`: a function of its number alone."""
    generator = torch.Generator().manual_seed(i)
    nodes = 1 + i % 9
    return Data(
        x=torch.randn(nodes, 8, generator=generator),
        edge_index=torch.randint(nodes, (2, 3 * nodes), generator=generator),
        y=torch.tensor([i]),
        name=f"graph {i}",
        weight=float(i) / 7,
    )


class Built(OnDiskDataset):
    """A dataset that its `process` writes."""

    def process(self) -> None:
        self.extend(map(graph, range(GRAPHS)))


class Held(InMemoryDataset):
    """The same graphs in memory."""

    def __init__(self) -> None:
        super().__init__()
        self.data, self.slices = self.collate([graph(i) for i in range(GRAPHS)])


# Kills ----------------------------------------------------------------------------------------------------------------


def _build(root: Path, backend: str) -> None:
    Built(root, backend=backend, log=False)


def _convert(source: Held | None, root: Path, backend: str) -> None:
    assert source is not None
    source.to_on_disk_dataset(str(root), backend=backend, log=False)


def _add(root: Path, backend: str) -> None:
    dataset = OnDiskDataset(root, backend=backend, log=False)
    for i in range(len(dataset), GRAPHS):
        dataset.append(graph(i))
    dataset.close()


def kills(backend: str, writing: str, times: int, seed: int = 0) -> Counter[str]:
    """Kill a process at random moments while it is building, converting or appending; then look at what is left.

    All of it runs in processes forked from a fresh one, since RocksDB can't be written in one forked from a user of it.

    Returns how often the set was "absent", "partial" (appending only: the first graphs, each as it was written) or
    "complete". In each case the work is done again from there, and all graphs must be as they were written.

    Raises:
        AssertionError: if a set was accepted that is wrong.
    """
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as fresh:
        return fresh.submit(_kills, backend, writing, times, seed).result()


def _kills(backend: str, writing: str, times: int, seed: int) -> Counter[str]:
    random_moments = random.Random(f"{backend} {writing} {seed}")
    source = Held() if writing == "converting" else None
    work: Callable[[Path, str], None] = {"building": _build, "appending": _add}.get(writing) or partial(
        _convert, source
    )
    found: Counter[str] = Counter()
    with _workspace() as folder:
        seconds = max(_run(partial(work, folder / f"whole {i}", backend), None) for i in range(2))
        for number in range(times):
            root = folder / f"{number}"
            if writing == "appending":
                _in_child(partial(_begin, root, backend))
            _run(partial(work, root, backend), random_moments.uniform(0, 1.1 * seconds))
            found[_in_child(partial(_state, root, backend, writing, source))] += 1
            _in_child(partial(_finish, work, root, backend, source))
            shutil.rmtree(root)
    return found


def _begin(root: Path, backend: str) -> None:
    dataset = OnDiskDataset(root, backend=backend, log=False)
    dataset.extend(map(graph, range(50)))
    dataset.close()


def _finish(work: Callable[[Path, str], None], root: Path, backend: str, source: Held | None) -> None:
    work(root, backend)
    _check_all(root, backend, source, GRAPHS)


def _in_child(call: Callable[[], Any]) -> Any:
    """What a call returns, or its AssertionError, in a forked process."""
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("fork")) as child:
        return child.submit(call).result()


def _run(work: Callable[[], None], kill_after: float | None) -> float:
    """Run `work` in a forked process that is killed after so many seconds; how long it ran."""
    start = time.perf_counter()
    child = os.fork()
    if child == 0:  # pragma: no cover
        status = 1
        with contextlib.suppress(BaseException):
            base.PORTION_ROWS = PORTION
            work()
            status = 0
        os._exit(status)
    if kill_after is not None:
        time.sleep(kill_after)
        os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    if kill_after is None and status != 0:
        raise RuntimeError("the work failed in a process that nobody killed")
    return time.perf_counter() - start


def _state(root: Path, backend: str, writing: str, source: Held | None) -> str:
    path = root / "processed" / f"{backend}.db"
    if not path.exists():
        return "absent"
    count = len(OnDiskDataset(root, backend=backend, log=False))
    if writing != "appending":
        assert count == GRAPHS, f"{path} was accepted with {count} of {GRAPHS} graphs"
    assert 50 <= count <= GRAPHS or writing != "appending", f"{path} lost graphs that were committed: {count} are left"
    _check_all(root, backend, source, count)
    return "complete" if count == GRAPHS else "partial"


def _check_all(root: Path, backend: str, source: Held | None, count: int) -> None:
    dataset = OnDiskDataset(root, backend=backend, log=False, verify=True)
    assert len(dataset) == count, f"{root} has {len(dataset)} graphs, expected {count}"
    for i, found in enumerate(dataset.multi_get(slice(None))):
        assert equal(found, graph(i) if source is None else source[i]), f"graph {i} of {root} is another one"
    dataset.close()


# Damage ---------------------------------------------------------------------------------------------------------------


def damage(backend: str, times: int, seed: int = 0) -> Counter[str]:
    """Change a random byte, or cut a random file short, many times, each on a fresh copy of a set.

    Returns how often `verify` "detected" it, and how often it was "harmless": not detected, and all reads were as
    before. A read without `verify` may then give other numbers or an error, but must not end the process.

    Raises:
        AssertionError: if `verify` let something pass that changes a read.
    """
    choice = random.Random(f"{backend} {seed}")
    found: Counter[str] = Counter()
    with _workspace() as folder:
        dataset = OnDiskDataset(folder / "whole", backend=backend, log=False)
        dataset.extend(map(graph, range(120)))
        dataset.close()
        original = Path(dataset.processed_paths[0])
        for number in range(times):
            copy = folder / f"{number}.db"
            (shutil.copytree if original.is_dir() else shutil.copyfile)(original, copy)
            what = _spoil(copy, choice)
            found[_verdict(copy, what)] += 1
            _read_anyway(copy)
            (shutil.rmtree if copy.is_dir() else os.remove)(copy)
    return found


def _spoil(path: Path, choice: random.Random) -> str:
    """Change a byte of a file, chosen by size, or cut it short; say what was done."""
    files = [path] if path.is_file() else sorted(file for file in path.rglob("*") if file.stat().st_size > 0)
    (file,) = choice.choices(files, [file.stat().st_size + 200 for file in files])
    at = choice.randrange(file.stat().st_size)
    if choice.random() < 0.2:
        os.truncate(file, at)
        return f"{file.name} cut to {at} bytes"
    with open(file, "r+b") as opened:
        opened.seek(at)
        old = opened.read(1)[0]
        opened.seek(at)
        opened.write(bytes([old ^ choice.randrange(1, 256)]))
    return f"byte {at} of {file.name}"


def _verdict(path: Path, what: str) -> str:
    try:
        verify(path)
    except (FileFormatError, FileNotFoundError):
        return "detected"
    rows = _rows(path)
    expected = [graph(i).to_dict() for i in range(120)]
    assert len(rows) == 120, f"{what}: not detected, and {len(rows)} of 120 graphs are left"
    for i, (row, wanted) in enumerate(zip(rows, expected, strict=True)):
        assert equal(Data(**row), Data(**wanted)), f"{what}: not detected, and graph {i} is another one"
    return "harmless"


def _rows(path: Path) -> list[Any]:
    with open_database(path) as database:
        return database.multi_get(slice(None))


def _read_anyway(path: Path) -> None:
    """Read all rows, and columns of some, without checking first."""
    with contextlib.suppress(FileFormatError, FileNotFoundError, OSError), open_database(path) as database:
        for i in range(min(len(database), 200)):
            with contextlib.suppress(FileFormatError):
                database.get(i)


# All of it ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Campaign(Shown):
    """What came of it: by backend and attack, how often each thing happened."""

    outcomes: dict[tuple[str, str], Counter[str]]

    def table(self) -> list[tuple[str, ...]]:
        rows = [
            (backend, attack, str(found.total()), ", ".join(f"{count} {what}" for what, count in sorted(found.items())))
            for (backend, attack), found in self.outcomes.items()
        ]
        return [("backend", "attack", "times", "found afterwards"), *rows]

    def note(self) -> str:
        return "Nothing was accepted and wrong; whatever was left could be completed, and was equal then."


def campaign(backends: list[str], times_killed: int, times_damaged: int, seed: int = 0) -> Campaign:
    """Every attack on every backend."""
    outcomes: dict[tuple[str, str], Counter[str]] = {}
    for backend in backends:
        for writing in WRITINGS:
            outcomes[backend, f"killed while {writing}"] = kills(backend, writing, times_killed, seed)
        outcomes[backend, "bytes changed, files cut"] = damage(backend, times_damaged, seed)
    return Campaign(outcomes)


@contextlib.contextmanager
def _workspace() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="gnnlab-faults-") as folder:
        yield Path(folder)


def main(argv: list[str]) -> int:
    """Attack and print; see `--help`."""
    parser = argparse.ArgumentParser(prog="python -m gnnlab.bench faults", description=__doc__)
    parser.add_argument("--backends", nargs="+", choices=list(BACKENDS), default=list(BACKENDS), help="some of them")
    parser.add_argument("--kills", type=int, default=200, help="of each writing on each backend (default: 200)")
    parser.add_argument("--damages", type=int, default=500, help="on each backend (default: 500)")
    parser.add_argument("--seed", type=int, default=0, help="of the moments and places (default: 0)")
    parser.add_argument("--out", type=Path, help="folder for record.json and record.md")
    options = parser.parse_args(argv)
    print(machine(), flush=True)
    found = campaign(options.backends, options.kills, options.damages, options.seed)
    print(f"\n{found}")
    if options.out is not None:
        header, *rows = found.table()
        section = Section("Attacks", tuple(dict(zip(header, row, strict=True)) for row in rows), found.note())
        replace(records.start("cpu", None, False), sections={"attacks": section}).save(options.out)
    return 0
