"""Saving joined graphs and reading them back: our two formats, and what PyG scripts and PyG itself write.

* A path that ends in `.pt`: one file of tensors and plain containers, which `torch.load` reads with its default
  `weights_only=True`.
* Any other path: a folder with a manifest and one raw file a tensor (`gnnlab.files.folder`), which can be
  memory-mapped.

Nothing is unpickled but tensors, plain containers and the classes of `gnnlab.data`; the names of PyG's `Data` and
`HeteroData` stand for ours.
"""

import os
import pickle
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor
from torch.nn import Parameter

from gnnlab.data.collate import cumulative, new_graph, place
from gnnlab.data.data import BaseData, Data
from gnnlab.data.hetero_data import GLOBAL_STORE, HeteroData
from gnnlab.data.nested import compact
from gnnlab.data.storage import BaseStorage, EdgeStorage, GlobalStorage, NodeStorage
from gnnlab.data.temporal import TemporalData
from gnnlab.files import fs, read_folder, write_folder
from gnnlab.files.folder import MANIFEST
from gnnlab.sparse import is_sparse

FORMAT = "gnnlab graphs"
VERSION = 1

#: What `torch.load` reads beside containers and registered classes.
_PLAIN = (
    *(Tensor, Parameter, torch.Size, torch.dtype, torch.device),
    *(type(None), bool, int, float, complex, str, bytes),
)

