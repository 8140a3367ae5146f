"""Batches gathered from the block, at the edges: they are those made graph by graph, or refused with the reason."""

import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, assume, given, reject, settings
from hypothesis import strategies as st

from gnnlab.data import Data, HeteroData, InMemoryDataset
from gnnlab.data.testing import assert_equal
from tests.strategies import graph_lists


class Held(InMemoryDataset):
    """A dataset of graphs that are there already."""

    def __init__(self, graphs, transform=None):
        super().__init__(None, transform)
        self.data, self.slices = self.collate(graphs)


def assert_both_ways_agree(dataset, index, **kwargs):
    """The batch of the block equals the one made graph by graph, how to take it apart included."""
    fast = dataset.batch(index, **kwargs)
    slow = dataset.batch(index, vectorised=False, **kwargs)
    assert_equal(fast, slow)
    assert_equal(
        {"slices": fast._slice_dict, "incs": fast._inc_dict}, {"slices": slow._slice_dict, "incs": slow._inc_dict}
    )
    return fast


# What the block's tensors are like -----------------------------------------------------------------------------------


def test_a_block_that_was_moved_into_shared_memory_is_read_where_it_is_now():
    """As torch moves it when it sends a dataset to a spawned worker."""
    dataset = Held([Data(x=torch.full((n % 4 + 1, 3), float(n)), y=n) for n in range(1000)])
    batch, graph = dataset.batch([7, 999]), dataset[500]
    before = dataset._data.x.data_ptr(), dataset.slices["x"].data_ptr()
    for tensor in (dataset._data.x, dataset._data.y, dataset.slices["x"], dataset.slices["y"]):
        tensor.untyped_storage().share_memory_()
    assert before != (dataset._data.x.data_ptr(), dataset.slices["x"].data_ptr())
    for _ in range(50):  # the memory that was left is used again
        torch.full((1001,), -1)
    assert_equal(dataset.batch([7, 999]), batch)
    assert_equal(dataset[500], graph)
    assert dataset[501].x.unique().tolist() == [501.0]


@pytest.mark.parametrize("view", [torch.Tensor.conj, torch._neg_view])
def test_a_block_of_conjugate_or_negative_views(view):
    dataset = Held([Data(x=torch.randn(n, 2, dtype=torch.complex64)) for n in (2, 3, 4)])
    dataset._data.x = view(dataset._data.x)
    assert_both_ways_agree(dataset, [2, 0])


def test_a_block_that_is_told_to_track_gradients_later_on():
    dataset = Held([Data(x=torch.randn(n, 2)) for n in (2, 3, 4)])
    assert not dataset.batch([0]).x.requires_grad
    dataset._data.x.requires_grad_()
    batch = assert_both_ways_agree(dataset, [2, 0])
    batch.x.sum().backward()
    assert dataset._data.x.grad.sum(dim=1).tolist() == [2.0] * 2 + [0.0] * 3 + [2.0] * 4


# What names mean -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("value", [3, "three", torch.tensor([1, 2])])
def test_a_count_of_nodes_within_a_dict_is_a_value_like_any_other(value):
    graphs = [Data(x=torch.ones(2, 1), meta={"num_nodes": value}) for _ in range(3)]
    dataset = Held(graphs)
    assert_equal(dataset[1], graphs[1], normalised=True)
    batch = assert_both_ways_agree(dataset, [1, 2])
    assert_equal(batch[1], graphs[1], normalised=True)


def test_features_that_are_arrays_tell_the_number_of_nodes():
    dataset = Held([Data(x=np.ones((n, 2)), node_hint=torch.tensor([7]), ring_index=torch.tensor([0])) for n in (2, 3)])
    assert "'x'" in dataset.batch_path()
    assert dataset.batch([0, 1]).ring_index.tolist() == [0, 2]


@pytest.mark.parametrize("shape", [(2,), (3, 2)])
def test_ids_of_a_shape_that_edges_do_not_have_are_refused_by_name(shape):
    graphs = []
    for _ in range(2):
        graph = HeteroData()
        graph["a"].num_nodes = graph["b"].num_nodes = 2
        graph["a", "to", "b"].my_index = torch.zeros(shape, dtype=torch.long)
        graphs.append(graph)
    dataset = Held(graphs)
    for vectorised in (True, False):
        with pytest.raises(ValueError, match=r"attribute 'my_index' of type \('a', 'to', 'b'\) has the shape"):
            dataset.batch([0, 1], vectorised=vectorised)


