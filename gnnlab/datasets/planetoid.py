"""The citation graphs Cora, CiteSeer and PubMed."""

import os
from collections.abc import Callable
from typing import Any, Literal

import numpy as np
import torch
from torch import Generator, Tensor

from gnnlab.data import Data, InMemoryDataset, download_url
from gnnlab.io import read_planetoid_data

_ENDINGS = ("x", "tx", "allx", "y", "ty", "ally", "graph", "test.index")
_MASKS = ("train_mask", "val_mask", "test_mask")
_NUM_GEOM_GCN_SPLITS = 10


class Planetoid(InMemoryDataset):
    """One citation graph: papers with bags of words, citations in both directions, subjects.

    From "Revisiting Semi-Supervised Learning with Graph Embeddings" (Yang et al., 2016). The raw
    files are looked for in the folder that the environment variable `GNNLAB_PLANETOID` names, if it
    has them all, then in `root/name/raw`, and are downloaded to there if it hasn't.

    Args:
        root: folder of the files.
        name: `'Cora'` (2,708 nodes, 10,556 edges, 1,433 features, 7 classes), `'CiteSeer'` (3,327,
            9,104, 3,703, 6) or `'PubMed'` (19,717, 88,648, 500, 3).
        split: `'public'`: the split of the paper, 20 nodes of each class to train on, 500 and 1,000
            to validate and test. `'full'`: all other nodes train too, as in FastGCN (Chen et al.,
            2018). `'geom-gcn'`: the ten splits of Geom-GCN (Pei et al., 2020), one a column of the
            masks; they are downloaded as well. `'random'`: drawn anew whenever the dataset is made.
        num_train_per_class: number of nodes of each class to train on, of a random split.
        num_val: number of nodes to validate on, of a random split.
        num_test: number of nodes to test on, of a random split.
        transform: applied to the graph at every access.
        pre_transform: applied to the graph before it is saved.
        force_reload: process the raw files again.
        seed: what the random split depends on; by default it comes from torch's global generator.

    Raises:
        ValueError: if `name` or `split` is none of these.
        OSError: if a file is missing and can't be downloaded.

    The graph is that of `gnnlab.io.read_planetoid_data`.
    PyG's `torch_geometric.datasets.Planetoid`.
    """

    url = "https://github.com/kimiyoung/planetoid/raw/master/data"
    geom_gcn_url = "https://raw.githubusercontent.com/graphdml-uiuc-jlu/geom-gcn/master"
    unbuilt_args = ("split", "num_train_per_class", "num_val", "num_test", "seed")

    def __init__(
        self,
        root: str,
        name: str,
        split: Literal["public", "full", "geom-gcn", "random"] = "public",
        num_train_per_class: int = 20,
        num_val: int = 500,
        num_test: int = 1000,
        transform: Callable[[Data], Any] | None = None,
        pre_transform: Callable[[Data], Any] | None = None,
        force_reload: bool = False,
        *,
        seed: int | None = None,
    ) -> None:
        if name.lower() not in ("cora", "citeseer", "pubmed"):
            raise ValueError(f"name: expected 'Cora', 'CiteSeer' or 'PubMed', found {name!r}")
        if split not in ("public", "full", "geom-gcn", "random"):
            raise ValueError(f"split: expected 'public', 'full', 'geom-gcn' or 'random', found {split!r}")
        self.name = name
        self.split = split
        super().__init__(root, transform, pre_transform, force_reload=force_reload)
        self.load(self.processed_paths[0])
        data = self._data
        if split == "full":
            data.train_mask = ~(data.val_mask | data.test_mask)
        elif split == "random":
            generator = None if seed is None else Generator().manual_seed(seed)
            masks = _random_split(data.y, num_train_per_class, num_val, num_test, generator)
            data.train_mask, data.val_mask, data.test_mask = masks

    @property
    def _folder(self) -> str:
        folder = os.path.join(self._root(), self.name)
        return os.path.join(folder, "geom-gcn") if self.split == "geom-gcn" else folder

    @property
    def raw_dir(self) -> str:
        elsewhere = os.environ.get("GNNLAB_PLANETOID")
        if elsewhere is not None and all(os.path.exists(os.path.join(elsewhere, name)) for name in self.raw_file_names):
            return elsewhere
        return os.path.join(self._folder, "raw")

    @property
    def processed_dir(self) -> str:
        return os.path.join(self._folder, "processed")

    @property
    def raw_file_names(self) -> list[str]:
        names = [f"ind.{self.name.lower()}.{ending}" for ending in _ENDINGS]
        return names + self._split_file_names if self.split == "geom-gcn" else names

    @property
    def _split_file_names(self) -> list[str]:
        return [f"{self.name.lower()}_split_0.6_0.2_{i}.npz" for i in range(_NUM_GEOM_GCN_SPLITS)]

    @property
    def processed_file_names(self) -> str:
        return "data.pt"

    def download(self) -> None:
        for name in self.raw_file_names:
            folder = f"{self.geom_gcn_url}/splits" if name.endswith(".npz") else self.url
            download_url(f"{folder}/{name}", self.raw_dir)

    def process(self) -> None:
        data = read_planetoid_data(self.raw_dir, self.name.lower())
        if self.split == "geom-gcn":
            paths = [os.path.join(self.raw_dir, name) for name in self._split_file_names]
            for mask in _MASKS:
                columns = [np.load(path)[mask] for path in paths]
                data[mask] = torch.from_numpy(np.stack(columns, axis=1)).bool()
        if self.pre_transform is not None:
            data = self.pre_transform(data)
        self.save([data], self.processed_paths[0])

    def __repr__(self) -> str:
        return f"{self.name}()"


def _random_split(
    y: Tensor, num_train_per_class: int, num_val: int, num_test: int, generator: Generator | None
) -> tuple[Tensor, Tensor, Tensor]:
    """Masks of nodes to train, validate and test on, each [num_nodes] bool."""
    train_mask, val_mask, test_mask = (torch.zeros(len(y), dtype=torch.bool) for _ in range(3))
    for label in range(int(y.max()) + 1):
        nodes = (y == label).nonzero().view(-1)
        order = torch.randperm(len(nodes), generator=generator)
        train_mask[nodes[order[:num_train_per_class]]] = True
    others = (~train_mask).nonzero().view(-1)
    others = others[torch.randperm(len(others), generator=generator)]
    val_mask[others[:num_val]] = True
    test_mask[others[num_val : num_val + num_test]] = True
    return train_mask, val_mask, test_mask
