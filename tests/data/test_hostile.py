"""Graphs that do not fit together, and streams that go wrong: refused by name, never joined in silence."""

import copy

import pytest
import torch

from gnnlab.data import Data, HeteroData, InMemoryDataset, stream
from gnnlab.data.testing import assert_equal
from gnnlab.profile import peak
from gnnlab.sparse import from_parts
from tests.data import streams

MIB = 2**20


class Held(InMemoryDataset):
    """A dataset of graphs that are there already."""

    def __init__(self, graphs):
        super().__init__(None)
        self.data, self.slices = self.collate(graphs)


@pytest.fixture
def one_by_one(monkeypatch):
    """Streams are joined graph by graph."""
    monkeypatch.setattr(stream, "_CHUNK_GRAPHS", 1)


# What does not fit ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("as_stream", [False, True])
def test_one_column_is_not_stretched_to_many(as_stream):
    graphs = [Data(x=torch.ones(3, 16 if i < 3000 else 1)) for i in range(6000)]
    with pytest.raises(ValueError, match="'x'"):
        Held(iter(graphs) if as_stream else graphs)


COO = torch.eye(2).to_sparse_coo()
CSR = from_parts(
    {"kind": "csr", "sizes": [2, 2]},
    {"ptr": torch.arange(3), "index": torch.arange(2), "values": torch.ones(2)},
)

MISFITS = [
    (torch.tensor([1]), torch.tensor([[1]])),
    (torch.tensor([1.0]), torch.tensor([1])),
    (torch.tensor([1]), torch.tensor([1], device="meta")),
    (torch.tensor([1]), "text"),
    ("text", torch.tensor([1])),
    ("text", [torch.tensor([1])]),
    ([torch.tensor([1])], "text"),
    ({"a": torch.tensor([1])}, torch.tensor([1])),
    ({"a": torch.tensor([1])}, {"a": "text"}),
    (COO, CSR),
    (COO, COO.double()),
    (COO, torch.eye(2)),
    (torch.eye(2), COO),
]


@pytest.mark.parametrize(("value", "other"), MISFITS)
@pytest.mark.usefixtures("one_by_one")
def test_a_stream_refuses_by_name_what_does_not_fit(value, other):
    graphs = [Data(num_nodes=2, adj=v) for v in (value, value, other)]
    with pytest.raises((ValueError, TypeError), match=r"attribute 'adj'.* graph 2"):
        Held(iter(graphs))


def test_a_list_refuses_by_name_a_tensor_that_lost_its_dimension():
    with pytest.raises(ValueError, match=r"attribute 'y' must have the same shape.*graph 1"):
        Held([Data(num_nodes=1, y=torch.tensor([1])), Data(num_nodes=1, y=torch.tensor(1))])


@pytest.mark.parametrize("as_stream", [False, True])
def test_a_number_that_no_tensor_holds_is_refused_by_name(as_stream):
    graphs = [Data(num_nodes=1, y=2**70)] * 2
    with pytest.raises(OverflowError, match="attribute 'y'"):
        Held(iter(graphs) if as_stream else graphs)


# Streams that go wrong -----------------------------------------------------------------------------------------------


