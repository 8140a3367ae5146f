"""`DataLoader`: mini-batches of whole graphs."""

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch.utils.data import default_collate

from gnnlab.data.batch import Batch
from gnnlab.data.data import BaseData
from gnnlab.data.selection import Selection


class Collater:
    """Turns a list of samples into a batch: graphs into a `Batch`, numbers and tensors into tensors, containers part by
    part.

    Args:
        dataset: the dataset the samples come from; kept because PyG's has it.
        follow_batch, exclude_keys: as for `Batch.from_data_list`.
        vectorised: let an `InMemoryDataset` or `OnDiskDataset` copy batches straight from its columns.
    """

    def __init__(
        self,
        dataset: Any,
        follow_batch: list[str] | None = None,
        exclude_keys: list[str] | None = None,
        *,
        vectorised: bool = True,
    ) -> None:
        self.dataset = dataset
        self.follow_batch = follow_batch
        self.exclude_keys = exclude_keys
        self.vectorised = vectorised

    def __call__(self, batch: Any) -> Any:
        if isinstance(batch, Selection):
            if self.vectorised and batch.is_vectorised:
                return batch.batch(self.follow_batch, self.exclude_keys)
            batch = list(batch)
        first = batch[0]
        if isinstance(first, BaseData):
            return Batch.from_data_list(batch, self.follow_batch, self.exclude_keys)
        if isinstance(first, torch.Tensor):
            return default_collate(batch)
        if isinstance(first, float):
            return torch.tensor(batch, dtype=torch.float)
        if isinstance(first, int):
            return torch.tensor(batch)
        if isinstance(first, str):
            return batch
        if isinstance(first, Mapping):
            return {key: self([sample[key] for sample in batch]) for key in first}
        if isinstance(first, tuple) and hasattr(first, "_fields"):
            return type(first)(*(self(part) for part in zip(*batch, strict=True)))
        if isinstance(first, Sequence):
            return [self(part) for part in zip(*batch, strict=True)]
        raise TypeError(f"DataLoader can't make a batch of samples of type {type(first).__name__}")


class DataLoader(torch.utils.data.DataLoader[Any]):
    """Mini-batches of whole graphs (`torch_geometric.loader.DataLoader`).

    Over an `InMemoryDataset` or `OnDiskDataset`, or any subset of it, batches are copied straight from the dataset's
    block or columns where that gives the same (`dataset.batch_path()`).

    Args:
        dataset: a dataset or list of graphs, tensors, numbers, or tuples, lists and dicts of these.
        batch_size: graphs a batch.
        shuffle: draw the graphs in a new random order every epoch.
        follow_batch: attributes `key` for which batches get `key_batch` and `key_ptr`.
        exclude_keys: attributes that batches leave out.
        vectorised: `False` goes graph by graph always.
        **kwargs: further arguments of `torch.utils.data.DataLoader`.
    """

    def __init__(
        self,
        dataset: Any,
        batch_size: int = 1,
        shuffle: bool = False,
        follow_batch: list[str] | None = None,
        exclude_keys: list[str] | None = None,
        *,
        vectorised: bool = True,
        **kwargs: Any,
    ) -> None:
        kwargs.pop("collate_fn", None)
        self.follow_batch = follow_batch
        self.exclude_keys = exclude_keys
        collater = Collater(dataset, follow_batch, exclude_keys, vectorised=vectorised)
        super().__init__(dataset, batch_size, shuffle, collate_fn=collater, **kwargs)
