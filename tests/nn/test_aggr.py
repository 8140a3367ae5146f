"""Aggregations: one contract for all, and beside PyG's."""

import copy
from collections.abc import Callable
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor
from torch.autograd import gradcheck
from torch.nn import Module

from gnnlab.nn import aggr
from gnnlab.nn.resolver import aggregation_resolver
from tests.nn.side_by_side import assert_alike

NAMES = ["sum", "add", "mean", "max", "min", "mul"]
SEVERAL = ["mean", "max", "sum"]
MODES = ["cat", "sum", "mean", "max", "min", "logsumexp", "std", "var"]
SCALERS = ["identity", "amplification", "attenuation", "linear", "inverse_linear"]
SIZES = torch.tensor([1, 2, 3, 0, 1])  # how many groups have so many rows


def by_hand(x: Tensor, index: Tensor, num_groups: int, name: str) -> Tensor:
    reduce: Any = {"sum": torch.sum, "add": torch.sum, "mean": torch.mean, "mul": torch.prod}.get(name)
    reduce = reduce or {"max": torch.amax, "min": torch.amin}[name]
    empty = torch.full_like(x[:1].sum(0), 1.0 if name == "mul" else 0.0)
    groups = [x[index == i] for i in range(num_groups)]
    return torch.stack([reduce(group, 0) if len(group) else empty for group in groups])


@given(st.sampled_from(NAMES), st.lists(st.integers(0, 4), max_size=12), st.integers(5, 7))
def test_groups_one_by_one(name: str, groups: list[int], num_groups: int) -> None:
    index = torch.tensor(groups, dtype=torch.long)
    x = torch.randn(len(groups), 3, dtype=torch.float64, generator=torch.Generator().manual_seed(len(groups)))
    expected = by_hand(x, index, num_groups, name)
    module = aggregation_resolver(name)
    torch.testing.assert_close(module(x, index, dim_size=num_groups), expected)
    torch.testing.assert_close(module(x.t(), index, dim_size=num_groups, dim=-1), expected.t())
    order = index.argsort(stable=True)
    counts = torch.bincount(index, minlength=num_groups)
    ptr = torch.cat([counts.new_zeros(1), counts.cumsum(0)])
    torch.testing.assert_close(module(x[order], ptr=ptr), expected)
    torch.testing.assert_close(module(x[order], index[order], ptr=ptr), expected)


#: By name: how to make the aggregation from gnnlab.nn.aggr or torch_geometric.nn.aggr, of three channels.
MODULES: dict[str, Callable[[Any], Module]] = {
    "sum": lambda a: a.SumAggregation(),
    "mean": lambda a: a.MeanAggregation(),
    "max": lambda a: a.MaxAggregation(),
    "min": lambda a: a.MinAggregation(),
    "mul": lambda a: a.MulAggregation(),
    "var": lambda a: a.VarAggregation(),
    "var, semi_grad": lambda a: a.VarAggregation(semi_grad=True),
    "std": lambda a: a.StdAggregation(),
    "std, semi_grad": lambda a: a.StdAggregation(semi_grad=True),
    "softmax": lambda a: a.SoftmaxAggregation(t=0.5),
    "softmax, semi_grad": lambda a: a.SoftmaxAggregation(semi_grad=True),
    "softmax, learned": lambda a: a.SoftmaxAggregation(learn=True),
    "softmax, learned by channel": lambda a: a.SoftmaxAggregation(t=2.0, learn=True, channels=3),
    "power mean": lambda a: a.PowerMeanAggregation(),
    "power mean, 3": lambda a: a.PowerMeanAggregation(p=3.0),
    "power mean, learned": lambda a: a.PowerMeanAggregation(p=1.5, learn=True, clamp_min=0.1, clamp_max=2.0),
    "power mean, learned by channel": lambda a: a.PowerMeanAggregation(p=2.0, learn=True, channels=3),
    "median": lambda a: a.MedianAggregation(),
    "median, filled": lambda a: a.MedianAggregation(fill_value=-7.0),
    "quantile": lambda a: a.QuantileAggregation(0.3),
    **{
        f"quantiles, {how}": (lambda a, how=how: a.QuantileAggregation([0.0, 0.15, 0.9], interpolation=how))
        for how in ("linear", "lower", "higher", "midpoint", "nearest")
    },
    "several": lambda a: a.MultiAggregation(["mean", a.MaxAggregation(), "quantile"], [{}, {}, {"q": [0.2, 0.8]}]),
    **{f"several, {mode}": (lambda a, mode=mode: a.MultiAggregation(SEVERAL, mode=mode)) for mode in MODES},
    "several, proj": lambda a: a.MultiAggregation(
        SEVERAL, mode="proj", mode_kwargs={"in_channels": 3, "out_channels": 4, "bias": False}
    ),
    "several, attn": lambda a: a.MultiAggregation(
        SEVERAL, mode="attn", mode_kwargs={"in_channels": 3, "out_channels": 4, "num_heads": 2}
    ),
    "scaled": lambda a: a.DegreeScalerAggregation(["mean", "max"], SCALERS, SIZES),
    "scaled, learned": lambda a: a.DegreeScalerAggregation("sum", "linear", SIZES, train_norm=True),
    "scaled, with arguments": lambda a: a.DegreeScalerAggregation(
        ["softmax", "sum"], ["linear"], SIZES, aggr_kwargs=[{"t": 2.0}, {}]
    ),
    "perceptron": lambda a: a.MLPAggregation(3, 4, max_num_elements=2, num_layers=2, hidden_channels=5, norm=None),
}
#: Those with a gradient of their own, and those whose rows are two-dimensional.
WITHOUT_FULL_GRADIENT = {name for name in MODULES if "semi_grad" in name}
FLAT = {"perceptron", "several, attn"}


