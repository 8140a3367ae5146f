"""Sparse times dense: our kernels beside torch.sparse, torch_sparse and gather-scatter, forward and backward."""

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from importlib import import_module
from typing import Any

import torch
from torch import Tensor

from gnnlab.profile import Comparison, bandwidth, compare, machine, peak
from gnnlab.profile.show import Shown, duration, size
from gnnlab.sparse import SparseTensor
from gnnlab.sparse.spmm import spmm
from gnnlab.sparse.torch_compressed import build

Product = Callable[[Tensor], Tensor]

OURS = "gnnlab"
COLD = "gnnlab, transposing anew"
GATHER_SCATTER = "gather-scatter"

# The ways to one product ----------------------------------------------------------------------------------------------


def random_matrix(num_nodes: int, num_edges: int, seed: int = 0) -> SparseTensor:
    """Entries at uniformly random places, in order, without values; a place may come twice."""
    generator = torch.Generator().manual_seed(seed)
    row, col = torch.randint(0, num_nodes, (2, num_edges), generator=generator)
    order = torch.argsort(row * num_nodes + col)
    sizes = num_nodes, num_nodes
    return SparseTensor(row=row[order], col=col[order], sparse_sizes=sizes, is_sorted=True, trust_data=True)


def candidates(adj: SparseTensor) -> dict[str, Product]:
    """By name, the products of `adj` and dense rows on its device that this machine can form, ours first."""
    storage = adj.storage
    row, rowptr, col = storage.row(), storage.rowptr(), storage.col()
    ones = torch.ones(adj.nnz(), device=col.device)
    pairs, sizes = torch.stack([row, col]), list(adj.sparse_sizes())
    csr = build(rowptr, col, ones, sizes, torch.sparse_csr)
    coo = torch.sparse_coo_tensor(pairs, ones, sizes, is_coalesced=True, check_invariants=False)
    found: dict[str, Product] = {
        OURS: partial(spmm, adj),
        "torch.sparse CSR": partial(torch.sparse.mm, csr),
        "torch.sparse COO": partial(torch.sparse.mm, coo),
        GATHER_SCATTER: partial(_by_messages, row, col, adj.size(0)),
    }
    for name, product in (("torch_sparse", _by_torch_sparse), ("DGL", _by_dgl)):
        try:
            found[name] = product(adj)
        except (ImportError, OSError):  # DGL's libraries are made for one version of torch each
            continue
    return found


def _by_torch_sparse(adj: SparseTensor) -> Product:
    torch_sparse: Any = import_module("torch_sparse")
    rowptr, col, _ = adj.csr()
    theirs = torch_sparse.SparseTensor(rowptr=rowptr, col=col, sparse_sizes=adj.sparse_sizes(), is_sorted=True)
    return partial(torch_sparse.matmul, theirs)


def _by_dgl(adj: SparseTensor) -> Product:
    dgl: Any = import_module("dgl")
    row, col, _ = adj.coo()
    graph = dgl.graph((col, row), num_nodes=adj.size(0))
    graph.create_formats_()
    return partial(dgl.ops.copy_u_sum, graph)


def _by_messages(row: Tensor, col: Tensor, size: int, x: Tensor) -> Tensor:
    messages = x.index_select(0, col)
    return messages.new_zeros(size, x.size(1)).scatter_add_(0, row.unsqueeze(1).expand_as(messages), messages)


def _transposing_anew(adj: SparseTensor, x: Tensor) -> Tensor:
    """Ours of a matrix that has not been multiplied by before: what its gradient needs is computed again."""
    rowptr, col = adj.storage.rowptr(), adj.storage.col()
    sizes = adj.sparse_sizes()
    return spmm(SparseTensor(rowptr=rowptr, col=col, sparse_sizes=sizes, is_sorted=True, trust_data=True), x)


def _both_ways(product: Product, x: Tensor, grad: Tensor) -> Tensor:
    (found,) = torch.autograd.grad(product(x), x, grad)
    return found


