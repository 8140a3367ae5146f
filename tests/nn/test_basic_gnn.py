"""Models of one kind of convolution, beside PyG's."""

import pickle
from inspect import signature
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
import torch
from torch import Tensor

from gnnlab import nn as ours
from gnnlab.data import Data
from gnnlab.nn import GAT, GCN, GIN, GraphSAGE
from gnnlab.sparse import SparseTensor
from gnnlab.utils import k_hop_subgraph
from tests.nn.side_by_side import assert_alike, beside

NAMES = ["GCN", "GraphSAGE", "GIN", "GAT"]
EDGES = torch.tensor([[0, 1, 2, 2, 3, 4, 0, 1, 5], [1, 0, 1, 3, 2, 2, 2, 1, 4]])


def draw(*shape: int) -> Tensor:
    return torch.rand(shape, dtype=torch.float64, generator=torch.Generator().manual_seed(sum(shape))) - 0.5


def adjacency(value: Tensor | None = None) -> SparseTensor:
    return SparseTensor(row=EDGES[1], col=EDGES[0], value=value, sparse_sizes=(6, 6))


@pytest.mark.parametrize(
    "kwargs",
    [
        {},
        {"out_channels": 3},
        {"num_layers": 1},
        {"num_layers": 1, "out_channels": 3, "jk": "cat"},
        {"out_channels": 3, "act": "leaky_relu", "act_kwargs": {"negative_slope": 0.3}},
        {"act": None, "norm": "layer_norm"},
        {"act": torch.tanh, "norm": "batch_norm", "act_first": True},
        {"norm": "graph_norm", "jk": "max", "out_channels": 3},
        {"norm": "LayerNorm", "norm_kwargs": {"mode": "node"}, "jk": "last", "out_channels": 3},
        {"norm": "instance_norm", "jk": "lstm"},
        {"norm": "pair_norm", "jk": "cat", "dropout": 0.5},
    ],
    ids=str,
)
@pytest.mark.parametrize("name", NAMES)
def test_options_beside_pyg(pyg: ModuleType, name: str, kwargs: dict[str, Any]) -> None:
    given = {"num_layers": 3, **kwargs}
    mine, theirs = beside(*(getattr(nn, name)(4, 6, **given) for nn in (ours, pyg)))
    assert repr(mine) == repr(theirs)
    assert_alike(mine.eval(), theirs.eval(), draw(6, 4), EDGES)
    torch.testing.assert_close(mine(draw(6, 4), adjacency()), mine(draw(6, 4), EDGES))
    if not kwargs.get("dropout"):
        assert_alike(mine.train(), theirs.train(), draw(6, 4), EDGES)


@pytest.mark.parametrize(
    ("name", "kwargs"),
    [
        ("GAT", {"heads": 2, "v2": True}),
        ("GAT", {"heads": 3, "out_channels": 4, "concat": False, "residual": True}),
        ("GAT", {"heads": 2, "out_channels": 3, "jk": "cat", "add_self_loops": False}),
        ("GIN", {"train_eps": True, "eps": 0.5}),
        ("GCN", {"improved": True, "bias": False}),
        ("GraphSAGE", {"aggr": ["mean", "max"], "normalize": True}),
    ],
)
def test_arguments_of_the_convolutions(pyg: ModuleType, name: str, kwargs: dict[str, Any]) -> None:
    mine, theirs = beside(*(getattr(nn, name)(4, 6, 2, **kwargs) for nn in (ours, pyg)))
    edges = (EDGES, torch.ones(9).double()) if kwargs.get("improved") else (EDGES,)  # which PyG leaves out else
    assert_alike(mine, theirs, draw(6, 4), *edges)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("method", ["__init__", "forward", "reset_parameters", "inference"])
def test_signatures_as_pyg(pyg: ModuleType, name: str, method: str) -> None:
    both = (signature(getattr(getattr(nn, name), method)).parameters.values() for nn in (ours, pyg))
    mine, theirs = ([(p.name, p.kind, p.default) for p in given] for given in both)
    assert mine == theirs
    for flag in ("supports_edge_weight", "supports_edge_attr"):
        assert getattr(getattr(ours, name), flag) == getattr(getattr(pyg, name), flag)


