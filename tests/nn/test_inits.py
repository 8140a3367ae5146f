import pytest
import torch
from torch.nn import BatchNorm1d, Linear, Module, Sequential

from gnnlab.nn import inits

CALLS = {
    "uniform": lambda module, value: module.uniform(6, value),
    "kaiming_uniform": lambda module, value: module.kaiming_uniform(value, 6, 0.5),
    "glorot": lambda module, value: module.glorot(value),
    "glorot_orthogonal": lambda module, value: module.glorot_orthogonal(value, 2.0),
    "normal": lambda module, value: module.normal(value, 1.0, 2.0),
    "constant": lambda module, value: module.constant(value, 3.0),
    "zeros": lambda module, value: module.zeros(value),
    "ones": lambda module, value: module.ones(value),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
@pytest.mark.parametrize("shape", [(4, 6), (3, 5, 2)])
def test_the_same_draws_as_pyg(pyg, call, shape):
    if call is CALLS["glorot_orthogonal"] and len(shape) > 2:
        shape = shape[1:]
    drawn = []
    for module in (inits, pyg.inits):
        torch.manual_seed(0)
        value = torch.empty(shape)
        assert call(module, value) is None
        drawn.append(value)
    torch.testing.assert_close(*drawn)


@pytest.mark.parametrize("name", ["uniform", "kaiming_uniform", "normal", "constant", "zeros", "ones"])
def test_a_module_gives_its_parameters_and_buffers(pyg, name):
    states = []
    for module in (inits, pyg.inits):
        torch.manual_seed(0)
        layer = Sequential(Linear(2, 3), BatchNorm1d(3))
        torch.manual_seed(1)
        CALLS[name](module, layer[0].weight if name == "kaiming_uniform" else layer[0])
        states.append(layer[0].state_dict())
    for key, value in states[0].items():
        torch.testing.assert_close(value, states[1][key])
    norm = BatchNorm1d(2)
    inits.constant(norm, 7.0)
    assert all((value == 7).all() for value in norm.state_dict().values())


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_what_is_not_there_is_left_alone(call):
    assert call(inits, None) is None


def test_modules_are_reset_down_to_those_that_can():
    class Own(Module):
        def __init__(self):
            super().__init__()
            self.lin, self.calls = Linear(2, 2), 0

        def reset_parameters(self):
            self.calls += 1

    own, lin = Own(), Linear(2, 2)
    before = own.lin.weight.clone(), lin.weight.clone()
    inits.reset(Sequential(own, Sequential(lin)))
    assert own.calls == 1
    assert torch.equal(own.lin.weight, before[0])
    assert not torch.equal(lin.weight, before[1])
    assert inits.reset(abs) is None


def test_nothing_to_draw_from():
    for call in (CALLS["uniform"], CALLS["kaiming_uniform"], CALLS["glorot"]):
        call(inits, torch.empty(0, 0))
    value = torch.ones(2)
    inits.uniform(0, value)
    assert torch.equal(value, torch.zeros(2))
    with pytest.raises(ValueError, match=r"value: expected at least two dimensions, found shape \[3\]"):
        inits.glorot(torch.empty(3))
