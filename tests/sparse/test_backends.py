"""Which backend is taken: by the measured table, by rule, and with torch's deterministic algorithms on."""

import json
from pathlib import Path

import pytest
import torch

import gnnlab
from gnnlab.sparse import backends, measured
from gnnlab.sparse.backends import backend, pick, table
from gnnlab.sparse.measured import RULE, Product, Run, Table


class OnGpu:
    """As much of a tensor on a GPU as `pick` looks at."""

    device = torch.device("cuda")
    dtype = torch.float32


def run(*seconds: dict[str, float]) -> Run:
    products = tuple(Product("float32", "sum", 10, 20, 4, each) for each in seconds)
    return Run("a processor", "2026-01-31", {"torch": "2.13.0"}, products)


def test_another_backend_is_taken_if_it_is_faster_at_every_size() -> None:
    key = "cpu", "float32", "sum"
    slower, faster = {"numba": 1.0, "torch": 2.0}, {"numba": 3.0, "torch": 2.0}
    assert Table({"cpu": run(slower, faster)}).taken() == {key: "numba"}
    assert Table({"cpu": run(faster, faster)}).taken() == {key: "torch"}
    assert Table({"cpu": run({**faster, "new": 1.0})}).taken() == {key: "new"}


def test_what_is_taken_here_is_what_the_table_says() -> None:
    kept = table().taken()
    assert {reduce for _, _, reduce in kept} == {"sum", "mean", "min", "max"}
    for (kind, dtype, reduce), name in kept.items():
        assert kind in RULE
        if kind == "cpu":
            assert pick(torch.ones(1, dtype=getattr(torch, dtype)), reduce) == name


def test_what_was_not_measured_is_taken_by_rule(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backends, "_TAKEN", {})
    assert pick(torch.ones(1, dtype=torch.int8)) == "numba"
    assert pick(torch.ones(1, device="meta")) == "torch"
    for there, name in ((True, "triton"), (False, "torch")):
        monkeypatch.setattr(backends, "_HAS_TRITON", there)
        assert pick(OnGpu()) == name  # type: ignore[arg-type]


def test_what_does_not_repeat_is_not_taken_with_deterministic_algorithms_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backends, "_TAKEN", {("cuda", torch.float32, "sum"): "torch"})
    monkeypatch.setattr(backends, "_HAS_TRITON", True)
    x = OnGpu()
    assert pick(x) == "torch"  # type: ignore[arg-type]
    with gnnlab.deterministic():
        assert pick(x) == "triton"  # type: ignore[arg-type]
    monkeypatch.setattr(backends, "_HAS_TRITON", False)
    with gnnlab.deterministic(), pytest.raises(RuntimeError, match="no backend on a GPU repeats to the bit without"):
        pick(x)  # type: ignore[arg-type]
    with gnnlab.deterministic(warn_only=True), pytest.warns(UserWarning, match="no backend on a GPU repeats"):
        assert pick(x) == "torch"  # type: ignore[arg-type]


def test_triton_is_named_where_it_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backends, "_HAS_TRITON", False)
    backend.cache_clear()
    with pytest.raises(ImportError, match="backend: 'triton' needs the package triton"):
        backend("triton")


def test_the_table_prints_every_product_and_what_was_not_measured() -> None:
    text = str(Table({"cpu": run({"numba": 1e-6, "torch": 25e-6})}))
    assert "cpu: a processor, 2026-01-31, torch 2.13.0" in text
    assert text.splitlines()[2].split() == ["float32", "sum", "10", "20", "4", "1", "25", "numba"]
    assert text.endswith("cuda: not measured; 'triton' is taken by rule")


def test_a_table_is_read_as_it_was_written(tmp_path: Path) -> None:
    kept = Table({"cpu": run({"numba": 1e-6}, {"numba": 2e-6}), "cuda": run({"triton": 1e-6})})
    measured.write(kept, tmp_path / "table.json")
    assert measured.read(tmp_path / "table.json") == kept
    assert sum('"dtype"' in line for line in (tmp_path / "table.json").read_text().splitlines()) == 3
    assert json.loads(measured.FILE.read_text(encoding="utf-8"))["cpu"]["date"]
