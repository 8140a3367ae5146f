"""Linear layers, whose number of inputs may come with the first call."""

import math
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor
from torch.nn import Module, Parameter, UninitializedParameter

from gnnlab.nn import inits

_WEIGHT_INITIALIZERS = ("glorot", "uniform", "kaiming_uniform", None)
_BIAS_INITIALIZERS = ("zeros", None)


class Linear(Module):
    """x Wᵀ + b.

    in_channels: the size of the input, or -1: that of the first input then, before which the weight has no values.
    out_channels: the size of the output. bias: whether to add b.
    weight_initializer: "glorot", "uniform", "kaiming_uniform", or None, which draws as `torch.nn.Linear` does.
    bias_initializer: "zeros", or None, which draws as `torch.nn.Linear` does.

    Its state is that of `torch.nn.Linear`, and a state whose weight has values gives an open one its size.
    Raises ValueError for another initializer. PyG: `torch_geometric.nn.Linear`.

    >>> lin = Linear(-1, 2)
    >>> _ = lin(torch.ones(3, 5))
    >>> lin
    Linear(5, 2, bias=True)
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        bias: bool = True,
        weight_initializer: str | None = None,
        bias_initializer: str | None = None,
    ) -> None:
        super().__init__()
        check_initializers(weight_initializer, bias_initializer)
        self.in_channels = in_channels
        self.out_channels = out_channels
        self.weight_initializer = weight_initializer
        self.bias_initializer = bias_initializer
        self.weight: Parameter | UninitializedParameter = UninitializedParameter()
        if in_channels > -1:
            self.weight = Parameter(torch.empty(out_channels, in_channels))
        self.bias = Parameter(torch.zeros(out_channels)) if bias else None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the parameters anew, as soon as they have a size."""
        if self.in_channels > 0:
            reset_weight(self.weight, self.in_channels, self.weight_initializer)
            reset_bias(self.bias, self.in_channels, self.bias_initializer)

    def forward(self, x: Tensor) -> Tensor:
        """x: [..., in_channels] float. Returns [..., out_channels]."""
        if self.in_channels < 0:
            self._materialize(x.size(-1))
            self.reset_parameters()
        return torch.nn.functional.linear(x, self.weight, self.bias)

    def _materialize(self, in_channels: int) -> None:
        """Give an open layer its size; the weight has any values then."""
        if isinstance(self.weight, UninitializedParameter):
            self.in_channels = in_channels
            self.weight.materialize((self.out_channels, in_channels))

    def _save_to_state_dict(self, destination: dict[str, Any], prefix: str, keep_vars: bool) -> None:
        """A weight without values is put in as it is: torch would detach it."""
        if not isinstance(self.weight, UninitializedParameter):
            super()._save_to_state_dict(destination, prefix, keep_vars)
            return
        destination[prefix + "weight"] = self.weight
        if self.bias is not None:
            destination[prefix + "bias"] = self.bias if keep_vars else self.bias.detach()

    def _load_from_state_dict(
        self,
        state_dict: Mapping[str, Any],
        prefix: str,
        local_metadata: dict[str, Any],
        strict: bool,
        missing_keys: list[str],
        *args: Any,
    ) -> None:
        """A weight with values gives an open layer its size; one without opens it."""
        name = prefix + "weight"
        weight = state_dict.get(name)
        opens = isinstance(weight, UninitializedParameter)
        if opens:
            self.in_channels, self.weight = -1, UninitializedParameter()
            state_dict = {key: value for key, value in state_dict.items() if key != name}
        elif weight is not None:
            self._materialize(weight.size(-1))
        super()._load_from_state_dict(state_dict, prefix, local_metadata, strict, missing_keys, *args)
        if opens and name in missing_keys:
            missing_keys.remove(name)

    def __repr__(self) -> str:
        has_bias = self.bias is not None
        return f"{type(self).__name__}({self.in_channels}, {self.out_channels}, bias={has_bias})"


def reset_weight(weight: Tensor, in_channels: int, initializer: str | None = None) -> None:
    """Draw a weight of `in_channels` inputs by the name of its initializer; None stands for what torch does."""
    if initializer == "glorot":
        inits.glorot(weight)
    elif initializer == "uniform":
        inits.uniform(in_channels, weight)
    else:
        inits.kaiming_uniform(weight, fan=in_channels, a=math.sqrt(5))


def reset_bias(bias: Tensor | None, in_channels: int, initializer: str | None = None) -> None:
    """Draw a bias behind `in_channels` inputs by the name of its initializer; None stands for what torch does."""
    if initializer == "zeros":
        inits.zeros(bias)
    else:
        inits.uniform(in_channels, bias)


def check_initializers(weight_initializer: str | None, bias_initializer: str | None) -> None:
    """Refuse names that `reset_weight` and `reset_bias` do not know."""
    if weight_initializer not in _WEIGHT_INITIALIZERS:
        raise ValueError(f"weight_initializer: expected one of {_WEIGHT_INITIALIZERS}, found {weight_initializer!r}")
    if bias_initializer not in _BIAS_INITIALIZERS:
        raise ValueError(f"bias_initializer: expected one of {_BIAS_INITIALIZERS}, found {bias_initializer!r}")
