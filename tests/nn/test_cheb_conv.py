"""Chebyshev polynomials of the Laplacian, on edges and on every adjacency."""

from types import ModuleType
from typing import Any

import pytest
import torch
from torch import Tensor

from gnnlab import nn as ours
from gnnlab.nn import ChebConv
from gnnlab.sparse import SparseTensor
from tests.nn.side_by_side import assert_alike, beside

EDGES = torch.tensor([[0, 1, 2, 2, 3, 4, 0, 1], [1, 0, 1, 3, 2, 2, 2, 1]])  # one is a loop, none reaches node 4
BATCH = torch.tensor([0, 0, 1, 1, 1])
TWO_GRAPHS = torch.tensor([[0, 1, 2, 3, 4, 1], [1, 0, 3, 2, 2, 1]])
NORMALIZATIONS = ["sym", "rw", None]


def draw(*shape: int) -> Tensor:
    return torch.rand(shape, dtype=torch.float64, generator=torch.Generator().manual_seed(len(shape))) + 0.5


def adjacency(edges: Tensor, value: Tensor | None = None) -> SparseTensor:
    return SparseTensor(row=edges[1], col=edges[0], value=value, sparse_sizes=(5, 5))


@pytest.mark.parametrize("lambda_max", [None, 1.7, 2, torch.tensor(1.7), torch.tensor([1.3])], ids=str)
@pytest.mark.parametrize("batch", [None, BATCH], ids=["one", "batch"])
@pytest.mark.parametrize("normalization", NORMALIZATIONS)
def test_largest_eigenvalues_beside_pyg(
    pyg: ModuleType, normalization: str | None, batch: Any, lambda_max: Any
) -> None:
    mine, theirs = beside(*(nn.ChebConv(4, 3, 3, normalization) for nn in (ours, pyg)))
    kwargs = {"batch": batch, "lambda_max": lambda_max}
    assert_alike(mine, theirs, draw(5, 4), EDGES, draw(8), **kwargs)
    torch.testing.assert_close(
        mine(draw(5, 4), adjacency(EDGES, draw(8)), **kwargs), mine(draw(5, 4), EDGES, draw(8), **kwargs)
    )


@pytest.mark.parametrize("normalization", NORMALIZATIONS)
def test_one_eigenvalue_for_each_graph_beside_pyg(pyg: ModuleType, normalization: str | None) -> None:
    mine, theirs = beside(*(nn.ChebConv(4, 3, 3, normalization) for nn in (ours, pyg)))
    largest = torch.tensor([1.3, 1.9], dtype=torch.float64)
    assert_alike(mine, theirs, draw(5, 4), TWO_GRAPHS, draw(6), batch=BATCH, lambda_max=largest)
    expected = mine(draw(5, 4), TWO_GRAPHS, draw(6), BATCH, largest)
    torch.testing.assert_close(mine(draw(5, 4), adjacency(TWO_GRAPHS, draw(6)), None, BATCH, largest), expected)
    of_first = mine(draw(5, 4), TWO_GRAPHS, draw(6), lambda_max=1.3)
    torch.testing.assert_close(expected[:2], of_first[:2])
    assert not torch.allclose(expected[2:], of_first[2:])


@pytest.mark.parametrize("normalization", NORMALIZATIONS)
def test_gradients_reach_the_eigenvalue(normalization: str | None) -> None:
    conv = ChebConv(4, 3, 3, normalization).double()

    def run(largest: Tensor) -> Tensor:
        return conv(draw(5, 4), adjacency(EDGES, draw(8)), lambda_max=largest)

    assert torch.autograd.gradcheck(run, torch.tensor(1.7, dtype=torch.float64, requires_grad=True))


@pytest.mark.parametrize("normalization", NORMALIZATIONS)
def test_polynomials_of_a_dense_laplacian(normalization: str | None) -> None:
    conv = ChebConv(4, 3, 4, normalization).double()
    edges, weight = torch.cat([EDGES, EDGES.flip(0)], dim=1), draw(8).repeat(2)
    dense = torch.zeros(5, 5, dtype=torch.float64).index_put_((edges[1], edges[0]), weight, accumulate=True)
    dense.fill_diagonal_(0)
    degree = dense.sum(0)
    if normalization == "sym":
        laplacian = torch.eye(5) - degree.pow(-0.5).diag() @ dense @ degree.pow(-0.5).diag()
    else:  # messages come from sources, over whose degree "rw" divides
        laplacian = degree.diag() - dense if normalization is None else torch.eye(5) - dense @ degree.pow(-1).diag()
    scaled = 2 * laplacian / 1.7 - torch.eye(5)
    terms = [torch.eye(5).double(), scaled]
    for _ in range(2):
        terms.append(2 * scaled @ terms[-1] - terms[-2])
    expected = sum(lin(term @ draw(5, 4)) for lin, term in zip(conv.lins, terms, strict=True)) + conv.bias
    for out in (
        conv(draw(5, 4), edges, weight, lambda_max=1.7),
        conv(draw(5, 4), adjacency(edges, weight), lambda_max=1.7),
    ):
        torch.testing.assert_close(out, expected)


