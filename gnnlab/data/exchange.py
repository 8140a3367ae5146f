"""Graphs for PyG: a file that its `InMemoryDataset.load` reads. The way back is our own `InMemoryDataset.load`."""

import os
from collections.abc import Iterable
from typing import Any

from torch import Tensor

from gnnlab.data.collate import PRESENT, place
from gnnlab.data.in_memory_dataset import InMemoryDataset
from gnnlab.files import fs
from gnnlab.sparse import SparseTensor


def save_for_pyg(graphs: Iterable[Any], path: str | os.PathLike[str]) -> None:
    """Join graphs and save them as a file that `torch_geometric.data.InMemoryDataset.load` reads.

    PyG unpickles what it loads; the file holds only tensors and plain containers. Heterogeneous graphs are loaded with
    `data_cls=HeteroData`.

    Args:
        graphs: a dataset of any kind, or any other iterable of graphs; one by one, so that only the result is held.
        path: the file.

    Raises:
        ValueError: if there is no graph, the graphs do not fit together, or only some have an attribute, which PyG has
            no word for.
        TypeError: if an attribute is a `SparseTensor` of ours: use a layout of torch's.
    """
    data, slices = InMemoryDataset.collate(iter(graphs))
    stores: dict[Any, Any] = data.to_dict()
    parts = [store for store in data.stores if store._mapping]
    for store in parts:
        key = store._key
        mapping = stores if key is None and not _has_types(data) else stores["_global_store" if key is None else key]
        ends = None if slices is None else slices if key is None else slices[key]
        for name, value in store.items():
            if isinstance(value, SparseTensor):
                raise TypeError(
                    f"{place(key, name)} is a gnnlab SparseTensor, which PyG can't read: use torch's layouts"
                )
        if ends is None:
            continue
        if PRESENT in ends:
            name = next(iter(ends[PRESENT]))
            raise ValueError(f"{place(key, name)} is missing in some of the graphs, which PyG's files can't say")
        if isinstance(ends.get("num_nodes"), Tensor):
            mapping["_num_nodes"] = ends.pop("num_nodes").diff().tolist()
    fs.torch_save((stores, slices), str(path))


def _has_types(data: Any) -> bool:
    return hasattr(data, "node_types")


def load_from_pyg(path: str | os.PathLike[str], data_cls: Any = None, *, trust: bool = False) -> InMemoryDataset:
    """The dataset that PyG's `InMemoryDataset.save`, or `torch.save(self.collate(...))`, has written.

    Args:
        path: the file.
        data_cls: class of the graphs, where the file does not name it: `Data` by default.
        trust: unpickle whatever it holds.

    Raises:
        As `InMemoryDataset.load`.
    """
    dataset = InMemoryDataset()
    dataset.load(str(path), *(() if data_cls is None else (data_cls,)), trust=trust)
    return dataset
