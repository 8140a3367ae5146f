"""`Dataset` and `InMemoryDataset`, line by line beside PyG's; then what is different on purpose, and downloads."""

import os
import pathlib
import signal
import subprocess
import sys
import textwrap
from typing import Any

import pytest
import torch

from gnnlab.data import Data, Dataset, HeteroData, InMemoryDataset
from gnnlab.data.testing import assert_equal
from tests.data.side_by_side import OURS, assert_same, evaluate, ids, theirs
from tests.data.test_parity_data import each

CLASSES = """
import contextlib, io, os, pathlib
graphs = [n.Data(x=torch.full((i + 1, 2), float(i)), edge_index=torch.arange(i + 1).repeat(2, 1),
                 edge_attr=torch.ones(i + 1, 3), y=ids(i % 3)) for i in range(5)]
done, said = [], io.StringIO()
def files(folder):
    own = ('.', 'pre_', 'fingerprint')
    return sorted(name for name in os.listdir(root / folder) if not name.startswith(own))
class List(n.Dataset):
    def __init__(self, graphs, **kwargs):
        super().__init__(**kwargs)
        self.graphs = graphs
    def len(self): return len(self.graphs)
    def get(self, idx): return self.graphs[idx]
class Block(n.InMemoryDataset):
    def __init__(self, graphs, **kwargs):
        super().__init__(**kwargs)
        self.data, self.slices = self.collate(graphs)
class Empty(n.Dataset):
    def len(self): return 0
    def get(self, idx): raise IndexError
class Built(n.InMemoryDataset):
    raw, processed, way = 'raw.txt', 'data.pt', 'save'
    def __init__(self, root, **kwargs):
        with contextlib.redirect_stderr(said):
            super().__init__(root, **kwargs)
        if self.way == 'save': self.load(self.processed_paths[0])
        else: self.data, self.slices = torch.load(self.processed_paths[0], **({'weights_only': False} if n.pyg else {}))
    @property
    def raw_file_names(self): return self.raw
    @property
    def processed_file_names(self): return self.processed
    def download(self):
        done.append('download')
        pathlib.Path(self.raw_dir, 'raw.txt').write_text('raw')
    def process(self):
        done.append('process')
        kept = [graph for graph in graphs if self.pre_filter is None or self.pre_filter(graph)]
        kept = [graph if self.pre_transform is None else self.pre_transform(graph) for graph in kept]
        if self.way == 'save': self.save(kept, self.processed_paths[0])
        else: torch.save(self.collate(kept), self.processed_paths[0])
class Fixed(n.InMemoryDataset):
    raw_file_names, processed_file_names = ['a', 'b'], ('p.pt',)
    def download(self): [pathlib.Path(path).write_text('') for path in self.raw_paths]
    def process(self): self.save(graphs, self.processed_paths[0])
class Pairs(List):
    def len(self): return len(self.graphs) - 1
    def get(self, idx): return self.graphs[idx], self.graphs[idx + 1]
"""

CHOICES = """
0 ; 3 ; -1 ; -6 ; 6 ; np.int64(1) ; ids(2)[0] ; ids(0, 2) ; ids(0, -1) ; [0, 2] ; [] ; (0, 2) ; [9] ; [-1]
range(2) ; 'x'
slice(None) ; slice(1, 3) ; slice(None, None, -1) ; slice(None, 0.5) ; slice(0.2, 0.8) ; slice(-2, None) ; None ; 1.5
np.array([0, 2]) ; torch.arange(len(s)) % 2 == 0 ; np.arange(len(s)) % 2 == 1 ; ids([0, 1], [2, 1])
"""

ASKING = """
len(s), s.len(), list(s.indices()), s._indices ; repr(s), str(s) ; list(s) ; sum(1 for _ in s) ; s.get(0) ; s.get(1)
s.num_classes ; s.num_features, s.num_node_features, s.num_edge_features ; s.num_nodes ; s.zz ; s.log, s.force_reload
s.transform, s.pre_transform, s.pre_filter ; s.has_download, s.has_process ; isinstance(s, torch.utils.data.Dataset)
s.raw_file_names ; s.processed_file_names ; s.raw_paths ; s.processed_paths ; s.download() ; s.process() ; len(s + s)
torch.manual_seed(0) ; s.shuffle() ; s.shuffle().indices() ; s.index_select([1]).indices() ; s.get_summary().num_graphs
copy.copy(s)[0] ; copy.deepcopy(s)[0] ; list(zip(s, s))[0][0]
s.get_summary().num_nodes.mean, s.get_summary().num_edges.max
"""

