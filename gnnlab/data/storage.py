"""The dictionaries behind `Data` and `HeteroData`: one for a graph, or one for each node and edge type.

A storage maps attribute names to values (`torch_geometric.data.storage` in PyG). It counts its writes in `_version`, so
that whatever was derived from it can tell whether it is still right.
"""

import copy
import math
import warnings
import weakref
from collections import namedtuple
from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping
from typing import Any

import numpy as np
import torch
from torch import Tensor

from gnnlab.data.nested import compact, deep_copy, map_tensors
from gnnlab.data.rules import EDGE_COUNT_KEYS, NODE_COUNT_KEYS, Kind, rule_of
from gnnlab.sparse import is_sparse, sizes
from gnnlab.typing import EdgeType, NodeType
from gnnlab.utils import coalesce, contains_isolated_nodes, contains_self_loops, is_undirected

#: What a storage keeps beside its attributes, under names that no private attribute may have.
_OWN = frozenset({"_mapping", "_version", "_parent", "_key"})


class BaseStorage(MutableMapping[str, Any]):
    """A dictionary of attributes that can also be read and written as attributes.

    To set an attribute to `None` removes it, and to remove one that is not set does nothing. Names that start with an
    underscore are private: they are copied and pickled along, but are no attributes of the graph. Properties such as
    `num_features` can't be set (in PyG that goes unnoticed), `num_nodes` and `num_edges` can.

    Args:
        _mapping: attributes to start with.
        **kwargs: more attributes; those that are `None` are left out.
    """

    def __init__(self, _mapping: Mapping[str, Any] | None = None, **kwargs: Any) -> None:
        self.__dict__["_mapping"] = {}
        self.__dict__["_version"] = 0
        self.__dict__["_parent"] = _no_parent
        self.__dict__["_key"] = None
        for key, value in {**(_mapping or {}), **kwargs}.items():
            setattr(self, key, value)

    @classmethod
    def _of(cls, mapping: dict[str, Any], parent: Any, key: NodeType | EdgeType | None = None) -> Any:
        """A storage around `mapping` itself, which must hold no `None`; the quick way in."""
        out = cls.__new__(cls)
        fields = out.__dict__
        fields["_mapping"] = mapping
        fields["_version"] = 0
        fields["_parent"] = weakref.ref(parent)
        fields["_key"] = key
        return out

    # Dictionary and attribute access ---------------------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self._mapping)

    def __iter__(self) -> Iterator[str]:
        return iter(self._mapping)

    def __getitem__(self, key: str) -> Any:
        return self._mapping[key]

    def __setitem__(self, key: str, value: Any) -> None:
        self.__dict__["_version"] += 1
        if value is None:
            self._mapping.pop(key, None)
        else:
            self._mapping[key] = value

    def __delitem__(self, key: str) -> None:
        if key in self._mapping:  # that of an attribute that is not set does nothing, as in PyG
            del self._mapping[key]
            self.__dict__["_version"] += 1

    def __contains__(self, key: object) -> bool:
        return key in self._mapping

    def __getattr__(self, key: str) -> Any:
        try:
            return self.__dict__["_mapping"][key]
        except KeyError:
            raise AttributeError(f"'{type(self).__name__}' object has no attribute '{key}'") from None

    def __setattr__(self, key: str, value: Any) -> None:
        if set_property(self, key, value):
            return
        if key in _OWN:
            raise AttributeError(f"'{key}' is what '{type(self).__name__}' itself needs: choose another name")
        if key.startswith("_"):
            self.__dict__[key] = value
        else:
            self[key] = value

    def __delattr__(self, key: str) -> None:
        if key in self._mapping or not key.startswith("_"):
            del self[key]
        elif key in self.__dict__ and key not in _OWN:
            del self.__dict__[key]
        else:
            raise AttributeError(f"'{type(self).__name__}' object has no attribute '{key}' to delete")

    def keys(self, *args: str) -> Any:
        """The attribute names; with `args`, those of them that exist, in the order of `args`."""
        return self._mapping.keys() if not args else self._chosen(args).keys()

    def values(self, *args: str) -> Any:
        """The attribute values; with `args`, those of the named attributes that exist."""
        return self._mapping.values() if not args else self._chosen(args).values()

    def items(self, *args: str) -> Any:
        """Pairs of name and value; with `args`, those of the named attributes that exist."""
        return self._mapping.items() if not args else self._chosen(args).items()

    def _chosen(self, names: tuple[str, ...]) -> dict[str, Any]:
        return {key: self._mapping[key] for key in names if key in self._mapping}

    # Copies and pickles ----------------------------------------------------------------------------------------------

    def __copy__(self) -> Any:
        out = type(self).__new__(type(self))
        out.__dict__.update(self.__dict__)
        out.__dict__["_mapping"] = self._mapping.copy()
        return out

    def _copy_for(self, parent: Any) -> Any:
        """A copy that belongs to graph `parent`."""
        out = self.__copy__()
        out.__dict__["_parent"] = weakref.ref(parent)
        return out

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        out = type(self).__new__(type(self))
        memo[id(self)] = out
        out.__dict__.update(self.__dict__)
        out.__dict__["_mapping"] = deep_copy(self._mapping, memo)
        return out

    def __getstate__(self) -> dict[str, Any]:
        state = self.__dict__.copy()
        del state["_parent"]
        state["_version"] = 0
        state["_mapping"] = compact(self._mapping)
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update({"_version": 0, "_key": None, **state, "_parent": _no_parent})

    def __repr__(self) -> str:
        return repr(self._mapping)

    def to_dict(self) -> dict[str, Any]:
        """A new dictionary with the same values."""
        return self._mapping.copy()

    def to_namedtuple(self) -> Any:
        """The attributes as a named tuple, in storage order."""
        return namedtuple(f"{type(self).__name__}Tuple", self._mapping)(**self._mapping)

    # Doing something to every tensor ---------------------------------------------------------------------------------

    def apply_(self, func: Callable[[Any], Any], *args: str) -> Any:
        """Call `func` on every tensor, for its effect; with `args`, on those of the named attributes only."""
        for value in self.values(*args):
            map_tensors(value, func)
        return self

    def apply(self, func: Callable[[Any], Any], *args: str) -> Any:
        """Replace every tensor by `func` of it; with `args`, those of the named attributes only."""
        for key, value in list(self.items(*args)):
            self[key] = map_tensors(value, func)
        return self

    def clone(self, *args: str) -> Any:
        """A copy with tensors of its own."""
        return copy.copy(self).apply(lambda x: x.clone(), *args)

    def contiguous(self, *args: str) -> Any:
        """Make every tensor contiguous."""
        return self.apply(lambda x: x.contiguous(), *args)

    def to(self, device: Any, *args: str, non_blocking: bool = False) -> Any:
        """Move every tensor to `device`."""
        return self.apply(lambda x: x.to(device=device, non_blocking=non_blocking), *args)

    def cpu(self, *args: str) -> Any:
        """Move every tensor to the CPU."""
        return self.apply(lambda x: x.cpu(), *args)

    def cuda(self, device: Any = None, *args: str, non_blocking: bool = False) -> Any:
        """Move every tensor to a CUDA device."""
        return self.apply(lambda x: x.cuda(device, non_blocking=non_blocking), *args)

    def pin_memory(self, *args: str) -> Any:
        """Move every tensor into page-locked memory."""
        return self.apply(lambda x: x.pin_memory(), *args)

    def share_memory_(self, *args: str) -> Any:
        """Move every tensor into memory shared between processes."""
        return self.apply(lambda x: x.share_memory_(), *args)

    def detach_(self, *args: str) -> Any:
        """Detach every tensor from its graph of gradients, in place."""
        return self.apply(lambda x: x.detach_(), *args)

    def detach(self, *args: str) -> Any:
        """Replace every tensor by one without gradient history."""
        return self.apply(lambda x: x.detach(), *args)

    def requires_grad_(self, *args: str, requires_grad: bool = True) -> Any:
        """Track gradients of every floating-point tensor, or stop to; with `args`, of the named attributes.

        Raises:
            RuntimeError: if a named attribute is a tensor that can't have gradients. (Without names PyG raises for
                every graph that has edges; here those tensors are left alone.)
        """

        def track(x: Any) -> Any:
            return x.requires_grad_(requires_grad) if args or x.is_floating_point() else x

        return self.apply(track, *args)

    def record_stream(self, stream: Any, *args: str) -> Any:
        """Tell the allocator that every tensor is used on `stream`."""
        return self.apply_(lambda x: x.record_stream(stream), *args)

    def is_cuda(self) -> bool:
        """Whether any tensor lies on a CUDA device."""
        found: list[bool] = []
        self.apply_(lambda x: found.append(x.is_cuda))
        return any(found)

    # What the names say ----------------------------------------------------------------------------------------------

    def _cat_dim(self, key: str, value: Any) -> Any:
        """Along which dimension `value` of attribute `key` is joined; the graph may say, or else the table does."""
        parent = self._parent()
        if parent is not None:
            return parent.__cat_dim__(key, value, self)
        kinds: dict[type, Kind] = {NodeStorage: "nodes", EdgeStorage: "edges"}
        return rule_of(key, value, {}, kinds.get(type(self), "graph")).cat_dim

    def _size_of(self, key: str, value: Any) -> int | None:
        """The size of `value` along the dimension in which it is joined, or `None` where that is not one dimension."""
        if not (isinstance(value, (Tensor, np.ndarray)) or is_sparse(value)):
            return None
        dim = self._cat_dim(key, value)
        shape = sizes(value) if is_sparse(value) else value.shape
        return int(shape[dim]) if isinstance(dim, int) and len(shape) > 0 else None

    def _level_of(self, key: str) -> str:
        """'node', 'edge' or 'graph': what attribute `key` describes (`gnnlab.data.rules`)."""
        value = self[key]
        declared = getattr(self._parent(), "rules", {}).get(key)
        if declared is not None and declared.level is not None:
            return str(declared.level)
        size = len(value) if isinstance(value, (list, tuple)) else self._size_of(key, value)
        if size is None:
            return "graph"
        of_edges = isinstance(self, EdgeStorage) and size == self.num_edges
        if of_edges and ("edge" in key or key == "e_id"):
            return "edge"
        if isinstance(self, NodeStorage) and size == self.num_nodes:
            return "node"
        return "edge" if of_edges else "graph"

    def _take(self, level: str, index: Tensor) -> None:
        """Cut every attribute of nodes or edges down to the entries `index` (ids or a mask)."""
        for key in [key for key in self if self._level_of(key) == level]:
            self[key] = take(self, key, index)

    # Time ------------------------------------------------------------------------------------------------------------

    def is_sorted_by_time(self) -> bool:
        """Whether `time` never falls."""
        time = self.get("time")
        return time is None or bool((time[1:] >= time[:-1]).all())

    def sort_by_time(self) -> Any:
        """Order the attributes that `time` belongs to, of nodes or of edges, by it (stable)."""
        if not self.is_sorted_by_time():
            self._take(self._level_of("time"), torch.argsort(self["time"], stable=True))
        return self

    def snapshot(self, start_time: float, end_time: float, attr: str = "time") -> Any:
        """Leave only the nodes, or the edges, whose `attr` lies in [`start_time`, `end_time`], in place.

        Of edges to nodes that are gone a storage knows nothing: cut graphs by their own `snapshot`.
        """
        if attr not in self:
            return self
        level, time = self._level_of(attr), self[attr]
        kept = (time >= start_time) & (time <= end_time)
        counted = f"num_{level}s" in self
        self._take(level, kept)
        if counted:
            self[f"num_{level}s"] = int(kept.sum())
        return self

    def up_to(self, end_time: float) -> Any:
        """Leave only the nodes, or the edges, whose `time` is at most `end_time`, in place (see `snapshot`)."""
        return self.snapshot(-math.inf, end_time)


