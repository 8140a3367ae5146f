"""Taking joined graphs apart again: the mirror of `gnnlab.data.collate`.

A `Separator` looks at the joined graph once and leaves one small reader for each attribute, so that taking out a graph
costs one `narrow` an attribute. Tensors come out as views of the joined ones.
"""

from collections.abc import Callable, Mapping
from typing import Any

from torch import Tensor

from gnnlab import sparse
from gnnlab.data.collate import PRESENT, new_graph, shift
from gnnlab.data.hetero_data import HeteroData

Reader = Callable[[int], Any]


def separate(
    cls: type,
    batch: Any,
    idx: int,
    slice_dict: Mapping[Any, Any],
    inc_dict: Mapping[Any, Any] | None = None,
    decrement: bool = True,
) -> Any:
    """Graph `idx` of a joined graph, as class `cls` (`torch_geometric.data.separate.separate`).

    Args:
        cls: class of the result.
        batch: the joined graph.
        idx: position of the graph wanted, from 0.
        slice_dict: slices as `collate` returns them.
        inc_dict: what was added to each graph's values, as `collate` returns it.
        decrement: subtract it again.

    Raises:
        IndexError: if there is no graph `idx`.
    """
    return Separator(cls, batch, slice_dict, inc_dict if decrement else None).get(idx)


class Separator:
    """Reads single graphs out of a joined one, many times.

    Args:
        cls: class of the graphs that come out.
        joined: the joined graph.
        slice_dict: slices as `collate` returns them.
        inc_dict: what was added to each graph's values, to be subtracted; `None` for nothing.
    """

    def __init__(
        self,
        cls: type,
        joined: Any,
        slice_dict: Mapping[Any, Any],
        inc_dict: Mapping[Any, Any] | None = None,
    ):
        self.cls = cls
        if isinstance(joined, HeteroData):
            stores = {store._key: store for store in joined.stores}
            parts = {key: slice_dict if key is None else slice_dict.get(key, {}) for key in stores}
            incs = {key: None if inc_dict is None else inc_dict if key is None else inc_dict.get(key) for key in stores}
        else:
            stores, parts, incs = {None: joined.stores[0]}, {None: slice_dict}, {None: inc_dict}
        self.readers = {key: _store_readers(joined, stores[key], parts[key], incs[key]) for key in stores}
        whole = all(present is None for readers in self.readers.values() for _, _, present in readers)
        flat = whole and not isinstance(joined, HeteroData)
        self._flat = [(name, read) for name, read, _ in self.readers[None]] if flat else None

    def get(self, idx: int) -> Any:
        """Graph `idx`."""
        return self.build(self.read(idx))

    def read(self, idx: int) -> dict[Any, Any]:
        """The attributes of graph `idx`, for `build`: of all its storages, by storage, or just of its only one."""
        if self._flat is not None:
            return {name: read(idx) for name, read in self._flat}
        mappings: dict[Any, dict[str, Any]] = {}
        for key, readers in self.readers.items():
            mapping = {name: read(idx) for name, read, present in readers if present is None or present[idx]}
            if mapping or key is None or not readers:
                mappings[key] = mapping
        return mappings

    def build(self, attributes: dict[Any, Any]) -> Any:
        """A graph around what `read` gave."""
        if self._flat is not None:
            return self.cls._from_mapping(attributes)  # type: ignore[attr-defined]
        return new_graph(self.cls, attributes)

    def build_copy(self, attributes: dict[Any, Any]) -> Any:
        """A graph around a copy of what `read` gave."""
        if self._flat is not None:
            return self.cls._from_mapping(attributes.copy())  # type: ignore[attr-defined]
        return new_graph(self.cls, {key: mapping.copy() for key, mapping in attributes.items()})


def _store_readers(
    joined: Any, store: Any, slice_dict: Mapping[str, Any], inc_dict: Mapping[str, Any] | None
) -> list[tuple[str, Reader, Any]]:
    """Name, reader and presence (`None` where every graph has it) of every attribute of a storage that has slices."""
    present = slice_dict.get(PRESENT, {})
    readers = []
    for name, value in store._mapping.items():
        if name in slice_dict:
            incs = None if inc_dict is None else inc_dict.get(name)
            mask = _bounds(present[name]) if name in present else None
            readers.append((name, reader(joined, store, name, value, slice_dict[name], incs), mask))
    return readers


def reader(joined: Any, store: Any, name: str, value: Any, slices: Any, incs: Any) -> Reader:
    """A function from a graph's position to its part of `value`, the joined attribute `name`."""
    if isinstance(slices, Mapping):
        parts = {
            key: reader(
                joined,
                store,
                str(key),
                value[key],
                slices[key],
                None if incs is None else incs[key],
            )
            for key in slices
        }
        return lambda i: {key: read(i) for key, read in parts.items()}
    if isinstance(slices, list):
        items = [
            reader(joined, store, name, value[at], slices[at], None if incs is None else incs[at])
            for at in range(len(slices))
        ]
        kind = tuple if isinstance(value, tuple) else list
        return lambda i: kind(read(i) for read in items)
    bounds = _bounds(slices)
    if sparse.is_sparse(value):
        return _sparse_reader(value, joined.__cat_dim__(name, value, store), slices)
    if isinstance(value, Tensor):
        dim = joined.__cat_dim__(name, value, store)
        return _tensor_reader(name, value, dim, slices, incs)
    if isinstance(value, int):  # num_nodes
        return lambda i: bounds[i + 1] - bounds[i]
    return lambda i: value[bounds[i]]


def _bounds(slices: Tensor) -> Any:
    """Slices, or a mask, to read single entries from, fast; a copy, since torch moves the memory of a tensor that it
    sends to another process.
    """
    return memoryview(slices.numpy().copy())  # type: ignore[arg-type]


def _tensor_reader(name: str, value: Tensor, dim: int | None, slices: Tensor, incs: Tensor | None) -> Reader:
    bounds = _bounds(slices)
    narrow = value.narrow
    axis = dim or 0

    def read(i: int) -> Tensor:
        begin = bounds[i]
        return narrow(axis, begin, bounds[i + 1] - begin)

    if dim is None:
        return lambda i: read(i).squeeze(0)
    if incs is None:
        return read

    def read_unshifted(i: int) -> Tensor:
        part = read(i)
        return shift(
            part,
            slices.new_tensor([0, part.size(axis)]),
            incs[i : i + 1],
            axis,
            f"attribute '{name}'",
            sign=-1,
        )

    return read_unshifted


def _sparse_reader(value: Any, dim: Any, slices: Tensor) -> Reader:
    if isinstance(dim, tuple):
        return lambda i: sparse.narrow(
            value, dim, tuple(slices[i].tolist()), tuple((slices[i + 1] - slices[i]).tolist())
        )
    axis = dim or 0
    return lambda i: sparse.narrow(value, axis, int(slices[i]), int(slices[i + 1] - slices[i]))
