"""What transforms promise beyond PyG's: sound graphs, the caller's untouched, and errors that name what is wrong."""

import copy
import pickle
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from gnnlab import transforms as T
from gnnlab.data import Batch, Data, HeteroData
from gnnlab.data.testing import assert_equal
from gnnlab.transforms.base_transform import TRANSFORMS, functional_transform
from tests import tiny
from tests.strategies import graphs

ALL = (
    T.AddSelfLoops(),
    T.AddRemainingSelfLoops(),
    T.RemoveSelfLoops(),
    T.ToUndirected(),
    T.RemoveDuplicatedEdges(),
    T.RemoveIsolatedNodes(),
    T.LargestConnectedComponents(),
    T.NormalizeFeatures(),
    T.Constant(),
    T.OneHotDegree(4),
    T.LocalDegreeProfile(),
    T.GCNNorm(),
    T.SIGN(2),
    T.ToSparseTensor(),
    T.ToDevice("cpu"),
    T.RandomNodeSplit(num_val=1, num_test=1),
    T.RandomLinkSplit(1, 1, neg_sampling_ratio=0),
)
HOMOGENEOUS = (T.LargestConnectedComponents(), T.OneHotDegree(4), T.LocalDegreeProfile(), T.GCNNorm(), T.SIGN(2))


@pytest.mark.parametrize("transform", ALL, ids=repr)
@pytest.mark.parametrize("make", [tiny.path, tiny.star])
def test_the_result_is_sound_and_the_caller_s_graph_unchanged(transform: T.BaseTransform, make: Any) -> None:
    data, before = make(), make()
    data.edge_number = before.edge_number = torch.arange(4)
    out = transform(data)
    for part in out if isinstance(out, tuple) else [out]:
        assert part is not data
        assert part.validate()
        assert type(part) is Data
    assert_equal([data], [before])


@pytest.mark.parametrize("transform", ALL, ids=repr)
def test_transforms_are_copied_and_pickled(transform: T.BaseTransform) -> None:
    for other in (copy.deepcopy(transform), pickle.loads(pickle.dumps(transform))):
        assert repr(other) == repr(transform)
        assert vars(other) == vars(transform)


@pytest.mark.parametrize("transform", HOMOGENEOUS, ids=repr)
def test_homogeneous_graphs_only(transform: T.BaseTransform) -> None:
    with pytest.raises(ValueError, match=f"{type(transform).__name__} expects a homogeneous graph, found HeteroData"):
        transform(tiny.two_types())


@pytest.mark.parametrize("transform", [T.OneHotDegree(4), T.LocalDegreeProfile(), T.GCNNorm(), T.SIGN(2)], ids=repr)
def test_without_edges_there_is_nothing_to_count(transform: T.BaseTransform) -> None:
    with pytest.raises(ValueError, match="expects a graph with 'edge_index', found none"):
        transform(Data(x=torch.ones(3, 1)))


# Edges


@given(graphs(), st.sampled_from([T.AddSelfLoops(), T.AddRemainingSelfLoops(), T.RemoveSelfLoops()]))
def test_edge_attributes_keep_up_with_the_edges(data: Data, transform: T.BaseTransform) -> None:
    data.num_nodes = 5
    if "edge_index" not in data:
        assert_equal([transform(data)], [data])
        return
    count = data.edge_index.size(1)
    data.edge_number = torch.arange(1, count + 1)
    for key in ("edge_label", "edge_label_index"):
        data[key] = None
    out = transform(data)
    old = out.edge_number > 0
    number = out.edge_number[old] - 1
    assert torch.equal(out.edge_index[:, old], data.edge_index[:, number])
    assert bool((out.edge_index[0] == out.edge_index[1])[~old].all())
    for key in ("edge_attr", "edge_weight"):
        if key in data and not data[key].is_complex():
            assert torch.equal(out[key][old].nan_to_num(), data[key][number].nan_to_num())
            assert bool((out[key][~old] == (1 if key == "edge_weight" else 0)).all())


def test_self_loops_of_a_type() -> None:
    data = tiny.two_types()
    out = T.AddSelfLoops()(data)
    assert out["cites"].edge_index.tolist() == [[0, 0, 1, 2], [1, 0, 1, 2]]
    assert torch.equal(out["writes"].edge_index, data["writes"].edge_index)
    with pytest.raises(
        ValueError, match="how many self-loops to add, since the number of nodes of type 'n' is unknown"
    ):
        T.AddSelfLoops()(HeteroData({("n", "to", "n"): {"edge_index": torch.tensor([[0], [1]])}, "n": {}}))