def rows(generator: int = 0) -> Tensor:
    """Six rows of three channels, of which none are equal."""
    return torch.randn(6, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(generator))


GROUPS = torch.tensor([0, 0, 1, 1, 1, 3])  # of five; two are empty


@pytest.mark.filterwarnings(
    "ignore:(std|var)\\(\\). degrees of freedom is <= 0:UserWarning"
)  # of nothing, torch says so
@pytest.mark.parametrize("name", MODULES)
def test_one_contract(name: str) -> None:
    module, x = MODULES[name](aggr).double(), rows()
    expected = module(x, GROUPS, dim_size=5)
    assert expected.shape == (5, module.get_out_channels(3))
    ptr = torch.tensor([0, 2, 5, 5, 6, 6])
    torch.testing.assert_close(module(x, ptr=ptr), expected)
    torch.testing.assert_close(module(x, GROUPS.int(), ptr=ptr), expected)
    torch.testing.assert_close(module(x, GROUPS), expected[:4])
    for group in (0, 1, 3):  # a group does not see the others
        torch.testing.assert_close(module(x[group == GROUPS]), expected[group : group + 1])
    order = torch.tensor([5, 0, 2, 3, 1, 4])  # within a group the order stays
    torch.testing.assert_close(module(x[order], GROUPS[order], dim_size=5), expected)
    assert module(x[:0], GROUPS[:0]).shape == (0, expected.size(1))
    none = module(x[:0], GROUPS[:0], dim_size=2)
    torch.testing.assert_close(none, expected[[2, 4]])
    copied = copy.deepcopy(module)
    module.reset_parameters()
    module.load_state_dict(copied.state_dict())
    torch.testing.assert_close(module(x, GROUPS, dim_size=5), expected)


@pytest.mark.parametrize("name", [name for name in MODULES if name not in FLAT])
def test_rows_along_another_dimension(name: str) -> None:
    module = MODULES[name](aggr).double()
    x = torch.stack([rows(0), rows(1)])
    expected = torch.stack([module(x[0], GROUPS, dim_size=5), module(x[1], GROUPS, dim_size=5)])
    torch.testing.assert_close(module(x, GROUPS, dim_size=5), expected)
    if name == "several" or name.startswith("quantiles"):
        return  # the quantiles of [rows, 2, 3] stand in the dimension of 2
    found = module(x.transpose(0, 1), GROUPS, dim_size=5, dim=0)
    torch.testing.assert_close(found, expected.transpose(0, 1))


@pytest.mark.parametrize("name", MODULES)
def test_values_gradients_and_states_as_pyg(name: str) -> None:
    pyg = pytest.importorskip("torch_geometric.nn.aggr", reason="compares with torch_geometric")
    ours, theirs = (MODULES[name](lib).double() for lib in (aggr, pyg))
    assert repr(ours) == repr(theirs)
    assert list(ours.state_dict()) == list(theirs.state_dict())
    for key, value in ours.state_dict().items():
        assert value.shape == theirs.state_dict()[key].shape
        if name.startswith("scaled"):
            torch.testing.assert_close(value, theirs.state_dict()[key])
    theirs.load_state_dict(ours.state_dict())
    assert_alike(ours, theirs, rows(), GROUPS, dim_size=5)