@pytest.mark.parametrize("flow", ["source_to_target", "target_to_source"])
@pytest.mark.parametrize("K", [1, 2])
def test_few_polynomials_and_both_directions_beside_pyg(pyg: ModuleType, K: int, flow: str) -> None:
    mine, theirs = beside(*(nn.ChebConv(4, 3, K, flow=flow) for nn in (ours, pyg)))
    assert_alike(mine, theirs, draw(5, 4), EDGES, draw(8))
    assert_alike(mine, theirs, draw(2, 5, 4), EDGES)


@pytest.mark.parametrize("normalization", NORMALIZATIONS)
def test_without_edges_the_laplacian_is_that_of_single_nodes(normalization: str | None) -> None:
    conv, none = ChebConv(4, 3, 2, normalization).double(), EDGES[:, :0]  # PyG gives NaN without normalisation
    entry = -1.0 if normalization is None else 0.0  # of 2 L / lambda_max - I
    expected = conv.lins[0](draw(5, 4)) + entry * conv.lins[1](draw(5, 4)) + conv.bias
    torch.testing.assert_close(conv(draw(5, 4), none), expected)
    torch.testing.assert_close(conv(draw(5, 4), adjacency(none)), expected)
    assert conv(draw(0, 4), none).shape == (0, 3)


def test_whole_numbers_as_weights() -> None:
    weight = torch.arange(1, 9)
    for normalization in NORMALIZATIONS:
        conv = ChebConv(4, 3, 3, normalization).double()
        expected = conv(draw(5, 4), EDGES, weight.double(), lambda_max=1.5)
        torch.testing.assert_close(conv(draw(5, 4), EDGES, weight, lambda_max=1.5), expected)
        torch.testing.assert_close(conv(draw(5, 4), adjacency(EDGES, weight), lambda_max=1.5), expected)


def test_it_multiplies_by_the_laplacian() -> None:
    conv, calls = ChebConv(4, 3, 3).double(), []
    conv.register_message_and_aggregate_forward_hook(lambda module, inputs, out: calls.append(inputs[0].nnz()))
    assert conv.fuse_report(draw(5, 4), adjacency(EDGES))
    fused = conv(draw(5, 4), adjacency(EDGES))
    assert calls == [7 + 5, 7 + 5]  # all but the loop, and the diagonal
    conv.fuse = False
    torch.testing.assert_close(conv(draw(5, 4), adjacency(EDGES)), fused)
    assert len(calls) == 2


def test_parameters_are_drawn_anew() -> None:
    conv = ChebConv(-1, 3, 2)
    conv(draw(5, 4).float(), EDGES)
    before = conv.lins[1].weight.clone()
    conv.bias.data.fill_(1)
    conv.reset_parameters()
    assert not torch.equal(conv.lins[1].weight, before)
    assert not conv.bias.any()


def test_errors_name_what_is_wrong() -> None:
    x, conv = draw(5, 4), ChebConv(4, 3, 2).double()
    with pytest.raises(ValueError, match="K: expected at least 1, found 0"):
        ChebConv(4, 3, 0)
    with pytest.raises(ValueError, match="normalization: expected None, 'sym' or 'rw', found 'row'"):
        ChebConv(4, 3, 2, normalization="row")
    with pytest.raises(ValueError, match="x: expected the features of one set of nodes, found a pair"):
        conv((x, x), EDGES)
    with pytest.raises(ValueError, match="edge_weight: expected None with an adjacency"):
        conv(x, adjacency(EDGES), draw(8))
    with pytest.raises(ValueError, match=r"edge_index: expected an adjacency of 4 nodes, found \(5, 5\)"):
        conv(x[:4], adjacency(EDGES))
    with pytest.raises(ValueError, match=r"edge_weight: expected shape \[num_edges\], found \[8, 2\]"):
        conv(x, EDGES, draw(8, 2))
    with pytest.raises(ValueError, match="edge_weight: expected one row for each of 8 edges"):
        conv(x, EDGES, draw(7))
    with pytest.raises(IndexError, match="edge_index: expected nodes below num_nodes=4, found 4"):
        conv(x[:4], EDGES)
    two = torch.tensor([1.3, 1.9])
    with pytest.raises(
        ValueError, match=r"lambda_max: expected one number, or one for .* found shape \[2\] without batch"
    ):
        conv(x, EDGES, lambda_max=two)
    with pytest.raises(ValueError, match=r"lambda_max: expected one number, or one .* found shape \[2, 1\] with batch"):
        conv(x, EDGES, batch=BATCH, lambda_max=two.view(2, 1))
    with pytest.raises(IndexError, match=r"batch: expected values in \[0, 2\), found 2"):
        conv(x, EDGES, batch=BATCH + 1, lambda_max=two)
    with pytest.raises(ValueError, match="batch: expected one entry for each of 5 nodes, found 4"):
        conv(x, EDGES, batch=BATCH[:4], lambda_max=two)
