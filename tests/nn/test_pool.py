import inspect
import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.autograd import gradcheck

from gnnlab import nn
from gnnlab.nn.pool.connect import ConnectOutput, FilterEdges, filter_adj
from gnnlab.nn.pool.select import SelectOutput, SelectTopK, topk
from tests.nn.side_by_side import assert_alike, beside
from tests.utils.graphs import assert_same

GLOBAL = ["global_add_pool", "global_mean_pool", "global_max_pool"]
BATCH = torch.tensor([0, 2, 0, 2, 2, 0])
EDGES = torch.tensor([[0, 1, 2, 3, 4, 5, 0, 3], [2, 3, 5, 1, 1, 0, 0, 3]])


def features():
    return torch.randn(6, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64)


@pytest.mark.parametrize("name", GLOBAL)
@pytest.mark.parametrize("x", [features(), features()[:, 0], features().expand(2, 6, 3)], ids=["2d", "1d", "3d"])
@pytest.mark.parametrize(("batch", "size"), [(None, None), (BATCH, None), (BATCH, 5), (BATCH.int(), 3)])
def test_a_row_for_each_graph_as_pyg(pyg, name, x, batch, size):
    results = []
    for module in (nn, pyg):
        leaf = x.clone().requires_grad_()
        long = batch.long() if batch is not None and module is pyg else batch
        out = getattr(module, name)(leaf, long, size)
        (out * torch.arange(1.0, out.numel() + 1).view(out.shape)).sum().backward()
        results.append((out, leaf.grad))
    assert_same(*results)
    assert gradcheck(lambda x: getattr(nn, name)(x, batch, size), (x.clone().requires_grad_(),))


@pytest.mark.parametrize("name", GLOBAL)
def test_graphs_without_nodes_hold_zero(name):
    pool = getattr(nn, name)
    x, batch = torch.empty(0, 3), torch.empty(0, dtype=torch.long)
    assert torch.equal(pool(x, None), torch.zeros(1, 3))
    assert torch.equal(pool(x, batch, 2), torch.zeros(2, 3))
    assert pool(x, batch).shape == (0, 3)


def test_nodes_that_tie_share_the_gradient():
    for batch in (None, torch.zeros(4, dtype=torch.long)):
        x = torch.ones(4, 1, requires_grad=True)
        nn.global_max_pool(x, batch).sum().backward()
        assert torch.equal(x.grad, torch.full((4, 1), 0.25))


def test_a_wrong_batch_is_named():
    with pytest.raises(ValueError, match="index: expected one entry for each of 6"):
        nn.global_add_pool(features(), BATCH[:3])
    with pytest.raises(IndexError, match=r"expected values in \[0, 2\), found 2"):
        nn.global_add_pool(features(), BATCH, 2)


@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(-2, 2)), max_size=9),
    st.one_of(st.integers(0, 5), st.floats(0, 0.999)),
)
def test_the_best_of_each_graph(nodes, ratio):
    batch = torch.tensor([graph for graph, _ in nodes], dtype=torch.long)
    score = torch.tensor([value for _, value in nodes], dtype=torch.float64)
    expected = []
    for graph in range(4):
        members = [i for i, (g, _) in enumerate(nodes) if g == graph]
        count = ratio if isinstance(ratio, int) else math.ceil(ratio * len(members))
        expected += sorted(members, key=lambda i: -nodes[i][1])[:count]
    assert topk(score, ratio, batch).tolist() == expected


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(-3, 3)), min_size=1, max_size=9), st.integers(-4, 4))
def test_all_above_a_score_and_the_best_of_each_graph(pyg, nodes, min_score):
    from torch_geometric.nn.pool.select.topk import topk as theirs

    batch, score = (torch.tensor(column) for column in zip(*nodes, strict=True))
    score = score.double()
    found = topk(score, None, batch, min_score + 0.5)
    assert found.tolist() == theirs(score, None, batch, min_score + 0.5).tolist()
    assert set(batch[found].tolist()) == set(batch.tolist())


@pytest.mark.parametrize("ratio", [0, 1, 2, 10, 0.0, 0.2, 0.5, 0.7, 0.999])
def test_the_nodes_and_their_order_as_pyg(pyg, ratio):
    from torch_geometric.nn.pool.select.topk import topk as theirs

    score = torch.tensor([0.5, 0.5, 0.2, 0.9, 0.5, 0.5])
    assert topk(score, ratio, BATCH).tolist() == theirs(score, ratio, BATCH).tolist()


def test_a_ratio_of_one_keeps_all():
    assert topk(torch.tensor([0.1, 0.3, 0.2]), 1.0, torch.tensor([0, 0, 1])).tolist() == [1, 0, 2]
    assert topk(torch.tensor([0.1, 0.3, 0.2]), 1, torch.tensor([0, 0, 1])).tolist() == [1, 2]


@pytest.mark.parametrize("ratio", [-1, -0.5, 1.5, True, None])
def test_a_ratio_out_of_range_is_refused(ratio):
    message = "found neither" if ratio is None else f"expected a float from 0 to 1 or an int from 0, found {ratio}"
    with pytest.raises(ValueError, match=f"ratio: .*{message}"):
        topk(torch.ones(2), ratio, torch.zeros(2, dtype=torch.long))
    with pytest.raises(ValueError, match=f"ratio: .*{message}"):
        nn.TopKPooling(3, ratio=ratio)


