"""Checks on arguments: an error names the argument, what was expected and what was found.

On an accelerator a check of values waits for the device. The functions that training calls in every layer (`scatter`
and what stands on it) therefore leave it to torch where the caller gives the size; all others check everywhere.
"""

from typing import Any

import torch
from torch import Tensor

from gnnlab.typing import refusal


def check_integer(tensor: Any, name: str) -> None:
    """Refuse what is not a tensor of integers."""
    if not isinstance(tensor, Tensor):
        raise ValueError(f"{name}: expected a tensor of integers, found {type(tensor).__name__}")
    if type(tensor).__name__ in ("EdgeIndex", "Index"):
        raise ValueError(f"{name}: {refusal(type(tensor).__name__)}; `.as_tensor()` gives one")
    if tensor.dtype == torch.bool or tensor.is_floating_point() or tensor.is_complex():
        raise ValueError(f"{name}: expected an integer dtype, found {tensor.dtype}")


def check_index(index: Any, name: str, size: int | None = None) -> None:
    """Refuse what is not a one-dimensional tensor of integers, all in [0, size) where `size` is given."""
    check_integer(index, name)
    if index.dim() != 1:
        raise ValueError(f"{name}: expected one dimension, found shape {list(index.shape)}")
    if size is not None:
        check_range(index, name, size)


def check_edge_index(edge_index: Any, name: str = "edge_index") -> None:
    """Refuse what is not a [2, num_edges] tensor of integers."""
    check_integer(edge_index, name)
    if edge_index.dim() != 2 or edge_index.size(0) != 2:
        raise ValueError(f"{name}: expected shape [2, num_edges], found {list(edge_index.shape)}")


def check_range(index: Tensor, name: str, size: int) -> None:
    """Refuse values outside of [0, size)."""
    if index.numel() == 0:
        return
    low, high = extremes(index)
    if low < 0 or high >= size:
        raise IndexError(f"{name}: expected values in [0, {size}), found {low if low < 0 else high}")


def check_per_edge(value: Tensor, name: str, num_edges: int) -> None:
    """Refuse an edge attribute that has not one row an edge."""
    if value.dim() == 0 or value.size(0) != num_edges:
        raise ValueError(f"{name}: expected one row for each of {num_edges} edges, found shape {list(value.shape)}")


def check_probability(p: float, name: str) -> None:
    """Refuse a number outside of [0, 1]."""
    if not 0.0 <= p <= 1.0:
        raise ValueError(f"{name}: expected a probability in [0, 1], found {p}")


def extremes(index: Tensor) -> tuple[int, int]:
    """Least and greatest value of a non-empty tensor of integers."""
    # torch has no minimum for its wider unsigned types.
    wide = index.long() if index.dtype in (torch.uint16, torch.uint32, torch.uint64) else index
    low, high = torch.aminmax(wide)
    return int(low), int(high)


def count_nodes(edge_index: Tensor, num_nodes: int | None, name: str = "edge_index") -> int:
    """`num_nodes`, or one more than the greatest node in `edge_index`; every node must be in [0, num_nodes).

    While torch.compile looks on, which can't branch on values, nodes are taken to be where `num_nodes` is given.
    """
    if num_nodes is not None and num_nodes < 0:
        raise ValueError(f"num_nodes: expected a number of nodes, found {num_nodes}")
    if num_nodes is not None and torch.compiler.is_compiling():
        return num_nodes
    if edge_index.numel() == 0:
        return num_nodes or 0
    low, high = extremes(edge_index)
    if low < 0:
        raise IndexError(f"{name}: expected node numbers from 0, found {low}")
    if num_nodes is not None and high >= num_nodes:
        raise IndexError(f"{name}: expected nodes below num_nodes={num_nodes}, found {high}")
    return high + 1 if num_nodes is None else num_nodes
