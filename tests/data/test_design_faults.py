"""Faults of PyG 2.8's that must not be here: one test each, by its number in the design (section 5)."""

import copy
import io
import pickle

import numpy as np
import pytest
import torch

from gnnlab.data import Batch, Data, Dataset, HeteroData, InMemoryDataset
from gnnlab.data.testing import assert_equal
from gnnlab.sparse import SparseTensor, from_parts


class Held(InMemoryDataset):
    """A dataset of graphs that are there already."""

    def __init__(self, graphs):
        super().__init__(None)
        self.data, self.slices = self.collate(graphs)


class Saved(InMemoryDataset):
    """A dataset that has been to a file and back."""

    def __init__(self, graphs, path, **kwargs):
        super().__init__(None)
        self.save(graphs, str(path))
        self.load(str(path), **kwargs)


def sizes(thing):
    """Bytes of `thing` pickled, saved, and pickled again from a deep copy."""
    buffer = io.BytesIO()
    torch.save(thing, buffer)
    return len(pickle.dumps(thing)), buffer.tell(), len(pickle.dumps(copy.deepcopy(thing)))


# 2 -------------------------------------------------------------------------------------------------------------------


def towns(present):
    """One graph for every letter sequence in `present`: which of the types a, b and the edges between them it has."""
    graphs = []
    for i, types in enumerate(present):
        graph = HeteroData()
        graph.year = torch.tensor([1900 + i])
        if "a" in types:
            graph["a"].x = torch.arange(100.0 * i, 100.0 * i + i + 1).view(-1, 1)
        if "b" in types:
            graph["b"].pos = torch.arange(100.0 * i, 100.0 * i + 2 * i + 2).view(-1, 2)
        if "e" in types:
            graph["a", "to", "b"].edge_index = torch.tensor([[i, 0], [0, i]])
            graph["a", "to", "b"].w = torch.tensor([i, -i])
        graphs.append(graph)
    return graphs


@pytest.mark.parametrize("present", [["b", "ab", "abe", "", "a", "abe"], ["abe", "", "abe"], ["", "", "abe", "b"]])
@pytest.mark.parametrize("make", ["list", "stream", "graphs.pt", "graphs"])
def test_2_a_missing_type_never_shifts_another_graphs_data(tmp_path, present, make):
    graphs = towns(present)
    dataset = Saved(graphs, tmp_path / make) if "graphs" in make else Held(graphs if make == "list" else iter(graphs))
    for order in (range(len(graphs)), [2, 0, 1], [2, 2], [0]):
        expected = [graphs[i] for i in order]
        for graph, found in zip(expected, dataset[list(order)], strict=True):
            assert_equal(found, graph)
        for batch in (dataset.batch(order), dataset.batch(order, vectorised=False), Batch.from_data_list(expected)):
            for graph, found in zip(expected, batch.to_data_list(), strict=True):
                assert_equal(found, graph)
            if "b" in batch.node_types:  # every node is counted for its own graph, empty slots for none
                counts = [len(graph["b"].pos) if "b" in graph.node_types else 0 for graph in expected]
                assert batch["b"].ptr.diff().tolist() == counts
                assert batch["b"].batch.bincount(minlength=len(expected)).tolist() == counts


# 4 -------------------------------------------------------------------------------------------------------------------


def rich(i):
    graph = HeteroData()
    graph.note = f"graph {i % 10}"
    graph["a"].x = torch.full((20, 8), float(i))
    graph["a"].parts = [torch.full((20,), i), {"deep": torch.full((20,), i)}]
    graph["a", "to", "a"].adj_t = SparseTensor.eye(20)
    graph["a", "to", "a"].edge_index = torch.arange(20).repeat(2, 1)
    return graph


def plain(i):
    return Data(
        x=torch.full((20, 8), float(i)),
        meta={"rows": torch.full((20,), i), "pair": (torch.full((20,), i), torch.ones(3))},
        adj=torch.eye(20).to_sparse_coo(),
    )


@pytest.mark.parametrize("make", [plain, rich])
@pytest.mark.parametrize("part", [slice(None), slice(10, 20), [3, 3, 1]])
def test_4_a_visited_dataset_is_no_larger_than_a_fresh_one(make, part):
    graphs = [make(i) for i in range(100)]
    fresh = sizes(Held(graphs)[part])
    dataset = Held(graphs)
    chosen = dataset[part]
    for visited in (dataset, chosen):
        for _ in range(2):
            assert len(list(visited)) == len(visited)
            visited.batch([0, 1, 2], vectorised=False)
            assert visited._data_list[3] is not None
    assert chosen.cache_info().graphs > 0
    assert sizes(chosen) == fresh


