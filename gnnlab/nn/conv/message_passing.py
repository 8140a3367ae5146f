"""What all convolutions share: messages along edges, reduced at each node."""

from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from inspect import Parameter, signature
from typing import Any, NamedTuple, no_type_check

import torch
from torch import Tensor
from torch.nn import Module
from torch.utils.hooks import RemovableHandle

from gnnlab import sparse
from gnnlab.nn.resolver import aggregation_resolver
from gnnlab.sparse import SparseTensor
from gnnlab.typing import Adj, Size
from gnnlab.utils._checks import check_edge_index, check_range
from gnnlab.utils._spmm import as_sparse_tensor

#: Aggregations that a product with an adjacency can take the place of.
FUSED = frozenset({"sum", "add", "mean", "min", "max"})

#: Arguments of `message` and the others that are not given by name but known of the edges.
KNOWN = frozenset(
    {"edge_index", "adj_t", "edge_index_i", "edge_index_j", "index", "ptr", "size", "size_i", "size_j", "dim_size"}
)

#: Arguments that an adjacency's values fill where they are not given.
FROM_VALUES = ("edge_weight", "edge_attr", "edge_type")

_HOOKED = ("propagate", "message", "aggregate", "message_and_aggregate", "edge_update")


class FuseReport(NamedTuple):
    """Whether a layer multiplies by the adjacency instead of sending messages, and why.

    `bool(report)` is whether it does.
    """

    fused: bool
    reason: str

    def __bool__(self) -> bool:
        return self.fused


