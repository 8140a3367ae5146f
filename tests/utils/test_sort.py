from types import ModuleType

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from gnnlab.utils import coalesce, index_sort, lexsort, sort_edge_index
from tests.utils.graphs import INTEGERS, MIXED, NO_EDGES, assert_same, graphs, numbers


@given(st.lists(st.lists(st.integers(0, 3), min_size=6, max_size=6), min_size=1, max_size=3))
def test_lexsort_as_numpy(keys: list[list[int]]) -> None:
    assert lexsort([torch.tensor(key) for key in keys]).tolist() == np.lexsort(keys).tolist()


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("dim", [0, 1, -1])
def test_lexsort_as_pyg(pyg: ModuleType, descending: bool, dim: int) -> None:
    keys = [torch.tensor([[1, 0, 1], [0, 0, 1]]), torch.tensor([[1, 1, 0], [2, 2, 0]])]
    assert_same(lexsort(keys, dim, descending), pyg.lexsort(keys, dim, descending))


def test_lexsort_of_nothing() -> None:
    with pytest.raises(ValueError, match="keys: expected at least one, found none"):
        lexsort([])


def test_index_sort_as_pyg(pyg: ModuleType) -> None:
    inputs = torch.tensor([3, 1, 2, 1])
    assert_same(index_sort(inputs, 4, stable=True), tuple(pyg.index_sort(inputs, 4, stable=True)))


# sort_edge_index


@given(graphs(), st.booleans())
def test_sorted_edges_one_by_one(graph: tuple[Tensor, int], sort_by_row: bool) -> None:
    edge_index, num_nodes = graph
    attr = torch.arange(edge_index.size(1))
    pairs = edge_index.t().tolist()
    order = sorted(attr.tolist(), key=lambda e: pairs[e] if sort_by_row else pairs[e][::-1])
    out, out_attr = sort_edge_index(edge_index, attr, num_nodes, sort_by_row)
    assert out_attr.tolist() == order
    assert_same(out, edge_index[:, order])
    assert_same(sort_edge_index(edge_index, num_nodes=num_nodes, sort_by_row=sort_by_row), out)


@pytest.mark.parametrize("sort_by_row", [True, False])
@pytest.mark.parametrize("edge_index", [MIXED, NO_EDGES, MIXED.int()])
def test_sort_edge_index_as_pyg(pyg: ModuleType, edge_index: Tensor, sort_by_row: bool) -> None:
    a, b = numbers(edge_index), numbers(edge_index, 2)
    for attr in [(), (None,), (a,), ([a, b],), ((a, b),), ([],)]:
        ours = sort_edge_index(edge_index, *attr, sort_by_row=sort_by_row)
        assert_same(ours, pyg.sort_edge_index(edge_index, *attr, sort_by_row=sort_by_row))


# coalesce


@given(graphs(), st.sampled_from(["sum", "mean", "min", "max", "mul"]), st.booleans())
def test_merged_edges_one_by_one(graph: tuple[Tensor, int], reduce: str, sort_by_row: bool) -> None:
    edge_index, num_nodes = graph
    attr = numbers(edge_index)
    groups: dict[tuple[int, int], list[float]] = {}
    for (row, col), value in zip(edge_index.t().tolist(), attr.tolist(), strict=True):
        groups.setdefault((row, col), []).append(value)
    merge = {"sum": np.sum, "mean": np.mean, "min": np.min, "max": np.max, "mul": np.prod}[reduce]
    pairs = sorted(groups, key=lambda pair: pair if sort_by_row else pair[::-1])

    out, out_attr = coalesce(edge_index, attr, num_nodes, reduce, sort_by_row=sort_by_row)
    assert out.t().tolist() == [list(pair) for pair in pairs]
    np.testing.assert_allclose(out_attr, [merge(groups[pair]) for pair in pairs])
    assert_same(coalesce(edge_index, num_nodes=num_nodes, sort_by_row=sort_by_row), out)


