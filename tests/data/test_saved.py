"""Files of graphs: what is read is what was saved, or an error that names the file; nothing in a file is ever run."""

import collections
import copy
import os
import pickle
import signal
import subprocess
import sys
import textwrap
import zipfile

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gnnlab.data import Data, HeteroData, InMemoryDataset, TemporalData, saved
from gnnlab.data.testing import assert_equal, equal
from gnnlab.files import write_folder
from gnnlab.loader import DataLoader
from tests.strategies import SPARSE_KINDS, graph_lists

FORMATS = ["graphs.pt", "graphs"]


class Saved(InMemoryDataset):
    """A dataset read from a file."""

    def __init__(self, path, **kwargs):
        super().__init__(None)
        self.load(str(path), **kwargs)


def make_graphs(count=5, size=3):
    return [
        Data(x=torch.full((size + i, 4), float(i)), edge_index=torch.tensor([[0], [i]]), y=i, name=f"graph {i}")
        for i in range(count)
    ]


def assert_saves(graphs, path, **kwargs):
    """What is read from `path` is what was saved there."""
    InMemoryDataset.save(graphs, str(path))
    dataset = Saved(path, **kwargs)
    assert len(dataset) == len(graphs)
    for graph, found in zip(graphs, dataset, strict=True):
        assert_equal(found, graph, normalised=True)
    return dataset


# There and back ------------------------------------------------------------------------------------------------------


def any_graphs(**kwargs):
    return st.one_of(graph_lists(**kwargs), graph_lists(hetero=True, missing_types=True, **kwargs))


@settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large], max_examples=40)
@given(any_graphs(optional=True, sparse=SPARSE_KINDS, requires_grad=True), st.sampled_from([*FORMATS, "mmap"]))
def test_graphs_of_every_make_come_back(tmp_path_factory, graphs, name):
    if len(graphs) > 1 and not any(len(store) for graph in graphs for store in graph.stores):
        return
    assert_saves(graphs, tmp_path_factory.mktemp("saved") / name, mmap=name == "mmap")


NAMES = ["_hidden", "num_edges", "stores", "keys", "self", "cls", "_mapping", "_store", "data", "slices", "", "1"]


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("attribute", [*NAMES, "class", "a b", "../up", "a/b", "größe", "x\0y", "🙂"])
@pytest.mark.parametrize("count", [1, 3])
def test_attributes_may_have_any_name(tmp_path, name, attribute, count):
    graphs = [Data(x=torch.ones(2, 1)) for _ in range(count)]
    for at, graph in enumerate(graphs):
        graph[attribute] = torch.tensor([at, 7])
    assert_saves(graphs, tmp_path / name)
    graphs = [HeteroData() for _ in range(count)]
    for at, graph in enumerate(graphs):
        graph["a"][attribute] = torch.tensor([at])
        graph["a", "two words", "b c"][attribute] = torch.tensor([at])
        graph["y"].x, graph["x_dict"].x = torch.ones(1, 1), torch.ones(1, 1)
    assert_saves(graphs, tmp_path / name)


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("count", [1, 3])
@pytest.mark.parametrize(
    "value",
    [
        torch.nn.Parameter(torch.ones(2)),
        torch.ones(4)[::2],
        torch.ones(2, 3).t(),
        torch.ones(1, 1).expand(3, 2),
        torch.ones(2, dtype=torch.complex64).conj(),
        torch.zeros(2, dtype=torch.uint8).view(torch.float8_e4m3fn),
        torch.tensor([1, 2], dtype=torch.uint16),
        b"bytes",
        [],
        {},
        [None, 2**80, float("inf")],
        {1: torch.ones(2), ("a", "b"): "text", "inner": {"deep": (torch.ones(1), torch.ones(2))}},
    ],
)
def test_values_of_odd_kinds_come_back(tmp_path, name, count, value):
    graphs = [Data(x=torch.ones(2, 1), odd=copy.deepcopy(value)) for _ in range(count)]
    InMemoryDataset.save(graphs, str(tmp_path / name))
    joined, slices = InMemoryDataset.collate(graphs)
    found, found_slices = saved.load(str(tmp_path / name))
    assert_equal(found, joined)
    assert_equal(found_slices, slices)


