"""Graph attention: what its options do, beside PyG's."""

from types import ModuleType
from typing import Any

import pytest
import torch
from torch import Tensor

from gnnlab import nn as ours
from gnnlab.nn import GATConv, GATv2Conv
from gnnlab.sparse import SparseTensor
from tests.nn.side_by_side import assert_alike, beside

EDGES = torch.tensor([[0, 1, 2, 2, 3, 4, 0, 1], [1, 0, 1, 3, 2, 2, 2, 1]])  # no edges reach node 4, one loops
BIPARTITE = torch.tensor([[0, 1, 2, 5, 3, 4, 0], [1, 0, 1, 3, 2, 2, 2]])
BOTH = [GATConv, GATv2Conv]


def draw(*shape: int) -> Tensor:
    return torch.rand(shape, dtype=torch.float64, generator=torch.Generator().manual_seed(sum(shape))) - 0.5


def in_form(form: str, edge_index: Tensor, value: Tensor | None = None, size: tuple[int, int] = (5, 5)) -> Any:
    adj = SparseTensor(row=edge_index[1], col=edge_index[0], value=value, sparse_sizes=size[::-1])
    if form == "torch_sparse":
        pytest.importorskip("torch_sparse", reason="torch_sparse is not installed")
        return adj.to_torch_sparse()
    return adj if form == "SparseTensor" else getattr(adj, f"to_torch_sparse_{form}_tensor")()


@pytest.mark.parametrize("name", ["GATConv", "GATv2Conv"])
@pytest.mark.parametrize("fill_value", [0.5, "mean", "max", "sum", torch.tensor([0.25, 4.0])], ids=str)
@pytest.mark.parametrize("dim", [1, 2])
def test_features_of_self_loops_beside_pyg(pyg: ModuleType, name: str, fill_value: Any, dim: int) -> None:
    if isinstance(fill_value, Tensor):
        fill_value = fill_value[:dim].double()
    mine, theirs = beside(*(getattr(nn, name)(4, 3, 2, edge_dim=dim, fill_value=fill_value) for nn in (ours, pyg)))
    features = draw(8) if dim == 1 else draw(8, dim)
    assert_alike(mine, theirs, draw(5, 4), EDGES, features)


@pytest.mark.parametrize("name", ["GATConv", "GATv2Conv"])
@pytest.mark.parametrize("residual", [True, False])
@pytest.mark.parametrize("concat", [True, False])
@pytest.mark.parametrize("loops", [True, False])
def test_two_sets_of_nodes_beside_pyg(pyg: ModuleType, name: str, residual: bool, concat: bool, loops: bool) -> None:
    mine, theirs = beside(
        *(
            getattr(nn, name)((4, 2), 3, 2, concat, residual=residual, add_self_loops=loops, negative_slope=0.5)
            for nn in (ours, pyg)
        )
    )
    pair = [draw(6, 4), draw(5, 2)]
    assert_alike(mine, theirs, pair, BIPARTITE)
    expected = mine(tuple(pair), BIPARTITE)
    for form in ("SparseTensor", "torch_sparse", "coo"):
        torch.testing.assert_close(mine(tuple(pair), in_form(form, BIPARTITE, None, (6, 5))), expected)


def test_targets_without_features_beside_pyg(pyg: ModuleType) -> None:
    mine, theirs = beside(*(nn.GATConv((4, 4), 3, 2, add_self_loops=False) for nn in (ours, pyg)))
    assert_alike(mine, theirs, (draw(6, 4), None), BIPARTITE, size=(6, 5))


@pytest.mark.parametrize("flow", ["source_to_target", "target_to_source"])
@pytest.mark.parametrize("name", ["GATConv", "GATv2Conv"])
def test_attention_beside_pyg(pyg: ModuleType, name: str, flow: str) -> None:
    mine, theirs = beside(*(getattr(nn, name)(4, 3, 2, edge_dim=2, flow=flow) for nn in (ours, pyg)))
    args = draw(5, 4), EDGES, draw(8, 2)
    found, expected = (layer(*args, return_attention_weights=True) for layer in (mine, theirs))
    torch.testing.assert_close(found, expected)
    (edges, alpha), target = found[1], 1 if flow == "source_to_target" else 0
    torch.testing.assert_close(torch.zeros(5, 2).double().index_add(0, edges[target], alpha), torch.ones(5, 2).double())
    assert isinstance(mine(*args), Tensor)


@pytest.mark.filterwarnings("ignore:Sparse (CSR|CSC|invariant checks)[a-z ]*:UserWarning")
@pytest.mark.parametrize("form", ["SparseTensor", "torch_sparse", "coo", "csr", "csc"])
@pytest.mark.parametrize("cls", BOTH)
def test_attention_comes_back_in_the_form_of_the_edges(cls: Any, form: str) -> None:
    conv = cls(4, 3, 2).double()
    _, (edges, alpha) = conv(draw(5, 4), EDGES, return_attention_weights=True)
    given = in_form(form, EDGES, torch.ones(8).double())
    out, found = conv(draw(5, 4), given, return_attention_weights=True)
    adj = found[0] if form in ("coo", "csr", "csc") else found
    assert type(adj) is type(given)
    if isinstance(adj, Tensor):
        assert adj.layout == given.layout
    adj = adj.to_dense()
    dense = torch.zeros(5, 5, 2).double()
    dense[edges[1], edges[0]] = alpha
    torch.testing.assert_close(adj, dense)
    torch.testing.assert_close(out, conv(draw(5, 4), EDGES))


