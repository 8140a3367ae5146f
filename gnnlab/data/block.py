"""Batches straight from a dataset's block: one ragged gather an attribute instead of cutting and joining graph by
graph.

A batch made here equals, to the last bit, the one that `collate` makes of the single graphs. Where that can't be
promised, the block says so in `refused` (for all batches) or raises `BlockRefused` (for one), and the caller goes graph
by graph.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from gnnlab import sparse
from gnnlab.data.batch import batch_class, finish_batch
from gnnlab.data.collate import PRESENT, increments_by_rules, label_parts, new_graph, place, shift
from gnnlab.data.data import Data
from gnnlab.data.hetero_data import HeteroData
from gnnlab.data.rules import NODE_COUNT_KEYS
from gnnlab.data.storage import EdgeStorage, NodeStorage

Ids = NDArray[np.int64]


@dataclass(frozen=True)
class Sized:
    """Stands for the slices of parts that begin at equal distances and may be shorter than these.

    Args:
        sizes: `[num_graphs]`, of any integer dtype.
        step: the distance.
    """

    sizes: NDArray[Any]
    step: int


#: Where the parts of graphs begin and end: `[num_graphs + 1]`, a range where all are of one size, or `Sized`.
Slices = Ids | range | Sized


class BlockRefused(Exception):
    """A batch can't be gathered from the block; the message says why."""


class Block:
    """Graphs whose attributes lie in columns, ready for batches.

    Args:
        cls: class of the graphs.
        length: number of graphs.
        parts: makes the parts by storage; may raise `BlockRefused`.

    Attributes:
        refused: why no batch can be gathered, or `None`.
    """

    def __init__(self, cls: Any, length: int, parts: Callable[[], dict[Any, "Part"]]) -> None:
        self.cls = cls
        self.length = length
        self.refused = why_not(cls)
        self.parts: dict[Any, Part] = {}
        if self.refused is not None:
            return
        try:
            self.parts = parts()
        except BlockRefused as reason:
            self.refused = str(reason)

    @classmethod
    def of_joined(cls, data: Any, slices: Mapping[Any, Any], length: int) -> Self:
        """The block of a joined graph and its slices, for `length` graphs."""

        def part(store: Any) -> Part:
            own = slices if store._key is None else slices.get(store._key, {})
            present = {name: mask.numpy().copy() for name, mask in own.get(PRESENT, {}).items()}
            return Part(data, store, _columns(data, store, own, length), present)

        return cls(type(data), length, lambda: {store._key: part(store) for store in data.stores})

    def batch(self, index: Ids, follow_batch: Iterable[str] | None, exclude_keys: Iterable[str] | None) -> Any:
        """The graphs `index` (`[n]` int64, each within the block) as a batch.

        Raises:
            BlockRefused: if the graphs must be joined one by one.
        """
        pick = _Pick(index, self)
        followed, excluded = frozenset(follow_batch or ()), frozenset(exclude_keys or ())
        mappings: dict[Any, dict[str, Any]] = {}
        slice_dict: dict[Any, Any] = {}
        inc_dict: dict[Any, Any] = {}
        for key, part in self.parts.items():
            if key is not None and not part.any_present(index):
                continue
            mapping, slices, incs = part.gather(pick, followed, excluded)
            mappings[key] = mapping
            if key is None:
                slice_dict.update(slices)
                inc_dict.update(incs)
            else:
                slice_dict[key], inc_dict[key] = slices, incs
        return finish_batch(new_graph(batch_class(self.cls), mappings), len(index), slice_dict, inc_dict)


def why_not(cls: Any) -> str | None:
    """Why batches of graphs of class `cls` can't be gathered, whatever they hold; `None` if they can."""
    joins_as_ours = cls.__cat_dim__ in (Data.__cat_dim__, HeteroData.__cat_dim__)
    if joins_as_ours and increments_by_rules(cls):
        return None
    return f"{cls.__name__} defines __inc__, __cat_dim__ or num_nodes"


