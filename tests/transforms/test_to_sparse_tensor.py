"""`ToSparseTensor`: every layout, values of any shape, attributes along, and the order of transforms."""

from typing import Any

import pytest
import torch
from hypothesis import given

from gnnlab import transforms as T
from gnnlab.data import Batch, Data, HeteroData
from gnnlab.nn import SimpleConv
from gnnlab.typing import SparseTensor
from tests import tiny
from tests.strategies import graphs, hetero_graphs

LAYOUTS = (None, torch.sparse_coo, torch.sparse_csr, torch.sparse_csc)


def weighted(**others: Any) -> Data:
    """Four nodes of which the last has no edge, and edges in no order."""
    given = {
        "edge_index": torch.tensor([[2, 0, 1, 1], [1, 1, 0, 1]]),
        "edge_weight": torch.tensor([1.0, 2.0, 3.0, 4.0]),
        "edge_attr": torch.arange(12.0).view(4, 3),
        "num_nodes": 4,
    }
    return Data(**{**given, **others})


def dense(data: Any, values: torch.Tensor | None) -> torch.Tensor:
    """[num_targets, num_sources, ...]: the transposed adjacency, added up edge by edge."""
    values = torch.ones(data.num_edges) if values is None else values
    out = torch.zeros(data.num_nodes, data.num_nodes, *values.shape[1:])
    for edge, (source, target) in enumerate(data.edge_index.t().tolist()):
        out[target, source] += values[edge]
    return out


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("attr", ["edge_weight", "edge_attr", None])
def test_every_layout_holds_the_transpose(layout: Any, attr: str | None) -> None:
    data = weighted()
    out = T.ToSparseTensor(attr, layout=layout)(data)
    if layout is None:
        assert isinstance(out.adj_t, SparseTensor)
        assert out.adj_t.has_value() == (attr is not None)
    else:
        assert out.adj_t.layout == layout
    assert torch.equal(out.adj_t.to_dense(), dense(data, None if attr is None else data[attr]))
    assert "edge_index" not in out
    assert attr not in out
    assert {"edge_weight", "edge_attr"} - {attr} <= set(out.keys())
    assert out.num_nodes == 4
    assert set(data.keys()) == {"edge_index", "edge_weight", "edge_attr", "num_nodes"}


def test_torch_sparse_s_own() -> None:
    torch_sparse = pytest.importorskip("torch_sparse", reason="gives one of its tensors")
    out = T.ToSparseTensor(layout="torch_sparse")(weighted())
    assert isinstance(out.adj_t, torch_sparse.SparseTensor)
    assert "csr2csc" in out.adj_t.storage.cached_keys()
    assert torch.equal(out.adj_t.to_dense(), dense(weighted(), weighted().edge_weight))


def test_edge_attributes_are_sorted_along_and_labels_are_not() -> None:
    data = weighted(edge_words=list("abcd"), e_id=torch.arange(4) + 10, edge_label=torch.arange(4))
    data.edge_label_index = torch.tensor([[3, 2, 1, 0], [0, 1, 2, 3]])
    data.num_nodes = 5
    out = T.ToSparseTensor(remove_edge_index=False)(data)
    assert out.edge_index.tolist() == [[1, 0, 1, 2], [0, 1, 1, 1]]
    assert out.edge_weight.tolist() == [3, 2, 4, 1]
    assert out.edge_attr[:, 0].tolist() == [6, 3, 9, 0]
    assert out.edge_words == list("cbda")
    assert out.e_id.tolist() == [12, 11, 13, 10]
    assert out.edge_label.tolist() == [0, 1, 2, 3]
    assert torch.equal(out.edge_label_index, data.edge_label_index)
    row, col, value = out.adj_t.coo()
    assert torch.equal(torch.stack([col, row]), out.edge_index)
    assert torch.equal(value, out.edge_weight)