@pytest.mark.parametrize("form", ["SparseTensor", "torch_sparse"])
@pytest.mark.parametrize("loops", [True, False])
@pytest.mark.parametrize("cls", BOTH)
def test_values_of_an_adjacency_are_features(cls: Any, form: str, loops: bool) -> None:
    conv = cls(4, 3, 2, edge_dim=2, add_self_loops=loops).double()
    results = []
    for given in (False, True):
        features, x = draw(8, 2).requires_grad_(), draw(5, 4).requires_grad_()
        out = conv(x, in_form(form, EDGES, features)) if given else conv(x, EDGES, features)
        results.append((out, *torch.autograd.grad(out.cos().sum(), [features, x, *conv.parameters()])))
    torch.testing.assert_close(*results)
    order = (EDGES[1] * 5 + EDGES[0]).argsort(stable=True)
    torch.testing.assert_close(conv(draw(5, 4), in_form(form, EDGES), draw(8, 2)[order]), results[0][0])


@pytest.mark.parametrize("cls", BOTH)
def test_an_adjacency_forms_no_messages(cls: Any) -> None:
    conv, adj = cls(4, 3, 2).double(), in_form("SparseTensor", EDGES)
    assert conv.fuse_report(draw(5, 4), adj).fused
    conv.register_message_forward_hook(lambda *_: pytest.fail("a message was formed"))
    conv.fuse = True
    assert not conv.fuse_report(draw(5, 4), adj).fused  # the hook would be skipped
    again = cls(4, 3, 2).double()
    again.load_state_dict(conv.state_dict())
    fused = again(draw(5, 4), adj)
    again.fuse = False
    torch.testing.assert_close(again(draw(5, 4), adj), fused)
    again.chunk_bytes = 1
    torch.testing.assert_close(again(draw(5, 4), adj), fused)


@pytest.mark.parametrize("cls", BOTH)
@pytest.mark.parametrize("aggr", ["mean", "max", "median"])
def test_other_aggregations(cls: Any, aggr: str) -> None:
    conv = cls(4, 3, 2, aggr=aggr).double()
    torch.testing.assert_close(conv(draw(5, 4), in_form("SparseTensor", EDGES)), conv(draw(5, 4), EDGES))


@pytest.mark.parametrize("cls", BOTH)
def test_attention_drops_out_in_training_alone(cls: Any) -> None:
    conv = cls(4, 3, 2, dropout=1.0, bias=False).double()
    assert not conv(draw(5, 4), EDGES).any()
    plain = cls(4, 3, 2, bias=False).double()
    plain.load_state_dict(conv.state_dict())
    torch.testing.assert_close(conv.eval()(draw(5, 4), EDGES), plain(draw(5, 4), EDGES))


@pytest.mark.parametrize("cls", BOTH)
@pytest.mark.parametrize("form", ["edge_index", "SparseTensor"])
def test_no_edges_and_no_nodes(cls: Any, form: str) -> None:
    conv = cls(4, 3, 2, add_self_loops=False).double()
    for nodes in (3, 0):
        edges = EDGES[:, :0]
        given = edges if form == "edge_index" else in_form(form, edges, None, (nodes, nodes))
        out = conv(draw(nodes, 4), given)
        torch.testing.assert_close(out, conv.bias.detach().expand(nodes, 6))


@pytest.mark.parametrize("cls", BOTH)
def test_open_sizes_are_those_of_the_first_input(cls: Any) -> None:
    assert cls(-1, 3, 2, residual=True)(draw(5, 4).float(), EDGES).shape == (5, 6)
    conv = cls((-1, -1), 3, 2, add_self_loops=False)
    assert conv((draw(6, 4).float(), draw(5, 2).float()), BIPARTITE).shape == (5, 6)


@pytest.mark.parametrize("cls", BOTH)
def test_errors_name_what_is_wrong(cls: Any) -> None:
    with pytest.raises(ValueError, match="heads: expected at least 1, found 0"):
        cls(4, 3, 0)
    with pytest.raises(ValueError, match="dropout: expected a probability"):
        cls(4, 3, dropout=2.0)
    with pytest.raises(ValueError, match=r"edge_attr: expected none, since .* was made without edge_dim"):
        cls(4, 3).double()(draw(5, 4), EDGES, draw(8, 2))
    with pytest.raises(ValueError, match=r"edge_attr: expected shape \[num_edges, 3\], found \[12, 2\]"):
        cls(4, 3, edge_dim=3).double()(draw(5, 4), EDGES, draw(8, 2))
    with pytest.raises(ValueError, match="edge_attr: expected one row for each of 8 edges"):
        cls(4, 3, edge_dim=2).double()(draw(5, 4), EDGES, draw(7, 2))
    with pytest.raises(ValueError, match=r"x: expected shape \[num_nodes, in_channels\], found \[2, 5, 4\]"):
        cls(4, 3).double()(draw(2, 5, 4), EDGES)
    with pytest.raises(IndexError, match=r"edge_index: expected values in \[0, 4\), found 4"):
        cls(4, 3, add_self_loops=False).double()(draw(4, 4), EDGES)
