"""Edges as a sparse matrix."""

from typing import Any, Literal

import torch
from torch import Tensor

from gnnlab.data.storage import EdgeStorage, known_num_nodes
from gnnlab.sparse import SparseTensor
from gnnlab.sparse.pointers import stable_order
from gnnlab.transforms.base_transform import BaseTransform, functional_transform
from gnnlab.transforms.edges import is_dense, stores_with_edges, take_edges
from gnnlab.utils._checks import check_edge_index, check_per_edge, check_range

LAYOUTS = (None, "torch_sparse", torch.sparse_coo, torch.sparse_csr, torch.sparse_csc)


@functional_transform("to_sparse_tensor")
class ToSparseTensor(BaseTransform):
    """Put the edges into `adj_t`, the transposed adjacency matrix (`torch_geometric.transforms.ToSparseTensor`).

    `adj_t` is [num_targets, num_sources]: row i holds the edges that lead into node i, which is what a layer reads; in
    a heterogeneous graph each edge type gets its own. It takes the place of `edge_index`, so transforms that need
    `edge_index` come first. Every edge attribute [num_edges, ...] is sorted along, by target, then source;
    `edge_label*` are not, they belong to `edge_label_index`. A storage without `edge_index` is left alone.

    Args:
        attr: name of the edge attribute that becomes the values of `adj_t` and is then removed; a graph without it, or
            None, gets a pattern without values (torch's layouts: ones).
        remove_edge_index: False keeps `edge_index` and `attr`, sorted along.
        fill_cache: compute now what products and their gradients need (`rowptr`, `csr2csc`), not with the first one;
            `adj_t.cache_info()` counts it. torch's layouts have no cache.
        layout: None: `gnnlab.typing.SparseTensor`, with values [num_edges, ...] of any shape, marked `is_transposed`,
            so that a layer can tell it from its transpose. 'torch_sparse': a `torch_sparse.SparseTensor`.
            torch.sparse_coo, torch.sparse_csr, torch.sparse_csc: a tensor in that layout.

    Raises:
        ValueError: for another `layout`, ids outside of the nodes (IndexError), `attr` that has not one row an edge, a
            number of nodes that is not known, or edges that are there twice where `layout` is torch.sparse_csr or
            torch.sparse_csc, which hold each entry once (PyG adds them up, and leaves their attributes too long).
        ImportError: for 'torch_sparse' where it is not installed.
    """

    def __init__(
        self,
        attr: str | None = "edge_weight",
        remove_edge_index: bool = True,
        fill_cache: bool = True,
        layout: torch.layout | Literal["torch_sparse"] | None = None,
    ) -> None:
        if layout not in LAYOUTS:
            raise ValueError(f"layout: expected one of {LAYOUTS}, found {layout!r}")
        self.attr = attr
        self.remove_edge_index = remove_edge_index
        self.fill_cache = fill_cache
        self.layout = layout

    def forward(self, data: Any) -> Any:
        for store in stores_with_edges(data):
            self._convert(data, store)
        return data

    def _convert(self, data: Any, store: EdgeStorage) -> None:
        check_edge_index(store.edge_index)
        num_sources, num_targets = _num_nodes(data, store)
        source, target = store.edge_index
        check_range(source, "edge_index[0]", num_sources)
        check_range(target, "edge_index[1]", num_targets)
        take_edges(store, stable_order(target.long(), source.long(), (num_targets, num_sources)))
        source, target = store.edge_index
        adj_t = SparseTensor(
            row=target,
            col=source,
            value=self._values(store),
            sparse_sizes=(num_targets, num_sources),
            is_sorted=True,
            trust_data=True,
            is_transposed=True,
        )
        store.adj_t = self._in_layout(adj_t)
        if self.remove_edge_index:
            del store["edge_index"]
            if self.attr is not None:
                del store[self.attr]

    def _values(self, store: EdgeStorage) -> Tensor | None:
        value = None if self.attr is None else store.get(self.attr)
        if value is None:
            return None
        if not is_dense(value):
            raise ValueError(f"{self.attr}: expected a dense tensor [num_edges, ...], found {type(value).__name__}")
        check_per_edge(value, str(self.attr), store.edge_index.size(1))
        return value

    def _in_layout(self, adj_t: SparseTensor) -> Any:
        if self.layout in (None, "torch_sparse"):
            if self.fill_cache:
                adj_t.storage.rowptr()
                adj_t.storage.csr2csc()
            return adj_t if self.layout is None else adj_t.to_torch_sparse()
        if self.layout == torch.sparse_coo:
            return adj_t.to_torch_sparse_coo_tensor()
        if not adj_t.is_coalesced():
            raise ValueError(
                f"edge_index: expected every edge once, as layout={self.layout} needs, found some twice: put "
                "RemoveDuplicatedEdges before ToSparseTensor, or take another layout"
            )
        if self.layout == torch.sparse_csr:
            return adj_t.to_torch_sparse_csr_tensor()
        return adj_t.to_torch_sparse_csc_tensor()

    def __repr__(self) -> str:
        return f"{type(self).__name__}(attr={self.attr}, layout={self.layout})"


def _num_nodes(data: Any, store: EdgeStorage) -> tuple[int, int]:
    """The numbers of source and target nodes."""
    if store._key is None:
        num_nodes = known_num_nodes(data.stores[0], "the size of 'adj_t'")
        return num_nodes, num_nodes
    known = data._node_store_dict
    ends = [store._key[0], store._key[-1]]
    missing = [end for end in ends if end not in known]
    if missing:
        raise ValueError(f"can't tell the size of 'adj_t' of {store._key}: node type {missing[0]!r} is missing")
    num_sources, num_targets = (known_num_nodes(known[end], "the size of 'adj_t'") for end in ends)
    return num_sources, num_targets
