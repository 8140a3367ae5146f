"""Peak memory of collating a list of graphs and of streaming them, beside the estimate."""

import argparse
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from torch.nn.functional import one_hot

from gnnlab.data import Data, InMemoryDataset
from gnnlab.datasets.python_functions import NODE_TYPES, iter_python_functions
from gnnlab.profile import CollateEstimate, Peak, estimate_collate, machine, nbytes, peak
from gnnlab.profile.show import Shown, duration, size

#: Run in each fresh process before it is measured. With one thread no stacks of further ones are counted.
SETUP = """
import torch
torch.set_num_threads(1)
import gnnlab.kernels.gather  # what it imports can't be had within a limit
from gnnlab.bench.collate_memory import stream
stream(20)
"""

# What is measured -----------------------------------------------------------------------------------------------------


def one_hot_functions(num_graphs: int) -> Iterator[Data]:
    """The graphs of `iter_python_functions`, one by one, their node types spread out for a first layer.

    `x: [num_nodes, len(NODE_TYPES)] float32`, a one in the column of the node's type.
    """
    for graph in iter_python_functions(limit=num_graphs):
        graph.x = one_hot(graph.x[:, 0], len(NODE_TYPES)).float()
        yield graph


def list_then_collate(num_graphs: int) -> int:
    """Hold all graphs, then join them; returns the bytes of the block and its slices."""
    graphs = list(one_hot_functions(num_graphs))
    block = InMemoryDataset.collate(graphs)
    return nbytes(block)


def stream(num_graphs: int) -> int:
    """Join the graphs as they come; returns the bytes of the block and its slices."""
    block = InMemoryDataset.collate(one_hot_functions(num_graphs))
    return nbytes(block)


WAYS: dict[str, Callable[[int], int]] = {"list, then collate": list_then_collate, "stream": stream}
"""The two ways to the same block."""


# Measuring ------------------------------------------------------------------------------------------------------------


def peak_of(way: str, num_graphs: int, limit: int | None = None) -> Peak:
    """The peak of one of `WAYS` in a fresh process, which may be allowed no more than `limit` bytes."""
    return peak(WAYS[way], num_graphs, setup=SETUP, limit=limit)


@dataclass(frozen=True)
class Growth(Shown):
    """Peaks over growing numbers of graphs, and what was predicted: a row for each number, by way a column.

    Attributes:
        sizes: numbers of graphs.
        estimates: what was predicted for each of them.
        peaks: by way, the measurement of each.
    """

    sizes: tuple[int, ...]
    estimates: tuple[CollateEstimate, ...]
    peaks: dict[str, tuple[Peak, ...]]

    def predicted(self, way: str) -> list[int]:
        """Predicted bytes at the peak of `way`, by size."""
        return [each.peak if way == "stream" else each.peak_from_list for each in self.estimates]

    def measured(self, way: str) -> list[int]:
        """Measured bytes at the peak of `way`, by size.

        Raises:
            RuntimeError: if a process was killed.
        """
        found = [each.peak for each in self.peaks[way] if each.peak is not None]
        if len(found) < len(self.sizes):
            raise RuntimeError(f"{way}: a process was killed before its peak could be read")
        return found

    @property
    def between(self) -> int:
        """A cap for the largest size that one way keeps and the other breaks: the middle of the two measured peaks."""
        return sum(self.measured(way)[-1] for way in self.peaks) // 2

    def table(self) -> list[tuple[str, ...]]:
        rows = [
            (way, f"{count:,}", size(result), size(predicted), size(measured), f"{measured / predicted:.2f}")
            for way, peaks in self.peaks.items()
            for count, result, predicted, measured in zip(
                self.sizes, (each.result for each in peaks), self.predicted(way), self.measured(way), strict=True
            )
        ]
        return [("way", "graphs", "block", "predicted peak", "measured peak", "measured / predicted"), *rows]

    def plot(self, axes: Any) -> None:
        """Draw measured points and the predicted lines, with their error, on matplotlib's `axes`."""
        for way, colour in zip(self.peaks, ("tab:red", "tab:blue"), strict=True):
            predicted = [nbytes / 2**20 for nbytes in self.predicted(way)]
            times = 1 if way == "stream" else 2  # the block's error, once or in the list as well
            errors = [times * each.error / 2**20 for each in self.estimates]
            axes.plot(self.sizes, predicted, "--", color=colour, label=f"{way}: predicted")
            low, high = ([p + sign * e for p, e in zip(predicted, errors, strict=True)] for sign in (-1, 1))
            axes.fill_between(self.sizes, low, high, color=colour, alpha=0.15, linewidth=0)
            measured = [nbytes / 2**20 for nbytes in self.measured(way)]
            axes.plot(self.sizes, measured, "o", color=colour, label=f"{way}: measured")
        block = [each.total / 2**20 for each in self.estimates]
        axes.plot(self.sizes, block, ":", color="gray", label="the block itself: predicted")
        axes.set(xlabel="graphs", ylabel="MiB over the baseline", ylim=(0, None))
        axes.grid(alpha=0.3)
        axes.legend(frameon=False)


def growth(sizes: Sequence[int], sample: int = 500) -> Growth:
    """Predict from the first `sample` graphs, then measure each size both ways, in a fresh process each.

    Two processes run at a time, which changes how long they take and not how much memory.
    """
    graphs = list(one_hot_functions(sample))
    estimates = tuple(estimate_collate(graphs, count) for count in sizes)
    del graphs
    with ThreadPoolExecutor(2) as pool:
        pending = {way: [pool.submit(peak_of, way, count) for count in sizes] for way in WAYS}
        peaks = {way: tuple(each.result() for each in found) for way, found in pending.items()}
    return Growth(tuple(sizes), estimates, peaks)


@dataclass(frozen=True)
class Capped(Shown):
    """Both ways under the same cap.

    Attributes:
        limit: bytes that each process was allowed to ask for.
        peaks: by way, what came of it.
    """

    limit: int
    peaks: dict[str, Peak]

    def table(self) -> list[tuple[str, ...]]:
        rows = [
            (way, "failed" if each.failed else "succeeded", size(each.peak or 0), duration(each.seconds or 0))
            for way, each in self.peaks.items()
        ]
        return [(f"allowed {size(self.limit)}", "it", "peak", "after"), *rows]

    def note(self) -> str:
        return "\n".join(f"{way}: {each.failed}" for way, each in self.peaks.items() if each.failed)


def capped(num_graphs: int, limit: int) -> Capped:
    """Try both ways in fresh processes that may not ask for more than `limit` bytes."""
    with ThreadPoolExecutor(2) as pool:
        return Capped(limit, dict(zip(WAYS, pool.map(lambda way: peak_of(way, num_graphs, limit), WAYS), strict=True)))


def main(argv: list[str]) -> int:
    """Measure and print; see `--help`."""
    parser = argparse.ArgumentParser(prog="python -m gnnlab.bench collate_memory", description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[2000, 4000, 8000, 16000], help="numbers of graphs")
    parser.add_argument("--sample", type=int, default=500, help="graphs to predict from (default: 500)")
    options = parser.parse_args(argv)
    print(machine(), "\n")
    found = growth(options.sizes, options.sample)
    print(found, "\n")
    print(capped(options.sizes[-1], found.between))
    return 0
