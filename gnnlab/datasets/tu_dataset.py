"""The graph sets of the TU Dortmund collection: molecules, proteins, social networks and more."""

import json
import os
from collections.abc import Callable, Iterator
from typing import Any

from gnnlab.data import Data, InMemoryDataset, download_url, extract_zip
from gnnlab.io import read_tu_data


class TUDataset(InMemoryDataset):
    """One graph set of "TUDataset: A collection of benchmark datasets" (Morris et al., 2020).

    Looked for in `root/name/raw` and downloaded to there if it is missing. The collection's site,
    https://chrsmrrs.github.io/datasets/, lists names and sizes.

    Args:
        root: folder of the files.
        name: name of the set, such as `'PROTEINS'`.
        transform: applied to a graph at every access.
        pre_transform: applied to every graph before it is saved.
        pre_filter: says of every graph whether to keep it.
        force_reload: process the raw files again.
        use_node_attr: keep real-valued node attributes in `x`, in front of the one-hot labels.
        use_edge_attr: keep real-valued edge attributes in `edge_attr`, likewise.
        cleaned: take the set without isomorphic copies of "Understanding Isomorphism Bias in Graph
            Data Sets" (Ivanov et al., 2019); it lies in `root/name/raw_cleaned`.

    Raises:
        OSError: if the files are missing and can't be downloaded.

    The graphs are those of `gnnlab.io.read_tu_data`. PyG's `torch_geometric.datasets.TUDataset`.
    """

    url = "https://www.chrsmrrs.com/graphkerneldatasets"
    cleaned_url = "https://raw.githubusercontent.com/nd7141/graph_datasets/master/datasets"
    unbuilt_args = ("use_node_attr", "use_edge_attr")

    def __init__(
        self,
        root: str,
        name: str,
        transform: Callable[[Data], Any] | None = None,
        pre_transform: Callable[[Data], Any] | None = None,
        pre_filter: Callable[[Data], bool] | None = None,
        force_reload: bool = False,
        use_node_attr: bool = False,
        use_edge_attr: bool = False,
        cleaned: bool = False,
    ) -> None:
        self.name = name
        self.cleaned = cleaned
        super().__init__(root, transform, pre_transform, pre_filter, force_reload=force_reload)
        self.load(self.processed_paths[0])
        with open(self.processed_paths[1], encoding="utf-8") as file:
            self.sizes: dict[str, int] = json.load(file)
        data = self._data
        if not use_node_attr and data.x is not None:
            data.x = data.x[:, self.num_node_attributes :].contiguous()
        if not use_edge_attr and data.edge_attr is not None:
            data.edge_attr = data.edge_attr[:, self.num_edge_attributes :].contiguous()

    @property
    def raw_dir(self) -> str:
        return os.path.join(self._root(), self.name, "raw_cleaned" if self.cleaned else "raw")

    @property
    def processed_dir(self) -> str:
        folder = "processed_cleaned" if self.cleaned else "processed"
        return os.path.join(self._root(), self.name, folder)

    @property
    def num_node_labels(self) -> int:
        """Number of columns of `x` that are one-hot labels."""
        return self.sizes["num_node_labels"]

    @property
    def num_node_attributes(self) -> int:
        """Number of columns of `x`, if it is kept whole, that are real-valued attributes."""
        return self.sizes["num_node_attributes"]

    @property
    def num_edge_labels(self) -> int:
        """Number of columns of `edge_attr` that are one-hot labels."""
        return self.sizes["num_edge_labels"]

    @property
    def num_edge_attributes(self) -> int:
        """Number of columns of `edge_attr`, if it is kept whole, that are real-valued."""
        return self.sizes["num_edge_attributes"]

    @property
    def raw_file_names(self) -> list[str]:
        return [f"{self.name}_A.txt", f"{self.name}_graph_indicator.txt"]

    @property
    def processed_file_names(self) -> list[str]:
        return ["data.pt", "sizes.json"]

    def download(self) -> None:
        url = f"{self.cleaned_url if self.cleaned else self.url}/{self.name}.zip"
        archive = download_url(url, self.raw_dir)
        extract_zip(archive, self.raw_dir)
        # The archive holds a folder. The files whose presence counts leave it last.
        folder = os.path.join(self.raw_dir, self.name)
        for name in sorted(os.listdir(folder), key=lambda name: name in self.raw_file_names):
            os.replace(os.path.join(folder, name), os.path.join(self.raw_dir, name))
        os.rmdir(folder)
        os.remove(archive)

    def process(self) -> None:
        self.data, self.slices, sizes = read_tu_data(self.raw_dir, self.name)
        self.save(self._prepared_graphs(), self.processed_paths[0])
        with open(self.processed_paths[1], "w", encoding="utf-8") as file:
            json.dump(sizes, file)

    def _prepared_graphs(self) -> Iterator[Any]:
        """The graphs read from the raw files, filtered and transformed, one by one."""
        for i in range(self.len()):
            graph = self.get(i)
            if self.pre_filter is None or self.pre_filter(graph):
                yield graph if self.pre_transform is None else self.pre_transform(graph)

    def __repr__(self) -> str:
        return f"{self.name}({len(self)})"
