"""Pairs of nodes that no edge joins, drawn at random and exactly: an existing edge never comes out.

The pairs that an edge could join are numbered. The existing edges, as sorted numbers, leave gaps; drawing the n-th free
number needs no try and error.
"""

import warnings
from typing import Literal

import torch
from torch import Tensor

from gnnlab.utils._checks import check_edge_index, check_index, check_range, count_nodes
from gnnlab.utils._degree import degree
from gnnlab.utils._dense import check_within_graphs
from gnnlab.utils._distinct import below_diagonal, distinct_below, nth_free, random_below
from gnnlab.utils._sort import sort_numbers
from gnnlab.utils.functions import cumsum
from gnnlab.utils.num_nodes import maybe_num_nodes

Kind = Literal["bipartite", "directed", "undirected"]


def negative_sampling(
    edge_index: Tensor,
    num_nodes: int | tuple[int, int] | None = None,
    num_neg_samples: int | float | None = None,
    method: str = "sparse",
    force_undirected: bool = False,
    *,
    generator: torch.Generator | None = None,
) -> Tensor:
    """Different random pairs of nodes that no edge joins.

    edge_index: [2, num_edges] integers.
    num_nodes: the number of nodes, or a pair (sources, targets) for a bipartite graph. Only in that is (i, i) a pair.
    num_neg_samples: how many; a float stands for that many times the number of edges, None for as many as there are
    edges.
    method: "sparse" or "dense", which are the same here: both exact.
    force_undirected: each pair comes in both directions, and only if there is an edge in neither. Half of an odd number
    is rounded down. The second half of the result mirrors the first.

    Returns [2, n] int64 in random order. There may be fewer pairs without an edge than are asked for: then all of them
    are returned, and a UserWarning says so if `num_neg_samples` was given. Raises ValueError for wrong shapes, dtypes
    or arguments, IndexError for nodes that are not in [0, num_nodes). PyG: `torch_geometric.utils.negative_sampling`
    (which, with `force_undirected`, may return the reverse of an edge).
    """
    check_edge_index(edge_index)
    kind = _kind_of(isinstance(num_nodes, tuple | list), force_undirected, method)
    if isinstance(num_nodes, tuple | list):
        rows, columns = num_nodes
        check_range(edge_index[0], "edge_index[0]", rows)
        check_range(edge_index[1], "edge_index[1]", columns)
    else:
        rows = columns = count_nodes(edge_index, num_nodes)
    sizes = torch.tensor([[rows], [columns]], device=edge_index.device)
    graph = torch.zeros_like(edge_index[0], dtype=torch.long)
    pairs, _ = _sample(edge_index.long(), graph, sizes, kind, num_neg_samples, generator)
    return torch.cat([pairs, pairs.flip(0)], dim=1) if force_undirected else pairs


def batched_negative_sampling(
    edge_index: Tensor,
    batch: Tensor | tuple[Tensor, Tensor],
    num_neg_samples: int | float | None = None,
    method: str = "sparse",
    force_undirected: bool = False,
    *,
    generator: torch.Generator | None = None,
) -> Tensor:
    """`negative_sampling` in each graph of a batch: pairs of nodes of one graph that no edge joins.

    edge_index: [2, num_edges] integers. batch: [num_nodes] integers, sorted, the graph of each node; a pair (of
    sources, of targets) for bipartite graphs. num_neg_samples: how many in each graph; a float stands for that many
    times its number of edges, None for as many as it has edges.

    Returns [2, n] int64, graph by graph. Raises as `negative_sampling`, and ValueError for an edge between two graphs
    or a `batch` that is not sorted. PyG: `torch_geometric.utils.batched_negative_sampling`.
    """
    check_edge_index(edge_index)
    kind = _kind_of(isinstance(batch, tuple | list), force_undirected, method)
    batches = batch if isinstance(batch, tuple | list) else (batch, batch)
    for side, of_side in enumerate(batches):
        check_index(of_side, "batch")
        if bool((of_side[1:] < of_side[:-1]).any()):
            raise ValueError("batch: expected graphs in rising order, found some that fall")
        check_range(edge_index[side], f"edge_index[{side}]", of_side.numel())
    num_graphs = max(maybe_num_nodes(of_side) for of_side in batches)
    sizes = torch.stack([degree(of_side, num_graphs, dtype=torch.long) for of_side in batches])
    start = cumsum(sizes, dim=1)

    ends = edge_index.long()
    graph = batches[0][ends[0]].long()
    check_within_graphs(graph, batches[1][ends[1]].long())
    pairs, graph = _sample(ends - start[:, graph], graph, sizes, kind, num_neg_samples, generator)
    pairs = pairs + start[:, graph]
    if force_undirected:
        order = torch.cat([graph, graph]).argsort(stable=True)
        pairs = torch.cat([pairs, pairs.flip(0)], dim=1)[:, order]
    return pairs


def _kind_of(bipartite: bool, force_undirected: bool, method: str) -> Kind:
    if method not in ("sparse", "dense"):
        raise ValueError(f"method: expected 'sparse' or 'dense', found {method!r}")
    if bipartite and force_undirected:
        raise ValueError("force_undirected: expected False for a bipartite graph, found True")
    if bipartite:
        return "bipartite"
    return "undirected" if force_undirected else "directed"