OPTIONS = [
    {},
    {"ratio": 2},
    {"ratio": 0.7},
    {"min_score": 0.3},
    {"min_score": 2.0},
    {"multiplier": 2.5},
    {"nonlinearity": "sigmoid"},
    {"nonlinearity": torch.cos},
]


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("batch", [None, BATCH])
def test_top_k_pooling_as_pyg(pyg, options, batch):
    ours, theirs = beside(nn.TopKPooling(3, **options), pyg.TopKPooling(3, **options))
    edge_attr = torch.rand(8, 2, dtype=torch.float64)
    assert_alike(ours, theirs, features(), EDGES, edge_attr, batch)
    assert_alike(ours, theirs, features(), EDGES, None, batch, attn=features().sin())
    assert repr(ours) == repr(theirs)
    assert repr(ours.select) == repr(theirs.select)
    assert repr(ours.connect) == repr(theirs.connect)


def test_top_k_pooling_of_nothing_and_of_one_node(pyg):
    ours, theirs = beside(nn.TopKPooling(3), pyg.TopKPooling(3))
    for num_nodes in (0, 1):
        edges = torch.empty(2, 0, dtype=torch.long)
        assert_alike(ours, theirs, features()[:num_nodes], edges)
        assert_alike(ours, theirs, features()[:num_nodes], edges, None, torch.zeros(num_nodes, dtype=torch.long))


def test_one_channel_may_come_without_its_dimension():
    pool = nn.TopKPooling(1)
    x = torch.randn(6)
    assert_same(pool(x, EDGES), pool(x.view(6, 1), EDGES))


def test_gradcheck():
    pool = nn.TopKPooling(3).double()
    assert gradcheck(lambda x: pool(x, EDGES, None, BATCH)[0], (features().requires_grad_(),))


def test_arguments_as_pyg(pyg):
    from torch_geometric.nn.pool.connect import filter_edges
    from torch_geometric.nn.pool.select import SelectTopK as TheirSelectTopK
    from torch_geometric.nn.pool.select import topk as topk_module

    pairs = [(getattr(nn, name), getattr(pyg, name)) for name in [*GLOBAL, "TopKPooling"]]
    pairs += [(topk, topk_module.topk), (filter_adj, filter_edges.filter_adj), (SelectTopK, TheirSelectTopK)]
    pairs += [(nn.TopKPooling.forward, pyg.TopKPooling.forward)]
    for ours, theirs in pairs:
        parameters = [inspect.signature(function).parameters.values() for function in (ours, theirs)]
        assert [(p.name, p.default) for p in parameters[0]] == [(p.name, p.default) for p in parameters[1]]


@given(st.data())
def test_edges_between_nodes_that_stay(data):
    num_nodes = data.draw(st.integers(1, 5))
    node = st.integers(0, num_nodes - 1)
    edges = data.draw(st.lists(st.tuples(node, node), max_size=8))
    kept = data.draw(st.lists(node, unique=True))
    edge_index = torch.tensor(edges, dtype=torch.long).view(-1, 2).t()
    found, places = filter_adj(edge_index, torch.arange(len(edges)), torch.tensor(kept, dtype=torch.long), None, 5)
    stay = [(i, s, t) for i, (s, t) in enumerate(edges) if s in kept and t in kept]
    assert found.t().tolist() == [[kept.index(s), kept.index(t)] for _, s, t in stay]
    assert places.tolist() == [i for i, _, _ in stay]


def test_nodes_may_share_a_cluster():
    selected = SelectOutput(torch.tensor([0, 1, 2]), 4, torch.tensor([1, 0, 1]), 2)
    edge_index = torch.tensor([[0, 1, 3], [2, 0, 0]])
    expected = ConnectOutput(torch.tensor([[1, 0], [1, 1]]), None, torch.tensor([0, 0, 1]))
    assert_same(vars(FilterEdges()(selected, edge_index, None, torch.tensor([0, 0, 1, 1]))), vars(expected))


def test_a_selection_must_fit_together():
    one, two = torch.tensor([0]), torch.tensor([0, 1])
    with pytest.raises(ValueError, match=r"cluster_index: expected shape \[1\], as node_index has, found \[2\]"):
        SelectOutput(one, 1, two, 2)
    with pytest.raises(ValueError, match=r"weight: expected shape \[2\], as node_index has, found \[2, 1\]"):
        SelectOutput(two, 2, two, 2, torch.ones(2, 1))
    with pytest.raises(ValueError, match="node_index: expected one dimension"):
        SelectOutput(two.view(1, 2), 2, two, 2)


def test_wrong_arguments_are_named():
    pool = nn.TopKPooling(3)
    with pytest.raises(ValueError, match=r"x: expected shape \[num_nodes, 3\], found \[6, 2\]"):
        pool(torch.ones(6, 2), EDGES)
    with pytest.raises(IndexError, match=r"edge_index: expected values in \[0, 3\), found 5"):
        pool(torch.ones(3, 3), EDGES)
    with pytest.raises(ValueError, match="batch: expected one entry for each of 6 nodes, found 2"):
        pool(torch.ones(6, 3), EDGES, None, BATCH[:2])
    with pytest.raises(ValueError, match="edge_attr: expected one row for each of 8 edges"):
        pool(torch.ones(6, 3), EDGES, torch.ones(3))
