"""Random graphs of every make, for property tests.

A list of graphs shares one plan: which attributes there are, of which kind, dtype and shape. What
is drawn for each graph is its size and its values.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from hypothesis import strategies as st
from torch import Tensor

from gnnlab.data import Data, HeteroData
from gnnlab.sparse import SparseTensor, from_parts

FLOATS = (torch.float32, torch.float64, torch.float16, torch.bfloat16)
DTYPES = (
    *FLOATS,
    torch.complex64,
    torch.bool,
    torch.uint8,
    torch.int8,
    torch.int16,
    torch.int32,
    torch.int64,
)
SPARSE_KINDS = ("coo", "csr", "csc", "SparseTensor")

NODE_NAMES = ("x", "pos", "node_feature", "z", "train_mask", "time")
EDGE_NAMES = ("edge_attr", "edge_weight", "edge_type", "w")
GRAPH_NAMES = ("y", "target", "two words", "größe", "class")
PLAIN_NAMES = ("number", "flag", "name", "meta", "parts", "pair", "words")

NODE_TYPES = ("paper", "author")
EDGE_TYPES = (
    ("paper", "cites", "paper"),
    ("author", "writes", "paper"),
    ("paper", "rev_writes", "author"),
)

MAX_NODES = 5
MAX_EDGES = 6


@dataclass(frozen=True)
class Sizes:
    """What the values of one storage of one graph are sized by."""

    num_nodes: int
    num_edges: int
    num_sources: int
    num_targets: int


#: Makes the value of an attribute for a graph of the given sizes.
Maker = Callable[[Sizes, np.random.Generator], Any]


def graphs(**kwargs: Any) -> st.SearchStrategy[Data]:
    """One homogeneous graph; options as for `graph_lists`."""
    return graph_lists(max_size=1, **kwargs).map(lambda found: found[0])


def hetero_graphs(**kwargs: Any) -> st.SearchStrategy[HeteroData]:
    """One heterogeneous graph; options as for `graph_lists`."""
    return graph_lists(max_size=1, hetero=True, **kwargs).map(lambda found: found[0])


@st.composite
def graph_lists(
    draw: st.DrawFn,
    min_size: int = 1,
    max_size: int = 4,
    hetero: bool = False,
    sparse: tuple[str, ...] = (),
    optional: bool = False,
    missing_types: bool = False,
    requires_grad: bool = False,
) -> list[Any]:
    """Graphs of one plan: any mix of attributes, some graphs empty, some without edges.

    Args:
        min_size, max_size: number of graphs.
        hetero: `HeteroData` rather than `Data`.
        sparse: kinds of sparse matrices that may occur, of `SPARSE_KINDS`.
        optional: some attributes are missing in some graphs.
        missing_types: some node and edge types are missing in some graphs (`hetero` only).
        requires_grad: some floating-point tensors require gradients.
    """
    options = {"sparse": sparse, "requires_grad": requires_grad, "counted": optional}
    if hetero:
        node_types = draw(_some(NODE_TYPES, min_size=1))
        joinable = [key for key in EDGE_TYPES if key[0] in node_types and key[2] in node_types]
        edge_types = draw(_some(joinable))
        plans: dict[Any, dict[str, Maker]] = {None: draw(_plan("graph", **options))}
        plans |= {key: draw(_plan("node", **options)) for key in node_types}
        plans |= {key: draw(_plan("edge", **options)) for key in edge_types}
    else:
        plans = {None: draw(_plan("all", **options))}

    found: list[Any] = []
    for _ in range(draw(st.integers(min_size, max_size))):
        rng = np.random.default_rng(draw(st.integers(0, 2**16)))
        counts = {key: draw(st.integers(0, MAX_NODES)) for key in plans if isinstance(key, str)}
        counts[None] = draw(st.integers(0, MAX_NODES))
        absent = draw(st.sets(st.sampled_from(NODE_TYPES + EDGE_TYPES))) if missing_types else set()
        graph = HeteroData() if hetero else Data()
        for key, plan in plans.items():
            ends = (key[0], key[2]) if isinstance(key, tuple) else (key, key)
            if absent.intersection((key, *ends)):
                continue
            sources, targets = (counts[end] for end in ends)
            num_edges = draw(st.integers(0, MAX_EDGES)) if sources and targets else 0
            sizes = Sizes(sources, num_edges, sources, targets)
            dropped = draw(st.sets(st.sampled_from(sorted(plan)))) if optional and plan else set()
            if dropped == set(plan):
                dropped = set()  # a type without any attribute could not be told from a missing one
            store = graph if key is None else graph[key]
            for name, make in plan.items():
                if name not in dropped - {"num_nodes", "edge_index"}:
                    store[name] = make(sizes, rng)
        found.append(graph)
    return found


@st.composite
def _plan(draw: st.DrawFn, level: str, sparse: tuple[str, ...], requires_grad: bool, counted: bool) -> dict[str, Maker]:
    """Attributes by name, of the nodes, of the edges, of the graph, or of all three.

    If they are `counted`, the number of nodes is always among them.
    """
    grad = st.booleans() if requires_grad else st.just(False)
    plan: dict[str, Maker] = {}
    if level in ("node", "all"):
        for name in draw(_some(NODE_NAMES)):
            plan[name] = draw(_tensor(lambda sizes, rng: sizes.num_nodes, grad))
        if counted or not {"x", "pos", "node_feature"} & set(plan) or draw(st.booleans()):
            plan["num_nodes"] = lambda sizes, rng: sizes.num_nodes
    if level in ("edge", "all") and (level == "edge" or draw(st.booleans())):
        plan["edge_index"] = _edge_index
        for name in draw(_some(EDGE_NAMES)):
            plan[name] = draw(_tensor(lambda sizes, rng: sizes.num_edges, grad))
        if draw(st.booleans()):
            plan["edge_label_index"] = _edge_index
    if level == "all" and draw(st.booleans()):
        plan["ring_index"] = _ring_index
    if level in ("graph", "all"):
        for name in draw(_some(GRAPH_NAMES)):
            plan[name] = draw(_tensor(lambda sizes, rng: int(rng.integers(0, 3)), grad))
        if draw(st.booleans()):
            plan["scalar"] = draw(_scalar())
        for name in draw(_some(PLAIN_NAMES)):
            plan[name] = draw(_plain(name))
    if sparse and level != "graph" and draw(st.booleans()):
        kind = draw(st.sampled_from(sparse))
        if level == "node":
            plan["features"] = _sparse(kind, lambda sizes: (sizes.num_nodes, 3))
        else:
            plan["adj_t"] = _sparse(kind, lambda sizes: (sizes.num_targets, sizes.num_sources))
    return plan


def _some(names: Any, min_size: int = 0) -> st.SearchStrategy[list[Any]]:
    if not names:
        return st.just([])
    return st.lists(st.sampled_from(names), min_size=min_size, max_size=3, unique=True)


@st.composite
def _tensor(
    draw: st.DrawFn,
    rows: Callable[[Sizes, np.random.Generator], int],
    grad: st.SearchStrategy[bool],
) -> Maker:
    dtype = draw(st.sampled_from(DTYPES))
    rest = draw(st.sampled_from([(), (1,), (3,), (0,), (2, 2)]))
    track = draw(grad) and (dtype.is_floating_point or dtype.is_complex)

    def make(sizes: Sizes, rng: np.random.Generator) -> Tensor:
        return values((rows(sizes, rng), *rest), dtype, rng).requires_grad_(track)

    return make


@st.composite
def _scalar(draw: st.DrawFn) -> Maker:
    dtype = draw(st.sampled_from(DTYPES))
    return lambda sizes, rng: values((), dtype, rng)


@st.composite
def _plain(draw: st.DrawFn, name: str) -> Maker:
    """A number, a string or something nested."""
    if name in ("meta", "parts", "pair"):
        never = st.just(False)
        first = draw(_tensor(lambda sizes, rng: sizes.num_nodes, never))
        second = draw(_tensor(lambda sizes, rng: int(rng.integers(0, 3)), never))
        if name == "meta":
            return lambda sizes, rng: {
                "first": first(sizes, rng),
                "inner": {"second": second(sizes, rng), "length": int(rng.integers(9))},
            }
        kind = list if name == "parts" else tuple
        return lambda sizes, rng: kind([first(sizes, rng), second(sizes, rng)])
    makers: dict[str, Maker] = {
        "number": lambda sizes, rng: float(np.float32(rng.normal())),
        "flag": lambda sizes, rng: bool(rng.integers(2)),
        "name": lambda sizes, rng: "".join(rng.choice(list("abcä '\n"), rng.integers(5))),
        "words": lambda sizes, rng: [f"word{i}" for i in range(rng.integers(3))],
    }
    return makers[name]


def _edge_index(sizes: Sizes, rng: np.random.Generator) -> Tensor:
    rows = [rng.integers(0, max(n, 1), sizes.num_edges) for n in (sizes.num_sources, sizes.num_targets)]
    return torch.from_numpy(np.stack(rows))


def _ring_index(sizes: Sizes, rng: np.random.Generator) -> Tensor:
    """Node ids, as many as there happen to be."""
    length = rng.integers(0, 4) if sizes.num_nodes else 0
    return torch.from_numpy(rng.integers(0, max(sizes.num_nodes, 1), (2, length)))


def _sparse(kind: str, size_of: Callable[[Sizes], tuple[int, int]]) -> Maker:
    """A sparse matrix with entries in every order its layout knows; COO with duplicates."""

    def make(sizes: Sizes, rng: np.random.Generator) -> Any:
        rows, cols = size_of(sizes)
        nnz = int(rng.integers(0, 6)) if rows and cols else 0
        row = torch.from_numpy(rng.integers(0, max(rows, 1), nnz))
        col = torch.from_numpy(rng.integers(0, max(cols, 1), nnz))
        value = values((nnz,), torch.float32, rng)
        if kind == "coo":
            parts = {"indices": torch.stack([row, col]), "values": value}
            made = {"kind": kind, "sizes": [rows, cols], "is_coalesced": False}
            return from_parts(made, parts)
        cells = torch.unique(row * max(cols, 1) + col)  # each cell once, row by row
        row, col, value = cells // max(cols, 1), cells % max(cols, 1), value[: cells.numel()]
        if kind == "SparseTensor":
            return SparseTensor(row=row, col=col, value=value, sparse_sizes=(rows, cols))
        outer, inner, size = (row, col, rows) if kind == "csr" else (col, row, cols)
        order = torch.argsort(outer, stable=True)
        pointer = torch.zeros(size + 1, dtype=torch.long)
        pointer[1:] = torch.bincount(outer, minlength=size).cumsum(0)
        parts = {"ptr": pointer, "index": inner[order], "values": value[order]}
        return from_parts({"kind": kind, "sizes": [rows, cols]}, parts)

    return make


def values(shape: tuple[int, ...], dtype: torch.dtype, rng: np.random.Generator) -> Tensor:
    """Random numbers that every dtype holds exactly; some floats are NaN or infinite."""
    if dtype == torch.bool:
        return torch.from_numpy(np.asarray(rng.integers(0, 2, shape))).bool()
    if dtype.is_complex:
        return torch.complex(*(values(shape, torch.float32, rng) for _ in range(2))).to(dtype)
    low = 0 if dtype == torch.uint8 else -9
    out = torch.from_numpy(np.asarray(rng.integers(low, 10, shape)))
    if not dtype.is_floating_point:
        return out.to(dtype)
    out = (out / 4).to(dtype)
    odd = torch.from_numpy(np.asarray(rng.random(shape)))
    return torch.where(odd < 0.05, float("nan"), torch.where(odd > 0.97, float("inf"), out))
