"""Everything that takes a GPU: equality with the CPU, what repeats to the bit, the sparse product's time and memory."""

import argparse
from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import torch
from torch import Tensor

import gnnlab
from gnnlab.bench import records
from gnnlab.bench.records import Record, Row, Section
from gnnlab.bench.spmm import COLD, OURS, candidates, compare_products, random_matrix
from gnnlab.nn import EdgeConv, GCNConv, GINConv, GINEConv, SAGEConv
from gnnlab.profile import bandwidth, determinism
from gnnlab.sparse import SparseTensor
from gnnlab.sparse.spmm import spmm

#: Where runs on GPUs are kept, a file each: `record.json` of `--out` under a name of its own.
RECORDS = Path(__file__).with_name("records") / "gpu"

REDUCTIONS = ("sum", "mean", "min", "max")

#: How far results may be from the CPU's, as a share of the largest number.
LIMITS = {"float64": 1e-12, "float32": 1e-5, "float16": 2e-3, "bfloat16": 1.6e-2, "int64": 0.0}


@dataclass(frozen=True)
class Sizes:
    """What is measured.

    Attributes:
        small: nodes, edges and features for equality. repeats: the same for what repeats.
        runs: how often that is run.
        nodes, edges, widths: of the products that are timed, each number of edges with each width.
        repeat: measurements of each.
    """

    small: tuple[int, int, int] = (3000, 40_000, 64)
    repeats: tuple[int, int, int] = (20_000, 200_000, 64)
    runs: int = 10
    nodes: int = 100_000
    edges: tuple[int, ...] = (2_000_000, 10_000_000)
    widths: tuple[int, ...] = (64, 256)
    repeat: int = 15


QUICK = Sizes((60, 2500, 8), (50, 400, 8), 3, 300, (3000,), (8, 16), 3)


def recorded() -> Record | None:
    """The last run on a GPU, at full size, that is kept in `RECORDS`; None if there is none."""
    return records.latest(RECORDS, lambda record: record.kind == "cuda" and not record.quick)


# Equality with the CPU ------------------------------------------------------------------------------------------------


def equality(device: str, sizes: Sizes) -> Section:
    """Products of every reduction and dtype, and a layer of each kind, forward and backward, here and on the CPU.

    On device 'cpu' torch's backend is compared with ours.
    """
    rows = [
        _product_row(device, sizes, dtype, reduce, weighted)
        for dtype in LIMITS
        for reduce in (REDUCTIONS if dtype != "int64" else ("sum", "min", "max"))
        for weighted in ((False, True) if dtype == "float32" else (True,))
    ]
    rows += [_layer_row(device, sizes, name, edges) for name in _layers(1) for edges in ("adj_t", "edge_index")]
    return Section(
        "Equal to the CPU",
        tuple(rows),
        "Largest difference over the largest number. One row has half of all entries; many numbers tie.",
    )


