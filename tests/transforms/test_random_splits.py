"""`RandomNodeSplit` and `RandomLinkSplit`: who goes where, how many, and that nothing leaks."""

import warnings
from typing import Any

import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st
from torch import Tensor

from gnnlab import transforms as T
from gnnlab.data import Data, HeteroData
from tests import tiny


def labelled(num_nodes: int, num_classes: int, seed: int = 0) -> Data:
    generator = torch.Generator().manual_seed(seed)
    return Data(x=torch.ones(num_nodes, 1), y=torch.randint(num_classes, (num_nodes,), generator=generator))


@given(
    st.sampled_from(["train_rest", "test_rest", "random"]),
    st.integers(1, 30),
    st.integers(1, 3),
    st.floats(0, 0.5),
    st.floats(0, 0.5),
    st.integers(0, 4),
)
def test_masks_are_disjoint_and_as_large_as_asked(
    split: Any, num_nodes: int, num_splits: int, num_val: float, num_test: float, per_class: int
) -> None:
    data = labelled(num_nodes, 3)
    out = T.RandomNodeSplit(split, num_splits, per_class, num_val, num_test)(data)
    train, val, test = (out[f"{name}_mask"].view(num_nodes, num_splits) for name in ("train", "val", "test"))
    assert out.train_mask.dim() == (1 if num_splits == 1 else 2)
    total = train.long() + val.long() + test.long()
    assert int(total.max()) <= 1
    for column in range(num_splits):
        trains, left = int(train[:, column].sum()), num_nodes - int(train[:, column].sum())
        if split != "train_rest":
            of_class = torch.bincount(data.y[train[:, column]], minlength=3)
            assert torch.equal(of_class, torch.bincount(data.y, minlength=3).clamp(max=per_class))
            assert int(val[:, column].sum()) == min(round(num_val * num_nodes), left)
        if split == "random":
            rest = left - int(val[:, column].sum())
            assert int(test[:, column].sum()) == min(round(num_test * num_nodes), rest)
        else:
            assert bool((total[:, column] == 1).all())
        if split == "train_rest":
            assert int(val[:, column].sum()) == round(num_val * num_nodes)
            assert trains + int(val[:, column].sum()) + int(test[:, column].sum()) == num_nodes


def test_a_generator_repeats_and_leaves_torch_s_own_alone() -> None:
    def masks(seed: int) -> Tensor:
        out = T.RandomNodeSplit(num_val=5, num_test=5, generator=torch.Generator().manual_seed(seed))(labelled(30, 2))
        return torch.stack([out.train_mask, out.val_mask, out.test_mask])

    state = torch.get_rng_state()
    assert torch.equal(masks(3), masks(3))
    assert not torch.equal(masks(3), masks(4))

    def links(seed: int) -> Tensor:
        split = T.RandomLinkSplit(generator=torch.Generator().manual_seed(seed))(ring(30))
        return torch.cat([part.edge_label_index for part in split], dim=1)

    assert torch.equal(links(3), links(3))
    assert not torch.equal(links(3), links(4))
    assert torch.equal(torch.get_rng_state(), state)


def test_types_without_classes_are_left_alone() -> None:
    out = T.RandomNodeSplit(num_val=1, num_test=1)(tiny.two_types())
    assert out["paper"].train_mask.sum() == out["paper"].val_mask.sum() == out["paper"].test_mask.sum() == 1
    assert "train_mask" not in out["author"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"split": "half"}, r"split: expected one of .*, found 'half'"),
        ({"num_splits": 0}, "num_splits: expected a number from 1, found 0"),
        ({"num_train_per_class": -1}, "num_train_per_class: expected a number of nodes, found -1"),
        ({"num_val": -1}, "num_val: expected a number of nodes from 0"),
        ({"num_test": 1.5}, r"num_test: .*a float in \[0, 1\], found 1.5"),
        ({"num_val": 0.75, "num_test": 0.5}, "num_test: expected at most 0.25 beside num_val=0.75, found 0.5"),
        ({"split": "random", "key": None}, "key: expected the name of the classes for split='random'"),
        ({"num_val": 31, "num_test": 0}, "num_val: expected at most 30, .* found 31"),
        ({"num_val": 20, "num_test": 11}, "num_test: expected at most 10, as many as are left of 30 nodes, found 11"),
        ({"split": "random", "num_val": 0}, "num_test: expected at most 0"),
        ({"key": "no"}, "key: .* found 'no', which none has"),
        ({"split": "random", "key": "x"}, "x: expected an integer dtype"),
        ({"split": "random", "key": "two"}, "two: expected the class of each of 30 nodes, found 2"),
    ],
)
def test_what_can_t_be_split_is_refused_by_name(arguments: dict[str, Any], message: str) -> None:
    data = labelled(30, 2)
    data.two = torch.tensor([0, 1])
    with pytest.raises(ValueError, match=message):
        T.RandomNodeSplit(**arguments)(data)


