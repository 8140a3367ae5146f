"""Messages, arguments by name, the fused path and hooks, on every form of edges."""

import copy
import pickle
from typing import Any

import pytest
import torch
from torch import Tensor

from gnnlab.nn import MessagePassing, SimpleConv
from gnnlab.sparse import SparseTensor
from gnnlab.utils import scatter, spmm

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


def test_hooks_see_and_change_what_passes() -> None:
    x, conv, seen = torch.ones(4, 2), Multiplying(), []
    for name in ("propagate", "message", "aggregate"):
        getattr(conv, f"register_{name}_forward_pre_hook")(lambda module, inputs, name=name: seen.append(name))
        getattr(conv, f"register_{name}_forward_hook")(lambda module, inputs, out, name=name: seen.append(-len(seen)))
    expected = Multiplying()(x, EDGES)
    assert torch.equal(conv(x, EDGES), expected)
    assert seen == ["propagate", "message", -2, "aggregate", -4, -5]
    conv.register_message_forward_pre_hook(lambda module, inputs: {name: 10 * v for name, v in inputs[0].items()})
    conv.register_propagate_forward_hook(lambda module, inputs, out: -out)
    assert torch.equal(conv(x, EDGES), -10 * expected)


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
    with pytest.raises(ValueError, match="query: expected one of"):
        MessagePassing(aggr="total")


def test_ids_of_32_bits() -> None:
    x = torch.randn(4, 2).double()
    conv = Edgewise()
    assert torch.equal(conv(x, EDGES.int()), conv(x, EDGES))
