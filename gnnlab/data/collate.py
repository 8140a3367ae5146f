"""Joining many graphs into one: of a dataset's graphs into its block, of a mini-batch's graphs into a batch.

`collate` works through a list, `collate_stream` through any iterable while holding no more than the growing result and
the graphs of about one MiB. `gnnlab.data.separate` is the way back.

What comes out is a graph whose attributes hold those of all graphs one after another, and for every attribute its
*slices*: `[num_graphs + 1]` int64, where the part of graph `i` begins (`slices[i]`) and ends (`slices[i + 1]`). Slices
are nested as attributes are: a dict for a dict, a list for a list of tensors, and in a heterogeneous graph a dict for
each type. An attribute that only some graphs have is optional: under the key `PRESENT`, next to the slices, stands
`{attribute: [num_graphs] bool}`.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from operator import itemgetter
from typing import Any

import numpy as np
import torch
from torch import Tensor

from gnnlab import sparse
from gnnlab.data.data import BaseData, Data
from gnnlab.data.hetero_data import HeteroData
from gnnlab.data.pieces import join, portions
from gnnlab.data.storage import BaseStorage, EdgeStorage, NodeStorage

#: The key, among the slices of a storage, under which it is kept which graphs have the optional attributes.
PRESENT = "__present__"

#: A name that batching writes itself.
_POINTER = "ptr"


def collate(
    cls: type,
    data_list: Sequence[Any],
    increment: bool = True,
    add_batch: bool = True,
    follow_batch: Iterable[str] | None = None,
    exclude_keys: Iterable[str] | None = None,
) -> tuple[Any, dict[Any, Any], dict[Any, Any]]:
    """Join graphs into one graph of class `cls` (`torch_geometric.data.collate.collate`).

    Args:
        cls: class of the result.
        data_list: the graphs, all of one kind.
        increment: shift node ids past the nodes of the graphs before.
        add_batch: add `batch` (the graph of every node) and `ptr` (the first node of every graph), and refuse
            attributes that only some graphs have; without it such attributes are kept as optional.
        follow_batch: attributes `key` for which `key_batch` and `key_ptr` are added likewise.
        exclude_keys: attributes to leave out.

    Returns:
        The joined graph, its slices (see above) and, nested alike, what was added to each graph's values (`None` for
        nothing).

    Raises:
        ValueError: if there is no graph, or an attribute does not fit together; it names the attribute and the graph.
        TypeError: if graphs, or an attribute's values, are of different kinds.
    """
    graphs = data_list if isinstance(data_list, list) else list(data_list)
    _check_kinds(graphs)
    excluded, followed = frozenset(exclude_keys or ()), frozenset(follow_batch or ())
    mappings: dict[Any, dict[str, Any]] = {}
    slice_dict: dict[Any, Any] = {}
    inc_dict: dict[Any, Any] = {}
    for key, stores in _groups(graphs).items():
        joiner = _StoreJoiner(key, stores, graphs, increment, add_batch, followed, excluded)
        mappings[key] = joiner.mapping
        if key is None:
            slice_dict.update(joiner.slices)
            inc_dict.update(joiner.incs)
        else:
            slice_dict[key], inc_dict[key] = joiner.slices, joiner.incs
    return new_graph(cls, mappings), slice_dict, inc_dict


def new_graph(cls: Any, mappings: dict[Any, dict[str, Any]]) -> Any:
    """A graph of class `cls` around dictionaries keyed by `None` (the graph's own), node type or edge type."""
    return cls._from_stores(mappings) if issubclass(cls, HeteroData) else cls._from_mapping(mappings[None])


def _check_kinds(graphs: list[Any]) -> None:
    if not graphs:
        raise ValueError("data_list must hold at least one graph, found none")
    if not isinstance(graphs[0], BaseData):
        raise TypeError(f"data_list must hold graphs, found {type(graphs[0]).__name__} as the first")
    kinds = set(map(type, graphs))
    if len(kinds) > 1:
        at = next(i for i, graph in enumerate(graphs) if type(graph) is not type(graphs[0]))
        raise TypeError(
            f"data_list must hold graphs of one class: graph 0 is a {type(graphs[0]).__name__}, "
            f"graph {at} a {type(graphs[at]).__name__}"
        )


def _groups(graphs: list[Any]) -> dict[Any, list[Any]]:
    """By storage key, the storage of every graph, `None` where a graph lacks the type."""
    first = graphs[0]
    if not isinstance(first, HeteroData):
        return {None: [graph._store for graph in graphs]}
    groups: dict[Any, list[Any]] = {None: [graph._global_store for graph in graphs]}
    for name in ("_node_store_dict", "_edge_store_dict"):
        dicts = [getattr(graph, name) for graph in graphs]
        for key in dict.fromkeys(key for types in dicts for key in types):
            groups[key] = [types.get(key) for types in dicts]
    return groups


def place(key: Any, name: str) -> str:
    """How an error message names attribute `name` of the storage `key`."""
    return f"attribute '{name}'" if key is None else f"attribute '{name}' of type {key!r}"


def increments_by_rules(cls: Any) -> bool:
    """Whether graphs of class `cls` are shifted by `gnnlab.data.rules` alone: they override neither `__inc__` nor
    `num_nodes`.
    """
    return cls.__inc__ in (Data.__inc__, HeteroData.__inc__) and cls.num_nodes in (Data.num_nodes, HeteroData.num_nodes)


def blank_storage(key: Any) -> BaseStorage:
    """Stands for the storage of type `key` in a graph that lacks the type."""
    blank: BaseStorage = EdgeStorage() if isinstance(key, tuple) else NodeStorage()
    blank.__dict__["_key"] = key
    return blank


class _StoreJoiner:
    """Joins the storages of one type; the result is in `mapping`, `slices` and `incs`."""

    def __init__(
        self,
        key: Any,
        stores: list[BaseStorage | None],
        graphs: list[Any],
        increment: bool,
        add_batch: bool,
        followed: frozenset[str],
        excluded: frozenset[str],
    ) -> None:
        self.key = key
        self.stores = stores
        self.graphs = graphs
        self.increment = increment
        self.by_rules = increments_by_rules(type(graphs[0]))
        self.mapping: dict[str, Any] = {}
        self.slices: dict[str, Any] = {}
        self.incs: dict[str, Any] = {}
        self._counts: list[Any] | None = None
        present: dict[str, Tensor] = {}

        skipped = excluded | {_POINTER} if add_batch else excluded
        for name, (values, at) in _columns(stores).items():
            if name in skipped:
                continue
            if at is not None and add_batch:
                self._refuse_optional(name, at)
            self._join(name, values, at)
            if at is not None:
                mask = torch.zeros(len(stores), dtype=torch.bool)
                mask[at] = True
                present[name] = mask
            if name in followed:
                label_parts(self.mapping, f"{name}_batch", f"{name}_ptr", self.slices[name])
        if present:
            self.slices[PRESENT] = present
        first = next(store for store in stores if store is not None)
        if add_batch and isinstance(first, NodeStorage) and first.can_infer_num_nodes:
            counts = self._num_nodes()
            if None not in counts:
                label_parts(self.mapping, "batch", _POINTER, cumulative(counts))

    def _refuse_optional(self, name: str, at: list[int]) -> None:
        for i, store in enumerate(self.stores):
            if store is not None and name not in store:
                raise ValueError(
                    f"{place(self.key, name)} is missing in graph {i} but set in graph {at[0]}: "
                    f"set it in all graphs of a batch, or leave it out with exclude_keys=['{name}']"
                )

    def _join(self, name: str, values: list[Any], at: list[int] | None) -> None:
        if name == "num_nodes":
            counts = [int(value) for value in values]
            joined = sum(counts), self._slices(counts, at), None
        else:
            joined = self._join_values(name, values, at)
        self.mapping[name], self.slices[name], self.incs[name] = joined

    def _slices(self, counts: list[int], at: list[int] | None) -> Tensor:
        """Slices over all graphs for parts of these sizes, which graphs `at` have (`None`: all); the others' are
        empty.
        """
        if at is None:
            return cumulative(counts)
        spread = [0] * len(self.stores)
        for i, count in zip(at, counts, strict=True):
            spread[i] = count
        return cumulative(spread)

    def _join_values(self, name: str, values: list[Any], at: list[int] | None) -> tuple[Any, Any, Any]:
        """Join the values of one attribute (or of one entry of a nested one) by the kind they are of.

        They are those of graphs `at` (`None`: of all). Slices and increments speak of all graphs.
        """
        first = values[0]
        kinds = set(map(type, values))
        if isinstance(first, Tensor) or sparse.is_sparse(first):
            here = 0 if at is None else at[0]
            dim = self.graphs[here].__cat_dim__(name, first, self.stores[here])
            if sparse.is_sparse(first):
                self._check_alike(name, values, at)
                return self._join_sparse(name, values, dim, at)
            value, slices = self._join_dense(name, values, dim, at)
            incs = self._increments(name, values, at)
            if incs is not None:
                value = shift(value, slices, incs, dim or 0, place(self.key, name))
            return value, slices, incs
        if kinds <= {int, float, bool}:
            value, slices = (
                _numbers(values, place(self.key, name)),
                self._slices([1] * len(values), at),
            )
            incs = self._increments(name, values, at)
            return (
                value if incs is None else shift(value, slices, incs, 0, place(self.key, name)),
                slices,
                incs,
            )
        if all(isinstance(value, Mapping) for value in values) and all(
            value.keys() == first.keys() for value in values
        ):
            parts = {key: self._join_values(str(key), [value[key] for value in values], at) for key in first}
            return tuple({key: part[i] for key, part in parts.items()} for i in range(3))  # type: ignore[return-value]
        if _are_rows_of_tensors(values):
            rows = [self._join_values(name, list(row), at) for row in zip(*values, strict=True)]
            kind = type(first)
            return (
                kind(part[0] for part in rows),
                [part[1] for part in rows],
                [part[2] for part in rows],
            )
        if any(isinstance(value, Tensor) or sparse.is_sparse(value) for value in values):
            self._check_alike(name, values, at)
        return values, self._slices([1] * len(values), at), None

    def _join_sparse(self, name: str, values: list[Any], dim: Any, at: list[int] | None) -> tuple[Any, Tensor, None]:
        dims = dim if isinstance(dim, tuple) else (dim or 0,)
        bounds = [self._slices([sparse.sizes(value)[axis] for value in values], at) for axis in dims]
        try:
            joined = sparse.cat(values, dim if isinstance(dim, tuple) else dims[0])
        except ValueError as error:
            raise ValueError(f"{place(self.key, name)} can't be joined: {error}") from error
        return joined, torch.stack(bounds, dim=1) if isinstance(dim, tuple) else bounds[0], None

    def _check_alike(self, name: str, values: list[Any], at: list[int] | None) -> None:
        """Values that are joined as tensors must all be tensors of one dtype and layout."""
        signs = [sign(value) for value in values]
        other = next((i for i, sign in enumerate(signs) if sign != signs[0]), None)
        if other is not None:
            here, there = (0, other) if at is None else (at[0], at[other])
            raise TypeError(
                f"{place(self.key, name)} must be of one kind in all graphs: "
                f"it is {signs[0]} in graph {here} but {signs[other]} in graph {there}"
            )

    def _join_dense(
        self, name: str, values: list[Tensor], dim: int | None, at: list[int] | None
    ) -> tuple[Tensor, Tensor]:
        if isinstance(dim, tuple):
            raise ValueError(f"{place(self.key, name)} is dense and can't be joined along the dimensions {dim}")
        try:
            if dim is None or values[0].dim() == 0:
                values = [value.unsqueeze(0) if dim is None or value.dim() == 0 else value for value in values]
                dim = dim or 0
            joined, counts = join(values, dim)
            return joined, self._slices(counts, at)
        except (RuntimeError, IndexError, TypeError, ValueError, AttributeError):
            self._check_alike(name, values, at)
            rests = [(value.dim(), _rest(value, dim or 0)) for value in values]
            other = next((i for i, rest in enumerate(rests) if rest != rests[0]), None)
            if other is None:
                raise
            here, there = (0, other) if at is None else (at[0], at[other])
            raise ValueError(
                f"{place(self.key, name)} must have the same shape in all graphs but for dimension {dim}: it is "
                f"{list(values[0].shape)} in graph {here} but {list(values[other].shape)} in graph {there}"
            ) from None

    # Shifts ----------------------------------------------------------------------------------------------------------

    def _increments(self, name: str, values: list[Any], at: list[int] | None) -> Tensor | None:
        """What is added to the values of every graph, `[num_graphs, *]`, or `None` where nothing is.

        Graphs without the attribute move those after them all the same, by their nodes.
        """
        if not self.increment:
            return None
        here = 0 if at is None else at[0]
        if self.by_rules:
            rule = self.graphs[here]._rule(name, values[0], self.stores[here])
            if rule.inc is None:
                return None
            if rule.inc == "num_nodes":
                counts = self._num_nodes()
                unknown = next((i for i, count in enumerate(counts) if count is None), None)
                if unknown is not None:
                    raise ValueError(
                        f"can't tell by how much to shift {place(self.key, name)}, since the number of nodes of graph "
                        f"{unknown} is unknown: set 'num_nodes'"
                    )
                return offsets_of(counts)
        spread: Sequence[Any] = values
        if at is not None:
            nothing = values[0][:0] if isinstance(values[0], Tensor) and values[0].dim() else 0
            spread = [nothing] * len(self.stores)
            for i, value in zip(at, values, strict=True):
                spread[i] = value
        stores = [blank_storage(self.key) if store is None else store for store in self.stores]
        steps = [graph.__inc__(name, v, store) for graph, v, store in zip(self.graphs, spread, stores, strict=True)]
        return offsets_of(steps)

    def _num_nodes(self) -> list[Any]:
        """By graph, the number of nodes: of this node type, or `[2, 1]` of both ends of this edge type."""
        if self._counts is None:
            if isinstance(self.key, tuple):
                stores = [blank_storage(self.key) if store is None else store for store in self.stores]
                self._counts = [g._num_nodes_around(s) for g, s in zip(self.graphs, stores, strict=True)]
            elif self.key is None and isinstance(self.graphs[0], HeteroData):
                self._counts = [graph.num_nodes for graph in self.graphs]
            else:
                self._counts = [0 if store is None else store.num_nodes for store in self.stores]
        return self._counts


# Small pieces --------------------------------------------------------------------------------------------------------


def cumulative(counts: Sequence[int]) -> Tensor:
    """`[n + 1]` int64. Running sums of `counts`, from 0."""
    out = np.zeros(len(counts) + 1, dtype=np.int64)
    np.cumsum(counts, out=out[1:])
    return torch.from_numpy(out)


def owners(slices: Tensor) -> Tensor:
    """`[slices[-1]]` int64. For every entry, the graph it belongs to."""
    return spread(torch.arange(slices.numel() - 1), slices)


def spread(rows: Tensor, slices: Tensor) -> Tensor:
    """`[slices[-1], *]`. For every entry, the row of the graph it belongs to.

    NumPy repeats in one thread; torch's threads wait for each other, for milliseconds where the cores are busy.
    """
    return torch.from_numpy(np.repeat(rows.cpu().numpy(), np.diff(slices.numpy()), axis=0))


def label_parts(mapping: dict[str, Any], batch: str, pointer: str, slices: Any) -> None:
    """Write the owners of the parts that `slices` bound as `batch`, and the bounds as `pointer`, into `mapping`."""
    device = next((value.device for value in mapping.values() if isinstance(value, Tensor)), None)
    mapping[batch] = _nested(slices, lambda x: owners(x).to(device))
    mapping[pointer] = _nested(slices, lambda x: x.to(device, copy=True))


def offsets_of(steps: Sequence[Any]) -> Tensor | None:
    """`[n, *]`. For every graph, the sum of the steps of the graphs before it; `None` if all are zero."""
    if any(isinstance(step, Tensor) for step in steps):
        stacked = torch.stack([torch.as_tensor(step) for step in steps])
    else:
        stacked = torch.tensor([0 if step is None else step for step in steps])
    offsets = stacked.cumsum(0) - stacked
    return offsets if bool(offsets.any()) else None


def shift(value: Tensor, slices: Tensor, incs: Tensor, dim: int, what: str, sign: int = 1) -> Tensor:
    """`value` with `incs[i]` added to the part of graph `i`, which lies at `slices[i]:slices[i + 1]` along `dim`.

    Raises:
        OverflowError: if the sum does not fit the dtype of `value`; `what` names it.
        ValueError: if the parts have not the shape that is added to them.
    """
    if value.dtype == torch.bool:
        return value
    try:
        added = _spread_over(value, slices, incs, dim % value.dim()).expand_as(value)
    except RuntimeError as error:
        raise ValueError(
            f"{what} has the shape {list(value.shape)}, to which ids of the shape {list(incs.shape[1:])} a graph can't "
            "be added: rename it or declare its rule (gnnlab.data.rules) if it holds no ids of nodes"
        ) from error
    if (
        value.dtype != torch.int64
        and not value.dtype.is_floating_point
        and not value.dtype.is_complex
        and value.numel()
    ):
        wide = value.long() + sign * added
        limits = torch.iinfo(value.dtype)
        if int(wide.max()) > limits.max or int(wide.min()) < limits.min:
            raise OverflowError(
                f"{what} is of dtype {value.dtype}, which can't hold the shifted id {int(wide.max())}: use torch.int64"
            )
        return wide.to(value.dtype)
    return value + (sign * added).to(value.dtype)


def _spread_over(value: Tensor, slices: Tensor, incs: Tensor, dim: int) -> Tensor:
    """What is added to each entry of `value`, in a shape that can be expanded to its."""
    if incs.dim() > 1 and (incs.dim() - 1 != value.dim() or incs.size(dim + 1) != 1):
        return torch.cat(
            [
                incs[i].to(value.device).expand(value.narrow(dim, begin, end - begin).shape)
                for i, (begin, end) in enumerate(_bounds(slices))
            ],
            dim=dim,
        )
    rows = incs.select(dim + 1, 0) if incs.dim() > 1 else incs
    added = spread(rows, slices).to(value.device).movedim(0, -1 if incs.dim() == 1 else dim)
    return added.view([-1 if axis == dim else 1 for axis in range(value.dim())]) if incs.dim() == 1 else added


def _bounds(slices: Tensor) -> Iterator[tuple[int, int]]:
    return pairwise(slices.tolist())


def _numbers(values: list[Any], what: str) -> Tensor:
    """`[n]`. Python numbers as a tensor: bool, int64, or the default floating-point dtype."""
    try:
        return torch.tensor(values)
    except (RuntimeError, ValueError, OverflowError) as error:
        raise OverflowError(f"{what} holds a number that no tensor can: {error}") from error


def _columns(stores: list[BaseStorage | None]) -> dict[str, tuple[list[Any], list[int] | None]]:
    """By attribute name: its values, and the positions of the graphs that have it (`None`: all have it)."""
    mappings: list[Any] = [None if store is None else store._mapping for store in stores]
    keys = {} if mappings[0] is None else mappings[0].keys()
    columns: dict[str, list[Any]] = {name: [] for name in keys}
    for portion in portions(mappings):
        if any(mapping is None or mapping.keys() != keys for mapping in portion):
            return _ragged_columns(mappings)
        for name, values in columns.items():
            values.extend(map(itemgetter(name), portion))
    return {name: (values, None) for name, values in columns.items()}


def _ragged_columns(mappings: list[Any]) -> dict[str, tuple[list[Any], list[int] | None]]:
    columns: dict[str, tuple[list[Any], list[int] | None]] = {}
    for name in dict.fromkeys(name for mapping in mappings if mapping is not None for name in mapping):
        at = [i for i, mapping in enumerate(mappings) if mapping is not None and name in mapping]
        values = [mappings[i][name] for i in at]
        columns[name] = values, None if len(at) == len(mappings) else at
    return columns


def _are_rows_of_tensors(values: list[Any]) -> bool:
    """Whether every value is a list or tuple that begins with a tensor, of one length, alike at each place."""
    if not all(isinstance(value, (list, tuple)) and len(value) == len(values[0]) > 0 for value in values):
        return False
    if any(type(value) is not type(values[0]) or hasattr(value, "_fields") for value in values):
        return False
    if not (isinstance(values[0][0], Tensor) or sparse.is_sparse(values[0][0])):
        return False
    return all(len({sign(item) for item in row}) == 1 for row in zip(*values, strict=True))


def sign(value: Any) -> str:
    """What values must have in common to be joined, in words."""
    if isinstance(value, Tensor):
        layout = "" if value.layout == torch.strided else f" ({str(value.layout).removeprefix('torch.')})"
        device = "" if value.device.type == "cpu" else f" on {value.device}"
        return f"a tensor of {str(value.dtype).removeprefix('torch.')}{layout}{device}"
    if sparse.is_sparse(value):
        return f"a {type(value).__module__.split('.')[0]} {type(value).__name__} of {value.dtype()}"
    return f"a {type(value).__name__}"


def _rest(value: Tensor, dim: int) -> list[int]:
    """The shape of `value` but for `dim`."""
    shape = list(value.shape) or [1]
    del shape[min(dim, len(shape) - 1)]
    return shape


def _nested(value: Any, func: Callable[[Tensor], Any]) -> Any:
    """`func` of every tensor in slices or increments."""
    if isinstance(value, Mapping):
        return {key: _nested(part, func) for key, part in value.items()}
    if isinstance(value, list):
        return [_nested(part, func) for part in value]
    return value if value is None else func(value)