@pytest.mark.parametrize("name", [name for name in MODULES if name not in WITHOUT_FULL_GRADIENT])
def test_finite_differences(name: str) -> None:
    module = MODULES[name](aggr).double()
    x = rows()[:, :3].requires_grad_()
    parameters = [p for p in module.parameters() if p.numel() <= 3]

    def reduced(x: Tensor, *_: Tensor) -> Tensor:
        return module(x, GROUPS, dim_size=5)

    assert gradcheck(reduced, (x, *parameters))


@pytest.mark.parametrize("name", ["max", "min", "median"])
def test_equal_entries(name: str) -> None:
    x = torch.ones(3, 1, dtype=torch.float64, requires_grad=True)
    out = MODULES[name](aggr)(x, torch.tensor([0, 0, 0]))
    out.sum().backward()
    assert out.tolist() == [[1.0]]
    assert x.grad is not None
    if name != "median":
        torch.testing.assert_close(x.grad, torch.full((3, 1), 1 / 3, dtype=torch.float64))
    assert x.grad.sum() == 1


def test_scalers_with_one_or_several_aggregations() -> None:
    x = rows()
    one = aggr.DegreeScalerAggregation("sum", SCALERS, SIZES)(x, GROUPS)
    torch.testing.assert_close(one, aggr.DegreeScalerAggregation(["sum"], SCALERS, SIZES)(x, GROUPS))
    several = aggr.DegreeScalerAggregation(["sum", "max"], "linear", SIZES)(x, GROUPS)
    torch.testing.assert_close(several, aggr.DegreeScalerAggregation(["sum", "max"], ["linear"], SIZES)(x, GROUPS))


def test_a_variance_keeps_its_digits_far_from_zero() -> None:
    x = torch.tensor([[1e4], [1e4 + 1]])
    assert aggr.VarAggregation()(x).tolist() == [[0.25]]
    assert aggr.StdAggregation()(x).tolist() == [[0.5]]


@pytest.mark.parametrize("interpolation", ["linear", "lower", "higher", "midpoint", "nearest"])
@given(st.lists(st.floats(-5, 5), min_size=1, max_size=7), st.sampled_from([0.0, 0.2, 0.25, 0.7, 1.0]))
def test_quantiles_beside_torch(interpolation: str, values: list[float], q: float) -> None:
    x = torch.tensor(values).view(-1, 1)
    index = torch.ones(len(values), dtype=torch.long)
    found = aggr.QuantileAggregation(q, interpolation)(x, index, dim_size=3)
    expected = torch.quantile(x, q, dim=0, interpolation=interpolation)
    torch.testing.assert_close(found, torch.stack([torch.zeros(1), expected, torch.zeros(1)]))


def test_a_power_mean_without_bounds() -> None:
    module, x = aggr.PowerMeanAggregation(p=2.0, clamp_min=None, clamp_max=None), rows()
    torch.testing.assert_close(module(x), x.pow(2).mean(0, keepdim=True).sqrt())


def test_parameters_are_reset() -> None:
    for module in (
        aggr.SoftmaxAggregation(t=2.0, learn=True),
        aggr.PowerMeanAggregation(p=2.0, learn=True),
        aggr.MultiAggregation([aggr.SoftmaxAggregation(t=2.0, learn=True), "sum"]),
        aggr.DegreeScalerAggregation(aggr.SoftmaxAggregation(t=2.0, learn=True), "linear", torch.tensor([0, 0, 1])),
    ):
        (parameter,) = module.parameters()
        torch.nn.init.zeros_(parameter)
        module.reset_parameters()
        assert parameter.tolist() == [2.0]
    for name in ("several, proj", "several, attn", "perceptron", "scaled, learned"):
        module = MODULES[name](aggr)
        for parameter in module.parameters():
            torch.nn.init.constant_(parameter, 9.0)
        module.reset_parameters()
        assert all((parameter != 9.0).all() for parameter in module.parameters())