def test_a_count_of_edges_that_was_set_keeps_up() -> None:
    for transform in (T.AddSelfLoops(), T.RemoveSelfLoops(), T.ToUndirected(), T.RemoveDuplicatedEdges()):
        data = Data(num_nodes=3, num_edges=4, edge_index=torch.tensor([[0, 0, 1, 1], [1, 1, 1, 2]]))
        out = transform(data)
        assert out.num_edges == out.edge_index.size(1) != 4
        assert data.num_edges == 4


@pytest.mark.parametrize("transform", [T.AddSelfLoops(), T.AddRemainingSelfLoops(), T.ToUndirected()], ids=repr)
def test_values_that_can_t_be_made_up_are_refused(transform: T.BaseTransform) -> None:
    data = tiny.path().update({"edge_words": list("abcd")})
    with pytest.raises(
        ValueError, match=r"edge attributes to be tensors .*, found 'edge_words', a list: remove it first"
    ):
        transform(data)
    data = tiny.path().update({"edge_own_index": torch.zeros(2, 4).long()})
    with pytest.raises(ValueError, match=r"found 'edge_own_index', of shape \[2, 4\]"):
        transform(data)


def test_labels_of_links_are_not_labels_of_edges() -> None:
    data = tiny.path().update({"edge_label": torch.arange(4), "edge_label_index": torch.arange(8).view(2, 4) % 3})
    for transform in (T.AddSelfLoops(), T.RemoveSelfLoops(), T.ToUndirected(), T.RemoveDuplicatedEdges()):
        out = transform(data)
        assert torch.equal(out.edge_label, data.edge_label)
        assert torch.equal(out.edge_label_index, data.edge_label_index)


@given(graphs())
def test_undirected_graphs_are_undirected(data: Data) -> None:
    for key in [key for key in data.keys() if key != "edge_index"]:  # noqa: SIM118
        del data[key]
    data.num_nodes = 5
    out = T.ToUndirected()(data)
    assert out.is_undirected()
    assert out.is_coalesced()


def test_reverses_that_were_there_are_replaced() -> None:
    data = tiny.two_types()
    data["paper", "rev_writes", "author"].edge_index = torch.tensor([[0], [1]])
    data["paper", "rev_writes", "author"].edge_weight = torch.ones(1)
    reverse = T.ToUndirected()(data)["paper", "rev_writes", "author"]
    assert torch.equal(reverse.edge_index, data["writes"].edge_index.flip(0))
    assert torch.equal(reverse.edge_attr, data["writes"].edge_attr)
    assert "edge_weight" not in reverse


def test_merged_edges_keep_what_is_not_merged_from_the_first() -> None:
    data = Data(num_nodes=3, edge_index=torch.tensor([[1, 0, 1, 0], [2, 1, 2, 0]]), edge_attr=torch.arange(4.0))
    data.e_id = torch.arange(4) + 10
    data.edge_words = list("abcd")
    out = T.RemoveDuplicatedEdges()(data)
    assert out.edge_index.tolist() == [[0, 0, 1], [0, 1, 2]]
    assert out.edge_attr.tolist() == [3, 1, 2]
    assert out.e_id.tolist() == [13, 11, 10]
    assert out.edge_words == list("dba")
    with pytest.raises(ValueError, match="own: expected one row for each of 4 edges"):
        T.RemoveDuplicatedEdges("own")(data.update({"own": torch.ones(3)}))


def test_nodes_without_edges_go_from_adjacencies_too() -> None:
    data = HeteroData()
    data["a"].x, data["b"].x = torch.arange(3), torch.arange(4)
    data["a", "to", "b"].edge_index = torch.tensor([[0, 2], [3, 3]])
    out = T.Compose([T.ToSparseTensor(), T.RemoveIsolatedNodes()])(data)
    assert out["a"].x.tolist() == [0, 2]
    assert out["b"].x.tolist() == [3]
    assert out["to"].adj_t.to_dense().tolist() == [[1, 1]]


def test_the_normalisation_is_that_of_a_graph_convolution() -> None:
    data = tiny.path()
    out = T.GCNNorm()(data)
    adj = torch.eye(3) + torch.tensor([[0.0, 1, 0], [1, 0, 1], [0, 1, 0]])
    scale = adj.sum(0).rsqrt()
    source, target = out.edge_index
    assert torch.allclose(out.edge_weight, (scale * adj * scale.view(-1, 1))[target, source])
    assert out.edge_attr.view(-1).tolist() == [1, 2, 3, 4, 0, 0, 0]
    on_adjacency = T.Compose([T.ToSparseTensor(), T.GCNNorm()])(data).adj_t
    assert torch.allclose(on_adjacency.to_dense(), scale * adj * scale.view(-1, 1))


