"""Messages, arguments by name, the fused path and hooks, on every form of edges."""

import copy
import pickle
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn import Linear

from gnnlab.nn import (
    ClusterGCNConv,
    EdgeConv,
    EGConv,
    GATConv,
    GATv2Conv,
    GCNConv,
    GINConv,
    GINEConv,
    GraphConv,
    MessagePassing,
    PDNConv,
    SAGEConv,
    SGConv,
    SimpleConv,
    WLConvContinuous,
)
from gnnlab.nn.conv.message_passing import CHUNK_BYTES
from gnnlab.sparse import SparseTensor
from gnnlab.utils import scatter, softmax, spmm

EDGES = torch.tensor([[0, 1, 2, 2, 3, 3, 0], [1, 0, 1, 3, 2, 2, 1]])  # one edge twice


def adjacency(
    kind: str, edge_index: Tensor = EDGES, value: Tensor | None = None, size: tuple[int, int] = (4, 4)
) -> Any:
    """The transposed adjacency of `size` (sources, targets) as one of several kinds."""
    adj = SparseTensor(row=edge_index[1], col=edge_index[0], value=value, sparse_sizes=size[::-1])
    if kind == "torch_sparse":
        pytest.importorskip("torch_sparse", reason="torch_sparse is not installed")
        return adj.to_torch_sparse()
    if kind == "coo":
        return adj.to_torch_sparse_coo_tensor()
    return adj


class Edgewise(MessagePassing):
    """A layer of a user's own whose messages are no product."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.mlp = torch.nn.Sequential(torch.nn.Linear(2, 5), torch.nn.Tanh(), torch.nn.Linear(5, 3)).double()

    def forward(self, x: Any, edge_index: Any, size: Any = None) -> Tensor:
        return self.propagate(edge_index, x=x, size=size)

    def message(self, x_i: Tensor, x_j: Tensor) -> Tensor:
        return self.mlp(x_j - x_i)


class Multiplying(MessagePassing):
    """A layer of a user's own with both paths."""

    def forward(self, x: Tensor, edge_index: Any) -> Tensor:
        return self.propagate(edge_index, x=x)

    def message(self, x_j: Tensor) -> Tensor:
        return 2 * x_j

    def message_and_aggregate(self, adj_t: Any, x: Tensor) -> Tensor:
        return spmm(adj_t, 2 * x, self.aggr)


@pytest.mark.parametrize("kind", ["edge_index", "SparseTensor", "torch_sparse"])
@pytest.mark.parametrize("aggr", ["sum", "add", "mean", "min", "max", "mul", ["sum", "max"]])
def test_a_users_layer_by_hand(kind: str, aggr: Any) -> None:
    x = torch.randn(4, 2, dtype=torch.float64, requires_grad=True)
    conv = Edgewise(aggr=aggr)
    edges = EDGES if kind == "edge_index" else adjacency(kind)
    out = conv(x, edges)
    messages = conv.mlp(x[EDGES[0]] - x[EDGES[1]])
    names = aggr if isinstance(aggr, list) else [aggr]
    expected = torch.cat([scatter(messages, EDGES[1], 0, 4, name) for name in names], dim=-1)
    torch.testing.assert_close(out, expected)
    grad = torch.randn_like(out)
    found, wanted = (torch.autograd.grad(y, x, grad)[0] for y in (out, expected))
    torch.testing.assert_close(found, wanted)


@pytest.mark.parametrize("aggr", ["sum", "add", "mean", "min", "max"])
@pytest.mark.parametrize("kind", ["SparseTensor", "torch_sparse", "coo"])
def test_both_paths_of_a_layer_are_equal(kind: str, aggr: str) -> None:
    x = torch.randn(4, 3, dtype=torch.float64).round(decimals=1).requires_grad_()
    conv = Multiplying(aggr=aggr)
    adj = adjacency(kind, torch.unique(EDGES, dim=1))
    assert conv.fuse_report(x, adj)
    fused = conv(x, adj)
    conv.fuse = False
    assert not conv.fuse_report(x, adj)
    sent = conv(x, adj)
    by_edges = conv(x, torch.unique(EDGES, dim=1))
    grad = torch.randn_like(fused)
    for other in (sent, by_edges):
        torch.testing.assert_close(fused, other)
        torch.testing.assert_close(*(torch.autograd.grad(y, x, grad, retain_graph=True)[0] for y in (fused, other)))


