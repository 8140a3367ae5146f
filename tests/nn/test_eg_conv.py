"""Bases that are reduced in several ways, and weights of each node's own."""

from types import ModuleType
from typing import Any

import pytest
import torch
from torch import Tensor

from gnnlab import nn as ours
from gnnlab.nn import EGConv
from gnnlab.sparse import SparseTensor
from tests.nn.side_by_side import assert_alike, beside

EDGES = torch.tensor([[0, 1, 2, 2, 3, 4, 0, 1], [1, 0, 1, 3, 2, 2, 2, 1]])  # none reaches node 4
ALL = ["symnorm", "sum", "mean", "min", "max", "var", "std"]


def features() -> Tensor:
    return torch.randn(5, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(0))


def adjacency(value: Tensor | None = None) -> SparseTensor:
    return SparseTensor(row=EDGES[1], col=EDGES[0], value=value, sparse_sizes=(5, 5))


@pytest.mark.parametrize("add_self_loops", [True, False])
@pytest.mark.parametrize("aggregators", [[name] for name in ALL] + [["std", "symnorm", "max"]], ids="-".join)
def test_each_aggregator_as_pyg(pyg: ModuleType, aggregators: list[str], add_self_loops: bool) -> None:
    kwargs: dict[str, Any] = {"num_heads": 3, "num_bases": 2, "add_self_loops": add_self_loops}
    mine, theirs = beside(*(nn.EGConv(4, 6, aggregators, **kwargs) for nn in (ours, pyg)))
    assert_alike(mine, theirs, features(), EDGES)
    assert repr(mine) == repr(theirs)


def test_against_the_edges_as_pyg(pyg: ModuleType) -> None:
    kwargs: dict[str, Any] = {"flow": "target_to_source", "bias": False}
    assert_alike(*beside(*(nn.EGConv(4, 8, ["symnorm", "var"], **kwargs) for nn in (ours, pyg))), features(), EDGES)


@pytest.mark.parametrize("add_self_loops", [True, False])
def test_it_multiplies_by_an_adjacency_whose_values_are_ignored(add_self_loops: bool) -> None:
    conv = EGConv(4, 8, ALL, add_self_loops=add_self_loops).double()
    results = []
    for fuse in (None, False, True):
        conv.fuse = bool(fuse)
        edges: Any = EDGES if fuse is None else adjacency(torch.rand(8).double())
        assert bool(conv.fuse_report(features(), edges)) is bool(fuse)
        x = features().requires_grad_()
        out = conv(x, edges)
        results.append((out, *torch.autograd.grad(out.cos().sum(), [x, *conv.parameters()])))
    torch.testing.assert_close(results[1], results[0])
    torch.testing.assert_close(results[2], results[0])


def test_the_variance_keeps_its_digits_far_from_0() -> None:
    conv = EGConv(1, 1, ["var"], num_heads=1, num_bases=1, add_self_loops=False, bias=False)
    conv.load_state_dict(
        {"bases_lin.weight": torch.ones(1, 1), "comb_lin.weight": torch.zeros(1, 1), "comb_lin.bias": torch.ones(1)}
    )
    x = torch.tensor([[-1.0], [0.0], [1.0], [0.0], [0.0]])
    for edges in (EDGES, adjacency()):
        torch.testing.assert_close(conv(x + 10_000, edges), conv(x, edges))


@pytest.mark.parametrize("form", ["edge_index", "adjacency"])
@pytest.mark.parametrize("aggregators", [["symnorm"], ["max"]])
def test_edges_are_kept_when_asked_to(form: str, aggregators: list[str]) -> None:
    conv = EGConv(4, 8, aggregators, cached=True).double()
    first = conv(features(), EDGES if form == "edge_index" else adjacency())
    assert torch.equal(conv(features(), EDGES[:, :1]), first)
    conv.reset_parameters()
    assert not torch.equal(conv(features(), EDGES[:, :1]), first)


def test_without_loops_or_scale_the_transpose_is_kept_in_the_adjacency() -> None:
    conv, adj = EGConv(4, 8, ["sum", "max"], add_self_loops=False), adjacency()
    conv(features().float().requires_grad_(), adj).sum().backward()
    assert "csr2csc" in adj.cache_info()


def test_without_edges_and_without_nodes() -> None:
    for edges in (EDGES[:, :0], SparseTensor(row=EDGES[0, :0], col=EDGES[0, :0], sparse_sizes=(5, 5))):
        conv = EGConv(4, 8, ["symnorm", "sum", "max", "var"], add_self_loops=False).double()
        torch.testing.assert_close(conv(features(), edges), torch.zeros(5, 8).double())
    assert EGConv(4, 8, ALL)(torch.zeros(0, 4), EDGES[:, :0]).shape == (0, 8)


def test_an_open_size_and_parameters_drawn_anew() -> None:
    conv = EGConv(-1, 8, [])
    assert conv(features().float(), EDGES).shape == (5, 8)
    assert conv.aggregators == ["symnorm"]
    before = [conv.bases_lin.weight.clone(), conv.comb_lin.weight.clone()]
    conv.reset_parameters()
    for old, new in zip(before, (conv.bases_lin.weight, conv.comb_lin.weight), strict=True):
        assert not torch.equal(old, new)


def test_errors_name_what_is_wrong() -> None:
    with pytest.raises(ValueError, match=r"aggregators: expected any of .*, found 'median'"):
        EGConv(4, 8, ["sum", "median"])
    with pytest.raises(ValueError, match=r"num_heads, num_bases: expected at least 1, .* found num_heads=8"):
        EGConv(4, 7)
    with pytest.raises(ValueError, match=r"num_heads, num_bases: expected at least 1, .* found num_heads=0"):
        EGConv(4, 8, num_heads=0)
    with pytest.raises(ValueError, match="x: expected the features of one set of nodes, found a pair"):
        EGConv(4, 8)((features(), features()), EDGES)
    with pytest.raises(IndexError, match="edge_index: expected nodes below num_nodes=4, found 4"):
        EGConv(4, 8).double()(features()[:4], EDGES)
