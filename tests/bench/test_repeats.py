"""What repeats: sums whose order is known, operations that must repeat, trainings, and the command."""

import math

import matplotlib.pyplot as plt
import pytest
import torch

from gnnlab.bench import gcn, repeats
from gnnlab.bench.repeats import VARIED, Drift, Operations, Sums


def test_sums_of_the_same_numbers() -> None:
    found = repeats.orders(500, 50)
    numbers = torch.randn(500, generator=torch.Generator().manual_seed(0))
    assert found.exact == math.fsum(numbers.tolist())
    assert found.distinct("sorted first") == 1
    assert found.distinct("one after another") > 10
    for way in found.sums:
        assert all(abs(value - found.exact) < 1e-3 for value in found.sums[way])
    fig, ax = plt.subplots()
    found.plot(ax, "torch.sum")
    assert sum(patch.get_height() for patch in ax.patches) == 50
    plt.close(fig)


def test_products_repeat_in_any_order_and_sums_of_messages_do_not() -> None:
    found = repeats.operations(300, 6000, 8, 3)
    for varied in VARIED:
        for name in ("spmm sum", "spmm mean", "spmm max", "GCNConv, adj_t", "x @ weight"):
            assert found.repeats(name, varied) or (name, varied) == ("x @ weight", "threads"), (name, varied)
    assert found.repeats("gather, scatter sum", "nothing")
    assert found.repeats("x.index_select(0, sender)", "threads")
    assert "edge order" not in found.apart["x[sender]", "backward"]
    assert not found.repeats("gather, scatter sum", "edge order")
    assert not found.repeats("GCNConv, edge_index", "edge order")
    assert {part for name, part in found.apart if name == "spmm max"} == {"forward", "backward"}
    assert found.apart["gather, scatter max", "forward"]["edge order"] == 0
    text = str(found)
    assert "300 nodes, 5,8" in text  # edges that came twice are there once
    assert text.count("\n") == len(found.apart) + 2


def test_the_table_says_equal_or_how_far() -> None:
    table = Operations({("a", "forward"): {"nothing": 0, "edge order": 1.25e-6}}, 2, "").table()
    assert table[1] == ("a", "forward", "equal", "-", "1e-06")


def test_trainings_drift_where_the_order_changes() -> None:
    graph = gcn.packages(1500)
    found = repeats.drift(graph, 4)
    assert not any(found.distances["nothing"])
    assert not any(found.distances["order of the edges, adj_t"])
    assert 0 < found.distances["order of the edges"][-1] < found.distances["seed"][-1]
    assert found.accuracies["nothing"] == found.reference
    assert all(len(each) == 4 for each in found.distances.values())
    threads = torch.get_num_threads()
    fig, ax = plt.subplots()
    found.plot(ax)
    assert len(ax.lines) == len(found.distances)
    assert any("always equal" in text.get_text() for text in ax.get_legend().get_texts())
    plt.close(fig)
    assert torch.get_num_threads() == threads


def test_cost_is_timed_with_the_switch_and_without() -> None:
    found = repeats.cost(200, 2000, 4, 2)
    assert set(found.timings) == {
        "gather, scatter",
        "gather, scatter, deterministic()",
        "gather, scatter, edges sorted",
        "x[sender], scatter",
        "x[sender], scatter, deterministic()",
        "multiply",
        "multiply, deterministic()",
    }
    assert not torch.are_deterministic_algorithms_enabled()


def test_the_command_prints_all_of_it(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(repeats, "orders", lambda *_: Sums(1.0, {"somehow": (1.0, 1.0, 2.0)}))
    monkeypatch.setattr(repeats, "drift", lambda *_: Drift(0.5, {"nothing": (0.0,)}, {"nothing": 0.5}))
    monkeypatch.setattr(gcn, "packages", lambda *_: None)
    assert repeats.main(["--nodes", "50", "--edges", "200", "--width", "4", "--runs", "1"]) == 0
    out = capsys.readouterr().out
    assert "somehow: 2 results" in out
    assert "multiply, deterministic()" in out