def test_the_report_says_why() -> None:
    x, adj = torch.ones(4, 2), adjacency("SparseTensor")
    assert "the edges are an edge_index" in Multiplying().fuse_report(x, EDGES).reason
    assert "no product" in Edgewise().fuse_report(x, adj).reason
    assert "none of sum, mean, min and max" in Multiplying(aggr="mul").fuse_report(x, adj).reason
    assert "none of sum, mean, min and max" in Multiplying(aggr=["sum", "max"]).fuse_report(x, adj).reason
    conv = Multiplying()
    assert "multiplies by the adjacency" in conv.fuse_report(x, adj).reason
    handle = conv.register_message_forward_hook(lambda module, inputs, out: 3 * out)
    assert "hook is registered on message" in conv.fuse_report(x, adj).reason
    assert torch.equal(conv(x, adj), conv(x, EDGES))
    handle.remove()
    assert conv.fuse_report(x, adj)


class Everything(MessagePassing):
    """Names all that is known of the edges."""

    def forward(self, x: Any, edge_index: Any, size: Any = None) -> dict[str, Any]:
        self.propagate(edge_index, x=x, size=size, scale=2.0, edge_weight=None)
        return self.seen

    def message(self, x_i, x_j, edge_weight, scale, index, ptr, size, size_i, size_j, edge_index, adj_t, other=7):  # type: ignore[no-untyped-def]
        names = locals()
        self.seen = {name: names[name] for name in names if name != "self"}
        return x_j * scale

    def aggregate(self, inputs, index, ptr, dim_size, edge_index_i, edge_index_j):  # type: ignore[no-untyped-def]
        self.seen |= {"dim_size": dim_size, "edge_index_i": edge_index_i, "edge_index_j": edge_index_j}
        return super().aggregate(inputs, index, ptr, dim_size)


@pytest.mark.parametrize("flow", ["source_to_target", "target_to_source"])
def test_every_name(flow: str) -> None:
    edge_index = torch.tensor([[0, 1, 2], [1, 0, 1]])
    source, target = (edge_index[0], edge_index[1]) if flow == "source_to_target" else (edge_index[1], edge_index[0])
    sizes = (3, 2)
    x = torch.randn(3, 2), torch.randn(2, 2)
    ends = x if flow == "source_to_target" else x[::-1]
    seen = Everything(flow=flow)(x, edge_index)
    assert torch.equal(seen["x_j"], ends[0][source])
    assert torch.equal(seen["x_i"], ends[1][target])
    assert torch.equal(seen["index"], target)
    assert torch.equal(seen["edge_index_i"], target)
    assert torch.equal(seen["edge_index_j"], source)
    assert seen["size"] == list(sizes)
    size_j, size_i = sizes if flow == "source_to_target" else sizes[::-1]
    assert (seen["size_i"], seen["size_j"], seen["dim_size"]) == (size_i, size_j, size_i)
    assert (seen["scale"], seen["other"], seen["ptr"], seen["adj_t"], seen["edge_weight"]) == (2.0, 7, None, None, None)
    assert seen["edge_index"] is edge_index


def test_an_adjacency_gives_its_pointers_and_values() -> None:
    value = torch.arange(1.0, 8.0)
    adj = adjacency("SparseTensor", value=value)
    seen = Everything()(torch.ones(4, 1), adj)
    assert torch.equal(seen["ptr"], adj.storage.rowptr())
    assert torch.equal(seen["edge_weight"], adj.storage.value())
    assert seen["adj_t"] is adj
    assert seen["edge_index"] is None


def test_static_graphs_and_other_node_dimensions() -> None:
    x = torch.randn(2, 5, 4, 3)
    out = SimpleConv()(x, EDGES)
    for i in range(2):
        for k in range(5):
            torch.testing.assert_close(out[i, k], SimpleConv()(x[i, k], EDGES))
    torch.testing.assert_close(Multiplying(node_dim=0)(x[0, 0], EDGES), Multiplying()(x[0, 0], EDGES))


