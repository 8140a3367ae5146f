"""The dependency graph of Debian 12, as one homogeneous or heterogeneous graph."""

import json
import os.path as osp
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from gnnlab.data import Data, HeteroData, InMemoryDataset

_HERE = Path(__file__).parent
_PLACES = (
    _HERE / "_files" / "debian_packages",  # in an installed wheel
    _HERE.parents[1] / "data" / "debian_packages",  # in a checkout
)


def read_columns() -> dict[str, np.ndarray]:
    """The committed columns; ``data/debian_packages/README.md`` says what each means."""
    with np.load(_folder() / "columns.npz", allow_pickle=False) as columns:
        return {name: columns[name] for name in columns.files}


def read_tables() -> dict[str, Any]:
    """What the columns' numbers mean (`sections`, `tags`, `relations`, ...), and the release."""
    return json.loads((_folder() / "tables.json").read_text())


class DebianPackages(InMemoryDataset):
    """The dependency graph of Debian 12 (bookworm), component main, amd64: one graph.

    63,436 packages and 313,917 typed relations between them, from the package index of point
    release 12.15; the files come with gnnlab. The task is to predict a package's section
    (``libs``, ``python``, ``games`` and 55 more) from its relations and its control fields. The
    package's name, which would give many away, is not among the features.

    With ``hetero=False`` the graph is a `Data` with

    - ``x``: [num_packages, 141] float32, columns as in `feature_names`: hashed word counts of the
      one-line description (128), then logarithms of the package's and the installed size, each
      standardised (2), essential (1), same for all architectures (1), priority (5) and
      multi-arch (4) as one-hot.
    - ``edge_index``: [2, num_relations] int64, from a package to one that it asks for.
    - ``edge_type``: [num_relations] int64, index into `relations`. Edges are sorted by type, then
      source, then target; two packages can be joined by several types, and never to themselves.
    - ``y``: [num_packages] int64, index into `sections`.
    - ``train_mask``, ``val_mask``, ``test_mask``: [num_packages] bool, 60, 20 and 20 % of each
      section, the same for everyone.

    With ``hetero=True`` it is a `HeteroData` with the node types ``package`` (``x``, ``y`` and
    masks as above), ``source`` and ``tag`` (only ``num_nodes``), and the edge types

    - ``('package', relation, 'package')`` for each of `relations`,
    - ``('source', 'builds', 'package')``: the source package of every package,
    - ``('package', 'tagged', 'tag')``: debtags, which about half of the packages have.

    Args:
        root: Folder for the processed file. Without one the set is built in memory, in a fraction
            of a second, and nothing is written.
        hetero: Which of the two forms.
        transform: Applied to the graph at access.
        pre_transform: Applied to the graph before it is stored.
        force_reload: Process again although the processed file is there.
        options: `log` and `on_change`, as for `InMemoryDataset`.
    """

    def __init__(
        self,
        root: str | None = None,
        hetero: bool = False,
        transform: Callable[[Any], Any] | None = None,
        pre_transform: Callable[[Any], Any] | None = None,
        force_reload: bool = False,
        **options: Any,
    ) -> None:
        self.hetero = hetero
        self._on_disk = root is not None
        super().__init__(root, transform, pre_transform, force_reload=force_reload, **options)
        if root is None:
            self.data, self.slices = self.collate([self._graph()])
        else:
            self.load(self.processed_paths[0], data_cls=HeteroData if hetero else Data)

    @property
    def has_process(self) -> bool:
        return self._on_disk

    @property
    def raw_file_names(self) -> list[str]:
        return []

    @property
    def processed_dir(self) -> str:
        return osp.join(super().processed_dir, "hetero" if self.hetero else "homogeneous")

    @property
    def processed_file_names(self) -> str:
        return "graph.pt"

    def fingerprint(self) -> dict[str, Any]:
        return super().fingerprint() | {"index": self.release["sha256"]}

    def process(self) -> None:
        self.save([self._graph()], self.processed_paths[0])

    @property
    def release(self) -> dict[str, str]:
        """Codename, version and date of the release, path and SHA-256 of its package index."""
        return read_tables()["release"]

    @property
    def relations(self) -> list[str]:
        """Meaning of ``edge_type``."""
        return read_tables()["relations"]

    @property
    def sections(self) -> list[str]:
        """Meaning of ``y``."""
        return read_tables()["sections"]

    @property
    def feature_names(self) -> list[str]:
        """Meaning of the columns of ``x``."""
        return feature_names(read_tables())

    @property
    def package_names(self) -> list[str]:
        """The name of each package (node)."""
        return _names("package_names")

    @property
    def source_names(self) -> list[str]:
        """The name of each source package, the nodes of type ``source``."""
        return _names("source_names")

    @property
    def tag_names(self) -> list[str]:
        """The name of each debtag, the nodes of type ``tag``."""
        return read_tables()["tags"]

    def _graph(self) -> Data | HeteroData:
        columns, tables = read_columns(), read_tables()
        graph = heterogeneous(columns, tables) if self.hetero else homogeneous(columns, tables)
        return graph if self.pre_transform is None else self.pre_transform(graph)


