"""`ImbalancedSampler`: draws classes equally often, however rare."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import WeightedRandomSampler

from gnnlab.data.collate import PRESENT
from gnnlab.data.data import BaseData, Data
from gnnlab.data.positions import positions
from gnnlab.loader.per_graph import per_graph


class ImbalancedSampler(WeightedRandomSampler):
    """Draws graphs or nodes with replacement so that every class is expected equally often
    (`torch_geometric.loader.ImbalancedSampler`).

    Args:
        dataset: what has the classes:

            - a dataset or list of graphs, each with one class in `y`, as it is after the dataset's transform. Use with
              `DataLoader(dataset, sampler=...)`.
            - a `Data` with one class a node in `y`. Use with `NeighborLoader(data, input_nodes, sampler=...)`.
            - a tensor of classes, of an integer dtype or bool, with one column if it has two dimensions.
        input_nodes: ids or a mask of the nodes to draw from, all by default; only for a `Data` or a tensor. What is
            drawn are positions in `input_nodes`, not node ids.
        num_samples: draws an epoch; as many as there are graphs or nodes by default.
        generator: draws; torch's global one by default.

    Raises:
        ValueError: if there are no classes, or not one for each graph or node.
        TypeError: if they are not whole numbers.
        IndexError: if `input_nodes` doesn't fit.

    >>> ImbalancedSampler(torch.tensor([0, 0, 1])).weights.tolist()
    [0.5, 0.5, 1.0]
    """

    def __init__(
        self,
        dataset: Any,
        input_nodes: Tensor | None = None,
        num_samples: int | None = None,
        *,
        generator: torch.Generator | None = None,
    ) -> None:
        y = _classes(dataset, input_nodes)
        _, inverse, counts = y.unique(return_inverse=True, return_counts=True)
        weights = counts.double().reciprocal()[inverse]
        super().__init__(weights.tolist(), len(y) if num_samples is None else num_samples, True, generator)


def _classes(dataset: Any, input_nodes: Tensor | None) -> Tensor:
    """`[n]`. The class of everything that can be drawn."""
    if isinstance(dataset, (Data, Tensor, np.ndarray)):
        y = _column(dataset.y if isinstance(dataset, Data) else dataset)
        if input_nodes is not None:
            y = y[positions(input_nodes, len(y))]
    elif isinstance(dataset, BaseData):
        raise TypeError(
            f"dataset must be a dataset, a Data or a tensor of classes, found {type(dataset).__name__}: pass the y of "
            "one of its types"
        )
    elif input_nodes is not None:
        raise ValueError("input_nodes chooses nodes of a Data or entries of a tensor, but dataset has many graphs")
    else:
        y = per_graph(dataset, _class_of, _classes_in)
    if y.numel() == 0:
        raise ValueError("there must be at least one graph or node to draw, found none")
    if y.is_floating_point() or y.is_complex():
        raise TypeError(f"classes must be whole numbers, found y of dtype {y.dtype}: use y.long() if they are")
    if y.dtype != torch.bool and int(y.min()) < 0:
        raise ValueError(f"classes must not be negative, found {int(y.min())}: leave out what has no class")
    return y


def _column(y: Any) -> Tensor:
    if y is None:
        raise ValueError("dataset is a Data without classes: set y")
    y = torch.as_tensor(y)
    if y.dim() == 0 or y.numel() != y.size(0):
        raise ValueError(f"there must be one class for each node, found y of shape {list(y.shape)}")
    return y.reshape(-1)


def _class_of(graph: Any, at: int) -> Any:
    y = getattr(graph, "y", None)
    if y is None:
        raise ValueError(f"graph {at} (of type {type(graph).__name__}) has no class: set y")
    y = torch.as_tensor(y)
    if y.numel() != 1:
        raise ValueError(f"each graph must have one class, found y of shape {list(y.shape)} in graph {at}")
    return y.item()


def _classes_in(block: Any, slices: Mapping[Any, Any]) -> Tensor | None:
    y = block.y if isinstance(block, Data) else None
    if not isinstance(y, Tensor) or "y" in slices.get(PRESENT, {}):
        return None
    return y.reshape(-1) if y.numel() == y.size(0) and bool((slices["y"].diff() == 1).all()) else None
