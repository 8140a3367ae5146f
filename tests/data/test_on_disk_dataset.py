"""`OnDiskDataset`: what it gives back, on every backend."""

import copy
import multiprocessing
import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gnnlab.data import Batch, Data, HeteroData, InMemoryDataset, OnDiskDataset, verify
from gnnlab.data.database import BACKENDS, Nullable, TensorInfo
from gnnlab.data.testing import assert_equal
from gnnlab.loader import DataLoader
from tests import tiny
from tests.strategies import graph_lists

BACKEND_NAMES = tuple(BACKENDS)


@pytest.fixture(params=BACKEND_NAMES)
def backend(request: pytest.FixtureRequest) -> str:
    if request.param == "rocksdb":
        pytest.importorskip("rocksdict", reason="rocksdict is not installed")
    return request.param


def written(root: Path, backend: str, graphs: list[Any], **kwargs: Any) -> OnDiskDataset:
    dataset = OnDiskDataset(root, backend=backend, **kwargs)
    dataset.extend(graphs)
    dataset.close()
    return dataset


def sized(count: int) -> list[Data]:
    generator = torch.Generator().manual_seed(count)
    graphs = []
    for i in range(count):
        nodes = i % 7 + 1
        graphs.append(
            Data(
                x=torch.randn(nodes, 3, generator=generator),
                edge_index=torch.randint(nodes, (2, 2 * nodes), generator=generator),
                y=torch.tensor([i]),
            )
        )
    return graphs


class Held(InMemoryDataset):
    def __init__(self, graphs: list[Any], root: str | None = None, transform: Any = None) -> None:
        super().__init__(root, transform)
        self.data, self.slices = self.collate(graphs)


