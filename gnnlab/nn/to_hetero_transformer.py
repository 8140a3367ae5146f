"""A model of graphs with one type of nodes, made to run on graphs with several."""

import copy
import inspect
import operator
import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from torch import Tensor, fx
from torch.nn import Module, Parameter

from gnnlab.nn.conv.hetero_conv import check_add_self_loops, check_grouping, entry_for, group, warn_of_lost_types
from gnnlab.nn.inits import reset
from gnnlab.nn.module_dict import ModuleDict
from gnnlab.nn.pool import global_add_pool, global_max_pool, global_mean_pool
from gnnlab.nn.sequential import Sequential
from gnnlab.typing import Metadata, NodeOrEdgeType

Types = Collection[NodeOrEdgeType]

# What trims the layers of a sampled batch mixes nodes and edges: it counts as not given, and must not be.
_NOT_GIVEN = ("num_sampled_nodes_per_hop", "num_sampled_edges_per_hop")


def to_hetero(
    module: Module,
    metadata: Metadata,
    aggr: str = "sum",
    input_map: dict[str, str] | None = None,
    debug: bool = False,
) -> "HeteroModule":
    """A copy of a model that takes and gives a dict by type wherever the model takes and gives a tensor.

    module: a model whose `forward` `torch.fx` can trace: no branch on what an argument holds (compared with None, it
    counts as given). metadata: the node types and the edge types, as `HeteroData.metadata()` gives them.
    aggr: how what several edge types bring to a node type is joined, as in `HeteroConv`.
    input_map: "node" or "edge" by argument; by default those with "edge" or "adj" in their name are by edge type.
    debug: print the traced graph.

    Each message-passing layer is copied for each edge type, each other layer for each type that comes in. Several
    copies are drawn anew; parameters outside of layers are shared. A module of message-passing layers is entered.
    Types at which no edge type ends drop out with the first such layer, of which it warns; types that a call does not
    bring are left out. A function that gets `training=True` in training follows the mode of the result.
    `num_sampled_nodes_per_hop` and `num_sampled_edges_per_hop` count as not given: layers are not trimmed.

    Raises ValueError for `metadata` that contradicts itself, a message-passing layer alone (`HeteroConv` takes these),
    a step that mixes values of nodes with values of edges, and self-loops between two types.
    PyG: `torch_geometric.nn.to_hetero`, which generates code from the traced graph; here it is interpreted.
    """
    return HeteroModule(module, metadata, aggr, input_map or {}, debug)


class Typed(dict[Any, Any]):
    """A value of the model for each node type or edge type."""