@pytest.mark.parametrize("make", [Data, HeteroData])
def test_a_graph_without_any_attribute_lacks_them_all(make):
    graphs = [make(), make(), make(), make()]
    graphs[1].token, graphs[3].token = torch.ones(2), torch.ones(1)
    dataset = Held(graphs)
    assert_both_ways_agree(dataset, [1, 3, 1])
    assert_both_ways_agree(dataset, [0, 2])
    for vectorised in (True, False):
        with pytest.raises(ValueError, match="attribute 'token' is missing in graph 1 but set in graph 0"):
            dataset.batch([3, 0], vectorised=vectorised)


def test_ids_of_nodes_that_only_some_graphs_have_count_no_others():
    dataset = Held([Data(), Data(n_id=torch.arange(3)), Data()])
    for index in ([0, 2], [1, 1]):
        assert_both_ways_agree(dataset, index)
    assert_both_ways_agree(dataset, [0, 1], exclude_keys=["n_id"])


@pytest.mark.filterwarnings("ignore:Unable to accurately infer 'num_nodes'")
def test_ids_are_not_shifted_by_an_unknown_number_of_nodes():
    dataset = Held([Data(my_index=torch.tensor([0, 1]), y=1), Data(my_index=torch.tensor([2]), y=2)])
    for vectorised in (True, False):
        with pytest.raises(
            ValueError, match="shift attribute 'my_index', since the number of nodes of graph 0 is unknown"
        ):
            dataset.batch([0, 1], vectorised=vectorised)
        assert dataset.batch([0, 1], exclude_keys=["my_index"], vectorised=vectorised).y.tolist() == [1, 2]


def test_edges_to_a_type_that_their_graph_lacks_are_refused():
    graphs = [HeteroData(), HeteroData(), HeteroData()]
    for at, graph in enumerate(graphs):
        graph["a"].num_nodes = 2
        if at > 0:
            graph["a", "to", "b"].edge_index = torch.tensor([[0], [1]])
        if at > 1:
            graph["b"].num_nodes = 2
    dataset = Held(graphs)
    assert_both_ways_agree(dataset, [0, 2, 2])
    for vectorised in (True, False):
        with pytest.raises(ValueError, match="the number of nodes of type 'b' is unknown"):
            dataset.batch([2, 1], vectorised=vectorised)


class Padded(Data):
    """A graph that counts its nodes otherwise."""

    @property
    def num_nodes(self):
        return 10


def test_a_class_that_counts_nodes_its_own_way_is_shifted_by_its_own_count():
    dataset = Held([Padded(x=torch.ones(n, 1), edge_index=torch.tensor([[0], [n - 1]])) for n in (2, 3, 4)])
    assert dataset.batch_path() == "graph by graph: Padded defines __inc__, __cat_dim__ or num_nodes"
    batch = assert_both_ways_agree(dataset, [0, 1, 2])
    assert batch.edge_index.tolist() == [[0, 10, 20], [1, 12, 23]]
    assert batch[2].edge_index.tolist() == [[0], [3]]


# Blocks that were edited ---------------------------------------------------------------------------------------------


def make_edited():
    dataset = Held([Data(x=torch.full((n, 2), float(n)), y=n) for n in (2, 3, 4)])
    dataset.batch([0])
    return dataset


def shorten(dataset):
    dataset._data.x = dataset._data.x[:4]


def shorten_in_place(dataset):
    dataset._data.x.resize_(4, 2)


def lengthen_slices(dataset):
    dataset.slices = {**dataset.slices, "x": torch.tensor([0, 2, 5, 10_000])}


def turn_slices_round(dataset):
    dataset.slices = {**dataset.slices, "x": torch.tensor([9, 5, 2, 0])}


def start_before_the_beginning(dataset):
    dataset.slices = {**dataset.slices, "x": torch.tensor([0, 2, -9000, 9])}


def drop_dimensions(dataset):
    dataset._data.x = torch.tensor(1.0)


