import inspect

import pytest
import torch

from gnnlab.nn import MLP
from tests.nn.side_by_side import assert_alike, beside

SIZES = {"channel_list": [3, 4, 5, 2]}
OPTIONS = [
    {},
    {"in_channels": 3, "hidden_channels": 4, "out_channels": 2, "num_layers": 3},
    {"channel_list": 3, "hidden_channels": 4, "out_channels": 2, "num_layers": 2},
    {"in_channels": 3, "out_channels": 2, "num_layers": 1},
    {"channel_list": (3, 2)},
    {"plain_last": False},
    {"act": None},
    {"act": "leaky_relu", "act_kwargs": {"negative_slope": 0.3}},
    {"act": torch.cos},
    {"act_first": True},
    {"norm": None},
    {"norm": "layer_norm", "norm_kwargs": {"mode": "node"}},
    {"norm": "GraphNorm", "norm_kwargs": {"eps": 0.5}, "plain_last": False},
    {"norm": "pair_norm"},
    {"bias": False},
    {"bias": [True, False, True]},
    {"dropout": 0.5},
    {"dropout": [0.1, 0.2, 0.3]},
]


def features(num_nodes=6):
    return torch.randn(num_nodes, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64)


def sized(options):
    return options if {"channel_list", "in_channels"} & options.keys() else SIZES | options


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("batch", [None, torch.tensor([1, 0, 1, 1, 0, 0])])
def test_values_gradients_and_states_as_pyg(pyg, options, batch):
    ours, theirs = beside(MLP(**sized(options)), pyg.MLP(**sized(options)))
    if "dropout" in options:
        ours.eval(), theirs.eval()
    assert_alike(ours, theirs, features(), batch)
    assert_alike(ours, theirs, features(), batch, None if batch is None else 3, return_emb=True)
    assert repr(ours) == repr(theirs)
    for name in ("channel_list", "dropout", "num_layers", "in_channels", "out_channels", "supports_norm_batch"):
        assert getattr(ours, name) == getattr(theirs, name)


@pytest.mark.parametrize("options", [{"dropout": 0.5}, {"dropout": [0.0, 0.9, 0.5]}])
def test_the_same_entries_are_dropped_as_in_pyg(pyg, options):
    ours, theirs = beside(MLP(**sized(options)), pyg.MLP(**sized(options)))
    outs = []
    for model in (ours, theirs):
        torch.manual_seed(0)
        outs.append(model(features()))
    torch.testing.assert_close(*outs)


def test_the_embedding_is_what_goes_into_the_last_layer():
    model = MLP([3, 4, 2])
    out, emb = model(torch.randn(5, 3), return_emb=True)
    torch.testing.assert_close(model.lins[-1](emb), out)
    assert isinstance(model(torch.randn(5, 3), return_emb=False), torch.Tensor)


def test_no_nodes_and_more_dimensions(pyg):
    ours, theirs = beside(MLP([3, 4, 2]), pyg.MLP([3, 4, 2]))
    assert_alike(ours, theirs, features(0))
    assert MLP([3, 4, 2], norm=None)(torch.randn(2, 5, 3)).shape == (2, 5, 2)


def test_the_size_of_the_input_may_come_with_it():
    model = MLP([-1, 4, 2])
    assert model(torch.randn(5, 7)).shape == (5, 2)
    assert model.lins[0].weight.shape == (4, 7)


def test_arguments_as_pyg(pyg):
    theirs = inspect.signature(pyg.MLP).parameters
    ours = inspect.signature(MLP).parameters
    assert [(p.name, p.default, p.kind) for p in ours.values()] == [
        (p.name, p.default, p.kind) for p in theirs.values() if p.kind != p.VAR_KEYWORD
    ]


def test_parameters_are_reset():
    model = MLP([3, 4, 2])
    before = model.lins[0].weight.clone()
    model.norms[0].module.weight.data.fill_(3.0)
    model.reset_parameters()
    assert not torch.equal(model.lins[0].weight, before)
    assert torch.equal(model.norms[0].module.weight, torch.ones(4))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "channel_list: expected it, or .* found None, None, None and None"),
        ({"channel_list": [3]}, r"channel_list: expected at least two sizes, found \[3\]"),
        ({"in_channels": 3, "hidden_channels": 4, "out_channels": 2}, "found 3, 4, 2 and None"),
        ({"in_channels": 3, "out_channels": 2, "num_layers": 2}, "found 3, None, 2 and 2"),
        ({"in_channels": 3, "out_channels": 2, "num_layers": 0}, "num_layers: expected at least 1, found 0"),
        ({"channel_list": [3, 2], "in_channels": 3}, r"in_channels: expected it or channel_list, found both"),
        ({"channel_list": [3, 2], "dropout": [0.1, 0.2]}, "dropout: expected one for each of 1 layers, found 2"),
        ({"channel_list": [3, 4, 2], "bias": [True]}, "bias: expected one for each of 2 layers, found 1"),
    ],
)
def test_wrong_arguments_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        MLP(**options)
