"""First values of parameters.

Each takes a tensor, or a module for all of its parameters and buffers; anything else, such as None for a parameter
that a layer does without, is left alone.
"""

import math
from collections.abc import Iterator
from itertools import chain
from typing import Any

import torch
from torch import Tensor
from torch.nn import Module


def uniform(size: int, value: Any) -> None:
    """Draw evenly from ±1 / √size; `size` is the number of inputs. PyG: `torch_geometric.nn.inits.uniform`."""
    _draw_within(1.0 / math.sqrt(size) if size > 0 else 0.0, value)


def kaiming_uniform(value: Any, fan: int, a: float) -> None:
    """Draw evenly from ±√(6 / ((1 + a²) fan)): `fan` inputs, and a leaky ReLU of slope `a` behind.

    PyG: `torch_geometric.nn.inits.kaiming_uniform`; arXiv:1502.01852.
    """
    _draw_within(math.sqrt(6.0 / ((1.0 + a**2) * fan)) if fan > 0 else 0.0, value)


def glorot(value: Any) -> None:
    """Draw evenly from ±√(6 / (rows + columns)), the last two dimensions.

    Raises ValueError for a tensor of fewer. PyG: `torch_geometric.nn.inits.glorot`; Glorot and Bengio, AISTATS 2010.
    """
    for tensor in _tensors(value):
        if tensor.dim() < 2:
            raise ValueError(f"value: expected at least two dimensions, found shape {list(tensor.shape)}")
        fans = tensor.size(-2) + tensor.size(-1)
        _draw_within(math.sqrt(6.0 / fans) if fans > 0 else 0.0, tensor)


def glorot_orthogonal(tensor: Tensor | None, scale: float) -> None:
    """An orthogonal matrix, stretched to the variance scale / (rows + columns).

    tensor: [rows, columns] float, or None. PyG: `torch_geometric.nn.inits.glorot_orthogonal`.
    """
    if tensor is None:
        return
    with torch.no_grad():
        torch.nn.init.orthogonal_(tensor)
        tensor *= (scale / ((tensor.size(-2) + tensor.size(-1)) * tensor.var())).sqrt()


def normal(value: Any, mean: float, std: float) -> None:
    """Draw from a normal distribution. PyG: `torch_geometric.nn.inits.normal`."""
    for tensor in _tensors(value):
        torch.nn.init.normal_(tensor, mean, std)


def constant(value: Any, fill_value: float) -> None:
    """Set every entry to `fill_value`. PyG: `torch_geometric.nn.inits.constant`."""
    for tensor in _tensors(value):
        torch.nn.init.constant_(tensor, fill_value)


def zeros(value: Any) -> None:
    """Set every entry to 0. PyG: `torch_geometric.nn.inits.zeros`."""
    constant(value, 0.0)


def ones(tensor: Any) -> None:
    """Set every entry to 1. PyG: `torch_geometric.nn.inits.ones`."""
    constant(tensor, 1.0)


def reset(value: Any) -> None:
    """Call `reset_parameters` of a module, or of the modules in it where it has none of its own.

    PyG: `torch_geometric.nn.inits.reset`.
    """
    if hasattr(value, "reset_parameters"):
        value.reset_parameters()
    elif isinstance(value, Module):
        for child in value.children():
            reset(child)


def _tensors(value: Any) -> Iterator[Tensor]:
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, Module):
        yield from chain(value.parameters(), value.buffers())


def _draw_within(bound: float, value: Any) -> None:
    for tensor in _tensors(value):
        torch.nn.init.uniform_(tensor, -bound, bound)