DATASETS = {
    "List": "List(graphs)",
    "Block": "Block(graphs)",
    "part": "Block(graphs)[1:]",
    "choice": "Block(graphs)[[4, 0, 2]]",
    "pairs": "Pairs(graphs)",
}

WRITING = """
s.transform = lambda g: 't' ; s[0], s[1:][0], list(s[1:])
torch.manual_seed(0) ; t, perm = s.shuffle(return_perm=True) ; list(t.indices()), perm
torch.manual_seed(0) ; list(s.shuffle().indices())
torch.manual_seed(0) ; s.shuffle(True)[1]
"""


@pytest.mark.parametrize("kind", DATASETS)
def test_choosing_does_as_pyg_does(kind: str) -> None:
    setup = f"{CLASSES}\ns = {DATASETS[kind]}"
    for choice in each(CHOICES):
        chosen = f"t = s[{choice}] ; (list(t.indices()), list(t), repr(t)) if isinstance(t, n.Dataset) else t"
        assert_same(chosen, setup)


@pytest.mark.parametrize("kind", DATASETS)
def test_does_as_pyg_does(kind: str) -> None:
    setup = f"{CLASSES}\ns = {DATASETS[kind]}"
    for lines in each(ASKING):
        if not lines.startswith(("torch.manual_seed", "s.shuffle")):
            assert_same(lines, setup)
    for lines in WRITING.strip().splitlines():
        assert_same(lines, setup)


LABELS = """
[ids(0), ids(3)] ; [ids(0), ids(1)] ; [ids(0.), ids(1.)] ; [ids(0.), ids(1.), ids(2.5)]
[ids([0, 1, 1]), ids([0, 0, 0])]
[ids([0., 1, 1]), ids([0, 0, 0.])] ; [0, 3] ; [0.5, 1.5] ; [0.5, 1.5, 2.5] ; [None, None] ; [ids(True), ids(False)]
[ids(-1), ids(2)] ; [ids([1], [2]), ids([3], [0])] ; [torch.ones(2, 2, 3)] * 2 ; [ids(0, 1), ids(4)]
"""


@pytest.mark.parametrize("kind", ["List", "Block"])
@pytest.mark.parametrize("labels", each(LABELS))
def test_classes_are_counted_alike(labels: str, kind: str) -> None:
    assert_same(f"{kind}([n.Data(x=torch.ones(2, 1), y=y) for y in {labels}]).num_classes", CLASSES)


FILES = """
Built(root) ; done, files('raw'), files('processed')
Built(root) ; Built(root) ; done
Built(root) ; Built(root, force_reload=True) ; done
s = Built(root) ; len(s), list(s)
Built.way = 'torch' ; s = Built(root) ; len(s), list(s)
s = Built(root, pre_filter=lambda graph: graph.num_nodes > 2) ; len(s)
s = Built(root, pre_transform=lambda graph: n.Data(z=torch.ones(3))) ; s[0]
s = Built(root, transform=lambda graph: n.Data(z=torch.ones(3))) ; s[0]
s = Built(root, transform=None) ; s.has_download, s.has_process, s.raw_file_names, s.processed_file_names
s = Built(root) ; [os.path.relpath(path, root) for path in (s.raw_dir, s.processed_dir)]
s = Built(root) ; [os.path.relpath(path, root) for path in (*s.raw_paths, *s.processed_paths)]
Built.raw = ['raw.txt'] ; Built(root) ; done
Built.raw = ('raw.txt',) ; Built(root) ; done
Built.raw = staticmethod(lambda: ['raw.txt']) ; s = Built(root) ; done, [path[-7:] for path in s.raw_paths]
Built.raw = [] ; s = Built(root) ; Built(root) ; done, s.raw_paths
Built.raw = ['raw.txt', 'more.txt'] ; Built(root) ; Built(root) ; done
Built.processed = ['data.pt', 'more.pt'] ; Built(root) ; Built(root) ; done
Built.processed = [] ; Built(root) ; done
(root / 'raw').mkdir(parents=True) ; (root / 'raw' / 'raw.txt').write_text('by hand') ; Built(root) ; done
s = Fixed(root) ; s.load(s.processed_paths[0]) ; len(s), files('raw'), files('processed')
Built(str(root)).root == str(root), Built(root).root == root, Built(str(root) + '/./').root == str(root)
Empty('~/nothing').root == os.path.expanduser('~/nothing')
Empty(str(root)) ; os.path.exists(root)
s = Empty() ; s.num_features
s = Empty() ; len(s), repr(s), list(s), s.indices()
n.Dataset()
n.InMemoryDataset(str(root)) ; os.path.exists(root)
"""


