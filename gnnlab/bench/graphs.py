"""Graphs and datasets for the experiments: the same ones for gnnlab and for PyG."""

from collections.abc import Iterator
from types import ModuleType
from typing import Any

import torch


def random_graphs(num_graphs: int, seed: int = 0, library: ModuleType | None = None) -> Iterator[Any]:
    """Graphs of 10 to 30 nodes with four edges a node, one after another.

    Args:
        num_graphs: how many.
        seed: the same seed gives the same graphs.
        library: whose `Data` to make, `gnnlab` (the default) or `torch_geometric`.

    Yields:
        `Data` with `x` `[n, 16]` and `edge_attr` `[4n, 4]` float32, `edge_index` `[2, 4n]` int64, and `y` `[1]` int64.
    """
    if library is None:
        import gnnlab as library
    cls = library.data.Data  # type: ignore[union-attr]
    generator = torch.Generator().manual_seed(seed)
    for i in range(num_graphs):
        n = int(torch.randint(10, 31, (1,), generator=generator))
        yield cls(
            x=torch.randn(n, 16, generator=generator),
            edge_index=torch.randint(0, n, (2, 4 * n), generator=generator),
            edge_attr=torch.randn(4 * n, 4, generator=generator),
            y=torch.tensor([i % 2]),
        )


def in_memory_dataset(data: Any, slices: Any, library: ModuleType) -> Any:
    """An `InMemoryDataset` of `library` around a block that is there already; both libraries may share its tensors."""

    class Held(library.data.InMemoryDataset):  # type: ignore[name-defined]
        def __init__(self) -> None:
            super().__init__(None)
            self.data, self.slices = data, slices

    return Held()


def peer() -> ModuleType | None:
    """`torch_geometric`, or `None` where it is not installed."""
    try:
        import torch_geometric
    except ImportError:
        return None
    return torch_geometric
