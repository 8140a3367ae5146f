"""Linear layers by type: one product a type, beside PyG's, with sizes that may come later."""

import copy
import inspect
from typing import Any

import pytest
import torch

from gnnlab.nn.dense import HeteroDictLinear, HeteroLinear
from tests.nn.side_by_side import assert_alike, beside

TYPES = torch.tensor([2, 0, 2, 1, 0, 2])  # of four; one has no row
SORTED = TYPES.sort().values


def rows(num: int = 6) -> torch.Tensor:
    return torch.randn(num, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(0))


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("is_sorted", [True, False])
def test_values_gradients_and_states_as_pyg(pyg: Any, bias: bool, is_sorted: bool) -> None:
    ours, theirs = beside(*(cls(4, 3, 4, is_sorted, bias=bias) for cls in (HeteroLinear, pyg.HeteroLinear)))
    assert repr(ours) == repr(theirs)
    for types in [SORTED] if is_sorted else [TYPES, SORTED, TYPES.int()]:
        if types.dtype == torch.long:
            assert_alike(ours, theirs, rows(), types)
        torch.testing.assert_close(ours(rows()[:0], types[:0]), torch.empty(0, 3, dtype=torch.float64))


@pytest.mark.parametrize("bias", [True, False])
def test_each_row_by_hand(bias: bool) -> None:
    layer, x = HeteroLinear(4, 3, 4, bias=bias).double(), rows()
    out = layer(x, TYPES.to(torch.uint8))
    for i, kind in enumerate(TYPES.tolist()):
        expected = x[i] @ layer.weight[kind]
        torch.testing.assert_close(out[i], expected if layer.bias is None else expected + layer.bias[kind])


@pytest.mark.parametrize("weight_initializer", [None, "glorot", "uniform", "kaiming_uniform"])
@pytest.mark.parametrize("bias_initializer", [None, "zeros"])
@pytest.mark.parametrize("in_channels", [4, -1])
def test_the_same_draws_as_pyg(
    pyg: Any, weight_initializer: str | None, bias_initializer: str | None, in_channels: int
) -> None:
    drawn = []
    for cls in (HeteroLinear, pyg.HeteroLinear):
        torch.manual_seed(0)
        layer = cls(in_channels, 3, 4, weight_initializer=weight_initializer, bias_initializer=bias_initializer)
        layer(torch.zeros(6, 4), TYPES)
        drawn.append(layer.state_dict())
    torch.testing.assert_close(*drawn, rtol=0, atol=0)


def test_an_open_layer_takes_the_size_of_its_first_input() -> None:
    layer = HeteroLinear(-1, 3, 4)
    assert repr(layer) == "HeteroLinear(-1, 3, num_types=4, bias=True)"
    copied = copy.deepcopy(layer)
    layer(rows().float(), TYPES)
    assert repr(layer) == "HeteroLinear(4, 3, num_types=4, bias=True)"
    assert layer.weight.shape == (4, 4, 3)
    assert copied.in_channels == -1
    before = layer.weight.clone()
    layer.reset_parameters()
    assert not torch.equal(before, layer.weight)


def test_a_layer_for_each_type(pyg: Any) -> None:
    sizes = {"b": 4, "a": 2}
    layers = HeteroDictLinear(sizes, 3), pyg.HeteroDictLinear(sizes, 3)
    assert repr(layers[0]) == repr(layers[1])
    ours, theirs = beside(*layers)
    x = {"a": torch.randn(2, 2).double(), "b": torch.randn(5, 4).double(), "else": torch.ones(1)}
    found, expected = ours(x), theirs(x)
    assert list(found) == list(expected) == ["b", "a"]
    torch.testing.assert_close(found, expected)
    assert list(ours({"a": x["a"]})) == ["a"]


def test_one_size_for_all_types(pyg: Any) -> None:
    assert repr(HeteroDictLinear(2, 3, ["a", "b"], bias=False)) == repr(
        pyg.HeteroDictLinear(2, 3, ["a", "b"], bias=False)
    )
    layer = HeteroDictLinear(-1, 3, types=["a", ("a", "to", "b")])
    assert layer({"a": torch.ones(1, 7)})["a"].shape == (1, 3)
    assert layer.in_channels == {"a": 7, ("a", "to", "b"): -1}
    state = HeteroDictLinear({"a": 7, ("a", "to", "b"): 5}, 3).state_dict()
    layer.load_state_dict(state)
    assert layer.in_channels == {"a": 7, ("a", "to", "b"): 5}
    layer.reset_parameters()
    assert not torch.equal(layer.state_dict()["lins.a.weight"], state["lins.a.weight"])


def test_arguments_as_pyg(pyg: Any) -> None:
    assert str(inspect.signature(HeteroDictLinear.forward).parameters.keys()) == str(
        inspect.signature(pyg.HeteroDictLinear.forward).parameters.keys()
    )
    for cls in (HeteroLinear, HeteroDictLinear):
        theirs = list(inspect.signature(getattr(pyg, cls.__name__)).parameters)[:-1]
        assert list(inspect.signature(cls).parameters)[: len(theirs)] == theirs


def test_errors_name_what_is_wrong() -> None:
    layer, x = HeteroLinear(4, 3, 4).double(), rows()
    with pytest.raises(IndexError, match=r"type_vec: expected values in \[0, 4\), found 4"):
        layer(x, TYPES + 2)
    with pytest.raises(IndexError, match=r"type_vec: expected values in \[0, 4\), found -1"):
        layer(x, TYPES - 1)
    with pytest.raises(ValueError, match="type_vec: expected the type of each of 6 rows, found 5"):
        layer(x, TYPES[:5])
    with pytest.raises(ValueError, match="type_vec: expected an integer dtype"):
        layer(x, TYPES.double())
    with pytest.raises(ValueError, match="type_vec: expected types in order, as is_sorted promises"):
        HeteroLinear(4, 3, 4, is_sorted=True).double()(x, TYPES)
    with pytest.raises(ValueError, match="weight_initializer: expected one of"):
        HeteroLinear(4, 3, 4, weight_initializer="zeros")
    with pytest.raises(ValueError, match="types: expected a list, since in_channels is one number for all"):
        HeteroDictLinear(4, 3)
