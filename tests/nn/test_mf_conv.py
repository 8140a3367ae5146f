"""Weights by the number of neighbours."""

from types import ModuleType
from typing import Any

import pytest
import torch
from torch import Tensor

from gnnlab import nn as ours
from gnnlab.nn import MFConv
from gnnlab.nn.conv.by_type import by_type
from gnnlab.sparse import SparseTensor
from tests.nn.side_by_side import assert_alike, beside
from tests.nn.test_fused import Largest

EDGES = torch.tensor([[0, 1, 2, 2, 3, 4, 0, 1, 0], [1, 0, 1, 3, 2, 2, 2, 1, 2]])  # 4 reach node 2, none node 4


def draw(*shape: int) -> Tensor:
    return torch.rand(shape, dtype=torch.float64, generator=torch.Generator().manual_seed(len(shape)))


def adjacency(value: Tensor | None = None, size: tuple[int, int] = (5, 5)) -> SparseTensor:
    return SparseTensor(row=EDGES[1], col=EDGES[0], value=value, sparse_sizes=size[::-1])


@pytest.mark.parametrize(
    "kwargs", [{}, {"bias": False}, {"aggr": "max"}, {"flow": "target_to_source"}, {"max_degree": 0}], ids=str
)
def test_options_beside_pyg(pyg: ModuleType, kwargs: dict[str, Any]) -> None:
    mine, theirs = beside(*(nn.MFConv(4, 3, **{"max_degree": 3} | kwargs) for nn in (ours, pyg)))
    for x, edges in ((draw(5, 4), EDGES), (draw(2, 5, 4), EDGES)):
        torch.testing.assert_close(mine(x, edges), theirs(x, edges))
    if kwargs == {"max_degree": 0}:
        assert_alike(mine, theirs, draw(5, 4), EDGES)
    if "flow" not in kwargs:
        torch.testing.assert_close(mine(draw(5, 4), adjacency(draw(9))), mine(draw(5, 4), EDGES))
        torch.testing.assert_close(mine(draw(2, 5, 4), adjacency()), mine(draw(2, 5, 4), EDGES))


def test_two_sets_of_nodes_beside_pyg(pyg: ModuleType) -> None:
    mine, theirs = beside(*(nn.MFConv((4, 6), 3, 2) for nn in (ours, pyg)))
    for x, size in (((draw(5, 4), draw(4, 6)), None), ((draw(5, 4), None), (5, 4))):
        found, expected = (conv(x, EDGES, size) for conv in (mine, theirs))
        torch.testing.assert_close(found, expected)
        torch.testing.assert_close(mine(x, adjacency(size=(5, 4))), expected)


@pytest.mark.parametrize("form", ["edge_index", "adjacency"])
def test_by_hand(form: str) -> None:
    conv = MFConv(4, 3, max_degree=3).double()
    out = conv(draw(5, 4), EDGES if form == "edge_index" else adjacency(draw(9)))
    x = draw(5, 4)
    sums = [x[1], x[0] + x[2] + x[1], x[3] + x[4] + 2 * x[0], x[2], 0 * x[0]]
    for i, degree in enumerate((1, 3, 3, 1, 0)):
        torch.testing.assert_close(out[i], conv.lins_l[degree](sums[i]) + conv.lins_r[degree](x[i]))


def test_without_edges_all_nodes_are_of_degree_0() -> None:
    conv, none = MFConv(-1, 3, 2), EDGES[:, :0]
    out = conv(draw(5, 4).float(), none)
    torch.testing.assert_close(out, conv.lins_l[0].bias + conv.lins_r[0](draw(5, 4).float()))
    adj = SparseTensor(row=none[0], col=none[1], sparse_sizes=(5, 5))
    torch.testing.assert_close(conv(draw(5, 4).float(), adj), out)
    assert conv.lins_l[2].weight.shape == (3, 4)  # known of degrees that no node has, too


def test_many_neighbours_in_narrow_edges() -> None:
    edges = torch.zeros(2, 300, dtype=torch.uint8)
    conv = MFConv(4, 3, max_degree=299).double()
    torch.testing.assert_close(
        conv(draw(1, 4), edges), conv.lins_l[299](300 * draw(1, 4)) + conv.lins_r[299](draw(1, 4))
    )


def test_a_product_forms_nothing_of_the_size_of_messages() -> None:
    edges = torch.randint(10, (2, 300), generator=torch.Generator().manual_seed(0))
    adj, numel = SparseTensor(row=edges[1], col=edges[0], sparse_sizes=(10, 10)), {}
    conv = MFConv(8, 8)
    assert conv.fuse_report(torch.ones(10, 8), adj)
    for name, given in (("messages", edges), ("product", adj)):
        with Largest() as largest:
            conv(torch.randn(10, 8, requires_grad=True), given).sum().backward()
        numel[name] = largest.numel
    assert numel["messages"] >= 8 * 300
    assert numel["product"] <= 2 * 300


def test_parameters_are_drawn_anew() -> None:
    conv = MFConv(4, 3, 1)
    before = {name: value.clone() for name, value in conv.state_dict().items()}
    conv.reset_parameters()
    for name, value in conv.state_dict().items():
        assert not torch.equal(value, before[name])


def test_rows_by_their_type() -> None:
    types, x = torch.tensor([2, 0, 2, 3, 0]), torch.arange(10.0).view(2, 5)
    out = by_type(lambda i, rows, signs: (i + 1) * rows * signs, types, 5, (x, -torch.ones(2, 5)), dim=1)
    assert torch.equal(out, -x * torch.tensor([3, 1, 3, 4, 1]))


def test_errors_name_what_is_wrong() -> None:
    with pytest.raises(ValueError, match="max_degree: expected at least 0, found -1"):
        MFConv(4, 3, max_degree=-1)
    with pytest.raises(IndexError, match=r"edge_index: expected values in \[0, 4\), found 4"):
        MFConv(4, 3).double()(draw(4, 4), EDGES)
    with pytest.raises(ValueError, match="edge_index: expected an integer dtype"):
        MFConv(4, 3).double()(draw(5, 4), EDGES.float())