Pair = collections.namedtuple("Pair", ["first", "second"])


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("count", [1, 3])
@pytest.mark.parametrize("value", [Pair(1, 2), {"a": [frozenset()]}, np.datetime64("2020-01-01"), len, range(3)])
def test_what_could_not_be_read_again_is_not_saved(tmp_path, name, count, value):
    with pytest.raises(TypeError, match="odd"):
        InMemoryDataset.save([Data(x=torch.ones(2, 1), odd=value) for _ in range(count)], str(tmp_path / name))
    assert [path.name for path in tmp_path.iterdir() if not path.name.startswith(".lock")] == []


class Marked(torch.Tensor):
    """A tensor of a class of one's own."""


@pytest.mark.parametrize("name", FORMATS)
def test_tensors_of_other_classes_are_not_saved(tmp_path, name):
    graphs = [Data(x=torch.ones(2, 1).as_subclass(Marked)) for _ in range(2)]
    with pytest.raises(TypeError, match="Marked"):
        InMemoryDataset.save(graphs, str(tmp_path / name))


def test_a_folder_of_other_things_is_never_replaced(tmp_path):
    path = tmp_path / "thesis"
    path.mkdir()
    InMemoryDataset.save(make_graphs(), str(path))  # it was empty
    assert_saves(make_graphs(2), path)
    (path / "manifest.json").rename(path / "chapter.txt")
    before = sorted(path.iterdir())
    with pytest.raises(FileExistsError, match="thesis is a folder that holds other things than graphs"):
        InMemoryDataset.save(make_graphs(), str(path))
    assert sorted(path.iterdir()) == before


def test_arrays_are_saved_in_folders(tmp_path):
    graphs = [Data(num_nodes=1, table=np.arange(i + 1)) for i in range(3)]
    assert_saves(graphs, tmp_path / "graphs")
    with pytest.raises(TypeError, match=r"data\['table'\] holds a numpy.ndarray.*a folder takes NumPy arrays"):
        InMemoryDataset.save(graphs, str(tmp_path / "graphs.pt"))


@pytest.mark.parametrize("name", FORMATS)
def test_a_saved_part_takes_its_own_bytes_only(tmp_path, name):
    """The graphs are views of a block a thousand times as large."""
    path = tmp_path / name
    big = InMemoryDataset()
    big.data, big.slices = big.collate(make_graphs(3000))
    InMemoryDataset.save(list(big[:3]), str(path))
    files = [path] if path.is_file() else list(path.iterdir())
    assert sum(file.stat().st_size for file in files) < 12_000


def test_one_file_is_read_by_torch_as_it_is(tmp_path):
    InMemoryDataset.save(make_graphs(2), str(tmp_path / "graphs.pt"))
    found = torch.load(tmp_path / "graphs.pt")
    assert found["data"]["x"].shape == (7, 4)
    assert found["slices"]["x"].tolist() == [0, 3, 7]


def test_the_idioms_of_scripts(tmp_path):
    path = str(tmp_path / "graphs.pt")
    graphs = make_graphs()
    torch.save(InMemoryDataset.collate(graphs), path)
    dataset = InMemoryDataset()
    dataset.data, dataset.slices = torch.load(path)
    for found in (dataset, Saved(path)):
        for graph, other in zip(graphs, found, strict=True):
            assert_equal(other, graph, normalised=True)
    torch.save(graphs[0], path)
    assert_equal(Saved(path)[0], graphs[0])


