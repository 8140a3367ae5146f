"""Every convolution on every form of edges, forward and backward, and beside PyG's."""

from collections.abc import Callable
from inspect import signature
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn import Linear, Module

from gnnlab import nn as ours
from gnnlab.profile import determinism
from gnnlab.sparse import SparseTensor
from gnnlab.utils.gcn_norm import gcn_norm
from tests.nn.side_by_side import assert_alike, beside

SOURCES, TARGETS = 6, 5
SQUARE = torch.tensor([[0, 1, 2, 2, 3, 4, 0, 1], [1, 0, 1, 3, 2, 2, 2, 1]])  # no edges reach node 4, one loops
BIPARTITE = torch.tensor([[0, 1, 2, 5, 3, 4, 0], [1, 0, 1, 3, 2, 2, 2]])
AGGREGATIONS = ["sum", "mean", "min", "max"]
EG_AGGREGATORS = ["symnorm", "sum", "mean", "min", "max", "var", "std"]

Maker = Callable[[Any], Module]


def mlp(channels: int = 4) -> Module:
    return torch.nn.Sequential(Linear(channels, 3), torch.nn.Tanh(), Linear(3, 2))


class FromItself(Module):
    """A layer that takes first features too, which are twice the others here."""

    def __init__(self, conv: Module) -> None:
        super().__init__()
        self.conv = conv

    def forward(self, x: Tensor, edge_index: Any, edge_weight: Tensor | None = None) -> Tensor:
        return self.conv(x, 2 * x, edge_index, edge_weight)


class FirstOnly(Module):
    """A layer of which only the first output is looked at."""

    def __init__(self, conv: Module) -> None:
        super().__init__()
        self.conv = conv

    def forward(self, x: Tensor, edge_index: Any) -> Tensor:
        return self.conv(x, edge_index)[0]


class SameSigns(Module):
    """A layer of positive and negative edges, which are the same here."""

    def __init__(self, conv: Module) -> None:
        super().__init__()
        self.conv = conv

    def forward(self, x: Tensor, edge_index: Any) -> Tensor:
        return self.conv(x, edge_index, edge_index)


