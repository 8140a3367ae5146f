"""Positive and negative edges that differ."""

from types import ModuleType

import pytest
import torch
from torch import Tensor

from gnnlab import nn as ours
from gnnlab.nn import SignedConv
from gnnlab.sparse import SparseTensor
from tests.nn.side_by_side import assert_alike, beside

POSITIVE = torch.tensor([[0, 1, 2, 4, 3], [1, 0, 1, 1, 3]])
NEGATIVE = torch.tensor([[0, 3, 4], [2, 2, 0]])


def features(num: int, channels: int) -> Tensor:
    return torch.randn(num, channels, dtype=torch.float64, generator=torch.Generator().manual_seed(num))


@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize("aggr", ["mean", "max"])
def test_as_pyg(pyg: ModuleType, first: bool, aggr: str) -> None:
    mine, theirs = beside(*(nn.SignedConv(2, 3, first, aggr=aggr) for nn in (ours, pyg)))
    x = features(5, 2 if first else 4)
    assert_alike(mine, theirs, x, POSITIVE, NEGATIVE)
    assert_alike(mine, theirs, x, NEGATIVE, POSITIVE)
    torch.testing.assert_close(mine((x, x[:4]), POSITIVE, NEGATIVE), theirs((x, x[:4]), POSITIVE, NEGATIVE))


@pytest.mark.parametrize("first", [True, False])
def test_it_multiplies_by_both_adjacencies(first: bool) -> None:
    conv, x = SignedConv(2, 3, first).double(), features(5, 2 if first else 4)
    adjs = [SparseTensor(row=e[1], col=e[0], sparse_sizes=(5, 5)) for e in (POSITIVE, NEGATIVE)]
    assert all(conv.fuse_report(x, adj) for adj in adjs)
    torch.testing.assert_close(conv(x, *adjs), conv(x, POSITIVE, NEGATIVE))
    torch.testing.assert_close(conv(x, adjs[0], NEGATIVE), conv(x, POSITIVE, NEGATIVE))


def test_without_edges_the_nodes_themselves_are_left() -> None:
    conv, x, none = SignedConv(2, 3, True).double(), features(5, 2), POSITIVE[:, :0]
    torch.testing.assert_close(conv(x, none, none), torch.cat([conv.lin_pos_r(x), conv.lin_neg_r(x)], -1))
    assert conv(x[:0], none, none).shape == (0, 6)


def test_a_first_layer_of_open_size_and_parameters_drawn_anew() -> None:
    conv = SignedConv(-1, 3, first_aggr=True)
    assert conv(features(5, 7).float(), POSITIVE, NEGATIVE).shape == (5, 6)
    before = [value.clone() for value in conv.parameters()]
    conv.reset_parameters()
    assert all(not torch.equal(a, b) for a, b in zip(before, conv.parameters(), strict=True))


def test_errors_name_what_is_wrong() -> None:
    with pytest.raises(ValueError, match="in_channels: expected half the size of the input of a later layer"):
        SignedConv(-1, 3, first_aggr=False)
    with pytest.raises(ValueError, match=r"x: expected 4 features, 2 \* in_channels, found 2"):
        SignedConv(2, 3, first_aggr=False).double()(features(5, 2), POSITIVE, NEGATIVE)
    with pytest.raises(ValueError, match="x: expected the features of sources and targets, found None"):
        SignedConv(2, 3, first_aggr=True).double()((features(5, 2), None), POSITIVE, NEGATIVE)
    with pytest.raises(IndexError, match=r"edge_index: expected values in \[0, 4\), found 4"):
        SignedConv(2, 3, first_aggr=True).double()(features(4, 2), POSITIVE, NEGATIVE)