@pytest.mark.parametrize("name", NAMES)
def test_by_name(name: str) -> None:
    x = rows()
    torch.testing.assert_close(aggregation_resolver(name)(x), by_hand(x, torch.zeros(6), 1, name))
    assert aggregation_resolver(aggregation_resolver(name)).__class__ is aggregation_resolver(name).__class__


@pytest.mark.parametrize(
    ("query", "kwargs"),
    [
        ("powermean", {}),
        ("PowerMeanAggregation", {"p": 2.0}),
        ("std", {}),
        ("median", {}),
        ("quantile", {"q": [0.1]}),
        ("softmax", {"learn": True}),
        (["mean", "max", "sum"], {}),
        (["mean", "softmax"], {"aggrs_kwargs": [{}, {"learn": True}], "mode": "sum"}),
    ],
)
def test_names_as_pyg(query: Any, kwargs: dict[str, Any]) -> None:
    pyg = pytest.importorskip("torch_geometric.nn.resolver", reason="compares with torch_geometric")
    assert repr(aggregation_resolver(query, **kwargs)) == repr(pyg.aggregation_resolver(query, **kwargs))


def an_own_one(lib: Any) -> Module:
    """As a user writes it: the mean of the groups, and beside it their first two rows."""

    class Own(lib.Aggregation):  # type: ignore[misc,name-defined]
        def forward(self, x, index=None, ptr=None, dim_size=None, dim=-2):  # type: ignore[no-untyped-def]
            self.assert_index_present(index)
            self.assert_sorted_index(index)
            self.assert_two_dimensional_input(x, dim)
            rows, mask = self.to_dense_batch(x, index, ptr, dim_size, dim, fill_value=-1.0, max_num_elements=2)
            mean = self.reduce(x, index, ptr, dim_size, dim, reduce="mean")
            return torch.cat([mean, rows.flatten(1), mask.to(x.dtype)], dim=1)

    return Own()


def test_one_of_the_users_own_as_pyg() -> None:
    pyg = pytest.importorskip("torch_geometric.nn.aggr", reason="compares with torch_geometric")
    assert_alike(an_own_one(aggr), an_own_one(pyg), rows(), GROUPS, dim_size=5)
    with pytest.raises(ValueError, match="index: expected groups in order, found some that fall"):
        an_own_one(aggr)(rows(), GROUPS.flip(0))
    with pytest.raises(ValueError, match=r"x: expected shape \[n, channels\] and rows along dim 0, found \[6, 3, 1\]"):
        an_own_one(aggr)(rows()[:, :, None], GROUPS, dim=0)


def test_groups_by_pointers_alone_in_what_subclasses_call() -> None:
    base, x = aggr.Aggregation(), rows()
    ptr, dim_size = torch.tensor([0, 2, 5, 5, 6, 6]), 5
    torch.testing.assert_close(base.reduce(x, ptr=ptr), base.reduce(x, GROUPS, dim_size=dim_size))
    for found, expected in zip(
        base.to_dense_batch(x, ptr=ptr), base.to_dense_batch(x, GROUPS, dim_size=dim_size), strict=True
    ):
        assert torch.equal(found, expected)
    base.assert_sorted_index(None)
    for call in (base.reduce, base.to_dense_batch):
        with pytest.raises(ValueError, match="index: expected the group of each row, found None"):
            call(x)


@pytest.mark.parametrize(
    ("ptr", "message"),
    [
        ([0, 1, 3, 5], "index: expected the groups that ptr marks off, in their order, found others"),
        ([0, 2, 2, 5], "index: expected the groups that ptr marks off, in their order, found others"),
        ([0, 2, 4, 4], "ptr: expected the groups of 5 rows, found those of 4"),
        ([1, 2, 4, 5], "ptr: expected pointers from 0 on, found .1. first"),
        ([], "ptr: expected pointers from 0 on, found .. first"),
        ([0, 4, 2, 5], "ptr: expected pointers that never fall"),
        ([0.0, 2.0, 4.0, 5.0], "ptr: expected an integer dtype"),
    ],
)
def test_an_index_and_pointers_of_different_groups_are_refused(ptr: list[int], message: str) -> None:
    x, index = torch.randn(5, 2), torch.tensor([0, 0, 1, 1, 2])
    for name in ("sum", "softmax", "median"):
        with pytest.raises(ValueError, match=message):
            aggregation_resolver(name)(x, index, torch.tensor(ptr, dtype=None if ptr else torch.long))
    with pytest.raises(ValueError, match="index: expected the groups that ptr marks off, in their order"):
        aggregation_resolver("sum")(x, index.flip(0), torch.tensor([0, 2, 4, 5]))