@pytest.mark.parametrize("make", [plain, rich])
def test_4_one_graph_takes_only_its_own_bytes(make):
    graphs = [make(i) for i in range(100)]
    alone = sizes(make(5))
    dataset = Held(graphs)
    for graph in (dataset[5], Batch.from_data_list(graphs)[5], dataset.batch([4, 5])[1], copy.copy(dataset[5])):
        for found, least in zip(sizes(graph), alone, strict=True):
            assert found <= least + 1024
    for found, least in zip(sizes(dataset.batch([4, 5])), sizes(Batch.from_data_list(graphs[4:6])), strict=True):
        assert found <= least + 1024


# 5 -------------------------------------------------------------------------------------------------------------------


class Squares(Dataset):
    """A dataset that makes its graphs."""

    def len(self):
        return 6

    def get(self, idx):
        return Data(y=torch.tensor([idx]), num_nodes=1)


def squares():
    return Squares()


def held_squares():
    return Held([Squares().get(i) for i in range(6)])


def batched_squares():
    return Batch.from_data_list(list(Squares()))


MASK = [True, False, False, True, False, True]
INTEGERS = ["uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64"]


@pytest.mark.parametrize("make", [squares, held_squares, batched_squares])
def test_5_what_selects_graphs(make):
    def chosen(idx):
        return [int(graph.y) for graph in make()[idx]]

    for mask in (MASK, tuple(MASK), np.array(MASK), torch.tensor(MASK), [np.True_ if m else np.False_ for m in MASK]):
        assert chosen(mask) == [0, 3, 5]
    for mask in (MASK[:5], [*MASK, True], [True], torch.tensor(MASK[:5]), np.array([*MASK, False])):
        with pytest.raises(IndexError, match="mask"):
            make()[mask]
    for dtype in INTEGERS:
        assert chosen(torch.tensor([5, 0, 5]).to(getattr(torch, dtype))) == [5, 0, 5]
        assert chosen(np.array([5, 0, 5], dtype=dtype)) == [5, 0, 5]
        assert int(make()[np.dtype(dtype).type(4)].y) == 4
        assert int(make()[torch.tensor(4).to(getattr(torch, dtype))].y) == 4
    for nothing in ([], (), torch.tensor([], dtype=torch.long), torch.tensor([]), np.array([]), slice(3, 3), range(0)):
        assert chosen(nothing) == []
    assert chosen([False] * 6) == []
    assert chosen([-1, np.int8(0), torch.tensor(2)]) == [5, 0, 2]
    for wrong in ([6], [-7], torch.tensor([200], dtype=torch.uint8), [0.5], torch.tensor([1.0]), "ab", {1}, None):
        with pytest.raises((IndexError, TypeError, KeyError)):
            make()[wrong]


# 6 -------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("at", [0, 3, 5])
@pytest.mark.parametrize("value", [torch.ones(2, 3), 0.5, "text", {"a": torch.ones(2)}, [torch.ones(2)], None])
@pytest.mark.parametrize("make", ["list", "stream", "graphs.pt", "graphs"])
def test_6_an_attribute_of_some_graphs_is_kept_or_refused_by_name(tmp_path, at, value, make):
    graphs = [Data(x=torch.ones(2, 1), mine=None) for _ in range(6)]
    graphs[at].mine = value
    dataset = Saved(graphs, tmp_path / make) if "graphs" in make else Held(graphs if make == "list" else iter(graphs))
    for graph, found in zip(graphs, dataset, strict=True):
        assert_equal(found, graph, normalised=True)
    missing = 1 if at == 0 else 0
    for vectorised in (True, False):
        if value is not None:
            message = rf"attribute 'mine' is missing in graph {missing} but set in graph {at}"
            with pytest.raises(ValueError, match=message):
                dataset.batch(range(6), vectorised=vectorised)
        without = dataset.batch(range(6), exclude_keys=["mine"], vectorised=vectorised)
        assert "mine" not in without
        same = dataset.batch([at, at], vectorised=vectorised)
        assert_equal(same[1], graphs[at], normalised=True)


# 10 ------------------------------------------------------------------------------------------------------------------


