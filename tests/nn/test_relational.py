"""Weights by relation: each option and form of edges beside PyG's, one relation after another and all at once."""

from types import ModuleType
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from gnnlab import nn as ours
from gnnlab.nn import FastRGCNConv, RGCNConv
from gnnlab.sparse import SparseTensor
from tests.nn.side_by_side import assert_alike, beside
from tests.nn.test_fused import Largest

EDGES = torch.tensor([[0, 1, 2, 2, 3, 4, 0, 1], [1, 0, 1, 3, 2, 2, 2, 1]])  # none reaches node 4
TYPES = torch.tensor([0, 1, 3, 0, 3, 0, 1, 3])  # none is of relation 2
TWICE = torch.tensor([[0, 0, 0, 2], [1, 1, 1, 1]]), torch.tensor([0, 0, 1, 0])  # several edges between two nodes
PAIR = torch.tensor([[0, 1, 2, 5, 3, 4, 0], [1, 0, 1, 3, 2, 2, 2]]), torch.tensor([0, 1, 3, 0, 3, 0, 1])  # 6 to 5
FORMS = ["SparseTensor", "torch_sparse", "coo", "csr", "csc"]
OPTIONS: list[dict[str, Any]] = [
    {},
    {"num_bases": 2},
    {"num_blocks": 2},
    {"aggr": "sum", "root_weight": False},
    {"aggr": "add", "bias": False},
]
BOTH = [RGCNConv, FastRGCNConv]

quiet = pytest.mark.filterwarnings("ignore:Sparse (CSR|CSC|invariant checks)[a-z ]*:UserWarning")


def draw(*shape: int) -> Tensor:
    return torch.randn(shape, dtype=torch.float64, generator=torch.Generator().manual_seed(len(shape)))


def in_form(form: str, edge_index: Tensor, edge_type: Tensor | None, size: tuple[int, int] = (5, 5)) -> Any:
    """The transposed adjacency of `size` (sources, targets), whose values are relations."""
    adj = SparseTensor(row=edge_index[1], col=edge_index[0], value=edge_type, sparse_sizes=size[::-1])
    if form == "torch_sparse":
        pytest.importorskip("torch_sparse", reason="torch_sparse is not installed")
        return adj.to_torch_sparse()
    return adj if form == "SparseTensor" else getattr(adj, f"to_torch_sparse_{form}_tensor")()


def with_gradients(conv: Any, x: Any, *edges: Any) -> list[Tensor | None]:
    """The output, and the gradients for `x` where it has any and for all parameters."""
    leaves = [x.detach().requires_grad_()] if isinstance(x, Tensor) and x.is_floating_point() else []
    out = conv(leaves[0] if leaves else x, *edges)
    return [out, *torch.autograd.grad(out.cos().sum(), [*leaves, *conv.parameters()], allow_unused=True)]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("cls", BOTH)
def test_options_beside_pyg(pyg: ModuleType, cls: Any, options: dict[str, Any]) -> None:
    mine, theirs = beside(*(getattr(nn, cls.__name__)(4, 6, 4, **options) for nn in (ours, pyg)))
    assert repr(mine) == repr(theirs)
    for edges, types in ((EDGES, TYPES), TWICE, (EDGES[:, :0], TYPES[:0])):
        assert_alike(mine, theirs, draw(5, 4), edges, types)


@pytest.mark.parametrize("aggr", ["min", "max"])
def test_extremes_of_a_relation_beside_pyg(pyg: ModuleType, aggr: str) -> None:
    mine, theirs = beside(*(nn.RGCNConv(4, 3, 4, aggr=aggr) for nn in (ours, pyg)))
    assert_alike(mine, theirs, draw(5, 4), EDGES, TYPES)


