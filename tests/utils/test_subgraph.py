from types import ModuleType

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from gnnlab.utils import bipartite_subgraph, subgraph
from tests.utils.graphs import INTEGERS, MIXED, NO_EDGES, assert_same, graphs, numbers


@given(graphs(), st.data())
def test_edges_between_nodes_one_by_one(graph: tuple[Tensor, int], data: st.DataObject) -> None:
    edge_index, num_nodes = graph
    subset = data.draw(st.lists(st.integers(0, num_nodes - 1), unique=True))
    attr = torch.arange(edge_index.size(1))
    kept = [e for e, (a, b) in enumerate(edge_index.t().tolist()) if a in subset and b in subset]

    out, out_attr, mask = subgraph(subset, edge_index, attr, num_nodes=num_nodes, return_edge_mask=True)
    assert out_attr.tolist() == kept
    assert_same((out, out_attr), (edge_index[:, mask], attr[mask]))
    relabelled, _ = subgraph(subset, edge_index, attr, True, num_nodes)
    assert_same(torch.tensor(subset, dtype=torch.long)[relabelled], out)

    chosen = torch.zeros(num_nodes, dtype=torch.bool)
    chosen[subset] = True
    for as_mask in (chosen, chosen.tolist()):
        assert_same(subgraph(as_mask, edge_index, attr), (out, out_attr))


@pytest.mark.parametrize(
    "subset", [[1, 3], (3, 1, 2), torch.tensor([3, 1]), torch.tensor([4, 2, 1], dtype=torch.int32), []]
)
@pytest.mark.parametrize("edge_index", [MIXED, MIXED.int(), NO_EDGES])
@pytest.mark.parametrize("relabel_nodes", [False, True])
def test_as_pyg(pyg: ModuleType, subset: Tensor | list[int], edge_index: Tensor, relabel_nodes: bool) -> None:
    for attr in (None, numbers(edge_index, 2)):
        arguments = (subset, edge_index, attr, relabel_nodes, 6)
        assert_same(subgraph(*arguments), pyg.subgraph(*arguments))
        assert_same(
            subgraph(*arguments, return_edge_mask=True),
            pyg.subgraph(*arguments, return_edge_mask=True),
        )


@pytest.mark.parametrize("relabel_nodes", [False, True])
def test_masks_as_pyg(pyg: ModuleType, relabel_nodes: bool) -> None:
    mask = torch.tensor([False, True, True, False, True])
    attr = numbers(MIXED)
    assert_same(subgraph(mask, MIXED, attr, relabel_nodes), pyg.subgraph(mask, MIXED, attr, relabel_nodes))


@pytest.mark.parametrize("dtype", INTEGERS)
def test_every_integer_dtype(dtype: torch.dtype) -> None:
    edges, _ = subgraph(torch.tensor([2, 1]).to(dtype), torch.tensor([[1, 0], [2, 1]]).to(dtype), relabel_nodes=True)
    assert_same(edges, torch.tensor([[1], [0]]).to(dtype))


def test_errors() -> None:
    with pytest.raises(IndexError, match=r"subset: expected values in \[0, 5\), found 7"):
        subgraph([7], MIXED)
    with pytest.raises(IndexError, match=r"subset: expected values in \[0, 5\), found -1"):
        subgraph([-1], MIXED)
    with pytest.raises(IndexError, match=r"edge_index\[0\]: expected values in \[0, 4\), found 4"):
        subgraph(torch.tensor([True, True, True, True]), MIXED)
    with pytest.raises(ValueError, match="subset: expected an integer dtype"):
        subgraph([0.5], MIXED)
    with pytest.raises(ValueError, match="subset: expected one dimension"):
        subgraph([[0], [1]], MIXED)
    with pytest.raises(ValueError, match="edge_attr: expected one row for each of 6 edges"):
        subgraph([0], MIXED, torch.rand(3))


# bipartite_subgraph


@pytest.mark.parametrize("relabel_nodes", [False, True])
@pytest.mark.parametrize("size", [None, (6, 7)])
@pytest.mark.parametrize(
    "subset",
    [
        ([1, 3], [3, 4]),
        (torch.tensor([3, 1]), torch.tensor([4, 3])),
        (torch.tensor([False, True, False, True, True]), torch.tensor([False, True, False, True, True])),
        (torch.tensor([False, True, False, True, True]), torch.tensor([4, 3])),
    ],
)
def test_bipartite_as_pyg(
    pyg: ModuleType, subset: tuple[Tensor, Tensor], size: tuple[int, int] | None, relabel_nodes: bool
) -> None:
    if size is not None and isinstance(subset[0], Tensor) and subset[0].dtype == torch.bool:
        size = (5, 5)
    for attr in (None, numbers(MIXED)):
        arguments = (subset, MIXED, attr, relabel_nodes, size)
        ours = bipartite_subgraph(*arguments, return_edge_mask=True)
        assert_same(ours, pyg.bipartite_subgraph(*arguments, return_edge_mask=True))
        assert_same(bipartite_subgraph(*arguments), ours[:2])


def test_bipartite_errors() -> None:
    with pytest.raises(IndexError, match=r"subset: expected values in \[0, 2\), found 2"):
        bipartite_subgraph(([0], [2]), torch.tensor([[0], [1]]), size=(1, 2))
    with pytest.raises(IndexError, match=r"edge_index\[1\]: expected values in \[0, 1\), found 1"):
        bipartite_subgraph(([0], [0]), torch.tensor([[0], [1]]), size=(1, 1))
