"""Edges for training, validation and test, drawn at random, with pairs of nodes that no edge joins beside them."""

import copy
from typing import Any

import torch
from torch import Tensor

from gnnlab.data.storage import EdgeStorage
from gnnlab.transforms.base_transform import BaseTransform, functional_transform
from gnnlab.transforms.edges import edge_index_of, edge_keys, is_dense, recount, stores_to_change, take_edges
from gnnlab.transforms.random_node_split import check_part
from gnnlab.typing import EdgeType
from gnnlab.utils import coalesce, negative_sampling
from gnnlab.utils._checks import check_edge_index, check_integer, check_per_edge


@functional_transform("random_link_split")
class RandomLinkSplit(BaseTransform):
    """Split a graph three ways for link prediction (`torch_geometric.transforms.RandomLinkSplit`).

    Returns three graphs, for training, validation and test, that share all but edges. In each

    - `edge_index` [2, num_edges] and the edge attributes hold what messages may pass along: the edges of training, for
      the test those of validation too;
    - `edge_label_index` [2, num_labels] and `edge_label` [num_labels] hold what is to be predicted: edges of the split,
      label 1.0, then pairs that no edge of any split joins (never a node and itself), label 0.0. Where the graph has
      `edge_label` [num_edges, ...] integers, edges have these plus 1, and the others 0; without negative samples they
      have it as it is, of any dtype.

    Every edge is in one split only. An edge that is there twice counts as two: coalesce first. All negative pairs are
    different; where too few exist, a warning says so and training goes short.

    Args:
        num_val: a number of edges, or a float: that share of all edges, rounded down.
        num_test: likewise.
        is_undirected: every edge has its reverse: both are in the same split, and `edge_label_index` holds the one with
            source <= target (of negative pairs too). Edge attributes are those of that one. Ignored between two
            types of nodes, and where the reverses are a type of their own.
        key: name of the labels; their edges are in `key` + '_index'.
        split_labels: give `pos_edge_label` and `neg_edge_label` instead, and the same with '_index'.
        add_negative_train_samples: False leaves training without negative pairs, which may be drawn anew every epoch.
        neg_sampling_ratio: how many negative pairs for each labelled edge.
        disjoint_train_ratio: a number of edges, or a share of those of training, rounded down: only these are labelled
            in training, and messages don't pass along them there. 0: all are, and do.
        edge_types: the types to split in a heterogeneous graph, one or a list; the others stay as they are.
        rev_edge_types: for each of `edge_types` the type that holds its reverses, in the same order, or None. These
            become the reverses of the edges that are left, with their attributes. Attributes of edges that only the
            reverses have, and their labels, are dropped.
        generator: where random numbers come from; by default torch's own generator. On the device of the edges.

    Raises:
        ValueError: for counts that are out of range or leave no edge to train on, types that don't fit each other or
            the graph, an edge without its reverse where `is_undirected` promises one, labels of another shape or dtype,
            a graph whose edges are held in an adjacency, or that has `edge_label_index` already.
    """

    def __init__(
        self,
        num_val: int | float = 0.1,
        num_test: int | float = 0.2,
        is_undirected: bool = False,
        key: str = "edge_label",
        split_labels: bool = False,
        add_negative_train_samples: bool = True,
        neg_sampling_ratio: float = 1.0,
        disjoint_train_ratio: int | float = 0.0,
        edge_types: EdgeType | list[EdgeType] | None = None,
        rev_edge_types: EdgeType | list[EdgeType | None] | None = None,
        *,
        generator: torch.Generator | None = None,
    ) -> None:
        check_part(num_val, "num_val", "edges")
        check_part(num_test, "num_test", "edges")
        check_part(disjoint_train_ratio, "disjoint_train_ratio", "edges")
        if neg_sampling_ratio < 0:
            raise ValueError(f"neg_sampling_ratio: expected a number from 0, found {neg_sampling_ratio}")
        self.num_val = num_val
        self.num_test = num_test
        self.is_undirected = is_undirected
        self.key = key
        self.split_labels = split_labels
        self.add_negative_train_samples = add_negative_train_samples
        self.neg_sampling_ratio = neg_sampling_ratio
        self.disjoint_train_ratio = disjoint_train_ratio
        self.edge_types = edge_types
        self.rev_edge_types = rev_edge_types
        self.generator = generator
        self._types = _types(edge_types, rev_edge_types, is_undirected)

    def forward(self, data: Any) -> Any:
        stores_to_change(data, self)
        splits = data, copy.copy(data), copy.copy(data)
        if not hasattr(type(data), "edge_types"):
            edge_index_of(data, self)
            self._split([each.stores[0] for each in splits], self.is_undirected)
            return splits
        if not self._types:
            raise ValueError(f"edge_types: expected some of {data.edge_types} for a {type(data).__name__}, found none")
        for edge_type, reverse_type in self._types:
            stores = [_store(each, edge_type, "edge_types") for each in splits]
            if reverse_type is None or _store(data, reverse_type, "rev_edge_types") is stores[0]:
                self._split(stores, self.is_undirected and not stores[0].is_bipartite())
                continue
            reverses = [_store(each, reverse_type, "rev_edge_types") for each in splits]
            _check_reverses(stores[0], reverses[0])
            self._split(stores, is_undirected=False)
            for store, reverse in zip(stores, reverses, strict=True):
                self._mirror(store, reverse)
        return splits

    def _split(self, stores: list[EdgeStorage], is_undirected: bool) -> None:
        """Cut `stores`, three equal ones, down to the edges and labels of training, validation and test."""
        store = stores[0]
        check_edge_index(store.edge_index)
        if f"{self.key}_index" in store:
            raise ValueError(f"expected a graph that is not split yet, found '{self.key}_index' in it")
        edge_index, labels = store.edge_index, self._labels(store)
        order = _once(edge_index) if is_undirected else torch.arange(edge_index.size(1), device=edge_index.device)
        order = order[torch.randperm(order.numel(), device=order.device, generator=self.generator)]

        num_val, num_test = (_count(part, order.numel()) for part in (self.num_val, self.num_test))
        num_train = order.numel() - num_val - num_test
        num_disjoint = _count(self.disjoint_train_ratio, num_train)
        if num_train - num_disjoint <= 0:
            raise ValueError(
                f"num_val, num_test, disjoint_train_ratio: expected to leave some of {order.numel()} edges to train "
                f"on, found {num_val}, {num_test} and {num_disjoint} edges"
            )
        train, val, test = order.split([num_train, num_val, num_test])
        seen = train[num_disjoint:], train, torch.cat([train, val])  # along which messages pass
        asked = train[:num_disjoint] if num_disjoint else train, val, test  # what is to be predicted
        negative = self._negative_pairs(store, [ids.numel() for ids in asked], is_undirected)

        for store, ids, message_ids, pairs in zip(stores, asked, seen, negative, strict=True):
            if self.key in store:
                del store[self.key]
            _pass_along(store, message_ids, is_undirected)
            self._ask(store, edge_index[:, ids], labels[ids], pairs)

    def _labels(self, store: EdgeStorage) -> Tensor:
        """[num_edges, ...]: what is to be predicted of every edge."""
        num_edges = store.edge_index.size(1)
        if self.key not in store:
            return torch.ones(num_edges, device=store.edge_index.device)
        labels = store[self.key]
        if not is_dense(labels):
            raise ValueError(f"{self.key}: expected a tensor [num_edges, ...] of labels, found {type(labels).__name__}")
        check_per_edge(labels, self.key, num_edges)
        if self.neg_sampling_ratio == 0:
            return labels
        check_integer(labels, self.key)
        return labels + 1

    def _negative_pairs(self, store: EdgeStorage, num_asked: list[int], is_undirected: bool) -> tuple[Tensor, ...]:
        """[2, n] for training, validation and test: different pairs that no edge of `store` joins."""
        num_train, num_val, num_test = (int(self.neg_sampling_ratio * number) for number in num_asked)
        wanted = num_val + num_test + (num_train if self.add_negative_train_samples else 0)
        edge_index = store.edge_index
        if wanted == 0:
            none = edge_index.new_empty(2, 0)
            return none, none, none
        size = _num_nodes(store)
        if is_undirected:
            both = negative_sampling(edge_index, size, 2 * wanted, force_undirected=True, generator=self.generator)
            pairs = both[:, both[0] < both[1]]
        else:
            pairs = negative_sampling(edge_index, size, wanted, generator=self.generator)
        pairs = pairs.to(edge_index.dtype)
        return pairs[:, num_val + num_test :], pairs[:, :num_val], pairs[:, num_val : num_val + num_test]

    def _ask(self, store: EdgeStorage, edges: Tensor, labels: Tensor, pairs: Tensor) -> None:
        """Have `store` ask for the `labels` of `edges` and for those of `pairs`, zeros."""
        zeros = labels.new_zeros(pairs.size(1), *labels.shape[1:])
        if not self.split_labels:
            store[self.key] = torch.cat([labels, zeros])
            store[f"{self.key}_index"] = torch.cat([edges, pairs], dim=1)
            return
        store[f"pos_{self.key}"], store[f"pos_{self.key}_index"] = labels, edges
        if pairs.size(1) > 0:
            store[f"neg_{self.key}"], store[f"neg_{self.key}_index"] = zeros, pairs

    def _mirror(self, store: EdgeStorage, reverse: EdgeStorage) -> None:
        """Have `reverse` hold the reverses of the edges of `store`, with their attributes."""
        attrs = edge_keys(store)
        for key in edge_keys(reverse):
            reverse[key] = store[key] if key in attrs else None
        reverse[self.key] = None
        reverse.edge_index = store.edge_index.flip(0)
        recount(reverse)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(num_val={self.num_val}, num_test={self.num_test})"