@pytest.mark.parametrize("flow", ["source_to_target", "target_to_source"])
@pytest.mark.parametrize("cls", BOTH)
def test_rows_of_weights_beside_pyg(pyg: ModuleType, cls: Any, flow: str) -> None:
    mine, theirs = beside(*(getattr(nn, cls.__name__)(5, 3, 4, flow=flow) for nn in (ours, pyg)))
    assert_alike(mine, theirs, None, EDGES, TYPES)
    mine, theirs = beside(cls(5, 3, 4), pyg.RGCNConv(5, 3, 4))  # PyG's fast one takes other rows
    assert_alike(mine, theirs, torch.tensor([4, 2, 2, 0, 1]), EDGES, TYPES)


@pytest.mark.parametrize("options", [{}, {"num_bases": 2}], ids=str)
@pytest.mark.parametrize("cls", BOTH)
def test_ids_stand_for_vectors_of_one_1(cls: Any, options: dict[str, Any]) -> None:
    conv, ids = cls(5, 3, 4, **options).double(), torch.tensor([4, 2, 2, 0, 1], dtype=torch.int32)
    expected = conv(torch.eye(5).double()[ids], EDGES, TYPES)
    torch.testing.assert_close(conv(ids, EDGES, TYPES), expected)
    torch.testing.assert_close(conv(ids, in_form("SparseTensor", EDGES, TYPES)), expected)
    torch.testing.assert_close(conv(None, EDGES, TYPES), conv(torch.eye(5).double(), EDGES, TYPES))


@pytest.mark.parametrize("cls", BOTH)
def test_two_sets_of_nodes(pyg: ModuleType, cls: Any) -> None:
    mine, theirs = beside(*(getattr(nn, cls.__name__)((4, 3), 2, 4) for nn in (ours, pyg)))
    x = draw(6, 4), draw(5, 3)
    torch.testing.assert_close(mine(x, *PAIR), theirs(x, *PAIR))
    torch.testing.assert_close(mine(x, in_form("SparseTensor", *PAIR, (6, 5))), mine(x, *PAIR))
    none = in_form("SparseTensor", *PAIR, (6, 5))
    torch.testing.assert_close(mine((x[0], None), none) + x[1] @ mine.root, mine(x, none))
    by_ids = cls((6, 5), 2, 4).double()
    eyes = torch.eye(6).double(), torch.eye(5).double()
    expected = by_ids(eyes, *PAIR)
    for ends in (None, (None, torch.arange(5)), (torch.arange(6), eyes[1]), (eyes[0], torch.arange(5))):
        torch.testing.assert_close(by_ids(ends, *PAIR), expected)


@quiet
@pytest.mark.parametrize("x", [draw(5, 4), torch.tensor([3, 0, 1, 1, 2])], ids=["features", "ids"])
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("options", [{}, {"num_bases": 2}, {"aggr": "sum"}, {"aggr": "max"}], ids=str)
@pytest.mark.parametrize("cls", BOTH)
def test_values_of_an_adjacency_are_relations(cls: Any, options: dict[str, Any], form: str, x: Tensor) -> None:
    if cls is FastRGCNConv and options.get("aggr") == "max":
        pytest.skip("FastRGCNConv has no max")
    conv = cls(4, 3, 4, **options).double()
    expected = with_gradients(conv, x, EDGES, TYPES)
    torch.testing.assert_close(with_gradients(conv, x, in_form(form, EDGES, TYPES)), expected)
    adj = in_form("SparseTensor", EDGES, TYPES)
    beside_it = with_gradients(conv, x, adj.set_value(None), adj.storage.value())
    torch.testing.assert_close(beside_it, expected)


@quiet
@pytest.mark.parametrize("form", FORMS)
def test_a_relation_is_a_product(form: str) -> None:
    conv, adj = RGCNConv(4, 3, 4).double(), in_form(form, EDGES, TYPES)
    assert conv.fuse_report(draw(5, 4), adj)
    calls: list[int] = []
    conv.register_message_and_aggregate_forward_hook(lambda module, inputs, out: calls.append(inputs[0].nnz()))
    conv(draw(5, 4), adj)
    assert calls == [3, 2, 0, 3]
    conv.fuse = False
    assert not conv.fuse_report(draw(5, 4), adj)
    sent = with_gradients(conv, draw(5, 4), adj)
    assert len(calls) == 4
    conv.fuse = True
    torch.testing.assert_close(sent, with_gradients(conv, draw(5, 4), adj))


