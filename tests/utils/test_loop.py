from types import ModuleType

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from gnnlab.utils import (
    add_remaining_self_loops,
    add_self_loops,
    contains_self_loops,
    get_self_loop_attr,
    remove_self_loops,
    segregate_self_loops,
)
from tests.utils.graphs import INTEGERS, MIXED, NO_EDGES, PATH, as_layout, assert_same, graphs, numbers

GRAPHS = [PATH, MIXED, NO_EDGES, MIXED.int()]
FILLS = [None, 2.0, 3, "add", "mean", "max", torch.tensor(7.0), torch.tensor([7.0])]


def pairs(edge_index: Tensor) -> list[list[int]]:
    return edge_index.t().tolist()


@given(graphs())
def test_taking_loops_out_one_by_one(graph: tuple[Tensor, int]) -> None:
    edge_index, _ = graph
    attr = torch.arange(edge_index.size(1))
    between, kept, loops, of_loops = segregate_self_loops(edge_index, attr)
    assert pairs(between) == [[a, b] for a, b in pairs(edge_index) if a != b]
    assert pairs(loops) == [[a, b] for a, b in pairs(edge_index) if a == b]
    assert_same((edge_index[:, kept], edge_index[:, of_loops]), (between, loops))
    assert_same(remove_self_loops(edge_index, attr), (between, kept))
    assert contains_self_loops(edge_index) == (len(of_loops) > 0)


@given(graphs())
def test_each_node_has_exactly_one_loop(graph: tuple[Tensor, int]) -> None:
    edge_index, num_nodes = graph
    attr = numbers(edge_index)
    out, out_attr = add_remaining_self_loops(edge_index, attr, -1.0, num_nodes)
    split = out.size(1) - num_nodes
    assert_same(out[:, split:], torch.arange(num_nodes).expand(2, -1))
    assert_same((out[:, :split], out_attr[:split]), remove_self_loops(edge_index, attr))
    last = {a: value for (a, b), value in zip(pairs(edge_index), attr.tolist(), strict=True) if a == b}
    assert out_attr[split:].tolist() == [last.get(node, -1.0) for node in range(num_nodes)]
    expected = [last.get(node, 0.0) for node in range(num_nodes)]
    assert get_self_loop_attr(edge_index, attr, num_nodes).tolist() == expected


@pytest.mark.parametrize("edge_index", GRAPHS)
def test_removing_as_pyg(pyg: ModuleType, edge_index: Tensor) -> None:
    for attr in (None, numbers(edge_index, 2)):
        assert_same(remove_self_loops(edge_index, attr), pyg.remove_self_loops(edge_index, attr))
        assert_same(segregate_self_loops(edge_index, attr), pyg.segregate_self_loops(edge_index, attr))
    assert contains_self_loops(edge_index) is pyg.contains_self_loops(edge_index)


@pytest.mark.parametrize("fill_value", FILLS)
@pytest.mark.parametrize("edge_index", GRAPHS)
@pytest.mark.parametrize("num_nodes", [None, 7])
def test_adding_as_pyg(
    pyg: ModuleType, edge_index: Tensor, fill_value: float | str | Tensor | None, num_nodes: int | None
) -> None:
    for attr in (None, numbers(edge_index), numbers(edge_index, 1), numbers(edge_index, dtype=torch.float32)):
        arguments = (edge_index, attr, fill_value, num_nodes)
        for function in (add_self_loops, add_remaining_self_loops):
            ours, ours_attr = function(*arguments)
            theirs, theirs_attr = getattr(pyg, function.__name__)(*arguments)
            assert ours.dtype == edge_index.dtype  # PyG makes int64 of int32
            assert_same((ours.long(), ours_attr), (theirs.long(), theirs_attr))
        if not isinstance(fill_value, str):
            assert_same(
                get_self_loop_attr(edge_index, attr, num_nodes), pyg.get_self_loop_attr(edge_index, attr, num_nodes)
            )


def test_attributes_of_several_channels(pyg: ModuleType) -> None:
    attr, fill = numbers(MIXED, 3), torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64)
    assert_same(add_self_loops(MIXED, attr, fill), pyg.add_self_loops(MIXED, attr, fill))
    assert_same(add_remaining_self_loops(MIXED, attr, fill), pyg.add_remaining_self_loops(MIXED, attr, fill))


