"""`Data`: one homogeneous graph, and what it shares with every other kind of graph (`BaseData`)."""

import copy
import inspect
import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any, ClassVar, Self

import torch
from torch import Tensor

from gnnlab.data import homogeneous, html, subgraphs, time_windows, validation
from gnnlab.data.join import concat
from gnnlab.data.rules import Rule, increment_of, rule_of
from gnnlab.data.storage import (
    BaseStorage,
    EdgeStorage,
    GlobalStorage,
    NodeStorage,
    known_num_nodes,
    set_property,
    stored_keys,
)
from gnnlab.data.text import data_repr


class BaseData(ABC):
    """A graph as a set of storages (`torch_geometric.data.data.BaseData`): what `Data`, `HeteroData` and `TemporalData`
    share.

    Subclasses may declare by name how an attribute is joined, shifted and levelled in `rules`
    (`gnnlab.data.rules.Rule`). Their constructors may take any arguments: graphs that come out of batches, datasets and
    copies get their attributes directly.
    """

    rules: ClassVar[Mapping[str, Rule]] = {}

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        declared: dict[str, Rule] = {}
        for base in reversed(cls.__mro__):
            declared.update(vars(base).get("rules", {}))
        cls.rules = declared
        torch.serialization.add_safe_globals([cls])

    # What a kind of graph has to say ---------------------------------------------------------------------------------

    @property
    @abstractmethod
    def stores(self) -> list[BaseStorage]:
        """All storages."""

    @property
    @abstractmethod
    def node_stores(self) -> list[NodeStorage]:
        """The storages that hold nodes."""

    @property
    @abstractmethod
    def edge_stores(self) -> list[EdgeStorage]:
        """The storages that hold edges."""

    @abstractmethod
    def stores_as(self, data: Any) -> Self:
        """Make this (empty) graph have storages of the same types as `data`."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """The graph as plain dictionaries of values."""

    @abstractmethod
    def to_namedtuple(self) -> Any:
        """The graph as a named tuple of values."""

    @abstractmethod
    def __cat_dim__(self, key: str, value: Any, *args: Any, **kwargs: Any) -> Any:
        """Along which dimension attribute `key` of several graphs is joined (`gnnlab.data.rules`)."""

    @abstractmethod
    def __inc__(self, key: str, value: Any, *args: Any, **kwargs: Any) -> Any:
        """By how much attribute `key` of the next graph is shifted when graphs are joined (`gnnlab.data.rules`)."""

    # Dictionary access -----------------------------------------------------------------------------------------------

    def keys(self) -> list[str]:
        """Names of all attributes, each once."""
        return stored_keys(self.stores)

    def __len__(self) -> int:
        return len(self.keys())

    def __contains__(self, key: object) -> bool:
        return key in self.keys()

    # Copies and pickles ----------------------------------------------------------------------------------------------

    def _adopt(self) -> Self:
        """Make every storage know this graph as its parent."""
        parent = weakref.ref(self)
        for store in self.stores:
            store.__dict__["_parent"] = parent
        return self

    def _map_stores(self, func: Callable[[Any], Any]) -> Self:
        """A new graph of the same class whose storages are `func` of this one's."""
        out = type(self).__new__(type(self))
        for name, value in self.__dict__.items():
            if isinstance(value, BaseStorage):
                out.__dict__[name] = func(value)
            elif name in ("_node_store_dict", "_edge_store_dict"):
                out.__dict__[name] = {key: func(store) for key, store in value.items()}
            else:
                out.__dict__[name] = value
        return out._adopt()

    def __copy__(self) -> Self:
        return self._map_stores(copy.copy)

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        out = self._map_stores(lambda store: copy.deepcopy(store, memo))
        memo[id(self)] = out
        return out

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__.copy()

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._adopt()

    def __repr__(self) -> str:
        return data_repr(self)

    def _repr_html_(self) -> str:
        return html.graph_html(self)

    # Sizes -----------------------------------------------------------------------------------------------------------

    @property
    def num_nodes(self) -> int | None:
        """The number of nodes of all types; `None` where it can't be told."""
        counts = [store.num_nodes for store in self.node_stores]
        known = [count for count in counts if count is not None]
        return sum(known) if len(known) == len(counts) else None

    @property
    def num_edges(self) -> int:
        """The number of edges of all types."""
        return sum(store.num_edges for store in self.edge_stores)

    def size(self, dim: int | None = None) -> Any:
        """The number of source and target nodes as a pair, or one of the two."""
        size = (self.num_nodes, self.num_nodes)
        return size if dim is None else size[dim]

    def node_attrs(self) -> list[str]:
        """Names of the attributes with one entry a node, each once."""
        return list(dict.fromkeys(key for store in self.node_stores for key in store.node_attrs()))

    def edge_attrs(self) -> list[str]:
        """Names of the attributes with one entry an edge, each once."""
        return list(dict.fromkeys(key for store in self.edge_stores for key in store.edge_attrs()))

    @property
    def node_offsets(self) -> dict[Any, int]:
        """By node type, the number of nodes of the types before it.

        Raises:
            ValueError: if the number of nodes of a type can't be told.
        """
        offsets, total = {}, 0
        for store in self.node_stores:
            offsets[store._key] = total
            total += known_num_nodes(store, "node_offsets")
        return offsets

    # Order and duplicates --------------------------------------------------------------------------------------------

    def is_sorted(self, sort_by_row: bool = True) -> bool:
        """Whether edges are ordered by source (with `sort_by_row=False` by target)."""
        return all(store.is_sorted(sort_by_row) for store in self.edge_stores)

    def sort(self, sort_by_row: bool = True) -> Self:
        """A copy with edges ordered by source, then target (with `sort_by_row=False` the other way round)."""
        out = copy.copy(self)
        for store in out.edge_stores:
            store.sort(sort_by_row)
        return out

    def is_coalesced(self) -> bool:
        """Whether edges are ordered by source, then target, and none appears twice."""
        return all(store.is_coalesced() for store in self.edge_stores)

    def coalesce(self) -> Self:
        """A copy with ordered edges, duplicates merged and their `edge_attr` added up."""
        out = copy.copy(self)
        for store in out.edge_stores:
            store.coalesce()
        return out

    def is_sorted_by_time(self) -> bool:
        """Whether `time` never falls, in every storage."""
        return all(store.is_sorted_by_time() for store in self._storages_once())

    def sort_by_time(self) -> Self:
        """A copy whose storages are ordered by `time`."""
        out = copy.copy(self)
        for store in out._storages_once():
            store.sort_by_time()
        return out

    def _storages_once(self) -> list[Any]:
        return list({id(store): store for store in [*self.node_stores, *self.edge_stores]}.values())

    def generate_ids(self) -> None:
        """Write `n_id` and `e_id`, the positions of nodes and edges, into every storage.

        Raises:
            ValueError: if the number of nodes of a type can't be told.
        """
        for store in self.node_stores:
            store.n_id = torch.arange(known_num_nodes(store, "'n_id'"))
        for edge_store in self.edge_stores:
            edge_store.e_id = torch.arange(edge_store.num_edges)

    def concat(self, data: Self) -> Self:
        """This graph and `data` with each attribute joined, node ids unchanged (`gnnlab.data.join.concat`)."""
        return concat(self, data)

    def snapshot(self, start_time: float, end_time: float, attr: str = "time") -> Self:
        """A copy with the nodes or edges whose `attr` lies in [`start_time`, `end_time`]."""
        return time_windows.snapshot(self, start_time, end_time, attr)

    def up_to(self, end_time: float) -> Self:
        """A copy with the nodes or edges whose `time` is at most `end_time`."""
        return time_windows.up_to(self, end_time)

    # Questions about structure ---------------------------------------------------------------------------------------

    def has_isolated_nodes(self) -> bool:
        """Whether some node has no edge."""
        return any(store.has_isolated_nodes() for store in self.edge_stores)

    def has_self_loops(self) -> bool:
        """Whether some edge starts and ends at the same node."""
        return any(store.has_self_loops() for store in self.edge_stores)

    def is_undirected(self) -> bool:
        """Whether every edge has its reverse."""
        return all(store.is_undirected() for store in self.edge_stores)

    def is_directed(self) -> bool:
        """The opposite of `is_undirected`."""
        return not self.is_undirected()

    def contains_isolated_nodes(self) -> bool:
        """The old name of `has_isolated_nodes`."""
        return self.has_isolated_nodes()

    def contains_self_loops(self) -> bool:
        """The old name of `has_self_loops`."""
        return self.has_self_loops()

    # Doing something to every tensor ---------------------------------------------------------------------------------

    def apply_(self, func: Callable[[Any], Any], *args: str) -> Self:
        """Call `func` on every tensor, for its effect; with `args`, on those of the named attributes only."""
        for store in self.stores:
            store.apply_(func, *args)
        return self

    def apply(self, func: Callable[[Any], Any], *args: str) -> Self:
        """Replace every tensor by `func` of it, in this graph; with `args`, those of the named attributes only."""
        for store in self.stores:
            store.apply(func, *args)
        return self

    def clone(self, *args: str) -> Self:
        """A copy with tensors of its own; with `args`, only the named attributes get their own."""
        return copy.copy(self).apply(lambda x: x.clone(), *args)

    def contiguous(self, *args: str) -> Self:
        """Make every tensor contiguous."""
        return self._each("contiguous", args)

    def to(self, device: Any, *args: str, non_blocking: bool = False) -> Self:
        """Move every tensor to `device`, in this graph."""
        return self._each("to", (device, *args), non_blocking=non_blocking)

    def cpu(self, *args: str) -> Self:
        """Move every tensor to the CPU."""
        return self._each("cpu", args)

    def cuda(self, device: Any = None, *args: str, non_blocking: bool = False) -> Self:
        """Move every tensor to a CUDA device."""
        return self._each("cuda", (device, *args), non_blocking=non_blocking)

    def pin_memory(self, *args: str) -> Self:
        """Move every tensor into page-locked memory."""
        return self._each("pin_memory", args)

    def share_memory_(self, *args: str) -> Self:
        """Move every tensor into memory shared between processes."""
        return self._each("share_memory_", args)

    def detach_(self, *args: str) -> Self:
        """Detach every tensor from its graph of gradients, in place."""
        return self._each("detach_", args)

    def detach(self, *args: str) -> Self:
        """Replace every tensor by one without gradient history."""
        return self._each("detach", args)

    def requires_grad_(self, *args: str, requires_grad: bool = True) -> Self:
        """Track gradients of every floating-point tensor, or stop to; with `args`, of the named attributes.

        Raises:
            RuntimeError: if a named attribute is a tensor that can't have gradients.
        """
        return self._each("requires_grad_", args, requires_grad=requires_grad)

    def record_stream(self, stream: Any, *args: str) -> Self:
        """Tell the allocator that every tensor is used on `stream`."""
        return self._each("record_stream", (stream, *args))

    def _each(self, method: str, args: tuple[Any, ...], **kwargs: Any) -> Self:
        for store in self.stores:
            getattr(store, method)(*args, **kwargs)
        return self

    @property
    def is_cuda(self) -> bool:
        """Whether any tensor lies on a CUDA device."""
        return any(store.is_cuda() for store in self.stores)