def _types(
    edge_types: Any, rev_edge_types: Any, is_undirected: bool
) -> list[tuple[tuple[str, ...], tuple[str, ...] | None]]:
    """Each edge type to split and the type of its reverses."""
    forward, backward = (
        [] if types is None else [types] if isinstance(types, (tuple, str)) else list(types)
        for types in (edge_types, rev_edge_types)
    )
    backward = backward or [None] * len(forward)
    if len(forward) != len(backward):
        raise ValueError(f"rev_edge_types: expected one for each of {forward}, or None, found {backward}")
    for edge_type, reverse in zip(forward, backward, strict=True):
        if edge_type == reverse and not is_undirected:
            raise ValueError(f"rev_edge_types: {edge_type} holds its own reverses, which needs is_undirected=True")
    return list(zip(forward, backward, strict=True))


def _store(data: Any, edge_type: Any, name: str) -> EdgeStorage:
    """The storage with the edges of a type, which may be abbreviated."""
    found = data._to_canonical(edge_type)
    if found not in data.edge_types or "edge_index" not in data[found]:
        raise ValueError(f"{name}: expected edge types with 'edge_index', of {data.edge_types}, found {edge_type!r}")
    return data[found]


def _check_reverses(store: EdgeStorage, reverse: EdgeStorage) -> None:
    if not torch.equal(coalesce(store.edge_index.flip(0)), coalesce(reverse.edge_index)):
        raise ValueError(f"rev_edge_types: expected the reverses of {store._key}, found other edges in {reverse._key}")


