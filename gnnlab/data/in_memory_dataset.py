"""`InMemoryDataset`: all graphs joined in one block, single graphs and batches cut from it."""

import copy
import os
import os.path as osp
import warnings
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor

from gnnlab.data import saved
from gnnlab.data.batch import Batch
from gnnlab.data.block import Block, BlockRefused
from gnnlab.data.cache import CachedGraphs, CacheInfo, GraphCache, Limit, storages_of
from gnnlab.data.collate import collate
from gnnlab.data.data import Data
from gnnlab.data.dataset import Dataset, OnChange
from gnnlab.data.hetero_data import HeteroData
from gnnlab.data.positions import positions
from gnnlab.data.selection import Selection
from gnnlab.data.separate import Separator
from gnnlab.data.stream import collate_stream, count_graphs


class InMemoryDataset(Dataset):
    """A dataset whose graphs fit in memory (`torch_geometric.data.InMemoryDataset`).

    All graphs are joined into one (`collate`): `_data` holds every attribute of all graphs one after another, and
    `slices` where each graph's part lies. `dataset[i]` cuts a graph out, its tensors being views; `dataset.batch(ids)`
    copies the parts of several graphs into a batch at once. A dataset of a single graph keeps that graph as it is, with
    `slices=None`.

    Args:
        root, transform, pre_transform, pre_filter, log, force_reload, on_change: as for `Dataset`.
        cache: which graphs, once cut out, are kept for next time: 'all' (as PyG does), `None` for none, or those last
            used within a number of bytes. Their tensors stay views; what is kept is Python objects. May be set later
            too.
    """

    def __init__(
        self,
        root: str | None = None,
        transform: Callable[[Any], Any] | None = None,
        pre_transform: Callable[[Any], Any] | None = None,
        pre_filter: Callable[[Any], bool] | None = None,
        log: bool = True,
        force_reload: bool = False,
        *,
        on_change: OnChange | None = None,
        cache: Limit = "all",
    ) -> None:
        self._data: Any = None
        self.slices: Any = None
        self._cache = GraphCache(cache)
        self._cut: _Cut | None = None
        super().__init__(root, transform, pre_transform, pre_filter, log, force_reload, on_change=on_change)

    @property
    def raw_file_names(self) -> Any:
        raise NotImplementedError(f"{type(self).__name__} has no raw_file_names")

    @property
    def processed_file_names(self) -> Any:
        raise NotImplementedError(f"{type(self).__name__} has no processed_file_names")

    # The block -------------------------------------------------------------------------------------------------------

    def __getattr__(self, key: str) -> Any:
        """Attribute `key` of all selected graphs, joined as in a batch: `dataset.y`, `dataset[ids].y`.

        Raises:
            AttributeError: if the graphs have no such attribute, or only some of those selected have it.
        """
        data = self.__dict__.get("_data")
        if not isinstance(data, Data) or key not in data:
            raise AttributeError(f"'{type(self).__name__}' object has no attribute '{key}'")
        if self.slices is None:
            return data[key]
        others = [other for other in data.keys() if other != key]  # noqa: SIM118
        with self._without_trace():
            try:
                return Batch.from_data_list([self.get(i) for i in self.indices()], exclude_keys=others)[key]
            except (ValueError, KeyError) as error:
                raise AttributeError(f"'{key}' can't be read of all selected graphs: {error}") from error

    @property
    def data(self) -> Any:
        """The joined graph of all graphs, also of those that are not selected; setting it drops the cache."""
        if self.slices is not None:
            warnings.warn(
                "dataset.data is the joined graph of all graphs: read single graphs by dataset[i], and use "
                "dataset._data if the joined one is what you want",
                stacklevel=2,
            )
        return self._data

    @data.setter
    def data(self, value: Any) -> None:
        self._data = value
        self._release()

    def _release(self) -> None:
        self._cache = self._cache.fresh()
        self._cut = None

    def _current(self) -> "_Cut":
        """How graphs are cut from the block as it is now; a block that was written to since drops the cache."""
        cut = self._cut
        if cut is not None and cut.data is self._data and cut.slices is self.slices and cut.is_fresh():
            return cut
        if cut is not None:
            self._release()
        self._cut = _Cut(self._data, self.slices)
        return self._cut

    def len(self) -> int:
        """The number of graphs, whatever was selected of them."""
        cut = self._cut
        if cut is not None and cut.data is self._data and cut.slices is self.slices:
            return cut.length
        if self.slices is None:
            return 0 if self._data is None else 1
        return self._current().length

    def get(self, idx: int) -> Any:
        """Graph `idx`, counted among all graphs, untransformed; its tensors are views of the block.

        Raises:
            IndexError: if there is no such graph.
        """
        if self.slices is None:
            if idx != 0 or self._data is None:
                raise IndexError(f"graph {idx} is out of range: the dataset has {self.len()} graphs")
            return copy.copy(self._data)
        cut = self._current()
        if not 0 <= idx < cut.length:
            raise IndexError(f"graph {idx} is out of range: the dataset has {cut.length} graphs")
        kept = self._cache.read(idx)
        if kept is None:
            kept = cut.separator.read(idx)
            self._cache.keep(idx, kept, cut.length, cut.storages)
        return cut.separator.build_copy(kept) if type(kept) is dict else copy.copy(kept)

    def _without_trace(self) -> AbstractContextManager[None]:
        return self._cache.paused()

    @property
    def num_classes(self) -> int:
        if self.transform is not None:
            return super().num_classes
        y = None if self._data is None else getattr(self._data, "y", None)
        if y is None and hasattr(self._data, "node_stores"):
            y = next((store["y"] for store in self._data.node_stores if "y" in store), None)
        return self._infer_num_classes(torch.as_tensor(y) if y is not None else None)

    def copy(self, idx: Any = None) -> Self:
        """A dataset of its own with copies of the selected graphs, or of those of them at `idx`."""
        chosen = self if idx is None else self.index_select(idx)
        out = copy.copy(self)
        out._indices = None
        with self._without_trace():
            out._data, out.slices = self.collate(chosen.get(i).clone() for i in chosen.indices())
        out._release()
        return out

    def to_on_disk_dataset(
        self,
        root: str | None = None,
        backend: str = "sqlite",
        log: bool = True,
        *,
        schema: Any = None,
        on_change: OnChange | None = None,
        force_reload: bool = False,
        trust: bool = False,
    ) -> Any:
        """The selected graphs as an `OnDiskDataset` with the same transform.

        Args:
            root: folder of the files; `None` takes `on_disk` in the dataset's own.
            backend: 'sqlite', 'rocksdb' or 'mmap'.
            log: print what is being done, with a progress bar.
            schema: the kinds of the attributes; `None` takes them from all graphs.
            on_change, force_reload: what to do where other graphs, or these with another schema, are there already: as
                for `Dataset`.
            trust: unpickle the values of `object` columns.

        Raises:
            ValueError: if neither `root` nor the dataset tells the folder, or a graph does not fit the schema.
            RuntimeError: if other graphs are there already, unless `on_change` or `force_reload` replace them.
        """
        from gnnlab.data.on_disk_dataset import OnDiskCopy

        if root is None and self.root is None:
            raise ValueError(
                f"{type(self).__name__} has no folder: pass root= to say where its graphs are to be written"
            )
        return OnDiskCopy(
            self,
            osp.join(os.fspath(self.root), "on_disk") if root is None else root,  # type: ignore[arg-type]
            transform=self.transform,
            backend=backend,
            schema=schema,
            log=log,
            on_change=on_change,
            force_reload=force_reload,
            trust=trust,
        )

    def to(self, device: Any) -> Self:
        """Move the block to `device`; only for datasets of which all graphs are selected.

        Raises:
            ValueError: if only some graphs are selected.
        """
        if self._indices is not None:
            raise ValueError(
                "to() moves the block of all graphs: call dataset.copy() first to make one of the selected graphs only"
            )
        self._data.to(device)
        self._release()
        return self

    def cpu(self, *args: str) -> Self:
        """Move the block to the CPU."""
        return self.to("cpu")

    def cuda(self, device: int | str | None = None) -> Self:
        """Move the block to a CUDA device."""
        return self.to("cuda" if device is None else device if isinstance(device, str) else f"cuda:{device}")

    # The cache -------------------------------------------------------------------------------------------------------

    @property
    def cache(self) -> Limit:
        """Which graphs are kept once they are cut out: 'all', `None`, or those last used within a number of bytes."""
        return self._cache.limit

    @cache.setter
    def cache(self, limit: Limit) -> None:
        self._cache = GraphCache(limit)

    def cache_info(self) -> CacheInfo:
        """What the cache did and holds (`gnnlab.data.cache.CacheInfo`)."""
        note = "" if self.slices is not None else "a dataset of one graph has nothing to cut out, so nothing is cached"
        return self._cache.info(storages_of(self._data), note)

    @property
    def _data_list(self) -> Any:
        """The cached graphs, `None` for those that are not; `None` where none is. Set it to `None` to release them."""
        if not self._cache:
            return None
        cut = self._current()
        return CachedGraphs(self._cache, cut.length, cut.storages, cut.build)

    @_data_list.setter
    def _data_list(self, graphs: Sequence[Any] | None) -> None:
        self._cache = self._cache.fresh()
        if graphs is not None:
            cut = self._current()
            if len(graphs) != cut.length:
                raise ValueError(
                    f"_data_list must have one entry for each of the {cut.length} graphs, found {len(graphs)}"
                )
            for at, graph in enumerate(graphs):
                if graph is not None:
                    self._cache.replace(at, graph, cut.length, cut.storages)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_cache": self._cache.fresh(), "_cut": None}

    def __copy__(self) -> Self:
        out = type(self).__new__(type(self))
        out.__dict__.update(self.__dict__)
        return out

    # Batches ---------------------------------------------------------------------------------------------------------

    def batch(
        self,
        indices: Any,
        follow_batch: list[str] | None = None,
        exclude_keys: list[str] | None = None,
        *,
        vectorised: bool = True,
    ) -> Any:
        """The selected graphs at `indices` as a batch, equal to `Batch.from_data_list([dataset[i] for i in indices])`.

        Args:
            indices: what `index_select` takes.
            follow_batch, exclude_keys: as for `Batch.from_data_list`.
            vectorised: copy from the block in one go where that can't differ (`batch_path` says whether); `False` goes
                graph by graph, which fills the cache.

        Raises:
            ValueError: if no graph is selected or the graphs don't fit together.
        """
        if vectorised and self._why_not_vectorised() is None:
            chosen = self._rows(indices)
            if len(chosen) > 0 and not self._cache.edited(chosen):
                try:
                    return self._current().block.batch(chosen, follow_batch, exclude_keys)
                except BlockRefused:
                    pass
        graphs = [self[i] for i in positions(indices, len(self))]
        return Batch.from_data_list(graphs, follow_batch, exclude_keys)

    def batch_path(self) -> str:
        """How `batch` and the loader make batches: 'vectorised', or 'graph by graph: ' and why."""
        reason = self._why_not_vectorised()
        if reason is None and self._cache.edited():
            reason = "cached graphs in _data_list were edited"
        return "vectorised" if reason is None else f"graph by graph: {reason}"

    def _why_not_vectorised(self) -> str | None:
        cls = type(self)
        if self.transform is not None:
            return "the dataset has a transform"
        if cls.get is not InMemoryDataset.get:
            return f"{cls.__name__} defines get"
        if cls.__getitem__ is not Dataset.__getitem__:
            return f"{cls.__name__} defines __getitem__"
        if self.slices is None:
            return "the dataset is a single graph" if self._data is not None else "the dataset is empty"
        return self._current().block.refused

    def _rows(self, indices: Any) -> np.ndarray[Any, np.dtype[np.int64]]:
        """Ids, among all graphs, of the selected graphs at `indices`."""
        at = np.asarray(positions(indices, len(self)), dtype=np.int64)
        if self._indices is None:
            return at
        cut = self._current()
        if cut.indices is not self._indices:
            cut.indices, cut.index_array = self._indices, np.asarray(self._indices, dtype=np.int64)
        return cut.index_array[at]

    def __getitems__(self, indices: Sequence[int]) -> Selection:
        """The graphs at `indices` for torch's `DataLoader`: a sequence that cuts out a graph when asked for it."""
        return Selection(self, indices)

    def _graphs_at(self, indices: Sequence[int]) -> list[Any]:
        return [self[i] for i in indices]

    # Files -----------------------------------------------------------------------------------------------------------

    @staticmethod
    def collate(data_list: Iterable[Any], *, increment: bool = False) -> tuple[Any, Any]:
        """Join graphs into a block.

        Args:
            data_list: a list, or any iterable of graphs; of a generator, only the result and about one MiB of graphs is
                held.
            increment: shift node ids past the nodes of the graphs before, as a batch does; a dataset needs no shift.

        Returns:
            The joined graph and its slices; for a single graph, that graph and `None`.

        Raises:
            ValueError, TypeError: if there is no graph, or an attribute does not fit together; it names attribute and
                graph.
        """
        if not isinstance(data_list, (list, tuple)):
            return collate_stream(data_list, increment)
        if len(data_list) == 1:
            return data_list[0], None
        cls = type(data_list[0]) if data_list else Data
        data, slices, _ = collate(cls, data_list, increment=increment, add_batch=False)
        data.apply(_as_leaf)
        if not count_graphs(slices):
            raise ValueError("graphs without any attribute can't be joined, since nothing would tell how many they are")
        return data, slices

    @classmethod
    def save(cls, data_list: Iterable[Any], path: str) -> None:
        """Join graphs (of any iterable) and save them to `path` (`gnnlab.data.saved.save`).

        A path that ends in '.pt' becomes one file that `torch.load` reads, any other a folder of raw files that can be
        memory-mapped.
        """
        data, slices = cls.collate(data_list)
        saved.save(data, slices, path)

    def load(
        self, path: str, data_cls: type = Data, *, mmap: bool = False, trust: bool = False, verify: bool = False
    ) -> None:
        """Read what `save` wrote, or what PyG saved (`gnnlab.data.saved.load`).

        Args:
            path: file or folder.
            data_cls: class of the graphs, where the file does not name it.
            mmap: map a folder's files into memory instead of reading them.
            trust: unpickle whatever the file holds; only for files that you made yourself.
            verify: compare a folder's files with their checksums.
        """
        self.data, self.slices = saved.load(path, data_cls, mmap=mmap, trust=trust, verify=verify)