# What comes back -----------------------------------------------------------------------------------------------------


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_any_graphs_come_back_as_they_were(
    backend: str, tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    graphs = data.draw(graph_lists())
    dataset = written(tmp_path_factory.mktemp("any"), backend, graphs)
    assert len(dataset) == len(graphs)
    for i, graph in enumerate(graphs):
        assert_equal(dataset[i], graph)
    ids = data.draw(st.lists(st.integers(-len(graphs), len(graphs) - 1), min_size=1, max_size=6))
    for found, i in zip(dataset.multi_get(ids), ids, strict=True):
        assert_equal(found, graphs[i])
    try:
        expected = Batch.from_data_list([graphs[i] for i in ids])
    except (ValueError, TypeError):
        return  # these can't be joined at all
    assert_equal(dataset.batch(ids), expected)


@pytest.mark.parametrize(
    "value",
    [
        *(3, -1, 2**62, 2**80, True, 2.5, -0.0, float("inf"), 1e-320, "", "größe", "a\0b", "\ud800", b"\0\1"),
        *([1, "a", None], (1, 2), {"a": torch.ones(2), "b": {"c": 3}}, np.arange(3), torch.Size([1])[0]),
        *(torch.tensor(3.0), torch.tensor(True), torch.zeros(0), torch.zeros(2, 0), torch.zeros(0, 3)),
        *(torch.ones(2, 3, dtype=torch.bfloat16), torch.ones(3, requires_grad=True), torch.eye(3).to_sparse()),
        *(torch.ones(2, dtype=torch.complex64), torch.nn.Parameter(torch.ones(2))),
        *(torch.arange(6).view(2, 3).t(), torch.ones(1).expand(4), [torch.ones(1), torch.zeros(2, 2)]),
    ],
    ids=repr,
)
def test_any_value_comes_back_with_its_type_and_shape(backend: str, tmp_path: Path, value: Any) -> None:
    graph = Data(num_nodes=2)
    graph["two words"] = value
    found = written(tmp_path, backend, [graph, graph])[1]
    assert found.keys() == graph.keys()
    assert type(found["two words"]) is type(value)
    assert_equal(found, graph)
    if isinstance(value, float):
        assert str(found["two words"]) == str(value)


def test_nan_comes_back(backend: str, tmp_path: Path) -> None:
    found = written(tmp_path, backend, [Data(num_nodes=1, y=float("nan"))])[0]
    assert found.y != found.y


def test_missing_none_and_empty_are_told_apart(backend: str, tmp_path: Path) -> None:
    graphs = [Data(num_nodes=1) for _ in range(4)]
    for name, value in {"t": torch.zeros(0), "i": 0, "f": 0.0, "b": False, "s": ""}.items():
        graphs[0][name] = value
        graphs[1][name] = None
        graphs[3][name] = value
    dataset = written(tmp_path, backend, graphs)
    for i, graph in enumerate(graphs):
        assert dataset[i].keys() == graph.keys()
        assert_equal(dataset[i], graph)
    assert_equal(dataset.batch([0, 3]), Batch.from_data_list([graphs[0], graphs[3]]))


def test_types_without_attributes_and_types_some_graphs_lack(backend: str, tmp_path: Path) -> None:
    whole, part, bare = tiny.two_types(), HeteroData(), HeteroData()
    part["paper"].x = torch.ones(1, 2)
    part["paper"].y = torch.tensor([1])
    bare["paper"]
    graphs = [whole, part, bare, whole]
    dataset = written(tmp_path, backend, graphs)
    for i, graph in enumerate(graphs):
        assert dataset[i].metadata() == graph.metadata()
        assert_equal(dataset[i], graph)


def test_tensors_read_are_the_readers_own(backend: str, tmp_path: Path) -> None:
    dataset = written(tmp_path, backend, sized(3))
    dataset[0].x.add_(1)
    dataset.batch([0, 1]).x.add_(1)
    assert_equal(dataset[0], sized(3)[0])


# Selecting -----------------------------------------------------------------------------------------------------------


def test_selections_of_selections_give_the_same_graphs_everywhere(backend: str, tmp_path: Path) -> None:
    graphs = sized(20)
    dataset = written(tmp_path, backend, graphs, transform=marked)
    perm = torch.randperm(20, generator=torch.Generator().manual_seed(1))
    chosen = dataset[perm][3:][torch.arange(17) % 3 == 0][::-1]
    ids = perm[3:][torch.arange(17) % 3 == 0].flip(0).tolist()
    expected = [marked(graph.clone()) for graph in (graphs[i] for i in ids)]
    assert len(chosen) == len(ids)
    for i, graph in enumerate(expected):
        assert_equal(chosen[i], graph)
        assert_equal(chosen[i - len(ids)], graph)
    for found, graph in zip(chosen.multi_get(slice(None)), expected, strict=True):
        assert_equal(found, graph)
    for workers in (0, 2):
        batches = list(DataLoader(chosen, batch_size=4, num_workers=workers))
        for at, batch in enumerate(batches):
            assert_equal(batch, Batch.from_data_list(expected[4 * at : 4 * at + 4]))


def marked(graph: Data) -> Data:
    graph.x = graph.x + 1
    return graph


@pytest.mark.parametrize("index", [20, -21, [3, 20], torch.tensor([-21]), [True] * 3])
def test_a_missing_graph_is_an_index_error_that_names_it(backend: str, tmp_path: Path, index: Any) -> None:
    dataset = written(tmp_path, backend, sized(20))
    number = {20: "20", -21: "21"}.get(index, "20|21|3") if isinstance(index, int) else "20|21|3"
    with pytest.raises(IndexError, match=number):
        dataset[index]
    if not isinstance(index, int):
        with pytest.raises(IndexError, match=number):
            dataset.multi_get(index)
    with pytest.raises(IndexError, match="20"):
        dataset.get(20)


# Schemas -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("other", "words"),
    [
        (Data(x=torch.ones(2, 4), y=torch.tensor([1])), r"row 5: attribute 'x': expected .*\[\*, 3\].*\[2, 4\]"),
        (Data(x=torch.ones(2, 3).double(), y=torch.tensor([1])), "row 5: attribute 'x': expected .*float32.*float64"),
        (Data(x=torch.ones(2, 3), y=1), "row 5: attribute 'y': expected .*int64.*found a int"),
        (Data(x=torch.ones(2, 3)), "row 5: attribute 'y': expected .*found nothing"),
        (Data(x=torch.ones(2, 3), y=torch.tensor([1]), z=2), "row 5: attribute 'z': expected nothing.*found a int"),
    ],
)
def test_a_graph_that_does_not_fit_is_named(backend: str, tmp_path: Path, other: Data, words: str) -> None:
    dataset = OnDiskDataset(tmp_path, backend=backend)
    good = Data(x=torch.ones(2, 3), y=torch.tensor([1]))
    dataset.extend([good] * 5)
    with pytest.raises(ValueError, match=words):
        dataset.append(other)
    dataset.append(good)
    dataset.close()
    assert len(dataset) == 6


def test_a_schema_can_be_given(backend: str, tmp_path: Path) -> None:
    schema = {
        "x": {"dtype": torch.float, "size": (-1, 3)},
        "y": int,
        "name": Nullable(str),
        "w": Nullable(TensorInfo(torch.float16, (2, 2))),
    }
    dataset = OnDiskDataset(tmp_path, backend=backend, schema=schema)
    graphs = [Data(x=torch.ones(2, 3), y=1), Data(x=torch.ones(1, 3), y=2, name="b", w=torch.ones(2, 2).half())]
    dataset.extend(graphs)
    dataset.close()
    for found, graph in zip(OnDiskDataset(tmp_path, backend=backend), graphs, strict=True):
        assert_equal(found, graph)
    with pytest.raises(ValueError, match="has another schema"):
        len(OnDiskDataset(tmp_path, backend=backend, schema={"x": int}))


