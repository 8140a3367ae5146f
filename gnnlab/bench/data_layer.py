"""Epochs, single graphs and collate of an in-memory dataset, beside PyG."""

import argparse
import time
from collections.abc import Callable
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
    ours = list(random_graphs(num_graphs))
    theirs = [pyg.data.Data(**graph.to_dict()) for graph in ours]
    block, slices = gnnlab.data.InMemoryDataset.collate(ours)
    sides = {
        "gnnlab": lambda: in_memory_dataset(block, slices, gnnlab),
        "PyG": lambda: in_memory_dataset(pyg.data.Data(**block.to_dict()), slices, pyg),
    }
    libraries = {"gnnlab": gnnlab, "PyG": pyg}
    check_equal(sides["gnnlab"](), sides["PyG"](), libraries, batch_size)

    began = time.perf_counter()
    warm = in_memory_dataset(*gnnlab.data.InMemoryDataset.collate(list(random_graphs(batch_size, seed=1))), gnnlab)
    next(iter(gnnlab.loader.DataLoader(warm, batch_size)))
    lines = [
        f"import and compilation of the kernels, with one batch of another set: {time.perf_counter() - began:.2f} s"
    ]

    figures: dict[str, dict[str, list[float]]] = {}
    for turn in range(repeat):
        for name in list(sides) if turn % 2 == 0 else list(sides)[::-1]:
            for figure, seconds in one_side(sides[name], libraries[name], batch_size).items():
                figures.setdefault(figure, {}).setdefault(name, []).append(seconds)
            lists = {"gnnlab": ours, "PyG": theirs}
            seconds = timed(lambda n=name: libraries[n].data.InMemoryDataset.collate(lists[n]))  # type: ignore[misc]
            figures.setdefault("collate of a list", {}).setdefault(name, []).append(seconds)
    for figure, times in figures.items():
        ratios = [theirs_ / ours_ for ours_, theirs_ in zip(times["gnnlab"], times["PyG"], strict=True)]
        ours_, theirs_ = median(times["gnnlab"]), median(times["PyG"])
        per_graph = 1e6 / num_graphs
        lines.append(
            f"{figure:<32} gnnlab {ours_ * per_graph:8.2f} us/graph   PyG {theirs_ * per_graph:8.2f} us/graph   "
            f"{median(ratios):6.1f} times as fast"
        )
    moved = 2 * nbytes(block)
    floor = moved / bandwidth()
    best = median(figures["best later epoch"]["gnnlab"])
    lines.append(
        f"an epoch reads and writes {moved / 2**20:.0f} MiB, which takes {floor * 1e3:.1f} ms at the memory's bandwidth; "
        f"gnnlab's best epoch takes {best / floor:.1f} times as long"
    )
    return lines


def one_side(make: Callable[[], Any], library: Any, batch_size: int) -> dict[str, float]:
    """Seconds for the first epoch and the best of three more, and for reading every graph cold and warm."""
    dataset = make()
    loader = library.loader.DataLoader(dataset, batch_size, shuffle=True)
    first = timed(lambda: drain(loader))
    later = min(timed(lambda: drain(loader)) for _ in range(3))
    del loader
    dataset = make()
    cold = timed(lambda: read_all(dataset))
    warm = timed(lambda: read_all(dataset))
    return {"first epoch": first, "best later epoch": later, "dataset[i] cold": cold, "dataset[i] warm": warm}


def check_equal(ours: Any, theirs: Any, libraries: dict[str, Any], batch_size: int) -> None:
    """Refuse to time two sides that differ."""
    loaders = [libraries[n].loader.DataLoader(d, batch_size) for n, d in (("gnnlab", ours), ("PyG", theirs))]
    for mine, other in zip(*loaders, strict=True):
        for key, value in other.to_dict().items():
            if not torch.equal(mine[key], value):
                raise AssertionError(f"the batches differ in '{key}'")


def drain(loader: Any) -> None:
    for _ in loader:
        pass


def read_all(dataset: Any) -> None:
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
    above = (found.peak or 0) - (found.baseline or 0)
    return (
        f"building {final / 2**20:.0f} MiB from a generator peaks at {above / 2**20:.0f} MiB over the imports: "
        f"{above / final:.2f} times the block"
    )