class _Pick:
    """The graphs wanted for one batch, and what their attributes have in common."""

    def __init__(self, index: Ids, block: Block) -> None:
        self.index = index
        self.block = block
        self._bounds: dict[int, tuple[Ids, Ids]] = {}
        self._nodes: dict[Any, Ids] = {}

    def bounds(self, slices: Slices) -> tuple[Ids, Ids]:
        """`[n]` where each graph's part begins in the block, and `[n + 1]` where it goes in the batch."""
        if id(slices) not in self._bounds:
            self._bounds[id(slices)] = self._find_bounds(slices)
        return self._bounds[id(slices)]

    def _find_bounds(self, slices: Slices) -> tuple[Ids, Ids]:
        from gnnlab.kernels.gather import part_bounds

        if isinstance(slices, range):
            return self.index * slices.step, np.arange(len(self.index) + 1, dtype=np.int64) * slices.step
        ends = np.zeros(len(self.index) + 1, np.int64)
        if isinstance(slices, Sized):
            np.cumsum(slices.sizes[self.index], out=ends[1:])
            return self.index * slices.step, ends
        starts = np.empty(len(self.index), np.int64)
        if part_bounds(slices, self.index, starts, ends) < 0:
            raise BlockRefused("the slices of some of the graphs do not lie within the block")
        return starts, ends

    def num_nodes(self, key: Any) -> Ids:
        """`[n]`. The number of nodes of type `key` in each graph; `None` stands for all types together."""
        if key not in self._nodes:
            parts = self.block.parts
            if key is None and self.block.cls is not None and issubclass(self.block.cls, HeteroData):
                counts = [self.num_nodes(other) for other in parts if isinstance(other, str)]
                self._nodes[key] = (
                    np.sum(counts, axis=0, dtype=np.int64) if counts else np.zeros(len(self.index), np.int64)
                )
            elif key not in parts:
                self._nodes[key] = np.zeros(len(self.index), np.int64)
            else:
                self._nodes[key] = np.diff(self.bounds(parts[key].node_slices())[1])
        return self._nodes[key]

    def holds(self, key: Any) -> NDArray[np.bool_]:
        """`[n]`. Whether each graph has type `key`."""
        if key not in self.block.parts:
            return np.zeros(len(self.index), np.bool_)
        held = self.block.parts[key].held
        return np.ones(len(self.index), np.bool_) if held is None else held[self.index]

    def offsets(self, key: Any, is_edge: bool) -> Tensor | None:
        """What node ids in storage `key` are shifted by: `[n]`, or `[n, 2, 1]` for an edge type; `None` if by
        nothing.
        """
        if is_edge:
            here = self.holds(key)
            if any((here & ~self.holds(end)).any() for end in (key[0], key[-1])):
                raise BlockRefused(f"some graphs have edges of type {key}, but no nodes for them")
            counts = np.stack([self.num_nodes(key[0]), self.num_nodes(key[-1])])
        else:
            counts = self.num_nodes(key)
        offsets = np.cumsum(counts, axis=-1) - counts
        if not offsets.any():
            return None
        return torch.from_numpy(np.ascontiguousarray(offsets.T)).unsqueeze(-1) if is_edge else torch.from_numpy(offsets)


class Part:
    """One storage of the block.

    Args:
        data: a graph whose rules hold.
        store: its storage, with all attributes.
        columns: the columns by name.
        present: by name, which graphs have an optional attribute.
    """

    def __init__(self, data: Any, store: Any, columns: dict[str, Any], present: dict[str, NDArray[np.bool_]]) -> None:
        self.key = store._key
        self.is_edge = _is_edge(store)
        self.is_node = isinstance(store, NodeStorage)
        self.columns, self.present = columns, present
        # A type is one that a graph may lack; what is the graph's own never is.
        always = self.key is None or any(name not in present for name in columns)
        self.held = None if always or not columns else np.logical_or.reduce([present[name] for name in columns])
        self._node_slices = self._find_node_slices(data, store) if self.is_node else None

    def _find_node_slices(self, data: Any, store: Any) -> Slices | None:
        """The slices of the attribute that the number of nodes is read from (as `NodeStorage.num_nodes` does)."""
        if not store.can_infer_num_nodes:
            return None
        tensors = [
            n
            for n, c in self.columns.items()
            if isinstance(c, Dense) and isinstance(data.__cat_dim__(n, c.value, store), int)
        ]
        by_name = [n for n in tensors if n in NODE_COUNT_KEYS] or [n for n in tensors if "node" in n]
        name = "num_nodes" if "num_nodes" in self.columns else by_name[0] if by_name else None
        if name is None:
            raise BlockRefused("the number of nodes of each graph is not stored: set num_nodes or x")
        if any(other in self.present and not self._as_held(other) for other in {name, *by_name}):
            raise BlockRefused(f"the number of nodes is read from '{name}', which only some graphs have")
        array = next(
            (n for n, c in self.columns.items() if (n in NODE_COUNT_KEYS or "node" in n) and _has_array(c)), None
        )
        if array is not None and name != "num_nodes":
            raise BlockRefused(f"the number of nodes may be read from '{array}', which holds NumPy arrays")
        return self.columns[name].slices

    def _as_held(self, name: str) -> bool:
        return self.held is not None and bool((self.present[name] == self.held).all())

    def node_slices(self) -> Slices:
        if self._node_slices is None:
            raise BlockRefused("the number of nodes of each graph can't be told")
        return self._node_slices

    def any_present(self, index: Ids) -> bool:
        return self.held is None or bool(self.held[index].any())

    def gather(self, pick: _Pick, followed: frozenset[str], excluded: frozenset[str]) -> Any:
        mapping: dict[str, Any] = {}
        slices: dict[str, Any] = {}
        incs: dict[str, Any] = {}
        present: dict[str, Tensor] = {}
        for name, column in self.columns.items():
            if name in excluded or name == "ptr":
                continue
            if name in self.present:
                here = self.present[name][pick.index]
                if not here.any():
                    continue
                if not here.all():
                    if self.held is None or (here != self.held[pick.index]).any():
                        raise BlockRefused(f"{place(self.key, name)} is missing in some of the graphs")
                    present[name] = torch.from_numpy(here)
            mapping[name], slices[name], incs[name] = column.gather(pick)
            if name in followed:
                label_parts(mapping, f"{name}_batch", f"{name}_ptr", slices[name])
        if present:
            slices[PRESENT] = present
        if self.is_node and self._node_slices is not None:
            label_parts(mapping, "batch", "ptr", torch.from_numpy(pick.bounds(self._node_slices)[1]))
        return mapping, slices, incs


