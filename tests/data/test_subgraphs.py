"""Cutting graphs down: held against PyG, networkx and counting by hand."""

from typing import Any

import networkx as nx
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from gnnlab.data import Batch, Data, HeteroData
from gnnlab.data.subgraphs import as_ids
from gnnlab.data.testing import assert_equal
from gnnlab.sparse import SparseTensor, from_parts
from tests.strategies import SPARSE_KINDS, graph_lists, graphs, hetero_graphs
from tests.tiny import path, star, two_types

needs_pyg = pytest.mark.filterwarnings("ignore:Unable to accurately infer 'num_nodes'")


def pyg_data() -> Any:
    return pytest.importorskip("torch_geometric.data", reason="compares with torch_geometric")


def as_pyg(data: Any) -> Any:
    """The same graph in PyG, without what PyG can't cut."""
    pyg = pyg_data()
    if isinstance(data, HeteroData):
        for store in data.edge_stores:
            store.pop("edge_label_index", None)
        return pyg.HeteroData.from_dict(data.to_dict())
    return pyg.Data.from_dict(data.to_dict())


def pick(value: Any, ids: list[int], dim: int = 0) -> Any:
    """The entries `ids` along dimension `dim`."""
    if isinstance(value, (list, tuple)):
        return type(value)(value[at] for at in ids)
    return value.index_select(dim, torch.tensor(ids, dtype=torch.long))


@st.composite
def graph_and_nodes(draw: st.DrawFn) -> tuple[Data, Any]:
    """A graph and some of its nodes: ids in any order, or a mask."""
    data = draw(graphs())
    count = data.num_nodes
    assert count is not None
    if draw(st.booleans()):
        mask = draw(st.lists(st.booleans(), min_size=count, max_size=count))
        return data, torch.tensor(mask, dtype=torch.bool)
    ids = draw(st.lists(st.integers(0, count - 1), unique=True)) if count else []
    return data, torch.tensor(ids, dtype=torch.long)


@given(graph_and_nodes())
def test_a_subgraph_holds_its_nodes_and_the_edges_among_them(drawn: tuple[Data, Tensor]) -> None:
    data, subset = drawn
    ids = as_ids(subset, data.num_nodes or 0, "nodes").tolist()
    out = data.subgraph(subset)
    assert out.num_nodes == len(ids)
    for key in data.node_attrs():
        assert_equal(out[key], pick(data[key], ids, data.__cat_dim__(key, data[key])))
    if "edge_index" in data:
        edges = data.edge_index.t().tolist()
        kept = [at for at, ends in enumerate(edges) if set(ends) <= set(ids)]
        expected = [[ids.index(end) for end in edges[at]] for at in kept]
        assert out.edge_index.t().tolist() == expected
        for key in data.edge_attrs():
            if key not in ("edge_index", "edge_label_index"):
                assert_equal(out[key], pick(data[key], kept, data.__cat_dim__(key, data[key])))
    for key in data.keys():  # noqa: SIM118
        level = key in data.node_attrs() or key in data.edge_attrs() or key == "num_nodes"
        if not level:
            assert_equal(out[key], data[key])


@needs_pyg
@given(graph_and_nodes())
def test_a_subgraph_is_that_of_pyg(drawn: tuple[Data, Tensor]) -> None:
    data, subset = drawn
    theirs = as_pyg(data)
    if "pair" in data:  # PyG makes lists of tuples
        return
    if data.num_nodes and "edge_index" in data:
        assert_equal(data.subgraph(subset).to_dict(), theirs.subgraph(subset).to_dict())


@given(graphs(), st.data())
def test_an_edge_subgraph_keeps_all_nodes(data: Data, drawn: Any) -> None:
    count = data.num_edges
    ids = drawn.draw(st.lists(st.integers(0, count - 1))) if count else []
    out = data.edge_subgraph(torch.tensor(ids, dtype=torch.long))
    assert out.num_nodes == data.num_nodes
    for key in data.keys():  # noqa: SIM118
        value = data[key]
        if key in data.edge_attrs():
            assert_equal(out[key], pick(value, ids, data.__cat_dim__(key, value)))
        else:
            assert_equal(out[key], value)


