"""Paths of several lengths as one sparse matrix."""

from types import ModuleType

import pytest
import torch
from torch import Tensor

from gnnlab import nn as ours
from gnnlab.nn import PANConv
from gnnlab.sparse import SparseTensor
from tests.nn.side_by_side import beside

EDGES = torch.tensor([[0, 1, 2, 2, 3, 4, 0, 1, 0], [1, 0, 1, 3, 2, 2, 2, 1, 2]])  # one twice, none reaches node 4


def features(channels: int = 4) -> Tensor:
    return torch.randn(5, channels, dtype=torch.float64, generator=torch.Generator().manual_seed(0))


def adjacency(value: Tensor | None = None) -> SparseTensor:
    return SparseTensor(row=EDGES[1], col=EDGES[0], value=value, sparse_sizes=(5, 5))


@pytest.mark.filterwarnings("ignore:Sparse CSR tensor support is in beta state:UserWarning")
@pytest.mark.filterwarnings("ignore:Sparse invariant checks are implicitly disabled:UserWarning")
@pytest.mark.parametrize("length", [0, 1, 3])
def test_as_pyg(pyg: ModuleType, length: int) -> None:
    pytest.importorskip("torch_sparse", reason="torch_sparse, which PyG's layer needs, is not installed")
    mine, theirs = (conv.float() for conv in beside(*(nn.PANConv(4, 3, length) for nn in (ours, pyg))))
    (out, paths), (expected, expected_paths) = (conv(features().float(), EDGES) for conv in (mine, theirs))
    torch.testing.assert_close(out, expected, rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(paths.to_dense(), expected_paths.to_dense(), rtol=1e-4, atol=1e-4)
    assert repr(mine) == repr(theirs)


def test_gradients_are_those_of_finite_differences() -> None:  # PyG's stop at the product of sparse matrices
    conv = PANConv(4, 3, 2).double()

    def results(weight: Tensor, x: Tensor) -> tuple[Tensor, Tensor]:
        out, paths = torch.func.functional_call(conv, {"weight": weight}, (x, EDGES))
        return out, paths.to_dense()

    weight = torch.tensor([0.3, 0.5, 0.7], dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(results, (weight, features().requires_grad_()))


def test_paths_by_hand() -> None:
    conv = PANConv(2, 2, filter_size=2).double()
    edges = torch.tensor([[0, 1], [1, 2]])  # 0 -> 1 -> 2
    with torch.no_grad():
        conv.weight.copy_(torch.tensor([2.0, 3.0, 5.0]))
    _, paths = conv(features(2)[:3], edges)
    counts = torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64)  # entries in each row
    sums = torch.tensor([[2.0, 0.0, 0.0], [6.0, 2.0, 0.0], [30.0, 6.0, 2.0]], dtype=torch.float64)
    torch.testing.assert_close(paths.to_dense(), sums / (counts.view(-1, 1) * counts).sqrt())
    assert paths.is_transposed is True


def test_an_adjacency_gives_what_edges_give_and_its_values_are_ignored() -> None:
    conv, x = PANConv(4, 3, 2).double(), features()
    results = []
    for edges in (EDGES, adjacency(), adjacency(torch.rand(9))):
        out, paths = conv(x, edges)
        grads = torch.autograd.grad(out.cos().sum() + paths.to_dense().sin().sum(), list(conv.parameters()))
        results.append((out, paths.to_dense(), grads))
        assert conv.fuse_report(x, edges)
    torch.testing.assert_close(results[1], results[0])
    torch.testing.assert_close(results[2], results[0])
    conv.fuse = False
    assert not conv.fuse_report(x, EDGES)
    torch.testing.assert_close(conv(x, EDGES)[0], results[0][0])


def test_without_edges_each_node_has_itself() -> None:
    conv = PANConv(4, 3, 2).double()
    _, paths = conv(features(), EDGES[:, :0])
    torch.testing.assert_close(paths.to_dense(), 0.5 * torch.eye(5).double())
    assert conv(features()[:0], EDGES[:, :0])[0].shape == (0, 3)


def test_parameters_are_drawn_anew() -> None:
    conv = PANConv(-1, 3, 2)
    conv(features().float(), EDGES)
    with torch.no_grad():
        conv.weight.fill_(7.0)
    before = conv.lin.weight.clone()
    conv.reset_parameters()
    assert conv.weight.tolist() == [0.5, 0.5, 0.5]
    assert not torch.equal(conv.lin.weight, before)


def test_errors_name_what_is_wrong() -> None:
    conv = PANConv(4, 3, 2).double()
    with pytest.raises(ValueError, match="filter_size: expected at least 0, found -1"):
        PANConv(4, 3, -1)
    with pytest.raises(ValueError, match="flow: expected 'source_to_target', found 'target_to_source'"):
        PANConv(4, 3, 1, flow="target_to_source")
    with pytest.raises(ValueError, match="edge_index: expected an adjacency of 4 x 4, found 5 x 5"):
        conv(features()[:4], adjacency())
    with pytest.raises(ValueError, match="x: expected the features of one set of nodes, found a pair"):
        conv((features(), features()), EDGES)
    for ids, found in (([[0], [5]], 5), ([[-1], [0]], -1)):
        with pytest.raises(IndexError, match=rf"edge_index: expected values in \[0, 5\), found {found}"):
            conv(features(), torch.tensor(ids))