@given(graphs())
def test_going_back_gives_the_same_edges_with_their_attributes(data: Data) -> None:
    if "edge_index" not in data:
        assert set(T.ToSparseTensor()(data).keys()) == set(data.keys())
        return
    data.num_nodes = 5
    data.edge_number = torch.arange(data.edge_index.size(1))
    out = T.ToSparseTensor("edge_number")(data)
    row, col, number = out.adj_t.coo()
    assert torch.equal(data.edge_index[:, number], torch.stack([col, row]))
    assert number.sort().values.tolist() == list(range(number.numel()))
    for key in ("edge_attr", "edge_weight"):
        if key in data:
            assert torch.equal(out[key].nan_to_num(), data[key][number].nan_to_num())


@given(hetero_graphs())
def test_every_edge_type_gets_its_own(data: HeteroData) -> None:
    for store in data.node_stores:
        store.num_nodes = 5
    out = T.ToSparseTensor()(data)
    for edge_type, store in data.edge_items():
        adj_t = out[edge_type].adj_t
        expected = SparseTensor.from_edge_index(store.edge_index, None, (5, 5)).t()
        assert torch.equal(adj_t.set_value(None).to_dense(), expected.to_dense())


def test_types_of_different_sizes() -> None:
    out = T.ToSparseTensor("edge_attr")(tiny.two_types())
    writes = out["author", "writes", "paper"].adj_t
    assert writes.sizes() == [3, 2, 1]
    assert writes.coo()[2].view(-1).tolist() == [1, 2, 3]
    assert out["paper", "cites", "paper"].adj_t.sizes() == [3, 3]


AFTER = {
    "itself": lambda data: data,
    "a batch": lambda data: Batch.from_data_list([data, data]),
    "a graph of a batch": lambda data: Batch.from_data_list([data, data])[1],
    "a subgraph": lambda data: data.subgraph(torch.tensor([0, 1])),
    "normalised": T.GCNNorm(),
    "without isolated nodes": T.RemoveIsolatedNodes(),
}


@pytest.mark.parametrize("after", AFTER)
def test_the_adjacency_remembers_which_way_round_it_is(after: str) -> None:
    data = AFTER[after](T.ToSparseTensor()(weighted()))
    assert data.adj_t.is_transposed is True
    assert data.adj_t.t().is_transposed is False


def test_the_adjacency_of_every_type_remembers_too() -> None:
    out = T.ToSparseTensor()(tiny.two_types())
    assert all(store.adj_t.is_transposed is True for store in out.edge_stores)


def test_layers_take_the_adjacency_and_refuse_its_transpose() -> None:
    data = weighted(x=torch.eye(4))
    conv = SimpleConv()
    adj_t = T.ToSparseTensor()(data).adj_t
    assert torch.equal(conv(data.x, adj_t), conv(data.x, data.edge_index, data.edge_weight))
    with pytest.raises(ValueError, match="transposed"):
        conv(data.x, adj_t.t())


@pytest.mark.parametrize("fill_cache", [True, False])
def test_the_cache_is_filled_or_not(fill_cache: bool) -> None:
    adj_t = T.ToSparseTensor(fill_cache=fill_cache)(weighted()).adj_t
    assert {"rowptr", "csr2csc"} <= set(adj_t.cache_info()) if fill_cache else not adj_t.cache_info()


def test_gradients_flow_to_the_weights() -> None:
    weight = torch.tensor([1.0, 2.0, 3.0, 4.0], requires_grad=True)
    adj_t = T.ToSparseTensor()(weighted(edge_weight=weight)).adj_t
    (adj_t.storage.value() * torch.tensor([10.0, 20.0, 30.0, 40.0])).sum().backward()
    assert weight.grad is not None
    assert weight.grad.tolist() == [40, 20, 10, 30]


