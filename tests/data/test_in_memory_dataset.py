"""The block, the cache and the ways into and out of an in-memory dataset."""

import copy
import io
import pickle

import pytest
import torch

from gnnlab.data import Data, HeteroData, InMemoryDataset
from gnnlab.data.testing import assert_equal


class Held(InMemoryDataset):
    """A dataset of graphs that are there already."""

    def __init__(self, graphs, transform=None, cache="all"):
        super().__init__(None, transform, cache=cache)
        self.data, self.slices = self.collate(graphs)


def make_graphs(count=10, seed=0):
    generator = torch.Generator().manual_seed(seed)
    graphs = []
    for i in range(count):
        n = int(torch.randint(1, 6, (1,), generator=generator))
        graphs.append(
            Data(
                x=torch.randn(n, 3, generator=generator),
                edge_index=torch.randint(0, n, (2, 2 * n), generator=generator),
                y=torch.tensor([i]),
                name=f"graph {i}",
            )
        )
    return graphs


@pytest.fixture
def graphs():
    return make_graphs()


def test_graphs_come_back_as_they_were(graphs):
    dataset = Held(graphs)
    assert len(dataset) == 10
    for _ in range(2):  # cold, then warm
        for graph, found in zip(graphs, dataset, strict=True):
            assert_equal(graph, found)


def test_a_generator_gives_the_same_block_as_a_list(graphs):
    listed, streamed = Held(graphs), Held(graph for graph in graphs)
    assert_equal(listed._data, streamed._data)
    assert listed.slices.keys() == streamed.slices.keys()
    assert all(torch.equal(listed.slices[key], streamed.slices[key]) for key in listed.slices)


def test_graphs_are_views_of_the_block(graphs):
    dataset = Held(graphs)
    for graph in dataset:
        for key in ("x", "edge_index", "y"):
            assert graph[key].untyped_storage().data_ptr() == dataset._data[key].untyped_storage().data_ptr()


def test_a_changed_graph_does_not_change_the_cached_one(graphs):
    dataset = Held(graphs)
    graph = dataset[3]
    graph.x = None
    graph.extra = 1
    assert_equal(dataset[3], graphs[3])


def test_ids_out_of_range_are_refused(graphs):
    dataset = Held(graphs)
    for idx in (10, -11):
        with pytest.raises(IndexError):
            dataset[idx]
    with pytest.raises(IndexError, match="graph 10 is out of range: the dataset has 10 graphs"):
        dataset.get(10)
    with pytest.raises(IndexError):
        dataset[:5][5]
    assert_equal(dataset[-1], graphs[-1])
    assert_equal(dataset[:5][-1], graphs[4])


def test_one_graph_is_kept_as_it_is():
    graph = make_graphs(1)[0]
    dataset = Held([graph])
    assert dataset.slices is None
    assert len(dataset) == 1
    assert_equal(dataset[0], graph)
    assert dataset.data is graph  # no warning: it is the graph
    info = dataset.cache_info()
    assert (info.graphs, info.bytes) == (0, 0)
    assert "one graph" in info.note
    assert dataset._data_list is None
    assert dataset.batch_path() == "graph by graph: the dataset is a single graph"
    assert dataset.batch([0, 0]).num_graphs == 2
    with pytest.raises(IndexError):
        dataset[1]


def test_no_graphs_are_refused():
    for nothing in ([], iter([])):
        with pytest.raises(ValueError, match="at least one graph"):
            Held(nothing)


def test_an_empty_dataset_has_no_graphs():
    dataset = InMemoryDataset.__new__(InMemoryDataset)
    InMemoryDataset.__init__(dataset)
    assert len(dataset) == 0
    with pytest.raises(IndexError):
        dataset[0]


def test_dataset_data_warns_that_it_is_the_whole_block(graphs):
    dataset = Held(graphs)
    with pytest.warns(UserWarning, match="joined graph of all graphs"):
        dataset.data  # noqa: B018


# The cache -----------------------------------------------------------------------------------------------------------