@needs_pyg
def test_edge_subgraphs_are_those_of_pyg() -> None:
    data = path()
    data.names = ["a", "b", "c", "d"]
    for subset in (torch.tensor([2, 0]), torch.tensor([1, 1]), torch.arange(4) > 1):
        ours, theirs = data.edge_subgraph(subset), as_pyg(data).edge_subgraph(subset)
        assert_equal(ours.to_dict(), theirs.to_dict())


@pytest.mark.parametrize(
    "subset",
    [
        [2, 1],
        (2, 1),
        np.array([2, 1]),
        torch.tensor([2, 1], dtype=torch.int32),
        torch.tensor([2, 1], dtype=torch.uint8),
    ],
)
def test_any_integers_select(subset: Any) -> None:
    assert path().subgraph(subset).y.tolist() == [0, 1]
    assert path().edge_subgraph(subset).edge_attr.tolist() == [[3.0], [2.0]]


@pytest.mark.parametrize("subset", [[False, True, True], np.array([False, True, True])])
def test_any_bools_are_a_mask(subset: Any) -> None:
    assert path().subgraph(subset).y.tolist() == [1, 0]


@pytest.mark.parametrize("subset", [[], torch.tensor([]), torch.zeros(3, dtype=torch.bool)])
def test_no_nodes_give_an_empty_graph(subset: Any) -> None:
    out = path().subgraph(subset)
    assert repr(out) == "Data(x=[0, 2], edge_index=[2, 0], edge_attr=[0, 1], y=[0])"


def test_of_an_id_given_twice_the_last_one_keeps_the_edges() -> None:
    out = path().subgraph(torch.tensor([1, 0, 1]))
    assert out.x.tolist() == [[2, 0], [1, 0], [2, 0]]
    assert out.edge_index.tolist() == [[1, 2], [2, 1]]


@pytest.mark.parametrize(
    ("subset", "error", "text"),
    [
        ([0, 3], IndexError, r"ids of nodes must lie in \[0, 3\), found 3"),
        ([-1, 0], IndexError, r"ids of nodes must lie in \[0, 3\), found -1"),
        ([True, False], IndexError, "mask of nodes must have 3 entries, found 2"),
        ([True] * 4, IndexError, "mask of nodes must have 3 entries, found 4"),
        ([[0, 1]], IndexError, r"nodes must have one dimension, found \[1, 2\]"),
        ([0.5], TypeError, "nodes must hold integers or bools, found torch.float32"),
    ],
)
def test_a_wrong_subset_of_nodes_is_refused(subset: Any, error: Any, text: str) -> None:
    with pytest.raises(error, match=text):
        path().subgraph(subset)


def test_a_wrong_subset_of_edges_is_refused() -> None:
    with pytest.raises(IndexError, match=r"ids of edges must lie in \[0, 4\), found 4"):
        path().edge_subgraph([4])
    with pytest.raises(IndexError, match="mask of edges must have 4 entries, found 3"):
        path().edge_subgraph([True, False, True])
    with pytest.raises(IndexError, match=r"edges of type \('paper', 'cites', 'paper'\)"):
        two_types().edge_subgraph({"cites": [1]})


@needs_pyg
def test_an_unknown_number_of_nodes_is_refused() -> None:
    with pytest.raises(ValueError, match="number of nodes is not known: set 'num_nodes'"):
        Data().subgraph([0])


def test_node_and_edge_attributes_are_told_apart_where_both_fit() -> None:
    data = Data(x=torch.arange(3), edge_index=torch.tensor([[0, 1, 2], [1, 2, 0]]))
    data.edge_attr = torch.arange(3) * 10
    out = data.subgraph([1, 2])
    assert out.edge_index.tolist() == [[0], [1]]
    assert out.edge_attr.tolist() == [10]
    assert data.edge_subgraph([2]).x.tolist() == [0, 1, 2]


def test_a_subgraph_leaves_the_graph_alone_and_shares_what_it_does_not_cut() -> None:
    data = star()
    before = data.clone()
    out = data.subgraph([0, 1])
    assert_equal(data, before)
    assert out.y is data.y


def test_ids_keep_their_dtype() -> None:
    data = Data(num_nodes=3, edge_index=torch.tensor([[1], [2]], dtype=torch.int32))
    assert_equal(data.subgraph([1, 2]).edge_index, torch.tensor([[0], [1]], dtype=torch.int32))


def test_a_count_of_edges_follows_the_edges() -> None:
    data = Data(num_nodes=3, edge_index=torch.tensor([[0, 1], [1, 2]]))
    data["num_edges"] = 2
    assert data.subgraph([1, 2]).num_edges == 1


