"""Tiny graphs, random ones, and a comparison that looks at everything."""

from typing import Any

import torch
from hypothesis import strategies as st
from torch import Tensor

from gnnlab.utils import dense_to_sparse, to_torch_sparse_tensor

PATH = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])  # 0 - 1 - 2
STAR = torch.tensor([[1, 2, 3], [0, 0, 0]])  # 1, 2 and 3 lead to 0
NO_EDGES = torch.empty(2, 0, dtype=torch.long)
MIXED = torch.tensor([[1, 1, 2, 3, 1, 4], [3, 3, 4, 2, 1, 2]])  # repeats, a loop, 0 is isolated

INTEGERS = (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)


@st.composite
def graphs(draw: st.DrawFn, min_nodes: int = 1, max_nodes: int = 7, max_edges: int = 16) -> tuple[Tensor, int]:
    """`edge_index` [2, num_edges] int64, with repeats and loops, and a number of nodes, some without edges."""
    num_nodes = draw(st.integers(min_nodes, max_nodes))
    node = st.integers(0, max(num_nodes - 1, 0))
    edges = draw(st.lists(st.tuples(node, node), max_size=max_edges if num_nodes else 0))
    return torch.tensor(edges, dtype=torch.long).view(-1, 2).t().contiguous(), num_nodes


def numbers(edge_index: Tensor, *shape: int, dtype: torch.dtype = torch.float64) -> Tensor:
    """[num_edges, *shape]: different small numbers, exact in every dtype, the same each time."""
    count = edge_index.size(1)
    for size in shape:
        count *= size
    return (torch.arange(count) * 7 % 13 + 1).to(dtype).view(edge_index.size(1), *shape)


def as_layout(dense: Tensor, layout: torch.layout) -> Tensor:
    """A dense matrix as a sparse one (built by ours, which keeps torch's warning about its beta layouts to itself)."""
    edge_index, value = dense_to_sparse(dense)
    return to_torch_sparse_tensor(edge_index, value, tuple(dense.shape), layout=layout)


def assert_same(ours: Any, theirs: Any) -> None:
    """Alike in type, shape, dtype and layout, and in value up to rounding."""
    if isinstance(ours, list | tuple):
        assert isinstance(theirs, list | tuple)
        assert len(ours) == len(theirs)
        for a, b in zip(ours, theirs, strict=True):
            assert_same(a, b)
    elif isinstance(ours, dict):
        assert ours.keys() == theirs.keys()
        for key, value in ours.items():
            assert_same(value, theirs[key])
    elif isinstance(ours, Tensor | float):
        torch.testing.assert_close(ours, theirs, equal_nan=True)
    else:
        assert type(ours) is type(theirs)
        assert ours == theirs