def test_an_edge_that_is_there_twice() -> None:
    data = weighted(edge_index=torch.tensor([[2, 0, 2, 1], [1, 1, 1, 1]]))
    for layout in (None, torch.sparse_coo):
        out = T.ToSparseTensor(layout=layout)(data)
        assert torch.equal(out.adj_t.to_dense(), dense(data, data.edge_weight))
        assert out.edge_attr[:, 0].tolist() == [3, 9, 0, 6]
    for layout in (torch.sparse_csr, torch.sparse_csc):
        with pytest.raises(ValueError, match=r"every edge once, as layout=torch.sparse_cs. needs, .*RemoveDuplicated"):
            T.ToSparseTensor(layout=layout)(data)
        merged = T.Compose([T.RemoveDuplicatedEdges(), T.ToSparseTensor(layout=layout)])(data)
        assert torch.equal(merged.adj_t.to_dense(), dense(data, data.edge_weight))


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        (
            {"edge_index": torch.tensor([[0], [4]])},
            IndexError,
            r"edge_index\[1\]: expected values in \[0, 4\), found 4",
        ),
        ({"edge_index": torch.tensor([[-1], [0]])}, IndexError, r"edge_index\[0\]: .* found -1"),
        ({"edge_index": torch.tensor([[0.0], [1.0]])}, ValueError, "edge_index: expected an integer dtype"),
        ({"edge_index": torch.tensor([0, 1])}, ValueError, r"edge_index: expected shape \[2, num_edges\]"),
        ({"edge_weight": torch.ones(3)}, ValueError, "edge_weight: expected one row for each of 4 edges"),
        ({"edge_weight": [1, 2, 3, 4]}, ValueError, "edge_weight: expected a dense tensor"),
    ],
)
def test_bad_graphs_are_refused_by_name(change: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        T.ToSparseTensor()(weighted(**change))


def test_sizes_are_never_guessed() -> None:
    data = HeteroData()
    data["a", "to", "b"].edge_index = torch.tensor([[0], [1]])
    with pytest.raises(ValueError, match="node type 'a' is missing"):
        T.ToSparseTensor()(data)


def test_layouts_are_checked_at_once() -> None:
    with pytest.raises(ValueError, match=r"layout: expected one of .* found torch.strided"):
        T.ToSparseTensor(layout=torch.strided)


CHANGING = (
    T.ToUndirected(),
    T.AddSelfLoops(),
    T.AddRemainingSelfLoops(),
    T.RemoveSelfLoops(),
    T.RemoveDuplicatedEdges(),
    T.RandomLinkSplit(neg_sampling_ratio=0),
)
READING = (T.OneHotDegree(9), T.LocalDegreeProfile(), T.SIGN(1))


@pytest.mark.parametrize("transform", [*CHANGING, *READING], ids=repr)
def test_transforms_that_need_edge_index_come_before(transform: T.BaseTransform) -> None:
    name = type(transform).__name__
    with pytest.raises(ValueError, match=f"{name} .*put {name} before ToSparseTensor"):
        T.Compose([T.ToSparseTensor(), transform])(tiny.path())
    assert T.Compose([transform, T.ToSparseTensor()])(tiny.path()) is not None


@pytest.mark.parametrize("transform", [*CHANGING, T.GCNNorm()], ids=repr)
def test_no_adjacency_is_left_behind_when_edges_change(transform: T.BaseTransform) -> None:
    with pytest.raises(ValueError, match=r"put \w+ before ToSparseTensor"):
        T.Compose([T.ToSparseTensor(remove_edge_index=False), transform])(tiny.path())


@pytest.mark.parametrize("transform", READING, ids=repr)
def test_reading_goes_on_where_edge_index_is_kept(transform: T.BaseTransform) -> None:
    kept = T.ToSparseTensor(remove_edge_index=False)(tiny.path())
    expected, found = transform(tiny.path()), transform(kept)
    assert all(torch.equal(found[key], expected[key]) for key in expected.keys() if key.startswith("x"))  # noqa: SIM118


@pytest.mark.parametrize("transform", [T.RemoveIsolatedNodes(), T.LargestConnectedComponents()], ids=repr)
def test_nodes_can_be_removed_before_and_after(transform: T.BaseTransform) -> None:
    data = weighted()
    before = T.Compose([transform, T.ToSparseTensor()])(data)
    after = T.Compose([T.ToSparseTensor(), transform])(data)
    assert before.num_nodes == after.num_nodes == 3
    assert before.adj_t == after.adj_t