def test_the_cache_goes_from_nothing_to_all_and_back(graphs):
    dataset = Held(graphs)
    assert dataset._data_list is None
    for i in range(10):
        dataset[i]
        info = dataset.cache_info()
        assert (info.hits, info.misses, info.graphs) == (0, i + 1, i + 1)
    for i in range(10):
        dataset[i]
    info = dataset.cache_info()
    assert (info.hits, info.misses, info.graphs) == (10, 10, 10)
    assert info.view_bytes == sum(g.x.nbytes + g.edge_index.nbytes + g.y.nbytes for g in graphs)
    assert info.own_bytes == 0
    assert info.bytes == info.object_bytes > 0
    assert len(dataset._data_list) == 10
    dataset._data_list = None
    info = dataset.cache_info()
    assert (info.hits, info.misses, info.graphs, info.bytes) == (0, 0, 0, 0)
    assert dataset._data_list is None


def test_without_a_cache_nothing_is_kept(graphs):
    dataset = Held(graphs, cache=None)
    for graph in (*dataset, *dataset):
        assert graph.num_nodes
    info = dataset.cache_info()
    assert (info.hits, info.misses, info.graphs, info.limit) == (0, 20, 0, None)


def test_a_bounded_cache_keeps_what_was_used_last(graphs):
    dataset = Held(graphs)
    one = max(Held([graphs[i], graphs[0]]).cache_info().bytes for i in range(2))
    for i in range(10):
        dataset[i]
    one = dataset.cache_info().bytes // 10
    dataset = Held(graphs, cache=4 * one)
    for i in range(10):
        dataset[i]
        assert dataset.cache_info().bytes <= 4 * one
    held = dataset.cache_info().graphs
    assert 2 <= held <= 4
    assert [graph is not None for graph in dataset._data_list] == [i >= 10 - held for i in range(10)]
    dataset[10 - held]  # a hit makes it the last to go
    dataset[0]
    assert dataset._data_list[10 - held] is not None
    assert dataset.cache_info().hits == 1


@pytest.mark.parametrize("cache", ["some", -1, 1.5, True])
def test_a_cache_of_no_sense_is_refused(graphs, cache):
    with pytest.raises(ValueError, match="cache must be"):
        Held(graphs, cache=cache)


def test_reading_properties_leaves_nothing_in_the_cache(graphs):
    dataset = Held(graphs)
    for name in ("num_classes", "num_features", "num_node_features", "num_edge_features"):
        getattr(dataset, name)
    repr(dataset)
    dataset._repr_html_()
    dataset.get_summary()
    assert dataset.cache_info().graphs == 0


def test_writing_to_the_block_leaves_no_stale_graph(graphs):
    dataset = Held(graphs)
    assert_equal(dataset[2], graphs[2])
    dataset._data.x = dataset._data.x + 1
    assert torch.equal(dataset[2].x, graphs[2].x + 1)
    assert torch.equal(dataset.batch([2]).x, graphs[2].x + 1)
    dataset._data = copy.copy(dataset._data)
    dataset._data.x = dataset._data.x * 2
    assert torch.equal(dataset[2].x, (graphs[2].x + 1) * 2)
    dataset._data.x.mul_(2)
    assert torch.equal(dataset[2].x, (graphs[2].x + 1) * 4)
    del dataset._data.name
    assert "name" not in dataset[2]


def test_an_edited_cache_is_what_is_read(graphs):
    dataset = Held(graphs)
    dataset[3]
    assert dataset.batch_path() == "vectorised"
    edited = copy.copy(graphs[3])
    edited.x = edited.x + 1
    dataset._data_list[3] = edited
    assert_equal(dataset[3], edited)
    assert dataset.batch_path() == "graph by graph: cached graphs in _data_list were edited"
    assert torch.equal(dataset.batch([3, 0]).x, torch.cat([edited.x, graphs[0].x]))
    dataset._data_list = None
    assert_equal(dataset[3], graphs[3])
    dataset._data_list[3].x = edited.x
    assert torch.equal(dataset[3].x, edited.x)
    assert torch.equal(dataset.batch([3, 0]).x, torch.cat([edited.x, graphs[0].x]))
    dataset._data_list = [edited] * 10
    assert_equal(dataset[7], edited)
    with pytest.raises(ValueError, match="10 graphs, found 1"):
        dataset._data_list = [edited]


