"""Raw and processed files: downloaded and built once, noticed when they no longer fit, never half done."""

import json
import os
import signal
import subprocess
import sys
import textwrap
import time

import pytest
import torch

from gnnlab.data import Data, Dataset, InMemoryDataset
from gnnlab.data.testing import assert_equal


class Path(InMemoryDataset):
    """`num_graphs` paths of growing length, built from a raw file."""

    built = 0

    def __init__(self, root, num_graphs=3, split="train", folder=False, **kwargs):
        self.num_graphs = num_graphs
        self.folder = folder
        super().__init__(root, **kwargs)
        self.load(self.processed_paths[0], mmap=folder)

    @property
    def raw_file_names(self):
        return "raw.txt"

    @property
    def processed_file_names(self):
        return ["graphs" if self.folder else "graphs.pt"]

    def download(self):
        with open(self.raw_paths[0], "w") as file:
            file.write("raw")

    def process(self):
        type(self).built += 1
        graphs = (Data(num_nodes=n, edge_index=torch.arange(n).repeat(2, 1)) for n in range(1, self.num_graphs + 1))
        if self.pre_filter is not None:
            graphs = (graph for graph in graphs if self.pre_filter(graph))
        if self.pre_transform is not None:
            graphs = (self.pre_transform(graph) for graph in graphs)
        self.save(graphs, self.processed_paths[0])


@pytest.fixture(autouse=True)
def fresh_count():
    Path.built = 0


def add_x(graph):
    graph.x = torch.ones(graph.num_nodes, 1)
    return graph


def add_two(graph):
    graph.x = torch.full((graph.num_nodes, 1), 2.0)
    return graph


@pytest.mark.parametrize("folder", [False, True])
def test_files_are_built_once(tmp_path, folder):
    first = Path(tmp_path, folder=folder)
    second = Path(tmp_path, folder=folder)
    assert Path.built == 1
    assert [graph.num_nodes for graph in second] == [1, 2, 3]
    for a, b in zip(first, second, strict=True):
        assert_equal(a, b)
    assert os.path.exists(tmp_path / "raw" / "raw.txt")
    assert not os.path.exists(tmp_path / "processed" / ".building")


def test_force_reload_builds_again(tmp_path):
    Path(tmp_path)
    Path(tmp_path, force_reload=True)
    assert Path.built == 2


CHANGES = [
    ({"pre_transform": add_x}, {"pre_transform": add_two}, "pre_transform"),
    ({}, {"pre_transform": add_x}, "pre_transform"),
    ({}, {"pre_filter": lambda graph: graph.num_nodes > 1}, "pre_filter"),
    (
        {"pre_filter": lambda graph: graph.num_nodes > 1},
        {"pre_filter": lambda graph: graph.num_nodes > 2},
        "pre_filter",
    ),
    ({"num_graphs": 3}, {"num_graphs": 4}, "num_graphs.*3.*4"),
]


@pytest.mark.parametrize(("before", "after", "named"), CHANGES)
def test_a_change_is_noticed(tmp_path, before, after, named):
    Path(tmp_path, **before)
    with pytest.raises(RuntimeError, match=named):
        Path(tmp_path, **after)
    with pytest.warns(UserWarning, match=named):
        Path(tmp_path, **after, on_change="warn")
    assert Path.built == 1
    rebuilt = Path(tmp_path, **after, on_change="rebuild")
    assert Path.built == 2
    fresh = Path(tmp_path / "other", **after)
    for a, b in zip(rebuilt, fresh, strict=True):
        assert_equal(a, b)
    Path(tmp_path, **after)  # the new way is now the known one


def test_a_new_version_of_the_class_is_noticed(tmp_path, monkeypatch):
    Path(tmp_path)
    monkeypatch.setattr(Path, "version", 2)
    with pytest.raises(RuntimeError, match=r"version.*1.*2"):
        Path(tmp_path)


def test_what_does_not_matter_is_not_noticed(tmp_path):
    Path(tmp_path, split="train", transform=add_x)
    Path(tmp_path, split="test", log=False)
    assert Path.built == 1


def test_files_without_a_fingerprint_are_taken_as_they_are(tmp_path):
    Path(tmp_path)
    os.remove(tmp_path / "processed" / "fingerprint.json")
    Path(tmp_path, num_graphs=9)
    assert Path.built == 1


def test_on_change_must_be_known(tmp_path):
    with pytest.raises(ValueError, match="'refuse', 'rebuild' or 'warn'"):
        Path(tmp_path, on_change="ask")


def test_an_error_while_building_leaves_it_unbuilt(tmp_path):
    def fail(graph):
        raise KeyError("no such thing")

    with pytest.raises(KeyError):
        Path(tmp_path, pre_transform=fail)
    dataset = Path(tmp_path)
    assert len(dataset) == 3


