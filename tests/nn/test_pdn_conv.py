"""Edge weights that are learned of edge features."""

from types import ModuleType
from typing import Any

import pytest
import torch
from torch import Tensor

from gnnlab import nn as ours
from gnnlab.nn import GCNConv, PDNConv
from gnnlab.sparse import SparseTensor
from tests.nn.side_by_side import assert_alike, beside

EDGES = torch.tensor([[0, 1, 2, 2, 3, 4, 0, 1], [1, 0, 1, 3, 2, 2, 2, 1]])  # none reaches node 4


def draw(*shape: int) -> Tensor:
    return torch.rand(shape, dtype=torch.float64, generator=torch.Generator().manual_seed(len(shape)))


def in_form(form: str, value: Tensor | None) -> Any:
    adj = SparseTensor(row=EDGES[1], col=EDGES[0], value=value, sparse_sizes=(5, 5))
    if form == "torch_sparse":
        pytest.importorskip("torch_sparse", reason="torch_sparse is not installed")
        return adj.to_torch_sparse()
    return adj if form == "SparseTensor" else getattr(adj, f"to_torch_sparse_{form}_tensor")()


@pytest.mark.filterwarnings("ignore:Sparse CSR tensor support is in beta state:UserWarning")
@pytest.mark.filterwarnings("ignore:Sparse invariant checks are implicitly disabled:UserWarning")
@pytest.mark.parametrize("normalize", [True, False])
@pytest.mark.parametrize("form", ["SparseTensor", "torch_sparse", "coo", "csr", "csc"])
def test_values_of_an_adjacency_are_edge_features(form: str, normalize: bool) -> None:
    conv = PDNConv(4, 3, edge_dim=2, hidden_channels=5, normalize=normalize).double()
    results = []
    for by_adjacency in (False, True):
        edge_attr = draw(8, 2).requires_grad_()
        if by_adjacency:
            edges = in_form(form, edge_attr)
            out = conv(draw(5, 4), edges)
            assert conv.fuse_report(draw(5, 4), edges)
        else:
            out = conv(draw(5, 4), EDGES, edge_attr)
        results.append((out, *torch.autograd.grad(out.cos().sum(), [edge_attr, *conv.parameters()])))
    torch.testing.assert_close(*results)


def test_features_beside_an_adjacency_are_in_its_order() -> None:
    conv, edge_attr = PDNConv(4, 3, 2, 5).double(), draw(8, 2)
    adj = in_form("SparseTensor", edge_attr)
    found = conv(draw(5, 4), adj.set_value(None), adj.storage.value())
    torch.testing.assert_close(found, conv(draw(5, 4), EDGES, edge_attr))


def test_edges_without_features_weigh_1_as_in_pyg(pyg: ModuleType) -> None:
    mine, theirs = beside(*(nn.PDNConv(4, 3, 2, 5) for nn in (ours, pyg)))
    found, expected = (conv(draw(5, 4), EDGES.flip(1)) for conv in (mine, theirs))
    torch.testing.assert_close(found.float(), expected.float())
    torch.testing.assert_close(mine(draw(5, 4), in_form("SparseTensor", None)), mine(draw(5, 4), EDGES))
    plain = PDNConv(4, 3, 2, 5, normalize=False).double()
    torch.testing.assert_close(plain(draw(5, 4), in_form("SparseTensor", None)), plain(draw(5, 4), EDGES))


def test_without_loops_and_bias_as_pyg(pyg: ModuleType) -> None:
    for kwargs in ({"add_self_loops": False}, {"bias": False}, {"normalize": False}, {"flow": "target_to_source"}):
        mine, theirs = beside(*(nn.PDNConv(4, 3, 2, 5, **kwargs) for nn in (ours, pyg)))
        assert_alike(mine, theirs, draw(5, 4), EDGES, draw(8, 2))


def test_it_is_a_graph_convolution_of_its_weights() -> None:
    conv, gcn, edge_attr = PDNConv(4, 3, 1, 5).double(), GCNConv(4, 3).double(), draw(8)
    gcn.load_state_dict({name: value for name, value in conv.state_dict().items() if "mlp" not in name})
    weight = conv.mlp(edge_attr.view(-1, 1)).view(-1)
    torch.testing.assert_close(conv(draw(5, 4), EDGES, edge_attr), gcn(draw(5, 4), EDGES, weight))
    torch.testing.assert_close(conv(draw(5, 4), EDGES[:, :0], draw(0)), gcn(draw(5, 4), EDGES[:, :0]))


def test_parameters_are_drawn_anew() -> None:
    conv = PDNConv(-1, 3, 2, 5)
    conv(draw(5, 4).float(), EDGES)
    before = {name: value.clone() for name, value in conv.state_dict().items()}
    conv.reset_parameters()
    for name, value in conv.state_dict().items():
        assert not value.any() if name.endswith("bias") else not torch.equal(value, before[name])


def test_errors_name_what_is_wrong() -> None:
    conv = PDNConv(4, 3, 2, 5).double()
    for edge_attr in (draw(8, 3), draw(8), draw(8, 2, 1)):
        with pytest.raises(ValueError, match=r"edge_attr: expected shape \[num_edges, 2\], found \[8"):
            conv(draw(5, 4), EDGES, edge_attr)
    with pytest.raises(ValueError, match="expected one row for each of 8 edges"):
        conv(draw(5, 4), EDGES, draw(7, 2))
    with pytest.raises(TypeError, match="cached"):
        PDNConv(4, 3, 2, 5, cached=True)
