"""A convolution for each edge type."""

import warnings
from collections.abc import Collection, Mapping
from typing import Any

import torch
from torch import Tensor
from torch.nn import Module

from gnnlab.nn.inits import reset
from gnnlab.nn.joins import join
from gnnlab.nn.module_dict import ModuleDict
from gnnlab.typing import EdgeType, NodeOrEdgeType, NodeType

_GROUPINGS = ("sum", "add", "mean", "min", "max", "mul", "cat", None)


class HeteroConv(Module):
    """Run a layer of its own over each edge type, and join what arrives at a node type from several of them.

    convs: the layer of each edge type. aggr: how to join: "sum", "mean", "min", "max", "mul", "cat" (side by side), or
    None (stacked, [num_nodes, num_relations, channels]).

    Raises ValueError for another `aggr`, or where self-loops would be added between two node types; warns of source
    types at which no edge type ends, as they drop out. PyG: `torch_geometric.nn.HeteroConv`.
    """

    def __init__(self, convs: dict[EdgeType, Module], aggr: str | None = "sum") -> None:
        super().__init__()
        check_grouping(aggr)
        for edge_type, conv in convs.items():
            check_add_self_loops(conv, edge_type)
        warn_of_lost_types(list(convs), {source for source, *_ in convs})
        self.convs = ModuleDict(convs)
        self.aggr = aggr

    def reset_parameters(self) -> None:
        """Draw the parameters of all layers anew."""
        for conv in self.convs.values():
            reset(conv)

    def forward(self, *args_dict: Mapping[Any, Any], **kwargs_dict: Mapping[Any, Any]) -> dict[NodeType, Tensor]:
        """Each argument of the layers as a dict, by name with `_dict` at its end.

        A dict by node type, such as `x_dict`, gives a layer the pair of what source and target have, and the value
        itself where the two are one type; a dict by edge type, such as `edge_index_dict`, gives it its own entry. A
        layer whose edge type is in none of the dicts is left out.

        Returns what arrives at each target type. Raises ValueError for a name without `_dict`, or a dict without an
        entry for a layer that a later one has an entry for.
        """
        for name in kwargs_dict:
            if not name.endswith("_dict"):
                raise ValueError(f"{name}: expected the name of a keyword argument to end in '_dict'")
        arrived: dict[NodeType, list[Tensor]] = {}
        for edge_type, conv in self.convs.items():
            if not any(edge_type in values for values in (*args_dict, *kwargs_dict.values())):
                continue
            args = _positional(args_dict, edge_type)
            kwargs = {
                name.removesuffix("_dict"): value
                for name, values in kwargs_dict.items()
                if (value := entry_for(values, edge_type)) is not None
            }
            arrived.setdefault(edge_type[-1], []).append(conv(*args, **kwargs))
        return {node_type: group(outs, self.aggr) for node_type, outs in arrived.items()}

    def __repr__(self) -> str:
        return f"{type(self).__name__}(num_relations={len(self.convs)})"


def group(outs: list[Tensor], aggr: str | None) -> Tensor:
    """Join tensors of one shape, [num_nodes, channels] each, as `HeteroConv` does."""
    if aggr is None:
        return torch.stack(outs, dim=1)
    return join(outs, aggr)


def check_grouping(aggr: str | None) -> None:
    """Refuse what `group` does not know."""
    if aggr not in _GROUPINGS:
        raise ValueError(f"aggr: expected one of {_GROUPINGS}, found {aggr!r}")


def check_add_self_loops(module: Module, edge_type: EdgeType) -> None:
    """Refuse a layer that adds self-loops where source and target are two types."""
    if edge_type[0] != edge_type[-1] and getattr(module, "add_self_loops", False):
        raise ValueError(
            f"add_self_loops: expected False on {type(module).__name__} for {edge_type}, "
            "whose source and target differ, found True"
        )


def warn_of_lost_types(edge_types: Collection[EdgeType], node_types: Collection[NodeType]) -> None:
    """Warn, at the caller's caller, of node types at which no edge type ends."""
    lost = sorted(set(node_types) - {target for *_, target in edge_types})
    if lost:
        warnings.warn(f"no edge type ends at {lost}: message passing gives nothing for them", stacklevel=4)


def entry_for(values: Mapping[NodeOrEdgeType, Any], edge_type: EdgeType) -> Any:
    """A dict's own entry for an edge type, or the pair of those for its source and target; None without any."""
    if edge_type in values:
        return values[edge_type]
    source, *_, target = edge_type
    if source == target or (source not in values and target not in values):
        return values.get(source)
    return values.get(source), values.get(target)


def _positional(args_dict: tuple[Mapping[NodeOrEdgeType, Any], ...], edge_type: EdgeType) -> list[Any]:
    """The arguments of one layer up to the last that is there; none before it may be missing."""
    args = [entry_for(values, edge_type) for values in args_dict]
    while args and args[-1] is None:
        args.pop()
    if any(arg is None for arg in args):
        raise ValueError(f"args_dict: expected entries for {edge_type} in the first {len(args)}, found none in some")
    return args