def test_a_product_is_not_taken_where_nodes_are_not_the_first_dimension() -> None:
    x, adj = torch.randn(4, 4, 3), adjacency("SparseTensor")
    report = Multiplying().fuse_report(x, adj)
    assert "x has its nodes along dimension -2 of 3" in report.reason
    torch.testing.assert_close(Multiplying()(x, adj), Multiplying()(x, EDGES))
    assert Multiplying(node_dim=0).fuse_report(x, adj)
    torch.testing.assert_close(Multiplying(node_dim=0)(x, adj), Multiplying(node_dim=0)(x, EDGES))


class Louder(GCNConv):
    """Overrides the message of a layer that has a product."""

    def message(self, x_j: Tensor, edge_weight: Tensor) -> Tensor:
        return 10 * super().message(x_j, edge_weight)


class Median(GCNConv):
    """Overrides the aggregation of a layer that has a product."""

    def aggregate(self, inputs: Tensor, index: Tensor, dim_size: int) -> Tensor:
        return torch.stack([inputs[index == i].median(dim=0).values for i in range(dim_size)])


@pytest.mark.parametrize("cls", [Louder, Median])
def test_a_product_never_stands_in_for_what_a_subclass_overrides(cls: type[GCNConv]) -> None:
    conv, x, adj = cls(2, 3), torch.randn(4, 2), adjacency("SparseTensor")
    assert "but not the message_and_aggregate that stands for it" in conv.fuse_report(x, adj).reason
    torch.testing.assert_close(conv(x, adj), conv(x, EDGES))
    plain = GCNConv(2, 3)
    plain.load_state_dict(conv.state_dict())
    assert not torch.allclose(conv(x, adj), plain(x, adj))


def test_weights_given_beside_an_adjacency_are_used() -> None:
    x, weight = torch.randn(4, 2), torch.arange(1.0, 8.0)
    adj = adjacency("SparseTensor")
    assert Multiplying().fuse_report(x, adj)
    row, col, _ = adj.coo()
    found = SimpleConv()(x, adj, edge_weight=weight)
    torch.testing.assert_close(found, SimpleConv()(x, torch.stack([col, row]), edge_weight=weight))


class Blocky(MessagePassing):
    """Looks up what it needs in every way there is, and remembers how many edges it saw."""

    seen: list[int]

    def forward(self, x: Any, edges: Any, gate: Any, scale: Any) -> Tensor:
        self.seen = []
        return self.propagate(edges, x=x, gate=gate, scale=scale)

    def message(self, x_i, x_j, gate, scale, index, ptr, size_i, edge_index_j, edge_attr):  # type: ignore[no-untyped-def]
        self.seen.append(x_j.size(-2))
        share = softmax((x_j * x_i).sum(-1, keepdim=True), index, ptr, size_i, dim=-2)
        return share * x_j * gate * (edge_attr * scale[index]).unsqueeze(-1) + edge_index_j.unsqueeze(-1)


class BlockyAggregate(Blocky):
    """And in the aggregation."""

    def aggregate(self, inputs, index, dim_size, gate, scale):  # type: ignore[no-untyped-def]
        return scatter(inputs * gate, index, -2, dim_size) * scale.unsqueeze(-1)