# Features


@pytest.mark.parametrize(
    ("transform", "change", "message"),
    [
        (T.NormalizeFeatures(), {"x": torch.ones(3, 2).to_sparse()}, "x: expected a dense floating-point tensor"),
        (T.NormalizeFeatures(), {"x": torch.ones(3, 2).long()}, "x: expected a dense floating-point tensor .*int64"),
        (T.NormalizeFeatures(["words"]), {"words": ["a"]}, "words: .* found list"),
        (T.OneHotDegree(1), {}, "max_degree: expected at least 2, the degree of a node, found 1"),
        (T.OneHotDegree(2), {"x": torch.ones(3, 1, 1)}, r"x: expected .* found of shape \[3, 1, 1\]"),
        (T.Constant(), {"x": torch.ones(3, 2).to_sparse()}, "x: expected a dense"),
        (T.Constant(0.5), {"x": torch.ones(3).long()}, "value: expected an integer beside 'x', .* found 0.5"),
        (T.Constant(node_types="a"), {}, r"node_types: expected some of \[None\], found 'a'"),
        (T.SIGN(1), {"x": torch.ones(3).long()}, "x: expected node features"),
    ],
)
def test_bad_features_are_refused_by_name(transform: T.BaseTransform, change: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        transform(tiny.path().update(change))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: T.SIGN(-1), "K: expected a number of steps from 0, found -1"),
        (lambda: T.LargestConnectedComponents(0), "num_components: expected a number from 1, found 0"),
        (lambda: T.LargestConnectedComponents(connection="both"), "connection: .* found 'both'"),
    ],
)
def test_bad_arguments_are_refused_by_name(make: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()


@given(graphs(), st.integers(0, 2**16))
def test_normalised_rows_add_up_to_one_or_are_below(data: Data, seed: int) -> None:
    data.x = torch.randn(4, 3, generator=torch.Generator().manual_seed(seed), dtype=torch.float64) * 9
    x = T.NormalizeFeatures()(data).x
    assert bool((x >= 0).all())
    total = x.sum(-1)
    shifted = (data.x - data.x.min()).sum(-1)
    assert torch.allclose(total, torch.where(shifted < 1, shifted, torch.ones_like(shifted)))


def test_components_with_more_edges_between_two_nodes_than_a_byte_counts() -> None:
    data = Data(num_nodes=3, edge_index=torch.tensor([[0], [1]]).repeat(1, 256))
    assert T.LargestConnectedComponents()(data).num_nodes == 2


def test_transforms_of_a_batch_are_a_batch() -> None:
    batch = Batch.from_data_list([tiny.path(), tiny.star()])
    out = T.Compose([T.ToUndirected(), T.ToSparseTensor("edge_attr")])(batch)
    assert isinstance(out, Batch)
    assert out.adj_t.sizes() == [8, 8, 1]
    parts = [T.Compose([T.ToUndirected(), T.ToSparseTensor("edge_attr")])(data) for data in (tiny.path(), tiny.star())]
    assert Batch.from_data_list(parts).adj_t == out.adj_t


@pytest.mark.parametrize("transform", [T.ToUndirected(), T.AddSelfLoops(), T.GCNNorm(), T.ToSparseTensor()], ids=repr)
def test_a_batch_whose_edges_moved_is_not_taken_apart(transform: T.BaseTransform) -> None:
    batch = Batch.from_data_list([tiny.path(), tiny.star()])
    with pytest.raises(RuntimeError, match="can't be taken apart"):
        transform(batch).to_data_list()
    assert_equal(batch.to_data_list(), [tiny.path(), tiny.star()])
    assert [data.x.size(1) for data in T.Constant()(batch).to_data_list()] == [3, 3]


# The register


def test_every_transform_has_a_name() -> None:
    classes = {getattr(T, name) for name in T.__all__ if isinstance(getattr(T, name), type)}
    assert set(TRANSFORMS.values()) == classes - {T.BaseTransform, T.Compose, T.ComposeFilters}


def test_a_name_is_given_once() -> None:
    class Own(T.BaseTransform):
        def forward(self, data: Any) -> Any:
            return data

    with pytest.raises(ValueError, match="name: expected one that is free, found 'constant', which is Constant's"):
        functional_transform("constant")(Own)
    assert TRANSFORMS["constant"] is T.Constant
    assert functional_transform("constant")(T.Constant) is T.Constant  # its module was read again