def test_objects_are_pickled_only_where_asked_and_trusted(backend: str, tmp_path: Path) -> None:
    graphs = [Data(num_nodes=1, z={1, 2}), Data(num_nodes=1, z={3})]
    with pytest.raises(ValueError, match=r"'z'.*without pickling"):
        written(tmp_path / "a", backend, graphs)
    schema = {"num_nodes": int, "z": object}
    dataset = written(tmp_path / "b", backend, graphs, schema=schema)
    with pytest.raises(pickle.UnpicklingError, match="trust=True"):
        dataset[0]
    assert OnDiskDataset(tmp_path / "b", backend=backend, trust=True)[1].z == {3}


class Own(OnDiskDataset):
    """Stores something else than the graph's attributes."""

    def __init__(self, root: Path, backend: str) -> None:
        super().__init__(root, backend=backend, schema=(int, {"dtype": torch.int64, "size": (2, -1)}))

    def serialize(self, data: Data) -> Any:
        return data.num_nodes, data.edge_index

    def deserialize(self, data: Any) -> Data:
        return Data(num_nodes=data[0], edge_index=data[1])

    def process(self) -> None:
        self.extend(sized(12))


def test_serialize_and_deserialize_can_be_defined(backend: str, tmp_path: Path) -> None:
    dataset = Own(tmp_path, backend)
    assert dataset.batch_path() == "graph by graph: Own defines serialize"
    expected = [Data(num_nodes=graph.num_nodes, edge_index=graph.edge_index) for graph in sized(12)]
    assert_equal(dataset[4], expected[4])
    (batch,) = DataLoader(dataset, batch_size=12)
    assert_equal(batch, Batch.from_data_list(expected))


class Ticket(Data):
    """Its numbers are shifted by ten a graph."""

    def __inc__(self, key: str, value: Any, *args: Any, **kwargs: Any) -> Any:
        return 10 if key == "number" else super().__inc__(key, value, *args, **kwargs)


def test_a_class_of_graphs_with_rules_of_its_own(backend: str, tmp_path: Path) -> None:
    written(tmp_path, backend, [Ticket(number=torch.tensor([1]), num_nodes=1)] * 3)
    dataset = OnDiskDataset(tmp_path, backend=backend)
    assert type(dataset[0]) is Ticket
    assert dataset.batch_path() == "graph by graph: Ticket defines __inc__, __cat_dim__ or num_nodes"
    assert dataset.batch([0, 1, 2]).number.tolist() == [1, 11, 21]
    with pytest.raises(ValueError, match="graph 3: expected a Ticket as before, found a Data"):
        dataset.append(Data(number=torch.tensor([1]), num_nodes=1))


@pytest.mark.parametrize(
    ("graphs", "reason"),
    [
        ([Data(x=torch.ones(2, 0))], "has more than one size that varies, or none that tells the shape"),
        ([Data(x=torch.ones(2, 1), z=[1])], "attribute 'z' is a value that can be written without pickling it"),
        ([Data(x=torch.ones(2, 1, requires_grad=True))], "attribute 'x' requires grad"),
    ],
)
def test_batches_that_can_not_be_gathered_say_why(
    backend: str, tmp_path: Path, graphs: list[Data], reason: str
) -> None:
    dataset = written(tmp_path, backend, graphs * 3)
    assert dataset.batch_path().startswith("graph by graph: ")
    assert reason in dataset.batch_path()
    assert_equal(dataset.batch([0, 2]), Batch.from_data_list([graphs[0], graphs[0]]))


# Processes -----------------------------------------------------------------------------------------------------------


def test_an_open_dataset_can_be_copied_and_pickled(backend: str, tmp_path: Path) -> None:
    dataset = written(tmp_path, backend, sized(5))
    expected = dataset[3]
    for twin in (copy.copy(dataset), copy.deepcopy(dataset), pickle.loads(pickle.dumps(dataset))):
        assert_equal(twin[3], expected)
        assert_equal(twin[[3, 1]].batch([0, 1]), Batch.from_data_list([dataset[3], dataset[1]]))
    assert len(pickle.dumps(dataset)) < 2500


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_workers_read_an_open_dataset(backend: str, tmp_path: Path, method: str) -> None:
    dataset = written(tmp_path, backend, sized(40))
    assert dataset[0].x.size(1) == 3
    context = multiprocessing.get_context(method)
    found = DataLoader(dataset, batch_size=8, num_workers=2, multiprocessing_context=context)
    for at, batch in enumerate(found):
        assert_equal(batch, Batch.from_data_list(sized(40)[8 * at : 8 * at + 8]))