class NodeStorage(BaseStorage):
    """Attributes of the nodes of one type."""

    @property
    def can_infer_num_nodes(self) -> bool:
        """Whether the number of nodes can be told from an attribute."""
        keys = {*NODE_COUNT_KEYS, "num_nodes", "edge_index", "adj", "adj_t", "face"}
        return any(key in keys or "node" in key for key in self)

    @property
    def num_nodes(self) -> int | None:
        """The number of nodes: `num_nodes` where given, else read from `x`, `pos`, `batch`, … or any name that holds
        'node', else from an adjacency; at last the largest node id plus one, with a warning, since isolated nodes are
        not seen so.
        """
        if "num_nodes" in self._mapping:
            return self._mapping["num_nodes"]
        found = _first_size(self, lambda key: key in NODE_COUNT_KEYS)
        if found is None:
            found = _first_size(self, lambda key: "node" in key)
        if found is not None:
            return found
        for key, dim in (("adj", 0), ("adj_t", 1)):
            matrix: Any = self.get(key)
            if is_sparse(matrix) or (isinstance(matrix, Tensor) and matrix.dim() == 2):
                return int(matrix.size(dim))
        return self._num_nodes_from_ids()

    @num_nodes.setter
    def num_nodes(self, value: int | None) -> None:
        self["num_nodes"] = value

    def _num_nodes_from_ids(self) -> int | None:
        key = next((key for key in ("edge_index", "face") if isinstance(self.get(key), Tensor)), None)
        what = "" if self._key is None else f" of type '{self._key}'"
        if key is None or isinstance(self._key, tuple):
            if "edge_index" not in self and not self._mapping:
                return None
            warnings.warn(
                f"Unable to accurately infer 'num_nodes' from {sorted(self.keys())}{what}; set 'num_nodes'",
                stacklevel=3,
            )
            return None
        warnings.warn(
            f"Unable to accurately infer 'num_nodes'{what}: took the largest id in '{key}' plus one; set 'num_nodes'",
            stacklevel=3,
        )
        ids = self[key]
        return int(ids.max()) + 1 if ids.numel() > 0 else 0

    @property
    def num_node_features(self) -> int:
        """Columns of `x` (0 without `x`)."""
        return _num_columns(self.get("x"))

    @property
    def num_features(self) -> int:
        """Columns of `x` (0 without `x`)."""
        return self.num_node_features

    def is_node_attr(self, key: str) -> bool:
        """Whether attribute `key` has one entry a node."""
        return self._level_of(key) == "node"

    def is_edge_attr(self, key: str) -> bool:
        """Whether attribute `key` has one entry an edge."""
        return self._level_of(key) == "edge"

    def node_attrs(self) -> list[str]:
        """Names of the attributes with one entry a node."""
        return [key for key in self if self.is_node_attr(key)]


