"""Layers by name."""

from collections.abc import Mapping
from typing import Any

import torch

from gnnlab.nn import norm


def swish(x: torch.Tensor) -> torch.Tensor:
    """x · sigmoid(x), the shape of `x`; torch calls it SiLU. arXiv:1710.05941."""
    return torch.nn.functional.silu(x)


_ACTIVATIONS = {
    **{name: getattr(torch.nn, name) for name in torch.nn.modules.activation.__all__},
    "swish": swish,
}
_NORMALIZATIONS = {name: getattr(norm, name) for name in norm.__all__}


def activation_resolver(query: Any = "relu", *args: Any, **kwargs: Any) -> Any:
    """The activation of a name: that of a module in `torch.nn` ("relu", "LeakyReLU", "leaky_relu", ...), or "swish".

    args, kwargs: for the module. A `query` that is no string, a module, a function or None, is returned as it is.

    Raises ValueError for an unknown name. PyG: `torch_geometric.nn.resolver.activation_resolver`.

    >>> activation_resolver("leaky_relu", negative_slope=0.5)
    LeakyReLU(negative_slope=0.5)
    """
    return resolve(_ACTIVATIONS, query, "", *args, **kwargs)


def normalization_resolver(query: Any, *args: Any, **kwargs: Any) -> Any:
    """The normalisation of a name: that of a class in `gnnlab.nn.norm` ("BatchNorm", "batch_norm", "batch", ...).

    args, kwargs: for the class; the number of channels that layers give here is the scale to a `PairNorm`, as in PyG.
    A `query` that is no string is returned as it is.

    Raises ValueError for an unknown name. PyG: `torch_geometric.nn.resolver.normalization_resolver`.

    >>> normalization_resolver("graph_norm", 16)
    GraphNorm(16)
    """
    return resolve(_NORMALIZATIONS, query, "Norm", *args, **kwargs)


def aggregation_resolver(query: Any, *args: Any, **kwargs: Any) -> Any:
    """The aggregation of a name: that of a class in `gnnlab.nn.aggr` ("SumAggregation", "sum", "add", ...), or a
    `MultiAggregation` of a list.

    args, kwargs: for the class. An aggregation is returned as it is.

    Raises ValueError for an unknown name, or what is none of these.
    PyG: `torch_geometric.nn.resolver.aggregation_resolver`.

    >>> aggregation_resolver("mean")
    MeanAggregation()
    """
    from gnnlab.nn import aggr

    if isinstance(query, (list, tuple)):
        return aggr.MultiAggregation(query, *args, **kwargs)
    if not isinstance(query, (str, torch.nn.Module)):
        raise ValueError(f"query: expected an aggregation, its name or a list of them, found {query!r}")
    choices = {name: getattr(aggr, name) for name in aggr.__all__ if name != "Aggregation"}
    return resolve(choices | {"add": aggr.SumAggregation}, query, "Aggregation", *args, **kwargs)


def resolve(choices: Mapping[str, Any], query: Any, suffix: str, *args: Any, **kwargs: Any) -> Any:
    """What `query` names among `choices`, made with `args` and `kwargs` if it is a class.

    Upper case, underscores, blanks and hyphens make no difference, nor whether `suffix` is left out.
    """
    if not isinstance(query, str):
        return query
    wanted = _plain(query)
    for name, choice in choices.items():
        if wanted in (_plain(name), _plain(name.removesuffix(suffix))):
            return choice(*args, **kwargs) if isinstance(choice, type) else choice
    raise ValueError(f"query: expected one of {sorted(choices)}, found {query!r}")


def _plain(name: str) -> str:
    return name.lower().replace("_", "").replace(" ", "").replace("-", "")