# Time -----------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Products(Shown):
    """One product, float32, by every candidate: a row for each, forward alone, and forward and backward.

    Attributes:
        num_nodes, num_edges, width: rows and columns of the matrix, its entries, columns of the dense side.
        forward, both: the candidates' times, forward, and forward with the gradient for the dense side.
        bandwidth: bytes a second that memory moves.
    """

    num_nodes: int
    num_edges: int
    width: int
    forward: Comparison
    both: Comparison
    bandwidth: float

    @property
    def moved(self) -> int:
        """Bytes of a forward product: a row read and an id for each entry, and the result written."""
        return self.num_edges * (4 * self.width + 8) + 4 * self.width * self.num_nodes

    def table(self) -> list[tuple[str, ...]]:
        header = f"E = {self.num_edges:,}, F = {self.width}", "forward", "/ ours", "forward + backward", "/ ours"
        rows = []
        for name in self.both.timings:
            row = [name]
            for found in (self.forward, self.both):
                if name in found.timings:
                    row += [duration(found.timings[name].median), f"{found.ratio(name, OURS):.1f}"]
                else:
                    row += ["", ""]
            rows.append(tuple(row))
        return [header, *rows]

    def note(self) -> str:
        floor = self.moved / self.bandwidth
        first = self.forward.timings[OURS].first
        return (
            f"N = {self.num_nodes:,}. Rows read for each entry, and the result: {size(self.moved)}, or "
            f"{duration(floor)} at memory bandwidth, twice that with the gradient. "
            f"Our first call took {duration(first)}."
        )


def compare_products(adj: SparseTensor, width: int, repeat: int, speed: float) -> Products:
    """Check that all candidates agree, then time them by turns, `repeat` times each.

    speed: bytes a second that memory moves.
    """
    x = torch.randn(adj.size(1), width, generator=torch.Generator().manual_seed(0)).to(adj.device()).requires_grad_()
    grad = torch.ones(adj.size(0), width, device=x.device)
    products = candidates(adj)
    expected = products[OURS](x.detach())
    for name, product in products.items():
        torch.testing.assert_close(product(x.detach()), expected, rtol=1e-4, atol=1e-3, msg=f"{name} differs")
    forward = compare({name: partial(product, x.detach()) for name, product in products.items()}, repeat)
    products[COLD] = partial(_transposing_anew, adj)
    both = compare({name: partial(_both_ways, product, x, grad) for name, product in products.items()}, repeat)
    return Products(adj.size(0), adj.nnz(), width, forward, both, speed)


