"""`DenseDataLoader`: mini-batches of graphs of one size, stacked."""

from collections.abc import Sequence
from typing import Any

import torch
from torch.utils.data import default_collate

from gnnlab.data.batch import batch_class, finish_batch
from gnnlab.data.data import Data
from gnnlab.data.hetero_data import HeteroData


class DenseDataLoader(torch.utils.data.DataLoader[Any]):
    """Mini-batches in which every attribute has a new first dimension, one entry a graph
    (`torch_geometric.loader.DenseDataLoader`).

    For dense graphs, all of the same number of nodes, such as those with a matrix `adj: [num_nodes, num_nodes]`: a
    batch holds `x: [batch_size, num_nodes, channels]` and `adj: [batch_size, num_nodes, num_nodes]`, and no `batch`
    vector. Numbers become a tensor `[batch_size]`, strings a list.

    Args:
        dataset: a dataset or list of homogeneous graphs.
        batch_size: graphs a batch.
        shuffle: draw the graphs in a new random order every epoch.
        **kwargs: further arguments of `torch.utils.data.DataLoader`; a `collate_fn` among them is left out.

    While batches are made:

    Raises:
        TypeError: if graphs are heterogeneous or of different classes.
        ValueError: if graphs don't have the same attributes, or not of the same shapes.
    """

    def __init__(self, dataset: Any, batch_size: int = 1, shuffle: bool = False, **kwargs: Any) -> None:
        kwargs.pop("collate_fn", None)
        super().__init__(dataset, batch_size, shuffle, collate_fn=stack, **kwargs)


def stack(graphs: Sequence[Any]) -> Any:
    """Graphs as a batch in which every attribute has a new first dimension, one entry a graph."""
    graphs = list(graphs)
    first = graphs[0]
    if isinstance(first, HeteroData) or not isinstance(first, Data):
        raise TypeError(f"DenseDataLoader stacks graphs of class Data, found {type(first).__name__}")
    keys = first.keys()
    for at, graph in enumerate(graphs):
        if type(graph) is not type(first):
            raise TypeError(
                f"graphs of a batch must be of one class: the first is a {type(first).__name__}, "
                f"graph {at} of the batch a {type(graph).__name__}"
            )
        differing = set(graph.keys()) ^ set(keys)
        if differing:
            raise ValueError(
                f"graphs of a dense batch must have the same attributes: only one of the first and graph {at} of the "
                f"batch has {', '.join(map(repr, sorted(differing)))}"
            )
    batch = batch_class(type(first))()
    for key in keys:
        batch[key] = _stack_attribute(key, [graph[key] for graph in graphs])
    return finish_batch(batch, len(graphs), None, None)


def _stack_attribute(key: str, values: list[Any]) -> Any:
    try:
        return default_collate(values)
    except (RuntimeError, TypeError, KeyError) as error:
        kinds = [_kind(value) for value in values]
        at = next((at for at, kind in enumerate(kinds) if kind != kinds[0]), None)
        also = "" if at is None else f" first and {kinds[at]} in graph {at} of the batch"
        raise ValueError(
            f"attribute '{key}' can't be stacked: it must be a number, a string or of one shape in all graphs, found "
            f"{kinds[0]}{also}"
        ) from error


def _kind(value: Any) -> str:
    name = type(value).__name__
    return f"{name} of shape {list(value.shape)}" if hasattr(value, "shape") else name
