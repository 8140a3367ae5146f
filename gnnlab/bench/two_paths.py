"""Memory of one layer on an edge_index, where it sends messages, and on an adjacency, by which it multiplies."""

import argparse
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from typing import Any

import torch
from torch import Tensor

from gnnlab.bench.spmm import random_matrix
from gnnlab.nn import SimpleConv
from gnnlab.profile import machine, peak
from gnnlab.profile.show import Shown, size
from gnnlab.sparse import SparseTensor

PATHS = ("edge_index", "adj_t")
PASSES = ("forward", "both")


@dataclass(frozen=True)
class Case:
    """One call of the layer.

    Attributes:
        path: one of `PATHS`.
        passes: one of `PASSES`: without a gradient, or with that of `x`.
        weighted: edges have weights.
        num_nodes, num_edges, width: nodes, edges, features.
    """

    path: str
    passes: str
    weighted: bool
    num_nodes: int
    num_edges: int
    width: int

    @property
    def predicted(self) -> int:
        """Bytes at the peak, beside the operands: the larger of the moments at which most is alive.

        Messages are [num_edges, width], the result and its gradient [num_nodes, width]. With weights there are messages
        as they were gathered and as they are weighted. To scatter, torch sorts the ids, in 32 bytes an edge. The
        gradient of a product puts the weights in order of the columns.
        """
        messages, nodes = 4 * self.num_edges * self.width, 4 * self.num_nodes * self.width
        if self.path == "adj_t":
            by_column = 4 * self.num_edges if self.weighted else 0
            return nodes if self.passes == "forward" else 2 * nodes + by_column
        weighting = 2 * messages if self.weighted else 0
        scattering = messages + nodes + 32 * self.num_edges
        return max(weighting, scattering) if self.passes == "forward" else nodes + max(weighting, scattering)


def run(case: Case) -> int:
    """Call the layer once; the bytes of what it gives."""
    x, edges, weight = _operands(case)
    out = SimpleConv("sum")(x, edges, weight)
    if case.passes == "forward":
        return int(out.nbytes)
    (grad,) = torch.autograd.grad(out, x, _gradient(case.num_nodes, case.width))
    return int(out.nbytes + grad.nbytes)


def prepare(case: Case) -> None:
    """Build and keep the operands, and run the layer on a small graph, which compiles what it needs."""
    run(Case(case.path, case.passes, case.weighted, 100, 1000, 8))
    _, edges, _ = _operands(case)
    _gradient(case.num_nodes, case.width)
    if isinstance(edges, SparseTensor):
        edges.fill_cache_()
        edges.storage.csc_row()


@cache
def _operands(case: Case) -> tuple[Tensor, Any, Tensor | None]:
    adj = random_matrix(case.num_nodes, case.num_edges)
    weight = torch.rand(case.num_edges) if case.weighted else None
    x = torch.randn(case.num_nodes, case.width).requires_grad_(case.passes == "both")
    if case.path == "adj_t":
        return x, adj.set_value(weight), None
    row, col, _ = adj.coo()
    return x, torch.stack([col, row]), weight


@cache
def _gradient(num_nodes: int, width: int) -> Tensor:
    return torch.randn(num_nodes, width)


@dataclass(frozen=True)
class Memory(Shown):
    """Peaks of the layer, predicted and measured, a row for each case; `measured` in bytes beside the operands."""

    cases: tuple[Case, ...]
    measured: tuple[int, ...]

    def table(self) -> list[tuple[str, ...]]:
        rows = [
            (
                f"{case.num_edges:,}",
                "yes" if case.weighted else "no",
                {"forward": "forward", "both": "forward + backward"}[case.passes],
                case.path,
                size(case.predicted),
                size(found),
                f"{found / case.predicted:.2f}",
            )
            for case, found in zip(self.cases, self.measured, strict=True)
        ]
        header = "edges", "weights", "pass", "edges given as", "predicted", "measured", "measured / predicted"
        return [header, *rows]

    def note(self) -> str:
        first = self.cases[0]
        return f"{first.num_nodes:,} nodes, {first.width} features, float32; beside the operands, in fresh processes"

    def plot(self, axes: Any) -> None:
        """Draw measured points over predicted lines, over the number of edges, on matplotlib's `axes`."""
        kinds = dict.fromkeys((case.path, case.passes) for case in self.cases if not case.weighted)
        for number, (path, passes) in enumerate(kinds):
            some = [
                (case.num_edges, case.predicted / 2**20, found / 2**20)
                for case, found in zip(self.cases, self.measured, strict=True)
                if (case.path, case.passes, case.weighted) == (path, passes, False)
            ]
            edges, predicted, measured = zip(*some, strict=True)
            what = "forward" if passes == "forward" else "with backward"
            axes.plot(edges, predicted, "--", color=f"C{number}", label=f"{path}, {what}: predicted")
            axes.plot(edges, measured, "o", color=f"C{number}", label=f"{path}, {what}: measured")
        axes.set(xlabel="edges", ylabel="MiB beside the operands", ylim=(0, None))
        axes.xaxis.set_major_formatter("{x:,.0f}")
        axes.grid(alpha=0.3)
        axes.legend(frameon=False, loc="upper left")


def memory(
    num_nodes: int,
    num_edges: Sequence[int],
    width: int,
    weighted: Sequence[bool] = (False, True),
    passes: Sequence[str] = PASSES,
) -> Memory:
    """Measure the layer on random graphs, each case in a fresh process; two run at a time.

    weighted: whether edges have weights; both by default. passes: those of `PASSES` to measure.
    """
    cases = tuple(
        Case(path, each, with_weights, num_nodes, edges, width)
        for edges in num_edges
        for with_weights in weighted
        for each in passes
        for path in PATHS
    )
    with ThreadPoolExecutor(2) as pool:
        return Memory(cases, tuple(pool.map(_measured, cases)))


def _measured(case: Case) -> int:
    setup = f"import torch\ntorch.set_num_threads(1)\nfrom gnnlab.bench.two_paths import *\nprepare({case!r})"
    found = peak(run, case, setup=setup)
    if found.peak is None:
        raise RuntimeError(f"{case}: {found.failed}")
    return found.peak


def main(argv: list[str]) -> int:
    """Measure and print; see `--help`."""
    parser = argparse.ArgumentParser(prog="python -m gnnlab.bench two_paths", description=__doc__)
    parser.add_argument("--nodes", type=int, default=50_000, help="nodes (default: 50000)")
    parser.add_argument("--edges", type=int, nargs="+", default=[250_000, 1_000_000], help="numbers of edges")
    parser.add_argument("--width", type=int, default=64, help="features (default: 64)")
    options = parser.parse_args(argv)
    print(machine(), "\n")
    print(memory(options.nodes, options.edges, options.width))
    return 0