def test_files_need_not_lie_on_the_disk_but_folders_do(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    graphs = make_graphs()
    assert_saves(graphs, "memory://test_saved/graphs.pt")
    with pytest.raises(ValueError, match="must lie on the disk, found memory://test_saved/graphs"):
        InMemoryDataset.save(graphs, "memory://test_saved/graphs")
    assert list(tmp_path.iterdir()) == []
    for name in FORMATS:
        assert_saves(graphs, f"file://{tmp_path}/{name}")
        assert (tmp_path / name).exists()
    with pytest.raises(ValueError, match="must lie on the disk, found memory://test_saved"):
        Saved("memory://test_saved")


@pytest.mark.parametrize("name", FORMATS)
def test_a_stream_of_events_is_saved_too(tmp_path, name):
    events = TemporalData(src=torch.tensor([0]), dst=torch.tensor([1]), t=torch.tensor([2]), msg=torch.ones(1, 2))
    assert_saves([events], tmp_path / name)


# Classes -------------------------------------------------------------------------------------------------------------


class Molecule(Data):
    """A graph of a class of one's own."""


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("count", [1, 3])
def test_graphs_keep_their_class(tmp_path, name, count):
    graphs = [Molecule(x=torch.ones(2, 1)) for _ in range(count)]
    assert_saves(graphs, tmp_path / name)


@pytest.mark.parametrize("name", FORMATS)
def test_a_class_that_is_not_defined_here_is_asked_for(tmp_path, name):
    script = """
        import sys, torch
        from gnnlab.data import Data, InMemoryDataset
        class Elsewhere(Data):
            pass
        InMemoryDataset.save([Elsewhere(x=torch.ones(n, 1)) for n in (1, 2)], sys.argv[1])
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(script), tmp_path / name], check=True)
    with pytest.raises(
        ValueError, match=rf"{name} holds graphs of class __main__.Elsewhere, which is not defined here"
    ):
        Saved(tmp_path / name)
    assert type(Saved(tmp_path / name, data_cls=Molecule)[1]) is Molecule


# Files that are not what they should be ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", FORMATS)
def test_a_missing_file_is_named(tmp_path, name):
    with pytest.raises(FileNotFoundError, match=f"no saved graphs at .*{name}"):
        Saved(tmp_path / name)


@pytest.mark.parametrize("part", [0.0, 1e-4, 0.01, 0.5, 0.9, 0.999])
def test_a_file_that_was_cut_short_is_named(tmp_path, part):
    path = tmp_path / "graphs.pt"
    InMemoryDataset.save(make_graphs(), str(path))
    raw = path.read_bytes()
    path.write_bytes(raw[: int(part * len(raw))])
    with pytest.raises((ValueError, pickle.UnpicklingError), match=r"graphs\.pt is damaged"):
        Saved(path)


@pytest.mark.filterwarnings("ignore:Detected pickle protocol:UserWarning")  # torch, of a protocol it finds in noise
def test_noise_is_never_taken_for_graphs(tmp_path):
    path = tmp_path / "graphs.pt"
    for seed in range(200):
        path.write_bytes(np.random.default_rng(seed).bytes(seed))
        with pytest.raises((ValueError, pickle.UnpicklingError), match=r"graphs\.pt is damaged"):
            Saved(path)


@pytest.mark.filterwarnings("ignore:Detected pickle protocol:UserWarning")
def test_damage_outside_the_tensors_is_noticed_or_harmless(tmp_path):
    path = tmp_path / "graphs.pt"
    graphs = make_graphs(2)
    InMemoryDataset.save(graphs, str(path))
    raw = path.read_bytes()
    with zipfile.ZipFile(path) as archive:
        entry = next(info for info in archive.infolist() if info.filename.endswith("data.pkl"))
    for at in range(entry.header_offset, entry.header_offset + entry.compress_size + 80):
        path.write_bytes(raw[:at] + bytes([raw[at] ^ 0x41]) + raw[at + 1 :])
        try:
            assert len(list(Saved(path))) == 2
        except (ValueError, pickle.UnpicklingError, RuntimeError, IndexError, KeyError, AttributeError, TypeError):
            continue


STRANGERS = [
    5,
    [torch.ones(2)],
    torch.ones(2),
    torch.nn.Linear(1, 1).state_dict(),
    (1, 2),
    ({"x": torch.ones(2)}, 3),
    ({"x": torch.ones(2)}, None, "Data"),
    (1, 2, 3, 4),
    {"format": saved.FORMAT},
    {"format": saved.FORMAT, "version": "1", "class": "gnnlab.data.data.Data", "data": {}, "slices": None},
    {"format": saved.FORMAT, "version": 1, "class": 5, "data": {}, "slices": None},
    {"format": saved.FORMAT, "version": 1, "class": "gnnlab.data.data.Data", "data": 5, "slices": None},
    {"format": saved.FORMAT, "version": 1, "class": "gnnlab.data.data.Data", "data": {}, "slices": 5},
]


@pytest.mark.parametrize("content", STRANGERS)
def test_other_files_hold_no_graphs(tmp_path, content):
    path = tmp_path / "graphs.pt"
    torch.save(content, path)
    with pytest.raises(ValueError, match=r"graphs\.pt holds no saved graphs"):
        Saved(path)


def test_other_folders_hold_no_graphs(tmp_path):
    path = tmp_path / "graphs"
    for tree, meta in [({"a": 1}, None), ([1], {"format": saved.FORMAT}), ({"data": 5}, {"format": saved.FORMAT})]:
        write_folder(path, tree, meta)
        with pytest.raises(ValueError, match="graphs holds no saved graphs"):
            Saved(path)


@pytest.mark.parametrize("name", FORMATS)
def test_a_newer_version_is_told(tmp_path, name, monkeypatch):
    monkeypatch.setattr(saved, "VERSION", 7)
    InMemoryDataset.save(make_graphs(), str(tmp_path / name))
    monkeypatch.undo()
    with pytest.raises(ValueError, match=rf"{name} was saved by a newer gnnlab: its version is 7, this one reads 1"):
        Saved(tmp_path / name)


def test_a_folder_with_a_file_missing_or_cut_short_is_refused(tmp_path):
    path = tmp_path / "graphs"
    for damage in (os.remove, lambda file: os.truncate(file, 8), lambda file: os.truncate(file, 10_000)):
        InMemoryDataset.save(make_graphs(), str(path))
        damage(path / "0000.bin")
        for mmap in (False, True):
            with pytest.raises(ValueError, match=r"graphs: file '0000.bin' of attribute 'data/x'"):
                Saved(path, mmap=mmap)


def test_slices_beyond_the_block_read_nothing_else():
    dataset = InMemoryDataset()
    dataset.data, dataset.slices = Data(x=torch.ones(3, 1)), {"x": torch.tensor([0, 2, 10_000])}
    assert dataset.batch([0, 0]).x.tolist() == [[1.0]] * 4
    with pytest.raises((RuntimeError, IndexError)):
        dataset.batch([1])


# Hostile files -------------------------------------------------------------------------------------------------------


class Call:
    """Pickles as a call of `function`."""

    def __init__(self, function, *args):
        self.call = function, args

    def __reduce__(self):
        return self.call


@pytest.mark.parametrize("function", [os.system, os.mkdir, eval, exec, open, subprocess.check_call])
def test_nothing_in_a_file_is_run(tmp_path, function):
    path, trace = tmp_path / "graphs.pt", tmp_path / "trace"
    argument = {os.system: f"touch {trace}", os.mkdir: str(trace), subprocess.check_call: ["touch", str(trace)]}
    evil = Call(function, argument.get(function, f"open({str(trace)!r}, 'w')"), *(["w"] if function is open else []))
    graph = Data(x=torch.ones(2, 1), evil=evil)
    for content in (evil, (evil, None), ({"x": evil}, None, Data), graph, (graph, {}), {"format": evil}):
        for zipped in (True, False):
            torch.save(content, path, _use_new_zipfile_serialization=zipped)
            with pytest.raises(pickle.UnpicklingError, match=r"graphs\.pt is damaged, or holds what is not read"):
                Saved(path)
    assert not trace.exists()


def test_trust_runs_what_a_file_says(tmp_path):
    path = tmp_path / "graphs.pt"
    torch.save((Data(x=torch.ones(2, 1), odd=Call(range, 3)), None), path)
    with pytest.raises(pickle.UnpicklingError):
        Saved(path)
    assert Saved(path, trust=True)[0].odd == range(3)


# Killed while saving -------------------------------------------------------------------------------------------------

SAVE_FOR_EVER = """
    import sys, torch
    from gnnlab.data import Data, InMemoryDataset

    path, which = sys.argv[1], int(sys.argv[2])
    while True:
        InMemoryDataset.save([Data(x=torch.full((100_000, 4), float(which))) for _ in range(3)], path)
        print("saved", flush=True)
"""


@pytest.mark.parametrize("name", FORMATS)
def test_killed_while_saving_leaves_old_or_new(tmp_path, name):
    path = tmp_path / name
    seen = set()
    for which in range(6):
        command = [sys.executable, "-c", textwrap.dedent(SAVE_FOR_EVER), path, str(which)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            process.stdout.readline()
            try:  # one more, killed at some moment within
                process.wait(timeout=0.002 * 4**which / 3)
            except subprocess.TimeoutExpired:
                process.send_signal(signal.SIGKILL)
        x = Saved(path)._data.x
        assert x.unique().numel() == 1
        assert x.shape == (300_000, 4)
        seen.add(int(x[0, 0]))
    assert seen == set(range(6))


# Memory-mapped -------------------------------------------------------------------------------------------------------


def make_mapped(tmp_path, count=200):
    """A set whose files are large enough to be mapped."""
    graphs = [
        Data(x=torch.full((100, 16), float(i)), edge_index=torch.full((2, 50), i % 100), y=i) for i in range(count)
    ]
    InMemoryDataset.save(graphs, str(tmp_path / "graphs"))
    return graphs, Saved(tmp_path / "graphs", mmap=True)


def mapped_files(folder):
    with open("/proc/self/maps") as file:
        return {line.split()[-1] for line in file if str(folder) in line}


def test_mapped_files_are_mapped_not_read(tmp_path):
    graphs, dataset = make_mapped(tmp_path)
    assert len(mapped_files(tmp_path)) == 2
    for i in (0, 7, -1):
        assert_equal(dataset[i], graphs[i], normalised=True)
    InMemoryDataset.save(graphs[:2], str(tmp_path / "graphs.pt"))
    with pytest.raises(ValueError, match="mmap needs the folder format"):
        Saved(tmp_path / "graphs.pt", mmap=True)


def test_writing_to_a_mapped_tensor_never_reaches_the_file(tmp_path):
    graphs, dataset = make_mapped(tmp_path)
    dataset._data.x.zero_()
    dataset[3].edge_index.fill_(-1)
    assert dataset.batch([3]).x.abs().sum() == 0
    for mmap in (False, True):
        fresh = Saved(tmp_path / "graphs", mmap=mmap)
        assert_equal(fresh[3], graphs[3], normalised=True)


@pytest.mark.parametrize("context", ["fork", "spawn"])
def test_mapped_sets_work_with_workers(tmp_path, context):
    _, dataset = make_mapped(tmp_path)
    expected = list(DataLoader(dataset[5:50], batch_size=16))
    loader = DataLoader(dataset[5:50], batch_size=16, num_workers=2, multiprocessing_context=context)
    for batch, other in zip(loader, expected, strict=True):
        assert_equal(batch, other)
    assert_equal(next(iter(DataLoader(dataset[5:50], batch_size=16))), expected[0])


def test_mapped_sets_pickle_and_copy(tmp_path):
    graphs, dataset = make_mapped(tmp_path)
    for twin in (pickle.loads(pickle.dumps(dataset)), copy.deepcopy(dataset), dataset.copy([1, 3, 5])):
        assert_equal(twin[-1], graphs[-1 if len(twin) == 200 else 5], normalised=True)


def test_saving_again_leaves_an_open_mapping_as_it_was(tmp_path):
    graphs, dataset = make_mapped(tmp_path)
    InMemoryDataset.save([Data(x=torch.zeros(5, 5))] * 3, str(tmp_path / "graphs"))
    assert_equal(dataset[199], graphs[199], normalised=True)
    assert len(Saved(tmp_path / "graphs", mmap=True)) == 3


def test_a_mapped_set_can_be_saved_to_where_it_came_from(tmp_path):
    graphs, dataset = make_mapped(tmp_path)
    InMemoryDataset.save(list(dataset[10:20]), str(tmp_path / "graphs"))
    for graph, found in zip(graphs[10:20], Saved(tmp_path / "graphs", mmap=True), strict=True):
        assert_equal(found, graph, normalised=True)


# Files of PyG's ------------------------------------------------------------------------------------------------------


def their_graphs(pyg, kind, count):
    """Graphs of PyG's, and the same of ours."""
    both = []
    for module in (pyg.data, sys.modules["gnnlab.data"]):
        graphs = []
        for i in range(count):
            if kind == "hetero":
                graph = module.HeteroData()
                graph["a"].x = torch.full((i + 1, 2), float(i))
                graph["b"].num_nodes = i + 2
                graph["a", "to", "b"].edge_index = torch.tensor([[0], [i]])
                graph.y = torch.tensor([i])
            elif kind == "counted":
                graph = module.Data(num_nodes=i + 2, edge_index=torch.tensor([[0], [i]]), y=i)
            else:
                graph = module.Data(
                    x=torch.full((i + 1, 2), float(i)),
                    name=f"graph {i}",
                    meta={"rows": torch.ones(i + 1), "text": "a"},
                    parts=[torch.ones(2), torch.ones(i)],
                )
            graphs.append(graph)
        both.append(graphs)
    return both


def save_as_pyg(pyg, how, graphs, path):
    if how == "save":
        pyg.data.InMemoryDataset.save(graphs, str(path))
    elif how == "collate":
        torch.save(pyg.data.InMemoryDataset.collate(graphs), path)
    else:
        torch.save(graphs[0], path)


KINDS = ["plain", "counted", "hetero"]
WAYS = [("save", 4), ("save", 1), ("collate", 4), ("collate", 1), ("graph", 1)]


@pytest.fixture(scope="module")
def pyg():
    return pytest.importorskip("torch_geometric", reason="compares with files that PyG wrote")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("how", "count"), WAYS)
