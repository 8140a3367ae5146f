from types import ModuleType

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from gnnlab.sparse import SparseTensor
from gnnlab.utils import get_num_hops, k_hop_subgraph, trim_to_layer
from tests.utils.graphs import MIXED, NO_EDGES, STAR, as_layout, assert_same, graphs

FLOWS = ["source_to_target", "target_to_source"]


@given(graphs(), st.data(), st.integers(0, 3), st.sampled_from(FLOWS))
def test_hops_one_by_one(graph: tuple[Tensor, int], data: st.DataObject, num_hops: int, flow: str) -> None:
    edge_index, num_nodes = graph
    seeds = data.draw(st.lists(st.integers(0, num_nodes - 1), min_size=1, max_size=3))
    edges = [(a, b) if flow == "source_to_target" else (b, a) for a, b in edge_index.t().tolist()]
    reached, taken = set(seeds), set()
    for _ in range(num_hops):
        taken = {e for e, (_, near) in enumerate(edges) if near in reached}
        reached = reached | {edges[e][0] for e in taken}

    nodes, sub, place, mask = k_hop_subgraph(seeds, num_hops, edge_index, True, num_nodes, flow)
    assert nodes.tolist() == sorted(reached)
    assert nodes[place].tolist() == seeds
    assert mask.tolist() == [a in reached and b in reached for a, b in edges]
    assert_same(nodes[sub], edge_index[:, mask])
    *_, mask = k_hop_subgraph(seeds, num_hops, edge_index, True, num_nodes, flow, directed=True)
    assert mask.nonzero().view(-1).tolist() == sorted(taken)


@pytest.mark.parametrize("node_idx", [3, [3, 2], torch.tensor([3, 1, 3])])
@pytest.mark.parametrize(("num_hops", "directed"), [(0, False), (1, False), (1, True), (2, False), (2, True)])
@pytest.mark.parametrize("flow", FLOWS)
@pytest.mark.parametrize("relabel_nodes", [False, True])
def test_k_hop_subgraph_as_pyg(
    pyg: ModuleType, node_idx: int | list[int] | Tensor, num_hops: int, flow: str, relabel_nodes: bool, directed: bool
) -> None:
    arguments = (node_idx, num_hops, MIXED, relabel_nodes, None, flow, directed)
    assert_same(k_hop_subgraph(*arguments), pyg.k_hop_subgraph(*arguments))


def test_k_hop_subgraph_of_one_node_as_a_tensor() -> None:
    nodes, *_ = k_hop_subgraph(torch.tensor(0), 1, STAR)
    assert nodes.tolist() == [0, 1, 2, 3]


def test_k_hop_subgraph_without_edges() -> None:
    nodes, edges, place, mask = k_hop_subgraph(1, 2, NO_EDGES, num_nodes=3)
    assert (nodes.tolist(), edges.shape, place.tolist(), mask.shape) == ([1], (2, 0), [0], (0,))


def test_k_hop_subgraph_errors() -> None:
    with pytest.raises(IndexError, match=r"node_idx: expected values in \[0, 5\), found 7"):
        k_hop_subgraph(7, 1, MIXED)
    with pytest.raises(ValueError, match="node_idx: expected an integer dtype"):
        k_hop_subgraph(torch.tensor([True, False]), 1, MIXED)
    with pytest.raises(ValueError, match=r"flow: expected .* found 'sideways'"):
        k_hop_subgraph(1, 1, MIXED, flow="sideways")


# get_num_hops


class Layer(torch.nn.Module):
    def propagate(self) -> None: ...
    def message(self) -> None: ...


def test_layers_are_counted_at_any_depth() -> None:
    shared = Layer()
    model = torch.nn.Sequential(Layer(), torch.nn.Linear(1, 1), torch.nn.Sequential(Layer(), shared), shared)
    assert get_num_hops(model) == 3
    assert get_num_hops(torch.nn.Linear(1, 1)) == 0


def test_num_hops_as_pyg(pyg: ModuleType) -> None:
    from torch_geometric.nn import APPNP, GCN, GCNConv, SAGEConv, Sequential

    layers = [(GCNConv(2, 2), "x, e -> x"), (SAGEConv(2, 2), "x, e -> x")]
    for model in (GCN(2, 2, num_layers=3), APPNP(10, 0.1), Sequential("x, e", layers)):
        assert get_num_hops(model) == pyg.get_num_hops(model) > 0


# trim_to_layer

# A batch of two hops: seed 0; 1 and 2 reach it; 3 and 4 reach 1 and 2.
NODES, EDGES = [1, 2, 2], [2, 3]
BATCH = torch.tensor([[1, 2, 3, 4, 3], [0, 0, 1, 2, 2]])


@pytest.mark.parametrize("layer", [0, 1, 2])
def test_trim_as_pyg(pyg: ModuleType, layer: int) -> None:
    x, weight = torch.rand(5, 2), torch.rand(5)
    for attr in (None, weight):
        arguments = (layer, NODES, EDGES, x, BATCH, attr)
        assert_same(trim_to_layer(*arguments), pyg.trim_to_layer(*arguments))

    to_self, to_other = ("a", "to", "a"), ("a", "to", "b")
    typed = (
        layer,
        {"a": NODES, "b": [2, 0, 1]},
        {to_self: EDGES, to_other: [0, 5]},
        {"a": x, "b": torch.rand(3)},
        {to_self: BATCH, to_other: BATCH},
    )
    assert_same(trim_to_layer(*typed), pyg.trim_to_layer(*typed))
    typed += ({to_self: weight, to_other: weight},)
    assert_same(trim_to_layer(*typed), pyg.trim_to_layer(*typed))


@pytest.mark.parametrize("form", ["SparseTensor", torch.sparse_coo, torch.sparse_csr, torch.sparse_csc])
def test_trimmed_matrices_hold_the_trimmed_edges(form: str | torch.layout) -> None:
    x = torch.rand(5, 2)
    dense = torch.zeros(5, 5)
    dense[BATCH[1], BATCH[0]] = torch.arange(1.0, 6.0)  # transposed: rows are targets
    adj = SparseTensor.from_dense(dense) if form == "SparseTensor" else as_layout(dense, form)
    out_x, out, _ = trim_to_layer(1, NODES, EDGES, x, adj)
    assert_same(out_x, x[:3])
    expected = torch.zeros(3, 3)
    expected[0, 1:] = dense[0, 1:3]
    assert_same(out.to_dense(), expected)


def test_trimming_layer_by_layer_leaves_what_the_seeds_need() -> None:
    # Mean over in-neighbours, twice: trimmed or not, the seed gets the same.
    def step(x: Tensor, edge_index: Tensor) -> Tensor:
        out = torch.zeros_like(x).index_add(0, edge_index[1], x[edge_index[0]])
        return out + x

    full, x, edge_index = torch.rand(5), None, BATCH
    x = full
    for layer in (0, 1):
        x, edge_index, _ = trim_to_layer(layer, NODES, EDGES, x, edge_index)
        x = step(x, edge_index)
    assert_same(x[0], step(step(full, BATCH), BATCH)[0])


def test_trim_errors() -> None:
    with pytest.raises(ValueError, match="layer: expected at most 2, the number of hops, found 3"):
        trim_to_layer(3, NODES, EDGES, torch.rand(5), BATCH)
    with pytest.raises(ValueError, match=r"num_sampled_\*_per_hop: expected an entry for 'b', found \['a'\]"):
        trim_to_layer(1, {"a": NODES}, {}, {"b": torch.rand(5)}, {})