class MessagePassing(Module):
    """A layer that sends messages along edges and reduces what arrives at each node.

    A subclass writes `message`, and where needed `aggregate`, `update`, `edge_update`, or, to multiply by an adjacency
    instead of sending messages, `message_and_aggregate`; its `forward` calls `propagate`. These functions name what
    they need: `x_i` and `x_j` are the rows of `x` at the edges' targets and sources, other names are what `propagate`
    is given, and `index`, `ptr`, `size`, `size_i`, `size_j`, `dim_size`, `edge_index`, `edge_index_i`, `edge_index_j`
    and `adj_t` are known of the edges.

    Edges are an `edge_index`, [2, num_edges] integers, sources first; or the transposed adjacency, [num_targets,
    num_sources] sparse, of any kind: ours, torch_sparse's or torch's.

    aggr: how to reduce: an aggregation, its name, a list of them, or None where `aggregate` is overridden.
    aggr_kwargs: arguments of an aggregation given by name.
    flow: "source_to_target", or "target_to_source" to send messages against the edges.
    node_dim: the dimension of `x` that runs over nodes.
    decomposed_layers: send messages of this many parts of the features one after another, which takes less memory.

    Raises ValueError for another `flow` or `decomposed_layers`. PyG: `torch_geometric.nn.MessagePassing`.
    """

    def __init__(
        self,
        aggr: str | Sequence[Any] | Module | None = "sum",
        *,
        aggr_kwargs: dict[str, Any] | None = None,
        flow: str = "source_to_target",
        node_dim: int = -2,
        decomposed_layers: int = 1,
    ) -> None:
        super().__init__()
        if flow not in ("source_to_target", "target_to_source"):
            raise ValueError(f"flow: expected 'source_to_target' or 'target_to_source', found {flow!r}")
        if decomposed_layers < 1:
            raise ValueError(f"decomposed_layers: expected at least 1, found {decomposed_layers}")
        self.aggr = aggr
        self.aggr_module = None if aggr is None else aggregation_resolver(aggr, **(aggr_kwargs or {}))
        self.flow = flow
        self.node_dim = node_dim
        self.decomposed_layers = decomposed_layers
        self.fuse = True
        for name in _HOOKED:
            setattr(self, f"_{name}_forward_pre_hooks", OrderedDict())
            setattr(self, f"_{name}_forward_hooks", OrderedDict())

    def reset_parameters(self) -> None:
        """Draw the parameters anew: those of the aggregation, and in subclasses their own."""
        if self.aggr_module is not None and hasattr(self.aggr_module, "reset_parameters"):
            self.aggr_module.reset_parameters()

    # What a subclass may write ----------------------------------------------------------------------------------------

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """The layer."""
        raise NotImplementedError(f"{type(self).__name__} has no forward")

    @no_type_check  # a subclass has arguments of its own
    def message(self, x_j: Tensor) -> Tensor:
        """[num_edges, ...]: the messages, here the source's features."""
        return x_j

    @no_type_check  # a subclass has arguments of its own
    def aggregate(
        self, inputs: Tensor, index: Tensor, ptr: Tensor | None = None, dim_size: int | None = None
    ) -> Tensor:
        """[num_targets, ...]: the messages `inputs`, [num_edges, ...], reduced at each target."""
        if self.aggr_module is None:
            raise NotImplementedError(f"{type(self).__name__} was made with aggr=None and has no aggregate")
        return self.aggr_module(inputs, index, ptr=ptr, dim_size=dim_size, dim=self.node_dim)

    @no_type_check  # a subclass has arguments of its own
    def update(self, inputs: Tensor) -> Tensor:
        """What becomes of the reduced messages, [num_targets, ...]."""
        return inputs

    @no_type_check  # a subclass has arguments of its own
    def edge_update(self) -> Tensor:
        """[num_edges, ...]: what `edge_updater` computes of the edges."""
        raise NotImplementedError(f"{type(self).__name__} has no edge_update")

    @no_type_check  # a subclass has arguments of its own
    def message_and_aggregate(self, adj_t: Adj) -> Tensor:
        """[num_targets, ...]: messages and their reduction in one, without forming the messages."""
        raise NotImplementedError(f"{type(self).__name__} has no message_and_aggregate")

    # What a subclass calls --------------------------------------------------------------------------------------------

    def propagate(self, edge_index: Adj, size: Size = None, **kwargs: Any) -> Tensor:
        """Send messages along the edges, reduce them at each node, and update.

        edge_index: the edges; see the class. size: the numbers of sources and targets, for edges between two sets of
        nodes; by default those of the arguments. kwargs: what `message` and the others name; a pair is taken as what
        sources and targets have.

        Raises ValueError for edges of another shape, kind or dtype or arguments that do not fit, IndexError for ids
        beyond the nodes, TypeError for a name that nothing gives.
        """
        edge_index, size, kwargs = self._run_pre_hooks("propagate", (edge_index, size, kwargs))
        edges = _Edges(edge_index, size, self.flow)
        if self.fuse_report(kwargs, edge_index):
            given = self._collect(("message_and_aggregate", "update"), edges, kwargs)
            out = self._call("message_and_aggregate", given, edge_index)
        elif self.decomposed_layers > 1:
            out = self._in_parts(edges, kwargs)
            given = self._collect(("update",), edges, kwargs)
        else:
            given = self._collect(("message", "aggregate", "update"), edges, kwargs)
            out = self._aggregate(edges, given)
        out = self._arguments("update", given, self.update, out)
        for hook in self._hooks("_propagate_forward_hooks"):
            found = hook(self, (edge_index, size, kwargs), out)
            out = out if found is None else found
        return out

    def edge_updater(self, edge_index: Adj, size: Size = None, **kwargs: Any) -> Tensor:
        """`edge_update` of each edge; arguments as in `propagate`."""
        edges = _Edges(edge_index, size, self.flow)
        given = self._collect(("edge_update",), edges, kwargs)
        return self._call("edge_update", given)

    def fuse_report(self, x: Any, adj: Adj) -> FuseReport:
        """Whether `propagate` would multiply by `adj` instead of sending messages, and why.

        x: the features; they do not matter for the answer.
        """
        name = type(self).__name__
        if not sparse.is_sparse(adj):
            return FuseReport(False, "edges are given as edge_index, not as an adjacency")
        if not self.fuse:
            return FuseReport(False, f"{name}.fuse is False")
        if type(self).message_and_aggregate is MessagePassing.message_and_aggregate:
            return FuseReport(False, f"{name} has no message_and_aggregate: its messages are no product")
        if not isinstance(self.aggr, str) or self.aggr not in FUSED:
            return FuseReport(False, f"aggr={self.aggr!r} is none of sum, mean, min and max")
        hooked = [key for key in ("message", "aggregate") if self._hooks(f"_{key}_forward_pre_hooks")]
        hooked += [key for key in ("message", "aggregate") if self._hooks(f"_{key}_forward_hooks")]
        if hooked:
            return FuseReport(False, f"a hook is registered on {hooked[0]}, which a product would skip")
        return FuseReport(True, f"{name} multiplies by the adjacency with reduce={self.aggr!r}")

    # Arguments by name ------------------------------------------------------------------------------------------------

    def _collect(self, functions: Sequence[str], edges: "_Edges", kwargs: dict[str, Any]) -> dict[str, Any]:
        """The arguments that these functions name."""
        wanted: dict[str, Parameter] = {}
        for function in functions:
            wanted |= _parameters(type(self), function)
        given: dict[str, Any] = {}
        for name in wanted:
            if name in KNOWN:
                continue
            if name[-2:] in ("_i", "_j"):
                given[name] = self._at_edges(name, edges, kwargs)
            elif name in kwargs:
                given[name] = kwargs[name]
        for name, value in kwargs.items():  # also of what no function names, since it tells how many nodes there are
            if isinstance(value, (tuple, list)):
                self._learn_sizes(name, value, edges)
        if "message_and_aggregate" not in functions:
            for name in FROM_VALUES:
                if name in wanted and given.get(name) is None and edges.value is not None:
                    given[name] = edges.value
        given |= edges.known(wanted)
        for name, parameter in wanted.items():
            if name not in given and parameter.default is Parameter.empty:
                raise TypeError(f"{type(self).__name__}.propagate: missing argument {name!r}")
        return given

    def _at_edges(self, name: str, edges: "_Edges", kwargs: dict[str, Any]) -> Any:
        """`kwargs[name without _i or _j]` at each edge's target or source."""
        base, end = name[:-2], edges.target if name.endswith("_i") else edges.source
        if base not in kwargs:
            raise TypeError(f"{type(self).__name__}.propagate: missing argument {base!r}, of which {name!r} is made")
        value = kwargs[base]
        if isinstance(value, (tuple, list)):
            self._learn_sizes(base, value, edges)
            value = value[end]
        if not isinstance(value, Tensor):
            return value
        edges.set_size(end, value, self.node_dim, base)
        ids = edges.ids(end)
        try:
            return value.index_select(self.node_dim, ids)
        except (IndexError, RuntimeError):
            check_range(ids, "edge_index", value.size(self.node_dim))
            raise

    def _learn_sizes(self, name: str, value: Any, edges: "_Edges") -> None:
        """Tell the edges how many nodes there are, from what sources and targets have of one argument."""
        if len(value) != 2:
            raise ValueError(f"{name}: expected what sources and targets have, found {len(value)} values")
        for end in (0, 1):
            if isinstance(value[end], Tensor):
                edges.set_size(end, value[end], self.node_dim, name)

    def _aggregate(self, edges: "_Edges", given: dict[str, Any]) -> Tensor:
        """The messages, reduced."""
        messages = self._call("message", given)
        try:
            return self._call("aggregate", given, messages)
        except (IndexError, RuntimeError):
            size = edges.known(["dim_size"])["dim_size"]
            if size is not None:
                check_range(edges.ids(edges.target), "edge_index", size)
            raise

    def _in_parts(self, edges: "_Edges", kwargs: dict[str, Any]) -> Tensor:
        """Messages and their reduction for one part of the features after another."""
        names = {name[:-2] for name in _parameters(type(self), "message") if name.endswith(("_i", "_j"))}
        parts: list[dict[str, Any]] = [dict(kwargs) for _ in range(self.decomposed_layers)]
        for name in names & kwargs.keys():
            for part, value in zip(parts, _chunks(kwargs[name], self.decomposed_layers), strict=True):
                part[name] = value
        outs = []
        for part in parts:
            given = self._collect(("message", "aggregate"), edges, part)
            outs.append(self._aggregate(edges, given))
        return torch.cat(outs, dim=-1)

    # Hooks ------------------------------------------------------------------------------------------------------------

    def _call(self, function: str, given: dict[str, Any], *first: Any) -> Any:
        """Call one of the functions, with its hooks around it."""
        wanted = {name: given[name] for name in _parameters(type(self), function) if name in given}
        if function == "aggregate":
            inputs, wanted = self._run_pre_hooks(function, (first[0], wanted))
            first = (inputs,)
        elif function == "message_and_aggregate":
            adj, wanted = self._run_pre_hooks(function, (first[0], wanted))
            first = (adj,)
        else:
            (wanted,) = self._run_pre_hooks(function, (wanted,))
        out = self._arguments(function, wanted, getattr(self, function), *first)
        for hook in self._hooks(f"_{function}_forward_hooks"):
            found = hook(self, (*first, wanted), out)
            out = out if found is None else found
        return out

    def _arguments(self, function: str, given: dict[str, Any], call: Callable[..., Any], *first: Any) -> Any:
        return call(*first, **{name: given[name] for name in _parameters(type(self), function) if name in given})

    def _run_pre_hooks(self, function: str, inputs: tuple[Any, ...]) -> tuple[Any, ...]:
        for hook in self._hooks(f"_{function}_forward_pre_hooks"):
            found = hook(self, inputs)
            if found is not None:
                inputs = found if isinstance(found, tuple) else (found,)
        return inputs

    def _hooks(self, name: str) -> list[Any]:
        return list(getattr(self, name).values())

    def _register(self, name: str, hook: Callable[..., Any]) -> RemovableHandle:
        hooks = getattr(self, name)
        handle = RemovableHandle(hooks)
        hooks[handle.id] = hook
        return handle

    def register_propagate_forward_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call `hook(self, (edge_index, size, kwargs))` before `propagate`; what it returns takes the inputs' place."""
        return self._register("_propagate_forward_pre_hooks", hook)

    def register_propagate_forward_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call `hook(self, (edge_index, size, kwargs), out)` after `propagate`; what it returns takes the place of
        `out`.
        """
        return self._register("_propagate_forward_hooks", hook)

    def register_message_forward_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call `hook(self, (kwargs,))` before `message`."""
        return self._register("_message_forward_pre_hooks", hook)

    def register_message_forward_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call `hook(self, (kwargs,), out)` after `message`."""
        return self._register("_message_forward_hooks", hook)

    def register_aggregate_forward_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call `hook(self, (inputs, kwargs))` before `aggregate`."""
        return self._register("_aggregate_forward_pre_hooks", hook)

    def register_aggregate_forward_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call `hook(self, (inputs, kwargs), out)` after `aggregate`."""
        return self._register("_aggregate_forward_hooks", hook)

    def register_message_and_aggregate_forward_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call `hook(self, (adj_t, kwargs))` before `message_and_aggregate`."""
        return self._register("_message_and_aggregate_forward_pre_hooks", hook)

    def register_message_and_aggregate_forward_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call `hook(self, (adj_t, kwargs), out)` after `message_and_aggregate`."""
        return self._register("_message_and_aggregate_forward_hooks", hook)

    def register_edge_update_forward_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call `hook(self, (kwargs,))` before `edge_update`."""
        return self._register("_edge_update_forward_pre_hooks", hook)

    def register_edge_update_forward_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call `hook(self, (kwargs,), out)` after `edge_update`."""
        return self._register("_edge_update_forward_hooks", hook)

    def __repr__(self) -> str:
        channels = [getattr(self, name, None) for name in ("in_channels", "out_channels")]
        return f"{type(self).__name__}({', '.join(map(str, channels)) if None not in channels else ''})"


class _Edges:
    """The edges of one call, as an `edge_index` or an adjacency, and what is known of them.

    source, target: which of the two ends, 0 or 1, messages come from and go to. size: how many nodes each end has, as
    far as is known.
    """

    def __init__(self, edge_index: Adj, size: Size, flow: str) -> None:
        self.given = edge_index
        self.source, self.target = (0, 1) if flow == "source_to_target" else (1, 0)
        self.is_adj = sparse.is_sparse(edge_index)
        self.size: list[int | None] = [None, None] if size is None else list(size)
        if not self.is_adj:
            check_edge_index(edge_index)
            return
        if flow == "target_to_source":
            raise ValueError(
                "flow: an adjacency is taken as transposed, and can't be with 'target_to_source': give an edge_index, "
                "or the adjacency itself with 'source_to_target'"
            )
        if getattr(edge_index, "is_transposed", None) is False:
            raise ValueError("edge_index: found an adjacency that is not transposed: pass adj_t")
        rows, cols = sparse.sizes(edge_index)[:2]
        self.size = [cols, rows]

    @cached_property
    def adj(self) -> SparseTensor:
        """The adjacency, as one of ours."""
        return as_sparse_tensor(self.given)

    @property
    def value(self) -> Tensor | None:
        """[num_edges, ...]: the values of the adjacency, if it has any."""
        return self.adj.storage.value() if self.is_adj else None

    def ids(self, end: int) -> Tensor:
        """[num_edges] int64: the node at one end of each edge."""
        if self.is_adj:
            return self.adj.storage.row() if end == self.target else self.adj.storage.col()
        assert isinstance(self.given, Tensor)
        return self.given[end].long()

    def set_size(self, end: int, value: Tensor, dim: int, name: str) -> None:
        """Learn from `value` how many nodes are at one end, or refuse it."""
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


def _chunks(value: Any, num: int) -> list[Any]:
    """`value`, a tensor or a pair of them, in `num` parts of its last dimension."""
    if isinstance(value, Tensor):
        if value.size(-1) % num:
            raise ValueError(f"decomposed_layers: {value.size(-1)} features can't be had in {num} equal parts")
        return list(value.chunk(num, dim=-1))
    if isinstance(value, (tuple, list)):
        return list(zip(*(_chunks(item, num) for item in value), strict=True))
    return [value] * num


def _parameters(cls: type, function: str) -> dict[str, Parameter]:
    """The parameters of a function that are given by name: without `self`, and without the first of `aggregate`,
    `update` and `message_and_aggregate`, which is given by place.
    """
    cache = cls.__dict__.get("_known_parameters")
    if cache is None:
        cache = {}
        type.__setattr__(cls, "_known_parameters", cache)
    if function not in cache:
        found = list(signature(getattr(cls, function)).parameters.values())[1:]
        if function in ("aggregate", "update", "message_and_aggregate"):
            found = found[1:]
        named = (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)
        cache[function] = {parameter.name: parameter for parameter in found if parameter.kind in named}
    return cache[function]
