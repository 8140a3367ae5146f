import inspect

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.autograd import gradcheck

from gnnlab.nn import norm
from tests.nn.side_by_side import assert_alike, beside

NAMES = ["BatchNorm", "GraphNorm", "InstanceNorm", "LayerNorm", "PairNorm"]
OF_GRAPHS = [
    ("GraphNorm", {}),
    ("GraphNorm", {"eps": 0.5}),
    ("InstanceNorm", {}),
    ("InstanceNorm", {"affine": True, "eps": 0.5}),
    ("InstanceNorm", {"affine": True, "track_running_stats": True, "momentum": 0.3}),
    ("LayerNorm", {}),
    ("LayerNorm", {"affine": False, "eps": 0.5}),
    ("LayerNorm", {"mode": "node"}),
    ("LayerNorm", {"mode": "node", "affine": False}),
    ("PairNorm", {}),
    ("PairNorm", {"scale": 2.0, "eps": 0.5}),
    ("PairNorm", {"scale_individually": True}),
]
BATCHES = {
    "one graph": None,
    "sorted": torch.tensor([0, 0, 0, 1, 1, 2, 2]),
    "unsorted": torch.tensor([1, 0, 2, 1, 1, 0, 2]),
    "an empty graph and one of one node": torch.tensor([3, 0, 0, 0, 3, 1, 3]),
}


def make(module, name, options):
    layer = getattr(module, name)
    return layer(**options) if name == "PairNorm" else layer(3, **options)


def features(num_nodes=7):
    return torch.randn(num_nodes, 3, generator=torch.Generator().manual_seed(1), dtype=torch.float64) * 2 + 1


@pytest.mark.parametrize("name", NAMES)
def test_arguments_as_pyg(pyg, name):
    for method in ("__init__", "forward"):
        ours, theirs = (inspect.signature(getattr(getattr(m, name), method)).parameters for m in (norm, pyg))
        assert [(p.name, p.default, p.kind) for p in ours.values()] == [
            (p.name, p.default, p.kind) for p in theirs.values()
        ]


@pytest.mark.parametrize(("name", "options"), OF_GRAPHS)
@pytest.mark.parametrize("batch", BATCHES.values(), ids=BATCHES)
@pytest.mark.parametrize("training", [True, False])
def test_values_gradients_and_states_as_pyg(pyg, name, options, batch, training):
    ours, theirs = beside(make(norm, name, options), make(pyg, name, options))
    ours.train(training), theirs.train(training)
    assert_alike(ours, theirs, features(), batch)
    if batch is not None:
        assert_alike(ours, theirs, features(), batch, 5)
    assert repr(ours) == repr(theirs)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"momentum": None},
        {"affine": False, "eps": 0.5},
        {"track_running_stats": False},
        {"allow_single_element": True, "momentum": 0.5},
    ],
)
@pytest.mark.parametrize("training", [True, False])
def test_batch_norm_as_pyg(pyg, options, training):
    ours, theirs = beside(norm.BatchNorm(3, **options), pyg.BatchNorm(3, **options))
    ours.train(training), theirs.train(training)
    assert_alike(ours, theirs, features())
    if options.get("allow_single_element"):
        assert_alike(ours, theirs, features(1))
    assert repr(ours) == repr(theirs)


@given(st.lists(st.integers(0, 3), max_size=8))
def test_a_graph_is_normalised_by_itself(graphs):
    batch = torch.tensor(graphs, dtype=torch.long)
    x = features(len(graphs))
    for name, options in OF_GRAPHS:
        layer = make(norm, name, options).double()
        out = layer(x, batch)
        assert out.shape == x.shape
        for graph in range(4):
            mask = batch == graph
            alone = layer(x[mask], torch.zeros(int(mask.sum()), dtype=torch.long), 1)
            torch.testing.assert_close(out[mask], alone)


