"""Datasets on disk measured: each experiment at a small size, and what must hold in it."""

from pathlib import Path

import matplotlib.pyplot as plt
import pytest

from gnnlab.bench import on_disk
from gnnlab.bench.graphs import peer
from gnnlab.bench.on_disk import Beside
from gnnlab.datasets import PythonFunctions


def test_beside_pyg_all_ways_are_timed() -> None:
    pyg = peer()
    if pyg is None:
        pytest.skip("compares with torch_geometric")
    found = on_disk.beside(pyg, 60, 16, 2)
    assert {"PyG, sqlite", "gnnlab, sqlite", "gnnlab, mmap", "gnnlab, in memory"} <= found.times.keys()
    assert set(found.times["gnnlab, sqlite"]) == {"write", "read one", "read batches"}
    assert found.ratio("PyG, sqlite", "write") == 1
    assert "60 graphs" in str(found)


def test_ratios_are_taken_round_by_round() -> None:
    found = Beside({"PyG, sqlite": {"write": (1.0, 10.0, 100.0)}, "ours": {"write": (2.0, 5.0, 400.0)}}, "")
    assert found.ratio("ours", "write") == 2.0
    assert found.median("ours", "write") == 5.0


def test_many_graphs_are_written_in_little_memory_and_read_without_growth() -> None:
    text = on_disk.many(2000, 200)
    assert text.startswith("2,000 graphs")
    assert "200 random graphs read" in text


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_processes_share_one_map(method: str) -> None:
    text = on_disk.share(0.02, 2, method)
    share = float(text.split("its pages take ")[1].split(" times")[0])
    assert share <= 1.02, text


def test_the_ladder_has_a_rung_for_each_way(tmp_path: Path) -> None:
    found = on_disk.ladder(PythonFunctions(limit=40), tmp_path, 8, 20, workers=False)
    assert [rung.name for rung in found.rungs[:3]] == ["list of Data", "collated", "sqlite"]
    assert found.rung("list of Data").resident > found.rung("collated").resident > 0
    assert found.rung("mmap").on_disk > 0
    fig, ax = plt.subplots()
    found.plot(ax)
    assert len(ax.patches) == 2 * len(found.rungs)
    plt.close(fig)


def test_bytes_of_files_and_folders(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a").write_bytes(b"123")
    (tmp_path / "b").write_bytes(b"4567")
    assert on_disk.disk_bytes(tmp_path) == 7
    assert on_disk.disk_bytes(tmp_path / "b") == 4
    with on_disk.workspace() as folder:
        assert folder.is_dir()
    assert not folder.exists()


def test_the_command_prints_all_of_it(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(on_disk, "peer", lambda: None)
    monkeypatch.setattr(on_disk, "many", lambda *_: "many")
    monkeypatch.setattr(on_disk, "share", lambda _, processes, method: f"{processes} by {method}")
    assert on_disk.main([]) == 0
    out = capsys.readouterr().out
    assert "4 by spawn" in out
    assert "skipped: torch_geometric is not installed" in out