@pytest.mark.parametrize("trust", [False, True])
def test_files_of_pyg_hold_our_graphs(tmp_path, pyg, kind, how, count, trust):
    path = tmp_path / "data.pt"
    theirs, ours = their_graphs(pyg, kind, count)
    save_as_pyg(pyg, how, theirs, path)
    dataset = Saved(path, trust=trust)
    for graph, found in zip(ours, dataset, strict=True):
        assert_equal(found, graph, normalised=True)
    for name in FORMATS:  # nothing of PyG's is left in what was read
        saved.save(dataset._data, dataset.slices, str(tmp_path / name))
        for graph, found in zip(ours, Saved(tmp_path / name), strict=True):
            assert_equal(found, graph, normalised=True)
    torch.save((dataset._data, dataset.slices), path)
    torch.load(path)


def test_files_of_pyg_are_read_without_pyg(tmp_path, pyg):
    paths = []
    for kind in KINDS:
        for how, count in WAYS:
            paths.append(tmp_path / f"{kind}-{how}-{count}.pt")
            save_as_pyg(pyg, how, their_graphs(pyg, kind, count)[0], paths[-1])
    script = """
        import sys
        sys.modules["torch_geometric"] = None  # as if it were not installed
        from gnnlab.data import InMemoryDataset
        for path in sys.argv[1:]:
            dataset = InMemoryDataset()
            dataset.load(path)
            print([graph.num_nodes for graph in dataset])
    """
    command = [sys.executable, "-W", "error", "-c", textwrap.dedent(script), *paths]
    lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    counts = {"plain": [1, 2, 3, 4], "counted": [2, 3, 4, 5], "hetero": [3, 5, 7, 9]}
    assert lines == [str(counts[kind][:count]) for kind in KINDS for _, count in WAYS]


