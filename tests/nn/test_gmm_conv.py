"""Gaussian kernels over the places of neighbours."""

from types import ModuleType
from typing import Any

import pytest
import torch
from torch import Tensor

from gnnlab import nn as ours
from gnnlab.nn import GMMConv
from gnnlab.nn.conv.message_passing import CHUNK_BYTES
from gnnlab.sparse import SparseTensor
from tests.nn.side_by_side import assert_alike, beside

EDGES = torch.tensor([[0, 1, 2, 2, 3, 4, 0, 1], [1, 0, 1, 3, 2, 2, 2, 1]])  # none reaches node 4


def draw(*shape: int) -> Tensor:
    return torch.rand(shape, dtype=torch.float64, generator=torch.Generator().manual_seed(len(shape)))


def in_form(form: str, value: Tensor | None) -> Any:
    adj = SparseTensor(row=EDGES[1], col=EDGES[0], value=value, sparse_sizes=(5, 5))
    if form == "torch_sparse":
        pytest.importorskip("torch_sparse", reason="torch_sparse is not installed")
        return adj.to_torch_sparse()
    return adj if form == "SparseTensor" else getattr(adj, f"to_torch_sparse_{form}_tensor")()


def with_gradients(conv: Any, x: Any, edges: Any, places: Tensor, *given: Tensor) -> tuple[Tensor, ...]:
    out = conv(x, edges, *given)
    return (out, *torch.autograd.grad(out.cos().sum(), [places, *conv.parameters()]))


@pytest.mark.filterwarnings("ignore:Sparse (CSR|CSC|invariant checks)[a-z ]*:UserWarning")
@pytest.mark.parametrize("apart", [True, False])
@pytest.mark.parametrize("form", ["SparseTensor", "torch_sparse", "coo", "csr", "csc"])
def test_values_of_an_adjacency_are_places(form: str, apart: bool) -> None:
    conv = GMMConv(4, 3, dim=2, kernel_size=5, separate_gaussians=apart).double()
    places = draw(8, 2).requires_grad_()
    expected = with_gradients(conv, draw(5, 4), EDGES, places, places)
    torch.testing.assert_close(with_gradients(conv, draw(5, 4), in_form(form, places), places), expected)


@pytest.mark.parametrize("apart", [True, False])
def test_blocks_of_targets_give_what_all_edges_give(apart: bool) -> None:
    conv, calls = GMMConv(4, 3, 2, 5, separate_gaussians=apart).double(), []
    conv.register_message_forward_hook(lambda module, inputs, out: calls.append(out.size(0)))
    places = draw(8, 2).requires_grad_()
    adj = in_form("SparseTensor", places)
    expected = with_gradients(conv, draw(5, 4), adj, places)
    assert calls == [8]
    conv.chunk_bytes = 1
    calls.clear()
    torch.testing.assert_close(conv(draw(5, 4), adj), expected[0])
    assert calls == [1, 3, 3, 1]
    adj = in_form("SparseTensor", places)
    torch.testing.assert_close(with_gradients(conv, draw(5, 4), adj, places), expected)
    reason = conv.fuse_report(draw(5, 4), adj).reason
    assert "its messages are no product; messages are sent in blocks of 1 bytes" in reason


def test_blocks_are_smaller_where_messages_are_made_of_more() -> None:
    assert GMMConv(4, 3, 2, 5).chunk_bytes == CHUNK_BYTES
    assert GMMConv(4, 3, 2, 5, separate_gaussians=True).chunk_bytes == CHUNK_BYTES // (3 * 2 * 5)
    assert GMMConv(4, 3, 2, 5, separate_gaussians=True, chunk_bytes=None).chunk_bytes is None


@pytest.mark.parametrize(
    "kwargs", [{"aggr": "sum"}, {"flow": "target_to_source"}, {"separate_gaussians": True}], ids=str
)
def test_options_beside_pyg(pyg: ModuleType, kwargs: dict[str, Any]) -> None:
    mine, theirs = beside(*(nn.GMMConv(4, 3, 2, 5, **kwargs) for nn in (ours, pyg)))
    assert_alike(mine, theirs, draw(5, 4), EDGES, draw(8, 2))
    assert_alike(mine, theirs, draw(5, 4), EDGES[:, :0], draw(0, 2))


@pytest.mark.parametrize("apart", [True, False])
def test_many_graphs_of_the_same_edges(apart: bool) -> None:
    conv, x = GMMConv(4, 3, 2, 5, apart).double(), draw(2, 5, 4)
    expected = torch.stack([conv(part, EDGES, draw(8, 2)) for part in x])
    torch.testing.assert_close(conv(x, EDGES, draw(8, 2)), expected)
    torch.testing.assert_close(conv(x, in_form("SparseTensor", draw(8, 2))), expected)