def test_a_product_forms_nothing_of_the_size_of_messages() -> None:
    generator = torch.Generator().manual_seed(0)
    edges, types = torch.randint(10, (2, 300), generator=generator), torch.randint(3, (300,), generator=generator)
    conv, x = RGCNConv(8, 8, 3), torch.randn(10, 8)
    adj, numel = in_form("SparseTensor", edges, types, (10, 10)), {}
    for name, way in (("messages", (edges, types)), ("product", (adj,))):
        with Largest() as largest:
            conv(x.clone().requires_grad_(), *way).sum().backward()
        numel[name] = largest.numel
    assert numel["messages"] >= 7 * 300 // 3
    assert numel["product"] <= 2 * 300


@pytest.mark.parametrize("aggr", ["mean", "sum"])
@pytest.mark.parametrize("x", [draw(5, 4), None], ids=["features", "rows"])
@pytest.mark.parametrize("options", [{}, {"num_bases": 3}], ids=str)
def test_blocks_of_targets_give_what_all_edges_give(aggr: str, x: Tensor | None, options: dict[str, Any]) -> None:
    conv, calls = FastRGCNConv(4 if x is not None else 5, 3, 4, aggr=aggr, **options).double(), []
    conv.register_message_forward_hook(lambda module, inputs, out: calls.append(out.size(0)))
    adj = in_form("SparseTensor", EDGES, TYPES)
    report = conv.fuse_report(x, adj)
    assert not report
    assert "its messages are no product; messages are sent in blocks of 268435456 bytes" in report.reason
    expected = with_gradients(conv, x, adj)
    assert calls == [8]
    for chunk_bytes in (1, 120):
        calls.clear()
        conv.chunk_bytes = chunk_bytes
        with torch.no_grad():
            torch.testing.assert_close(conv(x, adj), expected[0])
        assert 1 < len(calls) <= 5
        assert sum(calls) == 8
        torch.testing.assert_close(with_gradients(conv, x, adj), expected)


def test_as_many_edges_as_nodes_or_relations_in_blocks() -> None:
    conv = FastRGCNConv(4, 3, num_relations=8, chunk_bytes=1).double()
    for edges, types in ((EDGES, TYPES), (EDGES[:, :5], TYPES[:5])):
        plain = RGCNConv(4, 3, 8).double()
        plain.load_state_dict(conv.state_dict())
        found = with_gradients(conv, draw(5, 4), in_form("SparseTensor", edges, types))
        torch.testing.assert_close(found, with_gradients(plain, draw(5, 4), edges, types))


@given(st.integers(0, 12), st.integers(1, 4), st.integers(0, 99), st.sampled_from(["mean", "sum"]), st.booleans())
def test_any_graph(num_edges: int, num_relations: int, seed: int, aggr: str, blocks: bool) -> None:
    generator = torch.Generator().manual_seed(seed)
    edges = torch.randint(4, (2, num_edges), generator=generator)
    types = torch.randint(num_relations, (num_edges,), generator=generator)
    slow = RGCNConv(4, 6, num_relations, num_blocks=2 if blocks else None, aggr=aggr).double()
    fast = FastRGCNConv(4, 6, num_relations, num_blocks=2 if blocks else None, aggr=aggr, chunk_bytes=1).double()
    fast.load_state_dict(slow.state_dict())
    expected = with_gradients(slow, draw(4, 4), edges, types)
    adj = in_form("SparseTensor", edges, types, (4, 4))
    for found in (
        with_gradients(slow, draw(4, 4), adj),
        with_gradients(fast, draw(4, 4), edges, types),
        with_gradients(fast, draw(4, 4), adj),
    ):
        torch.testing.assert_close(found, expected)


