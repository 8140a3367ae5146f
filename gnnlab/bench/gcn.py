"""Training a GCN of two layers, on an edge_index and on an adjacency: accuracy, time of an epoch and of its parts."""

import argparse
import io
import os
import statistics
import tempfile
from collections.abc import Callable, Iterable, Sequence
from contextlib import redirect_stderr
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.nn import Module
from torch.nn.functional import cross_entropy, dropout

from gnnlab.data import Data
from gnnlab.datasets import DebianPackages, Planetoid
from gnnlab.nn import GCNConv
from gnnlab.profile import Comparison, compare, machine
from gnnlab.profile.show import Shown, duration
from gnnlab.transforms import NormalizeFeatures, ToSparseTensor

# The recipe -----------------------------------------------------------------------------------------------------------


class TwoLayers(Module):
    """A GCN of two layers with dropout before each, as in Kipf and Welling, https://arxiv.org/abs/1609.02907.

    conv: the class of its layers: ours or PyG's.
    """

    def __init__(self, channels: tuple[int, int, int], conv: Callable[..., Module] = GCNConv) -> None:
        super().__init__()
        first, hidden, last = channels
        self.convs = torch.nn.ModuleList([conv(first, hidden, cached=True), conv(hidden, last, cached=True)])

    def forward(self, x: Tensor, edges: Any) -> Tensor:
        """[num_nodes, classes]. x: [num_nodes, features]. edges: an edge_index or a transposed adjacency."""
        x = self.convs[0](dropout(x, 0.5, self.training), edges).relu()
        out: Tensor = self.convs[1](dropout(x, 0.5, self.training), edges)
        return out


class Training:
    """The network, its optimizer, and the graph it learns from.

    graph: with `x`, `y`, `train_mask`, `val_mask` and `test_mask`. edges: an edge_index or a transposed adjacency.
    conv: the class of the layers. hidden: channels between them. seed: of the weights and of dropout.
    """

    def __init__(
        self, graph: Data, edges: Any, conv: Callable[..., Module] = GCNConv, hidden: int = 16, seed: int = 0
    ) -> None:
        self.graph, self.edges = graph, edges
        torch.manual_seed(seed)
        self.model = TwoLayers((graph.num_features, hidden, int(graph.y.max()) + 1), conv)
        first, second = self.model.convs
        groups: list[dict[str, Any]] = [
            {"params": first.parameters(), "weight_decay": 5e-4},
            {"params": second.parameters()},
        ]
        self.optimizer = torch.optim.Adam(groups, lr=0.01)

    def epoch(self) -> None:
        """Take one step on the whole graph."""
        self.model.train()
        self.optimizer.zero_grad()
        out = self.model(self.graph.x, self.edges)
        mask = self.graph.train_mask
        cross_entropy(out[mask], self.graph.y[mask]).backward()
        self.optimizer.step()

    @torch.no_grad()
    def accuracies(self) -> tuple[float, float]:
        """The shares of validation and of test nodes that are told right."""
        self.model.eval()
        right = self.model(self.graph.x, self.edges).argmax(dim=1) == self.graph.y
        val, test = (float(right[self.graph[f"{name}_mask"]].float().mean()) for name in ("val", "test"))
        return val, test

    def run(self, epochs: int) -> float:
        """Train; the test accuracy after the first epoch with the best validation accuracy."""
        best = (-1.0, 0.0)
        for _ in range(epochs):
            self.epoch()
            val, test = self.accuracies()
            if val > best[0]:
                best = val, test
        return best[1]


def paths(graph: Data) -> dict[str, tuple[Any, Callable[..., Module]]]:
    """By name the edges of `graph` and the layer that takes them: both paths of ours, then of PyG where installed."""
    adj_t = ToSparseTensor()(graph.clone()).adj_t
    found: dict[str, tuple[Any, Callable[..., Module]]] = {
        "gnnlab, adj_t": (adj_t, GCNConv),
        "gnnlab, edge_index": (graph.edge_index, GCNConv),
    }
    try:
        theirs: Any = import_module("torch_geometric.nn").GCNConv
    except ImportError:
        return found
    found["PyG, edge_index"] = graph.edge_index, theirs
    try:
        import_module("torch_sparse")
    except ImportError:
        return found
    torch.sparse.check_sparse_tensor_invariants.disable()  # as by default: PyG leaves it open, of which torch warns
    return {**found, "PyG, adj_t": (adj_t.to_torch_sparse(), theirs)}


# What is measured -----------------------------------------------------------------------------------------------------


def cora(root: str | Path) -> Data | None:
    """Cora with features that sum to one in each row; None where its files are not here.

    They are looked for as `Planetoid` does, in the folder that `GNNLAB_PLANETOID` names and in `root/Cora/raw`, but not
    downloaded. What is processed goes to `root`, or to a temporary folder where `root` has no raw files.
    """
    folders = [os.environ.get("GNNLAB_PLANETOID"), Path(root, "Cora", "raw")]
    if not any(folder and Path(folder, "ind.cora.allx").exists() for folder in folders):
        return None
    with tempfile.TemporaryDirectory() as elsewhere, redirect_stderr(io.StringIO()):  # it says that it processes
        here = root if Path(root, "Cora", "raw", "ind.cora.allx").exists() else elsewhere
        graph = Planetoid(str(here), "Cora")[0]
    found: Data = NormalizeFeatures()(graph)
    return found


def packages(limit: int | None = None) -> Data:
    """Debian's packages, or the first of them; each hears from those that it asks for, and they from it."""
    graph = DebianPackages()[0]
    if limit is not None:
        graph = graph.subgraph(torch.arange(limit))
    graph.edge_index = torch.cat([graph.edge_index, graph.edge_index.flip(0)], dim=1)
    return Data(**{name: graph[name] for name in ("x", "edge_index", "y", "train_mask", "val_mask", "test_mask")})


