"""`OnDiskDataset`: graphs that stay on the disk and are read when they are asked for."""

import os
import os.path as osp
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

from torch import Tensor
from tqdm import tqdm

from gnnlab.data.batch import Batch
from gnnlab.data.block import Block, BlockRefused
from gnnlab.data.collate import new_graph
from gnnlab.data.data import Data
from gnnlab.data.database import Database
from gnnlab.data.database.columns import Plan, cells_of_block, split_key
from gnnlab.data.database.opening import backend_named
from gnnlab.data.database.schema import Inference, Key, Schema
from gnnlab.data.dataset import Dataset, OnChange
from gnnlab.data.hetero_data import HeteroData
from gnnlab.data.in_memory_dataset import InMemoryDataset
from gnnlab.data.positions import positions
from gnnlab.data.saved import class_named
from gnnlab.data.selection import Selection
from gnnlab.data.stream import CHUNK_BYTES, rough_bytes
from gnnlab.files import FileFormatError, fingerprint, fs
from gnnlab.files.atomic import flush_tree, remove, replace

#: Beside a type instead of a name: the type is there and has no attribute.
_EMPTY_TYPE = None

#: A schema is inferred from at most so many graphs.
_SAMPLE = 4096

#: Graphs of a block that are turned into rows at once.
_CHUNK = 1024


