"""What repeats to the bit on this machine: sums in other orders, operations, trainings, and what repeating costs."""

import argparse
import math
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor

from gnnlab.bench import gcn
from gnnlab.bench.spmm import random_matrix
from gnnlab.data import Data
from gnnlab.determinism import deterministic
from gnnlab.nn import GATConv, GCNConv, SAGEConv, SoftmaxAggregation, global_mean_pool
from gnnlab.profile import Comparison, compare, determinism, machine
from gnnlab.profile.show import Shown
from gnnlab.sparse import SparseTensor
from gnnlab.sparse.spmm import spmm
from gnnlab.sparse.torch_compressed import build
from gnnlab.utils import scatter

# One sum in many orders -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Sums:
    """Sums of the same numbers in other orders, by the way in which they were added; `exact` is the true sum."""

    exact: float
    sums: dict[str, tuple[float, ...]]

    def distinct(self, way: str) -> int:
        """How many different results one way of adding gave."""
        return len(set(self.sums[way]))

    def plot(self, axes: Any, way: str) -> None:
        """Draw how often each result came, as its distance from the true sum."""
        axes.hist([value - self.exact for value in self.sums[way]], bins=40)
        axes.axvline(0, color="black", linewidth=1, linestyle="--", label="the true sum")
        axes.set_xlabel("distance from the true sum")
        axes.set_ylabel("orders")
        axes.legend(frameon=False)


def orders(count: int, tries: int, seed: int = 0) -> Sums:
    """Add `count` random numbers of float32 in `tries` orders: one after another, and with a float64 between."""
    generator = torch.Generator().manual_seed(seed)
    numbers = torch.randn(count, generator=generator)
    ways: dict[str, Callable[[Tensor], float]] = {
        "one after another": _one_after_another,
        "torch.sum": lambda x: float(x.sum()),
        "in float64": lambda x: float(x.double().sum().float()),
        "sorted first": lambda x: _one_after_another(x.sort().values),
    }
    shuffled = [numbers[torch.randperm(count, generator=generator)] for _ in range(tries)]
    found = {name: tuple(way(x) for x in shuffled) for name, way in ways.items()}
    return Sums(math.fsum(numbers.tolist()), found)


def _one_after_another(numbers: Tensor) -> float:
    """Their sum from the first to the last; torch's running sums are kept in float64, NumPy's are not."""
    return float(np.cumsum(numbers.numpy())[-1])


# Operations -----------------------------------------------------------------------------------------------------------

#: What is changed between two runs.
VARIED = ("nothing", "threads", "edge order")

_Operation = Callable[..., Tensor]


@dataclass(frozen=True)
class Operations(Shown):
    """For each operation and pass whether all bits are equal when a thing is varied; if not, how far.

    `apart`: by operation and pass, for each of `VARIED` the largest distance of two numbers, 0 for equal bits.
    """

    apart: dict[tuple[str, str], dict[str, float]]
    runs: int
    remark: str

    def repeats(self, operation: str, varied: str) -> bool:
        """Whether an operation gave the same bits, forward and backward."""
        return all(found.get(varied) == 0 for (name, _), found in self.apart.items() if name == operation)

    def table(self) -> list[tuple[str, ...]]:
        rows = [
            (name, part, *(_distance(found.get(varied)) for varied in VARIED))
            for (name, part), found in self.apart.items()
        ]
        return [("operation", "pass", "run again", "other threads", "other order of edges"), *rows]

    def note(self) -> str:
        return self.remark


def _distance(found: float | None) -> str:
    return "-" if found is None else "equal" if found == 0 else f"{found:.0e}"


def operations(num_nodes: int, num_edges: int, width: int, runs: int) -> Operations:
    """Run each operation `runs` times with nothing varied, with other threads and with its edges in another order."""
    generator = torch.Generator().manual_seed(0)
    row, col, _ = random_matrix(num_nodes, num_edges).coalesce().coo()  # no edge twice: no order could be told
    num_edges = row.numel()
    inputs = {
        "x": torch.randn(num_nodes, width, generator=generator),
        "edge_index": torch.stack([col, row]),
        "edge_weight": torch.rand(num_edges, generator=generator),
    }
    found: dict[tuple[str, str], dict[str, float]] = {}
    for name, operation in _operations(num_nodes, width).items():
        # Messages come in the order of the edges: with another one they are others.
        vary = ("threads",) if "sender" in name else ("threads", "edge order")
        for spread in determinism(operation, runs, vary, inputs=inputs).rows:
            apart = 0.0 if spread.equal else max(spread.difference, math.ulp(0.0))  # 0 and -0 are not equal bits
            found.setdefault((name, spread.part), {})[spread.varied] = apart
    remark = (
        f"{num_nodes:,} nodes, {num_edges:,} edges, {width} features, float32, {runs} runs of each. Where bits differ, "
        "the largest distance of two numbers; these are of size 1 to 100."
    )
    return Operations(found, runs, remark)