@given(graphs(), st.booleans())
def test_merging_twice_changes_nothing(graph: tuple[Tensor, int], sort_by_row: bool) -> None:
    edge_index, num_nodes = graph
    once = coalesce(edge_index, numbers(edge_index), num_nodes, sort_by_row=sort_by_row)
    assert_same(coalesce(*once, num_nodes, sort_by_row=sort_by_row), once)
    assert_same(coalesce(*once, num_nodes, is_sorted=True, sort_by_row=sort_by_row), once)


@pytest.mark.parametrize("sort_by_row", [True, False])
@pytest.mark.parametrize("edge_index", [MIXED, NO_EDGES, MIXED.int()])
def test_coalesce_as_pyg(pyg: ModuleType, edge_index: Tensor, sort_by_row: bool) -> None:
    a, b = numbers(edge_index), numbers(edge_index, 2) > 6
    for attr in [(), (None,), (a,), ([a, b],), ((a, b),), ([],)]:
        ours = coalesce(edge_index, *attr, sort_by_row=sort_by_row)
        assert_same(ours, pyg.coalesce(edge_index, *attr, sort_by_row=sort_by_row))


def test_coalesce_gradient_as_pyg(pyg: ModuleType) -> None:
    grads = []
    for function in (coalesce, pyg.coalesce):
        attr = numbers(MIXED, 2).requires_grad_()
        function(MIXED, attr, reduce="mean")[1].pow(2).sum().backward()
        grads.append(attr.grad)
    assert_same(*grads)


@pytest.mark.parametrize("dtype", INTEGERS)
def test_dtypes_stay_and_do_not_overflow(dtype: torch.dtype) -> None:
    edge_index = torch.tensor([[100, 0, 100], [101, 120, 101]]).to(dtype)
    expected = torch.tensor([[0, 100], [120, 101]]).to(dtype)
    assert_same(coalesce(edge_index), expected)
    assert_same(coalesce(edge_index, torch.ones(3)), (expected, torch.tensor([1.0, 2.0])))


def test_nodes_too_many_for_one_key() -> None:
    far = 2**40
    edge_index = torch.tensor([[far, 0, far], [1, far, 1]])
    assert_same(coalesce(edge_index), torch.tensor([[0, far], [far, 1]]))
    assert_same(coalesce(edge_index, torch.ones(3)), (torch.tensor([[0, far], [far, 1]]), torch.tensor([1.0, 2.0])))


def test_input_is_left_alone() -> None:
    edge_index, attr = MIXED.clone(), numbers(MIXED)
    coalesce(edge_index, attr)
    assert_same((edge_index, attr), (MIXED, numbers(MIXED)))


@pytest.mark.parametrize("function", [coalesce, sort_edge_index])
def test_errors(function: object) -> None:
    with pytest.raises(IndexError, match="edge_index: expected nodes below num_nodes=3, found 4"):
        function(MIXED, num_nodes=3)
    with pytest.raises(IndexError, match="edge_index: expected node numbers from 0, found -1"):
        function(MIXED - 1 - MIXED.min())
    with pytest.raises(ValueError, match=r"edge_index: expected shape \[2, num_edges\], found \[3, 2\]"):
        function(torch.zeros(3, 2, dtype=torch.long))
    with pytest.raises(ValueError, match="edge_index: expected an integer dtype"):
        function(MIXED.float())
    with pytest.raises(ValueError, match=r"edge_attr\[1\]: expected one row for each of 6 edges"):
        function(MIXED, [torch.rand(6), torch.rand(5)])
    with pytest.raises(ValueError, match="edge_attr: expected a tensor, a list of them or None, found 'sum'"):
        function(MIXED, "sum")
    with pytest.raises(ValueError, match="num_nodes: expected a number of nodes, found -1"):
        function(MIXED, num_nodes=-1)


def test_classes_of_pyg_are_refused_by_name() -> None:
    pyg = pytest.importorskip("torch_geometric", reason="PyG, the peer, is not installed")
    with pytest.raises(ValueError, match=r"edge_index: gnnlab has no EdgeIndex: .*as_tensor"):
        coalesce(pyg.EdgeIndex(MIXED))