@pytest.mark.parametrize("cls", [Blocky, BlockyAggregate])
@pytest.mark.parametrize("aggr", ["sum", "max", ["mean", "min"]])
@pytest.mark.parametrize("shape", [(9, 3), (2, 9, 3)])
@pytest.mark.parametrize("kind", ["SparseTensor", "torch_sparse"])
def test_blocks_of_targets_give_what_all_edges_give(cls: Any, aggr: Any, shape: tuple[int, ...], kind: str) -> None:
    generator = torch.Generator().manual_seed(0)
    edges = torch.stack([torch.randint(9, (40,), generator=generator), torch.randint(7, (40,), generator=generator)])
    x, gate, scale = (torch.randn(s, dtype=torch.float64, generator=generator) for s in (shape, (40, 1), (9,)))
    value = torch.rand(40, dtype=torch.float64, generator=generator)
    leaves = [leaf.requires_grad_() for leaf in (x, gate, scale, value)]
    adj = adjacency(kind, edges, value, (9, 9))
    conv = cls(aggr=aggr)
    expected = conv(x, adj, gate, scale)
    assert conv.seen == [40]
    edge_bytes = 8 * (2 * x.numel() // 9 + 2)
    grad = torch.randn_like(expected)
    for num_edges in (1, 12, 39, 40):
        conv.chunk_bytes = num_edges * edge_bytes
        found = conv(x, adj, gate, scale)
        degrees = torch.bincount(edges[1], minlength=9)
        assert sum(conv.seen) == 40
        assert max(conv.seen) <= max(num_edges, int(degrees.max()))
        torch.testing.assert_close(found, expected)
        pairs = (torch.autograd.grad(out, leaves, grad, retain_graph=True) for out in (found, expected))
        torch.testing.assert_close(*pairs)
        with torch.no_grad():
            torch.testing.assert_close(conv(x, adj, gate, scale), expected)
    assert f"sent in blocks of {40 * edge_bytes} bytes" in conv.fuse_report(x, adj).reason


@pytest.mark.parametrize("chunk_bytes", [None, 1])
def test_blocks_keep_no_messages_for_the_gradient(chunk_bytes: int | None) -> None:
    kept: list[int] = []
    x = torch.randn(4, 2, dtype=torch.float64, requires_grad=True)
    with torch.autograd.graph.saved_tensors_hooks(
        lambda saved: kept.append(saved.numel()) or saved, lambda saved: saved
    ):
        Edgewise(chunk_bytes=chunk_bytes)(x, adjacency("SparseTensor"))
    assert (7 * 5 in kept) == (chunk_bytes is None)  # seven edges, five channels in the middle of the perceptron


def test_what_may_run_over_nodes_is_not_cut_into_blocks() -> None:
    adj = SparseTensor.eye(4).set_value(torch.rand(4))
    conv, x, gate, scale = Blocky(), torch.randn(4, 2), torch.randn(4, 1), torch.randn(4)
    expected = conv(x, adj, gate, scale)
    conv.chunk_bytes = 1
    torch.testing.assert_close(conv(x, adj, gate, scale), expected)
    assert conv.seen == [4]


def make_perceptron(size: int) -> torch.nn.Module:
    return torch.nn.Sequential(torch.nn.Linear(size, 3), torch.nn.Tanh())


@pytest.mark.parametrize(
    "conv",
    [
        GINEConv(make_perceptron(2), edge_dim=1, chunk_bytes=40),
        EdgeConv(make_perceptron(4), chunk_bytes=40),
        SAGEConv(2, 3, aggr="median", chunk_bytes=40),
        SAGEConv(2, 3, aggr=["mean", "std"], chunk_bytes=40),
        GCNConv(2, 3, aggr="mul", chunk_bytes=40),
    ],
    ids=lambda conv: type(conv).__name__,
)
def test_layers_in_blocks(conv: Any) -> None:
    conv, calls = conv.double(), []
    x, value = torch.randn(4, 2, dtype=torch.float64), torch.rand(7, dtype=torch.float64) + 0.5
    adj = adjacency("SparseTensor", value=value)
    handle = conv.register_message_forward_hook(lambda module, inputs, out: calls.append(out.size(0)))
    in_blocks = conv(x, adj)
    handle.remove()
    assert 1 < len(calls) <= 4
    conv.chunk_bytes = None
    torch.testing.assert_close(in_blocks, conv(x, adj))
    parameters = list(conv.parameters())
    grads = (torch.autograd.grad(out.cos().sum(), parameters) for out in (in_blocks, conv(x, adj)))
    torch.testing.assert_close(*grads)


def test_blocks_of_dropped_messages_are_the_same_in_both_directions() -> None:
    class Dropping(MessagePassing):
        def forward(self, x: Tensor, edges: Any) -> Tensor:
            return self.propagate(edges, x=x)

        def message(self, x_j: Tensor) -> Tensor:
            return torch.nn.functional.dropout(x_j, 0.5)

    x = torch.ones(4, 6, requires_grad=True)
    adj = adjacency("SparseTensor")
    out = Dropping(chunk_bytes=1)(x, adj)
    out.backward(torch.ones_like(out))
    assert x.grad is not None
    assert out.sum() == x.grad.sum()


def test_parts_of_the_features_one_after_another() -> None:
    x = torch.randn(4, 6)
    for num in (2, 3):
        torch.testing.assert_close(Multiplying(decomposed_layers=num)(x, EDGES), Multiplying()(x, EDGES))
    with pytest.raises(ValueError, match="decomposed_layers: 6 features can't be had in 4 equal parts"):
        Multiplying(decomposed_layers=4)(x, EDGES)


class Updating(MessagePassing):
    """Computes something of its edges first."""

    def forward(self, x: Tensor, edge_index: Any) -> Tensor:
        return self.edge_updater(edge_index, x=x)

    def edge_update(self, x_i: Tensor, x_j: Tensor) -> Tensor:
        return x_i * x_j


def test_edges_are_updated() -> None:
    x = torch.randn(4, 2)
    assert torch.equal(Updating()(x, EDGES), x[EDGES[1]] * x[EDGES[0]])


def outline(value: Any) -> Any:
    """What a hook is given, by its shapes."""
    if isinstance(value, Tensor):
        return list(value.shape)
    if isinstance(value, dict):
        return {key: outline(item) for key, item in value.items()}
    if isinstance(value, (tuple, list)):
        return type(value)(map(outline, value))
    return type(value).__name__


def make_hooked(base: Any) -> Any:
    class Layer(base):  # type: ignore[misc]
        def forward(self, x: Tensor, edges: Any) -> Any:
            return self.propagate(edges, x=x, scale=2), self.edge_updater(edges, x=x)

        def message(self, x_j: Tensor, scale: int) -> Tensor:
            return x_j

        def message_and_aggregate(self, adj_t: Any, x: Tensor) -> Tensor:
            return adj_t @ x

        def edge_update(self, x_i: Tensor, x_j: Tensor) -> Tensor:
            return x_i * x_j

    return Layer()


def calls_of_hooks(layer: Any, functions: list[str], edges: Any) -> list[Any]:
    calls: list[Any] = []
    for name in functions:
        for when in ("forward_pre", "forward"):

            def hook(module: Any, *given: Any, name: str = name, when: str = when) -> None:
                calls.append((name, when, *map(outline, given)))

            getattr(layer, f"register_{name}_{when}_hook")(hook)
    layer(torch.ones(4, 3), edges)
    return calls


@pytest.mark.parametrize("kind", ["edge_index", "coo"])
def test_hooks_see_what_pygs_see(kind: str) -> None:
    pyg = pytest.importorskip("torch_geometric.nn", reason="compares with torch_geometric")
    functions = (
        ["propagate", "message", "aggregate"] if kind == "edge_index" else ["propagate", "message_and_aggregate"]
    )
    functions.append("edge_update")
    edges = EDGES if kind == "edge_index" else torch.eye(4).to_sparse()
    ours, theirs = (
        calls_of_hooks(make_hooked(base), functions, edges) for base in (MessagePassing, pyg.MessagePassing)
    )
    assert ours == theirs
    assert [call[0] for call in ours].count("edge_update") == 2


def test_hooks_change_what_passes() -> None:
    x, conv = torch.ones(4, 2), Multiplying()
    expected = conv(x, EDGES)
    handles = [
        conv.register_message_forward_pre_hook(lambda module, inputs: {"x_j": 10 * inputs[0]["x_j"]}),
        conv.register_message_forward_hook(lambda module, inputs, out: out + 1),
        conv.register_propagate_forward_hook(lambda module, inputs, out: -out),
        conv.register_propagate_forward_pre_hook(lambda module, inputs: (inputs[0].flip(0), *inputs[1:])),
    ]
    flipped = Multiplying()(x, EDGES.flip(0))
    assert torch.equal(conv(x, EDGES), -(10 * flipped + flipped / 2))
    for handle in handles:
        handle.remove()
    assert torch.equal(conv(x, EDGES), expected)


def test_hooks_of_the_product_change_it() -> None:
    x, conv, adj = torch.ones(4, 2), Multiplying(), adjacency("SparseTensor")
    conv.register_message_and_aggregate_forward_pre_hook(lambda module, inputs: (inputs[0].t(), inputs[1]))
    conv.register_message_and_aggregate_forward_hook(lambda module, inputs, out: -out)
    assert torch.equal(conv(x, adj), -Multiplying()(x, EDGES.flip(0)))


def test_hooks_of_the_edge_update_change_it() -> None:
    x, conv = torch.randn(4, 2), Updating()
    conv.register_edge_update_forward_pre_hook(lambda module, inputs: (*inputs[:2], {"x_i": x, "x_j": x}))
    conv.register_edge_update_forward_hook(lambda module, inputs, out: -out)
    assert torch.equal(conv(x, EDGES), -x * x)


def test_a_layer_pickles_and_copies() -> None:
    conv, x = Edgewise(), torch.randn(4, 2).double()
    for other in (pickle.loads(pickle.dumps(conv)), copy.deepcopy(conv)):
        assert torch.equal(other(x, EDGES), conv(x, EDGES))


def test_no_edges_and_nodes_that_nothing_reaches() -> None:
    none = torch.empty(2, 0, dtype=torch.long)
    for aggr in ("sum", "mean", "max"):
        assert Multiplying(aggr=aggr)(torch.ones(3, 2), none).tolist() == [[0.0, 0.0]] * 3
        adj = SparseTensor(row=none[0], col=none[1], sparse_sizes=(3, 3))
        assert Multiplying(aggr=aggr)(torch.ones(3, 2), adj).tolist() == [[0.0, 0.0]] * 3


def test_errors_name_what_is_wrong() -> None:
    conv, x = Edgewise(), torch.randn(4, 2).double()
    for wrong, error, text in [
        (torch.tensor([[0, 4], [1, 1]]), IndexError, r"edge_index: expected values in \[0, 4\), found 4"),
        (torch.tensor([[0, 1], [1, 4]]), IndexError, r"edge_index: expected values in \[0, 4\), found 4"),
        (torch.tensor([[0, -1], [1, 1]]), IndexError, r"edge_index: expected values in \[0, 4\), found -1"),
        (torch.tensor([[0, 1], [1, -1]]), IndexError, r"edge_index: expected values in \[0, 4\), found -1"),
        (torch.tensor([[0.0, 1.0], [1.0, 1.0]]), ValueError, "edge_index: expected an integer dtype"),
        (torch.tensor([0, 1]), ValueError, r"edge_index: expected shape \[2, num_edges\]"),
        (torch.tensor([[0, 1, 2]]), ValueError, r"edge_index: expected shape \[2, num_edges\]"),
        ([[0], [1]], ValueError, "edge_index: expected a tensor of integers, found list"),
        (adjacency("SparseTensor", size=(5, 4)), ValueError, "x: expected 5 nodes along dimension -2, found 4"),
    ]:
        with pytest.raises(error, match=text):
            conv(x, wrong)
    with pytest.raises(IndexError, match=r"edge_index: expected values in \[0, 3\), found 3"):
        SimpleConv()((torch.ones(4, 1), torch.ones(3, 1)), torch.tensor([[0], [3]]))
    with pytest.raises(ValueError, match="x: expected 7 nodes along dimension -2, found 4"):
        conv(x, EDGES, size=(7, 4))
    with pytest.raises(ValueError, match="x: expected what sources and targets have, found 3 values"):
        conv((x, x, x), EDGES)
    with pytest.raises(TypeError, match=r"Edgewise\.message: missing argument 'x', of which 'x_i' is made"):
        conv.propagate(EDGES)
    with pytest.raises(TypeError, match=r"Everything\.message: missing argument 'scale'"):
        Everything().propagate(EDGES, x=x, edge_weight=None)
    with pytest.raises(ValueError, match="flow: expected 'source_to_target'"):
        MessagePassing(flow="up")
    with pytest.raises(ValueError, match="flow: expected 'source_to_target' with an adjacency"):
        Edgewise(flow="target_to_source")(x, adjacency("SparseTensor"))
    with pytest.raises(ValueError, match="decomposed_layers: expected at least 1, found 0"):
        MessagePassing(decomposed_layers=0)
    with pytest.raises(ValueError, match="chunk_bytes: expected at least 1 or None, found 0"):
        MessagePassing(chunk_bytes=0)
    with pytest.raises(ValueError, match="query: expected one of"):
        MessagePassing(aggr="total")


def test_edges_elsewhere_are_refused() -> None:
    with pytest.raises(ValueError, match="edge_index: expected it on meta as x is, found it on cpu"):
        Edgewise()(torch.ones(4, 2, device="meta"), EDGES)


@pytest.mark.parametrize(
    "conv",
    [Multiplying(), Edgewise(), GCNConv(2, 3).double(), SAGEConv(2, 3, aggr="median", chunk_bytes=1).double()],
    ids=lambda conv: type(conv).__name__,
)
def test_an_adjacency_that_is_marked_as_not_transposed_is_refused(conv: Any) -> None:
    adj_t = SparseTensor(row=EDGES[1], col=EDGES[0], sparse_sizes=(4, 4), is_transposed=True)
    x = torch.randn(4, 2, dtype=torch.float64)
    torch.testing.assert_close(conv(x, adj_t), conv(x, adjacency("SparseTensor")))
    with pytest.raises(ValueError, match="edge_index: expected the transposed adjacency, found one marked as not"):
        conv(x, adj_t.t())


def test_torchscript_is_refused_by_name() -> None:
    with pytest.raises(ImportError, match=r"gnnlab has no TorchScript: use torch\.compile"):
        SimpleConv().jittable()


@pytest.mark.filterwarnings("ignore:Dynamo detected a call to a `functools.lru_cache`:UserWarning")  # of backends
@pytest.mark.parametrize("form", ["edge_index", "SparseTensor"])
@pytest.mark.parametrize(
    "conv",
    [
        Edgewise(aggr="max"),
        Multiplying(),
        GCNConv(2, 3),
        GCNConv(2, 3, normalize=False),
        SAGEConv(2, 3),
        GINConv(Linear(2, 3)),
        GraphConv(2, 3),
        SimpleConv("mean"),
        SGConv(2, 3),
        EGConv(2, 8),
        PDNConv(2, 3, edge_dim=1, hidden_channels=1),
        WLConvContinuous(),
        ClusterGCNConv(2, 3),
        GATConv(2, 3, heads=2),
        GATv2Conv(2, 3, heads=2),
    ],
    ids=lambda conv: type(conv).__name__,
)
def test_a_layer_compiles_in_one_graph(conv: Any, form: str) -> None:
    conv, x = conv.double(), torch.randn(4, 2, dtype=torch.float64)
    edges = EDGES if form == "edge_index" else adjacency(form)
    if form == "SparseTensor":
        conv(x, edges)  # the kernel is loaded
    torch.compiler.reset()
    compiled = torch.compile(conv, backend="eager", fullgraph=True)
    torch.testing.assert_close(compiled(x, edges), conv(x, edges))


def test_ids_of_32_bits() -> None:
    x = torch.randn(4, 2).double()
    conv = Edgewise()
    assert torch.equal(conv(x, EDGES.int()), conv(x, EDGES))


def test_a_layer_with_edge_features_sends_in_blocks_unless_told_otherwise() -> None:
    adj = adjacency("SparseTensor").set_value(torch.rand(7, 1))
    conv, x = GINEConv(make_perceptron(2), edge_dim=1), torch.rand(4, 2)
    assert f"in blocks of {CHUNK_BYTES} bytes" in conv.fuse_report(x, adj).reason
    seen: list[int] = []
    conv.register_message_forward_hook(lambda module, inputs, out: seen.append(len(out)))
    at_once = conv(x, adj)
    conv.chunk_bytes = 12  # of one edge
    torch.testing.assert_close(conv(x, adj), at_once)
    assert seen[0] == sum(seen[1:]) == 7
    assert len(seen) > 3
