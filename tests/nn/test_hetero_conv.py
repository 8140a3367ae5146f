import warnings

import pytest
import torch
from torch.nn import Linear, Module

from gnnlab.nn import HeteroConv
from tests.nn.side_by_side import beside

WRITES, CITES, ABOUT = ("author", "writes", "paper"), ("paper", "cites", "paper"), ("paper", "is about", "author")
EDGES = {
    WRITES: torch.tensor([[0, 1, 1], [0, 1, 2]]),
    CITES: torch.tensor([[0, 1], [1, 2]]),
    ABOUT: torch.tensor([[0, 2], [1, 1]]),
}


class Conv(Module):
    """A layer that adds up what arrives, and the target's own features."""

    def __init__(self):
        super().__init__()
        self.lin = Linear(2, 3)

    def forward(self, x, edge_index, edge_weight=None, scale=(1.0, 1.0)):
        source, target = x if isinstance(x, tuple) else (x, x)
        message = self.lin(source)[edge_index[0]]
        message = message if edge_weight is None else message * edge_weight.unsqueeze(-1)
        out = self.lin(target) * (scale[1] if isinstance(scale, tuple) else scale)
        return out.index_add(0, edge_index[1], message)

    def reset_parameters(self):
        self.lin.reset_parameters()


def features():
    generator = torch.Generator().manual_seed(0)
    draw = {"author": 2, "paper": 3}
    return {key: torch.randn(size, 2, generator=generator, dtype=torch.float64) for key, size in draw.items()}


def convs():
    return {edge_type: Conv() for edge_type in EDGES}


@pytest.mark.parametrize("aggr", ["sum", "mean", "min", "max", "cat", None])
@pytest.mark.parametrize(
    "kwargs",
    [
        {},
        {"edge_weight_dict": {WRITES: torch.tensor([1.0, 2.0, 3.0])}},
        {"scale_dict": {"paper": 2.0, "author": 3.0}},
    ],
    ids=["plain", "weights", "by node type"],
)
def test_values_and_states_as_pyg(pyg, aggr, kwargs):
    ours, theirs = beside(HeteroConv(convs(), aggr), pyg.HeteroConv(convs(), aggr))
    out, expected = (module(features(), EDGES, **kwargs) for module in (ours, theirs))
    assert list(out) == list(expected)
    for key, value in out.items():
        torch.testing.assert_close(value, expected[key])
    by_name = ours(x_dict=features(), edge_index_dict=EDGES, **kwargs)
    assert torch.equal(by_name["paper"], out["paper"])
    assert repr(ours) == repr(theirs)


def test_an_edge_type_that_is_not_there_is_left_out():
    model = HeteroConv(convs()).double()
    only = {WRITES: EDGES[WRITES]}
    assert model(features(), only).keys() == {"paper"}
    assert model(features(), {}) == {}
    torch.testing.assert_close(model(features(), only)["paper"], model(features(), only, {})["paper"])


def test_products_and_sums_by_their_other_name():
    model = HeteroConv(convs(), None).double()
    stacked = model(features(), EDGES)["paper"]
    for aggr, expected in (("add", stacked.sum(1)), ("mul", stacked.prod(1))):
        model.aggr = aggr
        torch.testing.assert_close(model(features(), EDGES)["paper"], expected)


def test_edge_types_that_tie_share_the_gradient():
    x = torch.ones(1, 2, requires_grad=True)
    copies = {("a", "b", "a"): Conv(), ("a", "c", "a"): Conv()}
    copies["a", "c", "a"].load_state_dict(copies["a", "b", "a"].state_dict())
    model = HeteroConv(copies, "max")
    model({"a": x}, dict.fromkeys(copies, torch.tensor([[0], [0]])))["a"].sum().backward()
    first, second = (conv.lin.bias.grad for conv in model.convs.values())
    assert torch.equal(first, second)
    assert first.any()


def test_parameters_are_reset():
    model = HeteroConv(convs())
    before = [value.clone() for value in model.parameters()]
    model.reset_parameters()
    assert all(not torch.equal(a, b) for a, b in zip(before, model.parameters(), strict=True))


def test_wrong_arguments_are_named():
    model = HeteroConv(convs()).double()
    with pytest.raises(ValueError, match=r"edge_weight: expected the name of a keyword argument to end in '_dict'"):
        model(features(), EDGES, edge_weight={})
    with pytest.raises(ValueError, match=r"args_dict: expected entries for .'paper', 'cites', 'paper'. in the first 2"):
        model({"author": features()["author"]}, {CITES: EDGES[CITES]})
    with pytest.raises(ValueError, match=r"aggr: expected one of .*, found 'median'"):
        HeteroConv(convs(), "median")
    with pytest.raises(ValueError, match=r"add_self_loops: expected False on .* for .'author', 'writes', 'paper'."):
        HeteroConv({WRITES: adding_loops()})
    assert len(HeteroConv({CITES: adding_loops()}).convs) == 1


def adding_loops():
    conv = Conv()
    conv.add_self_loops = True
    return conv


def test_node_types_that_drop_out_are_warned_of():
    with pytest.warns(UserWarning, match=r"no edge type ends at \['author'\]"):
        HeteroConv({WRITES: Conv()})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        HeteroConv({CITES: Conv()})
