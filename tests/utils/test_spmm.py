from types import ModuleType

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor
from torch.autograd import gradcheck

from gnnlab.sparse import SparseTensor
from gnnlab.utils import spmm, to_torch_sparse_tensor
from tests.utils.graphs import MIXED, assert_same, graphs, numbers

LAYOUTS = [torch.sparse_coo, torch.sparse_csr, torch.sparse_csc]
REDUCTIONS = ["sum", "add", "mean", "min", "max"]
pytestmark = [
    pytest.mark.filterwarnings("ignore:Sparse CSR tensor support is in beta state:UserWarning"),
    pytest.mark.filterwarnings("ignore:Sparse invariant checks are implicitly disabled:UserWarning"),
    pytest.mark.filterwarnings("ignore:Converting sparse tensor to CSR format:UserWarning"),
]


def by_hand(edge_index: Tensor, value: Tensor, other: Tensor, reduce: str, num_rows: int) -> Tensor:
    """One row after the other."""
    function = {"sum": torch.sum, "add": torch.sum, "mean": torch.mean, "min": torch.amin, "max": torch.amax}[reduce]
    rows = []
    for row in range(num_rows):
        at = edge_index[0] == row
        messages = value[at, None] * other[edge_index[1, at]]
        rows.append(function(messages, dim=0) if at.any() else torch.zeros_like(other[0]))
    return torch.stack(rows)


@given(graphs(), st.sampled_from([*LAYOUTS, "SparseTensor"]), st.sampled_from(REDUCTIONS))
def test_rows_one_by_one(graph: tuple[Tensor, int], form: torch.layout | str, reduce: str) -> None:
    edge_index = torch.unique(graph[0], dim=1)
    num_nodes, value = graph[1], numbers(edge_index) - 5
    other = torch.arange(-3.0, 3 * num_nodes - 3, dtype=torch.float64).view(num_nodes, 3)
    if form == "SparseTensor":
        adj = SparseTensor.from_edge_index(edge_index, value, (num_nodes, num_nodes))
    else:
        adj = to_torch_sparse_tensor(edge_index, value, num_nodes, layout=form)
    assert_same(spmm(adj, other, reduce), by_hand(edge_index, value, other, reduce, num_nodes))


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("reduce", REDUCTIONS)
def test_as_pyg(pyg: ModuleType, layout: torch.layout, reduce: str) -> None:
    adj = to_torch_sparse_tensor(MIXED, numbers(MIXED, dtype=torch.float32), (5, 5), layout=layout)
    other = torch.randn(5, 2)
    assert_same(spmm(adj, other, reduce), pyg.spmm(adj, other, reduce))


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("reduce", ["sum", "mean", "min", "max"])
def test_gradcheck(layout: torch.layout, reduce: str) -> None:
    def through(value: Tensor, other: Tensor) -> Tensor:
        return spmm(to_torch_sparse_tensor(MIXED, value, 5, layout=layout), other, reduce)

    value, other = torch.rand(6, dtype=torch.float64) + 1, torch.randn(5, 2, dtype=torch.float64)
    assert gradcheck(through, (value.requires_grad_(), other.requires_grad_()))


def test_torch_sparse() -> None:
    torch_sparse = pytest.importorskip("torch_sparse", reason="torch_sparse is not installed")
    edge_index = torch.tensor([[0, 0, 2], [1, 2, 0]])
    adj = torch_sparse.SparseTensor.from_edge_index(edge_index, sparse_sizes=(3, 3))
    assert spmm(adj, torch.tensor([[1.0], [2.0], [4.0]]), "mean").tolist() == [[3.0], [0.0], [1.0]]


def test_entries_without_values_and_other_shapes() -> None:
    adj = SparseTensor.from_edge_index(torch.tensor([[0, 0, 2], [1, 2, 0]]), sparse_sizes=(3, 3))
    other = torch.arange(12, dtype=torch.float16).view(3, 2, 2)
    out = spmm(adj, other)
    assert out.dtype == torch.float16
    assert_same(out, torch.stack([other[1] + other[2], torch.zeros_like(other[0]), other[0]]))
    assert spmm(adj, torch.tensor([1.0, 2.0, 4.0])).tolist() == [6.0, 0.0, 1.0]


def test_no_entries() -> None:
    adj = to_torch_sparse_tensor(torch.empty(2, 0, dtype=torch.long), size=(2, 3))
    for reduce in REDUCTIONS:
        assert spmm(adj, torch.rand(3, 4), reduce).tolist() == [[0.0] * 4] * 2


@pytest.mark.parametrize("wrong", [-1, 3, 1 << 40])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_ids_that_torch_lets_pass_are_refused(layout: torch.layout, wrong: int) -> None:
    index, ptr, value = torch.tensor([0, wrong]), torch.tensor([0, 1, 2, 2]), torch.ones(2)
    if layout == torch.sparse_coo:
        place = torch.stack([torch.tensor([0, 1]), index])
        adj = torch.sparse_coo_tensor(place, value, (3, 3), check_invariants=False, is_coalesced=True)
    else:
        make = torch.sparse_csr_tensor if layout == torch.sparse_csr else torch.sparse_csc_tensor
        adj = make(ptr, index, value, (3, 3), check_invariants=False)
    with pytest.raises(ValueError, match=rf"(col|row) must .*found {wrong}|expected .*found {wrong}"):
        spmm(adj, torch.ones(3, 2))


def test_errors() -> None:
    adj = to_torch_sparse_tensor(MIXED, size=5)
    with pytest.raises(ValueError, match=r"reduce: expected .* found 'mul'"):
        spmm(adj, torch.rand(5, 1), "mul")
    with pytest.raises(ValueError, match="other: expected one row for each of 5 columns of src"):
        spmm(adj, torch.rand(4, 1))
    with pytest.raises(ValueError, match="src: expected a sparse matrix, found Tensor"):
        spmm(torch.eye(5), torch.rand(5, 1))
    with pytest.raises(ValueError, match=r"src: expected one number in each entry, found shape \[2\]"):
        spmm(to_torch_sparse_tensor(MIXED, torch.rand(6, 2), 5), torch.rand(5, 1))