# Pickles and copies --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("part", [slice(None), slice(2, 5), [1, 1, 3]])
def test_a_visited_dataset_pickles_and_copies_as_a_fresh_one(graphs, part):
    dataset = Held(graphs)[part]
    before = len(pickle.dumps(dataset))
    for _ in range(2):
        list(dataset)
        dataset.batch(range(len(dataset)))
        list(dataset._data_list)
    assert len(pickle.dumps(dataset)) == before
    for twin in (copy.deepcopy(dataset), pickle.loads(pickle.dumps(dataset))):
        assert twin.cache_info().graphs == 0
        assert len(twin) == len(dataset)
        for graph, found in zip(dataset, twin, strict=True):
            assert_equal(graph, found)
        assert twin._data.x.data_ptr() != dataset._data.x.data_ptr()


def test_one_graph_pickles_and_copies_only_its_own_bytes():
    big = make_graphs(2000)
    graph = Held(big)[0]
    own = graph.x.nbytes + graph.edge_index.nbytes + graph.y.nbytes
    buffer = io.BytesIO()
    torch.save(graph, buffer)
    assert buffer.tell() <= own + 4096
    assert len(pickle.dumps(graph)) <= own + 4096
    twin = copy.deepcopy(graph)
    assert sum(value.untyped_storage().nbytes() for value in (twin.x, twin.edge_index, twin.y)) == own
    assert_equal(twin, graph)
    buffer.seek(0)
    assert_equal(torch.load(buffer), graph)


def test_copy_makes_a_dataset_of_its_own(graphs):
    dataset = Held(graphs)
    twin = dataset.copy([1, 3])
    assert len(twin) == 2
    assert twin._data.x.size(0) == graphs[1].num_nodes + graphs[3].num_nodes
    twin._data.x.zero_()
    assert_equal(dataset[1], graphs[1])
    whole = dataset[2:4].copy()
    assert_equal(whole[1], graphs[3])


# Selecting -----------------------------------------------------------------------------------------------------------


def test_selections_of_selections(graphs):
    dataset = Held(graphs)
    assert [int(g.y) for g in dataset[2:8][::2]] == [2, 4, 6]
    assert [int(g.y) for g in dataset[::-1][:3]] == [9, 8, 7]
    assert [int(g.y) for g in dataset[[5, 6, 7]][[True, False, True]]] == [5, 7]
    assert [int(g.y) for g in dataset[:0.5]] == [0, 1, 2, 3, 4]
    assert len(dataset[[]]) == 0
    assert list(dataset[[]]) == []
    shuffled, perm = dataset.shuffle(return_perm=True)
    assert [int(g.y) for g in shuffled] == perm.tolist()


def test_to_moves_only_a_whole_dataset(graphs):
    dataset = Held(graphs)
    assert dataset.to("cpu") is dataset
    with pytest.raises(ValueError, match="copy"):
        dataset[:2].to("cpu")


# Batches -------------------------------------------------------------------------------------------------------------


class WithGet(Held):
    def get(self, idx):
        graph = super().get(idx)
        graph.x = graph.x + 1
        return graph


class WithGetItem(Held):
    def __getitem__(self, idx):
        return super().__getitem__(idx)


class Shifting(Data):
    def __inc__(self, key, value, *args, **kwargs):
        return 100 if key == "y" else super().__inc__(key, value, *args, **kwargs)


def test_the_path_of_batches_and_why(graphs):
    assert Held(graphs).batch_path() == "vectorised"
    assert Held(graphs)[2:4].batch_path() == "vectorised"
    assert "transform" in Held(graphs, transform=lambda graph: graph).batch_path()
    assert "WithGet defines get" in WithGet(graphs).batch_path()
    assert "WithGetItem defines __getitem__" in WithGetItem(graphs).batch_path()
    shifting = Held([Shifting(**graph.to_dict()) for graph in graphs])
    assert "Shifting defines __inc__" in shifting.batch_path()
    assert shifting.batch([0, 1]).y.tolist() == [0, 101]
    assert torch.equal(WithGet(graphs).batch([1, 0]).x, torch.cat([graphs[1].x, graphs[0].x]) + 1)
    sparse = Held([Data(num_nodes=2, adj=torch.eye(2).to_sparse_coo()) for _ in range(3)])
    assert "sparse" in sparse.batch_path()
    unknown = Held([Data(edge_index=torch.zeros(2, 1, dtype=torch.long)) for _ in range(3)])
    assert "number of nodes" in unknown.batch_path()