class EdgeStorage(BaseStorage):
    """Attributes of the edges of one type."""

    @property
    def edge_index(self) -> Tensor:
        """`[2, num_edges]` int64. Source and target of every edge."""
        if "edge_index" not in self._mapping:
            raise AttributeError(f"'{type(self).__name__}' object has no attribute 'edge_index'")
        return self._mapping["edge_index"]

    @edge_index.setter
    def edge_index(self, value: Tensor | None) -> None:
        self["edge_index"] = value

    @property
    def num_edges(self) -> int:
        """The number of edges, read from `edge_index`, other names that hold 'edge', or an adjacency (0 without
        any).
        """
        if "num_edges" in self._mapping:
            return int(self._mapping["num_edges"])
        found = _first_size(self, lambda key: key in EDGE_COUNT_KEYS)
        if found is None:
            found = _first_size(self, lambda key: "edge" in key)
        if found is not None:
            return found
        for key in ("adj", "adj_t"):
            if is_sparse(self.get(key)):
                adj = self[key]
                return int(adj.nnz() if hasattr(adj, "nnz") else adj._nnz())
        return 0

    @num_edges.setter
    def num_edges(self, value: int | None) -> None:
        self["num_edges"] = value

    @property
    def num_edge_features(self) -> int:
        """Columns of `edge_attr` (0 without it)."""
        return _num_columns(self.get("edge_attr"))

    @property
    def num_features(self) -> int:
        """Columns of `edge_attr` (0 without it)."""
        return self.num_edge_features

    def size(self, dim: int | None = None) -> Any:
        """The number of source and target nodes as a pair, or one of the two."""
        parent = self._parent()
        if parent is None:
            raise ValueError("a storage of edges that belongs to no graph has no size")
        ends = [parent._node_store_dict.get(self._key[at]) for at in (0, -1)]
        size = tuple(None if end is None else end.num_nodes for end in ends)
        return size if dim is None else size[dim]

    def is_node_attr(self, key: str) -> bool:
        """Whether attribute `key` has one entry a node: never, in a storage of edges."""
        return False

    def is_edge_attr(self, key: str) -> bool:
        """Whether attribute `key` has one entry an edge."""
        return self._level_of(key) == "edge"

    def edge_attrs(self) -> list[str]:
        """Names of the attributes with one entry an edge."""
        return [key for key in self if self.is_edge_attr(key)]

    def is_sorted(self, sort_by_row: bool = True) -> bool:
        """Whether edges are ordered by source (or, with `sort_by_row=False`, by target)."""
        if "edge_index" not in self:
            return True
        ids = self.edge_index[0 if sort_by_row else 1]
        return bool((ids[1:] >= ids[:-1]).all())

    def sort(self, sort_by_row: bool = True) -> Any:
        """Order edges by source, then target (with `sort_by_row=False` by target, then source), attributes along."""
        if "edge_index" in self:
            row, col = self.edge_index if sort_by_row else self.edge_index.flip(0)
            by_col = torch.argsort(col, stable=True)
            self._take("edge", by_col[torch.argsort(row[by_col], stable=True)])
        return self

    def is_coalesced(self) -> bool:
        """Whether edges are ordered by source, then target, and none appears twice."""
        for key in ("adj", "adj_t"):
            if is_sparse(self.get(key)):
                return _is_coalesced(self[key])
        if "edge_index" not in self or self.edge_index.size(1) < 2:
            return True
        (row, col), (row_next, col_next) = self.edge_index[:, :-1], self.edge_index[:, 1:]
        return bool(((row < row_next) | ((row == row_next) & (col < col_next))).all())

    def coalesce(self, reduce: str = "sum") -> Any:
        """Order edges by source, then target, and merge those that appear more than once.

        Merged `edge_attr` values are reduced by `reduce`; every other edge attribute keeps the value of the first of
        the merged edges.
        """
        for key in ("adj", "adj_t"):
            if is_sparse(self.get(key)) and not _is_coalesced(self[key]):
                self[key] = self[key].coalesce()
        if "edge_index" not in self or self.is_coalesced():
            return self
        others = [key for key in self.edge_attrs() if key not in ("edge_index", "edge_attr")]
        order = torch.arange(self.num_edges, device=self.edge_index.device)
        if others:
            _, first = coalesce(self.edge_index, order, reduce="min")
            kept = {key: take(self, key, first) for key in others}
            self.update(kept)
        if "edge_attr" in self:
            self["edge_index"], self["edge_attr"] = coalesce(self.edge_index, self["edge_attr"], reduce=reduce)
        else:
            self["edge_index"] = coalesce(self.edge_index)
        return self

    def has_isolated_nodes(self) -> bool:
        """Whether some node of the two types has no edge in this storage."""
        num_src, num_dst = self.size()
        src, dst = self._ends()
        if num_src is None or num_dst is None:
            raise ValueError("can't tell whether nodes are isolated, since their number is unknown: set 'num_nodes'")
        if self.is_bipartite():
            return src.unique().numel() < num_src or dst.unique().numel() < num_dst
        return contains_isolated_nodes(torch.stack([src, dst]), num_src)

    def has_self_loops(self) -> bool:
        """Whether some edge starts and ends at the same node (never between two types)."""
        return not self.is_bipartite() and contains_self_loops(torch.stack(self._ends()))

    def is_undirected(self) -> bool:
        """Whether every edge has its reverse, with an equal `edge_attr` where there is one (never between two
        types).
        """
        if self.is_bipartite():
            return False
        edge_attr = self.get("edge_attr") if "edge_index" in self else None
        return is_undirected(torch.stack(self._ends()), edge_attr, num_nodes=self.size(0))

    def is_directed(self) -> bool:
        """The opposite of `is_undirected`."""
        return not self.is_undirected()

    def is_bipartite(self) -> bool:
        """Whether source and target are of two types."""
        return self._key is not None and self._key[0] != self._key[-1]

    def _ends(self) -> tuple[Tensor, Tensor]:
        """Source and target of every edge, from `edge_index` or an adjacency."""
        if "edge_index" in self:
            return self.edge_index[0], self.edge_index[1]
        for key in ("adj", "adj_t"):
            adj: Any = self.get(key)
            if is_sparse(adj):
                row, col = adj.coo()[:2] if hasattr(adj, "coo") else adj.to_sparse_coo().coalesce().indices()
                return (row, col) if key == "adj" else (col, row)
        empty = torch.empty(0, dtype=torch.long)
        return empty, empty