def _once(edge_index: Tensor) -> Tensor:
    """Positions of the edges with source <= target; ValueError if one of the others is not the reverse of one of
    them.
    """
    row, col = edge_index
    there = coalesce(edge_index[:, row <= col])
    both = coalesce(torch.cat([there, edge_index[:, row > col].flip(0)], dim=1))
    if both.size(1) > there.size(1):
        raise ValueError("is_undirected: expected every edge to have its reverse, found edges without it")
    return (row <= col).nonzero().view(-1)


def _count(part: int | float, num_edges: int) -> int:
    return int(part * num_edges) if isinstance(part, float) else part


def _num_nodes(store: EdgeStorage) -> int | tuple[int, int]:
    """The number of nodes, or of sources and targets, as `negative_sampling` takes it."""
    sources, targets = store.size()
    if sources is None or targets is None:
        raise ValueError("can't draw pairs of nodes, since their number is unknown: set 'num_nodes'")
    return (sources, targets) if store.is_bipartite() else sources


def _pass_along(store: EdgeStorage, ids: Tensor, is_undirected: bool) -> None:
    """Cut `store` down to the edges `ids`, followed by their reverses if it `is_undirected`."""
    if not is_undirected:
        take_edges(store, ids)
        return
    row, col = store.edge_index[:, ids]
    mirrored = ids[row != col]  # no loop twice
    take_edges(store, torch.cat([ids, mirrored]))
    store.edge_index = torch.cat(
        [store.edge_index[:, : ids.numel()], store.edge_index[:, ids.numel() :].flip(0)], dim=1
    )