@pytest.mark.parametrize(("name", "options"), [*OF_GRAPHS, ("BatchNorm", {})])
def test_no_nodes_at_all(name, options):
    layer = make(norm, name, options)
    state = {key: value.clone() for key, value in layer.state_dict().items() if "running" in key}
    empty, batch = torch.empty(0, 3), torch.empty(0, dtype=torch.long)
    for args in [()] if name == "BatchNorm" else [(), (batch,), (batch, 2)]:
        out = layer(empty, *args)
        assert out.shape == (0, 3)
        out.sum().backward() if out.requires_grad else None
    for key, value in state.items():
        assert torch.equal(layer.state_dict()[key], value)


@pytest.mark.parametrize(("name", "options"), [case for case in OF_GRAPHS if case[0] != "LayerNorm"])
def test_one_node_has_no_spread(name, options):
    layer = make(norm, name, options)
    x = torch.tensor([[1.0, 2.0, 3.0]])
    assert torch.equal(layer(x), torch.zeros(1, 3))
    assert torch.equal(layer(x, torch.tensor([0])), torch.zeros(1, 3))


def test_one_node_has_the_spread_of_its_channels():
    x = torch.tensor([[1.0, 2.0, 3.0]])
    for layer in (norm.LayerNorm(3), norm.LayerNorm(3, mode="node")):
        for args in ((), (torch.tensor([0]),)):
            torch.testing.assert_close(
                layer(x, *args), torch.tensor([[-1.0, 0.0, 1.0]]) * 1.5**0.5, rtol=1e-4, atol=1e-4
            )


def test_equal_entries_have_a_gradient():
    for name, options in OF_GRAPHS:
        x = torch.ones(4, 3, requires_grad=True)
        make(norm, name, options)(x).sum().backward()
        assert x.grad.isfinite().all()


def test_one_node_has_no_spread_of_a_batch():
    x = torch.tensor([[1.0, 2.0, 3.0]])
    with pytest.raises(ValueError, match="more than 1 value per channel"):
        norm.BatchNorm(3)(x)
    layer = norm.BatchNorm(3, allow_single_element=True)
    torch.testing.assert_close(layer(x), x, rtol=1e-4, atol=1e-4)
    assert torch.equal(layer.module.running_mean, torch.zeros(3))
    with pytest.raises(ValueError, match="allow_single_element: expected track_running_stats=True"):
        norm.BatchNorm(3, track_running_stats=False, allow_single_element=True)


@pytest.mark.parametrize(("name", "options"), OF_GRAPHS)
def test_gradcheck(name, options):
    layer = make(norm, name, options).double()
    assert gradcheck(lambda x: layer(x, BATCHES["unsorted"]), (features().requires_grad_(),))


@pytest.mark.parametrize(("name", "options"), [*OF_GRAPHS, ("BatchNorm", {})])
def test_parameters_are_reset(name, options):
    layer = make(norm, name, options)
    fresh = {key: value.clone() for key, value in layer.state_dict().items()}
    with torch.no_grad():
        for value in layer.state_dict().values():
            value.add_(1)
    if fresh:
        layer.reset_parameters()
    assert all(torch.equal(layer.state_dict()[key], value) for key, value in fresh.items())


def test_running_statistics_of_a_batch_are_reset():
    layer = norm.BatchNorm(3)
    layer(features().float())
    layer.reset_running_stats()
    assert torch.equal(layer.module.running_mean, torch.zeros(3))
    assert int(layer.module.num_batches_tracked) == 0


def test_wrong_arguments_are_named():
    x = torch.ones(3, 2)
    for name in NAMES[:-1]:
        with pytest.raises(ValueError, match=r"x: expected shape \[num_nodes, 3\], found \[3, 2\]"):
            make(norm, name, {})(x)
    with pytest.raises(ValueError, match=r"x: expected shape \[num_nodes, channels\], found \[3\]"):
        norm.PairNorm()(x[:, 0])
    with pytest.raises(ValueError, match="batch: expected one entry for each of 3 nodes, found 2"):
        norm.GraphNorm(2)(x, torch.tensor([0, 1]))
    with pytest.raises(IndexError, match=r"index: expected values in \[0, 1\), found 2"):
        norm.GraphNorm(2)(x, torch.tensor([0, 2, 0]), 1)
    with pytest.raises(ValueError, match="mode: expected 'graph' or 'node', found 'edge'"):
        norm.LayerNorm(2, mode="edge")