def test_an_error_in_a_stream_comes_through():
    with pytest.raises(ZeroDivisionError):
        Held(Data(num_nodes=1 // (3 - i)) for i in range(5))


@pytest.mark.usefixtures("one_by_one")
def test_a_stream_of_two_classes_is_refused():
    with pytest.raises(TypeError, match="the first is a Data, graph 2 a HeteroData"):
        Held(iter([Data(num_nodes=1), Data(num_nodes=1), HeteroData()]))


@pytest.mark.parametrize("graph", [Data(), Data(meta={}), HeteroData()])
def test_a_stream_of_graphs_that_hold_nothing_is_refused(graph):
    with pytest.raises(ValueError, match="without any attribute"):
        Held(copy.copy(graph) for _ in range(3))


@pytest.mark.parametrize("meta", [{}, {"a": {}, "b": torch.tensor([1])}])
def test_empty_dicts_stream(meta):
    graphs = [Data(num_nodes=1, meta=meta)] * 3
    for graph, found in zip(graphs, Held(iter(graphs)), strict=True):
        assert_equal(found, graph)


@pytest.mark.usefixtures("one_by_one")
@pytest.mark.parametrize("at", [0, 1, 4])
@pytest.mark.parametrize("value", [torch.ones(2, 3), 0.5, "text", {"a": torch.ones(2)}, (torch.ones(2),), COO])
def test_attributes_that_come_late_or_stay_away(at, value):
    graphs = [Data(x=torch.ones(2, 1)) for _ in range(5)]
    graphs[at]["extra adj"] = value
    for graph, found in zip(graphs, Held(iter(graphs)), strict=True):
        assert_equal(found, graph, normalised=True)


def test_a_stream_of_graphs_on_a_device_stays_there():
    graphs = [Data(x=torch.ones(2, 1, device="meta", requires_grad=True)) for _ in range(3)]
    block = Held(iter(graphs))._data
    assert block.x.is_meta
    assert block.x.is_leaf
    assert block.x.requires_grad
    assert Held([Data(x=torch.ones(2, 1))] * 3).to("meta").copy([0, 2])._data.x.shape == (4, 1)


@pytest.mark.usefixtures("one_by_one")
def test_entries_of_dicts_are_joined_along_their_own_dimension():
    graphs = [
        Data(
            num_nodes=n,
            meta={"edge_index": torch.full((2, n), n - 1), "deep": {"ring_index": torch.ones(2, 1)}},
            my_index={"x": torch.ones(n, 3), "deep": ({"pos": 1}, 2)},
        )
        for n in (1, 2, 3)
    ]
    for graph, found in zip(graphs, Held(iter(graphs)), strict=True):
        assert_equal(found, graph, normalised=True)


# Shifts --------------------------------------------------------------------------------------------------------------


class Doubled(Data):
    """Its ids move on by twice the number of nodes."""

    def __inc__(self, key, value, *args, **kwargs):
        return 2 * super().__inc__(key, value, *args, **kwargs)


@pytest.mark.parametrize("cls", [Data, Doubled])
def test_a_stream_shifts_ids_as_a_list_does(cls):
    graphs = [
        cls(
            x=torch.ones(n, 1),
            edge_index=torch.tensor([[0], [n - 1]]),
            ring_index=[torch.tensor([0]), torch.tensor([n - 1, 0])],
            meta={"face_index": torch.tensor([n - 1]), "inner": ({"x": n}, 1)},
            root_index=n - 1,
        )
        for n in (2, 3, 4, 5)
    ]
    del graphs[1].edge_index, graphs[2].meta, graphs[3].ring_index
    listed, _ = InMemoryDataset.collate(graphs, increment=True)
    streamed, _ = InMemoryDataset.collate(iter(graphs), increment=True)
    assert_equal(streamed, listed)
    step = 2 if cls is Doubled else 1
    assert listed.edge_index.tolist() == [[0, 5 * step, 9 * step], [1, 5 * step + 3, 9 * step + 4]]


def test_a_stream_shifts_ids_past_graphs_without_the_type():
    graphs = []
    for n in (2, 3, 4):
        graph = HeteroData()
        graph["a"].x, graph["b"].num_nodes = torch.ones(n, 1), 5
        if n != 3:
            graph["a", "to", "b"].edge_index = torch.tensor([[n - 1], [4]])
        graphs.append(graph)
    listed, _ = InMemoryDataset.collate(graphs, increment=True)
    streamed, _ = InMemoryDataset.collate(iter(graphs), increment=True)
    assert_equal(streamed, listed)
    assert listed["a", "b"].edge_index.tolist() == [[1, 8], [4, 14]]


# Memory --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["in_dicts", "in_lists"])
def test_nested_bytes_are_let_go_of_as_they_stream(name):
    """Were all graphs held, it would take twice the result."""
    found = peak(streams.join, name, 400)
    assert found.result > 75 * MIB
    assert found.peak <= 1.5 * found.result


def test_one_huge_graph_is_held_once_beside_the_result():
    found = peak(
        streams.join, "one_of_many", 40_000, setup="from tests.data import streams; streams.join('in_dicts', 9)"
    )
    huge = found.result / 2
    assert huge > 45 * MIB
    assert found.peak <= 1.25 * found.result + huge