def homogeneous(columns: dict[str, np.ndarray], tables: dict[str, Any]) -> Data:
    """The packages and their relations as one `Data`, see `DebianPackages`."""
    edges = relation_edges(columns)
    numbers = torch.arange(len(edges))
    return Data(
        x=package_features(columns, tables),
        edge_index=torch.cat(edges, dim=1),
        edge_type=numbers.repeat_interleave(torch.tensor([edge.size(1) for edge in edges])),
        **_labels(columns, tables),
    )


def heterogeneous(columns: dict[str, np.ndarray], tables: dict[str, Any]) -> HeteroData:
    """Packages, source packages and debtags as one `HeteroData`, see `DebianPackages`."""
    graph = HeteroData()
    graph["package"].x = package_features(columns, tables)
    for name, value in _labels(columns, tables).items():
        graph["package"][name] = value
    graph["source"].num_nodes = int(columns["source"].max()) + 1
    graph["tag"].num_nodes = len(tables["tags"])

    for relation, edge_index in zip(tables["relations"], relation_edges(columns), strict=True):
        graph["package", relation, "package"].edge_index = edge_index
    package = np.arange(len(columns["source"]))
    graph["source", "builds", "package"].edge_index = _pairs(columns["source"], package)
    tagged = np.repeat(package, columns["tags_per_package"])
    graph["package", "tagged", "tag"].edge_index = _pairs(tagged, columns["tags"])
    return graph


def relation_edges(columns: dict[str, np.ndarray]) -> list[Tensor]:
    """The edges of each relation, [2, num_edges] int64, sorted by source, then target."""
    counts = columns["targets_per_package"]  # [num_relations, num_packages]
    ends = np.cumsum(counts.sum(axis=1))[:-1]
    package = np.arange(counts.shape[1])
    return [
        _pairs(np.repeat(package, count), targets)
        for count, targets in zip(counts, np.split(columns["targets"], ends), strict=True)
    ]


def package_features(columns: dict[str, np.ndarray], tables: dict[str, Any]) -> Tensor:
    """[num_packages, num_features] float32, with the columns that `feature_names` names."""
    num_packages, num_buckets = len(columns["section"]), tables["num_word_buckets"]
    words = np.zeros(num_packages * num_buckets, np.float32)
    row = np.repeat(np.arange(num_packages), columns["words_per_package"])
    np.add.at(words, row * num_buckets + columns["words"], 1)

    sizes = np.log1p(np.stack([columns["size"], columns["installed_size"]], axis=1))
    sizes = (sizes - sizes.mean(axis=0)) / sizes.std(axis=0)
    parts = [
        words.reshape(num_packages, num_buckets),
        sizes,
        columns["essential"][:, None],
        columns["arch_all"][:, None],
        np.eye(len(tables["priorities"]))[columns["priority"]],
        np.eye(len(tables["multi_arch"]))[columns["multi_arch"]],
    ]
    return torch.from_numpy(np.concatenate(parts, axis=1, dtype=np.float32))


def feature_names(tables: dict[str, Any]) -> list[str]:
    """What each column of `package_features` holds."""
    return [
        *(f"word:{bucket}" for bucket in range(tables["num_word_buckets"])),
        *("log_size", "log_installed_size", "essential", "arch:all"),
        *(f"priority:{value}" for value in tables["priorities"]),
        *(f"multi_arch:{value}" for value in tables["multi_arch"]),
    ]


def _labels(columns: dict[str, np.ndarray], tables: dict[str, Any]) -> dict[str, Tensor]:
    split = torch.from_numpy(columns["split"])
    masks = {f"{name}_mask": split == index for index, name in enumerate(tables["splits"])}
    return {"y": torch.from_numpy(columns["section"]).long(), **masks}


def _pairs(source: np.ndarray, target: np.ndarray) -> Tensor:
    return torch.from_numpy(np.stack([source, target]).astype(np.int64))


def _names(column: str) -> list[str]:
    return read_columns()[column].tobytes().decode().split("\n")


def _folder() -> Path:
    for place in _PLACES:
        if (place / "columns.npz").is_file():
            return place
    raise FileNotFoundError(
        f"DebianPackages: expected columns.npz in {_PLACES[0]} (installed) or {_PLACES[1]}"
        " (checkout), found neither; data/debian_packages/README.md says how to build it"
    )