class OnDiskDataset(Dataset):
    """A dataset whose graphs stay on the disk (`torch_geometric.data.OnDiskDataset`).

    Graphs are added by `append` and `extend`, from `process` or from outside, and read one by one (`dataset[i]`), or as
    batches (`batch`, `DataLoader`), straight from the columns where that gives the same.

    What `process` adds is built beside the file that is read, and takes its place once `process` has returned. If it is
    interrupted, the next start runs it again, and graphs that were written before are compared and skipped;
    `num_committed` tells how many these are, so that `process` may skip the work for them.

    Args:
        root: folder of the files, on the disk.
        transform: applied to every graph when it is read.
        pre_filter: for `process` to choose the graphs that are added.
        backend: 'sqlite' (one file), 'rocksdb' (needs `gnnlab[stores]`) or 'mmap' (columns mapped into memory).
        schema: the kinds of what `serialize` gives (`gnnlab.data.database.Schema.of`); `None` takes that of the file,
            or infers one from the graphs that are added first.
        log: print what is being done, to the standard error.
        pre_transform: for `process` to apply to every graph that is added.
        force_reload, on_change: as for `Dataset`.
        trust: unpickle the values of `object` columns, which runs whatever the file says.
        verify: compare the whole file with its checksums when it is opened.
    """

    def __init__(
        self,
        root: str | os.PathLike[str],
        transform: Callable[[Any], Any] | None = None,
        pre_filter: Callable[[Any], bool] | None = None,
        backend: str = "sqlite",
        schema: Any = None,
        log: bool = True,
        *,
        pre_transform: Callable[[Any], Any] | None = None,
        force_reload: bool = False,
        on_change: OnChange | None = None,
        trust: bool = False,
        verify: bool = False,
    ) -> None:
        self._database_class = backend_named(backend)
        if root is None:
            raise ValueError("root must be a folder on the disk, found None")
        if not fs.isdisk(os.fspath(root)):
            raise ValueError(f"root must be a folder on the disk, found {root}")
        self.backend = backend
        self._schema, self._trust, self._verify = schema, trust, verify
        self._db: Database | None = None
        self._building: Path | None = None
        self._next: int | None = None
        self._waiting: list[Any] = []
        self._waiting_bytes = 0
        self._cls: Any = None
        self._is_flat = False
        self._plan: Plan | None = None
        self._block: tuple[Any, Block] | None = None
        super().__init__(root, transform, pre_transform, pre_filter, log, force_reload, on_change=on_change)

    @property
    def raw_file_names(self) -> Any:
        raise NotImplementedError(f"{type(self).__name__} has no raw_file_names")

    @property
    def processed_file_names(self) -> Any:
        return f"{self.backend}.db"

    # The database ----------------------------------------------------------------------------------------------------

    @property
    def db(self) -> Database:
        """The database, which opens when it is used."""
        if self._db is None:
            self._db = self._open(self._building or Path(self.processed_paths[0]))
        return self._db

    def _open(self, path: Path) -> Database:
        database = self._database_class(path, schema=self._schema, trust=self._trust, verify=self._verify)
        database.durable = self._building is None  # else all of it is flushed before it takes its place
        return database

    def close(self) -> None:
        """Commit what was added, and close the database. It opens again when it is used again."""
        self._settle()
        if self._db is not None:
            self._db.close()
        self._block = None

    def flush(self) -> None:
        """Commit what was added: a process that is killed afterwards leaves it behind."""
        self._settle()
        self.db.flush()

    @property
    def num_committed(self) -> int:
        """The number of graphs that an interrupted `process` has left behind, or that are in the file."""
        return self.db.num_committed

    def _build(self) -> None:
        path = Path(self.processed_paths[0])
        part = path.with_name(f".building-{path.name}")
        self._building, self._db, self._next = part, None, 0
        if self.force_reload or self._left_behind(part) != self._mark():
            remove(part)
        try:
            self.db.note({**(self.db.about() or {}), "fingerprint": self._mark()})
            self.process()
            self._settle()
            if self._next < self.db.num_committed:
                raise RuntimeError(
                    f"process added {self._next} graphs, and {self.db.num_committed} are left of a run of it that was "
                    "interrupted: they were not the same; pass force_reload=True to start again"
                )
            if self.fingerprint() != self._mark():
                self.db.note({**(self.db.about() or {}), "fingerprint": self.fingerprint()})
        finally:
            if self._db is not None:
                self._db.close()
            self._db, self._building, self._next = None, None, None
            self._waiting, self._waiting_bytes = [], 0
        flush_tree(part)
        replace(path, part)
        remove(part)

    def _mark(self) -> dict[str, Any]:
        """What an interrupted build is known by, so that it may go on; its rows are compared in any case."""
        return self.fingerprint()

    def _left_behind(self, part: Path) -> Any:
        """The fingerprint of what an interrupted build has left; `None` if that is nothing to go on from."""
        try:
            return self._note(part, "fingerprint")
        except FileFormatError:  # it was interrupted before anything was committed
            return None

    def _kept_fingerprint(self) -> Any:
        return self._note(Path(self.processed_paths[0]), "fingerprint")

    def _note(self, path: Path, key: str) -> Any:
        if not osp.lexists(path):
            return None
        database = self._database_class(path)
        try:
            return (database.about() or {}).get(key)
        finally:
            database.close()

    # Rows ------------------------------------------------------------------------------------------------------------

    def serialize(self, data: Any) -> Any:
        """The row of a graph: by default its attributes by name, or by (type, name) where they belong to one.

        Override it together with `deserialize` and give a `schema` to store something else.
        """
        return {
            name if store._key is None else (store._key, name): value
            for store in data.stores
            for name, value in (store._mapping.items() or ([(_EMPTY_TYPE, True)] if store._key is not None else []))
        }

    def deserialize(self, data: Any) -> Any:
        """The graph of a row that `serialize` gave."""
        if not isinstance(data, Mapping):
            return data
        if self._cls is None:
            self._cls = self._graph_class()
        if self._is_flat:
            return self._cls._from_mapping(data)
        mappings: dict[Any, dict[str, Any]] = {None: {}}
        for key, value in data.items():
            kind, name = split_key(key)
            mapping = mappings.setdefault(kind, {})
            if name is not _EMPTY_TYPE:
                mapping[name] = value
        return new_graph(self._cls, mappings)

    def _graph_class(self) -> Any:
        name = (self.db.about() or {}).get("class")
        cls = Data if name is None else class_named(name, str(self.db.path), Data)
        self._is_flat = not issubclass(cls, HeteroData)
        return cls

    # Adding ----------------------------------------------------------------------------------------------------------

    def append(self, data: Any) -> None:
        """Add a graph.

        Raises:
            ValueError: if it does not fit the schema; the message names graph, attribute, what was expected and what
                was found.
            BlockingIOError: if another object or process is writing the dataset.
            OSError: if it can't be written.
        """
        if self._indices is not None:
            raise ValueError("graphs can only be added to the whole dataset, not to a selection of it")
        if self.db.schema is None:
            self.db.begin()
            self._waiting.append(data)
            self._waiting_bytes += rough_bytes(data)
            if self._waiting_bytes >= CHUNK_BYTES or len(self._waiting) >= _SAMPLE:
                self._settle()
            return
        self._insert(data)

    def extend(self, data_list: Iterable[Any], batch_size: int | None = None) -> None:
        """Add the graphs of any iterable, of which no more than a portion is held.

        Args:
            data_list: the graphs.
            batch_size: commit after so many; `None` commits by bytes.

        Raises:
            As `append`.
        """
        shown = tqdm(data_list, desc="Writing", disable=self._building is None or not self._is_loud())
        for at, data in enumerate(shown, 1):
            self.append(data)
            if batch_size is not None and at % batch_size == 0:
                self.flush()
        self._settle()

    def _settle(self) -> None:
        """Insert the graphs that wait for a schema."""
        if self._waiting:
            graphs, self._waiting, self._waiting_bytes = self._waiting, [], 0
            self._infer(graphs)
            for data in graphs:
                self._insert(data)

    def _infer(self, graphs: Iterable[Any]) -> None:
        """Take the schema from some graphs."""
        inference = Inference()
        for data in graphs:
            row = self.serialize(data)
            if not isinstance(row, Mapping):
                self.db.declare(Schema.of(Any))
                return
            inference.add(row, partial(_cat_dim, data))
        self.db.declare(inference.schema())

    def _insert(self, data: Any) -> None:
        if self._next is None:
            self._next = len(self.db)
        if self._cls is None and hasattr(data, "stores"):
            self._adopt_class(type(data))
        elif self._cls is not None and type(data) is not self._cls:
            raise ValueError(
                f"graph {self._next}: expected a {self._cls.__name__} as before, found a {type(data).__name__}"
            )
        self.db.insert(self._next, self.serialize(data))
        self._next += 1

    def _adopt_class(self, cls: Any) -> None:
        """Note the class of the graphs in the file, or compare it with the one noted there."""
        about = self.db.about() or {}
        name = f"{cls.__module__}.{cls.__qualname__}"
        if about.get("class", name) != name:
            raise ValueError(f"{self.db.path} holds graphs of class {about['class']}, found a {name}")
        if "class" not in about:
            self.db.note({**about, "class": name})
        self._cls, self._is_flat = cls, not issubclass(cls, HeteroData)

    # Reading ---------------------------------------------------------------------------------------------------------

    def len(self) -> int:
        if self._waiting:
            self._settle()
        return len(self.db) if self._building is None else self._next or 0

    def get(self, idx: int) -> Any:
        """Graph `idx`, counted among all graphs, untransformed.

        Raises:
            IndexError: if there is no such graph.
            FileFormatError: if it is damaged.
        """
        if self._waiting:
            self._settle()
        return self.deserialize(self.db.get(idx))

    def multi_get(self, indices: Any, batch_size: int | None = None) -> list[Any]:
        """The graphs that `dataset[i]` gives for every `i` of `indices`, transformed, read together.

        Args:
            indices: what `index_select` takes.
            batch_size: how many to read at once; `None` reads all at once.

        Raises:
            IndexError: if there is no such graph; the message names it.
        """
        if self._waiting:
            self._settle()
        chosen = self._ids(positions(indices, len(self)))
        graphs = [self.deserialize(row) for row in self.db.multi_get(chosen, batch_size)]
        return graphs if self.transform is None else [self.transform(graph) for graph in graphs]

    def _ids(self, at: Sequence[int]) -> Sequence[int]:
        return at if self._indices is None else [self._indices[i] for i in at]

    def _graphs_at(self, indices: Sequence[int]) -> list[Any]:
        cls = type(self)
        if cls.get is not OnDiskDataset.get or cls.__getitem__ is not Dataset.__getitem__:
            return [self[i] for i in indices]
        return self.multi_get(indices)

    def __getitems__(self, indices: Sequence[int]) -> Selection:
        """The graphs at `indices` for torch's `DataLoader`: a sequence that reads them when asked for one."""
        return Selection(self, indices)

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
            vectorised: copy from the columns in one go where that can't differ (`batch_path` says whether); `False`
                goes graph by graph.
        """
        at = positions(indices, len(self))
        if vectorised and at and self._why_not_vectorised() is None:
            try:
                block, index = self._block_of(self._ids(at))
                if block.refused is None:
                    return block.batch(index, follow_batch, exclude_keys)
            except BlockRefused:
                pass
        return Batch.from_data_list(self._graphs_at(at), follow_batch, exclude_keys)

    def batch_path(self) -> str:
        """How `batch` and the loader make batches: 'vectorised', or 'graph by graph: ' and why."""
        reason = self._why_not_vectorised()
        return "vectorised" if reason is None else f"graph by graph: {reason}"

    def _why_not_vectorised(self) -> str | None:
        cls = type(self)
        if self.transform is not None:
            return "the dataset has a transform"
        for name in ("get", "serialize", "deserialize", "multi_get"):
            if getattr(cls, name) is not getattr(OnDiskDataset, name):
                return f"{cls.__name__} defines {name}"
        if cls.__getitem__ is not Dataset.__getitem__:
            return f"{cls.__name__} defines __getitem__"
        if len(self) == 0:
            return "the dataset is empty"
        if self._plan is None:
            self._plan = Plan(self._cls or self._graph_class(), self.db.schema)  # type: ignore[arg-type]
        return self._plan.refused

    def _block_of(self, ids: Sequence[int]) -> tuple[Block, Any]:
        """A block that holds the graphs `ids`, and where they are in it."""
        assert self._plan is not None
        columns, length, index = self.db.columns(ids)
        if self._block is None or self._block[0] is not columns:
            block = self._plan.block(columns, length)
            if length == len(ids):
                return block, index
            self._block = columns, block
        return self._block[1], index

    # Copies ----------------------------------------------------------------------------------------------------------

    def __getstate__(self) -> dict[str, Any]:
        self._settle()
        return {**self.__dict__, "_block": None, "_plan": None}


class OnDiskCopy(OnDiskDataset):
    """The graphs of an `InMemoryDataset` on the disk (`InMemoryDataset.to_on_disk_dataset`).

    Args:
        source: the dataset; of a selection, the selected graphs.
        root, transform, backend, schema, log, on_change, force_reload, trust: as for `OnDiskDataset`.
    """

    def __init__(self, source: InMemoryDataset, root: str | os.PathLike[str], **kwargs: Any) -> None:
        self._source: InMemoryDataset | None = source
        self._name = f"OnDisk{type(source).__name__}"
        self._fingerprint: dict[str, Any] | Future[dict[str, Any]] | None = None
        super().__init__(root, **kwargs)
        self._source = self._fingerprint = None

    def process(self) -> None:
        with ThreadPoolExecutor(1, thread_name_prefix="gnnlab-fingerprint") as beside:
            if self._fingerprint is None:  # the hash is found while the rows are written
                self._fingerprint = beside.submit(self._find_fingerprint, self._source)
            self._copy()

    def _copy(self) -> None:
        source = self._source
        assert source is not None
        ids = source.indices()
        bar = tqdm(total=len(ids), desc="Writing", disable=not self._is_loud())
        own_get = type(source).get is not InMemoryDataset.get
        fast = None
        if self._schema is None and source.slices is not None and not own_get:
            fast = cells_of_block(source._data, source.slices)
        if fast is not None:
            schema, rows_at = fast
            self.db.declare(schema)
            self._adopt_class(type(source._data))
            for start in range(0, len(ids), _CHUNK):
                chunk = ids[start : start + _CHUNK]
                self.db.insert_portion(start, list(rows_at(chunk)))
                bar.update(len(chunk))
            self._next = len(ids)
            bar.close()
            return
        with source._without_trace():
            if self._schema is None and len(ids) > 0:
                self._infer(source.get(i) for i in ids)
            for i in ids:
                self.append(source.get(i))
                bar.update()
        bar.close()

    def _mark(self) -> dict[str, Any]:
        assert self._source is not None
        return {"copy of": type(self._source).__qualname__, "graphs": len(self._source), "schema": self._given_schema()}

    def fingerprint(self) -> dict[str, Any]:
        """What the files depend on: the bytes of all graphs, whose hash takes about as long as to copy them."""
        if self._fingerprint is None:
            self._fingerprint = self._find_fingerprint(self._source)
        return self._fingerprint.result() if isinstance(self._fingerprint, Future) else self._fingerprint

    def _given_schema(self) -> Any:
        return None if self._schema is None else Schema.of(self._schema).to_json()

    def _find_fingerprint(self, source: Any) -> dict[str, Any]:
        chosen = None if source._indices is None else list(source._indices)
        joined = None if source._data is None else source._data.to_dict()
        return {
            "source": fingerprint([type(source).__qualname__, joined, source.slices, chosen]),
            "schema": self._given_schema(),
        }

    def __repr__(self) -> str:
        return f"{self._name}({len(self)})"


def _cat_dim(graph: Any, key: Key, value: Any) -> Any:
    """Along which dimension an attribute of a graph's row is joined."""
    kind, name = split_key(key)
    if not isinstance(value, Tensor) or not hasattr(graph, "stores"):
        return 0
    store = next((store for store in graph.stores if store._key == kind), None)
    if store is None or store.get(name) is not value:
        return 0
    return graph.__cat_dim__(name, value, store)
