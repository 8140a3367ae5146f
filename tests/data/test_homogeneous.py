"""From one type to many and back, held against PyG."""

from typing import Any

import pytest
import torch
from hypothesis import given
from torch import Tensor

from gnnlab.data import Data, HeteroData
from gnnlab.data.testing import assert_equal
from gnnlab.sparse import SparseTensor
from tests.strategies import DTYPES, hetero_graphs
from tests.tiny import no_edges, path, two_types

INFERRED = "ignore:Unable to accurately infer 'num_nodes'"


def pyg_data() -> Any:
    return pytest.importorskip("torch_geometric.data", reason="compares with torch_geometric")


def homogeneous(**attributes: Any) -> Data:
    """Four nodes, five edges, two node types and three edge types."""
    return Data(
        x=torch.arange(8).view(4, 2),
        edge_index=torch.tensor([[0, 1, 2, 3, 1], [1, 2, 3, 0, 1]]),
        edge_attr=torch.arange(5),
        z=torch.arange(4),
        y=torch.tensor([5, 6, 7]),
        name="graph",
        words=["a", "b", "c", "d"],
        **attributes,
    )


NODE_TYPE, EDGE_TYPE = torch.tensor([0, 1, 0, 1]), torch.tensor([0, 1, 0, 1, 2])


@pytest.mark.parametrize(
    ("attributes", "arguments"),
    [
        ({}, {}),
        ({}, {"node_type": NODE_TYPE, "edge_type": EDGE_TYPE}),
        ({"node_type": NODE_TYPE, "edge_type": EDGE_TYPE}, {}),
        ({"edge_type": EDGE_TYPE}, {}),
        ({"num_nodes": 4, "batch": torch.tensor([0, 0, 1, 1]), "ptr": torch.tensor([0, 2, 4])}, {}),
        (
            {"node_type": NODE_TYPE, "edge_type": EDGE_TYPE, "e_id": torch.arange(5)},
            {
                "node_type_names": ["a", "b"],
                "edge_type_names": [("a", "to", "b"), ("b", "to", "a"), ("b", "in", "b")],
            },
        ),
        ({"node_type": NODE_TYPE * 0}, {"node_type_names": ["a"]}),
        ({"node_type": NODE_TYPE * 0}, {"node_type_names": ["a", "none"]}),
    ],
)
def test_to_heterogeneous_as_in_pyg(attributes: Any, arguments: Any) -> None:
    ours = homogeneous(**attributes)
    theirs = pyg_data().Data.from_dict(ours.to_dict())
    found, expected = ours.to_heterogeneous(**arguments), theirs.to_heterogeneous(**arguments)
    assert_equal(found.to_dict(), expected.to_dict())
    assert found.metadata() == expected.metadata()


@pytest.mark.parametrize(
    "data",
    [
        Data(num_nodes=3, edge_index=torch.tensor([[0, 1], [1, 2]])),
        Data(x=torch.arange(3)),
        path(),
    ],
)
def test_a_graph_of_one_type_as_in_pyg(data: Data) -> None:
    theirs = pyg_data().Data.from_dict(data.to_dict()).to_heterogeneous()
    found = data.to_heterogeneous()
    assert_equal(found.to_dict(), theirs.to_dict())
    assert found.metadata() == theirs.metadata()


def test_a_graph_without_edges_keeps_its_edge_type() -> None:
    """In PyG the type is lost, and `edge_attr` becomes an attribute of the graph."""
    found = no_edges().to_heterogeneous()
    assert found.metadata() == (["0"], [("0", "0", "0")])
    assert list(found["0", "0", "0"].edge_attr.shape) == [0, 1]
    back = found.to_homogeneous(add_node_type=False, add_edge_type=False)
    assert_equal(back, no_edges())


def test_numbers_of_types_may_have_gaps() -> None:
    """PyG fails there."""
    data = homogeneous(node_type=NODE_TYPE * 2, edge_type=torch.tensor([0, 1, 0, 1, 4]))
    found = data.to_heterogeneous()
    types = (["0", "2"], [("0", "0", "2"), ("2", "1", "0"), ("2", "4", "2")])
    assert found.metadata() == types
    assert found["2", "4", "2"].edge_index.tolist() == [[0], [0]]


