"""`Dataset`: graphs behind an index, with raw files to fetch and processed files to build once."""

import contextlib
import copy
import inspect
import json
import os
import os.path as osp
import sys
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

import torch
from torch import Tensor

from gnnlab.data import html
from gnnlab.data.positions import is_scalar, positions, whole_slice
from gnnlab.files import describe, diff, fs, locked

OnChange = Literal["refuse", "rebuild", "warn"]

#: Lies in the processed folder while it is being built; a folder that holds it does not count as processed.
BUILDING = ".building"

#: Says in the processed folder how it was made.
FINGERPRINT = "fingerprint.json"

_NOT_BUILDING_ARGUMENTS = frozenset(
    {
        "self",
        "root",
        "transform",
        "pre_transform",
        "pre_filter",
        "log",
        "force_reload",
        "on_change",
        "cache",
    }
)


class Dataset(torch.utils.data.Dataset[Any], ABC):
    """Base class of datasets (`torch_geometric.data.Dataset`).

    Subclasses define `len` and `get`, and may define `raw_file_names` with `download`, and `processed_file_names` with
    `process`; both run only while their files are missing. While they run, their folder is marked, so that what a
    killed process leaves behind never counts, and locked, so that a second process waits. What the processed files were
    built from (class, `version`, `pre_transform`, `pre_filter`, plain arguments of the constructor) is kept beside them
    as a fingerprint and compared at every start.

    Args:
        root: folder of the files, which may be a remote one (`memory://…`, whatever fsspec knows); `None` for a dataset
            without any.
        transform: applied to every graph when it is read.
        pre_transform: for `process` to apply to every graph before it is saved.
        pre_filter: for `process` to choose the graphs that are saved.
        log: print what is being done, to the standard error.
        force_reload: process again even where the files exist.
        on_change: what to do where the processed files were made otherwise than is asked for now: 'refuse'
            (RuntimeError, the default), 'rebuild', or 'warn' and read them all the same. Subclasses may set it as a
            class attribute.
    """

    #: Raise it in a subclass when `process` writes something else than before.
    version: ClassVar[int] = 1
    #: Arguments of the constructor on which the processed files do not depend.
    unbuilt_args: ClassVar[tuple[str, ...]] = ("split",)
    on_change: OnChange = "refuse"
    _arguments: dict[str, Any]

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        self = super().__new__(cls)
        self.__dict__["_arguments"] = _plain_arguments(cls, args, kwargs)
        return self

    def __init__(
        self,
        root: str | os.PathLike[str] | None = None,
        transform: Callable[[Any], Any] | None = None,
        pre_transform: Callable[[Any], Any] | None = None,
        pre_filter: Callable[[Any], bool] | None = None,
        log: bool = True,
        force_reload: bool = False,
        *,
        on_change: OnChange | None = None,
    ) -> None:
        super().__init__()
        if on_change not in (None, "refuse", "rebuild", "warn"):
            raise ValueError(f"on_change must be 'refuse', 'rebuild' or 'warn', found {on_change!r}")
        if isinstance(root, str):
            root = osp.expanduser(fs.normpath(root))
        elif isinstance(root, os.PathLike):
            root = Path(root).expanduser()
        self.root = root
        self.transform = transform
        self.pre_transform = pre_transform
        self.pre_filter = pre_filter
        self.log = log
        self.force_reload = force_reload
        if on_change is not None:
            self.on_change = on_change
        self._indices: Sequence[int] | None = None
        if self.has_download:
            self._download()
        if self.has_process:
            self._process()

    # For subclasses --------------------------------------------------------------------------------------------------

    @property
    def raw_file_names(self) -> Any:
        """A file name, or several, without which `download` runs."""
        raise NotImplementedError(f"{type(self).__name__} has no raw_file_names")

    @property
    def processed_file_names(self) -> Any:
        """A file name, or several, without which `process` runs."""
        raise NotImplementedError(f"{type(self).__name__} has no processed_file_names")

    def download(self) -> None:
        """Put the raw files into `raw_dir`."""
        raise NotImplementedError(f"{type(self).__name__} has no download")

    def process(self) -> None:
        """Turn the raw files into the processed files in `processed_dir`."""
        raise NotImplementedError(f"{type(self).__name__} has no process")

    @abstractmethod
    def len(self) -> int:
        """The number of graphs, whatever was selected of them."""

    @abstractmethod
    def get(self, idx: int) -> Any:
        """Graph `idx`, counted among all graphs."""

    # Files -----------------------------------------------------------------------------------------------------------

    @property
    def raw_dir(self) -> str:
        """Folder of the raw files."""
        return osp.join(self._root(), "raw")

    @property
    def processed_dir(self) -> str:
        """Folder of the processed files."""
        return osp.join(self._root(), "processed")

    def _root(self) -> str:
        if self.root is None:
            raise ValueError(f"{type(self).__name__} has no folder: it was made without root=")
        return os.fspath(self.root)

    @property
    def raw_paths(self) -> list[str]:
        """Paths of the raw files."""
        return [osp.join(self.raw_dir, name) for name in _as_list(self.raw_file_names)]

    @property
    def processed_paths(self) -> list[str]:
        """Paths of the processed files."""
        return [osp.join(self.processed_dir, name) for name in _as_list(self.processed_file_names)]

    @property
    def has_download(self) -> bool:
        """Whether the class defines `download`."""
        return type(self).download is not Dataset.download

    @property
    def has_process(self) -> bool:
        """Whether the class defines `process`."""
        return type(self).process is not Dataset.process

    def _download(self) -> None:
        folder, name = osp.split(self.raw_dir)
        marker = osp.join(folder, f".incomplete-{name}")  # not inside: download may put another folder in its place
        if not self.raw_paths:  # nothing would tell whether it is done
            fs.makedirs(self.raw_dir, exist_ok=True)
            self.download()
            return
        if _are_complete(self.raw_paths, marker):
            return
        with _alone_in(self.raw_dir):
            if not _are_complete(self.raw_paths, marker):
                _mark(marker)
                try:
                    self.download()
                finally:  # on an error too: the files may be put there by hand then
                    fs.rm(marker)

    def _process(self) -> None:
        if self._is_processed():
            return
        with _alone_in(self.processed_dir):
            if self._is_processed():
                return
            self._say("Processing...")
            self._build()
            self.force_reload = False
            self._say("Done!")

    def _build(self) -> None:
        """Run `process` so that its files count only once it has returned. The folder is locked."""
        marker = osp.join(self.processed_dir, BUILDING)
        _mark(marker)
        self.process()
        _write_text(
            osp.join(self.processed_dir, FINGERPRINT),
            json.dumps(self.fingerprint(), indent=2) + "\n",
        )
        fs.rm(marker)

    def _is_processed(self) -> bool:
        marker = osp.join(self.processed_dir, BUILDING)
        if self.force_reload or not _are_complete(self.processed_paths, marker):
            return False
        changes = self._changes()
        if not changes:
            return True
        what = f"{self.processed_dir} was not built as is asked for now: " + "; ".join(changes)
        if self.on_change == "refuse":
            raise RuntimeError(
                f"{what}. Pass force_reload=True or on_change='rebuild' to build it again, on_change='warn' to use it "
                "as it is, or another root; name arguments that the files do not depend on in the class's unbuilt_args"
            )
        if self.on_change == "warn":
            warnings.warn(what, stacklevel=4)
            return True
        self._say(what)
        return False

    def _changes(self) -> list[str]:
        kept = self._kept_fingerprint()
        return [] if kept is None else diff(kept, self.fingerprint())

    def _kept_fingerprint(self) -> Any:
        """The fingerprint of the processed files; `None` if nothing tells."""
        path = osp.join(self.processed_dir, FINGERPRINT)
        if not fs.exists(path):
            return None
        with fs.get_fs(path).open(path, "rb") as file:
            try:
                return json.load(file)
            except ValueError as error:
                raise ValueError(
                    f"{path}, which says how the files beside it were built, is damaged ({error}): pass "
                    "force_reload=True to build them again, or remove it to take them as they are"
                ) from error

    def fingerprint(self) -> dict[str, Any]:
        """What the processed files depend on, as plain values; kept beside them and compared at every start."""
        return {
            "class": f"{type(self).__module__}.{type(self).__qualname__}",
            "version": self.version,
            "pre_transform": describe(self.pre_transform),
            "pre_filter": describe(self.pre_filter),
            "arguments": {key: value for key, value in self._arguments.items() if key not in self.unbuilt_args},
        }

    def _say(self, text: str) -> None:
        if self._is_loud():
            print(text, file=sys.stderr)

    def _is_loud(self) -> bool:
        return self.log and "PYTEST_CURRENT_TEST" not in os.environ

    # Selecting -------------------------------------------------------------------------------------------------------

    def indices(self) -> Sequence[int]:
        """The ids, among all graphs, of those that are selected."""
        return range(self.len()) if self._indices is None else self._indices

    def __len__(self) -> int:
        return self.len() if self._indices is None else len(self._indices)

    def __getitem__(self, idx: Any) -> Any:
        """One transformed graph for an int, else the dataset of the selected graphs (`index_select`)."""
        if type(idx) is int or is_scalar(idx):
            indices = range(self.len()) if self._indices is None else self._indices
            try:
                at = indices[idx]
            except IndexError:
                raise IndexError(f"graph {int(idx)} is out of range: the dataset has {len(indices)} graphs") from None
            graph = self.get(at)
            return graph if self.transform is None else self.transform(graph)
        return self.index_select(idx)

    def __iter__(self) -> Iterator[Any]:
        for i in range(len(self)):
            yield self[i]

    def index_select(self, idx: Any) -> Self:
        """A dataset of some of the graphs, sharing everything else with this one.

        Args:
            idx: a slice (bounds may be fractions), list, tuple, range, tensor or array of ids of any integer dtype, or
                a mask.

        Raises:
            IndexError: if an id is out of range or a mask has the wrong length.
        """
        indices = self.indices()
        out = copy.copy(self)
        if isinstance(idx, slice):
            out._indices = indices[whole_slice(idx, len(indices))]
        else:
            out._indices = [indices[i] for i in positions(idx, len(indices))]
        return out

    def shuffle(self, return_perm: bool = False) -> Any:
        """The dataset in random order (torch's generator); with `return_perm` also the order, `[len]` int64."""
        perm = torch.randperm(len(self))
        dataset = self.index_select(perm)
        return (dataset, perm) if return_perm else dataset

    # Facts -----------------------------------------------------------------------------------------------------------

    def _without_trace(self) -> contextlib.AbstractContextManager[None]:
        """While it is entered, reading graphs leaves nothing behind in the dataset."""
        return contextlib.nullcontext()

    def _first(self) -> Any:
        with self._without_trace():
            graph = self[0]
        return graph[0] if isinstance(graph, tuple) else graph

    @property
    def num_node_features(self) -> Any:
        """Columns of the graphs' `x`."""
        return self._first().num_node_features

    @property
    def num_features(self) -> Any:
        """Columns of the graphs' `x`."""
        return self._first().num_features

    @property
    def num_edge_features(self) -> Any:
        """Columns of the graphs' `edge_attr`."""
        return self._first().num_edge_features

    @property
    def num_classes(self) -> int:
        """The number of classes in the graphs' `y`: the largest label plus one, the number of distinct values of a
        floating-point `y`, or the columns of a matrix (0 without `y`).

        Raises:
            TypeError: if `y` is neither a number nor made of numbers.
        """
        with self._without_trace():
            labels = [_as_labels(y) for item in self for y in _targets(item)]
        return self._infer_num_classes(torch.cat(labels) if labels else None)

    def _infer_num_classes(self, y: Tensor | None) -> int:
        if y is None or y.numel() == 0:
            return 0
        if y.numel() != y.size(0):
            return y.size(-1)
        if not y.is_floating_point():
            return int(y.max()) + 1
        num_classes = torch.unique(y).numel()
        if num_classes > 2:
            warnings.warn(
                "y is of a floating-point dtype: took the number of its distinct values",
                stacklevel=3,
            )
        return num_classes

    def get_summary(self) -> Any:
        """Sizes of the graphs: mean, spread, least, quartiles and largest (`gnnlab.data.summary.Summary`)."""
        from gnnlab.data.summary import Summary

        with self._without_trace():
            return Summary.from_dataset(self)

    def print_summary(self, fmt: str = "psql") -> None:
        """Print `get_summary` as a table."""
        print(self.get_summary().format(fmt=fmt))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self) if len(self) > 1 else ''})"

    def _repr_html_(self) -> str:
        return html.dataset_html(self)


