from types import ModuleType
from typing import Any

import networkx as nx
import numpy as np
import pytest
import torch
from hypothesis import given
from torch import Tensor

import gnnlab.utils
from gnnlab.data import Batch, Data, HeteroData, TemporalData
from gnnlab.sparse import SparseTensor
from gnnlab.utils import from_networkx, from_pyg, to_networkx, to_pyg
from tests.utils.graphs import MIXED, NO_EDGES, PATH, assert_same, graphs


@pytest.fixture(scope="module")
def pyg() -> ModuleType:
    return pytest.importorskip("torch_geometric", reason="PyG, the peer, is not installed")


def small() -> Data:
    return Data(
        x=torch.arange(10.0).view(5, 2),
        edge_index=MIXED,
        edge_attr=torch.arange(6),
        y=torch.tensor([7]),
        name="small",
        label=["a", "b", "c", "d", "e"],
        column=torch.rand(5, 1),
    )


def typed() -> HeteroData:
    data = HeteroData()
    data["a"].x = torch.tensor([[1.0], [2.0]])
    data["b"].x = torch.tensor([5, 6, 7])
    data["a", "to", "b"].edge_index = torch.tensor([[0, 1], [1, 2]])
    data["a", "to", "b"].w = torch.tensor([5, 6])
    data["b", "back", "a"].edge_index = torch.tensor([[1], [0]])
    data["b", "back", "a"].w = torch.tensor([[7.0, 8.0]])
    data["a", "to", "a"].edge_index = torch.tensor([[1], [1]])
    data["a", "to", "a"].w = torch.tensor([1])
    data.year = torch.tensor([2024])
    return data


def parts(graph: Any) -> tuple[Any, ...]:
    """Everything that a NetworkX graph holds."""
    edges = graph.edges(keys=True, data=True) if graph.is_multigraph() else graph.edges(data=True)
    return type(graph), list(graph.nodes(data=True)), list(edges), graph.graph


# to_networkx

ALL = {"node_attrs": ["x", "label", "column"], "edge_attrs": ["edge_attr"], "graph_attrs": ["y", "name"]}


@pytest.mark.parametrize("to_undirected", [False, True, "upper", "lower", None])
@pytest.mark.parametrize("to_multi", [False, True])
@pytest.mark.parametrize("remove_self_loops", [False, True])
@pytest.mark.parametrize("attrs", [{}, ALL])
def test_to_networkx_as_pyg(
    pyg: ModuleType, to_undirected: bool | str | None, to_multi: bool, remove_self_loops: bool, attrs: dict[str, Any]
) -> None:
    options = {"to_undirected": to_undirected, "to_multi": to_multi, "remove_self_loops": remove_self_loops, **attrs}
    data = small()
    assert parts(to_networkx(data, **options)) == parts(pyg.utils.to_networkx(to_pyg(data), **options))


@pytest.mark.parametrize("to_multi", [False, True])
@pytest.mark.parametrize("remove_self_loops", [False, True])
def test_types_to_networkx_as_pyg(pyg: ModuleType, to_multi: bool, remove_self_loops: bool) -> None:
    data = typed()
    for attrs in ({}, {"node_attrs": ["x"], "edge_attrs": ["w"], "graph_attrs": ["year"]}):
        options = {"to_multi": to_multi, "remove_self_loops": remove_self_loops, **attrs}
        assert parts(to_networkx(data, **options)) == parts(pyg.utils.to_networkx(to_pyg(data), **options))


def test_nodes_without_edges_are_there() -> None:
    assert list(to_networkx(Data(edge_index=NO_EDGES, num_nodes=3)).nodes) == [0, 1, 2]


def test_to_networkx_errors() -> None:
    data = small()
    with pytest.raises(ValueError, match=r"node_attrs: expected attributes, among .*'x'.*, found 'nothing'"):
        to_networkx(data, node_attrs=["nothing"])
    with pytest.raises(ValueError, match=r"edge_attrs: expected attributes of type .*'to', 'b'.*, found 'nothing'"):
        to_networkx(typed(), edge_attrs=["nothing"])
    with pytest.raises(ValueError, match="graph_attrs: expected attributes"):
        to_networkx(data, graph_attrs=["nothing"])
    with pytest.raises(ValueError, match="node_attrs: expected 5 entries in each attribute, found others in 'y'"):
        to_networkx(data, node_attrs=["y"])
    with pytest.raises(ValueError, match="to_undirected: expected a bool, 'upper' or 'lower', found 'middle'"):
        to_networkx(data, to_undirected="middle")
    with pytest.raises(ValueError, match="to_undirected: expected False for a heterogeneous graph"):
        to_networkx(typed(), to_undirected=True)