def matrix(layout, rows, cols, seed):
    """Entries in every order that the layout knows, some of them zero, some rows empty."""
    rng = np.random.default_rng(seed)
    dense = torch.from_numpy(rng.integers(1, 9, (rows, cols)) * rng.integers(0, 2, (rows, cols))).float()
    if layout == "SparseTensor":
        return SparseTensor.from_dense(dense)
    if layout == "SparseTensor without values":
        return SparseTensor.from_dense(dense).set_value(None)
    if layout == "coo":
        found = dense.to_sparse_coo()
        return torch.sparse_coo_tensor(
            found.indices().flip(1), found.values().flip(0), (rows, cols), check_invariants=True
        )
    by_row = dense if layout == "csr" else dense.t()
    outer, inner = by_row.nonzero(as_tuple=True)
    pointer = torch.cat([torch.zeros(1).long(), torch.bincount(outer, minlength=len(by_row)).cumsum(0)])
    parts = {"ptr": pointer, "index": inner, "values": by_row[outer, inner]}
    return from_parts({"kind": layout, "sizes": [rows, cols]}, parts)


LAYOUTS = ["coo", "csr", "csc", "SparseTensor", "SparseTensor without values"]


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("make", ["batch", "list", "stream"])
def test_10_batching_a_sparse_attribute_can_be_undone(layout, make):
    counts = [3, 1, 4, 0, 2]
    graphs = [
        Data(
            num_nodes=n,
            adj_t=matrix(layout, n, n, seed=n),  # on the diagonal
            features=matrix(layout, n, 5, seed=10 + n),  # one below the other
            meta={"adj": matrix(layout, n, n + 2, seed=20 + n)},
            parts=[matrix(layout, n + 1, 3, seed=30 + n)],
        )
        for n in counts
    ]
    if make == "batch":
        batch = Batch.from_data_list(graphs)
        assert tuple(batch.adj_t.size(dim) for dim in (0, 1)) == (10, 10)
        assert tuple(batch.features.size(dim) for dim in (0, 1)) == (10, 5)
        found = batch.to_data_list()
    else:
        found = list(Held(graphs if make == "list" else iter(graphs)))
    for graph, other in zip(graphs, found, strict=True):
        assert_equal(other, graph)


# 11 ------------------------------------------------------------------------------------------------------------------


def test_11_as_many_edges_as_nodes_leave_edge_attributes_of_edges():
    ring = Data(
        x=torch.arange(4.0).view(4, 1),
        edge_index=torch.tensor([[0, 1, 2, 3], [1, 2, 3, 0]]),
        edge_attr=torch.arange(4.0).view(4, 1),
        edge_weight=torch.arange(4.0),
        y=torch.arange(4),
    )
    assert ring.num_nodes == ring.num_edges
    for graph in (ring, Held([ring, ring])[1], Batch.from_data_list([ring])):
        assert {"edge_index", "edge_attr", "edge_weight"} <= set(graph.edge_attrs())
        assert {"x", "y"} <= set(graph.node_attrs())
        assert not {"edge_index", "edge_attr", "edge_weight"} & set(graph.node_attrs())
        assert not {"x", "y"} & set(graph.edge_attrs())
    half = ring.subgraph(torch.tensor([0, 1, 2]))
    assert half.edge_weight.tolist() == [0.0, 1.0]
    assert half.y.tolist() == [0, 1, 2]
    two = ring.edge_subgraph(torch.tensor([3]))
    assert two.edge_attr.tolist() == [[3.0]]
    assert two.x.shape == (4, 1)
    turned = Data(**{**ring.to_dict(), "edge_index": ring.edge_index.flip(1)}).sort()
    assert turned.edge_weight.tolist() == [3.0, 2.0, 1.0, 0.0]
    assert turned.x.flatten().tolist() == [0.0, 1.0, 2.0, 3.0]


# 13 ------------------------------------------------------------------------------------------------------------------


def test_13_no_property_read_leaves_anything_in_the_cache():
    dataset = Held([Data(x=torch.ones(2, 3), edge_attr=torch.ones(1, 2), y=i) for i in range(5)])
    for chosen in (dataset, dataset[1:4]):
        for name in sorted(dir(type(dataset))):
            if isinstance(getattr(type(dataset), name), property) and name != "data":
                try:
                    getattr(chosen, name)
                except (NotImplementedError, ValueError):  # file names, which this dataset has none of
                    continue
        chosen.get_summary()
        chosen.print_summary()
        chosen.batch_path()
        chosen.indices()
        for show in (repr, str, len, bool):
            show(chosen)
        chosen._repr_html_()
    info = dataset.cache_info()
    assert (info.graphs, info.hits, info.misses) == (0, 0, 0)


def replace_x(dataset):
    dataset._data.x = dataset._data.x + 10


def write_into_x(dataset):
    dataset._data.x.add_(10)


def replace_data(dataset):
    dataset.data = copy.copy(dataset._data)
    replace_x(dataset)


def replace_private_data(dataset):
    joined = copy.copy(dataset._data)
    joined.x = joined.x + 10
    dataset._data = joined


