"""A number for every graph of a dataset, found without leaving anything in the dataset's cache."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import ConcatDataset, Subset

from gnnlab.data.dataset import Dataset
from gnnlab.data.in_memory_dataset import InMemoryDataset


def per_graph(
    dataset: Any,
    of_graph: Callable[[Any, int], Any],
    of_block: Callable[[Any, Mapping[Any, Any]], Tensor | None],
    ids: Sequence[int] | None = None,
) -> Tensor:
    """One number for every graph of `dataset`.

    Args:
        dataset: a dataset or list of graphs, or torch's `Subset` or `ConcatDataset` of such.
        of_graph: the number, from a graph and its position in the (innermost) dataset.
        of_block: the numbers of all graphs at once, from an `InMemoryDataset`'s block and its slices; `None` where they
            don't tell. It is asked only where cutting out and transforming single graphs can't give something else.
        ids: positions of the graphs wanted; all of them by default.

    Returns:
        `[num_graphs]`, or as many as there are `ids`.
    """
    ids = range(len(dataset)) if ids is None else ids
    if isinstance(dataset, Subset):
        return per_graph(dataset.dataset, of_graph, of_block, [dataset.indices[i] for i in ids])
    if isinstance(dataset, ConcatDataset):
        return torch.cat([per_graph(part, of_graph, of_block) for part in dataset.datasets])[
            np.asarray(ids, dtype=np.int64)
        ]
    if isinstance(dataset, InMemoryDataset) and dataset.batch_path() == "vectorised":
        numbers = of_block(dataset._data, dataset.slices)
        if numbers is not None:
            return numbers[np.asarray(dataset.indices(), dtype=np.int64)[np.asarray(ids, dtype=np.int64)]]
    if isinstance(dataset, Dataset):
        with dataset._without_trace():
            return torch.tensor([of_graph(dataset[i], i) for i in ids])
    return torch.tensor([of_graph(dataset[i], i) for i in ids])
