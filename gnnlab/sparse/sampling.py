"""Random neighbours, random walks, and the subgraphs they lead to.

A matrix stands for a graph here: row `i` holds the neighbours of node `i`. Random numbers come from `generator`, or
else from torch's global one; given the same ones, walks and samples are those of torch_sparse.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from gnnlab.sparse import checks
from gnnlab.sparse.pointers import gather_ranges, ptr_to_index
from gnnlab.sparse.storage import SparseStorage

if TYPE_CHECKING:
    from gnnlab.sparse.tensor import SparseTensor


def random_walk(
    src: SparseTensor, start: Tensor, walk_length: int, *, generator: torch.Generator | None = None
) -> Tensor:
    """[n, walk_length + 1] int64: from each node of `start`, [n] integers, along entries chosen evenly.

    A walk that comes to a node without neighbours stays there.

    Raises ValueError if the matrix is not square or `walk_length` is negative, TypeError, ValueError or IndexError if
    `start` holds no nodes. torch_sparse: `random_walk` (which reads foreign memory where there is no neighbour)
    """
    _check_square(src, "random_walk")
    _check_number("walk_length", walk_length)
    node = _rows(src, "start", start)
    rowptr, col, _ = src.csr()
    draws = torch.rand(node.numel(), walk_length, generator=generator, device=src.device())
    steps = [node]
    for draw in draws.unbind(1):
        on = rowptr[node + 1] > rowptr[node]
        node = node.clone()
        node[on] = col[_pick(rowptr, node[on], draw[on])]
        steps.append(node)
    return torch.stack(steps, dim=1)


def sample(
    src: SparseTensor, num_neighbors: int, subset: Tensor | None = None, *, generator: torch.Generator | None = None
) -> Tensor:
    """[n, num_neighbors] int64: neighbours of each row of `subset`, [n] integers (None: of all rows), chosen evenly and
    with replacement.

    Raises ValueError if `num_neighbors` is negative or a row has no neighbours (torch_sparse then takes those of
    another row), TypeError, ValueError or IndexError if `subset` holds no rows. torch_sparse: `sample`
    """
    _check_number("num_neighbors", num_neighbors)
    every = torch.arange(src.sparse_size(0), device=src.device())
    rows = every if subset is None else _rows(src, "subset", subset)
    rowptr, col, _ = src.csr()
    alone = rows[rowptr[rows + 1] == rowptr[rows]]
    if num_neighbors and alone.numel():
        raise ValueError(f"subset must hold rows with entries, found row {int(alone[0])} without")
    draws = torch.rand(rows.numel(), num_neighbors, generator=generator, device=src.device())
    return col[_pick(rowptr, rows.unsqueeze(1).expand_as(draws), draws)]


def sample_adj(
    src: SparseTensor,
    subset: Tensor,
    num_neighbors: int,
    replace: bool = False,
    *,
    generator: torch.Generator | None = None,
) -> tuple[SparseTensor, Tensor]:
    """The rows `subset`, [n] integers, with at most `num_neighbors` entries each, chosen evenly; below 0: with all.

    replace: choose with replacement, so that every row with entries has `num_neighbors`.

    Returns the matrix [n, m], with the values of the entries chosen, and [m] int64: the nodes that its columns stand
    for, which are `subset`, then each other one that came up, in that order. (A node that is in `subset` twice is the
    column of its last place there.) Raises TypeError, ValueError or IndexError if `subset` holds no rows.
    torch_sparse: `sample_adj`
    """
    subset = _rows(src, "subset", subset)
    rowptr, col, value = src.csr()
    degree = rowptr[subset + 1] - rowptr[subset]
    if num_neighbors < 0:
        some = torch.zeros_like(degree, dtype=torch.bool)
    else:
        some = degree > 0 if replace else degree > num_neighbors

    whole, each = torch.where(~some)[0], torch.where(some)[0]
    entry, ptr = gather_ranges(rowptr, subset[whole])
    row = whole[ptr_to_index(ptr, entry.numel())]
    if each.numel():
        draws = torch.rand(each.numel(), num_neighbors, generator=generator, device=src.device())
        if replace:
            chosen = _pick(rowptr, subset[each].unsqueeze(1).expand_as(draws), draws)
        else:
            chosen = rowptr[subset[each]].unsqueeze(1) + _distinct(degree[each], draws)
        entry = torch.cat([entry, chosen.flatten()])
        row = torch.cat([row, each.repeat_interleave(num_neighbors)])
        order = torch.argsort(row, stable=True)
        entry, row = entry[order], row[order]

    local, nodes = _relabel(subset, col[entry])
    chosen_part = SparseStorage(
        row=row,
        col=local,
        value=None if value is None else value[entry],
        sparse_sizes=(subset.numel(), nodes.numel()),
        trust_data=True,
    )
    return src.with_storage(chosen_part), nodes


def saint_subgraph(src: SparseTensor, node_idx: Tensor) -> tuple[SparseTensor, Tensor]:
    """The entries between the nodes `node_idx`, [n] integers: [n, n], and [nnz] int64, which entries of `src` they are.

    Row `i` is node `node_idx[i]`, and so is column `i`; within a row entries keep their order. A node that is there
    twice has two rows, and the column of its last place.

    Raises ValueError if the matrix is not square, TypeError, ValueError or IndexError if `node_idx` holds no nodes.
    torch_sparse: `saint_subgraph`; method: GraphSAINT, https://arxiv.org/abs/1907.04931
    """
    _check_square(src, "saint_subgraph")
    node_idx = _rows(src, "node_idx", node_idx)
    place = _places(node_idx, src.sparse_size(0))
    entry, ptr = gather_ranges(src.storage.rowptr(), node_idx)
    row, col = ptr_to_index(ptr, entry.numel()), place[src.storage.col()[entry]]
    kept, value = col >= 0, src.storage.value()
    entry, n = entry[kept], node_idx.numel()
    value = None if value is None else value[entry]
    return src.with_storage(SparseStorage.trusted("row", {"row": row[kept]}, col[kept], value, (n, n))), entry


def _check_square(src: SparseTensor, name: str) -> None:
    if not src.is_quadratic():
        raise ValueError(f"{name} needs as many rows as columns, found {src.sparse_sizes()}")


def _check_number(name: str, value: int) -> None:
    if value < 0:
        raise ValueError(f"{name} must not be negative, found {value}")


def _rows(src: SparseTensor, name: str, value: Tensor) -> Tensor:
    return checks.ids(name, value, src.sparse_size(0), "rows").to(src.device())


def _pick(rowptr: Tensor, row: Tensor, draw: Tensor) -> Tensor:
    """An entry of each `row`, which must have some, by the numbers `draw` in [0, 1); all of one shape."""
    degree = rowptr[row + 1] - rowptr[row]
    return rowptr[row] + _below(degree, draw)


def _below(stop: Tensor, draw: Tensor) -> Tensor:
    """Integers below `stop` by the numbers `draw` in [0, 1). (Of millions a float32 may round up to `stop` itself.)"""
    return torch.minimum((draw * stop).long(), stop - 1)


def _distinct(stop: Tensor, draws: Tensor) -> Tensor:
    """[n, k]: k different integers below each of `stop`, [n], all of which are above k, by the numbers `draws`, [n, k].

    Robert Floyd's method: the i-th is drawn among the first `stop - k + i + 1`, and if it has been drawn before, it is
    the last of these instead.
    """
    num = draws.size(1)
    chosen = torch.empty_like(draws, dtype=torch.int64)
    for i, draw in enumerate(draws.unbind(1)):
        last = stop - num + i
        number = _below(last + 1, draw)
        before = (chosen[:, :i] == number.unsqueeze(1)).any(dim=1)
        chosen[:, i] = torch.where(before, last, number)
    return chosen


def _places(nodes: Tensor, size: int) -> Tensor:
    """[size] int64: where each number is in `nodes`, [n], the last place if there are several; -1 where it is not."""
    place = torch.full((size,), -1, device=nodes.device)
    return place.scatter_reduce(0, nodes, torch.arange(nodes.numel(), device=nodes.device), "amax")


def _relabel(subset: Tensor, nodes: Tensor) -> tuple[Tensor, Tensor]:
    """Number the nodes of `subset` by their places, and the others among `nodes` on from there as they come.

    Returns the numbers of `nodes`, and the node of each number.
    """
    n, both = subset.numel(), torch.cat([subset, nodes])
    known, index = torch.unique(both, return_inverse=True)
    number = _places(index[:n], known.numel())
    when = torch.arange(both.numel(), device=both.device)
    first = torch.full_like(known, both.numel()).scatter_reduce(0, index, when, "amin")
    new = torch.where(number < 0)[0]
    new = new[torch.argsort(first[new])]
    number[new] = torch.arange(n, n + new.numel(), device=both.device)
    return number[index[n:]], torch.cat([subset, known[new]])