@pytest.mark.parametrize("lines", FILES.strip().splitlines())
def test_files_are_fetched_and_built_as_in_pyg(lines: str, tmp_path: pathlib.Path) -> None:
    expected = evaluate(lines, theirs(), CLASSES, root=tmp_path / "pyg")
    assert evaluate(lines, OURS, CLASSES, root=tmp_path / "ours") == expected


def test_what_is_done_is_said_on_stderr(tmp_path: pathlib.Path) -> None:
    script = """
        import sys
        from gnnlab.data import Data, InMemoryDataset

        class Two(InMemoryDataset):
            processed_file_names = "two.pt"

            def process(self):
                self.save([Data(num_nodes=1)] * 2, self.processed_paths[0])

        Two(sys.argv[1], log=sys.argv[2] == "log")
    """
    command = [sys.executable, "-c", textwrap.dedent(script)]
    elsewhere = {
        name: value for name, value in os.environ.items() if name != "PYTEST_CURRENT_TEST"
    }  # in tests it is quiet
    said = [
        subprocess.run([*command, tmp_path / how, how], capture_output=True, text=True, check=True, env=elsewhere)
        for how in ("log", "quiet")
    ]
    assert [result.stderr for result in said] == ["Processing...\nDone!\n", ""]
    assert [result.stdout for result in said] == ["", ""]


# Different on purpose, or more ---------------------------------------------------------------------------------------


class Numbers(Dataset):
    """What `make` makes of 0, 1, 2."""

    def __init__(self, make: Any, root: Any = None, **kwargs: Any) -> None:
        super().__init__(root, **kwargs)
        self.make = make

    def len(self) -> int:
        return 3

    def get(self, idx: int) -> Any:
        return self.make(idx)


def of_types(idx: int) -> HeteroData:
    data = HeteroData()
    data["a"].x = torch.ones(2, 3)
    data["b"].y = ids(idx, 4)
    return data


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (lambda i: (Data(y=ids(i)), Data(y=ids(7))), 8),
        (lambda i: [Data(y=i), Data(x=1)], 3),
        (lambda i: {"first": Data(y=ids(i)), "rest": [Data(y=ids(5))]}, 6),
        (of_types, 5),
        (lambda i: Data(x=torch.ones(1)), 0),
        (lambda i: Data(y=torch.tensor(i)), 3),
    ],
)
def test_classes_of_all_graphs_in_an_item_are_counted(make: Any, expected: int) -> None:
    assert Numbers(make).num_classes == expected


def test_labels_are_numbers() -> None:
    with pytest.raises(TypeError, match="num_classes needs numbers in 'y', found str"):
        _ = Numbers(lambda i: Data(y="a")).num_classes


def test_features_of_a_pair_are_those_of_its_first_graph() -> None:
    dataset = Numbers(lambda i: (Data(x=torch.ones(2, 3), edge_attr=torch.ones(2, 4)), Data(x=torch.ones(2, 5))))
    assert dataset.num_features == dataset.num_node_features == 3
    assert dataset.num_edge_features == 4


def test_lists_of_bools_are_masks_and_bools_no_ids() -> None:
    dataset = Numbers(lambda i: i)
    assert list(dataset[[True, False, True]]) == [0, 2]  # PyG takes ids 1, 0, 1
    with pytest.raises(IndexError, match="found bool"):
        dataset[True]
    with pytest.raises(IndexError, match="a mask must have one entry for each of the 3 items, found 2"):
        dataset[[True, False]]


def test_without_a_root_there_is_no_folder() -> None:
    dataset = Numbers(lambda i: i)
    assert dataset.root is None
    for name in ("raw_dir", "processed_dir"):
        with pytest.raises(ValueError, match=r"Numbers has no folder: it was made without root="):
            getattr(dataset, name)


def test_a_home_folder_is_found_also_of_a_path() -> None:
    assert Numbers(None, pathlib.Path("~/nothing")).root == pathlib.Path("~/nothing").expanduser()
    assert Numbers(None, pathlib.Path("~/nothing")).raw_dir == os.path.expanduser("~/nothing/raw")