KILLED = """
    import os, sys, time, torch
    from gnnlab.data import Data, InMemoryDataset

    class Slow(InMemoryDataset):
        raw_file_names = []
        processed_file_names = ["a.pt", "b.pt"]

        def process(self):
            for at, path in enumerate(self.processed_paths):
                if sys.argv[2] == "kill":
                    with open(path, "wb") as file:  # as torch.save would, but only half of it
                        file.write(b"half")
                        file.flush()
                        print("half", flush=True)
                        if at == 1:
                            time.sleep(60)
                self.save([Data(num_nodes=n) for n in range(1, 4)], path)

    dataset = Slow(sys.argv[1])
    dataset.load(dataset.processed_paths[1])
    print(len(dataset))
"""


def run_slow(tmp_path, mode, **kwargs):
    script = tmp_path / "slow.py"
    script.write_text(textwrap.dedent(KILLED))
    return subprocess.Popen([sys.executable, script, tmp_path, mode], stdout=subprocess.PIPE, text=True, **kwargs)


def test_a_killed_build_never_counts_as_processed(tmp_path):
    with run_slow(tmp_path, "kill") as process:
        assert [process.stdout.readline() for _ in range(2)] == ["half\n", "half\n"]
        process.send_signal(signal.SIGKILL)
    assert (tmp_path / "processed" / "b.pt").read_bytes() == b"half"
    with run_slow(tmp_path, "build") as process:
        assert process.stdout.read() == "3\n"
    assert process.returncode == 0


def test_a_second_process_waits_for_the_first(tmp_path):
    script = tmp_path / "both.py"
    script.write_text(
        textwrap.dedent(
            """
            import sys, time
            from gnnlab.data import Data, InMemoryDataset

            class Slow(InMemoryDataset):
                raw_file_names = []
                processed_file_names = "a.pt"

                def process(self):
                    print("built", flush=True)
                    time.sleep(1)
                    self.save([Data(num_nodes=1)] * 2, self.processed_paths[0])

            dataset = Slow(sys.argv[1])
            dataset.load(dataset.processed_paths[0])
            print(len(dataset), flush=True)
            """
        )
    )
    command = [sys.executable, script, tmp_path]
    processes = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    outputs = sorted(process.communicate(timeout=60)[0] for process in processes)
    assert outputs == ["2\n", "built\n2\n"]


def test_the_fingerprint_is_plain_json(tmp_path):
    dataset = Path(tmp_path, pre_transform=add_x)
    kept = json.loads((tmp_path / "processed" / "fingerprint.json").read_text())
    assert kept == json.loads(json.dumps(dataset.fingerprint()))
    assert kept["arguments"] == {"num_graphs": 3, "folder": False}


class Numbers(Dataset):
    """A dataset without files: its graphs are made when they are read."""

    def len(self):
        return 5

    def get(self, idx):
        return Data(x=torch.full((idx + 1, 2), float(idx)), y=torch.tensor(idx % 3))


def test_a_dataset_without_files():
    dataset = Numbers(transform=lambda graph: graph.to_dict())
    assert isinstance(dataset[0], dict)
    dataset = Numbers()
    assert len(dataset) == 5
    assert dataset.num_classes == 3
    assert dataset.num_features == 2
    assert repr(dataset) == "Numbers(5)"
    assert repr(dataset[:2]) == "Numbers(2)"
    assert [int(g.x[0, 0]) for g in dataset[1:4]] == [1, 2, 3]
    assert dataset[1:4].indices() == range(1, 4)
    with pytest.raises(ValueError, match="without root="):
        _ = dataset.processed_dir
    assert not dataset.has_download
    assert not dataset.has_process


def test_the_processed_folder_may_be_read_only(tmp_path):
    Path(tmp_path)
    for folder in (tmp_path / "processed", tmp_path):
        folder.chmod(0o500)
    try:
        before = time.time_ns()
        assert len(Path(tmp_path)) == 3
        assert os.stat(tmp_path / "processed").st_mtime_ns < before
    finally:
        for folder in (tmp_path, tmp_path / "processed"):
            folder.chmod(0o700)


@pytest.mark.parametrize("content", [b"", b'{"class": ', b"\xff\xfe"])
def test_a_damaged_fingerprint_is_named(tmp_path, content):
    Path(tmp_path)
    (tmp_path / "processed" / "fingerprint.json").write_bytes(content)
    with pytest.raises(ValueError, match=r"fingerprint\.json.*damaged.*force_reload=True"):
        Path(tmp_path)
    assert len(Path(tmp_path, force_reload=True)) == 3