def test_a_type_without_nodes_is_empty() -> None:
    data = Data(x=torch.ones(2, 3), node_type=torch.tensor([0, 2]))
    found = data.to_heterogeneous(node_type_names=["a", "b", "c"])
    assert [store.num_nodes for store in found.node_stores] == [1, 0, 1]
    assert list(found["b"].x.shape) == [0, 3]


def test_types_know_their_number_of_nodes_whatever_attributes_they_have() -> None:
    found = Data(num_nodes=3, z=torch.arange(3)).to_heterogeneous(torch.tensor([0, 1, 1]))
    assert [store.num_nodes for store in found.node_stores] == [1, 2]
    assert found["1"].z.tolist() == [1, 2]


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"node_type": NODE_TYPE}, "single edge types span over multiple node types"),
        ({"node_type": NODE_TYPE[:3]}, r"'node_type' must be of shape \[4\], found \[3\]"),
        ({"edge_type": NODE_TYPE}, r"'edge_type' must be of shape \[5\], found \[4\]"),
        (
            {"node_type": NODE_TYPE, "edge_type": EDGE_TYPE, "node_type_names": ["a"]},
            r"'node_type' holds 1, but there are 1 names: \['a'\]",
        ),
        (
            {"edge_type": EDGE_TYPE, "edge_type_names": [("0", "a", "0")]},
            "'edge_type' holds 2, but there are 1 names",
        ),
        (
            {"edge_type_names": [("a", "to", "b")]},
            r"edges of type .* must not join nodes of the types \('0', '0'\)",
        ),
    ],
)
def test_to_heterogeneous_refuses(arguments: Any, text: str) -> None:
    with pytest.raises(ValueError, match=text):
        homogeneous().to_heterogeneous(**arguments)


@pytest.mark.filterwarnings(INFERRED)
def test_to_heterogeneous_needs_nodes_and_an_edge_index() -> None:
    with pytest.raises(ValueError, match="number of nodes is not known"):
        Data().to_heterogeneous()
    data = Data(x=torch.ones(3, 1), adj_t=adjacency())
    with pytest.raises(ValueError, match="edges of the graph are held in 'adj_t'"):
        data.to_heterogeneous()


def adjacency() -> SparseTensor:
    return SparseTensor(row=torch.tensor([0]), col=torch.tensor([1]), sparse_sizes=(3, 3))


# The other way -----------------------------------------------------------------------------------


def papers(cls: Any = HeteroData, **pairs: tuple[Any, Any]) -> Any:
    """Two papers and an author, with attributes (of papers, of authors)."""
    data = cls()
    data["paper"].x = torch.arange(4.0).view(2, 2)
    data["author"].x = torch.arange(2.0).view(1, 2)
    data["paper", "by", "author"].edge_index = torch.tensor([[0, 1], [0, 0]])
    data["author", "writes", "paper"].edge_index = torch.tensor([[0], [1]])
    for name, values in pairs.items():
        for node_type, value in zip(("paper", "author"), values, strict=True):
            if value is not None:
                data[node_type][name] = value
    return data


def check_against_pyg(make: Any, **arguments: Any) -> Data:
    pyg = pyg_data()
    found, expected = (make(cls).to_homogeneous(**arguments) for cls in (HeteroData, pyg.HeteroData))
    assert_equal(found.to_dict(), expected.to_dict())
    assert list(found.to_dict()) == list(expected.to_dict())
    assert found._node_type_names == expected._node_type_names
    assert found._edge_type_names == expected._edge_type_names
    return found


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("first", [True, False])
def test_missing_values_are_filled_as_in_pyg(dtype: torch.dtype, first: bool) -> None:
    value = torch.ones(2 if first else 1, 3).to(dtype)
    pairs = (value, None) if first else (None, value)
    check_against_pyg(lambda cls: papers(cls, f=pairs))
    without = check_against_pyg(lambda cls: papers(cls, f=pairs), dummy_values=False)
    assert "f" not in without


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [((2, 3), (1, 4)), ((2, 0), (1, 3)), ((2,), (1,)), ((2, 3, 2), (1, 3, 2))],
)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bool, torch.int64])
def test_shapes_are_joined_as_in_pyg(ours: Any, theirs: Any, dtype: torch.dtype) -> None:
    pairs = (torch.ones(ours).to(dtype), torch.ones(theirs).to(dtype))
    assert "f" in check_against_pyg(lambda cls: papers(cls, f=pairs))