def _operations(num_nodes: int, width: int) -> Mapping[str, _Operation]:
    """By name, functions of x, edge_index and edge_weight."""
    generator = torch.Generator().manual_seed(1)
    weight = torch.randn(width, width, generator=generator)
    batch = torch.arange(num_nodes) // 50

    def gathered(x: Tensor, edge_index: Tensor, edge_weight: Tensor, reduce: str) -> Tensor:
        messages = x.index_select(0, edge_index[0]) * edge_weight.unsqueeze(1)
        return scatter(messages, edge_index[1], dim_size=num_nodes, reduce=reduce)

    def adjacency(edge_index: Tensor, edge_weight: Tensor) -> SparseTensor:
        return SparseTensor(row=edge_index[1], col=edge_index[0], value=edge_weight, sparse_sizes=(num_nodes,) * 2)

    def product(x: Tensor, edge_index: Tensor, edge_weight: Tensor, reduce: str) -> Tensor:
        return spmm(adjacency(edge_index, edge_weight), x, reduce)

    def by_torch(x: Tensor, edge_index: Tensor, edge_weight: Tensor) -> Tensor:
        rowptr, col, value = adjacency(edge_index, edge_weight.detach()).csr()
        assert value is not None
        return build(rowptr, col, value, [num_nodes, num_nodes], torch.sparse_csr) @ x

    def layered(conv: Callable[..., Tensor], on_adjacency: bool) -> _Operation:
        def run(x: Tensor, edge_index: Tensor, edge_weight: Tensor) -> Tensor:
            return conv(x, adjacency(edge_index, edge_weight) if on_adjacency else edge_index)

        return run

    torch.manual_seed(0)
    layers = {"GCNConv": GCNConv(width, width), "SAGEConv, max": SAGEConv(width, width, "max")}
    layers["GATConv"] = GATConv(width, width)
    softmax = SoftmaxAggregation()
    return {
        "x.sum()": lambda x, edge_index, edge_weight: x.sum(),
        "x @ weight": lambda x, edge_index, edge_weight: x @ weight,
        "x[sender]": lambda x, edge_index, edge_weight: x[edge_index[0]],
        "x.index_select(0, sender)": lambda x, edge_index, edge_weight: x.index_select(0, edge_index[0]),
        "global_mean_pool": lambda x, edge_index, edge_weight: global_mean_pool(x, batch),
        **{f"gather, scatter {reduce}": partial(gathered, reduce=reduce) for reduce in ("sum", "mean", "max")},
        "softmax aggregation": lambda x, edge_index, edge_weight: softmax(
            x.index_select(0, edge_index[0]), edge_index[1], dim_size=num_nodes
        ),
        "torch.sparse CSR @ x": by_torch,
        **{f"spmm {reduce}": partial(product, reduce=reduce) for reduce in ("sum", "mean", "max")},
        **{f"{name}, edge_index": layered(conv, False) for name, conv in layers.items()},
        **{f"{name}, adj_t": layered(conv, True) for name, conv in layers.items()},
    }


# Trainings ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Drift(Shown):
    """How trainings of the same network drift apart.

    `distances`: by what was changed, after each epoch the largest distance of a weight from that of the first training.
    `accuracies`: by what was changed, the test accuracy at the end; `reference` is that of the first training.
    """

    reference: float
    distances: dict[str, tuple[float, ...]]
    accuracies: dict[str, float]

    def table(self) -> list[tuple[str, ...]]:
        rows = [
            (name, "equal" if found[-1] == 0 else f"{found[-1]:.1e}", f"{self.accuracies[name]:.2%}")
            for name, found in self.distances.items()
        ]
        header = ("changed", "farthest weight at the end", "test accuracy")
        return [header, ("(first training)", "", f"{self.reference:.2%}"), *rows]

    def plot(self, axes: Any) -> None:
        """Draw the distances over the epochs; those that stay zero are named, since their line has no place."""
        for name, found in self.distances.items():
            label = name if any(found) else f"{name}: always equal"
            axes.plot(range(1, len(found) + 1), [value or math.nan for value in found], label=label)
        axes.set_yscale("log")
        axes.set_xlabel("epoch")
        axes.set_ylabel("farthest weight from the first training's")
        axes.legend(frameon=False)


