"""The backends of the sparse product beside each other, on this device: the table that chooses the default."""

import argparse
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial

import torch
from torch import Tensor

from gnnlab.bench.spmm import random_matrix
from gnnlab.profile import compare, machine
from gnnlab.sparse import SparseTensor, measured
from gnnlab.sparse.backends import table
from gnnlab.sparse.measured import Product, Run, Table
from gnnlab.sparse.spmm import spmm

#: Rows, entries and columns of the products: small, one column, larger than a cache.
SIZES = ((1000, 8000, 16), (5000, 50_000, 1), (10_000, 100_000, 64))

DTYPES = ("float32", "float64", "bfloat16", "float16", "int64")

#: What multiplies on a kind of device.
CANDIDATES = {"cpu": ("numba", "torch"), "cuda": ("triton", "torch")}

#: The packages whose versions stand beside the times.
_PACKAGES = ("python", "torch", "numba", "triton")


def product(adj: SparseTensor, x: Tensor, reduce: str, backend: str) -> Tensor:
    """Multiply, and where `x` requires a gradient form that and the values' gradient too."""
    out = spmm(adj, x, reduce, backend=backend)
    value = adj.storage.value()
    if x.requires_grad and value is not None:
        torch.autograd.grad(out, [x, value], torch.ones_like(out))
    return out


def measure_products(device: str, sizes: Sequence[tuple[int, int, int]] = SIZES, repeat: int = 5) -> Table:
    """Check that the backends agree, and time them by turns.

    device: 'cpu' or 'cuda'. sizes: rows, entries and columns. repeat: measurements of each.
    """
    products = []
    for dtype in DTYPES:
        kind = getattr(torch, dtype)
        for rows, entries, width in sizes:
            adj = random_matrix(rows, entries).to(device).set_value(torch.ones(entries, dtype=kind, device=device))
            x = torch.randint(-8, 8, (rows, width), generator=torch.Generator().manual_seed(0)).to(device, kind)
            if kind.is_floating_point:
                adj.requires_grad_()
                x.requires_grad_()
            for reduce in ("sum", "mean", "min", "max") if kind.is_floating_point else ("sum", "min", "max"):
                ways = {name: partial(product, adj, x, reduce, name) for name in CANDIDATES[device]}
                first, second = (way() for way in ways.values())
                torch.testing.assert_close(first, second)
                found = compare(ways, repeat, number=min(10, max(1, 100_000 // entries)))
                seconds = {name: round(timing.median, 9) for name, timing in found.timings.items()}
                products.append(Product(dtype, reduce, rows, entries, width, seconds))
    here = machine()
    versions = {name: here.versions[name] for name in _PACKAGES if name in here.versions}
    name = here.cpu if device == "cpu" else here.accelerator
    return Table({device: Run(name, f"{datetime.now(UTC):%Y-%m-%d}", versions, tuple(products))})


def main(argv: list[str]) -> int:
    """Measure and print; see `--help`."""
    parser = argparse.ArgumentParser(prog="python -m gnnlab.bench backends", description=__doc__)
    parser.add_argument("--device", choices=CANDIDATES, default="cpu", help="kind of device (default: cpu)")
    parser.add_argument("--repeat", type=int, default=5, help="measurements of each, alternating (default: 5)")
    parser.add_argument("--write", action="store_true", help="keep the table: it decides from the next start on")
    options = parser.parse_args(argv)
    if options.device == "cuda" and not torch.cuda.is_available():
        parser.error("--device: expected a kind of device that is here, found 'cuda' without a GPU")
    found = measure_products(options.device, repeat=options.repeat)
    kept = replace(found, runs={**table().runs, **found.runs})
    print(kept)
    if options.write:
        measured.write(kept)
    return 0