@pytest.mark.parametrize(
    "edit",
    [shorten, shorten_in_place, lengthen_slices, turn_slices_round, start_before_the_beginning, drop_dimensions],
)
def test_nothing_is_read_beyond_the_block(edit):
    dataset = make_edited()
    edit(dataset)
    with pytest.raises((IndexError, RuntimeError)):
        dataset.batch([0, 1, 2])


def test_graphs_that_a_shortened_block_still_holds_can_be_read():
    dataset = make_edited()
    shorten(dataset)
    assert dataset.batch_path() == "graph by graph: attribute 'x' does not fit its slices"
    assert dataset.batch([0, 0]).x.tolist() == [[2.0, 2.0]] * 4


# Threads -------------------------------------------------------------------------------------------------------------


@pytest.fixture
def hasty_threads():
    """Threads take turns as often as Python lets them."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


@pytest.mark.usefixtures("hasty_threads")
@pytest.mark.parametrize("cache", ["all", None, 20_000, 0])
def test_threads_share_a_dataset(cache):
    dataset = Held([Data(x=torch.full((n % 5 + 1, 2), float(n)), y=n) for n in range(200)])
    dataset.cache = cache
    parts = [dataset, dataset[100:], dataset[::-1], dataset[50:90]]

    def read(seed):
        part, draw = parts[seed % 4], np.random.default_rng(seed)
        for _ in range(300):
            at = draw.integers(0, len(part), 3)
            first, *_, last = expected = [part.indices()[i] for i in at]
            assert part[int(at[0])].y.tolist() == [first]
            assert part.batch(at).y.tolist() == expected
            assert part[int(at[2])].x.unique().tolist() == [last]

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(read, range(8)))
    info = dataset.cache_info()
    assert info.bytes == dataset._cache._used or cache in ("all", None)
    assert info.bytes <= 20_000 or cache == "all"


# PyG -----------------------------------------------------------------------------------------------------------------


def as_pyg(pyg, graph):
    """The same graph of PyG's; its values are shared."""
    made = (pyg.data.HeteroData if isinstance(graph, HeteroData) else pyg.data.Data)()
    for store in graph.stores:
        other = made if store._key is None else made[store._key]
        for name, value in store.items():
            other[name] = value
    return made


def plain_values(graph):
    """All values by type; tuples as lists, which PyG makes of them, and without PyG's list of counts."""

    def plain(value):
        if isinstance(value, dict):
            return {key: plain(part) for key, part in value.items() if key != "_num_nodes"}
        return [plain(part) for part in value] if isinstance(value, (list, tuple)) else value

    return plain(graph.to_dict())


def of_pyg(make):
    """What PyG makes; where it can't (types of which only the number of nodes is known), the example is passed over."""
    try:
        return make()
    except (RuntimeError, KeyError, IndexError):
        reject()


@settings(suppress_health_check=list(HealthCheck), max_examples=200)
@given(st.data())
@pytest.mark.filterwarnings("ignore:Unable to accurately infer 'num_nodes'")
def test_batches_and_graphs_are_pygs(data):
    pyg = pytest.importorskip("torch_geometric", reason="compares with PyG's batches and datasets")
    graphs = data.draw(graph_lists(min_size=2, hetero=data.draw(st.booleans())))
    assume(any(len(store) for graph in graphs for store in graph.stores))
    dataset, theirs = Held(graphs), pyg.data.InMemoryDataset()
    theirs.data, theirs.slices = theirs.collate([as_pyg(pyg, graph) for graph in graphs])
    index = data.draw(st.lists(st.integers(0, len(graphs) - 1), min_size=1, max_size=6))
    single = of_pyg(lambda: [theirs[i] for i in index])
    expected = of_pyg(lambda: pyg.data.Batch.from_data_list(single))
    assert_equal([plain_values(dataset[i]) for i in index], list(map(plain_values, single)))
    for batch in (dataset.batch(index), dataset.batch(index, vectorised=False)):
        assert_equal(plain_values(batch), plain_values(expected))
        again = of_pyg(expected.to_data_list)
        assert_equal(list(map(plain_values, batch.to_data_list())), list(map(plain_values, again)))
