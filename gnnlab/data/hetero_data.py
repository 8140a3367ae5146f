"""`HeteroData`: one graph with several types of nodes and edges."""

import copy
import warnings
from collections import namedtuple
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Self

import torch

from gnnlab.data import homogeneous, subgraphs, validation
from gnnlab.data.data import BaseData, needs_no_arguments
from gnnlab.data.nested import compact
from gnnlab.data.rules import Rule, increment_of, rule_of
from gnnlab.data.storage import BaseStorage, EdgeStorage, NodeStorage, known_num_nodes, set_property
from gnnlab.typing import EdgeType, Metadata, NodeType

#: The relation of an edge type that is given as (source, target) only.
DEFAULT_RELATION = "to"

#: Under this key `to_dict` keeps the attributes of the whole graph.
GLOBAL_STORE = "_global_store"


class HeteroData(BaseData):
    """A heterogeneous graph (`torch_geometric.data.HeteroData`).

    `data['paper']` is the storage of node type 'paper' and `data['author', 'writes', 'paper']` that of an edge type;
    both come into being when they are first asked for. `data.x_dict` collects attribute `x` of all types; to set it to
    a dictionary keyed by types of the graph sets `x` of each (PyG keeps the dictionary itself, beside the storages).

    Args:
        _mapping: attributes and storages, keyed by name, node type or edge type.
        **kwargs: more of them; 'author__writes__paper' names an edge type.

    >>> data = HeteroData()
    >>> data['paper'].x = torch.ones(3, 2)
    >>> data['paper', 'cites', 'paper'].edge_index = torch.tensor([[0, 1], [1, 2]])
    >>> data.num_nodes, data.metadata()
    (3, (['paper'], [('paper', 'cites', 'paper')]))
    """

    _global_store: BaseStorage
    _node_store_dict: dict[NodeType, NodeStorage]
    _edge_store_dict: dict[EdgeType, EdgeStorage]

    def __init__(self, _mapping: Mapping[Any, Any] | None = None, **kwargs: Any) -> None:
        self.__dict__["_global_store"] = BaseStorage._of({}, self)
        self.__dict__["_node_store_dict"] = {}
        self.__dict__["_edge_store_dict"] = {}
        for key, value in {**(_mapping or {}), **kwargs}.items():
            if isinstance(key, str) and "__" in key and isinstance(value, Mapping):
                key = tuple(key.split("__"))
            if isinstance(value, Mapping) and not (isinstance(key, str) and key.endswith("_dict")):
                self[key].update(value)
            elif isinstance(key, str):
                setattr(self, key, value)
            else:
                raise TypeError(f"the storage of edge type {key} must be a dict, found {type(value).__name__}")

    @classmethod
    def from_dict(cls, mapping: Mapping[Any, Any]) -> Self:
        """A graph from what `to_dict` gives."""
        out = cls()
        for key, value in mapping.items():
            if key == GLOBAL_STORE:
                out._global_store.update(value)
            elif isinstance(value, Mapping):
                out[key].update(value)
            else:
                setattr(out, key, value)
        return out

    @classmethod
    def _from_stores(cls, mappings: Mapping[Any, dict[str, Any]]) -> Self:
        """A graph around the dictionaries themselves, keyed by `None` (the graph's own), node type or edge type."""
        if needs_no_arguments(cls):
            out = cls()
            out._node_store_dict.clear()
            out._edge_store_dict.clear()
        else:
            out = cls.__new__(cls)
            HeteroData.__init__(out)
        for key, mapping in mappings.items():
            if key is None:
                out._global_store.__dict__["_mapping"] = mapping
            elif isinstance(key, tuple):
                out._edge_store_dict[key] = EdgeStorage._of(mapping, out, key)
            else:
                out._node_store_dict[key] = NodeStorage._of(mapping, out, key)
        return out

    def stores_as(self, data: Any) -> Self:
        for node_type in data.node_types:
            self.get_node_store(node_type)
        for edge_type in data.edge_types:
            self.get_edge_store(*edge_type)
        return self

    def __getstate__(self) -> dict[str, Any]:
        mappings = compact({id(store): store._mapping for store in self.stores})  # all at once: shared tensors stay one

        def small(store: Any) -> Any:
            out = copy.copy(store)
            out.__dict__["_mapping"] = mappings[id(store)]
            return out

        return self._map_stores(small).__dict__

    # Storages --------------------------------------------------------------------------------------------------------

    @property
    def stores(self) -> list[BaseStorage]:
        """The graph's own storage, then those of the node types and of the edge types."""
        return [self._global_store, *self.node_stores, *self.edge_stores]

    @property
    def node_types(self) -> list[NodeType]:
        """All node types."""
        return list(self._node_store_dict)

    @property
    def node_stores(self) -> list[NodeStorage]:
        """The storages of the node types."""
        return list(self._node_store_dict.values())

    @property
    def edge_types(self) -> list[EdgeType]:
        """All edge types."""
        return list(self._edge_store_dict)

    @property
    def edge_stores(self) -> list[EdgeStorage]:
        """The storages of the edge types."""
        return list(self._edge_store_dict.values())

    def node_items(self) -> list[tuple[NodeType, NodeStorage]]:
        """Pairs of node type and storage."""
        return list(self._node_store_dict.items())

    def edge_items(self) -> list[tuple[EdgeType, EdgeStorage]]:
        """Pairs of edge type and storage."""
        return list(self._edge_store_dict.items())

    def _typed_stores(self) -> list[tuple[Any, BaseStorage]]:
        """Pairs of type and storage, of nodes and edges."""
        return [*self.node_items(), *self.edge_items()]

    def metadata(self) -> Metadata:
        """The node types and the edge types."""
        return self.node_types, self.edge_types

    @property
    def input_type(self) -> NodeType | EdgeType | None:
        """The type that mini-batch seeds came from: the one whose storage has `input_id`, or `None`."""
        return next((key for key, store in self._typed_stores() if "input_id" in store), None)

    def get_node_store(self, key: NodeType) -> NodeStorage:
        """The storage of node type `key`, made if it is new."""
        if key not in self._node_store_dict:
            self._check_type_name(key)
            self._node_store_dict[key] = NodeStorage._of({}, self, key)
        return self._node_store_dict[key]

    def get_edge_store(self, src: str, rel: str, dst: str) -> EdgeStorage:
        """The storage of edge type (`src`, `rel`, `dst`), made if it is new."""
        key = (src, rel, dst)
        if key not in self._edge_store_dict:
            for name in key:
                self._check_type_name(name)
            self._edge_store_dict[key] = EdgeStorage._of({}, self, key)
        return self._edge_store_dict[key]

    def _check_type_name(self, name: str) -> None:
        if not isinstance(name, str) or not name:
            raise TypeError(f"a node type or relation must be a string that is not empty, found {name!r}")
        if "__" in name:
            warnings.warn(
                f"'{name}' has a double underscore, which stands between the parts of an edge type elsewhere",
                stacklevel=4,
            )

    def _to_canonical(self, *args: Any) -> NodeType | EdgeType:
        """The node type or whole edge type that `args` abbreviate: a name, (source, target) or (source, relation,
        target).

        (source, target) means the only edge type between the two, where there is one, else the relation 'to'. A single
        name that is no node type but the relation of exactly one edge type means that edge type.

        Raises:
            KeyError: if (source, target) may mean several edge types.
            ValueError: if `args` are not one to three names.
        """
        names = args[0] if len(args) == 1 and isinstance(args[0], tuple) else args
        if len(names) == 1:
            name = names[0]
            related = [key for key in self.edge_types if key[1] == name]
            return related[0] if name not in self._node_store_dict and len(related) == 1 else name
        if len(names) == 2:
            between = [key for key in self.edge_types if (key[0], key[2]) == tuple(names)]
            if len(between) > 1:
                raise KeyError(f"'{names}' may mean any of the edge types {between}: name the relation")
            return between[0] if between else (names[0], DEFAULT_RELATION, names[1])
        if len(names) == 3:
            return names[0], names[1], names[2]
        raise ValueError(f"an edge type has a source, a relation and a target, found {names}")

    # Dictionary and attribute access ---------------------------------------------------------------------------------

    def __getitem__(self, *args: Any) -> Any:
        key = self._to_canonical(*args)
        if isinstance(key, str) and key in self._global_store:
            return self._global_store[key]
        return self.get_edge_store(*key) if isinstance(key, tuple) else self.get_node_store(key)

    def __setitem__(self, key: str, value: Any) -> None:
        if not isinstance(key, str) or key in self._node_store_dict:
            raise AttributeError(
                f"{key!r} is no name for an attribute of the graph; those of a type are set by "
                "data[type].attribute = value"
            )
        self._global_store[key] = value

    def __delitem__(self, *args: Any) -> None:
        key = self._to_canonical(*args)
        if key in self._edge_store_dict:
            del self._edge_store_dict[key]
        elif key in self._node_store_dict:
            del self._node_store_dict[key]
        else:
            del self._global_store[key]  # type: ignore[arg-type]

    def __getattr__(self, key: str) -> Any:
        if "_global_store" not in self.__dict__:
            raise AttributeError(f"'{type(self).__name__}' is not set up yet, so it has no attribute '{key}'")
        if hasattr(self._global_store, key):
            return getattr(self._global_store, key)
        if key.endswith("_dict"):
            return self.collect(key[: -len("_dict")])
        raise AttributeError(f"'{type(self).__name__}' has no attribute '{key}'")

    def __setattr__(self, key: str, value: Any) -> None:
        if set_property(self, key, value):
            return
        if key in self._node_store_dict:
            raise AttributeError(
                f"'{key}' is a node type: set attributes of its storage, data['{key}'].attribute = value"
            )
        if key.endswith("_dict") and self._is_by_type(value):
            self.set_value_dict(key[: -len("_dict")], value)
        else:
            setattr(self._global_store, key, value)

    def _is_by_type(self, value: Any) -> bool:
        """Whether `value` has types of this graph for keys."""
        types = {*self._node_store_dict, *self._edge_store_dict}
        return isinstance(value, Mapping) and len(value) > 0 and types.issuperset(map(self._to_canonical, value))

    def __delattr__(self, key: str) -> None:
        delattr(self._global_store, key)

    def __iter__(self) -> Iterator[Any]:
        raise TypeError("a HeteroData can't be iterated: use node_items(), edge_items() or stores")

    def to_dict(self) -> dict[Any, Any]:
        """All values by storage: the graph's own under '_global_store', then by node type and edge type."""
        out: dict[Any, Any] = {GLOBAL_STORE: self._global_store.to_dict()}
        out.update({key: store.to_dict() for key, store in self._typed_stores()})
        return out

    def to_namedtuple(self) -> Any:
        """All values as nested named tuples; edge types are named 'source__relation__target'."""
        fields = self._global_store.to_dict()
        for key, store in self._typed_stores():
            fields["__".join(key) if isinstance(key, tuple) else key] = store.to_namedtuple()
        return namedtuple("DataTuple", fields)(**fields)

    def set_value_dict(self, key: str, value_dict: Mapping[Any, Any]) -> Self:
        """Set attribute `key` of many types at once, `value_dict` being keyed by type."""
        for type_name, value in value_dict.items():
            self[type_name][key] = value
        return self

    def collect(self, key: str, allow_empty: bool = False) -> dict[Any, Any]:
        """Attribute `key` (or a number such as `num_nodes` or `num_features`) of every type that has it, by type.

        Raises:
            KeyError: if no type has it and `allow_empty` is not set.
        """
        computed = key.startswith("num_")
        found = {
            type_name: getattr(store, key)
            for type_name, store in self._typed_stores()
            if key in store or (computed and hasattr(type(store), key))
        }
        if not found and not allow_empty:
            raise KeyError(f"Tried to collect '{key}' but found it in no node or edge type of {self.metadata()}")
        return found

    def update(self, data: Self) -> Self:
        """Set every attribute that `data` has, storage by storage."""
        self._global_store.update(data._global_store)
        for key, store in data._typed_stores():
            self[key].update(store)
        return self

    def rename(self, name: NodeType, new_name: NodeType) -> Self:
        """Rename a node type, in the edge types too, in this graph.

        Raises:
            KeyError: if there is no node type `name`.
            ValueError: if `new_name` is a node type already.
        """
        if name not in self._node_store_dict:
            raise KeyError(f"there is no node type '{name}' to rename; there are {self.node_types}")
        if new_name != name and new_name in self._node_store_dict:
            raise ValueError(f"node type '{new_name}' exists already")
        self._check_type_name(new_name)

        def renamed(key: Any) -> Any:
            if isinstance(key, tuple):
                return tuple(new_name if part == name and at != 1 else part for at, part in enumerate(key))
            return new_name if key == name else key

        dicts: tuple[dict[Any, Any], ...] = (self._node_store_dict, self._edge_store_dict)
        for stores in dicts:
            items = [(renamed(key), store) for key, store in stores.items()]
            stores.clear()
            for key, store in items:
                store.__dict__["_key"] = key
                stores[key] = store
        return self

    def debug(self) -> None:
        """Nothing; kept because PyG has it."""

    # How graphs are joined -------------------------------------------------------------------------------------------

    def _rule(self, key: str, value: Any, store: BaseStorage | None = None) -> Rule:
        return rule_of(key, value, self.rules, "edges" if isinstance(store, EdgeStorage) else "nodes")

    def __cat_dim__(self, key: str, value: Any, store: Any = None, *args: Any, **kwargs: Any) -> Any:
        return self._rule(key, value, store).cat_dim

    def __inc__(self, key: str, value: Any, store: Any = None, *args: Any, **kwargs: Any) -> Any:
        return increment_of(self._rule(key, value, store), value, lambda: self._num_nodes_around(store))

    def _num_nodes_around(self, store: Any) -> Any:
        """What ids in `store` are shifted by: `[2, 1]` source and target nodes for an edge type, else the type's
        nodes.
        """
        if isinstance(store, EdgeStorage):
            return torch.tensor([[self._num_nodes_at(store, store._key[at])] for at in (0, -1)])
        return store.num_nodes if isinstance(store, NodeStorage) else self.num_nodes

    def _num_nodes_at(self, store: EdgeStorage, node_type: NodeType) -> int:
        end = self._node_store_dict.get(node_type)
        num_nodes = None if end is None else end.num_nodes
        if num_nodes is None and store.num_edges > 0:
            raise ValueError(
                f"can't tell by how much to shift the ids of edge type {store._key}, since the number of nodes of type "
                f"'{node_type}' is unknown: set data['{node_type}'].num_nodes"
            )
        return int(num_nodes or 0)

    # Sizes -----------------------------------------------------------------------------------------------------------

    @property
    def num_node_features(self) -> dict[NodeType, int]:
        """Columns of `x`, by node type."""
        return {key: store.num_node_features for key, store in self.node_items()}

    @property
    def num_features(self) -> dict[NodeType, int]:
        """Columns of `x`, by node type."""
        return self.num_node_features

    @property
    def num_edge_features(self) -> dict[EdgeType, int]:
        """Columns of `edge_attr`, by edge type."""
        return {key: store.num_edge_features for key, store in self.edge_items()}

    def has_isolated_nodes(self) -> bool:
        """Whether some node has no edge of any type."""
        seen = {
            key: torch.zeros(known_num_nodes(store, "whether nodes are isolated"), dtype=torch.bool)
            for key, store in self._node_store_dict.items()
        }
        for (src, _, dst), store in self._edge_store_dict.items():
            for key, ids in zip((src, dst), store._ends(), strict=True):
                seen[key][ids.cpu()] = True
        return not all(bool(mask.all()) for mask in seen.values())

    def is_undirected(self) -> bool:
        """Whether every edge has its reverse: within its type, or between two types in an edge type of the other
        direction.
        """
        return self.to_homogeneous(node_attrs=[], edge_attrs=[]).is_undirected()

    def validate(self, raise_on_error: bool = True) -> bool:
        """Whether the graph is sound (`gnnlab.data.validation.validate`)."""
        return validation.validate(self, raise_on_error)

    # Whole-graph operations ------------------------------------------------------------------------------------------

    def subgraph(self, subset_dict: Mapping[NodeType, Any]) -> Self:
        """The graph of the nodes in `subset_dict` (ids or masks by type; other types whole) and the edges among
        them.
        """
        return subgraphs.hetero_subgraph(self, subset_dict)

    def edge_subgraph(self, subset_dict: Mapping[EdgeType, Any]) -> Self:
        """The graph of all nodes and the edges in `subset_dict` (ids or masks by type; other types whole)."""
        return subgraphs.hetero_edge_subgraph(self, subset_dict)

    def node_type_subgraph(self, node_types: Iterable[NodeType]) -> Self:
        """The graph of the given node types and the edge types between them."""
        return subgraphs.node_type_subgraph(self, list(node_types))

    def edge_type_subgraph(self, edge_types: Iterable[EdgeType]) -> Self:
        """The graph of the given edge types and the node types they touch."""
        return subgraphs.edge_type_subgraph(self, list(edge_types))

    def connected_components(self) -> list[Self]:
        """One graph for each (weakly) connected component."""
        return subgraphs.hetero_connected_components(self)

    def to_homogeneous(
        self,
        node_attrs: list[str] | None = None,
        edge_attrs: list[str] | None = None,
        add_node_type: bool = True,
        add_edge_type: bool = True,
        dummy_values: bool = True,
    ) -> Any:
        """The same graph with all types in one (`gnnlab.data.homogeneous.to_homogeneous`)."""
        return homogeneous.to_homogeneous(self, node_attrs, edge_attrs, add_node_type, add_edge_type, dummy_values)