class HeteroModule(Module):
    """What `to_hetero` returns: the steps of a model, taken for each type."""

    def __init__(
        self, module: Module, metadata: Metadata, aggr: str, input_map: Mapping[str, str], debug: bool
    ) -> None:
        super().__init__()
        _check_metadata(metadata)
        check_grouping(aggr)
        warn_of_lost_types(metadata[1], metadata[0])
        self._metadata = metadata
        self._aggr = aggr
        self._graph, module = trace(module)
        if debug:
            print(self._graph)
        self._message_passing: set[str] = set()  # the steps that are message-passing layers
        self._types: dict[str, Types] = {}  # for each step, the types that its value may have
        for node in self._graph.nodes:
            self._add(node, module, input_map)
        self.training = module.training

    def _add(self, node: fx.Node, module: Module, input_map: Mapping[str, str]) -> None:
        """Note which types the value of a step may have, and take over its layer or parameter."""
        path = str(node.target)
        if node.op == "placeholder":
            self._types[node.name] = self._metadata[_level(path, input_map) == "edge"]
        elif node.op == "get_attr":
            _put(self, path, operator.attrgetter(path)(module))
        elif node.op == "call_module":
            layer = module.get_submodule(path)
            if passes_messages(layer):
                self._message_passing.add(node.name)
            types = self._types_of(node, self._types)
            _put(self, path, _copies(layer, types) if types else layer)
        if node.op.startswith("call") and (types := self._types_of(node, self._types)):
            passes = node.name in self._message_passing
            self._types[node.name] = list(dict.fromkeys(t[-1] for t in types)) if passes else types

    def _types_of(self, node: fx.Node, known: Mapping[str, Types]) -> Sequence[NodeOrEdgeType]:
        """The types that a step is taken for, out of those that its inputs have.

        A message-passing layer needs source and target of what its inputs hold by node type, and the first input by
        edge type (which is the edges: others, such as weights, may be missing). All else needs the type in every input.
        """
        inputs = [known[source.name] for source in node.all_input_nodes if source.name in known]
        by_edge = [types for types in inputs if all(isinstance(key, tuple) for key in types)]
        by_node = [types for types in inputs if types not in by_edge]
        if node.name in self._message_passing:
            return [
                edge_type
                for edge_type in self._metadata[1]
                if all(edge_type in types for types in by_edge[:1])
                and all(edge_type[0] in types and edge_type[-1] in types for types in by_node)
            ]
        if by_edge and by_node:
            raise ValueError(
                f"module: expected all of values of nodes, or all of edges, in step {node.name}, found both"
            )
        return [key for key in inputs[0] if all(key in types for types in inputs)] if inputs else []

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """The arguments of the model, dicts by node type or edge type in place of tensors; so is what it returns."""
        given = signature_of(self._graph).bind(*args, **kwargs)
        given.apply_defaults()
        values: dict[str, Any] = {}
        *steps, output = self._graph.nodes
        for node in steps:
            if node.op == "placeholder":
                values[node.name] = _argument(str(node.target), given.arguments[str(node.target)])
            elif node.op == "get_attr":
                values[node.name] = operator.attrgetter(str(node.target))(self)
            else:
                values[node.name] = self._step(node, values)
        return fx.map_arg(output.args[0], lambda source: _untyped(values[source.name]))

    def _step(self, node: fx.Node, values: Mapping[str, Any]) -> Any:
        typed = {name: list(value) for name, value in values.items() if isinstance(value, Typed)}
        if not any(source.name in typed for source in node.all_input_nodes):
            return self._call(node, values, None)
        outs = {key: self._call(node, values, key) for key in self._types_of(node, typed)}
        if node.name not in self._message_passing:
            return Typed(outs)
        arrived: dict[NodeOrEdgeType, list[Tensor]] = {}
        for edge_type, out in outs.items():
            arrived.setdefault(edge_type[-1], []).append(out)
        return Typed({node_type: group(found, self._aggr) for node_type, found in arrived.items()})

    def _call(self, node: fx.Node, values: Mapping[str, Any], key: NodeOrEdgeType | None) -> Any:
        """One step for one type, or with None where no type comes in."""

        def pick(source: fx.Node) -> Any:
            value = values[source.name]
            if not isinstance(value, Typed):
                return value
            return entry_for(value, key) if isinstance(key, tuple) else value[key]

        args, kwargs = fx.map_arg((node.args, node.kwargs), pick)
        if not isinstance(node.target, str):
            training = {"training": self.training} if kwargs.get("training") is True else {}
            return node.target(*args, **kwargs | training)
        if node.op == "call_method":
            return getattr(args[0], node.target)(*args[1:], **kwargs)
        layer = self.get_submodule(node.target)
        if key is not None and isinstance(layer, ModuleDict):
            layer = layer[_name(key)]
        return layer(*args, **kwargs)


def passes_messages(module: Module) -> bool:
    """Whether a module is a message-passing layer, ours or PyG's."""
    return hasattr(module, "propagate")


class _Tracer(fx.Tracer):
    """Enters the modules that hold message-passing layers, and no others."""

    def __init__(self) -> None:
        super().__init__(autowrap_functions=(global_add_pool, global_max_pool, global_mean_pool))

    def create_args_for_root(self, *args: Any, **kwargs: Any) -> tuple[Any, list[Any]]:
        function, arguments = super().create_args_for_root(*args, **kwargs)
        return function, [
            None if isinstance(argument, fx.Proxy) and argument.node.target in _NOT_GIVEN else argument
            for argument in arguments
        ]

    def is_leaf_module(self, m: Module, module_qualified_name: str) -> bool:
        return passes_messages(m) or not any(map(passes_messages, m.modules()))


