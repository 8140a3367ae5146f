"""Rows of several types, each type through a function of its own."""

from collections.abc import Callable

import torch
from torch import Tensor


def by_type(
    function: Callable[..., Tensor], types: Tensor, num_types: int, tensors: tuple[Tensor, ...], dim: int = 0
) -> Tensor:
    """`function(type, *rows)` of the rows of each type, put where the rows stood.

    types: [n] int64, all in [0, num_types), at least one type. tensors: each with n rows along `dim`, a type's rows of
    which `function` is given together; of a type without rows it is given none.
    """
    order = types.argsort(stable=True)
    sizes = torch.bincount(types, minlength=num_types).tolist()
    parts = zip(*(tensor.index_select(dim, order).split(sizes, dim) for tensor in tensors), strict=True)
    out = torch.cat([function(i, *rows) for i, rows in enumerate(parts)], dim)
    return torch.empty_like(out).index_copy(dim, order, out)