def test_two_sets_of_nodes_beside_pyg(pyg: ModuleType) -> None:
    mine, theirs = beside(*(nn.GMMConv((4, 6), 3, 2, 5) for nn in (ours, pyg)))
    for x, size in (((draw(5, 4), draw(4, 6)), None), ((draw(5, 4), None), (5, 4))):
        found, expected = (conv(x, EDGES, draw(8, 2), size) for conv in (mine, theirs))
        torch.testing.assert_close(found, expected)
        adj = SparseTensor(row=EDGES[1], col=EDGES[0], value=draw(8, 2), sparse_sizes=(4, 5))
        torch.testing.assert_close(mine(x, adj), expected)


@pytest.mark.parametrize("apart", [True, False])
def test_without_root_it_is_the_neighbours_alone(apart: bool) -> None:  # where PyG fails
    conv = GMMConv(4, 3, 2, 5, apart, root_weight=False, bias=False).double()
    assert sorted(conv.state_dict()) == ["g", "mu", "sigma"]
    whole = GMMConv(4, 3, 2, 5, apart).double()
    whole.load_state_dict(conv.state_dict() | {"root.weight": torch.zeros(3, 4), "bias": torch.zeros(3)})
    torch.testing.assert_close(conv(draw(5, 4), EDGES, draw(8, 2)), whole(draw(5, 4), EDGES, draw(8, 2)))


def test_a_kernel_by_hand() -> None:
    conv = GMMConv(1, 1, dim=2, kernel_size=1, aggr="sum", root_weight=False).double()
    places = torch.tensor([[0.5, 2.0]], dtype=torch.float64)
    conv.g.data.fill_(3.0)
    conv.mu.data.copy_(torch.tensor([[1.0, 1.0]]))
    conv.sigma.data.copy_(torch.tensor([[0.5, 2.0]]))
    out = conv(torch.tensor([[1.0], [7.0]], dtype=torch.float64), torch.tensor([[1], [0]]), places)
    weight = torch.tensor(-0.5 * (0.5**2 / 0.5**2 + 1.0**2 / 2.0**2), dtype=torch.float64).exp()
    torch.testing.assert_close(out, torch.stack([7 * 3 * weight, 0 * weight]).view(2, 1))


@pytest.mark.parametrize("apart", [True, False])
def test_numbers_for_places_of_one_dimension(apart: bool) -> None:
    conv = GMMConv(4, 3, 1, 5, apart).double()
    torch.testing.assert_close(conv(draw(5, 4), EDGES, draw(8)), conv(draw(5, 4), EDGES, draw(8).view(-1, 1)))
    torch.testing.assert_close(conv(draw(5, 4), in_form("SparseTensor", draw(8))), conv(draw(5, 4), EDGES, draw(8)))


@pytest.mark.parametrize("apart", [True, False])
def test_open_sizes_are_those_of_the_first_input(apart: bool) -> None:
    conv = GMMConv((-1, -1), 3, 2, 5, apart).double()
    conv.reset_parameters()
    out = conv((draw(5, 4), draw(5, 6)), EDGES, draw(8, 2))
    sized = GMMConv((4, 6), 3, 2, 5, apart).double()
    sized.load_state_dict(conv.state_dict())
    assert torch.equal(sized((draw(5, 4), draw(5, 6)), EDGES, draw(8, 2)), out)


def test_parameters_are_drawn_anew() -> None:
    conv = GMMConv(4, 3, 2, 5)
    before = {name: value.clone() for name, value in conv.state_dict().items()}
    conv.bias.data.fill_(1)
    conv.reset_parameters()
    for name in ("g", "mu", "sigma", "root.weight"):
        assert not torch.equal(conv.state_dict()[name], before[name])
    assert not conv.bias.any()


def test_errors_name_what_is_wrong() -> None:
    x, conv = draw(5, 4), GMMConv(4, 3, 2, 5).double()
    for edges in (EDGES, in_form("SparseTensor", None)):
        with pytest.raises(
            ValueError, match="edge_attr: expected places, as an argument or the adjacency's values, found"
        ):
            conv(x, edges)
    for wrong in (draw(8), draw(8, 3), draw(8, 2, 1)):
        with pytest.raises(ValueError, match=r"edge_attr: expected shape \[num_edges, 2\], found \[8"):
            conv(x, EDGES, wrong)
        with pytest.raises(ValueError, match=r"edge_attr: expected shape \[num_edges, 2\], found \[8"):
            conv(x, in_form("SparseTensor", wrong))
    with pytest.raises(ValueError, match="edge_attr: expected one row for each of 8 edges"):
        conv(x, EDGES, draw(7, 2))
    with pytest.raises(ValueError, match="dim, kernel_size: expected at least 1, found dim=2, kernel_size=0"):
        GMMConv(4, 3, 2, 0)
    with pytest.raises(TypeError, match="kernel_size"):
        GMMConv(4, 3, 2)  # type: ignore[call-arg]
