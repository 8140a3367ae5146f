"""Epochs, single graphs and collate of an in-memory dataset, beside PyG."""

import argparse
import gc
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from statistics import median
from typing import Any

import torch

import gnnlab
from gnnlab.bench.graphs import in_memory_dataset, peer, random_graphs
from gnnlab.profile import bandwidth, machine, nbytes, peak


def main(argv: list[str]) -> int:
    """Measure and print; see `--help`."""
    parser = argparse.ArgumentParser(prog="python -m gnnlab.bench data_layer", description=__doc__)
    parser.add_argument("--graphs", type=int, default=20_000, help="number of graphs (default: 20000)")
    parser.add_argument("--batch-size", type=int, default=128, help="graphs a batch (default: 128)")
    parser.add_argument("--repeat", type=int, default=5, help="measurements of each side, alternating (default: 5)")
    options = parser.parse_args(argv)
    pyg = peer()
    if pyg is None:
        print("data_layer: skipped: torch_geometric is not installed")
        return 0
    print(machine())
    for line in compare(pyg, options.graphs, options.batch_size, options.repeat):
        print(line, flush=True)
    print(build_peak(options.graphs))
    return 0


def compare(pyg: Any, num_graphs: int, batch_size: int, repeat: int) -> list[str]:
    """The two libraries on the same graphs, taking turns; one line of medians and their ratio for each figure."""
    began = time.perf_counter()
    warm = in_memory_dataset(*gnnlab.data.InMemoryDataset.collate(list(random_graphs(2 * batch_size, seed=1))), gnnlab)
    next(iter(gnnlab.loader.DataLoader(warm, batch_size)))
    lines = [f"first batch of another set, import and compilation included: {time.perf_counter() - began:.2f} s"]

    ours = list(random_graphs(num_graphs))
    theirs = [pyg.data.Data(**graph.to_dict()) for graph in ours]
    block, slices = gnnlab.data.InMemoryDataset.collate(ours)
    sides = [
        Side(gnnlab, ours, lambda: in_memory_dataset(block, slices, gnnlab)),
        Side(pyg, theirs, lambda: in_memory_dataset(pyg.data.Data(**block.to_dict()), slices, pyg)),
    ]
    check_equal(sides[0], sides[1], batch_size)
    gc.collect()
    gc.freeze()  # what is only set up here is not the two libraries' to search for garbage

    figures: dict[str, list[tuple[float, ...]]] = {}
    for turn in range(repeat):
        measured = {side: side.measure(batch_size) for side in (sides if turn % 2 == 0 else sides[::-1])}
        for figure in measured[sides[0]]:
            figures.setdefault(figure, []).append(tuple(measured[side][figure] for side in sides))
    gc.unfreeze()
    for figure, pairs in figures.items():
        mine, other = (median(times) * 1e6 / num_graphs for times in zip(*pairs, strict=True))
        ratio = median(theirs_ / ours_ for ours_, theirs_ in pairs)
        lines.append(f"{figure:<20} gnnlab {mine:7.2f}   PyG {other:7.2f} us/graph   {ratio:5.1f} times as fast")
    moved = 2 * nbytes(block)
    floor = moved / bandwidth()
    best = median(mine for mine, _ in figures["best later epoch"])
    lines.append(
        f"an epoch reads and writes {moved / 2**20:.0f} MiB, which takes {floor * 1e3:.1f} ms at memory bandwidth; "
        f"gnnlab's best epoch takes {best / floor:.1f} times as long"
    )
    return lines


@dataclass(frozen=True, eq=False)
class Side:
    """One library with its graphs, and how to make its dataset of them."""

    library: Any
    graphs: list[Any]
    make: Callable[[], Any]

    def measure(self, batch_size: int) -> dict[str, float]:
        """Seconds for the first epoch, the best of three more, reading every graph cold and warm, and collate."""
        dataset = self.make()
        loader = self.library.loader.DataLoader(dataset, batch_size, shuffle=True)
        first = timed(partial(drain, loader))
        later = min(timed(partial(drain, loader)) for _ in range(3))
        dataset = self.make()
        cold = timed(partial(read_all, dataset))
        warm = timed(partial(read_all, dataset))
        collate = timed(partial(self.library.data.InMemoryDataset.collate, self.graphs))
        return {
            "first epoch": first,
            "best later epoch": later,
            "dataset[i] cold": cold,
            "dataset[i] warm": warm,
            "collate of a list": collate,
        }


def check_equal(ours: Side, theirs: Side, batch_size: int) -> None:
    """Refuse to time two sides that differ."""
    loaders = [side.library.loader.DataLoader(side.make(), batch_size) for side in (ours, theirs)]
    for mine, other in zip(*loaders, strict=True):
        for key, value in other.to_dict().items():
            if not torch.equal(mine[key], value):
                raise AssertionError(f"the batches differ in '{key}'")


def drain(loader: Any) -> None:
    """Go through an epoch."""
    for _ in loader:
        pass


def read_all(dataset: Any) -> None:
    """Read every graph once."""
    for i in range(len(dataset)):
        dataset[i]


def timed(call: Callable[[], Any]) -> float:
    """Seconds that `call` takes."""
    began = time.perf_counter()
    result = call()
    seconds = time.perf_counter() - began
    del result
    return seconds


def build_block(num_graphs: int) -> int:
    """Build a block from a generator; returns its bytes."""
    block, slices = gnnlab.data.InMemoryDataset.collate(random_graphs(num_graphs))
    return nbytes((block, slices))


def build_peak(num_graphs: int) -> str:
    """The peak of building a block from a generator, in a fresh process, against the block's bytes."""
    setup = "import gnnlab.bench.data_layer as bench\nbench.build_block(200)"
    found = peak(f"{__name__}:build_block", num_graphs, setup=setup)
    final = found.result
    above = found.peak or 0
    return (
        f"building {final / 2**20:.0f} MiB from a generator peaks at {above / 2**20:.0f} MiB over the imports: "
        f"{above / final:.2f} times the block"
    )