def test_a_batch_keeps_track_of_its_graphs() -> None:
    batch = Batch.from_data_list([path(), path()])
    out = batch.subgraph([1, 3, 4])
    assert out.batch.tolist() == [0, 1, 1]
    assert out.ptr.tolist() == [0, 1, 3]
    assert out.num_graphs == 2
    with pytest.raises(RuntimeError, match="can't be taken apart"):
        out.to_data_list()
    assert len(batch.to_data_list()) == 2


# Sparse matrices ---------------------------------------------------------------------------------


def dense(matrix: Any) -> Tensor:
    return matrix.to_dense()


@pytest.mark.parametrize("kind", SPARSE_KINDS)
@pytest.mark.parametrize("key", ["adj", "adj_t"])
def test_an_adjacency_loses_rows_and_columns(kind: str, key: str) -> None:
    data = adjacency_graph(kind, key)
    out = data.subgraph([2, 0])
    assert type(out[key]) is type(data[key])
    assert dense(out[key]).tolist() == dense(data[key])[[2, 0]][:, [2, 0]].tolist()
    if isinstance(data[key], Tensor):
        assert out[key].layout == data[key].layout
    with pytest.raises(ValueError, match=f"edges are held in '{key}' and have no positions"):
        data.edge_subgraph([0])


def adjacency_graph(kind: str, key: str) -> Data:
    """0 -> 1 -> 2 -> 0 with weights 1, 2, 3, entries in the order of the layout."""
    ids, value = torch.tensor([[0, 1, 2], [1, 2, 0]]), torch.tensor([1.0, 2.0, 3.0])
    made: Any
    if kind == "SparseTensor":
        made = SparseTensor(row=ids[0], col=ids[1], value=value, sparse_sizes=(3, 3))
    elif kind == "coo":
        parts = {"indices": ids, "values": value}
        made = from_parts({"kind": kind, "sizes": [3, 3], "is_coalesced": True}, parts)
    else:
        inner = ids[1] if kind == "csr" else torch.tensor([2, 0, 1])
        parts = {"ptr": torch.arange(4), "index": inner, "values": value}
        made = from_parts({"kind": kind, "sizes": [3, 3]}, parts)
    return Data(x=torch.arange(3.0).view(3, 1), **{key: made})


def test_a_bipartite_adjacency_loses_the_nodes_of_each_side() -> None:
    data = two_types()
    adj = SparseTensor(row=torch.tensor([0, 2]), col=torch.tensor([1, 0]), sparse_sizes=(3, 2))
    del data["writes"]["edge_index"]
    del data["writes"]["edge_attr"]
    data["author", "writes", "paper"].adj_t = adj
    out = data.subgraph({"author": [1]})
    assert out["author", "writes", "paper"].adj_t.to_dense().tolist() == [[1.0], [0.0], [0.0]]
    out = data.subgraph({"paper": [2, 1]})
    assert out["author", "writes", "paper"].adj_t.to_dense().tolist() == [[1.0, 0.0], [0.0, 0.0]]


@pytest.mark.parametrize("kind", SPARSE_KINDS)
def test_sparse_features_lose_rows(kind: str) -> None:
    data = path().update({"x": adjacency_graph(kind, "adj").adj, "num_nodes": 3})
    data.edge_attr = adjacency_graph(kind, "adj").adj  # three rows for four edges: of no level
    out = data.subgraph([2, 0])
    assert type(out.x) is type(data.x)
    assert dense(out.x).tolist() == dense(data.x)[[2, 0]].tolist()
    assert out.edge_attr is data.edge_attr
    data = data.edge_subgraph([1, 0, 3])
    out = data.edge_subgraph([2])
    assert dense(out.edge_attr).tolist() == dense(data.edge_attr)[[2]].tolist()
    assert out.x is data.x


@given(hetero_graphs(sparse=SPARSE_KINDS), st.data())
def test_sparse_matrices_of_several_types_are_cut(data: HeteroData, drawn: Any) -> None:
    kept = {}
    for node_type, store in data.node_items():
        count = store.num_nodes or 0
        kept[node_type] = drawn.draw(st.lists(st.integers(0, count - 1), unique=True)) if count else []
    out = data.subgraph(kept)
    for node_type, store in data.node_items():
        if "features" in store:
            expected = dense(store.features)[kept[node_type]]
            assert_equal(dense(out[node_type].features), expected)
    for edge_type, store in data.edge_items():
        if "adj_t" in store:
            expected = dense(store.adj_t)[kept[edge_type[2]]][:, kept[edge_type[0]]]
            assert_equal(dense(out[edge_type].adj_t), expected)