def _plain_arguments(cls: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    """The constructor's arguments that are numbers, strings and the like (or short lists of them), defaults
    included.
    """
    try:
        bound = inspect.signature(cls.__init__).bind_partial(None, *args, **kwargs)
    except TypeError:
        return {}
    bound.apply_defaults()
    return {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in bound.arguments.items()
        if name not in _NOT_BUILDING_ARGUMENTS and _is_plain(value)
    }


def _is_plain(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return 0 < len(value) <= 100 and all(_is_plain(item) for item in value)
    return value is None or isinstance(value, (bool, int, float, str))


def _targets(item: Any) -> Iterator[Any]:
    """The `y` of a graph, or of the graphs in a list, tuple or dict."""
    if isinstance(item, (list, tuple, Mapping)):
        for part in item.values() if isinstance(item, Mapping) else item:
            yield from _targets(part)
    else:
        stores = [item, *getattr(item, "node_stores", ())]
        y = next((found for store in stores if (found := getattr(store, "y", None)) is not None), None)
        if y is not None:
            yield y


def _as_labels(y: Any) -> Tensor:
    try:
        labels = torch.as_tensor(y)
    except (TypeError, ValueError, RuntimeError) as error:
        raise TypeError(f"num_classes needs numbers in 'y', found {type(y).__name__}") from error
    return labels.reshape(-1) if labels.dim() == 0 else labels


def _as_list(names: Any) -> list[str]:
    names = names() if callable(names) else names
    return [os.fspath(names)] if isinstance(names, (str, os.PathLike)) else list(names)


def _are_complete(paths: list[str], marker: str) -> bool:
    """Whether there are `paths` and all exist, and nobody who writes them is at it or was killed, as `marker` tells."""
    return len(paths) > 0 and all(map(fs.exists, paths)) and not fs.exists(marker)


@contextlib.contextmanager
def _alone_in(folder: str) -> Iterator[None]:
    """Makes `folder` and, where it is a local one, keeps other processes waiting that would write into it."""
    fs.makedirs(folder, exist_ok=True)
    with locked(folder) if "://" not in folder else contextlib.nullcontext():
        yield


def _mark(marker: str) -> None:
    _write_text(marker, "The files here are incomplete until this one is gone.\n")


def _write_text(path: str, text: str) -> None:
    with fs.get_fs(path).open(path, "w") as file:
        file.write(text)