# Links


def ring(num_nodes: int, directed: bool = True) -> Data:
    """Each node to the next one."""
    nodes = torch.arange(num_nodes)
    edges = torch.stack([nodes, (nodes + 1) % num_nodes])
    edges = edges if directed else torch.cat([edges, edges.flip(0)], dim=1)
    number = torch.arange(num_nodes) if directed else torch.arange(num_nodes).repeat(2)
    return Data(x=torch.ones(num_nodes, 1), edge_index=edges, edge_attr=number)


def pairs(edge_index: Tensor) -> list[tuple[int, int]]:
    return [(int(source), int(target)) for source, target in edge_index.t()]


@st.composite
def edges_among(draw: st.DrawFn, max_nodes: int = 8) -> tuple[int, Tensor]:
    """A number of nodes, and three or more different edges among them, in some order."""
    num_nodes = draw(st.integers(3, max_nodes))
    all_pairs = [(i, j) for i in range(num_nodes) for j in range(num_nodes)]
    return num_nodes, torch.tensor(draw(st.lists(st.sampled_from(all_pairs), min_size=3, unique=True))).t()


@given(edges_among(), st.integers(0, 1), st.integers(0, 1), st.sampled_from([0.0, 0.5, 1.0, 2.0]), st.booleans())
def test_every_edge_is_in_one_split_and_negatives_are_no_edges(
    edges: tuple[int, Tensor], num_val: int, num_test: int, ratio: float, train_negatives: bool
) -> None:
    num_nodes, edge_index = edges
    data = Data(num_nodes=num_nodes, edge_index=edge_index, e_id=torch.arange(edge_index.size(1)))
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "num_neg_samples: there are not that many pairs", UserWarning)
        splits = T.RandomLinkSplit(
            num_val, num_test, neg_sampling_ratio=ratio, add_negative_train_samples=train_negatives
        )(data)

    positive, negative = [], []
    for split, count in zip(splits, (edge_index.size(1) - num_val - num_test, num_val, num_test), strict=True):
        asked, label = split.edge_label_index, split.edge_label
        assert int(label.sum()) == count
        assert torch.equal(edge_index[:, split.e_id], split.edge_index)
        positive += pairs(asked[:, label == 1])
        negative += pairs(asked[:, label == 0])
        wanted = int(ratio * count) if train_negatives or split is not splits[0] else 0
        assert int((label == 0).sum()) <= wanted
        assert {key for key in data.keys() if key not in ("edge_index", "e_id")} < set(split.keys())  # noqa: SIM118
    assert sorted(positive) == sorted(pairs(edge_index))
    assert len(set(negative)) == len(negative)
    assert not set(negative) & set(positive)
    assert all(source != target for source, target in negative)

    train, val, test = splits
    assert pairs(train.edge_index) == pairs(val.edge_index) == pairs(train.edge_label_index[:, train.edge_label == 1])
    assert pairs(test.edge_index) == pairs(train.edge_index) + pairs(val.edge_label_index[:, val.edge_label == 1])


