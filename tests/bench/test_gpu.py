"""The script for a GPU, run on a CPU: every section has its rows, and none is taken for a figure of a GPU."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from gnnlab.bench import __main__, gpu, records
from gnnlab.bench.records import Record, Section

pytestmark = [
    pytest.mark.filterwarnings("ignore:Sparse CSR tensor support is in beta state:UserWarning"),
    pytest.mark.filterwarnings("ignore:Sparse invariant checks are implicitly disabled:UserWarning"),
]


@pytest.fixture(scope="module")
def tried(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that a quick run on the CPU wrote."""
    folder = tmp_path_factory.mktemp("gpu")
    assert gpu.main(["--out", str(folder), "--quick", "--device", "cpu", "--commit", "0123abc"]) == 0
    return folder


def test_every_section_is_recorded(tried: Path) -> None:
    record = records.read(tried / "record.json")
    assert (record.kind, record.quick, record.commit) == ("cpu", True, "0123abc")
    assert list(record.sections) == ["equality", "repeats", "times", "memory"]
    equality, repeats, times, memory = record.sections.values()
    assert all(row["equal"] for row in equality.rows)
    assert {row["dtype"] for row in equality.rows} == set(gpu.LIMITS)
    assert {row["what"].split(",")[0] for row in equality.rows} >= {"GCNConv", "GINEConv", "EdgeConv", "spmm max"}
    assert len(repeats.rows) == 2 * 10
    assert {(row["edges"], row["features"]) for row in times.rows} == {(3000, 8), (3000, 16)}
    assert {row["by"] for row in times.rows} >= {"gnnlab", "torch.sparse CSR", "gather-scatter"}
    assert [row["measured, MiB"] for row in memory.rows] == [None] * 4
    text = (tried / "record.md").read_text()
    assert text.count("\n## ") == 4
    assert "small sizes" in text


def test_a_run_on_a_cpu_or_a_quick_one_is_no_record(
    tried: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gpu, "RECORDS", tmp_path / "nowhere")
    assert gpu.recorded() is None
    monkeypatch.setattr(gpu, "RECORDS", tried)
    assert gpu.recorded() is None
    record = records.read(tried / "record.json")
    for name, change in (("quick", {}), ("old", {"quick": False, "date": "2026-01-02"}), ("new", {"quick": False})):
        replace(record, kind="cuda", **change).save(tmp_path / name)
        (tmp_path / f"{name}.json").write_bytes((tmp_path / name / "record.json").read_bytes())
    monkeypatch.setattr(gpu, "RECORDS", tmp_path)
    assert gpu.recorded() == replace(record, kind="cuda", quick=False)


def test_what_differs_from_the_cpu_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    right = torch.tensor([1.0, 2.0])
    bad = gpu._differences("spmm sum", "float32", [right, right], [right, right + 1])
    assert (bad["forward"], bad["backward"], bad["equal"]) == (0.0, 0.5, False)
    monkeypatch.setitem(gpu.SECTIONS, "equality", lambda device, sizes: Section("Equal", (bad,)))
    assert gpu.main(["--out", str(tmp_path), "--quick", "--device", "cpu", "--only", "equality"]) == 1
    assert capsys.readouterr().out.endswith("not equal to the CPU:\n  spmm sum\n")


def test_what_is_not_a_number_is_not_equal() -> None:
    ones = torch.ones(2)
    assert not gpu._differences("x", "float32", [ones, ones], [ones, ones / 0 - ones / 0])["equal"]


def test_an_operation_that_torch_refuses_is_said_to_be() -> None:
    def refused(x: torch.Tensor) -> torch.Tensor:
        if torch.are_deterministic_algorithms_enabled():
            raise RuntimeError("this does not have a deterministic implementation")
        return x * 2

    x = {"x": torch.ones(3)}
    assert gpu._repeated(refused, x, True, 2) == {"forward": "refused", "backward": "refused", "ulps": None}
    assert gpu._repeated(refused, x, False, 2) == {"forward": "equal", "backward": "equal", "ulps": 0}


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_without_a_gpu_it_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        gpu.main(["--out", str(tmp_path)])
    assert "--device: expected a GPU, found none" in capsys.readouterr().err


def test_the_commit_is_that_of_the_checkout_or_unknown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert records.start("cpu", "abc", False).commit == "abc"
    monkeypatch.setattr(records, "_CHECKOUT", tmp_path)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    record = records.start("cpu", None, False)
    assert record.commit == ""
    assert "commit unknown" in str(record)
    monkeypatch.setenv("PATH", "")
    assert records.start("cpu", None, False).commit == ""


def test_all_experiments_are_those_that_need_no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[str] = []
    monkeypatch.setattr(__main__, "run", lambda name, argv: ran.append(name) or 0)
    assert __main__.main(["all"]) == 0
    assert "spmm" in ran
    assert "backends" in ran
    assert not {"gpu", "notebooks"} & set(ran)


def test_a_record_prints_its_sections() -> None:
    section = Section("Times", ({"by": "ours", "ms": 1.5, "n": 2000, "equal": True, "left": None},), "a remark")
    text = str(Record("2026-01-02", "cuda", "a GPU", {"torch": "2.13.0"}, "abc", False, {"times": section}))
    assert "a GPU, 2026-01-02, commit abc\ntorch 2.13.0" in text
    assert text.splitlines()[-2].split() == ["ours", "1.5", "2,000", "yes"]
    assert text.endswith("a remark")