@pytest.mark.parametrize(("ours", "theirs"), [((2, 3), (1,)), ((2, 3, 2), (1, 4, 2)), ((2, 3, 2), (1, 3, 1))])
def test_shapes_that_do_not_fit_are_left_out_as_in_pyg(ours: Any, theirs: Any) -> None:
    pairs = (torch.ones(ours), torch.ones(theirs))
    assert "f" not in check_against_pyg(lambda cls: papers(cls, f=pairs))
    with pytest.raises(ValueError, match="'f' has shapes that can't be joined"):
        papers(f=pairs).to_homogeneous(node_attrs=["f"])


def test_dtypes_are_promoted_as_in_pyg() -> None:
    check_against_pyg(lambda cls: papers(cls, f=(torch.ones(2), torch.ones(1).long())))


def rich(cls: Any) -> Any:
    data = papers(
        cls,
        y=(torch.tensor([1, 2]), None),
        train_mask=(torch.tensor([True, False]), None),
        batch=(torch.tensor([0, 1]), None),
        words=(["a", "b"], ["c"]),
    )
    data.name = "rich"
    data.target = torch.tensor([1, 2, 3])
    data["venue"].num_nodes = 3
    data["paper", "in", "venue"].edge_index = torch.tensor([[0, 1], [2, 0]])
    data["paper", "in", "venue"].edge_attr = torch.arange(2)
    data["author", "writes", "paper"].edge_attr = torch.tensor([7])
    data["paper", "by", "author"].edge_weight = torch.tensor([0.5, 0.25])
    data["paper", "by", "author"].e_id = torch.tensor([3, 4])
    return data


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"dummy_values": False},
        {"add_edge_type": False},
        {"node_attrs": ["x"], "edge_attrs": ["edge_attr"]},
        {"node_attrs": ["train_mask", "y"]},
        {"node_attrs": [], "edge_attrs": ["e_id"]},
    ],
)
def test_to_homogeneous_as_in_pyg(arguments: Any) -> None:
    check_against_pyg(rich, **arguments)


def test_without_features_as_in_pyg() -> None:
    def counted(cls: Any) -> Any:
        data = cls()
        data["a"].num_nodes, data["b"].num_nodes = 2, 3
        data["a", "b"].edge_index = torch.tensor([[0, 1], [2, 0]])
        return data

    found = check_against_pyg(counted)
    assert found.num_nodes == 5
    bare = counted(HeteroData).to_homogeneous(add_node_type=False)
    assert bare.num_nodes == 5  # PyG forgets it


def test_without_edges_as_in_pyg() -> None:
    def lonely(cls: Any) -> Any:
        data = cls()
        data["a"].x, data["b"].x = torch.ones(2, 1), torch.ones(1, 1)
        return data

    check_against_pyg(lonely)


def test_sparse_features_are_shared_out_and_joined() -> None:
    features = SparseTensor(row=torch.tensor([0, 1, 3]), col=torch.tensor([1, 0, 1]), sparse_sizes=(4, 2))
    data = homogeneous(node_type=NODE_TYPE, edge_type=EDGE_TYPE).update({"f": features})
    found = data.to_heterogeneous()
    assert found["0"].f.to_dense().tolist() == [[0, 1], [0, 0]]
    assert found["1"].f.to_dense().tolist() == [[1, 0], [0, 1]]
    joined = found.to_homogeneous().f
    assert joined.to_dense().tolist() == [[0, 1], [0, 0], [1, 0], [0, 1]]
    del found["1"]["f"]
    assert "f" not in found.to_homogeneous()
    with pytest.raises(ValueError, match="'f' is sparse, so all types must have it"):
        found.to_homogeneous(node_attrs=["f"])


def test_labels_of_edges_keep_to_their_edges() -> None:
    def labelled(cls: Any) -> Any:
        data = papers(cls)
        data["paper", "by", "author"].edge_label_index = torch.tensor([[0], [0]])
        data["paper", "by", "author"].edge_label = torch.tensor([1.0])
        data["author", "writes", "paper"].edge_label_index = torch.tensor([[0], [1]])
        data["author", "writes", "paper"].edge_label = torch.tensor([0.0])
        return data

    check_against_pyg(labelled)
    one = labelled(HeteroData)
    del one["writes"]["edge_label"]
    with pytest.raises(ValueError, match="'edge_label' is missing in some of the edge types"):
        one.to_homogeneous()
    del one["writes"]["edge_label_index"]
    found = one.to_homogeneous()
    assert found.edge_label.tolist() == [1.0]
    assert found.edge_label_index.tolist() == [[0], [2]]
    del one["by"]["edge_label"]
    assert "edge_label" not in one.to_homogeneous()


