"""Sparse times dense: our kernels beside torch.sparse, torch_sparse and gather-scatter, forward and backward."""

import argparse
from collections.abc import Callable
from functools import cache, partial
from importlib import import_module
from typing import Any

import torch
from torch import Tensor

from gnnlab.profile import bandwidth, compare, machine, peak
from gnnlab.sparse import SparseTensor
from gnnlab.sparse.spmm import spmm

Product = Callable[[Tensor], Tensor]


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
            for line in compare_products(adj, width, options.repeat, speed):
                print(line, flush=True)
    smallest = options.nodes, min(options.edges), min(options.width)
    print(extra_memory(*smallest))
    return 0


def random_matrix(num_nodes: int, num_edges: int, seed: int = 0) -> SparseTensor:
    """Entries at uniformly random places, in order, without values; a place may come twice."""
    generator = torch.Generator().manual_seed(seed)
    row, col = torch.randint(0, num_nodes, (2, num_edges), generator=generator)
    order = torch.argsort(row * num_nodes + col)
    sizes = num_nodes, num_nodes
    return SparseTensor(row=row[order], col=col[order], sparse_sizes=sizes, is_sorted=True, trust_data=True)


def candidates(adj: SparseTensor) -> dict[str, Product]:
    """By name, the products of `adj` and dense rows that this machine can form, ours first."""
    storage = adj.storage
    row, rowptr, col = storage.row(), storage.rowptr(), storage.col()
    ones = torch.ones(adj.nnz())
    csr = torch.sparse_csr_tensor(rowptr, col, ones, adj.sparse_sizes(), check_invariants=False)
    coo = torch.sparse_coo_tensor(torch.stack([row, col]), ones, adj.sparse_sizes(), is_coalesced=True)
    found: dict[str, Product] = {
        "gnnlab": partial(spmm, adj),
        "torch.sparse CSR": partial(torch.sparse.mm, csr),
        "torch.sparse COO": partial(torch.sparse.mm, coo),
        "gather-scatter": partial(_by_messages, row, col, adj.size(0)),
    }
    try:
        torch_sparse: Any = import_module("torch_sparse")
    except ImportError:
        return found
    theirs = torch_sparse.SparseTensor(rowptr=rowptr, col=col, sparse_sizes=adj.sparse_sizes(), is_sorted=True)
    return {**found, "torch_sparse": partial(torch_sparse.matmul, theirs)}


def _by_messages(row: Tensor, col: Tensor, size: int, x: Tensor) -> Tensor:
    messages = x.index_select(0, col)
    return messages.new_zeros(size, x.size(1)).scatter_add_(0, row.unsqueeze(1).expand_as(messages), messages)


def compare_products(adj: SparseTensor, width: int, repeat: int, speed: float) -> list[str]:
    """One line for each candidate and direction: the median in ms, and how many times as long as ours it takes.

    speed: bytes a second that memory moves.
    """
    x = torch.randn(adj.size(1), width, generator=torch.Generator().manual_seed(0)).requires_grad_()
    grad = torch.ones(adj.size(0), width)
    products = candidates(adj)
    expected = products["gnnlab"](x.detach())
    for name, product in products.items():
        torch.testing.assert_close(product(x.detach()), expected, rtol=1e-4, atol=1e-3, msg=f"{name} differs")
    forward = compare({name: partial(product, x.detach()) for name, product in products.items()}, repeat)
    both = compare({name: partial(_both_ways, product, x, grad) for name, product in products.items()}, repeat)
    lines = [f"N = {adj.size(0):,}, E = {adj.nnz():,}, F = {width}, float32; kept transpose"]
    for what, result, passes in (("forward", forward, 1), ("forward + backward", both, 2)):
        moved = passes * (adj.nnz() * (4 * width + 8) + 4 * width * adj.size(0))
        floor = moved / speed
        ours = result.timings["gnnlab"]
        lines.append(
            f"  {what}: gnnlab {ours.median * 1e3:.1f} ms (first call {ours.first * 1e3:.0f} ms); "
            f"{moved / 2**30:.2f} GiB read entry by entry and written take {floor * 1e3:.1f} ms at memory bandwidth"
        )
        for name in list(products)[1:]:
            median, ratio = result.timings[name].median, result.ratio(name, "gnnlab")
            lines.append(f"    {name:<18} {median * 1e3:9.1f} ms   {ratio:5.1f} times ours")
    return lines


def _both_ways(product: Product, x: Tensor, grad: Tensor) -> Tensor:
    (found,) = torch.autograd.grad(product(x), x, grad)
    return found


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