def _sample(
    edges: Tensor,
    graph: Tensor,
    sizes: Tensor,
    kind: Kind,
    num_neg_samples: int | float | None,
    generator: torch.Generator | None,
) -> tuple[Tensor, Tensor]:
    """Pairs of nodes that no edge joins, and the graph of each: [2, n] and [n] int64, graph by graph.

    edges: [2, num_edges] int64, numbered within their graph. graph: [num_edges] int64.
    sizes: [2, num_graphs] int64, the numbers of source and target nodes. Of an undirected pair the first is the
    greater.
    """
    rows, columns = sizes
    directions = 2 if kind == "undirected" else 1  # in which the caller gives each pair out
    edges_of = torch.bincount(graph, minlength=sizes.size(1))
    if kind == "bipartite":
        pairs = rows * columns
    else:
        loop = edges[0] == edges[1]
        edges, graph = edges[:, ~loop], graph[~loop]
        pairs = rows * (rows - 1) // directions
    first = cumsum(pairs)  # the pairs are numbered on from graph to graph

    # Existing edges to the numbers of their pairs.
    row, col = edges
    if kind == "bipartite":
        number = row * columns[graph] + col
    elif kind == "directed":  # no place is kept for (i, i)
        number = row * (rows[graph] - 1) + col - (col > row).long()
    else:  # the pairs below the diagonal, row by row
        high, low = torch.maximum(row, col), torch.minimum(row, col)
        number = high * (high - 1) // 2 + low
    taken = sort_numbers(first[graph] + number).unique_consecutive()

    taken_of = torch.bincount(torch.searchsorted(first, taken, right=True) - 1, minlength=len(pairs))
    free = pairs - taken_of
    wanted = _wanted(num_neg_samples, edges_of) // directions
    if num_neg_samples is not None and bool((wanted > free).any()):
        short = directions * int((wanted - free).clamp(min=0).sum())
        warnings.warn(
            f"num_neg_samples: there are not that many pairs without an edge; {short} fewer are returned",
            stacklevel=3,
        )
    graph, rank = distinct_below(free, torch.minimum(wanted, free), generator)
    number = nth_free(taken, cumsum(free)[graph] + rank) - first[graph]

    # Numbers back to pairs.
    if kind == "bipartite":
        row, col = number // columns[graph], number % columns[graph]
    elif kind == "directed":
        row, col = number // (rows[graph] - 1), number % (rows[graph] - 1)
        col = col + (col >= row).long()
    else:
        row, col = below_diagonal(number)
    return torch.stack([row, col]), graph


def _wanted(num_neg_samples: int | float | None, edges_of: Tensor) -> Tensor:
    """[num_graphs] int64: how many pairs are asked for in each graph, of `edges_of` edges each."""
    if num_neg_samples is None:
        return edges_of
    if num_neg_samples < 0:
        raise ValueError(f"num_neg_samples: expected a number from 0, found {num_neg_samples}")
    if isinstance(num_neg_samples, float):
        return (num_neg_samples * edges_of.double()).long()
    return torch.full_like(edges_of, num_neg_samples)


def structured_negative_sampling(
    edge_index: Tensor,
    num_nodes: int | None = None,
    contains_neg_self_loops: bool = True,
    *,
    generator: torch.Generator | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """For each edge (i, j) a random node k such that there is no edge (i, k).

    edge_index: [2, num_edges] integers. contains_neg_self_loops: whether k may be i.

    Returns i, j and k, each [num_edges], i and j as given, k int64. Raises ValueError for wrong shapes or dtypes, or if
    a node with edges leaves no such k (`structured_negative_sampling_feasible` tells beforehand), IndexError for nodes
    that are not in [0, num_nodes). PyG: `torch_geometric.utils.structured_negative_sampling` (which would search for
    ever).
    """
    check_edge_index(edge_index)
    num_nodes = count_nodes(edge_index, num_nodes)
    row, col = edge_index
    taken = _taken_pairs(edge_index.long(), num_nodes, contains_neg_self_loops)
    free = num_nodes - torch.bincount(taken // max(num_nodes, 1), minlength=num_nodes)
    free_of_edge = free[row.long()]
    if bool((free_of_edge == 0).any()):
        node = int(row[free_of_edge == 0][0])
        raise ValueError(f"edge_index: expected a node that {node} is not joined to, found none")
    rank = cumsum(free)[row.long()] + random_below(free_of_edge, generator)
    return row, col, nth_free(taken, rank) - row.long() * num_nodes


def structured_negative_sampling_feasible(
    edge_index: Tensor, num_nodes: int | None = None, contains_neg_self_loops: bool = True
) -> bool:
    """Whether `structured_negative_sampling` finds a node for every edge: no node is joined to all (others).

    Arguments as there. PyG: `torch_geometric.utils.structured_negative_sampling_feasible`.
    """
    check_edge_index(edge_index)
    num_nodes = count_nodes(edge_index, num_nodes)
    taken = _taken_pairs(edge_index.long(), num_nodes, contains_neg_self_loops)
    return bool((torch.bincount(taken // max(num_nodes, 1)) < num_nodes).all())


def _taken_pairs(edge_index: Tensor, num_nodes: int, contains_neg_self_loops: bool) -> Tensor:
    """The numbers i * num_nodes + k, sorted, of the pairs that cannot be drawn."""
    taken = edge_index[0] * num_nodes + edge_index[1]
    if not contains_neg_self_loops:
        nodes = torch.arange(num_nodes, device=edge_index.device)
        taken = torch.cat([taken, nodes * (num_nodes + 1)])
    return sort_numbers(taken).unique_consecutive()