def test_a_batch_fills_no_cache_unless_it_goes_graph_by_graph(graphs):
    dataset = Held(graphs)
    vectorised = dataset.batch([3, 1, 3])
    assert dataset.cache_info().graphs == 0
    one_by_one = dataset.batch([3, 1, 3], vectorised=False)
    assert dataset.cache_info().graphs == 2
    assert_equal(vectorised, one_by_one)
    with pytest.raises(ValueError, match="at least one graph"):
        dataset.batch([])
    with pytest.raises(IndexError):
        dataset.batch([10])


def test_batches_of_a_block_that_needs_gradients(graphs):
    for graph in graphs:
        graph.x.requires_grad_()
    dataset = Held(graphs)
    assert dataset._data.x.is_leaf
    assert dataset._data.x.requires_grad
    batch = dataset.batch([2, 0])
    (batch.x * torch.arange(batch.x.size(0)).unsqueeze(1)).sum().backward()
    begin, end = dataset.slices["x"][0], dataset.slices["x"][1]
    expected = torch.arange(graphs[2].num_nodes, batch.x.size(0)).unsqueeze(1).expand(-1, 3)
    assert torch.equal(dataset._data.x.grad[begin:end], expected.float())


def test_batches_lie_on_the_device_of_the_block(graphs):
    for graph in graphs:
        del graph.name
    dataset = Held(graphs)
    dataset._data.to("meta")
    batch = dataset.batch([2, 0, 5])
    expected = Held(graphs).batch([2, 0, 5])
    assert {value.device.type for _, value in batch} == {"meta"}
    assert {key: value.shape for key, value in batch} == {key: value.shape for key, value in expected}
    one_by_one = dataset.batch([2, 0, 5], vectorised=False)
    assert {value.device.type for _, value in one_by_one} == {"meta"}


def test_a_batch_changed_in_place_still_comes_apart(graphs):
    for vectorised in (True, False):
        batch = Held(graphs).batch([2, 0], vectorised=vectorised)
        batch.ptr.zero_()
        batch.batch.zero_()
        assert_equal(batch[1], graphs[0])


def test_increments_of_a_dataset_block(graphs):
    for source in (graphs, iter(graphs)):
        block, slices = InMemoryDataset.collate(source, increment=True)
        first = 0
        for i, graph in enumerate(graphs):
            begin, end = slices["edge_index"][i : i + 2]
            assert torch.equal(block.edge_index[:, begin:end], graph.edge_index + first)
            first += graph.num_nodes


# Optional attributes -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("as_stream", [False, True])
def test_an_attribute_that_some_graphs_lack_is_kept_as_optional(graphs, as_stream):
    for i in (0, 4, 9):
        del graphs[i].name
        graphs[i].y = None
    for i in (2, 3):
        graphs[i].edge_attr = torch.zeros(graphs[i].num_edges, 2)
    dataset = Held(iter(graphs) if as_stream else graphs)
    for graph, found in zip(graphs, dataset, strict=True):
        assert_equal(graph, found)
    for vectorised in (True, False):
        with pytest.raises(ValueError, match="attribute 'y' is missing in graph 0 but set in graph 1"):
            dataset.batch([0, 1], exclude_keys=["name"], vectorised=vectorised)
        batch = dataset.batch([2, 3], vectorised=vectorised)
        assert "edge_attr" in batch
        without = dataset.batch([0, 4, 9], vectorised=vectorised)
        assert "y" not in without
        left_out = dataset.batch([0, 1], exclude_keys=["name", "y"], vectorised=vectorised)
        assert left_out.num_graphs == 2