def _columns(data: Any, store: Any, slices: Mapping[str, Any], length: int) -> dict[str, Any]:
    shared: list[Tensor] = []
    names = [name for name in store if name in slices]
    columns = {name: _column(data, store, name, store[name], slices[name], shared) for name in names}
    if any(known.size(0) != length + 1 or bool((known.diff() < 0).any()) for known in shared):
        raise BlockRefused(f"the slices do not cut the block into {length} graphs")
    return columns


def _is_edge(store: Any) -> bool:
    return isinstance(store, EdgeStorage) and not isinstance(store, NodeStorage)


def _column(data: Any, store: Any, name: str, value: Any, slices: Any, shared: list[Tensor]) -> Any:
    if isinstance(value, Mapping):
        return _Dict({key: _column(data, store, str(key), value[key], slices[key], shared) for key in value})
    if isinstance(slices, list):
        return _Row(
            type(value),
            [_column(data, store, name, item, ends, shared) for item, ends in zip(value, slices, strict=True)],
        )
    if sparse.is_sparse(value):
        raise BlockRefused(f"{place(store._key, name)} is sparse")
    known = next((other for other in shared if other is slices or torch.equal(other, slices)), None)
    if known is None:
        known = slices.clone()  # torch moves the memory of a tensor that it sends to another process
        shared.append(known)
    if isinstance(value, int):  # num_nodes
        return Count(known.numpy())
    rule = data._rule(name, value, store)
    size = _size(value, rule.cat_dim or 0) if isinstance(value, Tensor) else len(value)
    if int(known[0]) < 0 or int(known[-1]) > size:
        raise BlockRefused(f"{place(store._key, name)} does not fit its slices")
    if not isinstance(value, Tensor):
        return Values(value, known.numpy())
    return Dense(data, store, name, value, known.numpy())


