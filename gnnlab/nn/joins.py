"""Joining tensors of one shape."""

from collections.abc import Callable

import torch
from torch import Tensor

_REDUCTIONS: dict[str, Callable[..., Tensor]] = {
    "sum": torch.sum,
    "add": torch.sum,
    "mean": torch.mean,
    "min": torch.amin,
    "max": torch.amax,
    "mul": torch.prod,
    "logsumexp": torch.logsumexp,
    "std": torch.std,
    "var": torch.var,
}


def join(tensors: list[Tensor], how: str) -> Tensor:
    """One of several tensors: with "cat" side by side in the last dimension, else reduced position by position, by
    "sum" ("add"), "mean", "min", "max", "mul", "logsumexp", "std" or "var"; one alone as it is.
    """
    if len(tensors) == 1:
        return tensors[0]
    return torch.cat(tensors, dim=-1) if how == "cat" else _REDUCTIONS[how](torch.stack(tensors), dim=0)
