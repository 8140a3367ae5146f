"""What all convolutions share: messages along edges, reduced at each node."""

from collections.abc import Iterator, Sequence
from inspect import Parameter, signature
from typing import Any, NamedTuple, NoReturn, no_type_check

import torch
from torch import Tensor
from torch.nn import Module
from torch.utils.checkpoint import checkpoint

from gnnlab import sparse
from gnnlab.nn.conv.edges import KNOWN, Edges
from gnnlab.nn.conv.hooks import Hooked
from gnnlab.nn.resolver import aggregation_resolver
from gnnlab.sparse.reduce import REDUCTIONS
from gnnlab.typing import Adj, Size, refusal
from gnnlab.utils._checks import check_range

#: Aggregations that a product with an adjacency can take the place of.
FUSED = frozenset(REDUCTIONS)

#: What layers that send messages over an adjacency, and can do so in blocks, take for one of them.
CHUNK_BYTES = 1 << 28

#: Arguments that an adjacency's values fill where they are not given.
FROM_VALUES = ("edge_weight", "edge_attr", "edge_type")

#: The functions that a subclass may write, and how many arguments they are given by place.
_FUNCTIONS = {"message": 0, "aggregate": 1, "message_and_aggregate": 1, "update": 1, "edge_update": 0}


class FuseReport(NamedTuple):
    """Whether a layer multiplies by the adjacency instead of sending messages, and why.

    `bool(report)` is whether it does.
    """

    fused: bool
    reason: str

    def __bool__(self) -> bool:
        return self.fused