@pytest.mark.filterwarnings("ignore:Unable to accurately infer 'num_nodes':UserWarning")
def test_unknown_number_of_nodes() -> None:
    data = HeteroData()
    data["a"].name = "no tensor at all"
    with pytest.raises(ValueError, match="data: expected a known number of nodes, found none in a: set num_nodes"):
        to_networkx(data)


# from_networkx


def with_attributes() -> nx.Graph:
    graph = nx.Graph(y=3, source="by hand", sizes=[1, 2], a=9)
    graph.add_node("p", a=1, b=[1.0, 2.0], c="u", d=True, e=[1], f=np.array([1.0]), g=torch.ones(2))
    graph.add_node("q", a=2, b=[3.0, 4.0], c="v", d=False, e=[1, 2], f=np.array([2.0]), g=torch.zeros(2))
    graph.add_node("r", a=3, b=[5.0, 6.0], c="w", d=False, e=[], f=np.array([3.0]), g=torch.zeros(2))
    graph.add_edge("p", "q", w=1.5, v=[1, 2], a=4)
    graph.add_edge("q", "r", w=2.5, v=[3, 4], a=5)
    return graph


NX_GRAPHS = {
    "attributes": with_attributes,
    "directed": lambda: nx.DiGraph([(5, 2, {"w": 1}), (2, 2, {"w": 2})]),
    "multi": lambda: nx.MultiGraph([(0, 1, {"w": 1}), (0, 1, {"w": 2})]),
    "multi directed": lambda: nx.MultiDiGraph([(1, 0, {"w": 1}), (1, 0, {"w": 2})]),
    "features": lambda: nx.relabel_nodes(nx.Graph([(0, 1)]), {0: "a", 1: "b"}),
    "view": lambda: nx.path_graph(4).subgraph([1, 2, 3]),
    "empty": lambda: nx.Graph(),
    "no edges": lambda: nx.empty_graph(3),
    "karate": nx.karate_club_graph,
}


@pytest.mark.filterwarnings("ignore:Creating a tensor from a list of numpy.ndarrays:UserWarning")  # the peer does
@pytest.mark.parametrize("name", NX_GRAPHS)
def test_from_networkx_as_pyg(pyg: ModuleType, name: str) -> None:
    graph = NX_GRAPHS[name]()
    ours, theirs = from_networkx(graph), pyg.utils.from_networkx(graph)
    assert ours.num_nodes == theirs.num_nodes == graph.number_of_nodes()
    assert_same(ours.to_dict(), theirs.to_dict())


@pytest.mark.filterwarnings("ignore:Creating a tensor from a list of numpy.ndarrays:UserWarning")  # the peer does
@pytest.mark.parametrize("nodes", [None, ["a", "b", "f"], ["b"]])
@pytest.mark.parametrize("edges", [None, "all", ["w", "v"], ["a"], ["edge_a"]])
def test_groups_as_pyg(pyg: ModuleType, nodes: list[str] | None, edges: list[str] | str | None) -> None:
    graph = with_attributes()
    ours, theirs = from_networkx(graph, nodes, edges), pyg.utils.from_networkx(graph, nodes, edges)
    assert_same(ours.to_dict(), theirs.to_dict())


def test_all_node_attributes_in_one() -> None:
    graph = nx.Graph()
    graph.add_node(0, a=1, x=[2.0, 3.0])
    graph.add_node(1, a=4, x=[5.0, 6.0])
    data = from_networkx(graph, group_node_attrs="all")
    assert data.keys() == ["edge_index", "x"]
    assert data.x.tolist() == [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]


def test_the_graph_is_left_alone() -> None:
    graph = with_attributes()
    before = repr(parts(graph))
    from_networkx(graph, ["a"], ["w"])
    assert repr(parts(graph)) == before


@given(graphs())
def test_there_and_back(graph: tuple[Tensor, int]) -> None:
    edge_index, num_nodes = graph
    data = Data(edge_index=edge_index, weight=torch.arange(edge_index.size(1)), num_nodes=num_nodes)
    back = from_networkx(to_networkx(data, edge_attrs=["weight"], to_multi=True))
    assert back.num_nodes == num_nodes
    if edge_index.size(1) > 0:  # without edges nobody knows of their attributes
        order = back.weight
        assert_same(back.edge_index, edge_index[:, order])
        assert order.sort().values.tolist() == list(range(edge_index.size(1)))


def test_from_networkx_errors() -> None:
    graph = nx.Graph()
    graph.add_node(0, a=1)
    graph.add_node(1)
    with pytest.raises(ValueError, match=r"G: expected the attributes \['a'\] in all nodes, found \[\] in number 1"):
        from_networkx(graph)
    graph = nx.Graph([(0, 1, {"w": 1}), (1, 2)])
    with pytest.raises(ValueError, match=r"G: expected the attributes \['w'\] in all edges"):
        from_networkx(graph)
    graph = with_attributes()
    with pytest.raises(ValueError, match=r"group_node_attrs: .* found 'nothing', which is not there"):
        from_networkx(graph, ["nothing"])
    with pytest.raises(ValueError, match=r"group_node_attrs: .* found 'c', which is no tensor"):
        from_networkx(graph, ["c"])