def _as_leaf(x: Any) -> Any:
    """`x` cut off from what it was computed from, tracking gradients as before."""
    tracks = x.requires_grad if isinstance(x, Tensor) else x.requires_grad()
    return x.detach().requires_grad_() if tracks else x


class _Cut:
    """A block and what was derived from it, as long as the block stays as it is."""

    def __init__(self, data: Any, slices: Any) -> None:
        self.data, self.slices = data, slices
        self._stores = [(store, store._version) for store in data.stores]
        self._metadata = data.metadata() if isinstance(data, HeteroData) else None
        self.length = count_graphs(slices)
        self.separator = Separator(type(data), data, slices)
        self.storages = storages_of(data)
        self._block: Block | None = None
        self.indices: Any = None
        self.index_array: Any = None

    def is_fresh(self) -> bool:
        """Whether nothing has been written to the block since."""
        if self._metadata is not None and self._metadata != self.data.metadata():
            return False
        return all(store._version == version for store, version in self._stores)

    def build(self, kept: Any) -> Any:
        """The graph that the cache has kept so."""
        return self.separator.build(kept) if type(kept) is dict else kept

    @property
    def block(self) -> Block:
        """The block, ready for batches."""
        if self._block is None:
            self._block = Block.of_joined(self.data, self.slices, self.length)
        return self._block
