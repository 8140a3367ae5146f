"""`Batch`: many graphs joined into one, and the way back to the single graphs."""

from collections.abc import Iterable
from functools import cache
from typing import Any

import torch

from gnnlab.data.collate import collate
from gnnlab.data.data import BaseData, Data
from gnnlab.data.positions import is_scalar, positions
from gnnlab.data.separate import Separator


class Batch(BaseData):
    """A mini-batch of graphs as one graph of many components (`torch_geometric.data.Batch`).

    `Batch.from_data_list` gives an object whose class derives from both `Batch` and the class of the graphs, such as
    `DataBatch`: it has all their attributes, and

    * `batch`: `[num_nodes]` int64. The graph of every node.
    * `ptr`: `[num_graphs + 1]` int64. The first node of every graph.

    >>> graph = Data(x=torch.ones(2, 1), edge_index=torch.tensor([[0], [1]]))
    >>> batch = Batch.from_data_list([graph, graph])
    >>> batch.edge_index.tolist(), batch.batch.tolist()
    ([[0, 2], [1, 3]], [0, 0, 1, 1])
    """

    _slice_dict: Any
    _inc_dict: Any

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        return object.__new__(batch_class(Data) if cls is Batch else cls)

    def __reduce__(self) -> Any:
        return _new_batch, (graph_class(type(self)),), self.__getstate__()

    @classmethod
    def from_data_list(
        cls,
        data_list: Iterable[Any],
        follow_batch: list[str] | None = None,
        exclude_keys: list[str] | None = None,
    ) -> Any:
        """Join graphs into a batch.

        Batches can be joined too. `batch` then counts on through the graphs in all of them (and there is no `ptr`),
        while `num_graphs` and taking apart are about the batches, which come out as the graphs that they are.

        Args:
            data_list: the graphs, all of one class.
            follow_batch: attributes `key` for which `key_batch` and `key_ptr` are added too.
            exclude_keys: attributes to leave out.

        Raises:
            ValueError: if there is no graph, or an attribute is missing in some graphs or does not fit together.
            TypeError: if graphs, or an attribute's values, are of different kinds.
        """
        graphs = list(data_list)
        kind = batch_class(type(graphs[0])) if graphs and isinstance(graphs[0], BaseData) else cls
        again = bool(graphs) and isinstance(graphs[0], Batch)
        excluded = [*(exclude_keys or ()), "ptr"] if again else exclude_keys
        batch, slices, incs = collate(kind, graphs, True, not again, follow_batch, excluded)
        return finish_batch(batch, len(graphs), slices, incs)

    def get_example(self, idx: int) -> Any:
        """Graph `idx` (negative ids count from the end).

        Raises:
            RuntimeError: if the batch was not made from a list of graphs.
            IndexError: if there is no such graph.
        """
        at = range(self.num_graphs)[idx] if -self.num_graphs <= idx < self.num_graphs else None
        if at is None:
            raise IndexError(f"graph {idx} is out of range: the batch has {self.num_graphs} graphs")
        return self._separator().get(at)

    def index_select(self, idx: Any) -> list[Any]:
        """The graphs at `idx`: a slice, a list, a range, or a tensor or array of ids or of a mask."""
        separator = self._separator()
        return [separator.get(i) for i in positions(idx, self.num_graphs)]

    def to_data_list(self) -> list[Any]:
        """All graphs."""
        separator = self._separator()
        return [separator.get(i) for i in range(self.num_graphs)]

    def _separator(self) -> Separator:
        slices = getattr(self, "_slice_dict", None)
        if slices is None:
            raise RuntimeError(
                "this batch was not made by Batch.from_data_list, so it can't be taken apart into graphs"
            )
        return Separator(graph_class(type(self)), self, slices, self._inc_dict)

    def __getitem__(self, idx: Any) -> Any:
        if is_scalar(idx):
            return self.get_example(int(idx))
        if isinstance(idx, str) or (isinstance(idx, tuple) and idx and isinstance(idx[0], str)):
            return super().__getitem__(idx)  # type: ignore[misc]
        return self.index_select(idx)

    @property
    def num_graphs(self) -> int:
        """The number of graphs.

        Raises:
            ValueError: if neither the batch's own count nor `ptr` nor `batch` tells it.
        """
        count = getattr(self, "_num_graphs", None)
        if count is not None:
            return int(count)
        for store in self.stores:
            if "ptr" in store:
                return int(store["ptr"].numel()) - 1
            if "batch" in store:
                return int(store["batch"].max()) + 1 if store["batch"].numel() > 0 else 0
        raise ValueError("can't tell the number of graphs: the batch has neither 'ptr' nor 'batch'")

    @property
    def batch_size(self) -> int:
        """The number of graphs."""
        return self.num_graphs

    def __len__(self) -> int:
        return self.num_graphs


def finish_batch(batch: Any, num_graphs: int, slices: Any, incs: Any) -> Any:
    """Let `batch` remember how to be taken apart."""
    fields = batch.stores[0].__dict__
    fields["_num_graphs"], fields["_slice_dict"], fields["_inc_dict"] = num_graphs, slices, incs
    return batch


@cache
def batch_class(cls: Any) -> Any:
    """The class of batches of `cls`, made once: `DataBatch` for `Data`.

    It stands where `cls` does: torch tells the classes that it may load by module and name.
    """
    if issubclass(cls, Batch):
        return cls
    place = {"__module__": cls.__module__, "__qualname__": f"{cls.__qualname__}Batch"}
    return type(f"{cls.__name__}Batch", (Batch, cls), place)


def graph_class(cls: type) -> Any:
    """The class of the graphs in batches of class `cls`."""
    return next(base for base in cls.__mro__ if issubclass(base, BaseData) and not issubclass(base, Batch))


def _new_batch(cls: type) -> Any:
    return object.__new__(batch_class(cls))


torch.serialization.add_safe_globals([_new_batch])