def drift(graph: Data, epochs: int, hidden: int = 16, seed: int = 0) -> Drift:
    """Train a GCN again with nothing changed, with one thread, with its edges in another order on both paths, and with
    another seed.
    """
    threads = torch.get_num_threads()
    order = torch.randperm(graph.edge_index.size(1), generator=torch.Generator().manual_seed(1))
    shuffled = graph.edge_index[:, order]

    def adjacency(edge_index: Tensor) -> SparseTensor:
        sizes = (graph.num_nodes, graph.num_nodes)
        return SparseTensor(row=edge_index[1], col=edge_index[0], sparse_sizes=sizes)

    other = max(1, threads // 2) if threads > 1 else 2
    ways = {
        "nothing": (graph.edge_index, seed, threads),
        f"threads, {threads} to {other}": (graph.edge_index, seed, other),
        "order of the edges": (shuffled, seed, threads),
        "order of the edges, adj_t": (adjacency(shuffled), seed, threads),
        "seed": (graph.edge_index, seed + 1, threads),
    }
    first, accuracy = _train(graph, graph.edge_index, seed, threads, epochs, hidden)
    by_product, _ = _train(graph, adjacency(graph.edge_index), seed, threads, epochs, hidden)
    distances, accuracies = {}, {}
    for name, (edges, own, count) in ways.items():
        weights, accuracies[name] = _train(graph, edges, own, count, epochs, hidden)
        expected = first if isinstance(edges, Tensor) else by_product
        distances[name] = tuple(float((a - b).abs().max()) for a, b in zip(weights, expected, strict=True))
    return Drift(accuracy, distances, accuracies)


def _train(graph: Data, edges: Any, seed: int, threads: int, epochs: int, hidden: int) -> tuple[list[Tensor], float]:
    """All weights after each epoch, and the test accuracy after the last."""
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(threads)
        training = gcn.Training(graph, edges, hidden=hidden, seed=seed)
        weights = []
        for _ in range(epochs):
            training.epoch()
            weights.append(torch.cat([each.detach().flatten() for each in training.model.parameters()]))
        return weights, training.accuracies()[1]
    finally:
        torch.set_num_threads(before)


# Cost -----------------------------------------------------------------------------------------------------------------


def cost(num_nodes: int, num_edges: int, width: int, repeat: int) -> Comparison:
    """The time of a sum along edges, forward and backward, with torch's switch and without, edges sorted or not."""
    adj = random_matrix(num_nodes, num_edges)
    row, col, _ = adj.coo()
    order = torch.randperm(num_edges, generator=torch.Generator().manual_seed(0))
    x = torch.randn(num_nodes, width, requires_grad=True)
    grad = torch.ones(num_nodes, width)
    ones = torch.ones(num_edges)

    def gathered(index: Tensor, senders: Tensor, switched: bool, by_brackets: bool = False) -> None:
        with deterministic() if switched else nullcontext():
            messages = x[senders] if by_brackets else x.index_select(0, senders)
            torch.autograd.grad(scatter(messages, index, dim_size=num_nodes, reduce="sum"), x, grad)

    def multiplied(switched: bool) -> None:
        with deterministic() if switched else nullcontext():
            torch.autograd.grad(spmm(adj.set_value(ones), x), x, grad)

    ways = {
        "gather, scatter": partial(gathered, row[order], col[order], False),
        "gather, scatter, deterministic()": partial(gathered, row[order], col[order], True),
        "gather, scatter, edges sorted": partial(gathered, row, col, False),
        "x[sender], scatter": partial(gathered, row[order], col[order], False, True),
        "x[sender], scatter, deterministic()": partial(gathered, row[order], col[order], True, True),
        "multiply": partial(multiplied, False),
        "multiply, deterministic()": partial(multiplied, True),
    }
    return compare(ways, repeat)


def main(argv: list[str]) -> int:
    """Measure and print; see `--help`."""
    parser = argparse.ArgumentParser(prog="python -m gnnlab.bench repeats", description=__doc__)
    parser.add_argument("--nodes", type=int, default=20_000, help="of the graph (default: 20000)")
    parser.add_argument("--edges", type=int, default=400_000, help="of the graph (default: 400000)")
    parser.add_argument("--width", type=int, default=64, help="features (default: 64)")
    parser.add_argument("--runs", type=int, default=10, help="of each operation (default: 10)")
    parser.add_argument("--epochs", type=int, default=100, help="of each training (default: 100)")
    options = parser.parse_args(argv)
    print(machine())
    sums = orders(10_000, 1000)
    for way in sums.sums:
        print(f"10,000 numbers in 1,000 orders, {way}: {sums.distinct(way)} results")
    print(f"\n{operations(options.nodes, options.edges, options.width, options.runs)}")
    print(f"\n{drift(gcn.packages(), options.epochs)}")
    print(f"\n{cost(options.nodes, options.edges, options.width, options.runs)}")
    return 0