class MessagePassing(Hooked):
    """A layer that sends messages along edges and reduces what arrives at each node.

    A subclass writes `message`, and where needed `aggregate`, `update`, `edge_update`, or, to multiply by an adjacency
    instead of sending messages, `message_and_aggregate`; its `forward` calls `propagate`. These functions name what
    they need: `x_i` and `x_j` are the rows of `x` at the edges' targets and sources, other names are what `propagate`
    is given, and `index`, `ptr`, `size`, `size_i`, `size_j`, `dim_size`, `edge_index`, `edge_index_i`, `edge_index_j`
    and `adj_t` are known of the edges. What an adjacency holds as values is `edge_weight`, `edge_attr` or `edge_type`
    where these are not given.

    Edges are an `edge_index`, [2, num_edges] integers, sources first; or the transposed adjacency, [num_targets,
    num_sources] sparse, of any kind: ours, torch_sparse's or torch's. On an accelerator ids beyond the nodes end in
    torch's own assertion, since looking for them would wait for the device.

    aggr: how to reduce: an aggregation, its name, a list of them, or None where `aggregate` is overridden.
    aggr_kwargs: arguments of an aggregation given by name.
    flow: "source_to_target", or "target_to_source" to send messages against the edges.
    node_dim: the dimension of `x` that runs over nodes.
    decomposed_layers: send messages of this many parts of the features one after another, which takes less memory.
    chunk_bytes: send messages over an adjacency for blocks of targets, one after another, so that the arguments at
    both ends and along the edges of a block (`x_i`, `x_j`, `edge_attr`, ...) take at most this many bytes, or as many
    as one target needs; what `message` makes of them comes on top. A block is computed again for the gradient, in
    which so little is kept too. It has no effect on an `edge_index`, whose edges are in no order. An argument with one
    row an edge is taken to run over edges. By default all at once, for `message` may look at all edges (a BatchNorm in
    it does); GINEConv, FastRGCNConv and GMMConv, which don't, have a default of 256 MiB.

    `fuse`, True unless set, allows the product. Raises ValueError for another `flow`, `decomposed_layers` or
    `chunk_bytes`. PyG: `torch_geometric.nn.MessagePassing`; `chunk_bytes` and `fuse_report` are gnnlab's own.
    """

    def __init__(
        self,
        aggr: str | Sequence[Any] | Module | None = "sum",
        *,
        aggr_kwargs: dict[str, Any] | None = None,
        flow: str = "source_to_target",
        node_dim: int = -2,
        decomposed_layers: int = 1,
        chunk_bytes: int | None = None,
    ) -> None:
        super().__init__()
        if flow not in ("source_to_target", "target_to_source"):
            raise ValueError(f"flow: expected 'source_to_target' or 'target_to_source', found {flow!r}")
        if decomposed_layers < 1:
            raise ValueError(f"decomposed_layers: expected at least 1, found {decomposed_layers}")
        if chunk_bytes is not None and chunk_bytes < 1:
            raise ValueError(f"chunk_bytes: expected at least 1 or None, found {chunk_bytes}")
        self.aggr = aggr
        self.aggr_module = None if aggr is None else aggregation_resolver(aggr, **(aggr_kwargs or {}))
        self.flow = flow
        self.node_dim = node_dim
        self.decomposed_layers = decomposed_layers
        self.chunk_bytes = chunk_bytes
        self.fuse = True
        self._wanted = {name: _arguments(type(self), name) for name in _FUNCTIONS}
        self._at_ends = {name: {key[:-2] for key in wanted if _is_lifted(key)} for name, wanted in self._wanted.items()}

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
        nodes; by default those of the arguments. kwargs: what `message` and the others name; where they name it with
        `_i` or `_j`, a pair is what sources and targets have.

        Raises ValueError for edges of another shape, kind, dtype or device or arguments that do not fit, IndexError for
        ids beyond the nodes, TypeError for a name that nothing gives.
        """
        edge_index, size, kwargs = self.run_before("propagate", (edge_index, size, kwargs))
        edges = Edges(edge_index, size, self.flow)
        self._learn_sizes("message", edges, kwargs)
        if self._why_sent(edge_index, kwargs) is None:
            out = self._multiply(edges, kwargs)
        elif self.decomposed_layers > 1:
            out = torch.cat([self._send(edges, part) for part in self._parts(kwargs)], dim=-1)
        else:
            out = self._send(edges, kwargs)
        out = self.update(out, **self._collect("update", edges, kwargs))
        return self.run_after("propagate", (edge_index, edges.size, kwargs), out)

    def edge_updater(self, edge_index: Adj, size: Size = None, **kwargs: Any) -> Tensor:
        """`edge_update` of each edge; arguments as in `propagate`."""
        edges = Edges(edge_index, size, self.flow)
        self._learn_sizes("edge_update", edges, kwargs)
        given = self._collect("edge_update", edges, kwargs)
        edge_index, size, given = self.run_before("edge_update", (edge_index, size, given))
        return self.run_after("edge_update", (edge_index, size, given), self.edge_update(**given))

    def fuse_report(self, x: Any, adj: Adj) -> FuseReport:
        """Whether `propagate` multiplies by `adj` instead of sending messages, and why.

        x: the features, [num_nodes, ...], or a pair of them for sources and targets.
        """
        reason = self._why_sent(adj, dict.fromkeys(self._at_ends["message"], x))
        if reason is None:
            return FuseReport(True, f"{type(self).__name__} multiplies by the adjacency with reduce={self.aggr!r}")
        if sparse.is_sparse(adj):
            way = "at once" if self.chunk_bytes is None else f"in blocks of {self.chunk_bytes} bytes"
            reason = f"{reason}; messages are sent {way} (chunk_bytes={self.chunk_bytes})"
        return FuseReport(False, reason)

    def jittable(self, typing: str | None = None) -> NoReturn:
        """Raises ImportError: gnnlab has no TorchScript."""
        raise ImportError(refusal("TorchScript"))

    # The two paths ----------------------------------------------------------------------------------------------------

    def _why_sent(self, adj: Adj, kwargs: dict[str, Any]) -> str | None:
        """Why messages are sent, or None where the adjacency is multiplied by."""
        name = type(self).__name__
        if not sparse.is_sparse(adj):
            return "the edges are an edge_index, not an adjacency"
        if not self.fuse:
            return f"{name}.fuse is False"
        product = _depth(type(self), "message_and_aggregate")
        if type(self).message_and_aggregate is MessagePassing.message_and_aggregate:
            return f"{name} has no message_and_aggregate: its messages are no product"
        for function in ("message", "aggregate"):
            if _depth(type(self), function) < product:
                return f"{name} overrides {function}, but not the message_and_aggregate that stands for it"
            if self.has_hooks(function):
                return f"a hook is registered on {function}, which a product would skip"
        if not isinstance(self.aggr, str) or self.aggr not in FUSED:
            return f"aggr={self.aggr!r} is none of sum, mean, min and max"
        for key in FROM_VALUES:
            if kwargs.get(key) is not None and key in self._wanted["message"]:
                return f"{key} is given beside the adjacency, whose values a product would take"
        for key in sorted(self._at_ends["message"] & kwargs.keys()):
            for value in _both_ends(kwargs[key]):
                if isinstance(value, Tensor) and self.node_dim not in (0, -value.dim()):
                    return f"{key} has its nodes along dimension {self.node_dim} of {value.dim()}, not along the first"
        return None

    def _multiply(self, edges: Edges, kwargs: dict[str, Any]) -> Tensor:
        """Messages and their reduction as one product."""
        given = self._collect("message_and_aggregate", edges, kwargs)
        adj, given = self.run_before("message_and_aggregate", (edges.given, given))
        return self.run_after("message_and_aggregate", (adj, given), self.message_and_aggregate(adj, **given))

    def _send(self, edges: Edges, kwargs: dict[str, Any]) -> Tensor:
        """Messages and then their reduction, of all edges at once or of one block of targets after another."""
        if self.chunk_bytes is None or not edges.is_adj:
            return self._send_at_once(edges, kwargs)
        along = self._along_edges(edges, kwargs)
        if edges.num_edges() in edges.size and not set(FROM_VALUES).issuperset(along):
            return self._send_at_once(edges, kwargs)
        width = sum(_row_bytes(kwargs[name], 0) for name in along)
        width += 0 if edges.value is None else _row_bytes(edges.value, 0)
        for name in self._wanted["message"]:
            if _is_lifted(name) and name[:-2] in kwargs:
                width += _row_bytes(_at_end(kwargs[name[:-2]], self._end(name, edges)), self.node_dim)
        most = max(1, self.chunk_bytes // max(1, width))
        if edges.num_edges() <= most:
            return self._send_at_once(edges, kwargs)
        outs = [
            checkpoint(self._send_block, edges, kwargs, along, block, use_reentrant=False)
            if torch.is_grad_enabled()
            else self._send_block(edges, kwargs, along, block)
            for block in edges.blocks(most)
        ]
        return torch.cat(outs, dim=self.node_dim)

    def _send_block(self, edges: Edges, kwargs: dict[str, Any], along: Sequence[str], block: tuple[int, int]) -> Tensor:
        """What a block of targets, first to last (exclusive), receives."""
        first, last = block
        some, span = edges.of_targets(first, last)
        out = self._send_at_once(some, kwargs | {name: kwargs[name][span] for name in along})
        return out.narrow(self.node_dim, first, last - first)

    def _send_at_once(self, edges: Edges, kwargs: dict[str, Any]) -> Tensor:
        """Messages of all edges and then their reduction."""
        given = self._collect("message", edges, kwargs)
        (given,) = self.run_before("message", (given,))
        messages = self.run_after("message", (given,), self.message(**given))
        given = self._collect("aggregate", edges, kwargs)
        (given,) = self.run_before("aggregate", (given,))
        try:
            out = self.aggregate(messages, **given)
        except (IndexError, RuntimeError):
            size = edges.known(["dim_size"])["dim_size"]
            if size is not None:
                check_range(edges.ids(edges.target), "edge_index", size)
            raise
        return self.run_after("aggregate", (given,), out)

    def _parts(self, kwargs: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """The arguments for each part of the features."""
        num = self.decomposed_layers
        split = {name: _split(kwargs[name], num) for name in self._at_ends["message"] & kwargs.keys()}
        for i in range(num):
            yield kwargs | {name: parts[i] for name, parts in split.items()}

    # Arguments by name ------------------------------------------------------------------------------------------------

    def _collect(self, function: str, edges: Edges, kwargs: dict[str, Any]) -> dict[str, Any]:
        """The arguments that one of the functions names."""
        wanted = self._wanted[function]
        given: dict[str, Any] = {}
        for name in wanted:
            if name in KNOWN:
                continue
            if _is_lifted(name) and name[:-2] in kwargs:
                given[name] = self._lift(name, edges, kwargs[name[:-2]])
            elif name in kwargs:
                given[name] = kwargs[name]
            if name in FROM_VALUES and given.get(name) is None and edges.value is not None:
                given[name] = edges.value
        given |= edges.known(wanted)
        for name, has_default in wanted.items():
            if name not in given and not has_default:
                missing = f"{name[:-2]!r}, of which {name!r} is made" if _is_lifted(name) else repr(name)
                raise TypeError(f"{type(self).__name__}.{function}: missing argument {missing}")
        return given

    def _lift(self, name: str, edges: Edges, value: Any) -> Any:
        """What nodes have, at each edge's target (`name` ends in `_i`) or source."""
        base, end = name[:-2], self._end(name, edges)
        value = _at_end(value, end)
        if not isinstance(value, Tensor):
            return value
        edges.learn_size(end, value, self.node_dim, base)
        ids = edges.ids(end)
        if ids.device != value.device:
            raise ValueError(f"edge_index: expected it on {value.device} as {base} is, found it on {ids.device}")
        try:
            return value.index_select(self.node_dim, ids)
        except (IndexError, RuntimeError):
            check_range(ids, "edge_index", value.size(self.node_dim))
            raise

    def _end(self, name: str, edges: Edges) -> int:
        return edges.target if name.endswith("_i") else edges.source

    def _learn_sizes(self, function: str, edges: Edges, kwargs: dict[str, Any]) -> None:
        """Learn how many nodes there are from pairs of what sources and targets have."""
        for name in self._at_ends[function] & kwargs.keys():
            value = kwargs[name]
            if isinstance(value, (tuple, list)):
                if len(value) != 2:
                    raise ValueError(f"{name}: expected what sources and targets have, found {len(value)} values")
                for end in (0, 1):
                    if isinstance(value[end], Tensor):
                        edges.learn_size(end, value[end], self.node_dim, name)

    def _along_edges(self, edges: Edges, kwargs: dict[str, Any]) -> list[str]:
        """The names of arguments that have one row an edge."""
        num = edges.num_edges()
        named = (self._wanted["message"].keys() | self._wanted["aggregate"].keys()) & kwargs.keys()
        tensors = {name: kwargs[name] for name in named if isinstance(kwargs[name], Tensor)}
        return sorted(name for name, value in tensors.items() if value.dim() > 0 and value.size(0) == num)

    def __repr__(self) -> str:
        channels = [getattr(self, name, None) for name in ("in_channels", "out_channels")]
        return f"{type(self).__name__}({', '.join(map(str, channels)) if None not in channels else ''})"


