"""Aggregations: one contract for all, and beside PyG's."""

from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor
from torch.autograd import gradcheck

from gnnlab.nn import aggr
from gnnlab.nn.resolver import aggregation_resolver

NAMES = ["sum", "add", "mean", "max", "min", "mul"]
SEVERAL = ["mean", "max", "sum"]
MODES = ["cat", "sum", "add", "mean", "max", "min", "logsumexp", "std", "var"]


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


@pytest.mark.parametrize("name", NAMES)
def test_without_an_index_all_is_one_group(name: str) -> None:
    x = torch.randn(4, 2)
    torch.testing.assert_close(aggregation_resolver(name)(x), by_hand(x, torch.zeros(4), 1, name))


@pytest.mark.parametrize("query", [*NAMES, SEVERAL])
def test_beside_pyg(query: Any) -> None:
    pyg = pytest.importorskip("torch_geometric.nn.resolver", reason="compares with torch_geometric")
    x, index = torch.randn(6, 3, dtype=torch.float64), torch.tensor([0, 0, 3, 1, 1, 1])
    results = []
    for module in (aggregation_resolver(query), pyg.aggregation_resolver(query)):
        leaf = x.clone().requires_grad_()
        out = module(leaf, index, dim_size=5)
        out.cos().sum().backward()
        results.append((out, leaf.grad))
        assert repr(module) == repr(aggregation_resolver(query))
    torch.testing.assert_close(*results)


@pytest.mark.parametrize("mode", MODES)
def test_several_beside_pyg(mode: str) -> None:
    pyg = pytest.importorskip("torch_geometric.nn.aggr", reason="compares with torch_geometric")
    x, index = torch.randn(6, 3, dtype=torch.float64), torch.tensor([0, 0, 3, 1, 1, 1])
    ours = aggr.MultiAggregation(SEVERAL, mode=mode)(x, index, dim_size=5)
    theirs = pyg.MultiAggregation(SEVERAL, mode="sum" if mode == "add" else mode)(x, index, dim_size=5)
    torch.testing.assert_close(ours, theirs)


@pytest.mark.parametrize("name", NAMES)
def test_finite_differences(name: str) -> None:
    x = torch.randn(5, 2, dtype=torch.float64, requires_grad=True)
    module = aggregation_resolver(name)
    assert gradcheck(lambda x: module(x, torch.tensor([0, 0, 2, 2, 2]), dim_size=4), (x,))


def test_errors_name_what_is_wrong() -> None:
    module, x = aggr.SumAggregation(), torch.ones(3, 2)
    with pytest.raises(ValueError, match=r"dim: expected a dimension of x \[3, 2\], found 2"):
        module(x, torch.zeros(3).long(), dim=2)
    with pytest.raises(ValueError, match=r"index: expected the group of each of 3 rows, found \[2\]"):
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
    with pytest.raises(ValueError, match="query: expected an aggregation, its name or a list of them, found 3"):
        aggregation_resolver(3)
