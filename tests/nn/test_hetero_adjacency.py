"""Models of several node and edge types on one adjacency for each edge type."""

from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn import Linear, Module

from gnnlab.data import HeteroData
from gnnlab.nn import GINConv, GraphConv, HeteroConv, SAGEConv, WLConvContinuous, to_hetero
from gnnlab.transforms import ToSparseTensor

WRITES, CITES, ABOUT = ("author", "writes", "paper"), ("paper", "cites", "paper"), ("paper", "about", "author")
SIZES = {"author": 3, "paper": 4}
EDGES = {
    WRITES: torch.tensor([[0, 1, 1, 2], [0, 1, 2, 0]]),
    CITES: torch.tensor([[0, 1, 3], [1, 2, 2]]),
    ABOUT: torch.tensor([[2, 0, 2], [2, 1, 1]]),
}


def features() -> dict[str, Tensor]:
    generator = torch.Generator().manual_seed(0)
    return {
        key: torch.randn(size, 4, dtype=torch.float64, generator=generator).requires_grad_()
        for key, size in SIZES.items()
    }


def weights() -> dict[Any, Tensor]:
    return {key: torch.arange(1.0, edges.size(1) + 1).double() for key, edges in EDGES.items()}


def adjacencies(form: str, weighted: bool) -> dict[Any, Any]:
    """As `ToSparseTensor` makes them of a graph."""
    data = HeteroData()
    for node_type, size in SIZES.items():
        data[node_type].num_nodes = size
    for edge_type, edge_index in EDGES.items():
        data[edge_type].edge_index = edge_index
        if weighted:
            data[edge_type].edge_weight = weights()[edge_type]
    adjs = ToSparseTensor(attr="edge_weight")(data).adj_t_dict
    if form == "torch_sparse":
        pytest.importorskip("torch_sparse", reason="torch_sparse is not installed")
        return {key: adj.to_torch_sparse() for key, adj in adjs.items()}
    return {key: adj.to_torch_sparse_coo_tensor() for key, adj in adjs.items()} if form == "coo" else adjs


class Net(Module):
    """Two layers, without edge weights."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = SAGEConv((-1, -1), 5, aggr="max"), GINConv(Linear(5, 2))

    def forward(self, x: Tensor, adj_t: Any) -> Tensor:
        return self.second(self.first(x, adj_t).relu(), adj_t)


def assert_same_with_gradients(model: Module, adjs: Any, **kwargs: Any) -> None:
    """The same of adjacencies as of edges."""
    results = []
    for edges, others in ((adjs, {}), (EDGES, kwargs)):
        x = features()
        out = model(x, edges, **others)
        leaves = [*x.values(), *model.parameters()]
        grads = torch.autograd.grad(sum(value.sin().sum() for value in out.values()), leaves)
        results.append((out, grads))
    torch.testing.assert_close(*results)


@pytest.mark.parametrize("form", ["SparseTensor", "torch_sparse", "coo"])
def test_a_translated_model(form: str) -> None:
    model = to_hetero(Net(), ([*SIZES], [*EDGES])).double()
    model(features(), EDGES)  # open sizes are learned
    assert_same_with_gradients(model, adjacencies(form, weighted=False))
    assert set(model(x=features(), adj_t=adjacencies(form, weighted=False))) == set(SIZES)


@pytest.mark.parametrize("form", ["SparseTensor", "torch_sparse", "coo"])
def test_a_layer_for_each_edge_type_whose_weights_are_values(form: str) -> None:
    convs: dict[Any, Any] = {WRITES: GraphConv(4, 4), CITES: GraphConv(4, 4, aggr="max"), ABOUT: WLConvContinuous()}
    model, adjs = HeteroConv(convs).double(), adjacencies(form, weighted=True)
    assert_same_with_gradients(model, adjs, edge_weight_dict=weights())
    for edge_type, conv in convs.items():
        x = (features()[edge_type[0]], features()[edge_type[2]])
        assert conv.fuse_report(x, adjs[edge_type])
