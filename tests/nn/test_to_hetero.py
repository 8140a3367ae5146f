import copy
import warnings

import pytest
import torch
import torch.nn.functional as F
from torch.nn import Linear, Module, ModuleList, Parameter, ReLU

from gnnlab.nn import MLP, HeteroConv, Sequential, global_mean_pool, to_hetero

PAPER, AUTHOR = "paper", "author"
CITES, WRITES, ABOUT = (PAPER, "cites", PAPER), (AUTHOR, "writes", PAPER), (PAPER, "is-about", AUTHOR)
METADATA = ([PAPER, AUTHOR], [CITES, WRITES, ABOUT])
SIZES = {PAPER: 3, AUTHOR: 2}
EDGES = {
    CITES: torch.tensor([[0, 1], [1, 2]]),
    WRITES: torch.tensor([[0, 1, 1], [0, 1, 2]]),
    ABOUT: torch.tensor([[0, 2], [1, 1]]),
}


class Conv(Module):
    """What arrives is added up, and so is a layer of the target's own features."""

    def __init__(self, in_channels, out_channels):
        super().__init__()
        self.lin_l = Linear(in_channels, out_channels)
        self.lin_r = Linear(in_channels, out_channels)

    def reset_parameters(self):
        self.lin_l.reset_parameters()
        self.lin_r.reset_parameters()

    def forward(self, x, edge_index, edge_weight=None):
        source, target = x if isinstance(x, tuple) else (x, x)
        weight = torch.ones(edge_index.size(1), dtype=source.dtype) if edge_weight is None else edge_weight
        return self.propagate(self.lin_l(source), self.lin_r(target), edge_index, weight)

    def propagate(self, source, target, edge_index, edge_weight):
        return target.index_add(0, edge_index[1], source[edge_index[0]] * edge_weight.view(-1, 1))


class One(Module):
    """A single layer."""

    def __init__(self):
        super().__init__()
        self.conv = Conv(4, 4)

    def forward(self, x, adj_t, edge_weight=None):
        return self.conv(x, adj_t, edge_weight)


class Net(Module):
    """Functions, methods, lists of layers, layers in turn, values of edges."""

    def __init__(self, conv):
        super().__init__()
        self.lin = Linear(4, 5)
        self.convs = ModuleList([conv(5, 5), conv(5, 5)])
        self.mlp = MLP([5, 5, 5], norm=None)
        self.edge = Linear(2, 1)

    def forward(self, x, edge_index, edge_attr):
        weight = self.edge(edge_attr).squeeze(-1).sigmoid()
        x = self.lin(x).relu()
        for conv in self.convs:
            x = F.relu(conv(x, edge_index, weight)) + x * 2
        return self.mlp(x), {"weight": weight, "x": x[:, :2]}


def features(channels=4):
    generator = torch.Generator().manual_seed(0)
    return {
        key: torch.randn(size, channels, generator=generator, dtype=torch.float64).requires_grad_()
        for key, size in SIZES.items()
    }


def edge_features():
    generator = torch.Generator().manual_seed(1)
    return {
        key: torch.randn(edges.size(1), 2, generator=generator, dtype=torch.float64) for key, edges in EDGES.items()
    }


@pytest.mark.parametrize("aggr", ["sum", "mean", "max", "min"])
def test_values_gradients_and_states_as_pyg(pyg, aggr):
    ours = to_hetero(Net(pyg.GraphConv), METADATA, aggr).double()
    expected = _theirs(pyg, Net(pyg.GraphConv), METADATA, aggr).double()
    assert set(ours.state_dict()) == set(expected.state_dict())
    ours.load_state_dict(expected.state_dict())
    results = []
    for model in (ours, expected):
        x = features()
        out, others = model(x, EDGES, edge_features())
        (out[PAPER].sin().sum() + out[AUTHOR].cos().sum()).backward()
        assert set(others) == {"weight", "x"}
        parameters = dict(model.named_parameters())
        results.append(
            [
                *[out[key] for key in SIZES],
                *[others["weight"][key] for key in EDGES],
                *[others["x"][key] for key in SIZES],
                *[x[key].grad for key in SIZES],
                *[parameters[name].grad for name in sorted(parameters)],
            ]
        )
    for a, b in zip(*results, strict=True):
        torch.testing.assert_close(a, b)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("GraphSAGE", {"norm": "batch_norm", "jk": "cat", "dropout": 0.5}),
        ("GAT", {"add_self_loops": False, "jk": "lstm"}),
        ("GIN", {"norm": "layer_norm"}),
    ],
)
def test_models_of_several_layers_as_pyg(pyg, name, options):
    net = getattr(pyg, name)(4, 8, 2, 3, **options)
    ours, expected = to_hetero(net, METADATA).double().eval(), _theirs(pyg, net, METADATA).double().eval()
    ours.load_state_dict(expected.state_dict())
    out, wanted = (model(features(), EDGES) for model in (ours, expected))
    assert set(out) == set(wanted)
    for key, value in out.items():
        torch.testing.assert_close(value, wanted[key])
    with pytest.raises(ValueError, match="num_sampled_nodes_per_hop: expected None in a model by to_hetero"):
        ours(features(), EDGES, num_sampled_nodes_per_hop={PAPER: [1, 1]})


