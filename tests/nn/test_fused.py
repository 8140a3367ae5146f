"""The product in place of messages: the same results on any graph, nothing of the size of messages, one transpose."""

from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor
from torch.nn import Linear
from torch.utils._python_dispatch import TorchDispatchMode

from gnnlab.nn import EGConv, GCNConv, GINConv, GraphConv, PDNConv, SAGEConv, SimpleConv, WLConvContinuous
from gnnlab.sparse import SparseTensor
from gnnlab.utils.gcn_norm import gcn_norm


@st.composite
def weighted_edges(draw: st.DrawFn) -> tuple[Tensor, Tensor, tuple[int, int]]:
    """Edges [2, num_edges] with some twice, their weights, and the numbers of sources and targets."""
    sizes = draw(st.integers(1, 6)), draw(st.integers(1, 6))
    num_edges = draw(st.integers(0, 15))
    generator = torch.Generator().manual_seed(draw(st.integers(0, 999)))
    ends = [torch.randint(size, (num_edges,), generator=generator) for size in sizes]
    return torch.stack(ends), torch.randn(num_edges, dtype=torch.float64, generator=generator), sizes


@given(
    weighted_edges(),
    st.sampled_from(["sum", "mean", "min", "max"]),
    st.sampled_from(["SparseTensor", "torch_sparse", "coo"]),
    st.booleans(),
)
def test_any_graph(edges: tuple[Tensor, Tensor, tuple[int, int]], aggr: str, kind: str, ties: bool) -> None:
    edge_index, weight, (num_sources, num_targets) = edges
    if kind == "coo":  # to torch, entries of one place are one entry
        edge_index = edge_index.unique(dim=1)
        weight = weight[: edge_index.size(1)]
    adj: Any = SparseTensor(row=edge_index[1], col=edge_index[0], sparse_sizes=(num_targets, num_sources))
    weight = weight.round() if ties else weight
    x = torch.randn(num_sources, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    x = (x.round() if ties else x).requires_grad_()
    row, col, _ = adj.coo()
    results = []
    for fuse in (None, False, True):
        own, leaf = x.detach().requires_grad_(), weight.clone().requires_grad_()
        conv, given_x = SimpleConv(aggr), (own, torch.ones(num_targets, 1))
        if fuse is None:
            out = conv(given_x, torch.stack([col, row]), leaf)
        else:
            conv.fuse = fuse
            form = in_form(adj.set_value(leaf, layout="coo"), kind)
            assert bool(conv.fuse_report(given_x, form)) is fuse
            out = conv(given_x, form)
        out.sin().sum().backward()
        results.append((out, own.grad, leaf.grad))
    torch.testing.assert_close(results[1], results[0])
    torch.testing.assert_close(results[2], results[0])


def in_form(adj: SparseTensor, kind: str) -> Any:
    if kind == "torch_sparse":
        pytest.importorskip("torch_sparse", reason="torch_sparse is not installed")
        return adj.to_torch_sparse()
    return adj.to_torch_sparse_coo_tensor() if kind == "coo" else adj


class Largest(TorchDispatchMode):
    """Remembers the most numbers in any tensor that an operation gives."""

    def __init__(self) -> None:
        super().__init__()
        self.numel = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = func(*args, **(kwargs or {}))
        for value in out if isinstance(out, (tuple, list)) else (out,):
            if isinstance(value, Tensor):
                self.numel = max(self.numel, value.numel())
        return out


@pytest.mark.parametrize(
    "conv",
    [
        SimpleConv(),
        SimpleConv("max"),
        SAGEConv(8, 8),
        GraphConv(8, 8),
        GINConv(Linear(8, 8)),
        GCNConv(8, 8),
        WLConvContinuous(),
        PDNConv(8, 8, 1, 1),
        EGConv(8, 8, ["symnorm", "std", "max"], num_heads=4),
    ],
    ids=lambda conv: type(conv).__name__,
)
def test_nothing_of_the_size_of_messages(conv: Any) -> None:
    num_nodes, num_edges = 10, 300
    edge_index = torch.randint(num_nodes, (2, num_edges), generator=torch.Generator().manual_seed(0))
    x = torch.randn(num_nodes, 8)
    adj = SparseTensor(row=edge_index[1], col=edge_index[0], sparse_sizes=(num_nodes, num_nodes))
    numel = {}
    for name, edges in (("messages", edge_index), ("product", adj)):
        with Largest() as largest:
            out = conv(x.clone().requires_grad_(), edges)
            out.sum().backward()
        numel[name] = largest.numel
    assert numel["messages"] >= 7 * num_edges  # without self-loops, where they are added
    assert numel["product"] <= 2 * (num_edges + num_nodes)


@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize(
    "conv",
    [SimpleConv(), SAGEConv(4, 4), GINConv(Linear(4, 4)), GCNConv(4, 4, normalize=False)],
    ids=lambda conv: type(conv).__name__,
)
def test_the_transpose_is_kept_in_the_adjacency(conv: Any, weighted: bool) -> None:
    value = torch.rand(4) if weighted else None
    adj = SparseTensor(row=torch.tensor([0, 1, 1, 2]), col=torch.tensor([1, 0, 2, 2]), value=value, sparse_sizes=(3, 3))
    for _ in range(2):
        conv(torch.randn(3, 4, requires_grad=True), adj).sum().backward()
    kept = adj.cache_info()
    assert {"rowptr", "colptr", "csr2csc", "csc_row"} <= kept.keys()


def test_several_aggregations_tell_their_channels() -> None:
    edge_index, x = torch.tensor([[0, 1, 2], [1, 1, 0]]), torch.randn(3, 4)
    for aggr, channels in (("median", 4), (["sum", "max"], 8)):
        for in_channels in (4, -1):
            conv = SAGEConv(in_channels, 2, aggr=aggr)
            assert conv(x, edge_index).shape == (3, 2)
            assert conv.lin_l.in_channels == channels
    quantiles = SAGEConv(4, 2, aggr=["mean", "quantile"], aggr_kwargs={"aggrs_kwargs": [{}, {"q": [0.2, 0.7]}]})
    assert quantiles(x, edge_index).shape == (3, 2)
    assert quantiles.lin_l.in_channels == 12


@pytest.mark.parametrize("form", ["edge_index", "SparseTensor"])
def test_weights_that_add_up_to_0_have_finite_gradients(form: str) -> None:
    edge_index, weight = torch.tensor([[0, 1, 2], [1, 0, 0]]), torch.tensor([0.0, 1.0, 2.0], requires_grad=True)
    adj = SparseTensor(row=edge_index[1], col=edge_index[0], value=weight, sparse_sizes=(3, 3))
    edges = (edge_index, weight) if form == "edge_index" else (adj,)
    GCNConv(4, 4, add_self_loops=False)(torch.rand(3, 4), *edges).sum().backward()
    assert weight.grad is not None
    assert weight.grad.isfinite().all()


@pytest.mark.parametrize("kind", ["SparseTensor", "torch_sparse", "coo"])
def test_weights_beside_an_adjacency_are_refused_where_it_is_normalised(kind: str) -> None:
    adj = in_form(SparseTensor.eye(3), kind)
    with pytest.raises(ValueError, match="edge_weight: expected None with an adjacency"):
        gcn_norm(adj, torch.ones(3))
    with pytest.raises(ValueError, match="edge_weight: expected None with an adjacency"):
        GCNConv(4, 4)(torch.ones(3, 4), adj, torch.ones(3))