class GlobalStorage(NodeStorage, EdgeStorage):
    """Attributes of a whole homogeneous graph: of its nodes, its edges and itself."""

    @property
    def num_features(self) -> int:
        """Columns of `x` (0 without `x`)."""
        return self.num_node_features

    def size(self, dim: int | None = None) -> Any:
        """The number of source and target nodes as a pair, or one of the two."""
        size = (self.num_nodes, self.num_nodes)
        return size if dim is None else size[dim]

    def is_node_attr(self, key: str) -> bool:
        """Whether attribute `key` has one entry a node."""
        return self._level_of(key) == "node"


def take(store: BaseStorage, key: str, index: Tensor) -> Any:
    """The entries `index` (ids or a mask) of attribute `key`, along the dimension in which it is joined."""
    value = store[key]
    ids = index.nonzero().view(-1) if index.dtype == torch.bool else index
    if isinstance(value, (list, tuple)):
        return type(value)(value[i] for i in ids.tolist())
    dim = store._cat_dim(key, value)
    if isinstance(value, np.ndarray):
        return value.take(ids.cpu().numpy(), dim)
    if not isinstance(value, Tensor):
        return value.index_select(dim, ids.to(value.device()))
    if value.layout in (torch.sparse_csr, torch.sparse_csc):
        return value.to_sparse_coo().index_select(dim, ids.to(value.device)).to_sparse(layout=value.layout)
    return value.index_select(dim, ids.to(value.device))