def test_graphs_added_are_read_at_once_and_by_forked_workers(backend: str, tmp_path: Path) -> None:
    dataset = OnDiskDataset(tmp_path, backend=backend)
    graphs = sized(30)
    for graph in graphs:
        dataset.append(graph)
    assert_equal(dataset[29], graphs[29])
    for at, batch in enumerate(DataLoader(dataset, batch_size=10, num_workers=2)):
        assert_equal(batch, Batch.from_data_list(graphs[10 * at : 10 * at + 10]))
    dataset.close()
    assert len(OnDiskDataset(tmp_path, backend=backend)) == 30


def test_a_second_writer_is_told_so(backend: str, tmp_path: Path) -> None:
    dataset = OnDiskDataset(tmp_path, backend=backend)
    dataset.extend(sized(3))
    other = OnDiskDataset(tmp_path, backend=backend)
    with pytest.raises(BlockingIOError, match="writing"):
        other.extend(sized(3))
    dataset.close()
    other = OnDiskDataset(tmp_path, backend=backend)
    other.extend(sized(3))
    other.close()
    assert len(OnDiskDataset(tmp_path, backend=backend)) == 6


def test_close_and_go_on(backend: str, tmp_path: Path) -> None:
    dataset = written(tmp_path, backend, sized(4))
    for length in range(5, 8):
        assert_equal(dataset[2], sized(4)[2])
        dataset.append(sized(length)[-1])
        dataset.close()
        assert len(dataset) == length
        assert_equal(dataset[length - 1], sized(length)[-1])
    verify(tmp_path / "processed" / f"{backend}.db")


# Building ------------------------------------------------------------------------------------------------------------


class Counted(OnDiskDataset):
    """Fails after `stop` graphs, and counts those that it has worked for."""

    worked = 0
    stop: int | None = None
    graphs = 5000

    def process(self) -> None:
        for i, graph in enumerate(sized(self.graphs)):
            if i == self.stop:
                raise RuntimeError("stopped")
            if i >= self.num_committed:
                type(self).worked += 1
            self.append(graph)


def test_an_interrupted_build_goes_on_and_is_invisible_until_complete(backend: str, tmp_path: Path) -> None:
    Counted.worked, Counted.stop = 0, 4500
    with pytest.raises(RuntimeError, match="stopped"):
        Counted(tmp_path, backend=backend)
    assert not (tmp_path / "processed" / f"{backend}.db").exists()
    assert Counted.worked == 4500
    Counted.stop = None
    dataset = Counted(tmp_path, backend=backend)
    assert Counted.worked == 5000
    assert len(dataset) == 5000
    assert_equal(dataset[4999], sized(5000)[4999])
    Counted(tmp_path, backend=backend)
    assert Counted.worked == 5000


def test_a_build_that_goes_on_otherwise_is_refused(backend: str, tmp_path: Path) -> None:
    Counted.stop = 4500
    with pytest.raises(RuntimeError, match="stopped"):
        Counted(tmp_path, backend=backend)

    class Changed(Counted):
        stop = None

        def process(self) -> None:
            self.extend(sized(5000)[:10])
            self.append(sized(4)[2])

    Changed.__qualname__, Changed.__module__ = Counted.__qualname__, Counted.__module__
    with pytest.raises(ValueError, match=r"row 10 .* is another one already"):
        Changed(tmp_path, backend=backend)
    assert len(Changed(tmp_path, backend=backend, force_reload=True)) == 11


def test_converting_again_refuses_or_replaces_and_never_mixes(backend: str, tmp_path: Path) -> None:
    source = Held(sized(20), root=str(tmp_path), transform=marked)
    first = source[:8].to_on_disk_dataset(backend=backend)
    assert repr(first) == "OnDiskHeld(8)"
    assert_equal(first[3], source[3])
    assert len(source[:8].to_on_disk_dataset(backend=backend)) == 8
    with pytest.raises(RuntimeError, match="was not built as is asked for now"):
        source[8:].to_on_disk_dataset(backend=backend)
    assert len(OnDiskDataset(tmp_path / "on_disk", backend=backend)) == 8
    second = source[8:].to_on_disk_dataset(backend=backend, on_change="rebuild")
    assert [int(graph.y) for graph in second] == list(range(8, 20))
    other = source[8:].to_on_disk_dataset(tmp_path / "other", backend=backend)
    assert_equal(pickle.loads(pickle.dumps(other))[2], source[10])


def test_a_dataset_without_a_folder_is_refused() -> None:
    with pytest.raises(ValueError, match="root="):
        Held(sized(3)).to_on_disk_dataset()
    with pytest.raises(ValueError, match="root"):
        OnDiskDataset(None)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="backend must be one of"):
        OnDiskDataset("x", backend="postgres")


@pytest.fixture(autouse=True)
def _restore() -> Iterator[None]:
    yield
    Counted.worked, Counted.stop = 0, None