def test_classes_derived_from_pygs_need_trust_and_become_their_base(tmp_path, pyg):
    path = tmp_path / "data.pt"
    for base, kind in [(pyg.data.Data, "plain"), (pyg.data.HeteroData, "hetero")]:
        cls = type("Mine", (base,), {"__module__": __name__, "__qualname__": "Mine"})
        globals()["Mine"] = cls  # where pickle looks for it
        theirs, ours = their_graphs(pyg, kind, 3)
        pyg.data.InMemoryDataset.save([cls.from_dict(graph.to_dict()) for graph in theirs], str(path))
        with pytest.raises(pickle.UnpicklingError, match="Mine"):
            Saved(path)
        for graph, found in zip(ours, Saved(path, trust=True), strict=True):
            assert_equal(found, graph, normalised=True)


def test_a_stream_of_events_of_pygs(tmp_path, pyg):
    path = tmp_path / "data.pt"
    events = {"src": torch.tensor([0]), "dst": torch.tensor([1]), "t": torch.tensor([2]), "msg": torch.ones(1, 2)}
    torch.save(pyg.data.TemporalData(**events), path)
    assert equal(Saved(path)[0], TemporalData(**events))


@pytest.mark.parametrize("name", FORMATS)
def test_slices_that_do_not_fit_are_refused(tmp_path, name):
    path = str(tmp_path / name)
    for change in ([0, 3, 2, 12, 18, 25], [1, 3, 7, 12, 18, 25], [0, 3, 7, 12, 18, 24]):
        block, slices = InMemoryDataset.collate(make_graphs())
        assert slices["x"].tolist() == [0, 3, 7, 12, 18, 25]
        saved.save(block, {**slices, "x": torch.tensor(change)}, path)
        with pytest.raises(ValueError, match=rf"{name}.*damaged: the slices of attribute 'x' do not fit"):
            InMemoryDataset().load(path)


def test_a_flipped_bit_is_found_where_one_asks(tmp_path):
    path = tmp_path / "folder"
    InMemoryDataset.save(make_graphs(), str(path))
    victim = max(path.glob("*.bin"), key=lambda file: file.stat().st_size)
    content = bytearray(victim.read_bytes())
    content[0] ^= 1
    victim.write_bytes(content)
    InMemoryDataset().load(str(path))
    with pytest.raises(ValueError, match=victim.name):
        InMemoryDataset().load(str(path), verify=True)