def _theirs(pyg, net, *args):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of "is-about", which is no identifier, and of how it is traced
        return pyg.to_hetero(net, *args)


def test_a_layer_of_each_edge_type_is_a_hetero_conv():
    model = to_hetero(One(), METADATA).double()
    expected = HeteroConv({key: model.conv["__".join(key).replace("-", "_")] for key in EDGES})
    out = model(features(), EDGES)
    for key, value in expected(features(), EDGES).items():
        torch.testing.assert_close(out[key], value)
    assert set(model(x=features(), adj_t=EDGES)) == set(SIZES)


def test_types_that_drop_out_or_are_not_there_are_left_out():
    class Two(Module):
        def __init__(self):
            super().__init__()
            self.first, self.second, self.lin = Conv(4, 4), Conv(4, 4), Linear(4, 2)

        def forward(self, x, edge_index):
            return self.lin(self.second(self.first(x, edge_index), edge_index).relu())

    with pytest.warns(UserWarning, match=r"no edge type ends at \['author'\]"):
        model = to_hetero(Two(), ([PAPER, AUTHOR], [CITES, WRITES])).double()
    assert set(dict(model.first.named_children())) == {"paper__cites__paper", "author__writes__paper"}
    assert set(dict(model.second.named_children())) == {"paper__cites__paper"}
    assert set(dict(model.lin.named_children())) == {"paper"}
    out = model(features(), EDGES)
    assert out.keys() == {PAPER}
    without = model({PAPER: features()[PAPER], AUTHOR: None}, EDGES)
    assert without.keys() == {PAPER}
    assert not torch.equal(without[PAPER], out[PAPER])
    only = to_hetero(Two(), METADATA).double()(features(), {CITES: EDGES[CITES]})
    assert only.keys() == {PAPER}


def test_a_value_for_some_edge_types_only():
    model = to_hetero(One(), METADATA).double()
    ones = {WRITES: torch.ones(3, dtype=torch.float64)}
    for key, value in model(features(), EDGES).items():
        torch.testing.assert_close(model(features(), EDGES, ones)[key], value)
        torch.testing.assert_close(model(features(), EDGES, edge_weight=None)[key], value)


def test_modules_of_layers_are_entered():
    class Inner(Module):
        def __init__(self):
            super().__init__()
            self.conv, self.lin = Conv(4, 4), Linear(4, 2)

        def forward(self, x, edge_index):
            return self.lin(self.conv(x, edge_index))

    class Outer(Module):
        def __init__(self):
            super().__init__()
            self.inner = Inner()

        def forward(self, x, edge_index):
            return self.inner(x, edge_index)

    model = to_hetero(Outer(), METADATA).double()
    assert {"inner.conv.paper__cites__paper.lin_l.weight", "inner.lin.paper.weight"} <= set(model.state_dict())
    assert model(features(), EDGES)[AUTHOR].shape == (2, 2)


def test_a_sequential_model():
    steps = [
        (Conv(4, 4), "x, edge_index -> y"),
        (ReLU(), "y -> y"),
        (lambda x, y: (x + y, x - y), "x, y -> a, b"),
        (Linear(4, 4), "b -> b"),
        (Conv(4, 2), "a, edge_index -> a"),
        (lambda a, b: a + b[:, :2], "a, b=b -> x"),
    ]
    model = to_hetero(Sequential("x, edge_index", steps), METADATA).double()
    assert "module_3.author.weight" in model.state_dict()
    out = model(features(), EDGES)
    assert {key: value.shape for key, value in out.items()} == {PAPER: (3, 2), AUTHOR: (2, 2)}
    several = Sequential("x, edge_index", [(Conv(4, 2), "x, edge_index -> x"), (lambda x: (x, x), "x -> a, b")])
    a, b = to_hetero(several, METADATA).double()(features(), EDGES)
    assert torch.equal(a[PAPER], b[PAPER])


