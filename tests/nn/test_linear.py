import copy
import inspect

import pytest
import torch

from gnnlab.nn.dense import Linear
from tests.nn.side_by_side import assert_alike, beside


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("shape", [(4,), (5, 4), (2, 5, 4), (0, 4)])
def test_values_gradients_and_states_as_pyg(pyg, bias, shape):
    ours, theirs = beside(Linear(4, 3, bias), pyg.Linear(4, 3, bias))
    assert_alike(ours, theirs, torch.randn(shape, dtype=torch.float64))
    assert repr(ours) == repr(theirs)


@pytest.mark.parametrize("weight_initializer", [None, "glorot", "uniform", "kaiming_uniform"])
@pytest.mark.parametrize("bias_initializer", [None, "zeros"])
@pytest.mark.parametrize("in_channels", [4, -1])
def test_the_same_draws_as_pyg(pyg, weight_initializer, bias_initializer, in_channels):
    drawn = []
    for cls in (Linear, pyg.Linear):
        torch.manual_seed(0)
        layer = cls(in_channels, 3, weight_initializer=weight_initializer, bias_initializer=bias_initializer)
        layer(torch.zeros(2, 4))
        drawn.append(layer.state_dict())
    assert all(torch.equal(value, drawn[1][key]) for key, value in drawn[0].items())


def test_it_draws_as_torch_does():
    drawn = []
    for cls in (Linear, torch.nn.Linear):
        torch.manual_seed(0)
        drawn.append(cls(4, 3))
    assert torch.equal(drawn[0].weight, drawn[1].weight)
    assert torch.equal(drawn[0].bias, drawn[1].bias)
    drawn[1].load_state_dict(drawn[0].state_dict())


def test_arguments_as_pyg(pyg):
    parameters = [inspect.signature(cls).parameters.values() for cls in (Linear, pyg.Linear)]
    assert [(p.name, p.default) for p in parameters[0]] == [(p.name, p.default) for p in parameters[1]]


def test_an_open_layer_takes_the_size_of_its_first_input():
    layer = Linear(-1, 3).double()
    assert repr(layer) == "Linear(-1, 3, bias=True)"
    copied = copy.deepcopy(layer)
    optimizer = torch.optim.SGD(layer.parameters(), lr=1.0)
    layer(torch.ones(2, 5, dtype=torch.float64)).sum().backward()
    assert repr(layer) == "Linear(5, 3, bias=True)"
    before = layer.weight.clone()
    optimizer.step()
    torch.testing.assert_close(layer.weight, before - 2)
    assert copied.in_channels == -1
    with pytest.raises(RuntimeError):
        layer(torch.ones(2, 4, dtype=torch.float64))


def test_a_state_with_values_gives_an_open_layer_its_size(pyg):
    for full in (Linear(4, 3), torch.nn.Linear(4, 3), pyg.Linear(4, 3)):
        layer = Linear(-1, 3)
        layer.load_state_dict(full.state_dict())
        assert layer.in_channels == 4
        x = torch.randn(2, 4)
        assert torch.equal(layer(x), full(x))


def test_a_state_without_values_opens_a_layer(pyg):
    for bias in (True, False):
        for opened in (Linear(-1, 3, bias), pyg.Linear(-1, 3, bias)):
            for layer in (Linear(4, 3, bias), Linear(-1, 3, bias), torch.nn.Sequential(Linear(4, 3, bias))):
                state = opened.state_dict()
                if isinstance(layer, torch.nn.Sequential):
                    state = {"0." + key: value for key, value in state.items()}
                layer.load_state_dict(state)
                assert layer(torch.randn(2, 7)).shape == (2, 3)
    theirs = pyg.Linear(4, 3)
    theirs.load_state_dict(Linear(-1, 3).state_dict())
    assert theirs(torch.randn(2, 7)).shape == (2, 3)


def test_a_state_that_lacks_the_weight_is_refused():
    with pytest.raises(RuntimeError, match="Missing key"):
        Linear(4, 3).load_state_dict({"bias": torch.zeros(3)})


def test_parameters_are_reset():
    layer = Linear(4, 3)
    before = layer.weight.clone(), layer.bias.clone()
    layer.reset_parameters()
    assert not torch.equal(layer.weight, before[0])
    assert not torch.equal(layer.bias, before[1])
    Linear(-1, 3).reset_parameters()
    assert torch.equal(Linear(0, 3)(torch.ones(2, 0)), torch.zeros(2, 3))


def test_unknown_initializers_are_refused():
    with pytest.raises(ValueError, match=r"weight_initializer: expected one of .*, found 'zeros'"):
        Linear(4, 3, weight_initializer="zeros")
    with pytest.raises(ValueError, match=r"bias_initializer: expected one of .*, found 'ones'"):
        Linear(4, 3, bias_initializer="ones")