def test_weights_and_features_of_edges(pyg: ModuleType) -> None:
    mine, theirs = beside(*(nn.GCN(4, 6, 2, 3) for nn in (ours, pyg)))
    weight = draw(9) + 1
    assert_alike(mine, theirs, draw(6, 4), EDGES, edge_weight=weight)
    torch.testing.assert_close(mine(draw(6, 4), adjacency(weight)), mine(draw(6, 4), EDGES, weight))
    mine, theirs = beside(*(nn.GAT(4, 6, 2, 3, edge_dim=2) for nn in (ours, pyg)))
    assert_alike(mine, theirs, draw(6, 4), EDGES, edge_attr=draw(9, 2))
    for model in (GraphSAGE(4, 6, 2), GIN(4, 6, 2), GAT(4, 6, 2)):
        with pytest.raises(ValueError, match="edge_weight: expected none, since the convolutions of a"):
            model.double()(draw(6, 4), EDGES, edge_weight=weight)


def test_graphs_are_normalised_each_by_itself(pyg: ModuleType) -> None:
    mine, theirs = beside(*(nn.GCN(4, 6, 3, norm="graph_norm") for nn in (ours, pyg)))
    batch = torch.tensor([0, 0, 0, 1, 1, 1])
    assert mine.supports_norm_batch
    assert_alike(mine, theirs, draw(6, 4), EDGES, batch=batch, batch_size=2)


# Sampled batches -----------------------------------------------------------------------------------------------------


def hops(seeds: list[int], count: int) -> tuple[Tensor, Tensor, list[int], list[int]]:
    """All nodes within `count` hops in the order of a sampler, their edges, and how many came in each hop."""
    nodes, per_node, edges, per_edge = list(seeds), [len(seeds)], [], []
    front = list(seeds)
    for _ in range(count):
        found = [(int(s), int(t)) for s, t in EDGES.t() if int(t) in front]
        edges += found
        per_edge.append(len(found))
        front = list(dict.fromkeys(s for s, _ in found if s not in nodes))
        nodes += front
        per_node.append(len(front))
    place = {node: at for at, node in enumerate(nodes)}
    index = torch.tensor([[place[s] for s, _ in edges], [place[t] for _, t in edges]])
    return torch.tensor(nodes), index, per_node, per_edge


@pytest.mark.parametrize("jk", [None, "last", "cat", "max"])
@pytest.mark.parametrize("name", ["GraphSAGE", "GIN", "GAT"])
def test_trimmed_layers_give_the_seeds_what_whole_ones_do(name: str, jk: str | None) -> None:
    model = getattr(ours, name)(4, 6, 3, jk=jk).double()
    nodes, index, per_node, per_edge = hops([2, 0], 3)
    whole = model(draw(6, 4)[nodes], index)
    trimmed = model(draw(6, 4)[nodes], index, num_sampled_nodes_per_hop=per_node, num_sampled_edges_per_hop=per_edge)
    torch.testing.assert_close(trimmed[:2], whole[:2])
    with pytest.raises(ValueError, match="num_sampled_nodes_per_hop: expected it with"):
        model(draw(6, 4)[nodes], index, num_sampled_nodes_per_hop=per_node)


class Neighbours(list[Any]):
    """A loader of all neighbours of all nodes, two at a time."""

    def __init__(self, data: Data, form: str) -> None:
        super().__init__()
        self.data, self.calls = data, 0
        for at in range(0, data.num_nodes, 2):
            seeds = torch.arange(at, min(at + 2, data.num_nodes))
            near, _, _, mask = k_hop_subgraph(seeds, 1, data.edge_index, directed=True, num_nodes=data.num_nodes)
            n_id = torch.cat([seeds, near[~torch.isin(near, seeds)]])
            place = torch.empty(data.num_nodes, dtype=torch.long).index_copy(0, n_id, torch.arange(n_id.numel()))
            edges, size = place[data.edge_index[:, mask]], (n_id.numel(), n_id.numel())
            weight = data.edge_weight[mask]
            batch = SimpleNamespace(n_id=n_id, batch_size=seeds.numel(), edge_index=edges, edge_weight=weight)
            if form == "adj_t":
                batch.adj_t = SparseTensor(row=edges[1], col=edges[0], value=weight, sparse_sizes=size)
            self.append(batch)

    def __iter__(self) -> Any:
        self.calls += 1
        return super().__iter__()