def apply_to_data(dataset):
    dataset._data.apply(lambda x: x + 10 if x.is_floating_point() else x)


def write_through_a_graph(dataset):
    for graph in dataset:
        graph.x.add_(10)


@pytest.mark.parametrize(
    "edit", [replace_x, write_into_x, replace_data, replace_private_data, apply_to_data, write_through_a_graph]
)
@pytest.mark.parametrize("cache", ["all", None, 10_000])
def test_13_writing_stored_data_leaves_no_stale_graph(edit, cache):
    dataset = Held([Data(x=torch.full((i + 1, 1), float(i)), y=i) for i in range(5)])
    dataset.cache = cache
    part = dataset[2:4]
    for visited in (dataset, part):
        list(visited)
        visited.batch([0, 1])
        visited.batch([0, 1], vectorised=False)
    edit(dataset)
    for i, graph in enumerate(dataset):
        assert graph.x.unique().tolist() == [i + 10.0]
    for vectorised in (True, False):
        assert dataset.batch([3, 1], vectorised=vectorised).x.unique().tolist() == [11.0, 13.0]


def test_13_new_slices_leave_no_stale_graph():
    dataset = Held([Data(x=torch.arange(4.0)), Data(x=torch.arange(4.0, 8.0))])
    list(dataset)
    dataset.batch([0, 1])
    dataset.slices = {"x": torch.tensor([0, 1, 8])}
    assert dataset[0].x.tolist() == [0.0]
    assert dataset.batch([1]).x.tolist() == list(range(1, 8))
    dataset.slices = {"x": torch.tensor([0, 2, 4, 8])}
    assert len(dataset) == 3
    assert dataset[2].x.tolist() == [4.0, 5.0, 6.0, 7.0]


# 14 ------------------------------------------------------------------------------------------------------------------


class Scale:
    """A pre-transform with a setting."""

    def __init__(self, by):
        self.by = by

    def __call__(self, graph):
        graph.x = graph.x * self.by
        return graph


def thrice(graph):
    graph.x = graph.x * 3
    return graph


class Built(InMemoryDataset):
    """Three graphs, built once."""

    count = 0

    def __init__(self, root, kind="small", **kwargs):
        self.kind = kind
        super().__init__(root, **kwargs)
        self.load(self.processed_paths[0])

    @property
    def processed_file_names(self):
        return "graphs.pt"

    @property
    def raw_file_names(self):
        return []

    def process(self):
        type(self).count += 1
        graphs = [Data(x=torch.ones(n, 1)) for n in (1, 2, 3)]
        graphs = [graph for graph in graphs if self.pre_filter is None or self.pre_filter(graph)]
        self.save([graph if self.pre_transform is None else self.pre_transform(graph) for graph in graphs], self.path)

    @property
    def path(self):
        return self.processed_paths[0]


CHANGES = {
    "a setting of the pre-transform": ({"pre_transform": Scale(2)}, {"pre_transform": Scale(3)}),
    "another pre-transform": ({"pre_transform": Scale(2)}, {"pre_transform": thrice}),
    "no pre-transform any more": ({"pre_transform": Scale(2)}, {}),
    "a lambda's constant": (
        {"pre_filter": lambda graph: graph.num_nodes > 1},
        {"pre_filter": lambda graph: graph.num_nodes > 0},
    ),
    "an argument": ({}, {"kind": "large"}),
    "the version": ({}, {"version": 2}),
}


@pytest.mark.parametrize("what", CHANGES)
def test_14_a_change_is_noticed_and_refused_or_rebuilt_as_asked(tmp_path, monkeypatch, what):
    before, after = CHANGES[what]
    Built(tmp_path, **before)
    Built(tmp_path, **copy.deepcopy(before))  # an equal one is no change
    monkeypatch.setattr(Built, "version", after.get("version", 1))
    after = {key: value for key, value in after.items() if key != "version"}
    monkeypatch.setattr(Built, "count", 0)
    with pytest.raises(RuntimeError, match="was not built as is asked for now"):
        Built(tmp_path, **after)
    with pytest.warns(UserWarning, match="was not built as is asked for now"):
        kept = Built(tmp_path, **after, on_change="warn")
    assert Built.count == 0
    rebuilt = Built(tmp_path, **after, on_change="rebuild")
    assert Built.count == 1
    assert torch.equal(rebuilt._data.x, Built(tmp_path / "fresh", **after)._data.x)
    assert torch.equal(rebuilt._data.x, Built(tmp_path, **after)._data.x)
    assert not torch.equal(rebuilt._data.x, kept._data.x) or what in ("an argument", "the version")
