"""Walking through nested values: dicts, lists and tuples with tensors in them."""

import copy
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

    Pickling a tensor takes its whole storage along; after `compact` that is no more than what is used. A tensor that
    appears twice stays one tensor.
    """
    copies: dict[int, Any] = {}

    def own(x: Any) -> Any:
        if id(x) not in copies:
            copies[id(x)] = _own_bytes(x)
        return copies[id(x)]

    return map_tensors(value, own)


def deep_copy(value: Any, memo: dict[int, Any]) -> Any:
    """`copy.deepcopy` of `value` that copies no more of a tensor than its own bytes, and sparse ones of every layout.

    What is one tensor stays one, also in all else that is copied with the same `memo`.
    """

    def own(x: Any) -> Any:
        if id(x) not in memo:
            small = _own_bytes(x)
            if isinstance(x, Tensor) and x.layout != torch.strided:  # torch can't deep-copy all of these
                small = small.detach().clone().requires_grad_(x.requires_grad)
            elif small is x or is_sparse(x):
                small = copy.deepcopy(small, memo)
            memo[id(x)] = small
            memo.setdefault(id(memo), []).append(x)  # kept alive as long as its id stands for it
        return memo[id(x)]

    map_tensors(value, own)
    return copy.deepcopy(value, memo)


def _own_bytes(x: Any) -> Any:
    """`x`, or a copy of it where it is a view of a larger storage."""
    if isinstance(x, Tensor) and (x.device.type == "meta" or x.layout in (torch.sparse_bsr, torch.sparse_bsc)):
        return x
    if is_sparse(x):
        return sparse.compact(x)
    if x.untyped_storage().nbytes() <= x.numel() * x.element_size():
        return x
    return x.detach().clone(memory_format=torch.contiguous_format).requires_grad_(x.requires_grad)