@pytest.mark.parametrize("cls", BOTH)
def test_edges_in_the_order_of_their_relations(cls: Any) -> None:
    conv, order = cls(4, 3, 4, is_sorted=True).double(), TYPES.argsort(stable=True)
    plain = cls(4, 3, 4).double()
    plain.load_state_dict(conv.state_dict())
    expected = plain(draw(5, 4), EDGES, TYPES)
    torch.testing.assert_close(conv(draw(5, 4), EDGES[:, order], TYPES[order]), expected)
    torch.testing.assert_close(conv(draw(5, 4), in_form("SparseTensor", EDGES, TYPES)), expected)


def test_a_promise_of_order_that_is_not_kept_is_refused() -> None:
    with pytest.raises(ValueError, match="edge_type: expected relations in order, as is_sorted promises, found others"):
        RGCNConv(4, 3, 4, is_sorted=True).double()(draw(5, 4), EDGES, TYPES)


def test_parameters_are_drawn_anew() -> None:
    conv = RGCNConv(4, 3, 4, num_bases=2)
    before = {name: value.clone() for name, value in conv.state_dict().items()}
    conv.bias.data.fill_(1)
    conv.reset_parameters()
    for name in ("weight", "comp", "root"):
        assert not torch.equal(conv.state_dict()[name], before[name])
    assert not conv.bias.any()


@quiet
@pytest.mark.parametrize("cls", BOTH)
def test_errors_name_what_is_wrong(cls: Any) -> None:
    x, conv = draw(5, 4), cls(4, 6, 4).double()
    for wrong, error, text in (
        (None, ValueError, "edge_type: expected relations, as an argument or the adjacency's values, found none"),
        (TYPES.float(), ValueError, "edge_type: expected an integer dtype, found torch.float32"),
        (TYPES.view(-1, 1), ValueError, r"edge_type: expected one dimension, found shape \[8, 1\]"),
        (TYPES[:3], ValueError, "edge_type: expected one row for each of 8 edges"),
        (TYPES + 1, IndexError, r"edge_type: expected values in \[0, 4\), found 4"),
        (TYPES - 1, IndexError, r"edge_type: expected values in \[0, 4\), found -1"),
    ):
        with pytest.raises(error, match=text):
            conv(x, EDGES, wrong)
        if wrong is None or len(wrong) == 8:
            with pytest.raises(error, match=text):
                conv(x, in_form("SparseTensor", EDGES, wrong))
    with pytest.raises(IndexError, match=r"edge_index: expected values in \[0, 5\), found 7"):
        conv(x, torch.tensor([[7], [0]]), TYPES[:1])
    with pytest.raises(ValueError, match="edge_index: expected an integer dtype"):
        conv(x, EDGES.float(), TYPES)
    with pytest.raises(ValueError, match="expected one edge between two nodes, whose values torch adds up, found se"):
        conv(x, torch.sparse_coo_tensor(TWICE[0].flip(0), TWICE[1], (5, 5)))
    adj = in_form("SparseTensor", EDGES, TYPES)
    adj.is_transposed = False
    with pytest.raises(ValueError, match="expected the transposed adjacency, found one marked as not"):
        conv(x, adj)
    with pytest.raises(IndexError, match=r"x: expected values in \[0, 4\), found 4"):
        conv(torch.arange(5), EDGES, TYPES)
    with pytest.raises(ValueError, match="x: expected features with num_blocks, found torch"):
        cls(4, 6, 4, num_blocks=2)(torch.arange(4), EDGES[:, :2], TYPES[:2])
    with pytest.raises(ValueError, match="num_bases: expected it or num_blocks, found both: num_bases=1, num_blocks=2"):
        cls(4, 6, 4, num_bases=1, num_blocks=2)
    for num_blocks in (0, 3, 4):
        with pytest.raises(ValueError, match="num_blocks: expected at least 1, and in_channels and out_channels in eq"):
            cls(4, 6, 4, num_blocks=num_blocks)
    with pytest.raises(ValueError, match="num_relations: expected at least 1, found 0"):
        cls(4, 6, 0)
    if cls is FastRGCNConv:
        with pytest.raises(ValueError, match="aggr: expected 'mean', 'sum' or 'add' in FastRGCNConv, found 'max'"):
            cls(4, 6, 4, aggr="max").double()(x, EDGES, TYPES)