def _skewed(nodes: int, edges: int) -> SparseTensor:
    """A random matrix whose first row has half of all entries; the last row and column have none."""
    generator = torch.Generator().manual_seed(0)
    row, col = torch.randint(0, nodes - 1, (2, edges), generator=generator)
    row[: edges // 2] = 0
    return SparseTensor.from_edge_index(torch.stack([row, col]), sparse_sizes=(nodes, nodes))


def _exact(*size: int, dtype: torch.dtype, seed: int) -> Tensor:
    """Few different numbers, that tie and whose products are exact in every dtype."""
    numbers = torch.randint(-3, 4, size, generator=torch.Generator().manual_seed(seed))
    return numbers.to(dtype) / 4 if dtype.is_floating_point else numbers.to(dtype)


def _product_row(device: str, sizes: Sizes, dtype: str, reduce: str, weighted: bool) -> Row:
    nodes, edges, width = sizes.small
    kind = getattr(torch, dtype)
    adj, x, grad = _skewed(nodes, edges), *(_exact(nodes, width, dtype=kind, seed=seed) for seed in (1, 2))
    value = _exact(edges, dtype=kind, seed=3) if weighted else None
    results = []
    for place, backend in (("cpu", "numba"), (device, "torch" if device == "cpu" else "triton")):
        leaves = [part.to(place, copy=True) for part in (x, value) if part is not None]
        for leaf in leaves:
            leaf.requires_grad_(kind.is_floating_point)
        out = spmm(adj.to(place).set_value(leaves[1] if weighted else None), leaves[0], reduce, backend=backend)
        grads = torch.autograd.grad(out, leaves, grad.to(place)) if kind.is_floating_point else ()
        results.append([out, *grads])
    weights = "weighted" if weighted else "unweighted"
    return _differences(f"spmm {reduce}, {weights}", dtype, *results)


def _layers(width: int) -> dict[str, torch.nn.Module]:
    return {
        "GCNConv": GCNConv(width, 8),
        "SAGEConv": SAGEConv(width, 8),
        "SAGEConv max": SAGEConv(width, 8, aggr="max"),
        "GINConv": GINConv(torch.nn.Linear(width, 8)),
        "GINEConv": GINEConv(torch.nn.Linear(width, 8)),
        "EdgeConv": EdgeConv(torch.nn.Linear(2 * width, 8)),
    }


def _layer_row(device: str, sizes: Sizes, name: str, edges: str) -> Row:
    nodes, num_edges, width = sizes.small
    torch.manual_seed(0)
    layer = _layers(width)[name].double()
    adj_t, x = random_matrix(nodes, num_edges), torch.randn(nodes, width, dtype=torch.float64)
    attr = torch.randn(num_edges, width, dtype=torch.float64) if name == "GINEConv" else None
    results = []
    for place in ("cpu", device):
        here, own = x.to(place, copy=True).requires_grad_(), deepcopy(layer).to(place)
        held = None if attr is None else attr.to(place)
        if edges == "adj_t":
            out = own(here, adj_t.to(place).set_value(held))
        else:
            row, col, _ = adj_t.to(place).coo()
            out = own(here, torch.stack([col, row]), *(() if held is None else (held,)))
        results.append([out, *torch.autograd.grad(out.square().sum(), [here, *own.parameters()])])
    return _differences(f"{name}, {edges}", "float64", *results)


def _differences(what: str, dtype: str, expected: list[Tensor], found: list[Tensor]) -> Row:
    """A row of the largest differences, each as a share of the largest number."""
    shares = []
    for here, there in zip(expected, found, strict=True):
        one, two = here.detach().double(), there.detach().cpu().double()
        shares.append(float((two - one).abs().max() / one.abs().max().clamp(min=1)))
    return {
        "what": what,
        "dtype": dtype,
        "forward": shares[0],
        "backward": max(shares[1:], default=None),
        "limit": LIMITS[dtype],
        "equal": all(share <= LIMITS[dtype] for share in shares),
    }


# What repeats ---------------------------------------------------------------------------------------------------------


def repeats(device: str, sizes: Sizes) -> Section:
    """Operations run again and again, with and without `gnnlab.deterministic()`: whether all bits are the same."""
    nodes, edges, width = sizes.repeats
    generator = torch.Generator().manual_seed(0)
    adj = random_matrix(nodes, edges).to(device)
    inputs = {
        "x": torch.randn(nodes, width, generator=generator).to(device),
        "messages": torch.randn(edges, width, generator=generator).to(device),
        "value": torch.rand(edges, generator=generator).to(device),
    }
    rows = []
    for name, (function, used) in _operations(adj, width).items():
        for switched in (False, True):
            given = {each: inputs[each] for each in used}
            rows.append(
                {
                    "operation": name,
                    "gnnlab.deterministic()": switched,
                    **_repeated(function, given, switched, sizes.runs),
                }
            )
    return Section(
        "Equal bits, run after run",
        tuple(rows),
        f"{nodes:,} nodes, {edges:,} edges, {width} features, float32, {sizes.runs} runs. "
        "'refused': torch raises an error rather than add in any order.",
    )


def _operations(adj: SparseTensor, width: int) -> Mapping[str, tuple[Callable[..., Tensor], tuple[str, ...]]]:
    """By name a function and the names of the inputs that it takes."""
    row, rowptr, col = adj.storage.row(), adj.storage.rowptr(), adj.storage.col()
    index, size = row.unsqueeze(1).expand(-1, width), adj.size(0)

    def gathered(x: Tensor) -> Tensor:
        return x.new_zeros(size, width).scatter_add(0, index, x[col])

    def extreme(messages: Tensor) -> Tensor:
        return messages.new_zeros(size, width).scatter_reduce(0, index, messages, "amax", include_self=False)

    def csr(x: Tensor, value: Tensor) -> Tensor:
        matrix = torch.sparse_csr_tensor(rowptr, col, value.detach(), adj.sparse_sizes(), check_invariants=False)
        return matrix @ x

    def ours(x: Tensor, value: Tensor, reduce: str, backend: str | None = None) -> Tensor:
        return spmm(adj.set_value(value), x, reduce, backend=backend)

    return {
        "scatter_add": (
            lambda messages: messages.new_zeros(size, width).scatter_add(0, index, messages),
            ("messages",),
        ),
        "index_add": (lambda messages: messages.new_zeros(size, width).index_add(0, row, messages), ("messages",)),
        "scatter_reduce, amax": (extreme, ("messages",)),
        "gather, scatter_add": (gathered, ("x",)),
        "torch.sparse CSR @ x": (csr, ("x", "value")),
        **{f"spmm, {reduce}": (partial(ours, reduce=reduce), ("x", "value")) for reduce in REDUCTIONS},
        "spmm, max, by torch": (partial(ours, reduce="max", backend="torch"), ("x", "value")),
    }


def _repeated(function: Callable[..., Tensor], inputs: dict[str, Tensor], switched: bool, runs: int) -> Row:
    """Whether forward and backward gave the same bits each time, and how far apart they were."""
    try:
        if switched:
            with gnnlab.deterministic():
                found = determinism(function, runs, vary=(), inputs=inputs)
        else:
            found = determinism(function, runs, vary=(), inputs=inputs)
    except RuntimeError as error:
        if not switched or "deterministic" not in str(error):
            raise
        return {"forward": "refused", "backward": "refused", "ulps": None}
    parts = {row.part: "equal" if row.equal else f"{row.differing} of {row.runs} differ" for row in found.rows}
    return {"forward": parts["forward"], "backward": parts.get("backward", ""), "ulps": max(r.ulps for r in found.rows)}


# Time -----------------------------------------------------------------------------------------------------------------


def times(device: str, sizes: Sizes) -> Section:
    """The product by every candidate, forward alone and with the gradient, after a check that all agree."""
    speed = bandwidth(2**31 if device == "cuda" else 2**24, device=device)
    rows: list[Row] = []
    for edges in sizes.edges:
        adj = random_matrix(sizes.nodes, edges).to(device)
        for width in sizes.widths:
            found = compare_products(adj, width, sizes.repeat, speed)
            for name, both in found.both.timings.items():
                forward = found.forward.timings.get(name)
                rows.append(
                    {
                        "edges": edges,
                        "features": width,
                        "by": name,
                        "forward, ms": None if forward is None else 1e3 * forward.median,
                        "/ ours": None if forward is None else found.forward.ratio(name, OURS),
                        "of bandwidth": None if forward is None else found.moved / speed / forward.median,
                        "forward + backward, ms": 1e3 * both.median,
                        "both / ours": found.both.ratio(name, OURS),
                    }
                )
    return Section(
        "Time of the product",
        tuple(rows),
        f"{sizes.nodes:,} nodes, float32, no weights. Bandwidth measured by copying: {speed / 1e9:.0f} GB/s. "
        "'of bandwidth': the time to read a row for each entry and write the result at that rate, over the time taken; "
        f"above 1 the cache gave some of the rows. '{COLD}' sorts the entries by column again.",
    )


# Memory ---------------------------------------------------------------------------------------------------------------


def memory(device: str, sizes: Sizes) -> Section:
    """The most memory that a product and gather-scatter take beside their operands, predicted and measured."""
    nodes, edges, width = sizes.nodes, sizes.edges[0], sizes.widths[-1]
    adj = random_matrix(nodes, edges).to(device)
    x = torch.randn(nodes, width, device=device, requires_grad=True)
    grad = torch.ones_like(x)
    out, messages = x.nbytes, 4 * edges * width
    pieces = 2 * -(-edges // 1024) * 4 * width if device == "cuda" else 0
    ways = candidates(adj)
    rows = []
    for name, beside in ((OURS, pieces), ("gather-scatter", messages)):
        for both in (False, True):
            predicted = (1 + both) * out + beside
            measured = (
                _most(partial(_both_ways if both else _forward, ways[name], x, grad)) if device == "cuda" else None
            )
            rows.append(
                {
                    "by": name,
                    "pass": "forward + backward" if both else "forward",
                    "predicted, MiB": predicted / 2**20,
                    "measured, MiB": None if measured is None else measured / 2**20,
                    "measured / predicted": None if measured is None else measured / predicted,
                }
            )
    return Section(
        "Memory beside the operands",
        tuple(rows),
        f"{nodes:,} nodes, {edges:,} edges, {width} features, float32. Predicted: the result, for the gradient one "
        "more, and for each edge a message, or with ours 1/512 of one."
        + ("" if device == "cuda" else " Nothing is measured without a GPU."),
    )


def _forward(product: Callable[[Tensor], Tensor], x: Tensor, grad: Tensor) -> None:
    product(x.detach())


def _both_ways(product: Callable[[Tensor], Tensor], x: Tensor, grad: Tensor) -> None:
    torch.autograd.grad(product(x), x, grad)


def _most(work: Callable[[], None]) -> int:
    """The most bytes on the GPU while `work` runs for the second time, beyond those before it."""
    work()
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    work()
    torch.cuda.synchronize()
    return int(torch.cuda.max_memory_allocated() - before)


# All of it ------------------------------------------------------------------------------------------------------------

SECTIONS: dict[str, Callable[[str, Sizes], Section]] = {
    "equality": equality,
    "repeats": repeats,
    "times": times,
    "memory": memory,
}


def main(argv: list[str]) -> int:
    """Measure, print, and write `record.json` and `record.md`; 1 if something is not equal. See `--help`."""
    parser = argparse.ArgumentParser(prog="python -m gnnlab.bench gpu", description=__doc__)
    parser.add_argument("--out", type=Path, required=True, help="folder for record.json and record.md")
    parser.add_argument("--quick", action="store_true", help="small sizes: seconds")
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda", help="cpu: try the script without a GPU")
    parser.add_argument("--only", nargs="+", choices=SECTIONS, default=list(SECTIONS), help="some of the sections")
    parser.add_argument("--commit", help="the package's commit (default: that of the checkout, where there is git)")
    options = parser.parse_args(argv)
    if options.device == "cuda" and not torch.cuda.is_available():
        parser.error("--device: expected a GPU, found none; `--device cpu --quick` tries the script without")
    sizes = QUICK if options.quick else Sizes()
    record = records.start(options.device, options.commit, options.quick)
    print(record)
    for name in options.only:
        section = SECTIONS[name](options.device, sizes)
        record = replace(record, sections={**record.sections, name: section})
        record.save(options.out)
        print(f"\n{section.title}\n{section}", flush=True)
    unequal = [row["what"] for row in record.sections.get("equality", Section("", ())).rows if not row["equal"]]
    if unequal:
        print("\nnot equal to the CPU:", *unequal, sep="\n  ")
    return int(bool(unequal))