# to_pyg and from_pyg


def storages(graph: Any) -> dict[Any, int]:
    """Where the tensors of a graph lie."""
    return {
        (store._key, name): value.untyped_storage().data_ptr()
        for store in graph.stores
        for name, value in store.items()
        if isinstance(value, Tensor)
    }


@pytest.mark.parametrize("make", [small, typed])
def test_graphs_to_pyg_and_back_share_their_tensors(pyg: ModuleType, make: Any) -> None:
    ours = make()
    theirs = to_pyg(ours)
    assert type(theirs) is getattr(pyg.data, type(ours).__name__)
    back = from_pyg(theirs)
    assert type(back) is type(ours)
    assert storages(theirs) == storages(back) == storages(ours)
    assert_same(back.to_dict(), ours.to_dict())
    assert str(theirs) == str(ours)


def test_the_number_of_nodes_goes_along(pyg: ModuleType) -> None:
    assert to_pyg(Data(edge_index=PATH, num_nodes=9)).num_nodes == 9
    assert from_pyg(pyg.data.Data(edge_index=PATH, num_nodes=9)).num_nodes == 9


def test_events_to_pyg_and_back(pyg: ModuleType) -> None:
    ours = TemporalData(src=torch.tensor([0]), dst=torch.tensor([1]), t=torch.tensor([5]), msg=torch.rand(1, 2))
    theirs = to_pyg(ours)
    assert type(theirs) is pyg.data.TemporalData
    assert_same(from_pyg(theirs).to_dict(), ours.to_dict())


def test_batches_become_lists(pyg: ModuleType) -> None:
    graphs = [small(), small()]
    theirs = to_pyg(Batch.from_data_list(graphs))
    assert [type(graph) for graph in theirs] == [pyg.data.Data] * 2
    assert_same(theirs[1].edge_index, MIXED)
    ours = from_pyg(pyg.data.Batch.from_data_list(theirs))
    assert [type(graph) for graph in ours] == [Data] * 2
    assert_same(ours[1].edge_index, MIXED)
    assert [graph.name for graph in from_pyg(to_pyg(graphs))] == ["small", "small"]


def test_subclasses_lose_their_class(pyg: ModuleType) -> None:
    class Molecule(Data):
        pass

    assert type(to_pyg(Molecule(x=torch.ones(1, 1)))) is pyg.data.Data


def test_nested_sparse_tensors(pyg: ModuleType) -> None:
    torch_sparse = pytest.importorskip("torch_sparse", reason="torch_sparse is not installed")
    adj = SparseTensor.from_edge_index(PATH, torch.ones(4), (3, 3))
    theirs = to_pyg(Data(x=torch.ones(3, 1), adj_t=adj, more={"list": [adj]}))
    for converted in (theirs.adj_t, theirs.more["list"][0]):
        assert isinstance(converted, torch_sparse.SparseTensor)
        assert converted.storage.value().data_ptr() == adj.storage.value().data_ptr()
    back = from_pyg(theirs)
    assert isinstance(back.adj_t, SparseTensor)
    assert back.adj_t == adj


def test_edge_index_of_pyg_becomes_a_plain_tensor(pyg: ModuleType) -> None:
    data = from_pyg(pyg.data.Data(edge_index=pyg.EdgeIndex(PATH)))
    assert type(data.edge_index) is Tensor
    assert_same(data.edge_index, PATH)


def test_other_things_are_refused(pyg: ModuleType) -> None:
    with pytest.raises(TypeError, match=r"data: expected one of \['gnnlab.Data', .* found dict"):
        to_pyg({})
    with pytest.raises(TypeError, match=r"data: expected one of \['torch_geometric.Data', .* found Data"):
        from_pyg(small())


def test_utils_hands_out_the_converters() -> None:
    for name in ("from_networkx", "to_networkx", "from_pyg", "to_pyg"):
        assert getattr(gnnlab.utils, name).__module__ == "gnnlab.data.convert"
        assert name in gnnlab.utils.__all__


@pytest.mark.parametrize("name", ["from_networkx", "to_networkx"])
def test_signatures(pyg: ModuleType, name: str) -> None:
    from inspect import signature

    ours, theirs = signature(getattr(gnnlab.utils, name)), signature(getattr(pyg.utils, name))
    assert [(p.name, p.kind, p.default) for p in ours.parameters.values()] == [
        (p.name, p.kind, p.default) for p in theirs.parameters.values()
    ]
