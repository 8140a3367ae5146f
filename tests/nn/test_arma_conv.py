"""Stacks of recursive filters, side by side in one product."""

from types import ModuleType
from typing import Any

import pytest
import torch
from torch import Tensor

from gnnlab import nn as ours
from gnnlab.nn import ARMAConv
from gnnlab.sparse import SparseTensor
from tests.nn.side_by_side import assert_alike, beside
from tests.nn.test_fused import Largest

EDGES = torch.tensor([[0, 1, 2, 2, 3, 4, 0, 1], [1, 0, 1, 3, 2, 2, 2, 1]])  # none reaches node 4


def draw(*shape: int) -> Tensor:
    return torch.rand(shape, dtype=torch.float64, generator=torch.Generator().manual_seed(len(shape)))


def adjacency(value: Tensor | None = None) -> SparseTensor:
    return SparseTensor(row=EDGES[1], col=EDGES[0], value=value, sparse_sizes=(5, 5))


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("num_layers", [1, 2, 3])
@pytest.mark.parametrize("num_stacks", [1, 2])
@pytest.mark.parametrize("kwargs", [{}, {"act": None}, {"act": torch.sin, "bias": False}, {"aggr": "mean"}], ids=str)
def test_options_beside_pyg(
    pyg: ModuleType, num_stacks: int, num_layers: int, shared: bool, kwargs: dict[str, Any]
) -> None:
    mine, theirs = beside(*(nn.ARMAConv(4, 3, num_stacks, num_layers, shared, **kwargs) for nn in (ours, pyg)))
    assert_alike(mine, theirs, draw(5, 4), EDGES, draw(8) + 0.5)
    assert_alike(mine, theirs, draw(5, 4), EDGES[:, :0])
    assert repr(mine) == repr(theirs)


@pytest.mark.parametrize("flow", ["source_to_target", "target_to_source"])
def test_many_graphs_of_the_same_edges_beside_pyg(pyg: ModuleType, flow: str) -> None:
    mine, theirs = beside(*(nn.ARMAConv(4, 3, 2, 2, flow=flow) for nn in (ours, pyg)))
    x = draw(3, 5, 4)
    torch.testing.assert_close(mine(x, EDGES), torch.stack([mine(part, EDGES) for part in x]))
    torch.testing.assert_close(mine(x[0], EDGES), theirs(x[0], EDGES))
    if flow == "source_to_target":
        torch.testing.assert_close(mine(x, adjacency()), mine(x, EDGES))


def test_stacks_go_through_one_product() -> None:
    conv, widths = ARMAConv(4, 3, num_stacks=5, num_layers=2).double(), []
    conv.register_message_and_aggregate_forward_hook(lambda module, inputs, out: widths.append(list(out.shape)))
    assert conv.fuse_report(draw(5, 4), adjacency())
    fused = conv(draw(5, 4), adjacency())
    assert widths == [[5, 15], [5, 15]]
    conv.fuse = False
    torch.testing.assert_close(conv(draw(5, 4), adjacency()), fused)


def test_a_product_forms_nothing_of_the_size_of_messages() -> None:
    edges = torch.randint(10, (2, 300), generator=torch.Generator().manual_seed(0))
    adj, numel = SparseTensor(row=edges[1], col=edges[0], sparse_sizes=(10, 10)), {}
    for name, given in (("messages", edges), ("product", adj)):
        with Largest() as largest:
            ARMAConv(8, 8, 2, 2)(torch.randn(10, 8, requires_grad=True), given).sum().backward()
        numel[name] = largest.numel
    assert numel["messages"] >= 16 * 300
    assert numel["product"] <= 2 * 300


def test_what_the_node_itself_gives_drops_out_in_training_alone(pyg: ModuleType) -> None:
    mine, theirs = beside(*(nn.ARMAConv(4, 3, 2, 2, dropout=1.0) for nn in (ours, pyg)))
    torch.testing.assert_close(mine(draw(5, 4), EDGES), theirs(draw(5, 4), EDGES))
    never = ARMAConv(4, 3, 2, 2).double()
    never.load_state_dict(mine.state_dict())
    assert not torch.allclose(mine(draw(5, 4), EDGES), never(draw(5, 4), EDGES))
    assert torch.equal(mine.eval()(draw(5, 4), EDGES), never(draw(5, 4), EDGES))


@pytest.mark.parametrize("shared", [True, False])
def test_open_sizes_are_those_of_the_first_input(shared: bool) -> None:
    conv = ARMAConv(-1, 3, 2, 3, shared).double()
    conv.reset_parameters()
    out = conv(draw(5, 4), EDGES)
    sized = ARMAConv(4, 3, 2, 3, shared).double()
    sized.load_state_dict(conv.state_dict())
    assert torch.equal(sized(draw(5, 4), EDGES), out)


def test_parameters_are_drawn_anew() -> None:
    conv = ARMAConv(4, 3, 2, 2)
    before = {name: value.clone() for name, value in conv.state_dict().items()}
    conv.bias.data.fill_(1)
    conv.reset_parameters()
    for name in ("weight", "init_weight", "root_weight"):
        assert not torch.equal(conv.state_dict()[name], before[name])
    assert not conv.bias.any()


def test_errors_name_what_is_wrong() -> None:
    for given in ({"num_stacks": 0}, {"num_layers": 0}):
        with pytest.raises(
            ValueError, match=r"num_stacks, num_layers: expected at least 1, found num_stacks=[01], num_l"
        ):
            ARMAConv(4, 3, **given)
    with pytest.raises(ValueError, match="x: expected the features of one set of nodes, found a pair"):
        ARMAConv(4, 3)((draw(5, 4), draw(5, 4)), EDGES)
    with pytest.raises(ValueError, match="edge_weight: expected None with an adjacency"):
        ARMAConv(4, 3).double()(draw(5, 4), adjacency(), draw(8))
    with pytest.raises(TypeError, match="cached"):
        ARMAConv(4, 3, cached=True)