#: By name: how to make the layer from gnnlab.nn or torch_geometric.nn, and what its edges carry.
LAYERS: dict[str, tuple[Maker, str]] = {
    "GCNConv": (lambda nn: nn.GCNConv(4, 3), "weight"),
    "GCNConv improved": (lambda nn: nn.GCNConv(4, 3, improved=True, bias=False), "weight"),
    "GCNConv without loops": (lambda nn: nn.GCNConv(4, 3, add_self_loops=False), "weight"),
    "GCNConv without scale": (lambda nn: nn.GCNConv(4, 3, normalize=False), "weight"),
    "SGConv": (lambda nn: nn.SGConv(4, 3, K=2), "weight"),
    "SSGConv": (lambda nn: nn.SSGConv(4, 3, alpha=0.3, K=2), "weight"),
    "TAGConv": (lambda nn: nn.TAGConv(4, 3, K=2), "weight"),
    "TAGConv without scale": (lambda nn: nn.TAGConv(4, 3, K=2, normalize=False, bias=False), "weight"),
    "LGConv": (lambda nn: nn.LGConv(), "weight"),
    "APPNP": (lambda nn: nn.APPNP(K=2, alpha=0.3), "weight"),
    "GCN2Conv": (lambda nn: FromItself(nn.GCN2Conv(4, 0.3, theta=0.5, layer=2)), "weight"),
    "GCN2Conv apart": (lambda nn: FromItself(nn.GCN2Conv(4, 0.3, shared_weights=False)), "weight"),
    "MixHopConv": (lambda nn: nn.MixHopConv(4, 3, powers=[0, 2]), "weight"),
    "GatedGraphConv": (lambda nn: nn.GatedGraphConv(5, 2), "weight"),
    "GatedGraphConv max": (lambda nn: nn.GatedGraphConv(5, 2, aggr="max", bias=False), "weight"),
    "ClusterGCNConv": (lambda nn: nn.ClusterGCNConv(4, 3, diag_lambda=0.5), "nothing"),
    "ClusterGCNConv without loops": (lambda nn: nn.ClusterGCNConv(4, 3, add_self_loops=False), "nothing"),
    "EdgeConv": (lambda nn: nn.EdgeConv(mlp(8)), "nothing"),
    "GINConv": (lambda nn: nn.GINConv(mlp(), eps=0.5, train_eps=True), "nothing"),
    "GINEConv": (lambda nn: nn.GINEConv(mlp(), edge_dim=2), "features"),
    "SAGEConv project": (lambda nn: nn.SAGEConv(4, 3, project=True, normalize=True), "nothing"),
    "SAGEConv list": (lambda nn: nn.SAGEConv(4, 3, aggr=["mean", "max"]), "nothing"),
    "SAGEConv without root": (lambda nn: nn.SAGEConv(4, 3, root_weight=False), "nothing"),
    "SignedConv": (lambda nn: SameSigns(nn.SignedConv(4, 3, first_aggr=True)), "nothing"),
    "SignedConv later": (lambda nn: SameSigns(nn.SignedConv(2, 3, first_aggr=False, bias=False)), "nothing"),
    "PANConv": (lambda nn: FirstOnly(nn.PANConv(4, 3, filter_size=2)), "nothing"),
    "PDNConv": (lambda nn: nn.PDNConv(4, 3, edge_dim=2, hidden_channels=5), "features"),
    "PDNConv without scale": (lambda nn: nn.PDNConv(4, 3, 2, 5, normalize=False, bias=False), "features"),
    "WLConvContinuous": (lambda nn: nn.WLConvContinuous(), "weight"),
    "EGConv": (lambda nn: nn.EGConv(4, 6, num_heads=2, num_bases=3), "nothing"),
    "EGConv all": (lambda nn: nn.EGConv(4, 6, EG_AGGREGATORS, num_heads=2, num_bases=3), "nothing"),
    "EGConv without loops": (lambda nn: nn.EGConv(4, 6, EG_AGGREGATORS[1:], 2, 3, add_self_loops=False), "nothing"),
    "ARMAConv": (lambda nn: nn.ARMAConv(4, 3), "weight"),
    "ARMAConv stacks": (lambda nn: nn.ARMAConv(4, 3, 2, 3, act=torch.tanh), "weight"),
    "ARMAConv shared": (lambda nn: nn.ARMAConv(4, 3, 2, 3, shared_weights=True, act=None, bias=False), "weight"),
    "ChebConv": (lambda nn: nn.ChebConv(4, 3, K=3), "weight"),
    "ChebConv rw": (lambda nn: nn.ChebConv(4, 3, K=4, normalization="rw", bias=False), "weight"),
    "ChebConv without scale": (lambda nn: nn.ChebConv(4, 3, K=2, normalization=None), "weight"),
    "MFConv": (lambda nn: nn.MFConv(4, 3, max_degree=2), "nothing"),
    "GMMConv": (lambda nn: nn.GMMConv(4, 3, dim=2, kernel_size=5), "features"),
    "GMMConv apart": (lambda nn: nn.GMMConv(4, 3, 2, 5, separate_gaussians=True, aggr="max"), "features"),
    "GATConv": (lambda nn: nn.GATConv(4, 3, heads=2), "nothing"),
    "GATConv mean": (lambda nn: nn.GATConv(4, 3, 2, concat=False, bias=False, residual=True), "nothing"),
    "GATConv apart": (lambda nn: nn.GATConv((4, 4), 3, 2, add_self_loops=False), "nothing"),
    "GATConv features": (lambda nn: nn.GATConv(4, 3, 2, edge_dim=2), "features"),
    "GATConv features filled": (lambda nn: nn.GATConv(4, 3, 2, edge_dim=2, fill_value=0.5), "features"),
    "GATv2Conv": (lambda nn: nn.GATv2Conv(4, 3, heads=2), "nothing"),
    "GATv2Conv shared": (lambda nn: nn.GATv2Conv(4, 3, 2, False, bias=False, share_weights=True), "nothing"),
    "GATv2Conv features": (lambda nn: nn.GATv2Conv(4, 3, 2, edge_dim=2, fill_value="max", residual=True), "features"),
    "GATv2Conv without loops": (lambda nn: nn.GATv2Conv(4, 3, 2, edge_dim=2, add_self_loops=False), "features"),
    "GMMConv without bias": (lambda nn: nn.GMMConv(4, 3, 2, 5, aggr="sum", bias=False), "features"),
    **{f"SAGEConv {a}": (lambda nn, a=a: nn.SAGEConv(4, 3, aggr=a), "nothing") for a in AGGREGATIONS},
    **{f"GraphConv {a}": (lambda nn, a=a: nn.GraphConv(4, 3, aggr=a), "weight") for a in AGGREGATIONS},
    **{f"SimpleConv {a}": (lambda nn, a=a: nn.SimpleConv(a), "weight") for a in AGGREGATIONS},
    **{
        f"SimpleConv {r}": (lambda nn, r=r: nn.SimpleConv(combine_root=r), "weight")
        for r in ("sum", "cat", "self_loop")
    },
}
ONE_SET = (
    "GCN",
    "MixHop",
    "Gated",
    "Cluster",
    "SGConv",
    "SSGConv",
    "TAGConv",
    "LGConv",
    "APPNP",
    "SimpleConv self_loop",
    "PANConv",
    "PDNConv",
    "EGConv",
    "ARMA",
    "Cheb",
)
TWO_SETS = [name for name in LAYERS if not name.startswith(ONE_SET)]


