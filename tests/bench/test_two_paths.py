"""Memory of the two paths: what is predicted, by hand on a small case, and what a fresh process takes."""

import matplotlib.pyplot as plt
import pytest

from gnnlab.bench import two_paths
from gnnlab.bench.two_paths import PASSES, PATHS, Case, Memory


@pytest.mark.parametrize(
    ("path", "passes", "weighted", "expected"),
    [
        ("adj_t", "forward", False, 3 * 5 * 4),
        ("adj_t", "forward", True, 3 * 5 * 4),
        ("adj_t", "both", False, 2 * 3 * 5 * 4),
        ("adj_t", "both", True, 2 * 3 * 5 * 4 + 100 * 4),
        ("edge_index", "forward", False, 100 * 5 * 4 + 3 * 5 * 4 + 100 * 32),
        ("edge_index", "both", False, 100 * 5 * 4 + 2 * 3 * 5 * 4 + 100 * 32),
    ],
)
def test_the_prediction_counts_what_is_alive(path: str, passes: str, weighted: bool, expected: int) -> None:
    assert Case(path, passes, weighted, 3, 100, 5).predicted == expected


def test_weighted_messages_are_there_twice() -> None:
    assert Case("edge_index", "forward", True, 3, 100, 50).predicted == 2 * 100 * 50 * 4


def test_both_paths_are_measured_as_predicted() -> None:
    found = two_paths.memory(20_000, [200_000], 64)
    assert {(case.path, case.passes) for case in found.cases} == {(a, b) for a in PATHS for b in PASSES}
    for case, measured in zip(found.cases, found.measured, strict=True):
        assert 0.8 < measured / case.predicted < 1.25, (case, measured)
    fig, ax = plt.subplots()
    found.plot(ax)
    assert len(ax.lines) == 8
    plt.close(fig)


def test_the_command_prints_a_row_for_each_case(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    cases = tuple(Case(path, "forward", False, 10, 20, 4) for path in PATHS)
    monkeypatch.setattr(two_paths, "memory", lambda *_: Memory(cases, (1000, 2000)))
    assert two_paths.main([]) == 0
    assert f"{2000 / cases[1].predicted:.2f}" in capsys.readouterr().out