@given(edges_among(), st.integers(0, 1), st.sampled_from([0.0, 1.0]), st.sampled_from([0, 0.5]))
def test_no_reverse_edge_leaks(edges: tuple[int, Tensor], num_val: int, ratio: float, disjoint: float) -> None:
    num_nodes, edge_index = edges
    data = T.ToUndirected()(Data(num_nodes=num_nodes, edge_index=edge_index))
    data.edge_attr = data.edge_index.sort(dim=0).values.t()  # the same in both directions
    half = int((data.edge_index[0] <= data.edge_index[1]).sum())
    assume(half >= 3)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "num_neg_samples: there are not that many pairs", UserWarning)
        splits = T.RandomLinkSplit(
            num_val, 1, is_undirected=True, neg_sampling_ratio=ratio, disjoint_train_ratio=disjoint
        )(data)
    asked = [pairs(split.edge_label_index[:, split.edge_label == 1]) for split in splits]
    for split in splits:
        assert split.is_undirected()
        assert torch.equal(split.edge_index.sort(dim=0).values.t(), split.edge_attr)
        assert len(set(pairs(split.edge_index))) == split.num_edges  # no loop twice
        assert bool((split.edge_label_index[0] <= split.edge_label_index[1]).all())
    train, val, test = (set(pairs(split.edge_index)) for split in splits)
    assert not set(asked[1]) & (train | val)
    assert not set(asked[2]) & test
    apart = int(disjoint * (half - num_val - 1)) > 0
    assert not set(asked[0]) & train if apart else set(asked[0]) <= train
    assert len(val) + 2 * len(set(asked[1]) | set(asked[2])) >= data.num_edges
    negative = [pair for split in splits for pair in pairs(split.edge_label_index[:, split.edge_label == 0])]
    assert len(set(negative)) == len(negative)
    assert not set(negative) & set(pairs(data.edge_index))


def test_labels_of_edges() -> None:
    data = ring(10)
    data.edge_label = torch.arange(10) % 3
    for split in T.RandomLinkSplit(2, 2)(data):
        source, target = split.edge_label_index
        is_edge = target == (source + 1) % 10
        assert torch.equal(split.edge_label, torch.where(is_edge, source % 3 + 1, 0))
    for split in T.RandomLinkSplit(2, 2, neg_sampling_ratio=0)(data):
        assert torch.equal(split.edge_label, split.edge_label_index[0] % 3)
    data.edge_label = torch.arange(20).view(10, 2)
    assert all(split.edge_label.shape[1:] == (2,) for split in T.RandomLinkSplit(2, 2)(data))


def test_split_labels_stand_apart() -> None:
    train, val, test = T.RandomLinkSplit(2, 2, split_labels=True, add_negative_train_samples=False)(ring(10))
    names = {"pos_edge_label", "pos_edge_label_index", "neg_edge_label", "neg_edge_label_index"}
    assert names & set(train.keys()) == {"pos_edge_label", "pos_edge_label_index"}
    for split in (val, test):
        assert names <= set(split.keys())
        assert "edge_label" not in split
        assert split.pos_edge_label.tolist() == [1, 1]
        assert split.neg_edge_label.tolist() == [0, 0]


def test_attributes_of_edges_follow_even_lists() -> None:
    data = ring(10)
    data.edge_words = [f"word{number}" for number in range(10)]
    data.num_edges = 10
    for split in T.RandomLinkSplit(2, 3, neg_sampling_ratio=0)(data):
        assert split.edge_words == [f"word{number}" for number in split.edge_attr.tolist()]
        assert split.edge_attr.tolist() == split.edge_index[0].tolist()
        assert split.num_edges == split.edge_index.size(1)
    assert data.num_edges == len(data.edge_words) == 10


def bipartite() -> HeteroData:
    data = HeteroData()
    data["a"].num_nodes, data["p"].num_nodes = 5, 6
    edges = torch.tensor([[0, 1, 2, 3, 4, 0, 1, 2], [0, 1, 2, 3, 4, 5, 0, 1]])
    data["a", "w", "p"].edge_index, data["a", "w", "p"].edge_attr = edges, torch.arange(8)
    order = torch.tensor([3, 1, 0, 2, 7, 6, 5, 4])
    data["p", "rev", "a"].edge_index, data["p", "rev", "a"].edge_attr = edges.flip(0)[:, order], order
    data["p", "rev", "a"].only_here, data["p", "rev", "a"].edge_label = torch.arange(8), torch.ones(8)
    return data


