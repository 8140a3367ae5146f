"""A few attacks of each kind, with fixed seeds; `python -m gnnlab.bench faults` makes many."""

from collections import Counter
from pathlib import Path

import pytest

from gnnlab.bench import faults, records
from gnnlab.bench.faults import WRITINGS
from gnnlab.data.database import BACKENDS


@pytest.fixture(params=list(BACKENDS))
def backend(request: pytest.FixtureRequest) -> str:
    if request.param == "rocksdb":
        pytest.importorskip("rocksdict", reason="rocksdict is not installed")
    return request.param


@pytest.mark.parametrize("writing", WRITINGS)
def test_a_killed_writer_leaves_nothing_wrong(backend: str, writing: str) -> None:
    found = faults.kills(backend, writing, 10)
    assert found.total() == 10
    assert set(found) <= {"absent", "complete", "partial"}
    assert ("partial" in found) <= (writing == "appending")


def test_damage_is_detected_or_harmless(backend: str) -> None:
    found = faults.damage(backend, 10)
    assert found.total() == 10
    assert found["detected"] >= 1  # RocksDB keeps logs and copies of options, which no read depends on


def test_the_command_prints_and_records_what_it_found(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(faults, "kills", lambda *_: Counter(absent=3))
    monkeypatch.setattr(faults, "damage", lambda *_: Counter(detected=2, harmless=1))
    assert faults.main(["--backends", "mmap", "--out", str(tmp_path)]) == 0
    assert "2 detected, 1 harmless" in capsys.readouterr().out
    rows = records.read(tmp_path / "record.json").sections["attacks"].rows
    assert [row["times"] for row in rows] == ["3", "3", "3", "3"]