def test_errors_name_what_is_wrong() -> None:
    module, x = aggr.SumAggregation(), torch.ones(3, 2)
    with pytest.raises(ValueError, match=r"dim: expected a dimension of x \[3, 2\], found 2"):
        module(x, torch.zeros(3).long(), dim=2)
    with pytest.raises(ValueError, match="index: expected the groups of 3 rows, found those of 2"):
        module(x, torch.zeros(2).long())
    with pytest.raises(ValueError, match="dim_size: expected 1, the groups of ptr, found 2"):
        module(x, ptr=torch.tensor([0, 3]), dim_size=2)
    with pytest.raises(IndexError, match="index: expected values in"):
        module(x, torch.tensor([0, 1, 5]), dim_size=2)
    with pytest.raises(NotImplementedError, match="Aggregation has no forward"):
        aggr.Aggregation()(x)
    with pytest.raises(ValueError, match="aggrs: expected a list of at least one aggregation"):
        aggr.MultiAggregation([])
    with pytest.raises(ValueError, match="aggrs_kwargs: expected 2, one for each of aggrs, found 1"):
        aggr.MultiAggregation(["sum", "max"], [{}])
    with pytest.raises(ValueError, match=r"mode: expected one of 'cat'.*found 'both'"):
        aggr.MultiAggregation(["sum"], mode="both")
    assert torch.equal(aggr.MultiAggregation(["sum", "sum"], mode="add")(x), 2 * x.sum(0, keepdim=True))
    with pytest.raises(ValueError, match="aggrs: expected several for mode='proj', found one"):
        aggr.MultiAggregation(["sum"], mode="proj", mode_kwargs={"in_channels": 2, "out_channels": 2})
    with pytest.raises(ValueError, match=r"mode_kwargs: expected in_channels and out_channels .*, found \['in_c"):
        aggr.MultiAggregation(["sum", "max"], mode="attn", mode_kwargs={"in_channels": 2})
    with pytest.raises(ValueError, match="ptr: expected the groups of 3 rows, found those of 2"):
        module(x, ptr=torch.tensor([0, 2]))
    with pytest.raises(ValueError, match="index: expected an integer dtype"):
        module(x, torch.zeros(3))
    with pytest.raises(ValueError, match="index: expected the groups of 3 rows, found those of 2"):
        module(x, torch.tensor([0, 1]), torch.tensor([0, 1, 3]))
    with pytest.raises(ValueError, match="semi_grad: expected False with learn, found True"):
        aggr.SoftmaxAggregation(learn=True, semi_grad=True)
    with pytest.raises(ValueError, match="channels: expected 1 without learn, found 3"):
        aggr.SoftmaxAggregation(channels=3)
    with pytest.raises(ValueError, match="channels: expected 1 without learn, found 3"):
        aggr.PowerMeanAggregation(channels=3)
    for q in (-0.1, [0.1, 1.5], []):
        with pytest.raises(ValueError, match="q: expected at least one number, each in"):
            aggr.QuantileAggregation(q)
    with pytest.raises(ValueError, match=r"interpolation: expected one of .*, found 'cubic'"):
        aggr.QuantileAggregation(0.5, "cubic")
    with pytest.raises(ValueError, match=r"scaler: expected one of .*, found 'log'"):
        aggr.DegreeScalerAggregation("sum", ["linear", "log"], SIZES)
    with pytest.raises(ValueError, match="deg: expected the number of groups of each size, found no group"):
        aggr.DegreeScalerAggregation("sum", "linear", torch.zeros(3, dtype=torch.long))
    with pytest.raises(ValueError, match=r"x: expected shape \[n, 3\], found \[3, 2\]"):
        aggr.MLPAggregation(3, 4, 2, num_layers=1)(x)
    with pytest.raises(ValueError, match=r"x: expected shape \[n, channels\] and rows along dim 0, found .*, dim -1"):
        aggr.MLPAggregation(3, 4, 2, num_layers=1)(x, dim=-1)
    with pytest.raises(ValueError, match="query: expected an aggregation, its name or a list of them, found 3"):
        aggregation_resolver(3)