@pytest.mark.parametrize("form", ["edge_index", "adj_t"])
@pytest.mark.parametrize("jk", [None, "last"])
@pytest.mark.parametrize("name", NAMES)
def test_inference_layer_by_layer_is_that_of_all_at_once(name: str, jk: str | None, form: str) -> None:
    kwargs = {"normalize": False} if name == "GCN" else {}  # degrees are those of the whole graph else
    model = getattr(ours, name)(4, 6, 3, 2, norm="layer_norm", norm_kwargs={"mode": "node"}, jk=jk, **kwargs)
    model = model.double().eval()
    data = Data(x=draw(6, 4), edge_index=EDGES, edge_weight=draw(9) + 1)
    expected = model(data.x, EDGES, data.edge_weight) if name == "GCN" else model(data.x, EDGES)
    loader = Neighbours(data, form)
    torch.testing.assert_close(model.inference(loader), expected.detach())
    assert loader.calls == 3
    torch.testing.assert_close(model.inference(loader, "cpu", "cpu", cache=True), expected.detach())
    assert loader.calls == 4


def test_inference_refuses_what_it_cannot_do() -> None:
    data = Data(x=draw(6, 4), edge_index=EDGES, edge_weight=draw(9))
    loader = Neighbours(data, "edge_index")
    with pytest.raises(ValueError, match="expected a model with jk None or 'last', found 'cat'"):
        GIN(4, 6, 2, jk="cat").double().inference(loader)
    loader.reverse()
    with pytest.raises(ValueError, match="loader: expected the nodes in order, each once"):
        GIN(4, 6, 2).double().inference(loader)
    loader.reverse()
    loader.pop()
    with pytest.raises(ValueError, match="loader: expected all 6 nodes, found 4"):
        GIN(4, 6, 2).double().inference(loader)


# In other hands ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_a_model_can_be_made_heterogeneous(name: str) -> None:
    kwargs = {"add_self_loops": False} if name == "GAT" else {}
    size: Any = 4 if name in ("GIN", "GCN") else (4, 4)
    if name in ("GCN", "GIN"):
        metadata: Any = (["a"], [("a", "to", "a")])
    else:
        metadata = (["a", "b"], [("a", "to", "b"), ("b", "to", "a"), ("a", "to", "a")])
    model = ours.to_hetero(getattr(ours, name)(size, 6, 2, 3, **kwargs), metadata).double()
    out = model({t: draw(6, 4) for t in metadata[0]}, dict.fromkeys(metadata[1], EDGES))
    assert {key: value.shape for key, value in out.items()} == dict.fromkeys(metadata[0], (6, 3))


@pytest.mark.filterwarnings("ignore:Dynamo detected a call to a `functools.lru_cache`:UserWarning")
@pytest.mark.parametrize("form", ["edge_index", "SparseTensor"])
@pytest.mark.parametrize("name", NAMES)
def test_a_model_compiles_in_one_graph(name: str, form: str) -> None:
    model, edges = getattr(ours, name)(4, 6, 2, 3, norm="batch_norm").double().eval(), EDGES
    given: Any = edges if form == "edge_index" else adjacency()
    expected = model(draw(6, 4), given)
    torch.compiler.reset()
    compiled = torch.compile(model, backend="eager", fullgraph=True)
    torch.testing.assert_close(compiled(draw(6, 4), given), expected)


@pytest.mark.parametrize("name", NAMES)
def test_a_model_is_drawn_anew_and_pickled(name: str) -> None:
    model = getattr(ours, name)(4, 6, 2, 3, norm="batch_norm", jk="lstm").double().eval()
    again = pickle.loads(pickle.dumps(model))
    torch.testing.assert_close(again(draw(6, 4), EDGES), model(draw(6, 4), EDGES))
    model.reset_parameters()
    assert not torch.equal(again(draw(6, 4), EDGES), model(draw(6, 4), EDGES))


def test_errors_name_what_is_wrong() -> None:
    with pytest.raises(ValueError, match="num_layers: expected at least 1, found 0"):
        GCN(4, 6, 0)
    with pytest.raises(ValueError, match="heads: expected a number that divides 5 channels, found 2"):
        GAT(4, 5, 2, heads=2)
    with pytest.raises(ValueError, match="in_channels: expected a size, since GCNConv is not bipartite"):
        GCN((4, 4), 6, 2)