@dataclass(frozen=True)
class Accuracy(Shown):
    """Test accuracies over seeds: a row for each path, mean and standard deviation."""

    accuracies: dict[str, tuple[float, ...]]

    def table(self) -> list[tuple[str, ...]]:
        rows = [
            (name, f"{statistics.mean(found):.1%}", f"{statistics.stdev(found):.1%}", str(len(found)))
            for name, found in self.accuracies.items()
        ]
        return [("path", "test accuracy", "standard deviation", "seeds"), *rows]


def accuracy(graph: Data, names: Iterable[str], seeds: Sequence[int], epochs: int = 200, hidden: int = 16) -> Accuracy:
    """Train on each of the named `paths` once for each of at least two seeds."""
    ways = paths(graph)
    return Accuracy(
        {name: tuple(Training(graph, *ways[name], hidden, seed).run(epochs) for seed in seeds) for name in names}
    )


def epoch(graph: Data, hidden: int = 16, repeat: int = 20, warmup: int = 2) -> Comparison:
    """The time of an epoch on each of `paths`; `repeat` and `warmup` as in `compare`."""
    ways = {name: Training(graph, *way, hidden).epoch for name, way in paths(graph).items()}
    return compare(ways, repeat, warmup=warmup)


@dataclass(frozen=True)
class Parts(Shown):
    """What an epoch is made of: a row for each part, forward and backward, in seconds on each path.

    `wholes`, `parts`: by path, the epoch, and the parts by name. What the parts leave is the loss, the optimizer and
    what else there is.
    """

    wholes: dict[str, float]
    parts: dict[str, dict[str, float]]

    def share(self, path: str, part: str) -> float:
        """The share of the epoch that a part takes."""
        return self.parts[path][part] / self.wholes[path]

    def table(self) -> list[tuple[str, ...]]:
        names = list(next(iter(self.parts.values())))
        rows = [
            (part, *(f"{duration(self.parts[path][part])} ({self.share(path, part):.0%})" for path in self.wholes))
            for part in names
        ]
        whole = "an epoch", *(duration(seconds) for seconds in self.wholes.values())
        return [("part", *self.wholes), *rows, whole]


def parts(graph: Data, hidden: int = 16, repeat: int = 20, warmup: int = 2) -> Parts:
    """Take an epoch on our two paths apart, each part timed alone; `repeat` and `warmup` as in `compare`."""
    x, classes = graph.x, int(graph.y.max()) + 1
    narrow = {width: torch.randn(x.size(0), width, requires_grad=True) for width in (hidden, classes)}
    wholes, found = {}, {}
    for name, (edges, conv) in list(paths(graph).items())[:2]:
        training = Training(graph, edges, conv, hidden)
        first, second = training.model.convs
        wanted: dict[str, Callable[[], Any]] = {
            "epoch": training.epoch,
            "dropout": partial(_dropouts, x, narrow[hidden]),
            "products with weights": partial(_weighing, first, second, x, narrow[hidden]),
            "aggregation": partial(_aggregating, first, second, edges, narrow[hidden], narrow[classes]),
        }
        timings = compare(wanted, repeat, warmup=warmup).timings
        wholes[name] = timings.pop("epoch").median
        found[name] = {part: timing.median for part, timing in timings.items()}
    return Parts(wholes, found)


def _dropouts(x: Tensor, between: Tensor) -> None:
    dropout(x, 0.5)
    dropped = dropout(between, 0.5)
    torch.autograd.grad(dropped, between, torch.ones_like(dropped))


def _weighing(first: Any, second: Any, x: Tensor, between: Tensor) -> None:
    """The features need no gradient; what is between the layers does."""
    for layer, given in ((first, x), (second, between)):
        out = layer.lin(given)
        wanted = [layer.lin.weight, *([given] if given.requires_grad else [])]
        torch.autograd.grad(out, wanted, torch.ones_like(out))


def _aggregating(first: Any, second: Any, edges: Any, *widths: Tensor) -> None:
    """Along the edges that the layers have normalised and kept."""
    for conv, x in zip((first, second), widths, strict=True):
        kept, weight = conv._edges(x, edges, None)
        out = conv.propagate(kept, x=x, edge_weight=weight)
        torch.autograd.grad(out, x, torch.ones_like(out))


def main(argv: list[str]) -> int:
    """Measure and print; see `--help`."""
    parser = argparse.ArgumentParser(prog="python -m gnnlab.bench gcn", description=__doc__)
    parser.add_argument("--root", default="data/planetoid", help="where Cora's files are (default: data/planetoid)")
    parser.add_argument("--seeds", type=int, default=10, help="trainings on Cora (default: 10)")
    parser.add_argument("--epochs", type=int, default=200, help="of each of them (default: 200)")
    parser.add_argument("--repeat", type=int, default=20, help="epochs that are timed (default: 20)")
    options = parser.parse_args(argv)
    print(machine())
    graphs = {"Cora, 16 hidden": (cora(options.root), 16), "DebianPackages, 64 hidden": (packages(), 64)}
    for title, (graph, hidden) in graphs.items():
        if graph is None:
            print(f"\n{title}: skipped, its files are neither in GNNLAB_PLANETOID nor in {options.root}/Cora/raw")
            continue
        print(f"\n{title}\n{epoch(graph, hidden, options.repeat)}\n\n{parts(graph, hidden, options.repeat)}")
        if title.startswith("Cora"):
            print(f"\n{accuracy(graph, list(paths(graph))[:3], range(options.seeds), options.epochs)}")
    return 0