class Fetched(InMemoryDataset):
    """Downloads by writing a file; `fail` makes it fail after that."""

    raw_file_names = "raw.txt"
    processed_file_names = "data.pt"
    fetched = 0

    def __init__(self, root: Any, fail: bool = False) -> None:
        self.fail = fail
        super().__init__(root)
        self.load(self.processed_paths[0])

    def download(self) -> None:
        type(self).fetched += 1
        from fsspec import open as open_file

        with open_file(self.raw_paths[0], "w") as file:
            file.write("raw")
        if self.fail:
            raise OSError("no network")

    def process(self) -> None:
        self.save([Data(x=torch.ones(i)) for i in range(1, 4)], self.processed_paths[0])


@pytest.fixture(autouse=True)
def _fresh_count() -> None:
    Fetched.fetched = 0


def test_remote_roots_work() -> None:
    for _ in range(2):
        dataset = Fetched("memory://gnnlab/fetched")
        assert dataset.raw_paths == ["memory://gnnlab/fetched/raw/raw.txt"]
        assert len(dataset) == 3
        assert_equal(dataset[2], Data(x=torch.ones(3)))
    assert Fetched.fetched == 1
    assert not os.path.exists("memory:")


def test_after_a_failed_download_files_may_be_put_there_by_hand(tmp_path: pathlib.Path) -> None:
    with pytest.raises(OSError, match="no network"):
        Fetched(tmp_path, fail=True)
    assert len(Fetched(tmp_path)) == 3
    assert Fetched.fetched == 1
    assert sorted(os.listdir(tmp_path / "raw")) == ["raw.txt"]


def test_a_download_may_put_another_folder_in_place_of_the_raw_one(tmp_path: pathlib.Path) -> None:
    class Unpacked(Fetched):
        def download(self) -> None:
            os.rmdir(self.raw_dir)
            os.makedirs(os.path.join(self.root, "unpacked"))
            os.rename(os.path.join(self.root, "unpacked"), self.raw_dir)
            super().download()

    Unpacked(tmp_path)
    Unpacked(tmp_path)
    assert Unpacked.fetched == 1


def test_a_class_that_names_no_raw_files_works_in_a_read_only_folder(tmp_path: pathlib.Path) -> None:
    class Nothing(Fetched):
        raw_file_names: Any = ()

        def download(self) -> None:
            type(self).fetched += 1

    Nothing(tmp_path)
    (tmp_path / "raw").chmod(0o500)
    tmp_path.chmod(0o500)
    try:
        assert len(Nothing(tmp_path)) == 3
        assert Nothing.fetched == 2
    finally:
        tmp_path.chmod(0o700)
        (tmp_path / "raw").chmod(0o700)


SLOW = """
    import sys, time
    from gnnlab.data import Data, InMemoryDataset

    class Slow(InMemoryDataset):
        raw_file_names = "raw.txt"
        processed_file_names = "data.pt"

        def download(self):
            with open(self.raw_paths[0], "w") as file:
                file.write("half")
                file.flush()
                print("download", flush=True)
                time.sleep(float(sys.argv[2]))
                file.write(" and half")

        def process(self):
            print(open(self.raw_paths[0]).read(), flush=True)
            self.save([Data(num_nodes=1)] * 2, self.processed_paths[0])

    Slow(sys.argv[1], log=False)
"""


def slow(folder: pathlib.Path, seconds: float) -> Any:
    command = [sys.executable, "-c", textwrap.dedent(SLOW), folder, str(seconds)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def test_what_a_killed_download_leaves_never_counts(tmp_path: pathlib.Path) -> None:
    with slow(tmp_path, 60) as process:
        assert process.stdout.readline() == "download\n"
        process.send_signal(signal.SIGKILL)
    assert (tmp_path / "raw" / "raw.txt").read_text() == "half"
    with slow(tmp_path, 0) as process:
        assert process.stdout.read() == "download\nhalf and half\n"
    assert sorted(os.listdir(tmp_path / "raw")) == ["raw.txt"]


def test_two_processes_download_once(tmp_path: pathlib.Path) -> None:
    processes = [slow(tmp_path, 0.5) for _ in range(2)]
    said = sorted(process.communicate(timeout=120)[0] for process in processes)
    assert said == ["", "download\nhalf and half\n"]