def _arguments(cls: type, function: str) -> dict[str, bool]:
    """The names of arguments of one of the functions that are not given by place, and whether each has a default."""
    found = list(signature(getattr(cls, function)).parameters.values())[1 + _FUNCTIONS[function] :]
    named = (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)
    return {p.name: p.default is not Parameter.empty for p in found if p.kind in named}


def _is_lifted(name: str) -> bool:
    """Whether an argument is taken at the ends of edges."""
    return name[-2:] in ("_i", "_j") and name not in KNOWN


def _depth(cls: type, function: str) -> int:
    """How many classes stand between a class and the one that its function comes from."""
    return next(i for i, base in enumerate(cls.__mro__) if function in vars(base))


def _both_ends(value: Any) -> Sequence[Any]:
    return value if isinstance(value, (tuple, list)) else (value,)


def _at_end(value: Any, end: int) -> Any:
    """What one end has: of a pair one, else the same as the other."""
    return value[end] if isinstance(value, (tuple, list)) else value


def _row_bytes(value: Any, dim: int) -> int:
    """The bytes of one row along `dim`; 0 of what is no tensor."""
    if not isinstance(value, Tensor) or value.numel() == 0:
        return 0
    return value.numel() // value.size(dim) * value.element_size()


def _split(value: Any, num: int) -> list[Any]:
    """`value`, a tensor or a pair of them, in `num` parts of its last dimension."""
    if isinstance(value, Tensor):
        if value.size(-1) % num:
            raise ValueError(f"decomposed_layers: {value.size(-1)} features can't be had in {num} equal parts")
        return list(value.chunk(num, dim=-1))
    if isinstance(value, (tuple, list)):
        return list(zip(*(_split(item, num) for item in value), strict=True))
    return [value] * num
