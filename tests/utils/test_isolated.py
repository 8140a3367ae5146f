from types import ModuleType

import pytest
import torch
from hypothesis import given
from torch import Tensor

from gnnlab.utils import contains_isolated_nodes, remove_isolated_nodes
from tests.utils.graphs import MIXED, NO_EDGES, PATH, STAR, assert_same, graphs, numbers

LOOPS = torch.tensor([[0, 1, 0, 3, 4], [1, 0, 0, 3, 4]])


@given(graphs())
def test_isolated_nodes_one_by_one(graph: tuple[Tensor, int]) -> None:
    edge_index, num_nodes = graph
    connected = sorted({node for a, b in edge_index.t().tolist() if a != b for node in (a, b)})
    assert contains_isolated_nodes(edge_index, num_nodes) == (len(connected) < num_nodes)

    out, attr, mask = remove_isolated_nodes(edge_index, torch.arange(edge_index.size(1)), num_nodes)
    assert mask.nonzero().view(-1).tolist() == connected
    assert_same(torch.tensor(connected, dtype=torch.long)[out], edge_index[:, attr])
    kept = [e for e, (a, b) in enumerate(edge_index.t().tolist()) if a in connected and b in connected]
    assert sorted(attr.tolist()) == kept
    assert not contains_isolated_nodes(out, int(mask.sum()))


@pytest.mark.parametrize("edge_index", [PATH, STAR, MIXED, NO_EDGES, LOOPS, MIXED.int()])
@pytest.mark.parametrize("num_nodes", [None, 7])
def test_as_pyg(pyg: ModuleType, edge_index: Tensor, num_nodes: int | None) -> None:
    assert contains_isolated_nodes(edge_index, num_nodes) is pyg.contains_isolated_nodes(edge_index, num_nodes)
    for attr in (None, numbers(edge_index, 2)):
        ours, *others = remove_isolated_nodes(edge_index, attr, num_nodes)
        theirs, *their_others = pyg.remove_isolated_nodes(edge_index, attr, num_nodes)
        assert ours.dtype == edge_index.dtype  # PyG makes int64 of int32
        assert_same([ours.long(), *others], [theirs.long(), *their_others])


def test_errors() -> None:
    for function in (contains_isolated_nodes, remove_isolated_nodes):
        with pytest.raises(IndexError, match="edge_index: expected nodes below num_nodes=2, found 4"):
            function(MIXED, num_nodes=2)
    with pytest.raises(ValueError, match="edge_attr: expected one row for each of 4 edges"):
        remove_isolated_nodes(PATH, torch.rand(3))