def features(num: int) -> Tensor:
    return torch.randn(num, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(num))


def carried(kind: str, edge_index: Tensor) -> Tensor | None:
    generator = torch.Generator().manual_seed(7)
    if kind == "weight":
        return torch.rand(edge_index.size(1), dtype=torch.float64, generator=generator) + 0.5
    return torch.rand(edge_index.size(1), 2, dtype=torch.float64, generator=generator) if kind == "features" else None


def with_values(form: str, edge_index: Tensor, value: Tensor | None, size: tuple[int, int]) -> Any:
    """The transposed adjacency in one of its forms."""
    adj = SparseTensor(row=edge_index[1], col=edge_index[0], value=value, sparse_sizes=size[::-1])
    if form == "torch_sparse":
        pytest.importorskip("torch_sparse", reason="torch_sparse is not installed")
        return adj.to_torch_sparse()
    if form == "SparseTensor":
        return adj
    adj = adj if value is not None else adj.fill_value(1.0, dtype=torch.float64)
    return {
        "coo": adj.to_torch_sparse_coo_tensor,
        "csr": adj.to_torch_sparse_csr_tensor,
        "csc": adj.to_torch_sparse_csc_tensor,
    }[form]()


@pytest.mark.filterwarnings("ignore:Sparse CSR tensor support is in beta state:UserWarning")
@pytest.mark.filterwarnings("ignore:Sparse invariant checks are implicitly disabled:UserWarning")
@pytest.mark.parametrize("form", ["SparseTensor", "torch_sparse", "coo", "csr", "csc"])
@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("name", LAYERS)
def test_an_adjacency_gives_what_an_edge_index_gives(name: str, weighted: bool, form: str) -> None:
    make, kind = LAYERS[name]
    if kind == "features" and (not weighted or form in ("coo", "csr", "csc")):
        pytest.skip("this form of edges has no features")
    torch.manual_seed(0)
    conv = make(ours).double()
    two = name in TWO_SETS
    edge_index, size = (BIPARTITE, (SOURCES, TARGETS)) if two else (SQUARE, (5, 5))
    x = features(size[0]).requires_grad_()
    given: Any = (x, features(TARGETS)) if two and "list" not in name else x
    if two and "list" in name:
        given = (x, features(TARGETS))
    edge = carried(kind, edge_index) if weighted else None
    kwargs = {} if edge is None else {"edge_attr" if kind == "features" else "edge_weight": edge}
    expected = conv(given, edge_index, **kwargs)
    found = conv(given, with_values(form, edge_index, edge, size))
    torch.testing.assert_close(found, expected, rtol=1e-10, atol=1e-10)
    grad = torch.randn_like(expected)
    leaves = [x, *conv.parameters()]
    for mine, wanted in zip(
        *(torch.autograd.grad(out, leaves, grad, allow_unused=True) for out in (found, expected)), strict=True
    ):
        torch.testing.assert_close(mine, wanted, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("name", LAYERS)
def test_beside_pyg(name: str, weighted: bool) -> None:
    pyg = pytest.importorskip("torch_geometric.nn", reason="compares with torch_geometric")
    make, kind = LAYERS[name]
    if kind == "features" and not weighted:
        pytest.skip("this layer needs edge features")
    if name == "ClusterGCNConv without loops":
        pytest.skip("PyG's layer fails on a graph where some nodes have self-loops and others have not")
    if name == "PANConv":
        pytest.skip("PyG's layer takes float32 alone")
    mine, theirs = beside(make(ours), make(pyg))
    edge = carried(kind, SQUARE) if weighted else None
    if name == "GCNConv improved" and edge is None:  # which PyG leaves out where there are no weights
        edge = torch.ones(SQUARE.size(1), dtype=torch.float64)
    kwargs = {} if edge is None else {"edge_attr" if kind == "features" else "edge_weight": edge}
    assert_alike(mine, theirs, features(5), SQUARE, **kwargs)
    assert repr(mine) == repr(theirs)


@pytest.mark.parametrize("form", ["edge_index", "SparseTensor"])
@pytest.mark.parametrize("name", LAYERS)
def test_a_layer_gives_the_same_bits_run_after_run(name: str, form: str) -> None:
    """On a graph so large that torch adds up the gradients of what is taken by `x[ids]` in no order."""
    make, kind = LAYERS[name]
    torch.manual_seed(0)
    conv, (sources, targets) = make(ours), torch.randint(3000, (2, 40_000))
    edges = torch.stack([sources, targets])
    value = carried(kind, edges)
    inputs = {"x": features(3000).float()}
    if value is not None:
        inputs["edge_weight" if kind == "weight" else "edge_attr"] = value.float()

    def run(x: Tensor, **given: Tensor) -> Tensor:
        if form == "edge_index":
            return conv(x, edges, **given)
        adj = SparseTensor(row=targets, col=sources, value=next(iter(given.values()), None), sparse_sizes=(3000, 3000))
        return conv(x, adj)

    assert determinism(run, 3, (), inputs=inputs).equal


@pytest.mark.parametrize("name", [name for name in LAYERS if LAYERS[name][1] == "weight"])
def test_gradients_reach_the_weights_on_both_paths(name: str) -> None:
    conv = LAYERS[name][0](ours).double()
    results = []
    for by_adjacency in (False, True):
        weight = carried("weight", SQUARE)
        assert weight is not None
        weight.requires_grad_()
        if by_adjacency:
            out = conv(features(5), with_values("SparseTensor", SQUARE, weight, (5, 5)))
        else:
            out = conv(features(5), SQUARE, weight)
        results.append(torch.autograd.grad(out.cos().sum(), weight)[0])
    torch.testing.assert_close(*results)


@pytest.mark.parametrize("form", ["SparseTensor", "torch_sparse", "coo"])
@pytest.mark.parametrize("name", [name for name in LAYERS if LAYERS[name][1] == "nothing"])
def test_layers_without_weights_ignore_an_adjacencys_values(name: str, form: str) -> None:
    conv = LAYERS[name][0](ours).double()
    found = conv(features(5), with_values(form, SQUARE, carried("weight", SQUARE), (5, 5)))
    torch.testing.assert_close(found, conv(features(5), SQUARE))


@pytest.mark.parametrize("method", ["__init__", "forward"])
@pytest.mark.parametrize("name", [name for name in ours.conv.__all__ if name != "MessagePassing"])
def test_signatures_as_pyg(name: str, method: str) -> None:
    pyg = pytest.importorskip("torch_geometric.nn", reason="compares with torch_geometric")
    both = (signature(getattr(getattr(nn, name), method)).parameters.values() for nn in (ours, pyg))
    mine, theirs = ([(p.name, p.kind, repr(p.default)) for p in given] for given in both)
    assert mine == theirs


def test_improved_weighs_loops_2_with_and_without_weights() -> None:
    ones = torch.ones(SQUARE.size(1))
    for mine, wanted in zip(gcn_norm(SQUARE, None, 5, True), gcn_norm(SQUARE, ones, 5, True), strict=True):
        assert torch.equal(mine, wanted)


@pytest.mark.parametrize("add_self_loops", [True, False])
@pytest.mark.parametrize("improved", [True, False])
@pytest.mark.parametrize("flow", ["source_to_target", "target_to_source"])
def test_gcn_norm_beside_pyg(add_self_loops: bool, improved: bool, flow: str) -> None:
    theirs = pytest.importorskip("torch_geometric.nn.conv.gcn_conv", reason="compares with torch_geometric").gcn_norm
    ones = torch.ones(SQUARE.size(1))  # without weights PyG leaves `improved` out
    for weight in (ones if improved else None, carried("weight", SQUARE)):
        args = (SQUARE, weight, 6, improved, add_self_loops, flow)
        for mine, wanted in zip(gcn_norm(*args), theirs(*args), strict=True):
            torch.testing.assert_close(mine, wanted)


def test_gcn_keeps_its_edges_when_asked_to() -> None:
    conv = ours.GCNConv(4, 3, cached=True).double()
    first = conv(features(5), SQUARE)
    assert torch.equal(conv(features(5), SQUARE[:, :2]), first)
    conv.reset_parameters()
    assert not torch.equal(conv(features(5), SQUARE[:, :2]), first)


def test_steps_are_kept_when_asked_to() -> None:
    for conv in (ours.SGConv(4, 3, K=2, cached=True), ours.SSGConv(4, 3, alpha=0.2, cached=True)):
        first = conv.double()(features(5), SQUARE)
        assert torch.equal(conv(features(5) + 1, SQUARE[:, :2]), first)
        conv.reset_parameters()
        assert conv._cached is None


@pytest.mark.parametrize("form", ["edge_index", "SparseTensor"])
def test_edges_drop_out_in_training_alone(form: str) -> None:
    edges = SQUARE if form == "edge_index" else with_values(form, SQUARE, None, (5, 5))
    always, never = ours.APPNP(3, 0.25, dropout=1.0), ours.APPNP(3, 0.25)
    torch.testing.assert_close(always(features(5), edges), 0.25 * features(5))
    assert torch.equal(always.eval()(features(5), edges), never(features(5), edges))


def test_open_sizes_are_those_of_the_first_input() -> None:
    for conv in (ours.GCNConv(-1, 3), ours.SAGEConv((-1, -1), 3), ours.GraphConv(-1, 3), ours.TAGConv(-1, 3)):
        assert conv(features(5).float(), SQUARE).shape == (5, 3)


@pytest.mark.parametrize("name", LAYERS)
def test_an_adjacency_marked_as_not_transposed_is_refused(name: str) -> None:
    make, kind = LAYERS[name]
    adj = with_values("SparseTensor", SQUARE, carried(kind, SQUARE), (5, 5))
    adj.is_transposed = False
    with pytest.raises(ValueError, match="expected the transposed adjacency, found one marked as not"):
        make(ours).double()(features(5), adj)


def test_errors_name_what_is_wrong() -> None:
    with pytest.raises(ValueError, match="add_self_loops: expected False without normalize"):
        ours.GCNConv(4, 3, add_self_loops=True, normalize=False)
    with pytest.raises(ValueError, match="x: expected the features of one set of nodes, found a pair"):
        ours.GCNConv(4, 3)((features(5), features(5)), SQUARE)
    with pytest.raises(ValueError, match="edge_index: expected a square adjacency, found one of 5 x 6"):
        ours.GCNConv(4, 3).double()(features(6), with_values("SparseTensor", BIPARTITE, None, (6, 5)))
    with pytest.raises(ValueError, match=r"powers: expected at least one, none negative, found \[\]"):
        ours.MixHopConv(4, 3, powers=[])
    with pytest.raises(ValueError, match="x: expected at most 3 features, as out_channels, found 4"):
        ours.GatedGraphConv(3, 1)(features(5).float(), SQUARE)
    with pytest.raises(ValueError, match="theta: expected it with layer, or neither"):
        ours.GCN2Conv(4, 0.1, theta=0.5)
    with pytest.raises(ValueError, match="combine_root: expected 'sum', 'cat', 'self_loop' or None, found 'mean'"):
        ours.SimpleConv(combine_root="mean")
    with pytest.raises(ValueError, match="combine_root: expected other than 'self_loop'"):
        ours.SimpleConv(combine_root="self_loop")((features(6), features(5)), BIPARTITE)
    with pytest.raises(ValueError, match="project: expected False where the size of the input is open"):
        ours.SAGEConv(-1, 3, project=True)
    with pytest.raises(ValueError, match="edge_attr: expected 4 features as x has, found 2: give edge_dim"):
        ours.GINEConv(mlp()).double()(features(5), SQUARE, carried("features", SQUARE))
    with pytest.raises(ValueError, match="edge_attr: expected edge features, as an argument or the adjacency's values"):
        ours.GINEConv(mlp()).double()(features(5), SQUARE)
    with pytest.raises(ValueError, match="nn: expected a layer with in_features or in_channels"):
        ours.GINEConv(torch.nn.ReLU(), edge_dim=2)
    with pytest.raises(ValueError, match="edge_weight: expected one row for each of 8 edges"):
        ours.GCNConv(4, 3).double()(features(5), SQUARE, torch.ones(3).double())
