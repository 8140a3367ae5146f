"""Saving joined graphs and reading them back: our two formats, and what PyG scripts and PyG itself write.

* A path that ends in `.pt`: one file of tensors and plain containers, which `torch.load` reads with its default
  `weights_only=True`.
* Any other path: a folder with a manifest and one raw file a tensor (`gnnlab.files.folder`), which can be
  memory-mapped.

Nothing is unpickled but tensors, plain containers and the classes of `gnnlab.data`; the names of PyG's `Data` and
`HeteroData` stand for ours.
"""

from collections.abc import Mapping
from typing import Any

import torch

from gnnlab.data.collate import cumulative
from gnnlab.data.data import BaseData, Data
from gnnlab.data.hetero_data import HeteroData
from gnnlab.data.nested import compact
from gnnlab.data.storage import BaseStorage, EdgeStorage, GlobalStorage, NodeStorage
from gnnlab.data.temporal import TemporalData
from gnnlab.files import fs, read_folder, write_folder

FORMAT = "gnnlab graphs"
VERSION = 1


class _Dropped:
    """Stands for what a PyG file names and we have no use for."""


#: Which of our classes the names in a file of PyG's stand for.
PYG_NAMES: dict[str, Any] = {
    "torch_geometric.data.data.Data": Data,
    "torch_geometric.data.data.DataTensorAttr": _Dropped,
    "torch_geometric.data.data.DataEdgeAttr": _Dropped,
    "torch_geometric.data.feature_store.TensorAttr": _Dropped,
    "torch_geometric.data.graph_store.EdgeAttr": _Dropped,
    "torch_geometric.data.hetero_data.HeteroData": HeteroData,
    "torch_geometric.data.temporal.TemporalData": TemporalData,
    "torch_geometric.data.storage.BaseStorage": BaseStorage,
    "torch_geometric.data.storage.NodeStorage": NodeStorage,
    "torch_geometric.data.storage.EdgeStorage": EdgeStorage,
    "torch_geometric.data.storage.GlobalStorage": GlobalStorage,
}


def save(data: Any, slices: Any, path: str) -> None:
    """Save joined graphs (or a single one, with `slices=None`) to `path`, all or nothing.

    Raises:
        TypeError: if an attribute holds an object that can't be written without pickling it.
    """
    cls = type(data)
    meta = {"format": FORMAT, "version": VERSION, "class": f"{cls.__module__}.{cls.__qualname__}"}
    tree = {"data": data.to_dict(), "slices": slices}
    if str(path).endswith(".pt"):
        fs.torch_save({**meta, **compact(tree)}, path)
    else:
        write_folder(path, tree, meta)


def load(path: str, data_cls: type = Data, *, mmap: bool = False, trust: bool = False) -> tuple[Any, Any]:
    """The joined graph and its slices from what `save` wrote, or from a file of PyG's `save` or
    `torch.save(self.collate(...))`.

    Args:
        path: file or folder.
        data_cls: class of the graph where the file does not name one.
        mmap: map a folder's files into memory; writing to the tensors copies the written pages and never changes the
            files.
        trust: unpickle whatever a file holds.

    Raises:
        FileNotFoundError: if there is nothing at `path`.
        ValueError: if it holds no graphs, or was saved by a newer version.
        pickle.UnpicklingError: if it holds an object that is neither tensor, plain container nor a class of ours or
            PyG's.
    """
    path = str(path)
    if not fs.exists(path):
        raise FileNotFoundError(f"there are no saved graphs at {path}")
    if fs.isdir(path):
        tree, meta = read_folder(path, mmap=mmap)
        return _graph({**meta, **tree}, path, data_cls)
    if mmap:
        raise ValueError(
            f"mmap needs the folder format, and {path} is a file: save to a path that does not end in '.pt'"
        )
    with torch.serialization.safe_globals([(cls, name) for name, cls in PYG_NAMES.items()]):
        found = fs.torch_load(path, "cpu", weights_only=not trust)
    if isinstance(found, Mapping) and found.get("format") == FORMAT:
        return _graph(found, path, data_cls)
    if isinstance(found, tuple) and len(found) in (2, 3):
        data, slices, *classes = found
        graph = _ours(data, classes[0] if classes else data_cls)
        return graph, slices if slices is None else _with_node_counts(graph, slices)
    if hasattr(found, "stores"):
        return _ours(found, data_cls), None
    raise ValueError(f"{path} holds no saved graphs, but a {type(found).__name__}")


def _graph(found: Mapping[str, Any], path: str, data_cls: type) -> tuple[Any, Any]:
    if found.get("format") != FORMAT:
        raise ValueError(f"{path} holds no saved graphs")
    if found["version"] > VERSION:
        raise ValueError(
            f"{path} was saved by a newer gnnlab: its version is {found['version']}, this one reads {VERSION}"
        )
    return _ours(found["data"], _class_named(found["class"], path, data_cls)), found["slices"]


def _class_named(name: str, path: str, data_cls: Any) -> Any:
    """The class of graphs called `name`, which must have been defined already: nothing is imported for a file."""
    classes = [BaseData]
    for cls in classes:
        classes.extend(cls.__subclasses__())
    found = [cls for cls in classes if f"{cls.__module__}.{cls.__qualname__}" == name]
    if found:
        return found[-1]
    if data_cls is Data:
        raise ValueError(f"{path} holds graphs of class {name}, which is not defined here: import it, or pass data_cls")
    return data_cls


def _ours(data: Any, cls: Any) -> Any:
    """`data`, a dictionary or a graph of ours or PyG's, as a graph of ours."""
    if isinstance(data, BaseData):
        return data
    if not isinstance(data, Mapping):
        kinds = {"HeteroData": HeteroData, "TemporalData": TemporalData}
        cls, data = kinds.get(type(data).__name__, Data), data.to_dict()
    if not issubclass(cls, BaseData):
        cls = {"HeteroData": HeteroData, "TemporalData": TemporalData}.get(cls.__name__, Data)
    return cls.from_dict(data)


def _with_node_counts(graph: Any, slices: Mapping[Any, Any]) -> dict[Any, Any]:
    """`slices` with those of `num_nodes`, of which PyG keeps a list of counts beside the attributes instead."""
    out = dict(slices)
    for store in graph.stores:
        counts = store.__dict__.pop("_num_nodes", None)
        if counts is not None:
            part = out if store._key is None else out.setdefault(store._key, {})
            part["num_nodes"] = cumulative([int(count) for count in counts])
    return out
