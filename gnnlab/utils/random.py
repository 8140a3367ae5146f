"""Random graphs, in time and memory of the edges that come out."""

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from gnnlab.utils._checks import check_probability
from gnnlab.utils._distinct import below_diagonal, random_below
from gnnlab.utils._sort import sort_edge_index
from gnnlab.utils.undirected import to_undirected


def erdos_renyi_graph(
    num_nodes: int,
    edge_prob: float,
    directed: bool = False,
    *,
    generator: torch.Generator | None = None,
) -> Tensor:
    """A graph in which each pair of nodes is joined with probability `edge_prob` (Erdős and Rényi, 1959; Gilbert,
    1959).

    directed: decide for each direction by itself; otherwise each edge comes with its reverse. There are no self-loops.

    Returns [2, num_edges] int64, sorted. Raises ValueError for an `edge_prob` outside of [0, 1].
    PyG: `torch_geometric.utils.erdos_renyi_graph`.
    """
    return stochastic_blockmodel_graph([num_nodes], [[edge_prob]], directed, generator=generator)


def stochastic_blockmodel_graph(
    block_sizes: Sequence[int] | Tensor,
    edge_probs: Sequence[Sequence[float]] | Tensor,
    directed: bool = False,
    *,
    generator: torch.Generator | None = None,
) -> Tensor:
    """A graph of blocks of nodes, where a probability for each pair of blocks says how likely their nodes are joined.

    block_sizes: [num_blocks] the number of nodes in each; they are numbered block by block.
    edge_probs: [num_blocks, num_blocks] from block (row) to block (column); symmetric unless `directed`.
    directed: decide for each direction by itself; otherwise each edge comes with its reverse. There are no self-loops.

    Returns [2, num_edges] int64, sorted. Raises ValueError for sizes below 0, another shape of `edge_probs`, values
    outside of [0, 1], or an asymmetry that is not `directed`. PyG: `torch_geometric.utils.stochastic_blockmodel_graph`.
    """
    sizes = [int(size) for size in torch.as_tensor(block_sizes).tolist()]
    probs = torch.as_tensor(edge_probs, dtype=torch.float64)
    if any(size < 0 for size in sizes):
        raise ValueError(f"block_sizes: expected numbers of nodes, found {sizes}")
    if probs.shape != (len(sizes), len(sizes)):
        raise ValueError(f"edge_probs: expected shape {[len(sizes), len(sizes)]}, found {list(probs.shape)}")
    if not directed and not torch.equal(probs, probs.t()):
        raise ValueError("edge_probs: expected a symmetric matrix, as the graph is undirected")

    starts = [sum(sizes[:i]) for i in range(len(sizes))]
    parts = [torch.empty(2, 0, dtype=torch.long)]
    for i, rows in enumerate(sizes):
        for j, columns in enumerate(sizes):
            if j < i and not directed:
                continue
            p = float(probs[i, j])
            check_probability(p, f"edge_probs[{i}][{j}]")
            if i != j:
                at = _chosen(rows * columns, p, generator)
                row, col = at // max(columns, 1), at % max(columns, 1)
            elif directed:
                at = _chosen(rows * (rows - 1), p, generator)
                row, col = at // max(rows - 1, 1), at % max(rows - 1, 1)
                col = col + (col >= row)  # no place is kept for the self-loop
            else:
                at = _chosen(rows * (rows - 1) // 2, p, generator)
                row, col = below_diagonal(at)
            parts.append(torch.stack([row + starts[i], col + starts[j]]))
    edge_index = torch.cat(parts, dim=1)
    num_nodes = sum(sizes)
    if directed:
        return sort_edge_index(edge_index, num_nodes=num_nodes)
    return to_undirected(edge_index, num_nodes=num_nodes)


def _chosen(n: int, p: float, generator: torch.Generator | None) -> Tensor:
    """Each of 0, ..., n - 1 with probability `p`, sorted.

    The gaps between them are geometric (Batagelj and Brandes, 2005).
    """
    if n == 0 or p == 0.0:
        return torch.empty(0, dtype=torch.long)
    if p == 1.0:
        return torch.arange(n)
    parts = []
    last = -1
    while last < n:
        rest = (n - last) * p
        draws = int(rest + 4 * math.sqrt(rest)) + 8
        u = torch.rand(draws, dtype=torch.float64, generator=generator)
        gap = (torch.log1p(-u) / math.log1p(-p)).floor().clamp_(max=n).long() + 1
        parts.append(last + gap.cumsum(0))
        last = int(parts[-1][-1])
    at = torch.cat(parts)
    return at[at < n]


def barabasi_albert_graph(num_nodes: int, num_edges: int, *, generator: torch.Generator | None = None) -> Tensor:
    """A graph that grows node by node, each new one joined to nodes that already have many edges (Barabási and Albert,
    1999).

    num_edges: how many edges each new node brings. It draws their ends one by one from the ends of all edges so far
    (the first new node from the `num_edges` nodes that there are without edges), so that it may draw one node twice;
    equal edges are merged. There are no self-loops, and each edge comes with its reverse.

    Returns [2, <= 2 * num_edges * (num_nodes - num_edges)] int64, sorted. Raises ValueError unless
    0 < num_edges < num_nodes. PyG: `torch_geometric.utils.barabasi_albert_graph`.
    """
    if not 0 < num_edges < num_nodes:
        raise ValueError(f"num_edges: expected 0 < num_edges < num_nodes={num_nodes}, found {num_edges}")
    # The ends of all edges in a row: edge e of m = num_edges a node has its new node at 2e, and at 2e + 1 a copy of an
    # entry that stands before the edges of that node (Batagelj and Brandes, 2005). The first node joins all the first
    # m.
    m = num_edges
    total = m * (num_nodes - m)
    new = torch.arange(total) // m + m
    before = 2 * m * (new - m)
    draw = random_below(before, generator)
    ends = torch.stack([new, torch.arange(total)], dim=1).view(-1)  # the first m targets are 0, ..., m - 1
    source = torch.arange(2 * total)
    source[2 * m + 1 :: 2] = draw[m:]
    # Follow the copies, two steps at a time, to entries that are no copies.
    while not torch.equal(further := source[source], source):
        source = further
    target = ends[source[1::2]]
    return to_undirected(torch.stack([new, target]), num_nodes=num_nodes)
