import copy
import pickle

import pytest
import torch
from torch.nn import Linear, ReLU

from gnnlab.nn import JumpingKnowledge, Sequential, global_mean_pool
from tests.nn.side_by_side import beside


def add(a, b):
    return a + b


def pair(x):
    return x, x + 1


def test_names_lead_from_call_to_call():
    model = Sequential(
        "x, batch",
        [
            (Linear(3, 3), "x -> x1"),
            (ReLU(), "x1->x2"),
            (lambda a, b: [a, b], "x1, x2 -> xs"),
            (JumpingKnowledge("cat"), "xs -> x"),
            (global_mean_pool, "x, batch -> x"),
            Linear(6, 2),
        ],
    )
    x, batch = torch.randn(4, 3), torch.tensor([0, 0, 1, 1])
    x1 = model[0](x)
    expected = model[5](global_mean_pool(torch.cat([x1, x1.relu()], -1), batch))
    torch.testing.assert_close(model(x, batch), expected)
    torch.testing.assert_close(model(x, batch=batch), expected)
    torch.testing.assert_close(model(batch=batch, x=x), expected)


def test_state_values_and_text_as_pyg(pyg):
    modules = [(add, "x, y -> x"), (Linear(3, 4), "x -> z"), ReLU(), (pair, "z -> a, b"), (add, "a, b -> x")]
    ours, theirs = beside(Sequential("x, y", modules), pyg.Sequential("x, y", copy.deepcopy(modules)))
    assert list(ours.state_dict()) == ["module_1.weight", "module_1.bias"]
    x, y = torch.randn(2, 5, 3, dtype=torch.float64)
    torch.testing.assert_close(ours(x, y), theirs(x, y))
    assert repr(ours) == repr(theirs)
    assert len(ours) == len(theirs) == 5
    assert [type(module) for module in ours] == [type(module) for module in theirs]
    assert isinstance(ours[-3], ReLU)


def test_names_of_their_own(pyg):
    modules = {"lin": (Linear(3, 4), "x -> x"), "act": ReLU()}
    ours, theirs = Sequential("x", modules), pyg.Sequential("x", modules)
    assert list(ours.state_dict()) == list(theirs.state_dict()) == ["lin.weight", "lin.bias"]
    assert ours.lin is ours[0]
    assert isinstance(ours.act, ReLU)


def test_several_values_come_in_and_go_out():
    model = Sequential("x", [(pair, "x -> a, b"), (lambda a, b: (b, a), "a, b -> c, d")])
    assert model(torch.tensor(1)) == (2, 1)
    with pytest.raises(ValueError, match="module_0: expected 3 values, x -> a, b, c, found 2"):
        Sequential("x", [(pair, "x -> a, b, c")])(torch.tensor(1))


def test_a_value_goes_by_name():
    model = Sequential("x, y", [(torch.add, "x, alpha = y, other=x -> x")])
    assert model(torch.tensor(2), 3) == 8
    assert str(model).endswith(": x, alpha=y, other=x -> x\n)")


def test_a_module_without_names_takes_what_the_one_before_gave():
    model = Sequential("x", [(pair, "x -> a, b"), add_one_each])
    assert model(torch.tensor(1)) == (2, 3)


def add_one_each(a, b):
    return a + 1, b + 1


def test_copies_and_pickles():
    model = Sequential("x, y", [(add, "x, y -> x"), Linear(2, 2)])
    x = torch.ones(3, 2)
    for copied in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert torch.equal(copied(x, x), model(x, x))
        assert copied[1] is not model[1]


def test_parameters_are_reset():
    model = Sequential("x", [(add_one_each, "x, x -> x, y"), (Linear(2, 2), "x -> x")])
    before = model[1].weight.clone()
    model.reset_parameters()
    assert not torch.equal(model[1].weight, before)


@pytest.mark.parametrize(
    ("input_args", "modules", "message"),
    [
        ("x", [], "modules: expected at least one, found none"),
        ("x", [ReLU()], "modules: expected a pair of a module and its names first, found module_0 without"),
        ("x", [(ReLU(), "x")], "modules: expected '... -> ...' for module_0, found 'x'"),
        ("x", [(ReLU(), "y -> x")], r"modules: expected module_0 to take some of \['x'\], found \['y'\]"),
        ("x", [(ReLU(), "x -> x -> x")], "module_0: expected names with commas between them, found 'x -> x'"),
        ("x, ", [(ReLU(), "x -> x")], "input_args: expected names with commas between them, found 'x,'"),
        ("x=None", [(ReLU(), "x -> x")], "input_args: expected names with commas between them, found 'x=None'"),
        ("x", [(ReLU(), "x=x=x -> x")], "module_0: expected names with commas between them"),
        ("x", [(3, "x -> x")], "modules: expected module_0 to be a module or a function, found 3"),
    ],
)
def test_wrong_descriptions_are_named(input_args, modules, message):
    with pytest.raises(ValueError, match=message):
        Sequential(input_args, modules)


def test_wrong_arguments_are_named():
    model = Sequential("x, y", [(add, "x, y -> x")])
    for args, kwargs, found in [((1,), {}, "x"), ((1, 2, 3), {}, r"x, y, \?"), ((1, 2), {"y": 3}, "x, y, y"),
                                ((1,), {"z": 2}, "x, z")]:  # fmt: skip
        with pytest.raises(TypeError, match=f"forward: expected the arguments x, y, found {found}$"):
            model(*args, **kwargs)
