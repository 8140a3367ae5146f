"""The edges of one call of a message-passing layer, and what is known of them."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import torch
from torch import Tensor

from gnnlab import sparse
from gnnlab.sparse import SparseTensor
from gnnlab.typing import Adj, Size
from gnnlab.utils._checks import check_edge_index
from gnnlab.utils._spmm import as_sparse_tensor

#: What is known of the edges: the arguments of this name are given to the functions of a layer.
KNOWN = frozenset(
    {"edge_index", "adj_t", "edge_index_i", "edge_index_j", "index", "ptr", "size", "size_i", "size_j", "dim_size"}
)


class Edges:
    """Edges as an `edge_index`, [2, num_edges] integers, or a transposed adjacency, [targets, sources] sparse.

    given: the edges as they were given. source, target: which of their two ends, 0 or 1, messages come from and go to.
    size: how many nodes each end has, as far as is known.

    Raises ValueError for another shape or dtype, for an adjacency with `flow` "target_to_source", and for one that is
    marked as not transposed.
    """

    def __init__(self, edge_index: Adj, size: Size, flow: str) -> None:
        self.given = edge_index
        self.source, self.target = (0, 1) if flow == "source_to_target" else (1, 0)
        self.is_adj = sparse.is_sparse(edge_index)
        self._adj: SparseTensor | None = None
        self.size: list[int | None] = [None, None] if size is None else list(size)
        if not self.is_adj:
            check_edge_index(edge_index)
            return
        if flow == "target_to_source":
            raise ValueError(
                "flow: expected 'source_to_target' with an adjacency, found 'target_to_source': give an edge_index, "
                "or turn the adjacency around, adj_t.t()"
            )
        if isinstance(edge_index, SparseTensor) and edge_index.is_transposed is False:
            raise ValueError("edge_index: expected the transposed adjacency, found one marked as not: pass adj.t()")
        rows, cols = sparse.sizes(edge_index)[:2]
        self.size = [cols, rows]

    @property
    def adj(self) -> SparseTensor:
        """The adjacency, as one of ours."""
        if self._adj is None:  # torch.compile can't see through functools.cached_property, which locks
            self._adj = as_sparse_tensor(self.given)
        return self._adj

    @property
    def value(self) -> Tensor | None:
        """[num_edges, ...]: the values of the adjacency, if it has any."""
        return self.adj.storage.value() if self.is_adj else None

    def num_edges(self) -> int:
        """How many edges there are."""
        return self.adj.nnz() if self.is_adj else self.ids(self.target).numel()

    def ids(self, end: int) -> Tensor:
        """[num_edges] int64: the node at one end of each edge."""
        if self.is_adj:
            return self.adj.storage.row() if end == self.target else self.adj.storage.col()
        assert isinstance(self.given, Tensor)
        return self.given[end].long()

    def learn_size(self, end: int, value: Tensor, dim: int, name: str) -> None:
        """Learn from an argument `name` how many nodes are at one end, or refuse it."""
        if value.dim() < (-dim if dim < 0 else dim + 1):
            raise ValueError(f"{name}: expected nodes along dimension {dim}, found shape {list(value.shape)}")
        found, known = value.size(dim), self.size[end]
        if known is None:
            self.size[end] = found
        elif known != found:
            raise ValueError(f"{name}: expected {known} nodes along dimension {dim}, found {found}")

    def known(self, wanted: Iterable[str]) -> dict[str, Any]:
        """The arguments that are known of the edges, as far as they are wanted."""
        size_j, size_i = self.size[self.source], self.size[self.target]
        size_j, size_i = (size_i if size_j is None else size_j), (size_j if size_i is None else size_i)
        parts: dict[str, Callable[[], Any]] = {
            "edge_index": lambda: None if self.is_adj else self.given,
            "adj_t": lambda: self.given if self.is_adj else None,
            "edge_index_i": lambda: self.ids(self.target),
            "edge_index_j": lambda: self.ids(self.source),
            "index": lambda: self.ids(self.target),
            "ptr": lambda: self.adj.storage.rowptr() if self.is_adj else None,
            "size": lambda: self.size,
            "size_i": lambda: size_i,
            "size_j": lambda: size_j,
            "dim_size": lambda: size_i,
        }
        return {name: parts[name]() for name in wanted if name in KNOWN}

    def blocks(self, num_edges: int) -> Iterator[tuple[int, int]]:
        """First and last (exclusive) target of blocks of at most `num_edges` edges, or of one target that has more."""
        rowptr, first = self.adj.storage.rowptr(), 0
        while first < rowptr.numel() - 1:
            end = torch.searchsorted(rowptr, rowptr[first] + num_edges, right=True)
            last = max(int(end) - 1, first + 1)
            yield first, last
            first = last

    def of_targets(self, first: int, last: int) -> tuple["Edges", slice]:
        """The edges of an adjacency that lead to targets `first` to `last` (exclusive), and where they stand among
        all; nodes keep their numbers.
        """
        rowptr, col, value = self.adj.csr()
        span = slice(int(rowptr[first]), int(rowptr[last]))
        adj = SparseTensor(
            rowptr=rowptr.clamp(span.start, span.stop) - span.start,
            col=col[span],
            value=None if value is None else value[span],
            sparse_sizes=self.adj.sparse_sizes(),
            is_sorted=True,
            trust_data=True,
        )
        return Edges(adj, None, "source_to_target"), span