@cache
def needs_no_arguments(cls: type) -> bool:
    """Whether the constructor of `cls` can be called without arguments."""
    try:
        inspect.signature(cls.__init__).bind(None)  # type: ignore[misc]
    except TypeError:
        return False
    return True


def stored(key: str, doc: str) -> Any:
    """A property that reads and writes attribute `key` of the storage and reads `None` where it is not set."""

    def read(data: "Data") -> Any:
        return data._store._mapping.get(key)

    def write(data: "Data", value: Any) -> None:
        data._store[key] = value

    return property(read, write, doc=doc)


class Data(BaseData):
    """A homogeneous graph (`torch_geometric.data.Data`).

    Args:
        x: `[num_nodes, num_node_features]` float. Node features.
        edge_index: `[2, num_edges]` int64. Source and target of every edge.
        edge_attr: `[num_edges, num_edge_features]` float. Edge features.
        y: targets of the graph, its nodes or its edges, of any shape.
        pos: `[num_nodes, num_dimensions]` float. Node positions.
        time: `[num_nodes]` or `[num_edges]`. Time stamps.
        **kwargs: any further attributes.

    Raises:
        TypeError: if an attribute's name is no string.

    >>> data = Data(x=torch.ones(3, 2), edge_index=torch.tensor([[0, 1], [1, 2]]))
    >>> data
    Data(x=[3, 2], edge_index=[2, 2])
    >>> data.num_nodes, data.num_edges, data.y
    (3, 2, None)
    """

    _store: GlobalStorage

    def __init__(
        self,
        x: Tensor | None = None,
        edge_index: Tensor | None = None,
        edge_attr: Tensor | None = None,
        y: Tensor | float | None = None,
        pos: Tensor | None = None,
        time: Tensor | None = None,
        **kwargs: Any,
    ) -> None:
        self.__dict__["_store"] = GlobalStorage._of({}, self)
        given = {
            "x": x,
            "edge_index": edge_index,
            "edge_attr": edge_attr,
            "y": y,
            "pos": pos,
            "time": time,
        }
        for key, value in {**given, **kwargs}.items():
            if value is not None:
                setattr(self, key, value)

    @classmethod
    def _from_mapping(cls, mapping: dict[str, Any]) -> Self:
        """A graph around `mapping` itself, which must hold no `None`; the quick way in.

        A subclass's constructor is called where it needs no arguments, for the private attributes that it may set.
        """
        if cls.__init__ is not Data.__init__ and needs_no_arguments(cls):
            out = cls()
            out._store.__dict__["_mapping"] = mapping
        else:
            out = cls.__new__(cls)
            out.__dict__["_store"] = GlobalStorage._of(mapping, out)
        return out

    def __copy__(self) -> Self:
        out = type(self).__new__(type(self))
        out.__dict__["_store"] = self._store._copy_for(out)
        return out

    def stores_as(self, data: Any) -> Self:
        return self

    @property
    def stores(self) -> list[BaseStorage]:
        """The one storage, in a list."""
        return [self._store]

    @property
    def node_stores(self) -> list[NodeStorage]:
        """The one storage, in a list."""
        return [self._store]

    @property
    def edge_stores(self) -> list[EdgeStorage]:
        """The one storage, in a list."""
        return [self._store]

    # Dictionary and attribute access ---------------------------------------------------------------------------------

    def __getattr__(self, key: str) -> Any:
        if "_store" not in self.__dict__:
            raise AttributeError(f"'{type(self).__name__}' is not set up yet, so it has no attribute '{key}'")
        return getattr(self._store, key)

    def __setattr__(self, key: str, value: Any) -> None:
        if not set_property(self, key, value):
            setattr(self._store, key, value)

    def __delattr__(self, key: str) -> None:
        delattr(self._store, key)

    def __getitem__(self, key: str) -> Any:
        return self._store[key]

    def __setitem__(self, key: str, value: Any) -> None:
        self._store[key] = value

    def __delitem__(self, key: str) -> None:
        del self._store[key]

    def __iter__(self) -> Iterator[tuple[str, Any]]:
        yield from list(self._store.items())

    def __call__(self, *args: str) -> Iterator[tuple[str, Any]]:
        """Pairs of name and value, of the attributes named in `args` or of all."""
        yield from self._store.items(*args)

    def keys(self) -> list[str]:
        """Names of all attributes."""
        return list(self._store._mapping)

    def __contains__(self, key: object) -> bool:
        return key in self._store._mapping

    @classmethod
    def from_dict(cls, mapping: Mapping[str, Any]) -> Self:
        """A graph with the attributes of `mapping`."""
        return cls(**mapping)

    def to_dict(self) -> dict[str, Any]:
        """The attributes as a new dictionary."""
        return self._store.to_dict()

    def to_namedtuple(self) -> Any:
        """The attributes as a named tuple."""
        return self._store.to_namedtuple()

    def update(self, data: Self | Mapping[str, Any]) -> Self:
        """Set every attribute that `data` (a graph or a mapping) has."""
        for key, value in data.items() if isinstance(data, Mapping) else data._store.items():
            self[key] = value
        return self

    def debug(self) -> None:
        """Nothing; kept because PyG has it."""

    # How graphs are joined -------------------------------------------------------------------------------------------

    def _rule(self, key: str, value: Any, store: BaseStorage | None = None) -> Rule:
        return rule_of(key, value, self.rules, "graph")

    def __cat_dim__(self, key: str, value: Any, *args: Any, **kwargs: Any) -> Any:
        return self._rule(key, value).cat_dim

    def __inc__(self, key: str, value: Any, *args: Any, **kwargs: Any) -> Any:
        what = f"by how much to shift '{key}'"
        return increment_of(self._rule(key, value), value, lambda: known_num_nodes(self, what))

    # Attributes with a name of their own -----------------------------------------------------------------------------

    x = stored("x", "`[num_nodes, num_node_features]`. Node features, or `None`.")
    edge_index = stored("edge_index", "`[2, num_edges]` int64. Source and target of every edge, or `None`.")
    edge_weight = stored("edge_weight", "`[num_edges]`. Edge weights, or `None`.")
    edge_attr = stored("edge_attr", "`[num_edges, num_edge_features]`. Edge features, or `None`.")
    y = stored("y", "Targets, or `None`.")
    pos = stored("pos", "`[num_nodes, num_dimensions]`. Node positions, or `None`.")
    batch = stored("batch", "`[num_nodes]` int64. The graph of every node in a batch, or `None`.")
    time = stored("time", "`[num_nodes]` or `[num_edges]`. Time stamps, or `None`.")
    face = stored("face", "`[3, num_faces]` int64. The corners of every face, or `None`.")

    @property
    def num_nodes(self) -> int | None:
        """The number of nodes; `None` where it can't be told. May be set."""
        return self._store.num_nodes

    @num_nodes.setter
    def num_nodes(self, value: int | None) -> None:
        self._store.num_nodes = value

    @property
    def num_edges(self) -> int:
        """The number of edges. May be set."""
        return self._store.num_edges

    @num_edges.setter
    def num_edges(self, value: int | None) -> None:
        self._store.num_edges = value

    @property
    def num_node_features(self) -> int:
        """Columns of `x` (0 without `x`)."""
        return self._store.num_node_features

    @property
    def num_features(self) -> int:
        """Columns of `x` (0 without `x`)."""
        return self._store.num_node_features

    @property
    def num_edge_features(self) -> int:
        """Columns of `edge_attr` (0 without it)."""
        return self._store.num_edge_features

    @property
    def num_node_types(self) -> int:
        """The largest entry of `node_type` plus one (1 without it)."""
        return int(self["node_type"].max()) + 1 if "node_type" in self else 1

    @property
    def num_edge_types(self) -> int:
        """The largest entry of `edge_type` plus one (1 without it)."""
        return int(self["edge_type"].max()) + 1 if "edge_type" in self else 1

    @property
    def num_faces(self) -> int | None:
        """The number of columns of `face`, or `None`."""
        return None if self.face is None else int(self.face.size(self.__cat_dim__("face", self.face)))

    def is_node_attr(self, key: str) -> bool:
        """Whether attribute `key` has one entry a node."""
        return self._store.is_node_attr(key)

    def is_edge_attr(self, key: str) -> bool:
        """Whether attribute `key` has one entry an edge."""
        return self._store.is_edge_attr(key)

    # Whole-graph operations ------------------------------------------------------------------------------------------

    def validate(self, raise_on_error: bool = True) -> bool:
        """Whether the graph is sound (`gnnlab.data.validation.validate`)."""
        return validation.validate(self, raise_on_error)

    def subgraph(self, subset: Tensor) -> Self:
        """The graph of the nodes in `subset` (ids or a mask) and the edges among them."""
        return subgraphs.subgraph(self, subset)

    def edge_subgraph(self, subset: Tensor) -> Self:
        """The graph of all nodes and the edges in `subset` (ids or a mask)."""
        return subgraphs.edge_subgraph(self, subset)

    def connected_components(self) -> list[Self]:
        """One graph for each (weakly) connected component."""
        return subgraphs.connected_components(self)

    def to_heterogeneous(
        self,
        node_type: Tensor | None = None,
        edge_type: Tensor | None = None,
        node_type_names: list[str] | None = None,
        edge_type_names: list[tuple[str, str, str]] | None = None,
    ) -> Any:
        """The same graph with a storage for each node and edge type (`gnnlab.data.homogeneous.to_heterogeneous`)."""
        return homogeneous.to_heterogeneous(self, node_type, edge_type, node_type_names, edge_type_names)