def test_parameters_buffers_and_constants_are_shared_by_all_types():
    class Scaled(Module):
        def __init__(self):
            super().__init__()
            self.conv, self.scale = Conv(4, 4), Parameter(torch.full((4,), 2.0))
            self.register_buffer("shift", torch.ones(4))

        def forward(self, x, edge_index):
            return self.conv(x, edge_index) * self.scale + self.shift + torch.tensor([1.0, 0.0, 0.0, 0.0])

    net = Scaled()
    model = to_hetero(net, METADATA).double()
    assert {"scale", "shift"} <= set(model.state_dict())
    assert model.scale is not net.scale
    out = model(features(), EDGES)
    model.scale.data.zero_()
    expected = torch.tensor([2.0, 1.0, 1.0, 1.0], dtype=torch.float64)
    for key, value in model(features(), EDGES).items():
        assert not torch.equal(out[key], value)
        assert torch.equal(value, expected.expand_as(value))


def test_copies_are_drawn_anew_and_a_single_one_is_kept():
    net = One()
    several = to_hetero(net, METADATA).conv
    weights = [layer.lin_l.weight for layer in several.children()] + [net.conv.lin_l.weight]
    assert not any(torch.equal(a, b) for i, a in enumerate(weights) for b in weights[:i])
    (single,) = to_hetero(net, ([PAPER], [CITES])).conv.children()
    assert torch.equal(single.lin_l.weight, net.conv.lin_l.weight)
    assert single.lin_l.weight is not net.conv.lin_l.weight


class Drops(One):
    def forward(self, x, edge_index):
        return F.dropout(self.conv(x, edge_index), 1.0, training=self.training)


def test_dropout_follows_the_mode():
    for net in (Drops(), Drops().eval()):
        model = to_hetero(net, METADATA).double()
        assert model.training == net.training
        assert torch.equal(model.train()(features(), EDGES)[PAPER], torch.zeros(3, 4, dtype=torch.float64))
        assert model.eval()(features(), EDGES)[PAPER].all()


def test_pooling_for_each_type():
    class Pools(One):
        def forward(self, x, edge_index, batch):
            return global_mean_pool(self.conv(x, edge_index), batch)

    batch = {key: torch.zeros(size, dtype=torch.long) for key, size in SIZES.items()}
    out = to_hetero(Pools(), METADATA).double()(features(), EDGES, batch)
    assert {key: value.shape for key, value in out.items()} == {PAPER: (1, 4), AUTHOR: (1, 4)}


def test_levels_and_the_graph_can_be_told_and_shown(capsys):
    class Odd(One):
        def forward(self, edges_of_my_heart, e):
            return self.conv(edges_of_my_heart, e)

    levels = {"edges_of_my_heart": "node", "e": "edge"}
    model = to_hetero(Odd(), METADATA, input_map=levels, debug=True).double()
    assert "edges_of_my_heart" in capsys.readouterr().out
    assert model(features(), EDGES)[AUTHOR].shape == (2, 4)
    with pytest.raises(ValueError, match="input_map: expected 'node' or 'edge' for e, found 'graph'"):
        to_hetero(Odd(), METADATA, input_map={**levels, "e": "graph"})


def test_it_is_copied():
    model = to_hetero(Net(Conv), METADATA).double()
    copied = copy.deepcopy(model)
    out, again = (each(features(), EDGES, edge_features())[0] for each in (model, copied))
    assert torch.equal(out[PAPER], again[PAPER])
    assert copied.lin[PAPER].weight is not model.lin[PAPER].weight


def test_wrong_arguments_are_named():
    class Mixes(One):
        def forward(self, x, edge_index, edge_label_index):
            return self.conv(x, edge_index)[edge_label_index[0]]

    with pytest.raises(ValueError, match="all of values of nodes, or all of edges, in step getitem_1, found both"):
        to_hetero(Mixes(), METADATA)
    with pytest.raises(ValueError, match="module: expected a model of layers, found a Conv; HeteroConv takes these"):
        to_hetero(Conv(4, 4), METADATA)
    with pytest.raises(ValueError, match="metadata: expected node types and edge types between them"):
        to_hetero(Drops(), ([PAPER], METADATA[1]))
    with pytest.raises(ValueError, match="metadata: expected node types and edge types between them"):
        to_hetero(Drops(), ([PAPER], []))
    with pytest.raises(ValueError, match=r"expected types that differ in letters, digits and '_', found \['a_b'\]"):
        to_hetero(Drops(), (["a b", "a_b"], [("a b", "to", "a_b")]))
    with pytest.raises(ValueError, match="aggr: expected one of"):
        to_hetero(Drops(), METADATA, "median")
    with pytest.raises(ValueError, match="x: expected a dict by type, found a tensor"):
        to_hetero(Drops(), METADATA)(torch.ones(3, 4), EDGES)
    net = Drops()
    net.conv.add_self_loops = True
    with pytest.raises(ValueError, match=r"add_self_loops: expected False on Conv for .'author', 'writes', 'paper'."):
        to_hetero(net, METADATA)