@pytest.mark.parametrize("dtype", [torch.long, torch.bool, torch.float16])
def test_dtypes_of_attributes(pyg: ModuleType, dtype: torch.dtype) -> None:
    attr = numbers(MIXED).to(dtype)
    assert_same(add_self_loops(MIXED, attr), pyg.add_self_loops(MIXED, attr))
    assert_same(add_remaining_self_loops(MIXED, attr), pyg.add_remaining_self_loops(MIXED, attr))
    assert_same(get_self_loop_attr(MIXED, attr), pyg.get_self_loop_attr(MIXED, attr))


@pytest.mark.parametrize("dtype", INTEGERS)
def test_every_integer_dtype(dtype: torch.dtype) -> None:
    expected = torch.cat([PATH, torch.arange(3).expand(2, -1)], dim=1).to(dtype)
    assert_same(add_self_loops(PATH.to(dtype))[0], expected)
    assert_same(add_remaining_self_loops(PATH.to(dtype))[0], expected)


@pytest.mark.parametrize("function", ["add_self_loops", "add_remaining_self_loops", "get_self_loop_attr"])
def test_gradients_as_pyg(pyg: ModuleType, function: str) -> None:
    grads = []
    for module in (globals(), vars(pyg)):
        attr = numbers(MIXED, 2).requires_grad_()
        arguments = (MIXED, attr) if function == "get_self_loop_attr" else (MIXED, attr, "mean")
        out = module[function](*arguments)
        (out[1] if isinstance(out, tuple) else out).pow(2).sum().backward()
        grads.append(attr.grad)
    assert_same(*grads)


def test_bipartite_graphs_get_loops_for_the_smaller_side(pyg: ModuleType) -> None:
    edge_index = torch.tensor([[0, 1, 2], [5, 1, 0]])
    attr = numbers(edge_index)
    for size in [(3, 6), (6, 3), 3]:
        assert_same(
            add_self_loops(edge_index, attr, num_nodes=size), pyg.add_self_loops(edge_index, attr, num_nodes=size)
        )
    # A reduction over edges into nodes beyond the loops, where PyG fails.
    _, out = add_self_loops(edge_index, attr, "add", num_nodes=(3, 6))
    assert out[3:].tolist() == [attr[2], attr[1], 0.0]


@pytest.mark.parametrize("layout", [torch.sparse_coo, torch.sparse_csr, torch.sparse_csc])
def test_matrices(layout: torch.layout) -> None:
    dense = torch.tensor([[1.0, 2.0, 0.0], [0.0, 0.0, 3.0]])
    adj = as_layout(dense, layout)
    added, nothing = add_self_loops(adj, fill_value=5.0)
    assert (added.layout, nothing) == (layout, None)
    assert_same(added.to_dense(), dense + 5 * torch.eye(2, 3))
    removed, nothing = remove_self_loops(adj)
    assert (removed.layout, nothing) == (layout, None)
    assert_same(removed.to_dense(), dense * (1 - torch.eye(2, 3)))
    with pytest.raises(ValueError, match="edge_attr: expected None beside a sparse matrix"):
        add_self_loops(adj, torch.rand(3))


@given(graphs(), st.sampled_from(["add", "mean", "min", "max"]))
def test_fill_by_reduction_one_by_one(graph: tuple[Tensor, int], reduce: str) -> None:
    edge_index, num_nodes = graph
    attr = numbers(edge_index)
    function = {"add": sum, "mean": lambda v: sum(v) / len(v), "min": min, "max": max}[reduce]
    _, out = add_self_loops(edge_index, attr, reduce, num_nodes)
    for node in range(num_nodes):
        into = attr[edge_index[1] == node].tolist()
        assert out[edge_index.size(1) + node].item() == pytest.approx(function(into) if into else 0.0)


def test_errors() -> None:
    with pytest.raises(ValueError, match=r"edge_index: expected shape \[2, num_edges\]"):
        contains_self_loops(torch.tensor([1, 2]))
    with pytest.raises(IndexError, match="edge_index: expected nodes below num_nodes=2, found 4"):
        add_remaining_self_loops(MIXED, num_nodes=2)
    with pytest.raises(IndexError, match="edge_index: expected nodes below num_nodes=2, found 4"):
        get_self_loop_attr(MIXED, num_nodes=2)
    for function in (remove_self_loops, segregate_self_loops, add_self_loops, add_remaining_self_loops):
        with pytest.raises(ValueError, match="edge_attr: expected one row for each of 4 edges"):
            function(PATH, torch.rand(3))
    with pytest.raises(ValueError, match=r"fill_value: expected a shape that broadcasts to \[3, 2\], found \[5\]"):
        add_self_loops(PATH, torch.rand(4, 2), torch.rand(5))
    with pytest.raises(ValueError, match="reduce: expected one of"):
        add_self_loops(PATH, torch.rand(4), "nothing")
