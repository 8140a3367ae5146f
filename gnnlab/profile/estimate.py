"""What collating will take, before one starts."""

import copy
import statistics
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np
import torch
from torch import Tensor

from gnnlab.data.stream import CHUNK_BYTES
from gnnlab.profile.memory import footprint
from gnnlab.profile.show import Shown, size

# The room that the buffers of a streaming build have to grow in, at most, as a part of the result.
ROOM_TO_GROW = 1 / 8

_LIST_SLOT = 8


@dataclass(frozen=True)
class CollateEstimate(Shown):
    """Bytes that the block of `n` graphs takes, reckoned from `sample` graphs.

    - `attributes`: by attribute (`x`, `meta.size`, `paper.x`, `(author, writes,
      paper).edge_index`), its tensor.
    - `slices`: the int64 tensors that say where each graph begins.
    - `objects`: attributes that stay Python objects: strings and whatever else is no tensor and no
      number.
    - `total`: the three together.
    - `error`: two standard errors of `total`, from the spread within the sample; infinite for a
      sample of one.
    - `peak`: the most that a streaming build holds: `total`, the room its buffers grow into, and
      the graphs at hand with their joint block.
    - `listed`: what the graphs take as a list of `Data`, Python objects and tensor headers
      included.
    - `peak_from_list`: the list and its block together, the least that collating a list can take.
    """

    n: int
    sample: int
    attributes: dict[str, int]
    slices: int
    objects: int
    error: float
    listed: int

    @property
    def total(self) -> int:
        """Bytes of the block with its slices and objects."""
        return sum(self.attributes.values()) + self.slices + self.objects

    @property
    def peak(self) -> int:
        """Bytes at the peak of a streaming build."""
        at_hand = CHUNK_BYTES * self.listed / max(self.total, 1) + CHUNK_BYTES
        return round(self.total * (1 + ROOM_TO_GROW) + min(at_hand, self.peak_from_list))

    @property
    def peak_from_list(self) -> int:
        """Bytes at the peak of collating a list of the graphs."""
        return self.listed + self.total

    def table(self) -> list[tuple[str, ...]]:
        return [
            (f"collating {self.n:,} graphs", "bytes"),
            *((name, size(nbytes)) for name, nbytes in self.attributes.items()),
            ("slices", size(self.slices)),
            ("Python objects", size(self.objects)),
            ("total", size(self.total)),
            ("peak, streaming", size(self.peak)),
            ("peak, from a list", size(self.peak_from_list)),
        ]

    def note(self) -> str:
        return f"from a sample of {self.sample:,} graphs; total +- {size(self.error)}"


def estimate_collate(sample: Any, n: int) -> CollateEstimate:
    """Estimate the memory of collating `n` graphs like those of `sample`, allocating none of it.

    `sample` is a dataset, or any iterable of `Data` or `HeteroData`, of gnnlab or of PyG; a few
    hundred graphs, drawn at random, will do. A dataset's transform isn't applied and its cache not
    filled. Numbers count as the tensors that collating makes of them, an attribute that only some
    graphs have by its share.

    Raises ValueError if `sample` is empty or `n` is negative.
    """
    if n < 0:
        raise ValueError(f"n is a number of graphs; found {n}")
    graphs = list(_graphs(sample))
    if not graphs:
        raise ValueError("sample must hold at least one graph to estimate from; found none")
    tensors: dict[str, int] = defaultdict(int)
    objects, per_graph = 0, []
    for graph in graphs:
        in_graph = 0
        for name, value in leaves(graph.to_dict()):
            in_tensor, in_objects = _joined(name, value)
            tensors[name] += in_tensor
            objects += in_objects
            in_graph += in_tensor + in_objects
        per_graph.append(in_graph)
    scale = n / len(graphs)
    alone = footprint(graphs)
    return CollateEstimate(
        n=n,
        sample=len(graphs),
        attributes={name: round(scale * nbytes) for name, nbytes in tensors.items() if nbytes},
        slices=len(tensors) * (n + 1) * torch.int64.itemsize,
        objects=round(scale * objects),
        error=_two_standard_errors(per_graph, n),
        listed=round(scale * (sum(per_graph) + alone.objects + alone.headers)),
    )


def leaves(value: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """The attributes in what a graph's `to_dict` gives, by name, taken apart as collating does.

    >>> dict(leaves({"x": 1, "meta": {"size": 2}, ("a", "to", "b"): {"w": 3}}))
    {'x': 1, 'meta.size': 2, '(a, to, b).w': 3}
    """
    if isinstance(value, Mapping):
        for key, item in value.items():
            own = f"({', '.join(key)})" if isinstance(key, tuple) else str(key)
            # PyG keeps a heterogeneous graph's own attributes under this name.
            inner = name if own == "_global_store" else f"{name}.{own}" if name else own
            yield from leaves(item, inner)
    elif isinstance(value, (list, tuple)) and value and all(isinstance(v, Tensor) for v in value):
        for i, item in enumerate(value):
            yield name + f"[{i}]", item
    else:
        yield name, value


def _graphs(sample: Any) -> Iterable[Any]:
    """The graphs of `sample`; a dataset's without its transform, and leaving none in its cache."""
    if not hasattr(sample, "_data_list"):
        return sample
    fresh = copy.copy(sample)
    fresh._data_list = None
    fresh.transform = None
    return fresh


def _joined(name: str, value: Any) -> tuple[int, int]:
    """Bytes that one graph's `value` adds to the block: in its tensor, and in Python objects."""
    if isinstance(value, Tensor) and value.layout is torch.strided:
        return value.numel() * value.element_size(), 0
    if name.rpartition(".")[2] == "num_nodes":  # only their sum is stored, beside the slices
        return 0, 0
    if isinstance(value, (bool, int, float)):
        return torch.tensor(value).element_size(), 0
    found = footprint(value)
    if found.tensors and not isinstance(value, (np.ndarray, list, tuple, set)):  # a sparse matrix
        return found.addressed, 0
    return 0, found.addressed + found.objects + found.headers + _LIST_SLOT


def _two_standard_errors(per_graph: list[int], n: int) -> float:
    """Of the sum over `n` new graphs like those that take `per_graph` bytes."""
    if len(per_graph) == 1:
        return float("inf")
    return 2 * statistics.stdev(per_graph) * n * sqrt(1 / len(per_graph) + 1 / max(n, 1))