def trace(module: Module) -> tuple[fx.Graph, Module]:
    """The steps of a model in training, and the copy of the model that they refer to."""
    if passes_messages(module):
        raise ValueError(f"module: expected a model of layers, found a {type(module).__name__}; HeteroConv takes these")
    root = copy.deepcopy(module)
    if isinstance(root, Sequential):
        return root.graph(), root
    graph = _Tracer().trace(root.train())
    for part, original in zip(root.modules(), module.modules(), strict=True):
        part.training = original.training
    return graph, root


def signature_of(graph: fx.Graph) -> inspect.Signature:
    """The arguments of a traced model, with their defaults."""
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    return inspect.Signature(
        [
            inspect.Parameter(str(node.target), kind, default=node.args[0] if node.args else inspect.Parameter.empty)
            for node in graph.nodes
            if node.op == "placeholder"
        ]
    )


def _check_metadata(metadata: Metadata) -> None:
    node_types, edge_types = metadata
    ends = {end for edge_type in edge_types for end in (edge_type[0], edge_type[-1])}
    if not edge_types or not ends <= set(node_types):
        raise ValueError(
            f"metadata: expected node types and edge types between them, found {node_types} and {edge_types}"
        )
    names = [*map(_name, node_types), *map(_name, edge_types)]
    if len(set(names)) < len(names):
        twice = sorted({name for name in names if names.count(name) > 1})
        raise ValueError(f"metadata: expected types that differ in letters, digits and '_', found {twice} twice")


def _level(argument: str, input_map: Mapping[str, str]) -> str:
    level = input_map.get(argument, "edge" if "edge" in argument or "adj" in argument else "node")
    if level not in ("node", "edge"):
        raise ValueError(f"input_map: expected 'node' or 'edge' for {argument}, found {level!r}")
    return level


def _argument(name: str, value: Any) -> Any:
    """A dict by type without the types that it has None for; what is no dict goes to every type alike."""
    if name in _NOT_GIVEN and value is not None:
        raise ValueError(f"{name}: expected None in a model by to_hetero, which does not trim, found {value}")
    if isinstance(value, Tensor):
        raise ValueError(f"{name}: expected a dict by type, found a tensor")
    if not isinstance(value, Mapping):
        return value
    return Typed({key: entry for key, entry in value.items() if entry is not None})


def _untyped(value: Any) -> Any:
    return dict(value) if isinstance(value, Typed) else value


def _name(key: NodeOrEdgeType) -> str:
    """What the copy of a layer for a type is called in the state, as PyG calls it."""
    return re.sub(r"[^a-zA-Z0-9_]", "_", key if isinstance(key, str) else "__".join(key))


def _copies(layer: Module, types: Sequence[NodeOrEdgeType]) -> ModuleDict[str]:
    """A copy of a layer for each type; where there are several, the parameters of each drawn anew."""
    copies = ModuleDict({_name(key): copy.deepcopy(layer) for key in types})
    for key in types:
        if isinstance(key, tuple):
            check_add_self_loops(layer, key)
        if len(types) > 1:
            reset(copies[_name(key)])
    return copies


def _put(root: Module, path: str, value: Any) -> None:
    """Set a layer, parameter or buffer that may lie deeper, unless an earlier step has done so."""
    *parents, last = path.split(".")
    for parent in parents:
        if parent not in dict(root.named_children()):
            root.add_module(parent, Module())
        root = root.get_submodule(parent)
    if isinstance(value, Tensor) and not isinstance(value, Parameter):
        root.register_buffer(last, value)
    elif last not in dict(root.named_children()):
        setattr(root, last, value)