@dataclass(frozen=True)
class Sweep(Shown):
    """Products over widths and degrees: how many times as long as ours each candidate takes, a row for each product."""

    products: tuple[Products, ...]

    def table(self) -> list[tuple[str, ...]]:
        others = [name for name in self.products[0].both.timings if name != OURS]
        rows = [
            (
                f"{each.num_edges / each.num_nodes:.0f}, {each.width}",
                what,
                duration(found.timings[OURS].median),
                *(f"{found.ratio(name, OURS):.1f}" if name in found.timings else "" for name in others),
            )
            for what in ("forward", "both")
            for each in self.products
            for found in (getattr(each, what),)
        ]
        return [("degree, F", "pass", "ours takes", *(f"{name} / ours" for name in others)), *rows]

    def plot(self, axes: Sequence[Any]) -> None:
        """Draw the times over the width on two of matplotlib's axes: forward, and forward with backward."""
        degrees = sorted({each.num_edges // each.num_nodes for each in self.products})
        for what, title, ax in zip(("forward", "both"), ("forward", "forward + backward"), axes, strict=True):
            names = list(getattr(self.products[0], what).timings)
            for number, name in enumerate(names):
                for degree, line in zip(degrees, ("-", "--", ":", "-."), strict=False):
                    some = [each for each in self.products if each.num_edges // each.num_nodes == degree]
                    times = [getattr(each, what).timings[name].median * 1e3 for each in some]
                    label = f"{name}, degree {degree}"
                    ax.plot([each.width for each in some], times, line, marker=".", color=f"C{number}", label=label)
            ax.set(xscale="log", yscale="log", xlabel="features F", ylabel="ms", title=title)
            ax.set_xticks([each.width for each in some], [str(each.width) for each in some])
            ax.minorticks_off()
            ax.grid(alpha=0.3)


def sweep(num_nodes: int, degrees: Sequence[int], widths: Sequence[int], repeat: int = 5) -> Sweep:
    """Measure the products of `num_nodes` nodes with each mean degree and number of features."""
    speed = bandwidth()
    found = []
    for degree in degrees:
        adj = random_matrix(num_nodes, num_nodes * degree)
        found += [compare_products(adj, width, repeat, speed) for width in widths]
    return Sweep(tuple(found))


@dataclass(frozen=True)
class Crossover(Shown):
    """Forward products over numbers of edges, from a handful on: a row for each number, by candidate a column."""

    width: int
    comparisons: dict[int, Comparison]

    def table(self) -> list[tuple[str, ...]]:
        names = list(next(iter(self.comparisons.values())).timings)
        rows = [
            (f"{num_edges:,}", *(duration(found.timings[name].median) for name in names))
            for num_edges, found in self.comparisons.items()
        ]
        return [(f"edges, F = {self.width}", *names), *rows]

    @property
    def first_win(self) -> int | None:
        """The smallest number of edges from which on ours is faster than gather-scatter; None if it never is."""
        wins = None
        for num_edges, found in sorted(self.comparisons.items(), reverse=True):
            if found.ratio(GATHER_SCATTER, OURS) <= 1:
                break
            wins = num_edges
        return wins

    def plot(self, axes: Any) -> None:
        """Draw the time for each number of edges on matplotlib's `axes`."""
        for name in next(iter(self.comparisons.values())).timings:
            times = [found.timings[name].median * 1e6 for found in self.comparisons.values()]
            axes.plot(list(self.comparisons), times, marker=".", label=name)
        axes.set(xscale="log", yscale="log", xlabel=f"edges (8 a node, F = {self.width})", ylabel="us, forward")
        axes.grid(alpha=0.3)
        axes.legend(frameon=False)


def crossover(sizes: Sequence[int], width: int, repeat: int = 9) -> Crossover:
    """Measure products of matrices with `sizes` entries, eight a row."""
    found = {}
    for num_edges in sizes:
        adj = random_matrix(max(1, num_edges // 8), num_edges)
        x = torch.randn(adj.size(1), width)
        ways = {name: partial(product, x) for name, product in candidates(adj).items()}
        found[num_edges] = compare(ways, repeat, number=max(1, 20_000 // num_edges))
    return Crossover(width, found)


# Memory ---------------------------------------------------------------------------------------------------------------


def multiply_once(num_nodes: int, num_edges: int, width: int) -> int:
    """One product of the random matrix; the bytes of the result."""
    return spmm(_held(num_nodes, num_edges), _features(num_nodes, width)).nbytes


@cache
def _held(num_nodes: int, num_edges: int) -> SparseTensor:
    matrix = random_matrix(num_nodes, num_edges)
    matrix.storage.rowptr()
    return matrix


@cache
def _features(num_nodes: int, width: int) -> Tensor:
    return torch.randn(num_nodes, width)


def extra_memory(num_nodes: int, num_edges: int, width: int) -> str:
    """What a forward product takes beside its operands, in a fresh process that has both and has multiplied before."""
    sizes = f"{num_nodes}, {num_edges}, {width}"
    setup = f"import gnnlab.bench.spmm as bench\nbench.multiply_once({sizes})"
    found = peak(f"{__name__}:multiply_once", num_nodes, num_edges, width, setup=setup)
    above = (found.peak or 0) - found.result
    return f"a forward product of {found.result / 2**20:.1f} MiB peaks {above / 2**20:.2f} MiB above its result"


def main(argv: list[str]) -> int:
    """Measure and print; see `--help`."""
    parser = argparse.ArgumentParser(prog="python -m gnnlab.bench spmm", description=__doc__)
    parser.add_argument("--nodes", type=int, default=100_000, help="rows and columns (default: 100000)")
    parser.add_argument("--edges", type=int, nargs="+", default=[2_000_000, 10_000_000], help="numbers of entries")
    parser.add_argument("--width", type=int, nargs="+", default=[64, 256], help="numbers of features")
    parser.add_argument("--repeat", type=int, default=5, help="measurements of each, alternating (default: 5)")
    options = parser.parse_args(argv)
    print(machine())
    speed = bandwidth()
    for num_edges in options.edges:
        adj = random_matrix(options.nodes, num_edges)
        for width in options.width:
            print(f"\n{compare_products(adj, width, options.repeat, speed)}", flush=True)
    smallest = options.nodes, min(options.edges), min(options.width)
    print(f"\n{extra_memory(*smallest)}")
    return 0
