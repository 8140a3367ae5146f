"""Relational graph convolution: a weight matrix for each relation that an edge may stand for."""

from collections.abc import Iterator
from typing import Any, no_type_check

import torch
from torch import Tensor
from torch.nn import Parameter

from gnnlab import sparse
from gnnlab.nn.conv.by_type import by_type
from gnnlab.nn.conv.message_passing import CHUNK_BYTES, MessagePassing
from gnnlab.nn.conv.parts import bias_of, channels_of
from gnnlab.nn.conv.products import UnweightedConv
from gnnlab.nn.inits import glorot, zeros
from gnnlab.sparse import SparseTensor
from gnnlab.typing import Adj
from gnnlab.utils import scatter
from gnnlab.utils._checks import check_edge_index, check_index, check_per_edge
from gnnlab.utils._spmm import as_sparse_tensor

Inputs = Tensor | tuple[Tensor | None, Tensor | None] | None


class _Relational(MessagePassing):
    """A weight matrix for each relation, and one for the node itself: what both layers have in common."""

    _default_chunk_bytes: int | None = None

    def __init__(
        self,
        in_channels: int | tuple[int, int],
        out_channels: int,
        num_relations: int,
        num_bases: int | None = None,
        num_blocks: int | None = None,
        aggr: str = "mean",
        root_weight: bool = True,
        is_sorted: bool = False,
        bias: bool = True,
        **kwargs: Any,
    ) -> None:
        kwargs.setdefault("chunk_bytes", self._default_chunk_bytes)
        super().__init__(aggr, node_dim=0, **kwargs)
        if num_relations < 1:
            raise ValueError(f"num_relations: expected at least 1, found {num_relations}")
        if num_bases is not None and num_blocks is not None:
            raise ValueError(
                f"num_bases: expected it or num_blocks, found both: num_bases={num_bases}, num_blocks={num_blocks}"
            )
        self.in_channels, self.out_channels, self.num_relations = in_channels, out_channels, num_relations
        self.num_bases, self.num_blocks, self.is_sorted = num_bases, num_blocks, is_sorted
        sources, targets = channels_of(in_channels)
        if num_blocks is not None:
            if num_blocks < 1 or sources % num_blocks or out_channels % num_blocks:
                raise ValueError(
                    "num_blocks: expected at least 1, and in_channels and out_channels in equal parts for the blocks, "
                    f"found num_blocks={num_blocks}, in_channels={sources}, out_channels={out_channels}"
                )
            shape: tuple[int, ...] = num_relations, num_blocks, sources // num_blocks, out_channels // num_blocks
        else:
            shape = (num_relations if num_bases is None else num_bases), sources, out_channels
        self.weight = Parameter(torch.empty(shape))
        self.comp = None if num_bases is None else Parameter(torch.empty(num_relations, num_bases))
        self.root = Parameter(torch.empty(targets, out_channels)) if root_weight else None
        self.bias = bias_of(out_channels, bias)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the parameters anew."""
        super().reset_parameters()
        glorot(self.weight)
        glorot(self.comp)
        glorot(self.root)
        zeros(self.bias)

    def forward(self, x: Inputs, edge_index: Adj, edge_type: Tensor | None = None) -> Tensor:
        """[num_targets, out_channels].

        x: [num_nodes, in_channels] float; or [num_nodes] integers, rows of weights, which stands for vectors that are 1
        there and 0 elsewhere; or None for a vector of each row; or a pair of these for sources and targets.
        edge_index: edges or transposed adjacency, whose values are relations. edge_type: [num_edges] integers in
        [0, num_relations), for an edge_index, or in the order of an adjacency's entries.

        Raises ValueError for an `edge_type` of another shape or dtype, or none; IndexError for relations that there are
        not.
        """
        edges, edge_type = self._edges(edge_index, edge_type)
        sources, targets = self._ends(x)
        out = self._neighbours(sources, targets, edges, edge_type)
        if self.root is not None and targets is not None:
            out = out + _transformed(targets, self.root)
        return out if self.bias is None else out + self.bias

    def _neighbours(self, sources: Tensor, targets: Tensor | None, edges: Adj, edge_type: Tensor) -> Tensor:
        """[num_targets, out_channels]: what nodes get from their neighbours."""
        raise NotImplementedError

    def _ends(self, x: Inputs) -> tuple[Tensor, Tensor | None]:
        """The features, or ids, of sources and targets."""
        rows = channels_of(self.in_channels)
        if x is None:
            x = self._ids(rows[0]) if isinstance(self.in_channels, int) else (None, self._ids(rows[1]))
        sources, targets = (x, x) if isinstance(x, Tensor) else x
        sources = self._ids(rows[0]) if sources is None else sources
        for value, size in zip((sources, targets), rows, strict=True):
            if value is None or value.is_floating_point():
                continue
            if self.num_blocks is not None:
                raise ValueError(f"x: expected features with num_blocks, found {value.dtype}: rows of weights")
            check_index(value, "x", size)
        return sources, targets

    def _ids(self, size: int) -> Tensor:
        return torch.arange(size, device=self.weight.device)

    def _edges(self, edge_index: Adj, edge_type: Tensor | None) -> tuple[Adj, Tensor]:
        """The edges, any adjacency as one of ours, and the relation of each, [num_edges] int64."""
        if sparse.is_sparse(edge_index):
            _check_single(edge_index)
            edges: Adj = as_sparse_tensor(edge_index)
            assert isinstance(edges, SparseTensor)
            edge_type = edges.storage.value() if edge_type is None else edge_type
            num_edges = edges.nnz()
        else:
            check_edge_index(edge_index)
            edges, num_edges = edge_index, edge_index.size(1)
        if edge_type is None:
            raise ValueError("edge_type: expected relations, as an argument or the adjacency's values, found none")
        check_index(edge_type, "edge_type", self.num_relations)
        check_per_edge(edge_type, "edge_type", num_edges)
        return edges, edge_type.long()

    def _weights(self) -> Tensor:
        """[num_relations, in_channels, out_channels], or the blocks of them."""
        if self.comp is None:
            return self.weight
        return (self.comp @ self.weight.flatten(1)).view(-1, *self.weight.shape[1:])

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.in_channels}, {self.out_channels}, num_relations={self.num_relations})"


class RGCNConv(_Relational, UnweightedConv):
    """x'_i = W₀ x_i + sum over relations r of W_r times the neighbours' x_j along r, reduced, + b.

    Relations come one after another: over an adjacency each is a product with the part of it that is theirs.

    in_channels: the size of the input, or a pair for sources and targets. out_channels: the size of the output.
    num_relations: how many relations there are. num_bases: make their weights of this many, each with coefficients of
    its own. num_blocks: make them block-diagonal, of this many blocks. aggr: how to reduce the neighbours of a
    relation. root_weight: whether to add W₀ x_i. is_sorted: promise that an edge_index comes in the order of its
    relations. bias: whether to add b.

    Raises ValueError for no relations, for `num_bases` and `num_blocks` together, blocks that do not fit, or edges out
    of the promised order. Source: https://arxiv.org/abs/1703.06103. PyG: `torch_geometric.nn.RGCNConv`.
    """

    def _neighbours(self, sources: Tensor, targets: Tensor | None, edges: Adj, edge_type: Tensor) -> Tensor:
        out: Any = 0
        for weight, some in zip(self._weights(), self._by_relation(edges, edge_type), strict=True):
            if sources.is_floating_point():
                out = out + _transformed(self.propagate(some, x=(sources, targets)), weight)
            else:
                sent = _transformed(sources, weight)
                out = out + self.propagate(some, x=sent if sources is targets else (sent, targets))
        return out

    def _by_relation(self, edges: Adj, edge_type: Tensor) -> Iterator[Adj]:
        """The edges of one relation after another."""
        sizes = torch.bincount(edge_type, minlength=self.num_relations).tolist()
        if isinstance(edges, Tensor) and self.is_sorted:
            if bool((edge_type.diff() < 0).any()):
                raise ValueError("edge_type: expected relations in order, as is_sorted promises, found others")
            yield from edges.split(sizes, dim=1)
            return
        order = edge_type.argsort(stable=True)
        if isinstance(edges, Tensor):
            yield from edges[:, order].split(sizes, dim=1)
            return
        row, col = (end[order].split(sizes) for end in (edges.storage.row(), edges.storage.col()))
        for i in range(self.num_relations):
            yield SparseTensor(
                row=row[i],
                col=col[i],
                sparse_sizes=edges.sparse_sizes(),
                is_sorted=True,
                trust_data=True,
                is_transposed=edges.is_transposed,
            )


class FastRGCNConv(_Relational):
    """`RGCNConv` with the messages of all relations at once: they are no product, so an adjacency sends them too.

    in_channels, ..., bias: as in `RGCNConv`, but aggr is "mean" or "sum" ("add"), and is_sorted makes no difference.

    Raises ValueError as that does, and for another `aggr`. Source: https://arxiv.org/abs/1703.06103.
    PyG: `torch_geometric.nn.FastRGCNConv`, which takes other rows of weights where `x` is ids.
    """

    _default_chunk_bytes = CHUNK_BYTES

    def _neighbours(self, sources: Tensor, targets: Tensor | None, edges: Adj, edge_type: Tensor) -> Tensor:
        if self.aggr not in ("mean", "sum", "add"):
            raise ValueError(f"aggr: expected 'mean', 'sum' or 'add' in FastRGCNConv, found {self.aggr!r}")
        return self.propagate(edges, x=(sources, targets), edge_type=edge_type, weights=list(self._weights()))

    @no_type_check  # a list of weights, which is never taken to run over edges
    def message(self, x_j: Tensor, edge_type: Tensor, weights: list[Tensor]) -> Tensor:
        """[num_edges, out_channels]: one product for each relation."""
        return by_type(lambda i, rows: _transformed(rows, weights[i]), edge_type, len(weights), (x_j,))

    @no_type_check  # relations are looked at where messages are reduced
    def aggregate(self, inputs: Tensor, index: Tensor, edge_type: Tensor, dim_size: int | None = None) -> Tensor:
        """[num_targets, out_channels]; a mean is over a target's edges of one relation."""
        if self.aggr == "mean":
            groups = index * self.num_relations + edge_type
            _, group, counts = groups.unique(return_inverse=True, return_counts=True)
            inputs = inputs / counts[group].view(-1, 1)
        return scatter(inputs, index, 0, dim_size)


def _transformed(x: Tensor, weight: Tensor) -> Tensor:
    """[n, out_channels]: rows of features times a weight, whole or in blocks; or the rows of it that `x` names."""
    if not x.is_floating_point():
        return weight[x.long()]
    if weight.dim() == 2:
        return x @ weight
    parts = x.unflatten(1, weight.shape[:2])  # [n, blocks, in_channels of one]
    return torch.einsum("nbi,bio->nbo", parts, weight).flatten(1)


def _check_single(adj: Adj) -> None:
    """Refuse a torch matrix that has entries of one place, whose relations torch would add up."""
    if isinstance(adj, Tensor) and adj.layout == torch.sparse_coo and adj.coalesce()._nnz() < adj._nnz():
        raise ValueError(
            "edge_index: expected one edge between two nodes, whose values torch adds up, found several: "
            "give a SparseTensor or an edge_index"
        )