class Dense:
    """A tensor attribute.

    Args:
        data, store, name: the graph, storage and name by whose rule it is joined.
        value: the joined tensor.
        slices: its slices.
        numbers: whether single graphs hold Python numbers, which become tensors of the default dtype if they are
            floats.
        fixed: whether the tensor's memory stays where it is.

    Raises:
        BlockRefused: if its rule can't be followed here.
    """

    def __init__(
        self,
        data: Any,
        store: Any,
        name: str,
        value: Tensor,
        slices: Slices,
        *,
        numbers: bool = False,
        fixed: bool = False,
    ) -> None:
        rule = data._rule(name, value, store)
        self.key, self.is_edge, self.where = store._key, _is_edge(store), place(store._key, name)
        if rule.inc == "max":
            raise BlockRefused(f"{self.where} is shifted by its largest value")
        dim = (0 if numbers else rule.cat_dim or 0) % value.dim()
        self.value, self.slices, self.dim, self.shifted = value, slices, dim, rule.inc is not None
        before, after = value.shape[:dim], value.shape[dim + 1 :]
        self.before, self.after = list(before), list(after)
        self.rows, self.step = before.numel(), after.numel()
        self.fast_shift = value.dtype == torch.int64 and self.step == 1 and (not self.is_edge or before == (2,))
        self.as_default = numbers and value.is_floating_point()
        # Whether its memory has the parts' dimension first: on disk, where tensors grow along it.
        self.turned = dim > 0 and not value.is_contiguous() and value.movedim(dim, 0).is_contiguous()
        self._fixed_words = self._find_words() if fixed else None

    def gather(self, pick: _Pick) -> tuple[Tensor, Tensor, Tensor | None]:
        starts, ends = pick.bounds(self.slices)
        slices = torch.from_numpy(ends)
        if not isinstance(self.slices, Sized) and _size(self.value, self.dim) < self.slices[-1]:
            raise BlockRefused(f"{self.where} does not fit its slices any more")
        words = self._find_words() if self._fixed_words is None else self._fixed_words
        out = self._gather(words, starts, ends)
        incs = pick.offsets(self.key, self.is_edge) if self.shifted else None
        if incs is not None and self.fast_shift and words is not None:
            self._shift_in_place(out, ends, incs)
        elif incs is not None:
            out = shift(out, slices, incs, self.dim, self.where)
        return out, slices, incs

    def _find_words(self) -> Any:
        """`[rows, size, words]`, or if they are turned `[size, rows, words]`: the memory as it lies now."""
        if self.turned:
            return _as_words(self.value.movedim(self.dim, 0), self.value.size(self.dim), self.step, self.rows)
        return _as_words(self.value, self.rows, self.step)

    def _gather(self, words: Any, starts: Ids, ends: Ids) -> Tensor:
        from gnnlab.kernels.gather import gather_parts, gather_turned

        if words is None:
            sizes = torch.from_numpy(np.diff(ends))
            first = torch.from_numpy(starts - ends[:-1]).repeat_interleave(sizes)
            ids = first + torch.arange(int(ends[-1]))
            return self.value.index_select(self.dim, ids.to(self.value.device))
        out = torch.empty([*self.before, int(ends[-1]), *self.after], dtype=self.value.dtype)
        if out.numel():
            flat = out.view(-1).view(torch.uint8).numpy().view(words.dtype)
            gather = gather_turned if self.turned else gather_parts
            gather(words, starts, ends, flat.reshape(self.rows, -1, words.shape[2]))
        return out.to(torch.get_default_dtype()) if self.as_default else out

    def _shift_in_place(self, out: Tensor, ends: Ids, incs: Tensor) -> None:
        from gnnlab.kernels.gather import shift_parts

        steps = incs.squeeze(-1).T if self.is_edge else incs.expand(self.rows, -1)
        shift_parts(out.view(self.rows, -1).numpy(), ends, steps.numpy())


def _size(value: Tensor, dim: int) -> int:
    return value.size(dim) if value.dim() > 0 else 0


def _as_words(value: Tensor, rows: int, step: int, second: int = -1) -> Any:
    """`[rows, second, words]`: the tensor's memory, as it lies now, in the widest integers that divide a step; `None`
    where it isn't plain memory.
    """
    if value.device.type != "cpu" or value.requires_grad or not value.is_contiguous() or value.numel() == 0:
        return None
    if value.is_conj() or value.is_neg():
        return None
    width = step * value.element_size()
    size = next(size for size in (8, 4, 2, 1) if width % size == 0 and value.data_ptr() % size == 0)
    flat = value.view(-1).view(torch.uint8).numpy().view(f"i{size}")
    return flat.reshape(rows, second, width // size)


class Count:
    """`num_nodes` itself."""

    def __init__(self, slices: Slices) -> None:
        self.slices = slices

    def gather(self, pick: _Pick) -> tuple[int, Tensor, None]:
        ends = pick.bounds(self.slices)[1]
        return int(ends[-1]), torch.from_numpy(ends), None


class Values:
    """A list with one plain value a graph."""

    def __init__(self, values: Sequence[Any], slices: Slices) -> None:
        self.values, self.slices = values, slices

    def gather(self, pick: _Pick) -> tuple[list[Any], Tensor, None]:
        starts, ends = pick.bounds(self.slices)
        chosen = [self.values[at] for at, begin, end in zip(starts, ends, ends[1:], strict=False) if end > begin]
        return chosen, torch.from_numpy(ends), None


def _has_array(column: Any) -> bool:
    return isinstance(column, Values) and any(isinstance(value, np.ndarray) for value in column.values)


class _Dict:
    """A dict of attributes."""

    def __init__(self, columns: dict[Any, Any]) -> None:
        self.columns = columns

    def gather(self, pick: _Pick) -> tuple[Any, Any, Any]:
        parts = {key: column.gather(pick) for key, column in self.columns.items()}
        return tuple({key: part[i] for key, part in parts.items()} for i in range(3))  # type: ignore[return-value]


class _Row:
    """A list or tuple of tensors."""

    def __init__(self, kind: type, columns: list[Any]) -> None:
        self.kind, self.columns = kind, columns

    def gather(self, pick: _Pick) -> tuple[Any, Any, Any]:
        parts = [column.gather(pick) for column in self.columns]
        return self.kind(part[0] for part in parts), [part[1] for part in parts], [part[2] for part in parts]