#: What comes out of a damaged file where `torch.load` expects something else.
_DAMAGE = (RuntimeError, ValueError, EOFError, LookupError, TypeError, AttributeError, ArithmeticError, AssertionError)


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
        ValueError: if `path` is to be a folder and does not lie on the disk.
        FileExistsError: if it is a folder of other things, which saving would remove.
    """
    cls = type(data)
    meta = {"format": FORMAT, "version": VERSION, "class": f"{cls.__module__}.{cls.__qualname__}"}
    tree = {"data": data.to_dict(), "slices": slices}
    if str(path).endswith(".pt"):
        _check_plain(tree["data"], "data")
        fs.torch_save({**meta, **compact(tree)}, path)
    else:
        folder = _on_disk(path)
        if os.path.isdir(folder) and os.listdir(folder) and MANIFEST not in os.listdir(folder):
            raise FileExistsError(f"{path} is a folder that holds other things than graphs: save to another path")
        write_folder(folder, tree, meta)


def _on_disk(path: str) -> str:
    """The path of a folder of graphs, without the protocol of local files."""
    if not fs.isdisk(path):
        raise ValueError(f"a folder of graphs must lie on the disk, found {path}: elsewhere use a path ending in '.pt'")
    return str(fs.get_fs(path)._strip_protocol(path))


def _check_plain(value: Any, where: str) -> None:
    """Raise unless `torch.load` reads `value` by default."""
    if type(value) in _PLAIN or is_sparse(value):
        return
    if type(value) is dict:
        for key, part in value.items():
            _check_plain(key, f"a key of {where}")
            _check_plain(part, f"{where}[{key!r}]")
    elif type(value) in (list, tuple, set):
        for part in value:
            _check_plain(part, where)
    elif type(value) not in torch.serialization.get_safe_globals():
        raise TypeError(
            f"{where} holds a {type(value).__module__}.{type(value).__qualname__}, which torch.load refuses to read: "
            "save tensors, numbers, strings and plain containers of them (a folder takes NumPy arrays too)"
        )


def load(
    path: str, data_cls: type = Data, *, mmap: bool = False, trust: bool = False, verify: bool = False
) -> tuple[Any, Any]:
    """The joined graph and its slices from what `save` wrote, or from a file of PyG's `save` or
    `torch.save(self.collate(...))`.

    Args:
        path: file or folder.
        data_cls: class of the graph where the file does not name one.
        mmap: map a folder's files into memory; writing to the tensors copies the written pages and never changes the
            files.
        trust: unpickle whatever a file holds.
        verify: compare a folder's files with their checksums, which reads them all; sizes are compared always.

    Raises:
        FileNotFoundError: if there is nothing at `path`.
        ValueError: if it holds no graphs, is damaged, or was saved by a newer version.
        pickle.UnpicklingError: if it holds an object that is neither tensor, plain container nor a class of ours or
            PyG's.
    """
    path = str(path)
    data, slices = _read(path, data_cls, mmap, trust, verify)
    if slices is not None:
        _check_slices(data, slices, path, whole=not mmap)
    return data, slices


def _read(path: str, data_cls: type, mmap: bool, trust: bool, verify: bool) -> tuple[Any, Any]:
    if not fs.exists(path):
        raise FileNotFoundError(f"there are no saved graphs at {path}")
    if fs.isdir(path):
        tree, meta = read_folder(_on_disk(path), mmap=mmap, verify=verify)
        if not isinstance(meta, Mapping) or not isinstance(tree, Mapping):
            raise ValueError(f"{path} holds no saved graphs")
        return _graph({**meta, **tree}, path, data_cls)
    if mmap:
        raise ValueError(
            f"mmap needs the folder format, and {path} is a file: save to a path that does not end in '.pt'"
        )
    found = _read_file(path, trust)
    match found:
        case Mapping() if found.get("format") == FORMAT:
            return _graph(found, path, data_cls)
        case (data, None | Mapping() as slices) if _is_graph(data):
            return _foreign(data, slices, data_cls)
        case (data, None | Mapping() as slices, type() as cls) if _is_graph(data):
            return _foreign(data, slices, cls)
        case data if hasattr(data, "stores"):
            return _foreign(data, None, data_cls)
    raise ValueError(f"{path} holds no saved graphs, but a {type(found).__name__}")


def _check_slices(data: Any, slices: Mapping[Any, Any], path: str, whole: bool) -> None:
    """Raise where slices do not fit the values that they cut: at their ends, and with `whole` in between."""
    for store in data.stores:
        part = slices if store._key is None else slices.get(store._key, {})
        for name, value in store.items():
            ends = part.get(name)
            if not isinstance(ends, Tensor) or ends.dim() != 1 or is_sparse(value):
                continue
            size = len(value) if isinstance(value, list) else None
            if isinstance(value, Tensor) and value.dim() > 0:
                size = value.size(data.__cat_dim__(name, value, store) or 0)
            fits = ends.numel() > 0 and int(ends[0]) == 0 and (size is None or int(ends[-1]) == size)
            if not fits or (whole and bool((ends.diff() < 0).any())):
                raise ValueError(f"{path} is damaged: the slices of {place(store._key, name)} do not fit its values")


def _read_file(path: str, trust: bool) -> Any:
    with torch.serialization.safe_globals([(cls, name) for name, cls in PYG_NAMES.items()]):
        try:
            return fs.torch_load(path, "cpu", weights_only=not trust)
        except pickle.UnpicklingError as error:
            raise pickle.UnpicklingError(
                f"{path} is damaged, or holds what is not read unless trust=True vouches for the file: {error}"
            ) from error
        except _DAMAGE as error:
            raise ValueError(f"{path} is damaged, or no file of saved graphs: {error!r}") from error


def _graph(found: Mapping[str, Any], path: str, data_cls: type) -> tuple[Any, Any]:
    version = found.get("version")
    if isinstance(version, int) and version > VERSION:
        raise ValueError(f"{path} was saved by a newer gnnlab: its version is {version}, this one reads {VERSION}")
    match found:
        case {
            "format": str(name),
            "version": int(),
            "class": str(cls),
            "data": Mapping() as data,
            "slices": None | Mapping() as slices,
        } if name == FORMAT:
            return new_graph(*_mappings(data, class_named(cls, path, data_cls))), slices
    raise ValueError(f"{path} holds no saved graphs")


def class_named(name: str, path: str, data_cls: Any) -> Any:
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


def _mappings(data: Mapping[Any, Any], cls: Any) -> tuple[Any, dict[Any, dict[str, Any]]]:
    """`cls`, and the attributes that `to_dict` gave by storage."""
    if issubclass(cls, HeteroData):
        return cls, {None if key == GLOBAL_STORE else key: dict(part) for key, part in data.items()}
    return cls, {None: dict(data)}


def _is_graph(data: Any) -> bool:
    return isinstance(data, Mapping) or hasattr(data, "stores")


def _foreign(data: Any, slices: Any, cls: Any) -> tuple[Any, Any]:
    """A graph, given as a graph of ours or PyG's (or half of each) or as the dictionary of one, as ours.

    PyG keeps the number of nodes of every graph in a list beside the attributes; it becomes slices.
    """
    if isinstance(data, Mapping):
        cls, mappings = _mappings(data, _our_class(cls))
        counts = {key: mapping.pop("_num_nodes", None) for key, mapping in mappings.items()}
    else:
        cls = _our_class(type(data))
        stores = {store.__dict__.get("_key"): store for store in data.stores}
        mappings = {key: dict(store.__dict__["_mapping"]) for key, store in stores.items()}
        counts = {key: store.__dict__.get("_num_nodes") for key, store in stores.items()}
    mappings = {
        key: {name: value for name, value in mapping.items() if value is not None} for key, mapping in mappings.items()
    }
    if slices is not None:
        slices = dict(slices)
        for key, listed in counts.items():
            if listed is not None:
                part = slices if key is None else slices.setdefault(key, {})
                part["num_nodes"] = cumulative([int(count) for count in listed])
    return new_graph(cls, mappings), slices


def _our_class(cls: Any) -> Any:
    """`cls` itself if it is one of our graphs', else ours of the same name as PyG's that it derives from."""
    ours = {"HeteroData": HeteroData, "TemporalData": TemporalData}
    if issubclass(cls, BaseData):
        return cls
    return next((ours[base.__name__] for base in cls.__mro__ if base.__name__ in ours), Data)
