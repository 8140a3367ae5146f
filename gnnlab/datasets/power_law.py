"""A made-up directed graph of any size whose in-degrees follow a power law."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.random import Philox

from gnnlab.data import Data, InMemoryDataset

# A chunk has about so many edges, and at most so many nodes.
_CHUNK_EDGES, _CHUNK_NODES = 1 << 20, 1 << 16

# Each use of random numbers has a stream of its own.
_EDGES, _FEATURES, _CENTRES = range(3)


class PowerLaw(InMemoryDataset):
    """One directed graph of few hubs and many nodes of low degree, to measure samplers on.

    The node with the r-th largest in-degree has one proportional to r^(-1/2). So the share p of the
    nodes with the largest in-degrees has the share √p of the edges (the first hundredth has a
    tenth), and the number of nodes of in-degree k falls as k^-3, as in the model of Barabási and
    Albert (1999). Sources are drawn with the same skew, half of them among the nodes of the
    target's class. Hubs are spread over the node ids. There are exactly `num_edges` edges, no
    self-loops and no repeated edges.

    The graph depends on the arguments only, not on the machine, and is made in chunks that do not
    depend on each other (`power_law_chunk`): ten million edges in a few seconds, with little memory
    beside the result.

    Args:
        num_nodes: number of nodes.
        num_edges: number of edges, at most about `num_nodes ** 1.5 / 2`: the largest in-degree,
            `num_edges / sqrt(num_nodes)`, may be half of `num_nodes`.
        num_features: number of node features; 0 for none.
        num_classes: number of node classes; 0 for none.
        seed: what the random numbers depend on.
        transform: applied to the graph at every access.

    Raises:
        ValueError: if there are too many edges for the nodes, or a number is out of its range.

    The graph holds `edge_index: [2, num_edges] int64`, sorted by target and then by source,
    `x: [num_nodes, num_features] float32`, the centre of the node's class plus noise, and
    `y: [num_nodes] int64`, the class.
    """

    def __init__(
        self,
        num_nodes: int,
        num_edges: int,
        num_features: int = 32,
        num_classes: int = 10,
        seed: int = 0,
        transform: Callable[[Data], Any] | None = None,
    ) -> None:
        super().__init__(None, transform)
        sizes = PowerLawSizes(num_nodes, num_edges, num_features, num_classes)
        edge_index = np.empty((2, num_edges), dtype=np.int64)
        x = np.empty((num_nodes, num_features), dtype=np.float32)
        y = np.empty(num_nodes, dtype=np.int64)
        begin = 0
        for number in range(sizes.num_chunks):
            chunk = power_law_chunk(sizes, number, seed)
            nodes = np.arange(chunk.start, chunk.start + len(chunk.y))
            end = begin + len(chunk.source)
            edge_index[0, begin:end] = chunk.source
            edge_index[1, begin:end] = np.repeat(nodes, chunk.in_degree)
            x[nodes], y[nodes] = chunk.x, chunk.y
            begin = end
        data = Data(edge_index=torch.from_numpy(edge_index))
        if num_features > 0:
            data.x = torch.from_numpy(x)
        else:
            data.num_nodes = num_nodes
        if num_classes > 0:
            data.y = torch.from_numpy(y)
        self.data, self.slices = self.collate([data])


@dataclass(frozen=True)
class PowerLawSizes:
    """The sizes of a `PowerLaw` graph; checked."""

    num_nodes: int
    num_edges: int
    num_features: int = 32
    num_classes: int = 10

    def __post_init__(self) -> None:
        if not 0 < self.num_nodes < 2**31 or min(self.num_edges, self.num_features, self.num_classes) < 0:
            raise ValueError(f"expected 0 < num_nodes < 2**31 and nothing negative, found {self}")
        largest = math.ceil(self.num_edges / math.sqrt(self.num_nodes))
        if 2 * largest > self.num_nodes:
            raise ValueError(
                f"too many edges: the largest in-degree would be {largest}, "
                f"expected at most half of the nodes, found {self}"
            )

    @property
    def chunk_nodes(self) -> int:
        """Number of nodes in every chunk but the last."""
        return max(1, min(_CHUNK_NODES, _CHUNK_EDGES * self.num_nodes // max(self.num_edges, 1)))

    @property
    def num_chunks(self) -> int:
        """Number of chunks the graph is made in."""
        return -(-self.num_nodes // self.chunk_nodes)


@dataclass(frozen=True)
class PowerLawChunk:
    """The n nodes from `start` on, with the edges that end at them.

    in_degree: [n] int64. Number of edges that end at each node.
    source: [in_degree.sum()] int64. Where these edges begin, node by node, sorted within each.
    x: [n, num_features] float32. Node features.
    y: [n] int64. Node classes, 0 if there are none.
    """

    start: int
    in_degree: np.ndarray
    source: np.ndarray
    x: np.ndarray
    y: np.ndarray


def power_law_chunk(sizes: PowerLawSizes, number: int, seed: int) -> PowerLawChunk:
    """Chunk `number`, from 0 to `sizes.num_chunks - 1`, of the `PowerLaw` graph, by itself.

    Raises:
        ValueError: if `seed` isn't in the range of an unsigned 64-bit number.
    """
    if not 0 <= seed < 2**64:
        raise ValueError(f"seed: expected 0 <= seed < 2**64, found {seed}")
    num_nodes, num_classes = sizes.num_nodes, max(sizes.num_classes, 1)
    start = number * sizes.chunk_nodes
    nodes = np.arange(start, min(start + sizes.chunk_nodes, num_nodes))

    # The node of rank r (by in-degree, 0 first) is (r * factor + shift) % num_nodes: a permutation
    # that needs no table.
    factor, shift = _coprime(num_nodes), seed % num_nodes
    rank = (nodes - shift) * pow(factor, -1, num_nodes) % num_nodes
    y = rank % num_classes

    # Ranks 0 to r - 1 have num_edges * sqrt(r / num_nodes) edges, rounded down. Square roots are
    # exact to the last bit everywhere.
    edges_up_to = [(sizes.num_edges * np.sqrt(r / num_nodes)).astype(np.int64) for r in (rank, rank + 1)]
    in_degree = edges_up_to[1] - edges_up_to[0]

    bits = _stream(seed, number, _EDGES)
    edges = np.empty(0, dtype=np.int64)  # place of the target in the chunk * num_nodes + source
    missing = in_degree
    while missing.any():
        target = np.repeat(np.arange(len(nodes)), missing)
        raw = bits.random_raw(len(target))
        uniform = (raw >> np.uint64(11)) * 2.0**-53
        source_rank = (num_nodes * (uniform * uniform)).astype(np.int64)
        in_class = source_rank - source_rank % num_classes + y[target]
        move = (raw & np.uint64(1) == 1) & (in_class < num_nodes)  # a bit that `uniform` leaves out
        source = (np.where(move, in_class, source_rank) * factor + shift) % num_nodes
        drawn = (target * num_nodes + source)[source != nodes[target]]
        edges = np.sort(np.concatenate([edges, drawn]))
        edges = edges[np.diff(edges, prepend=-1) > 0]  # np.unique hashes, and is 50 times slower
        missing = in_degree - np.bincount(edges // num_nodes, minlength=len(nodes))

    centres = _symmetric(_stream(seed, 0, _CENTRES), num_classes, sizes.num_features)
    noise = _symmetric(_stream(seed, number, _FEATURES), len(nodes), sizes.num_features)
    x = centres[y] + np.float32(math.sqrt(3)) * noise  # noise of variance 1
    return PowerLawChunk(start, in_degree, edges % num_nodes, x, y)


def _coprime(number: int) -> int:
    """A number near 0.618 * `number` without a common divisor: its multiples are well spread."""
    factor = max(1, round(0.618 * number))
    while math.gcd(factor, number) > 1:
        factor += 1
    return factor


def _stream(seed: int, chunk: int, use: int) -> Philox:
    """Random bits that depend on the arguments only: raw output is the same in every NumPy."""
    key = np.array([seed, chunk], dtype=np.uint64)
    return Philox(key=key, counter=np.array([0, 0, 0, use], dtype=np.uint64))


def _symmetric(bits: Philox, rows: int, columns: int) -> np.ndarray:
    """Uniform numbers in [-1, 1), [rows, columns] float32, two from each draw of 64 bits."""
    raw = np.asarray(bits.random_raw(-(-rows * columns // 2)), dtype="<u8").view("<u4")[: rows * columns]
    return ((raw >> 8).astype(np.float32) * np.float32(2**-23) - np.float32(1)).reshape(rows, columns)
