import inspect

import pytest
import torch

from gnnlab.nn import HeteroJumpingKnowledge, JumpingKnowledge
from tests.nn.side_by_side import assert_alike, beside


def layers(num_layers=3, num_nodes=5):
    generator = torch.Generator().manual_seed(0)
    return [torch.randn(num_nodes, 4, generator=generator, dtype=torch.float64) for _ in range(num_layers)]


@pytest.mark.parametrize("args", [("cat",), ("max",), ("CAT",), ("lstm", 4, 3)])
@pytest.mark.parametrize("num_nodes", [0, 1, 5])
def test_values_gradients_and_states_as_pyg(pyg, args, num_nodes):
    ours, theirs = beside(JumpingKnowledge(*args), pyg.JumpingKnowledge(*args))
    assert_alike(ours, theirs, layers(num_nodes=num_nodes))
    assert repr(ours) == repr(theirs)


@pytest.mark.parametrize("args", [("cat",), ("max",), ("lstm", 4, 3)])
def test_a_module_for_each_type_as_pyg(pyg, args):
    ours = HeteroJumpingKnowledge(["paper", "author"], *args)
    ours, theirs = beside(ours, pyg.HeteroJumpingKnowledge(["paper", "author"], *args))
    xs = {"author": layers(num_nodes=2), "paper": layers()}
    out, expected = ours(xs), theirs(xs)
    assert list(out) == list(expected)
    for key, value in out.items():
        torch.testing.assert_close(value, expected[key])
    assert repr(ours) == repr(theirs)


def test_arguments_as_pyg(pyg):
    for name, ours in (("JumpingKnowledge", JumpingKnowledge), ("HeteroJumpingKnowledge", HeteroJumpingKnowledge)):
        assert list(inspect.signature(ours).parameters) == list(inspect.signature(getattr(pyg, name)).parameters)


def test_layers_that_tie_share_the_gradient():
    xs = [torch.ones(1, 1, requires_grad=True), torch.ones(1, 1, requires_grad=True)]
    JumpingKnowledge("max")(xs).sum().backward()
    assert [x.grad.item() for x in xs] == [0.5, 0.5]


def test_types_may_hold_dots():
    assert list(HeteroJumpingKnowledge(["a.b", "type"], "max")({"a.b": layers(), "type": layers()})) == ["a.b", "type"]


@pytest.mark.parametrize("module", [JumpingKnowledge("lstm", 4, 3), HeteroJumpingKnowledge(["a"], "lstm", 4, 3)])
def test_parameters_are_reset(module):
    before = {name: value.clone() for name, value in module.named_parameters()}
    module.reset_parameters()
    assert all(not torch.equal(value, before[name]) for name, value in module.named_parameters())


def test_wrong_arguments_are_named():
    with pytest.raises(ValueError, match=r"mode: expected one of .*, found 'mean'"):
        JumpingKnowledge("mean")
    with pytest.raises(ValueError, match="channels: expected it and num_layers with 'lstm', found 4 and None"):
        JumpingKnowledge("lstm", 4)
    with pytest.raises(ValueError, match="xs: expected the output of at least one layer, found none"):
        JumpingKnowledge("cat")([])
