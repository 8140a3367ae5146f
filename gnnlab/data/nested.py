"""Walking through nested values: dicts, lists and tuples with tensors in them."""

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor
from torch.nn.utils.rnn import PackedSequence

from gnnlab import sparse
from gnnlab.sparse import is_sparse


def map_tensors(value: Any, func: Callable[[Any], Any]) -> Any:
    """`value` with `func` applied to every tensor and sparse matrix in it; containers are rebuilt, all else stays as it
    is (PyG hands numbers and arrays to `func` too).

    The batch sizes of a packed sequence stay as they are too: torch wants them on the CPU.
    """
    if isinstance(value, Tensor) or is_sparse(value):
        return func(value)
    if isinstance(value, PackedSequence):
        order, back = map_tensors((value.sorted_indices, value.unsorted_indices), func)
        return PackedSequence(map_tensors(value.data, func), value.batch_sizes, order, back)
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(map_tensors(item, func) for item in value))
    if isinstance(value, (list, tuple)):
        return type(value)(map_tensors(item, func) for item in value)
    if isinstance(value, Mapping):
        return {key: map_tensors(item, func) for key, item in value.items()}
    return value


def compact(value: Any) -> Any:
    """`value` with every tensor that is a view of a larger storage replaced by a copy of its own bytes.

    Pickling and deep-copying a tensor take its whole storage along; after `compact` that is no more than what is used.
    A tensor that appears twice stays one tensor.
    """
    copies: dict[int, Tensor] = {}

    def own(x: Any) -> Any:
        if is_sparse(x):
            return sparse.compact(x)
        if x.device.type == "meta":
            return x
        if x.untyped_storage().nbytes() <= x.numel() * x.element_size():
            return x
        if id(x) not in copies:
            copy = x.detach().clone(memory_format=torch.contiguous_format)
            copies[id(x)] = copy.requires_grad_(x.requires_grad)
        return copies[id(x)]

    return map_tensors(value, own)
