"""A module beside PyG's of the same name and state."""

from typing import Any

import torch
from torch import Tensor
from torch.nn import Module

from tests.utils.graphs import assert_same


def beside(ours: Module, theirs: Module) -> tuple[Module, Module]:
    """Both in float64, with the state of PyG's, drawn at random so that nothing is hidden by a 0 or a 1."""
    assert list(ours.state_dict()) == list(theirs.state_dict())
    generator = torch.Generator().manual_seed(0)
    for entry in theirs.double().state_dict().values():
        if entry.is_floating_point():
            entry.copy_(torch.rand(entry.shape, generator=generator, dtype=entry.dtype) + 0.5)
    ours.double().load_state_dict(theirs.state_dict())
    return ours, theirs


def assert_alike(ours: Module, theirs: Module, *args: Any, **kwargs: Any) -> None:
    """The same values, the same gradients to floating-point arguments and parameters, the same state afterwards."""
    results = []
    for module in (ours, theirs):
        leaves = [_leaf(arg) for arg in args]
        out = module(*leaves, **kwargs)
        module.zero_grad()
        _first(out).mul(_weights(_first(out))).sum().backward()
        tracked = [leaf.grad for leaf in leaves if isinstance(leaf, Tensor) and leaf.requires_grad]
        results.append((out, tracked, [p.grad for p in module.parameters()], dict(module.state_dict())))
    assert_same(*results)


def _leaf(arg: Any) -> Any:
    if isinstance(arg, Tensor) and arg.is_floating_point():
        return arg.detach().clone().requires_grad_()
    return [_leaf(item) for item in arg] if isinstance(arg, list) else arg


def _first(out: Any) -> Tensor:
    return out if isinstance(out, Tensor) else out[0]


def _weights(out: Tensor) -> Tensor:
    return torch.arange(1.0, out.numel() + 1, dtype=out.dtype).cos().view(out.shape)
