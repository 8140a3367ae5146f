from types import ModuleType

import pytest
import scipy.sparse.csgraph
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor
from torch.autograd import gradcheck

from gnnlab.utils import get_laplacian, remove_self_loops, to_scipy_sparse_matrix, to_undirected
from tests.utils.graphs import MIXED, NO_EDGES, PATH, assert_same, graphs, numbers


@given(graphs(), st.sampled_from([None, "sym"]))
def test_as_scipy(graph: tuple[Tensor, int], normalization: str | None) -> None:
    edge_index, num_nodes = graph
    edge_index, weight = remove_self_loops(*to_undirected(edge_index, numbers(edge_index), num_nodes))
    edges, entries = get_laplacian(edge_index, weight, normalization, num_nodes=num_nodes)
    out = torch.zeros(num_nodes, num_nodes, dtype=torch.float64).index_put_(tuple(edges), entries, accumulate=True)

    adj = to_scipy_sparse_matrix(edge_index, weight, num_nodes)
    expected = torch.from_numpy(scipy.sparse.csgraph.laplacian(adj, normed=normalization == "sym").toarray())
    if normalization == "sym":  # SciPy has 0 in the diagonal for nodes without edges
        expected.fill_diagonal_(1.0)
    assert_same(out, expected)


@pytest.mark.parametrize("normalization", [None, "sym", "rw"])
@pytest.mark.parametrize("edge_index", [MIXED, PATH, NO_EDGES])
@pytest.mark.parametrize("num_nodes", [None, 7])
def test_as_pyg(pyg: ModuleType, normalization: str | None, edge_index: Tensor, num_nodes: int | None) -> None:
    for weight, dtype in ((None, None), (None, torch.float64), (numbers(edge_index), None)):
        arguments = (edge_index, weight, normalization, dtype, num_nodes)
        assert_same(get_laplacian(*arguments), pyg.get_laplacian(*arguments))


def test_rows_sum_to_zero() -> None:
    edges, entries = get_laplacian(MIXED, numbers(MIXED))
    assert_same(
        torch.zeros(5, dtype=torch.float64).index_add_(0, edges[0], entries), torch.zeros(5, dtype=torch.float64)
    )


@pytest.mark.parametrize("normalization", [None, "sym", "rw"])
def test_gradcheck(normalization: str | None) -> None:
    assert gradcheck(lambda w: get_laplacian(PATH, w, normalization)[1], (numbers(PATH).requires_grad_(),))


def test_errors() -> None:
    with pytest.raises(ValueError, match="normalization: expected None, 'sym' or 'rw', found 'other'"):
        get_laplacian(PATH, normalization="other")
    with pytest.raises(ValueError, match="edge_weight: expected one row for each of 4 edges"):
        get_laplacian(PATH, torch.rand(3))
    with pytest.raises(IndexError, match="edge_index: expected nodes below num_nodes=2, found 2"):
        get_laplacian(PATH, num_nodes=2)
