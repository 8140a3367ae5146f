"""The product's benchmark at a tiny size: every candidate is checked against ours, and no figure is missing."""

import matplotlib.pyplot as plt
import pytest

from gnnlab.bench import spmm
from gnnlab.bench.spmm import GATHER_SCATTER, OURS, Crossover
from gnnlab.profile import Comparison, Timing


def test_every_size_and_direction_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert spmm.main(["--nodes", "50", "--edges", "0", "300", "--width", "4", "8", "--repeat", "1"]) == 0
    out = capsys.readouterr().out
    assert [out.count(f"E = {edges}, F = {width}") for edges in (0, 300) for width in (4, 8)] == [1] * 4
    assert [out.count(f"\n{name}") for name in ("torch.sparse CSR", GATHER_SCATTER, spmm.COLD)] == [4] * 3
    assert "MiB above its result" in out


def test_a_candidate_that_differs_is_not_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    adj = spmm.random_matrix(20, 60)
    honest = spmm.candidates(adj)
    monkeypatch.setattr(spmm, "candidates", lambda _: {**honest, "wrong": lambda x: honest["gnnlab"](x) + 1})
    with pytest.raises(AssertionError, match="wrong differs"):
        spmm.compare_products(adj, 4, 1, 1e9)


def test_what_a_product_moves_is_counted_by_entry() -> None:
    found = spmm.compare_products(spmm.random_matrix(20, 60), 4, 1, 1e9)
    assert found.moved == 60 * (4 * 4 + 8) + 20 * 4 * 4
    assert set(found.both.timings) == {*found.forward.timings, spmm.COLD}


def test_a_sweep_has_a_row_for_each_product_and_pass() -> None:
    found = spmm.sweep(20, [2, 3], [4, 8], repeat=1)
    _, *rows = found.table()
    assert [row[:2] for row in rows] == [(f"{d}, {f}", p) for p in ("forward", "both") for d in (2, 3) for f in (4, 8)]
    fig, axes = plt.subplots(1, 2)
    found.plot(axes)
    assert [len(ax.lines) for ax in axes] == [2 * len(found.products[0].forward.timings), 2 * len(rows[0][3:]) + 2]
    plt.close(fig)


@pytest.mark.parametrize(
    ("ratios", "expected"),
    [([0.5, 0.9, 2.0, 3.0], 100), ([2.0, 0.5, 2.0, 3.0], 100), ([2.0] * 4, 1), ([0.5] * 4, None)],
)
def test_the_crossover_is_where_ours_wins_from_there_on(ratios: list[float], expected: int | None) -> None:
    found = Crossover(
        4,
        {
            num_edges: Comparison({OURS: Timing(1.0, (1.0,)), GATHER_SCATTER: Timing(ratio, (ratio,))})
            for num_edges, ratio in zip((1, 10, 100, 1000), ratios, strict=True)
        },
    )
    assert found.first_win == expected


def test_a_crossover_measures_every_size() -> None:
    found = spmm.crossover([1, 30], 4, repeat=1)
    assert [row[0] for row in found.table()] == ["edges, F = 4", "1", "30"]
    fig, ax = plt.subplots()
    found.plot(ax)
    assert len(ax.lines) == len(found.table()[0]) - 1
    plt.close(fig)