def test_reverses_of_another_type_are_left_out_with_their_edges() -> None:
    types = {"edge_types": [("a", "w", "p")], "rev_edge_types": [("p", "rev", "a")]}
    splits = T.RandomLinkSplit(2, 2, is_undirected=True, **types)(bipartite())
    for split in splits:
        there, back = split["a", "w", "p"], split["p", "rev", "a"]
        assert torch.equal(there.edge_index.flip(0), back.edge_index)
        assert torch.equal(there.edge_attr, back.edge_attr)
        assert "only_here" not in back
        assert "edge_label" not in back
        negative = pairs(there.edge_label_index[:, there.edge_label == 0])
        assert not set(negative) & set(pairs(bipartite()["a", "w", "p"].edge_index))
    assert [split["w"].num_edges for split in splits] == [4, 4, 6]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"num_val": -1}, "num_val: expected a number of edges from 0"),
        ({"num_test": 1.5}, "num_test: .* found 1.5"),
        ({"disjoint_train_ratio": -0.5}, "disjoint_train_ratio: .* found -0.5"),
        ({"neg_sampling_ratio": -1}, "neg_sampling_ratio: expected a number from 0, found -1"),
        ({"num_val": 8, "num_test": 3}, "num_val, num_test, .* leave some of 10 edges .* found 8, 3 and 0 edges"),
        ({"num_val": 1, "num_test": 1, "disjoint_train_ratio": 8}, "found 1, 1 and 8 edges"),
        ({"is_undirected": True}, "is_undirected: expected every edge to have its reverse"),
        ({"key": "edge_attr", "data": {"edge_attr": torch.rand(10)}}, "edge_attr: expected an integer dtype"),
        ({"data": {"edge_label": [1] * 10}}, r"edge_label: expected a tensor \[num_edges, ...\] of labels, found list"),
        ({"data": {"edge_index": None}}, "RandomLinkSplit expects a graph with 'edge_index', found none"),
        ({"data": {"edge_index": torch.ones(2, 10)}}, "edge_index: expected an integer dtype"),
        ({"key": "edge_attr", "data": {"edge_attr": torch.ones(3)}}, "edge_attr: expected one row for each of 10"),
        ({"data": {"edge_label_index": torch.zeros(2, 3).long()}}, "not split yet, found 'edge_label_index'"),
    ],
)
def test_bad_arguments_are_refused_by_name(arguments: dict[str, Any], message: str) -> None:
    data = ring(10).update(arguments.pop("data", {}))
    with pytest.raises(ValueError, match=message):
        T.RandomLinkSplit(**arguments)(data)


A, B = ("a", "w", "p"), ("p", "rev", "a")


@pytest.mark.parametrize(
    ("types", "message"),
    [
        ((None, None), "edge_types: expected some of .* for a HeteroData, found none"),
        (([A, B], [B]), "rev_edge_types: expected one for each of"),
        ((A, A), "holds its own reverses, which needs is_undirected=True"),
        ((("a", "no", "p"), None), r"edge_types: .* found \('a', 'no', 'p'\)"),
        ((A, ("a", "no", "p")), r"rev_edge_types: .* found \('a', 'no', 'p'\)"),
        ((A, ("p", "c", "p")), r"rev_edge_types: expected the reverses of .* found other edges in \('p', 'c', 'p'\)"),
    ],
)
def test_types_that_don_t_fit_are_refused(types: tuple[Any, Any], message: str) -> None:
    data = bipartite()
    data["p", "c", "p"].edge_index = torch.tensor([[0, 1], [1, 0]])
    before = data.edge_types
    with pytest.raises(ValueError, match=message):
        T.RandomLinkSplit(2, 2, edge_types=types[0], rev_edge_types=types[1])(data)
    assert data.edge_types == before


def test_pairs_are_not_drawn_among_an_unknown_number_of_nodes() -> None:
    data = bipartite()
    del data["a"].num_nodes
    data["a"].own = 1
    with (
        pytest.warns(UserWarning, match="Unable to accurately infer 'num_nodes'"),
        pytest.raises(ValueError, match="can't draw pairs of nodes, since their number is unknown"),
    ):
        T.RandomLinkSplit(2, 2, edge_types=A)(data)


def test_too_few_pairs_without_an_edge_are_told() -> None:
    data = tiny.path()
    with pytest.warns(UserWarning, match="there are not that many pairs without an edge"):
        train, val, test = T.RandomLinkSplit(1, 1)(data)
    assert [int((split.edge_label == 0).sum()) for split in (train, val, test)] == [0, 1, 1]


def test_an_undirected_type_may_be_named_as_its_own_reverse() -> None:
    data = HeteroData()
    data["p"].num_nodes = 7
    data["p", "c", "p"].edge_index = ring(7, directed=False).edge_index
    kind = ("p", "c", "p")
    train, _, test = T.RandomLinkSplit(1, 1, True, neg_sampling_ratio=0, edge_types=kind, rev_edge_types=kind)(data)
    assert (train.num_edges, test.num_edges) == (10, 12)
    assert test.is_undirected()