# Several types -----------------------------------------------------------------------------------


@st.composite
def hetero_and_nodes(draw: st.DrawFn) -> tuple[HeteroData, dict[str, list[int]]]:
    data = draw(hetero_graphs())
    chosen = {}
    for node_type, store in data.node_items():
        if draw(st.booleans()):
            count = store.num_nodes or 0
            chosen[node_type] = draw(st.lists(st.integers(0, count - 1), unique=True)) if count else []
    return data, chosen


@given(hetero_and_nodes())
def test_a_hetero_subgraph_cuts_every_type(drawn: tuple[HeteroData, dict[str, list[int]]]) -> None:
    data, chosen = drawn
    out = data.subgraph({key: torch.tensor(ids, dtype=torch.long) for key, ids in chosen.items()})
    assert out.metadata() == data.metadata()
    kept = {key: chosen.get(key, list(range(store.num_nodes or 0))) for key, store in data.node_items()}
    for node_type, store in data.node_items():
        assert out[node_type].num_nodes == len(kept[node_type])
        for key in store.node_attrs():
            assert_equal(out[node_type][key], pick(store[key], kept[node_type]))
    for edge_type, store in data.edge_items():
        ends = (kept[edge_type[0]], kept[edge_type[2]])
        edges = store.edge_index.t().tolist()
        at = [i for i, (src, dst) in enumerate(edges) if src in ends[0] and dst in ends[1]]
        expected = [[ends[0].index(edges[i][0]), ends[1].index(edges[i][1])] for i in at]
        assert out[edge_type].edge_index.t().tolist() == expected
        if "edge_attr" in store:
            assert_equal(out[edge_type].edge_attr, pick(store.edge_attr, at))


@needs_pyg
@given(hetero_and_nodes())
def test_a_hetero_subgraph_is_that_of_pyg(drawn: tuple[HeteroData, dict[str, list[int]]]) -> None:
    data, chosen = drawn
    subsets = {key: torch.tensor(ids, dtype=torch.long) for key, ids in chosen.items()}
    theirs = as_pyg(data).subgraph(subsets)
    assert_equal(data.subgraph(subsets).to_dict(), theirs.to_dict())


@needs_pyg
def test_subgraphs_of_types_are_those_of_pyg() -> None:
    data = two_types()
    data["lonely"].x = torch.ones(1, 1)
    data.name = "tiny"
    theirs = as_pyg(data)
    for node_types in (["paper"], ["author", "paper"], ["lonely"], []):
        ours = data.node_type_subgraph(node_types)
        assert_equal(ours.to_dict(), theirs.node_type_subgraph(node_types).to_dict())
        assert ours.metadata() == theirs.node_type_subgraph(node_types).metadata()
    for edge_types in ([("paper", "cites", "paper")], [("author", "paper")], []):
        ours = data.edge_type_subgraph(edge_types)
        assert_equal(ours.to_dict(), theirs.edge_type_subgraph(edge_types).to_dict())
    for subsets in ({("author", "paper"): torch.tensor([2, 0])}, {"cites": torch.tensor([False])}):
        ours = data.edge_subgraph(subsets)
        assert_equal(ours.to_dict(), theirs.edge_subgraph(subsets).to_dict())
    assert data.metadata() == theirs.metadata()


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda data: data.subgraph({"book": [0]}), "no node type 'book'"),
        (lambda data: data.subgraph({("paper", "cites", "paper"): [0]}), "no node type"),
        (lambda data: data.edge_subgraph({("paper", "sells", "paper"): [0]}), "no edge type"),
        (lambda data: data.node_type_subgraph(["paper", "book"]), "no node type 'book'"),
        (lambda data: data.edge_type_subgraph([("paper", "book")]), "no edge type"),
        (lambda data: data.edge_type_subgraph(["sells"]), "no edge type 'sells'"),
    ],
)
def test_an_unknown_type_is_refused_and_not_made(call: Any, text: str) -> None:
    data = two_types()
    with pytest.raises(KeyError, match=text):
        call(data)
    assert data.metadata() == two_types().metadata()


