"""Peaks of collating a list and of streaming, at sizes that take seconds."""

import dataclasses

import pytest
import torch

from gnnlab.bench import collate_memory
from gnnlab.bench.collate_memory import WAYS, Capped, Growth, list_then_collate, one_hot_functions, stream
from gnnlab.datasets.python_functions import NODE_TYPES, iter_python_functions
from gnnlab.profile import Peak, estimate_collate

MIB = 2**20


def a_peak(peak, result=MIB, failed=""):
    return Peak(MIB, peak, 0, 0.5, result, "", failed, "")


@pytest.fixture(scope="module")
def growth():
    sample = list(one_hot_functions(20))
    estimates = tuple(estimate_collate(sample, n) for n in (100, 200))
    peaks = {"list, then collate": (a_peak(20 * MIB), a_peak(40 * MIB)), "stream": (a_peak(12 * MIB), a_peak(24 * MIB))}
    return Growth((100, 200), estimates, peaks)


def test_node_types_are_spread_out():
    for spread, graph in zip(one_hot_functions(30), iter_python_functions(limit=30), strict=True):
        assert spread.x.dtype == torch.float32
        assert spread.x.shape == (graph.num_nodes, len(NODE_TYPES))
        assert torch.equal(spread.x.argmax(dim=1), graph.x[:, 0])
        assert spread.x.sum() == graph.num_nodes
        assert torch.equal(spread.edge_index, graph.edge_index)


def test_both_ways_make_a_block_of_the_same_bytes():
    expected = estimate_collate(one_hot_functions(40), 40).total
    assert list_then_collate(40) == stream(40) == expected


def test_growth_predicts_a_list_and_a_stream_from_the_same_estimate(growth):
    assert growth.predicted("list, then collate") == [each.peak_from_list for each in growth.estimates]
    assert growth.predicted("stream") == [each.peak for each in growth.estimates]
    assert growth.measured("stream") == [12 * MIB, 24 * MIB]
    assert growth.between == 32 * MIB


def test_growth_shows_a_row_for_each_measurement(growth):
    header, *rows = growth.table()
    assert [row[:2] for row in rows] == [(way, count) for way in WAYS for count in ("100", "200")]
    assert all(len(row) == len(header) for row in rows)
    assert rows[1][4] == "40.00 MiB"


def test_a_killed_process_has_no_peak_to_show(growth):
    peaks = {**growth.peaks, "stream": (a_peak(12 * MIB), a_peak(None))}
    with pytest.raises(RuntimeError, match="stream: a process was killed"):
        dataclasses.replace(growth, peaks=peaks).table()


def test_the_plot_has_the_measured_points(growth):
    figure = pytest.importorskip("matplotlib.figure").Figure()
    axes = figure.subplots()
    growth.plot(axes)
    lines = {line.get_label(): line.get_xydata().tolist() for line in axes.lines}
    assert lines["stream: measured"] == [[100, 12], [200, 24]]
    assert lines["list, then collate: measured"] == [[100, 20], [200, 40]]
    assert {f"{way}: predicted" for way in WAYS} < lines.keys()


def test_what_failed_under_the_cap_says_why():
    capped = Capped(32 * MIB, {"list, then collate": a_peak(30 * MIB, None, "MemoryError"), "stream": a_peak(24 * MIB)})
    assert [row[1] for row in capped.table()] == ["it", "failed", "succeeded"]
    assert capped.note() == "list, then collate: MemoryError"


def test_under_a_cap_a_list_fails_and_a_stream_succeeds(capsys):
    assert collate_memory.main(["--sizes", "1200", "--sample", "300"]) == 0
    growth, capped = capsys.readouterr().out.split("allowed")
    rows = [line.split() for line in growth.splitlines() if " 1,200 " in line]
    listed, streamed = (float(row[-3]) for row in rows)  # MiB at the peak
    assert listed > streamed
    outcomes = dict(
        line.rsplit(maxsplit=5)[:2] for line in capped.splitlines() if line.startswith(tuple(WAYS)) and ":" not in line
    )
    assert outcomes == {"list, then collate": "failed", "stream": "succeeded"}