@pytest.mark.parametrize("as_stream", [False, True])
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"x": torch.zeros(2, 4)}, "'x'.*graph 7|'x'.*4"),
        ({"x": torch.zeros(2, 3, dtype=torch.float64)}, "'x'"),
        ({"x": torch.zeros(2)}, "'x'"),
        ({"x": "text"}, "'x'"),
        ({"name": torch.zeros(2)}, "'name'"),
    ],
)
def test_an_attribute_that_does_not_fit_is_refused_by_name(graphs, as_stream, change, message):
    graphs[7].update(change)
    with pytest.raises((ValueError, TypeError), match=message):
        Held(iter(graphs) if as_stream else graphs)


def test_graphs_of_two_classes_are_refused(graphs):
    with pytest.raises(TypeError, match="graph 0 is a Data, graph 1 a HeteroData"):
        Held([graphs[0], HeteroData()])
    with pytest.raises(TypeError, match="found str"):
        Held(["graph", "graph"])


# Heterogeneous graphs ------------------------------------------------------------------------------------------------


def hetero_graphs():
    graphs = []
    for i in range(6):
        graph = HeteroData()
        graph["a"].x = torch.arange(i + 2.0).unsqueeze(1)
        if i % 3:
            graph["b"].num_nodes = i
            graph["a", "to", "b"].edge_index = torch.tensor([[0, i + 1], [i - 1, 0]])
        graph.y = i
        graphs.append(graph)
    return graphs


def test_a_missing_type_never_shifts_another_graph():
    graphs = hetero_graphs()
    dataset = Held(graphs)
    for graph, found in zip(graphs, dataset, strict=True):
        assert_equal(graph, found, normalised=True)
    for vectorised in (True, False):
        batch = dataset.batch([3, 1, 0, 5], vectorised=vectorised)
        firsts_a, firsts_b = [0, 5, 8, 10], [0, 0, 1, 1]
        expected = [
            graphs[i]["a", "b"].edge_index + torch.tensor([[firsts_a[at]], [firsts_b[at]]])
            for at, i in enumerate([3, 1, 0, 5])
            if i % 3
        ]
        assert torch.equal(batch["a", "b"].edge_index, torch.cat(expected, dim=1))
        assert batch["b"].batch.tolist() == [1] + [3] * 5
        assert batch["b"].ptr.tolist() == [0, 0, 1, 1, 6]
        for graph, i in zip(batch.to_data_list(), [3, 1, 0, 5], strict=True):
            assert_equal(graph, dataset[i])


# Attributes of all graphs --------------------------------------------------------------------------------------------


def test_an_attribute_of_the_dataset_is_that_of_its_graphs(graphs):
    dataset = Held(graphs)
    assert torch.equal(dataset.y, torch.arange(10))
    assert torch.equal(dataset[[4, 2]].y, torch.tensor([4, 2]))
    assert torch.equal(dataset[2:4].x, torch.cat([graphs[2].x, graphs[3].x]))
    assert torch.equal(dataset[[3, 1]].edge_index, dataset.batch([3, 1]).edge_index)
    assert dataset[:2].name == ["graph 0", "graph 1"]
    assert dataset.cache_info().graphs == 0
    assert Held(graphs[:1]).y.tolist() == [0]
    del graphs[3].y
    assert not hasattr(Held(graphs), "y")
    assert not hasattr(dataset, "nothing")
    with pytest.raises(AttributeError, match="missing in graph 3"):
        Held(graphs).y  # noqa: B018


def test_pickling_asks_an_unset_dataset_for_nothing(graphs):
    assert len(pickle.loads(pickle.dumps(Held(graphs)))) == 10
    assert len(copy.copy(Held(graphs))) == 10


def test_types_that_come_and_go_leave_no_stale_graph():
    dataset = Held(hetero_graphs())
    assert "b" in dataset[1].node_types
    del dataset._data["a", "to", "b"], dataset._data["b"]
    assert dataset[1].node_types == ["a"]


def test_copying_leaves_nothing_in_the_cache(graphs):
    dataset = Held(graphs)
    assert len(dataset.copy()) == 10
    assert dataset.cache_info().misses == 0