# Connected components ----------------------------------------------------------------------------


@needs_pyg
@given(st.integers(0, 8), st.lists(st.tuples(st.integers(0, 7), st.integers(0, 7)), max_size=10))
def test_components_are_those_of_networkx_and_pyg(n: int, pairs: list[tuple[int, int]]) -> None:
    pairs = [(src % n, dst % n) for src, dst in pairs] if n else []
    data = Data(x=torch.arange(n), edge_attr=torch.arange(len(pairs)), y=7)
    data.edge_index = torch.tensor(pairs, dtype=torch.long).view(-1, 2).t().contiguous()
    found = data.connected_components()

    graph = nx.Graph(pairs)
    graph.add_nodes_from(range(n))
    assert {frozenset(part.x.tolist()) for part in found} == {
        frozenset(nodes) for nodes in nx.connected_components(graph)
    }
    for part in found:
        ends = part.x[part.edge_index]
        assert ends.tolist() == data.edge_index[:, part.edge_attr].tolist()
        assert part.y == 7
    if n:
        theirs = as_pyg(data).connected_components()
        assert_equal([p.to_dict() for p in found], [p.to_dict() for p in theirs])


def test_components_of_a_long_path_and_of_many_pairs() -> None:
    n = 5000
    order = torch.randperm(n, generator=torch.Generator().manual_seed(0))
    long = Data(num_nodes=n, edge_index=torch.stack([order[:-1], order[1:]]))
    assert [part.num_nodes for part in long.connected_components()] == [n]
    pairs = Data(x=torch.arange(400), edge_index=torch.arange(400).view(200, 2).t())
    found = pairs.connected_components()
    assert [part.x.tolist() for part in found] == torch.arange(400).view(200, 2).tolist()
    assert all(part.edge_index.tolist() == [[0], [1]] for part in found)


@needs_pyg
@given(hetero_graphs())
def test_components_of_several_types_are_those_of_networkx_and_pyg(data: HeteroData) -> None:
    theirs = as_pyg(data).connected_components()
    found = data.connected_components()
    graph = nx.Graph()
    for node_type, store in data.node_items():
        graph.add_nodes_from((node_type, at) for at in range(store.num_nodes or 0))
    for edge_type, store in data.edge_items():
        for src, dst in store.edge_index.t().tolist():
            graph.add_edge((edge_type[0], src), (edge_type[2], dst))
    expected = list(nx.connected_components(graph))
    assert len(found) == len(expected)
    sizes = [sorted(store.num_nodes for store in part.node_stores) for part in found]
    counted = [sorted(sum(key == node_type for key, _ in part) for node_type in data.node_types) for part in expected]
    assert sorted(sizes) == sorted(counted)
    assert_equal([p.to_dict() for p in found], [p.to_dict() for p in theirs])


def test_components_follow_an_adjacency() -> None:
    data = adjacency_graph("SparseTensor", "adj_t")
    assert len(data.connected_components()) == 1
    data.adj_t = SparseTensor(row=torch.tensor([2]), col=torch.tensor([0]), sparse_sizes=(3, 3))
    found = data.connected_components()
    assert [part.x.flatten().tolist() for part in found] == [[0.0, 2.0], [1.0]]
    assert found[0].adj_t.to_dense().tolist() == [[0.0, 0.0], [1.0, 0.0]]


def test_without_edges_each_node_is_a_component() -> None:
    assert [part.x.tolist() for part in Data(x=torch.arange(3)).connected_components()] == [[0], [1], [2]]
    assert Data(num_nodes=0).connected_components() == []
    assert HeteroData().connected_components() == []


def test_components_need_the_node_types_of_all_edges() -> None:
    data = two_types()
    data["paper", "in", "venue"].edge_index = torch.tensor([[0], [0]])
    with pytest.raises(ValueError, match="needs node type 'venue', which is missing"):
        data.connected_components()


@given(graph_lists(max_size=1, hetero=True))
def test_cutting_nothing_changes_nothing(found: list[HeteroData]) -> None:
    data = found[0]
    assert_equal(data.subgraph({}), data)
    whole = {key: torch.arange(store.num_nodes or 0) for key, store in data.node_items()}
    assert_equal(data.subgraph(whole), data)
    assert_equal(data.edge_subgraph({}), data)
    assert_equal(data.node_type_subgraph(data.node_types), data)