def set_property(obj: Any, key: str, value: Any) -> bool:
    """Set `obj.key` if the class of `obj` has a property of that name; returns whether it has.

    Raises:
        AttributeError: if the property is computed.
    """
    descriptor = getattr(type(obj), key, None)
    if not isinstance(descriptor, property):
        return False
    if descriptor.fset is None:
        raise AttributeError(f"'{key}' of '{type(obj).__name__}' is computed and can't be set")
    descriptor.fset(obj, value)
    return True


def _no_parent() -> None:
    return None


def _is_coalesced(matrix: Any) -> bool:
    compressed = isinstance(matrix, Tensor) and matrix.layout != torch.sparse_coo
    return compressed or bool(matrix.is_coalesced())


def _num_columns(value: Any) -> int:
    if is_sparse(value):
        return sizes(value)[1]
    if not isinstance(value, (Tensor, np.ndarray)) or value.ndim == 0:
        return 0
    return 1 if value.ndim == 1 else int(value.shape[-1])


def _first_size(store: BaseStorage, wanted: Callable[[str], bool]) -> int | None:
    for key, value in store.items():
        if wanted(key):
            size = store._size_of(key, value)
            if size is not None:
                return size
    return None


def known_num_nodes(nodes: Any, what: str) -> int:
    """The number of nodes of a storage or a homogeneous graph.

    Raises:
        ValueError: if it can't be told; `what` names what it is needed for.
    """
    num_nodes = nodes.num_nodes
    if num_nodes is None:
        where = "" if nodes._key is None else f" of type '{nodes._key}'"
        raise ValueError(f"can't tell {what}, since the number of nodes{where} is unknown: set 'num_nodes'")
    return int(num_nodes)


def stored_keys(stores: Iterable[BaseStorage]) -> list[str]:
    """Every attribute name in `stores` once, in order of first appearance."""
    return list(dict.fromkeys(key for store in stores for key in store))


torch.serialization.add_safe_globals([BaseStorage, NodeStorage, EdgeStorage, GlobalStorage])
