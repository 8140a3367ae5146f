"""The weighted mean of neighbours, halfway to the node itself."""

from types import ModuleType

import pytest
import torch
from torch import Tensor

from gnnlab import nn as ours
from gnnlab.nn import WLConvContinuous
from gnnlab.sparse import SparseTensor

EDGES = torch.tensor([[0, 1, 2, 2], [1, 0, 1, 0]])
X = torch.tensor([[1.0, 2.0], [3.0, 5.0], [7.0, 11.0], [13.0, 17.0]], dtype=torch.float64)
WEIGHT = torch.tensor([1.0, 2.0, 3.0, 2.0], dtype=torch.float64)


def adjacency(weight: Tensor | None) -> SparseTensor:
    return SparseTensor(row=EDGES[1], col=EDGES[0], value=weight, sparse_sizes=(4, 4))


@pytest.mark.parametrize("form", ["edge_index", "adjacency"])
def test_by_hand(form: str) -> None:
    conv = WLConvContinuous()
    out = conv(X, EDGES, WEIGHT) if form == "edge_index" else conv(X, adjacency(WEIGHT))
    means = torch.stack([(X[1] + X[2]) / 2, (X[0] + 3 * X[2]) / 4, 0 * X[0], 0 * X[0]])
    torch.testing.assert_close(out, (X + means) / 2)


def test_targets_of_their_own_or_of_none_as_pyg(pyg: ModuleType) -> None:
    for x, size in (((X, None), None), ((X, X[:2]), None), ((X, None), (4, 2))):
        found, expected = (nn.WLConvContinuous()(x, EDGES, WEIGHT, size=size) for nn in (ours, pyg))
        torch.testing.assert_close(found, expected)


def test_against_the_edges() -> None:  # where PyG divides by the weights of the other end
    found = WLConvContinuous(flow="target_to_source")(X, EDGES, WEIGHT)
    torch.testing.assert_close(found, WLConvContinuous()(X, EDGES.flip(0), WEIGHT))


@pytest.mark.parametrize("form", ["edge_index", "adjacency"])
def test_weights_that_add_up_to_0_give_0_and_finite_gradients(form: str) -> None:
    weight = torch.tensor([0.0, 1.0, 0.0, -1.0], dtype=torch.float64, requires_grad=True)
    out = WLConvContinuous()(X, EDGES, weight) if form == "edge_index" else WLConvContinuous()(X, adjacency(weight))
    torch.testing.assert_close(out, X / 2)
    out.sum().backward()
    assert weight.grad is not None
    assert weight.grad.isfinite().all()


def test_without_edges_and_many_graphs_at_once() -> None:
    conv = WLConvContinuous()
    torch.testing.assert_close(conv(X, EDGES[:, :0]), X / 2)
    graphs = torch.stack([X, X.cos()])
    expected = torch.stack([conv(x, EDGES, WEIGHT) for x in graphs])
    torch.testing.assert_close(conv(graphs, EDGES, WEIGHT), expected)
    torch.testing.assert_close(conv(graphs, adjacency(WEIGHT)), expected)


def test_it_multiplies() -> None:
    assert WLConvContinuous().fuse_report(X, adjacency(WEIGHT))
    with pytest.raises(TypeError, match="aggr"):
        WLConvContinuous(aggr="max")
