"""The product's benchmark at a tiny size: every candidate is checked against ours, and no figure is missing."""

import pytest

from gnnlab.bench import spmm

pytestmark = [
    pytest.mark.filterwarnings("ignore:Sparse CSR tensor support is in beta state:UserWarning"),
    pytest.mark.filterwarnings("ignore:Sparse invariant checks are implicitly disabled:UserWarning"),
]


def test_every_size_and_direction_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert spmm.main(["--nodes", "50", "--edges", "0", "300", "--width", "4", "8", "--repeat", "1"]) == 0
    out = capsys.readouterr().out
    assert [out.count(f"E = {edges}, F = {width}") for edges in (0, 300) for width in (4, 8)] == [1] * 4
    assert out.count("forward: gnnlab") == out.count("forward + backward: gnnlab") == 4
    assert "MiB above its result" in out


def test_a_candidate_that_differs_is_not_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    adj = spmm.random_matrix(20, 60)
    honest = spmm.candidates(adj)
    monkeypatch.setattr(spmm, "candidates", lambda _: {**honest, "wrong": lambda x: honest["gnnlab"](x) + 1})
    with pytest.raises(AssertionError, match="wrong differs"):
        spmm.compare_products(adj, 4, 1, 1e9)