def test_values_that_do_not_belong_to_nodes_are_left_out() -> None:
    data = papers(f=(torch.ones(5, 3), torch.ones(1, 3)), n=(1, 2), s=(torch.tensor(1),) * 2)
    found = data.to_homogeneous()
    assert not {"f", "n", "s"} & set(found.keys())
    with pytest.raises(ValueError, match="'f' of type 'paper' is no tensor with one entry a node"):
        data.to_homogeneous(node_attrs=["f"])


def test_a_named_attribute_must_exist() -> None:
    with pytest.raises(KeyError, match="'nope' is missing in the types"):
        papers().to_homogeneous(node_attrs=["nope"])
    with pytest.raises(KeyError, match="'nope' is missing in the types"):
        papers().to_homogeneous(edge_attrs=["nope"])
    data = papers(f=(torch.ones(2), None))
    with pytest.raises(KeyError, match=r"'f' is missing in the types \['author'\]"):
        data.to_homogeneous(node_attrs=["f"], dummy_values=False)


def test_two_attributes_of_one_name_are_refused() -> None:
    data = papers(time=(torch.tensor([1, 2]), torch.tensor([3])))
    data["by"].time = torch.tensor([4, 5])
    with pytest.raises(ValueError, match="'time' is the name of more than one attribute"):
        data.to_homogeneous()
    assert data.to_homogeneous(edge_attrs=[]).time.tolist() == [1, 2, 3]
    assert data.to_homogeneous(node_attrs=["x"]).time.tolist() == [4, 5, -1]


def test_missing_node_types_and_sparse_edges_are_refused() -> None:
    data = papers()
    data["paper", "in", "venue"].edge_index = torch.tensor([[0], [0]])
    with pytest.raises(ValueError, match=r"node type 'venue' of edge type .* is missing"):
        data.to_homogeneous()
    data = papers()
    data["paper", "cites", "paper"].adj_t = adjacency()
    with pytest.raises(ValueError, match=r"'cites', 'paper'.* are held in 'adj_t'"):
        data.to_homogeneous()


@pytest.mark.filterwarnings(INFERRED)
def test_an_unknown_number_of_nodes_is_refused() -> None:
    data = papers()
    data["venue"].name = "somewhere"
    with pytest.raises(ValueError, match="number of nodes of type 'venue' is not known"):
        data.to_homogeneous()


def test_an_empty_graph_is_empty() -> None:
    found = HeteroData().to_homogeneous()
    assert found.num_nodes == 0
    assert "edge_index" not in found


def test_there_and_back() -> None:
    data = two_types()
    data["author"].x = torch.arange(4.0).view(2, 2)
    data["author"].y = torch.tensor([1, 1])
    data["cites"].edge_attr = torch.tensor([[9.0]])
    data.name = "tiny"
    assert_equal(data.to_homogeneous().to_heterogeneous(), data)
    back = path().to_heterogeneous().to_homogeneous(add_node_type=False, add_edge_type=False)
    assert_equal(back, path())


@given(hetero_graphs())
def test_there_and_back_keeps_every_edge_and_every_joined_value(data: HeteroData) -> None:
    found = data.to_homogeneous(edge_attrs=[])
    assert found.num_nodes == data.num_nodes
    assert found.num_edges == data.num_edges
    back = found.to_heterogeneous()
    assert back.node_types == list(data.node_types)
    for edge_type, store in data.edge_items():
        assert_equal(back[edge_type].edge_index, store.edge_index)
    for node_type, store in data.node_items():
        assert back[node_type].num_nodes == store.num_nodes
        for key in set(store.node_attrs()) & set(back[node_type].keys()):
            value, other = store[key], back[node_type][key]
            assert isinstance(other, Tensor)
            cut = other[:, : value.size(1)] if value.dim() == 2 else other
            assert_equal(cut.detach(), value.to(other.dtype))
