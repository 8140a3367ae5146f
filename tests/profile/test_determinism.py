import itertools

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import gnnlab
from gnnlab.profile import determinism

EDGES = torch.tensor([[0, 1, 2, 3, 1, 0], [0, 0, 0, 0, 1, 1]])


def counter():
    """A function that gives 0, 1, 2, ..."""
    numbers = itertools.count()
    return lambda: torch.tensor(float(next(numbers)))


def test_what_repeats_is_equal_in_all_rows():
    report = determinism(lambda x: x * 2, runs=3, inputs={"x": torch.rand(5)})
    assert [(row.varied, row.part, row.runs) for row in report.rows] == [
        (varied, part, 3) for varied in ("nothing", "threads", "alignment") for part in ("forward", "backward")
    ]
    assert report.equal
    assert all((row.difference, row.ulps, row.worst) == (0.0, 0, "") for row in report.rows)


def test_what_differs_is_counted_and_measured_from_the_first_run():
    report = determinism(counter(), runs=4, vary=())
    (row,) = report.rows
    assert (row.varied, row.part, row.runs, row.differing, row.difference, row.worst) == (
        "nothing",
        "forward",
        4,
        3,
        3.0,
        "out",
    )
    assert not row.equal
    assert not report.equal


def test_threads_take_turns_and_are_set_back():
    before = torch.get_num_threads()
    seen = []

    def threads():
        seen.append(torch.get_num_threads())
        return torch.tensor(seen[-1])

    report = determinism(threads, runs=4, vary=("threads",), threads=(before, before + 1))
    assert seen == [before] * 4 + [before, before + 1] * 2
    assert report.row("nothing").equal
    assert (report.row("threads").differing, report.row("threads").ulps) == (2, 1)
    assert torch.get_num_threads() == before
    assert f"threads tried: {before}, {before + 1}" in str(report)


def test_a_sum_in_another_order_is_another_sum():
    """1e8 hides what is added to it one by one, in float32."""

    def aggregate(edge_index, edge_weight):
        out = torch.zeros(2)
        for (_, target), weight in zip(edge_index.t().tolist(), edge_weight, strict=True):
            out[target] = out[target] + weight
        return out

    weight = torch.tensor([1e8, 3.0, 3.0, 3.0, 1.0, 1.0])
    report = determinism(aggregate, runs=8, inputs={"edge_index": EDGES, "edge_weight": weight})
    assert report.row("nothing").equal
    assert 0 < report.row("edge order").difference <= 16
    assert report.row("edge order").ulps > 0
    assert report.row("edge order").worst == "out"
    assert report.row("edge order", "backward").equal


def test_edges_and_their_attributes_move_together():
    def aggregate(edge_index, edge_attr, x):
        rows = edge_attr[:, 0].long()
        assert torch.equal(edge_index[:, rows.argsort()], EDGES)
        return torch.zeros(4).index_add_(0, edge_index[0], edge_attr[:, 0]) + x

    inputs = {"edge_index": EDGES, "edge_attr": torch.arange(6.0).view(6, 1), "x": torch.zeros(4)}
    report = determinism(aggregate, runs=5, vary=("edge order",), inputs=inputs)
    assert report.equal


def test_other_places_in_memory():
    starts = set()

    def where(x):
        starts.add(x.data_ptr() % 64)
        return x + 1

    assert determinism(where, runs=6, vary=("alignment",), inputs={"x": torch.zeros(40)}).equal
    assert len(starts) == 7


def test_gradients_of_inputs_and_parameters():
    calls = itertools.count()

    class Drifts(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, grad):
            return grad + next(calls)

    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = torch.nn.Parameter(torch.ones(2))

        def forward(self, x):
            return x + Drifts.apply(self.weight)

    model = Model()
    report = determinism(model, runs=3, vary=(), inputs={"x": torch.zeros(2)})
    row = report.row("nothing", "backward")
    assert (row.worst, row.difference, row.differing) == ("weight", 2.0, 2)
    assert report.row("nothing").equal
    assert model.weight.grad is None


def test_random_draws_and_running_statistics_make_no_difference():
    model = torch.nn.Sequential(torch.nn.Dropout(0.5), torch.nn.BatchNorm1d(3))
    buffers = {name: value.clone() for name, value in model.named_buffers()}
    x = torch.rand(6, 3)
    state = torch.get_rng_state()
    assert determinism(model, runs=4, vary=("alignment",), inputs={"input": x}).equal
    assert torch.equal(torch.get_rng_state(), state)
    for name, value in model.named_buffers():
        assert torch.equal(value, buffers[name])


def test_a_running_statistic_that_is_returned_shows():
    model = torch.nn.BatchNorm1d(3)
    seen = itertools.count()

    def drifts(x):
        model(x)
        return {"mean": model.running_mean.clone(), "call": [torch.tensor(next(seen)), torch.tensor(0)]}

    row = determinism(drifts, runs=2, vary=(), inputs={"x": torch.rand(4, 3)}).row("nothing")
    assert row.worst == "out.mean"


def test_results_of_other_shapes_or_names():
    sizes = itertools.count(1)
    row = determinism(lambda: torch.zeros(next(sizes)), runs=2, vary=()).row("nothing")
    assert (row.equal, row.worst) == (False, "out [1] and [2]")
    names = iter("ab")
    row = determinism(lambda: {next(names): torch.zeros(1)}, runs=2, vary=()).row("nothing")
    assert (row.equal, row.worst) == (False, "['out.a', 'out.b'] not in every run")


@given(st.data())
def test_ulps_count_neighbours(data):
    dtype = data.draw(st.sampled_from([torch.float32, torch.float64]))
    number = data.draw(st.floats(-100, 100, width=32))
    steps = data.draw(st.integers(0, 20))
    other = np.array(number, dtype=str(dtype).removeprefix("torch."))
    for _ in range(steps):
        other = np.nextafter(other, other.dtype.type(np.inf))
    values = iter([torch.tensor([number, 0.0], dtype=dtype), torch.tensor([other.item(), 0.0], dtype=dtype)])
    row = determinism(lambda: next(values), runs=2, vary=()).row("nothing")
    crosses_zero = np.signbit(number) != np.signbit(other.item())
    assert row.ulps == steps + crosses_zero  # -0.0 and 0.0 have bits of their own
    assert row.difference == abs(other.item() - float(torch.tensor(number, dtype=dtype)))


@pytest.mark.parametrize(
    ("dtype", "ulps"),
    [
        (torch.bfloat16, 128),
        (torch.float16, 1024),
        (torch.int8, 1),
        (torch.uint8, 1),
        (torch.int64, 1),
        (torch.bool, 1),
        (torch.complex64, 1 << 23),
    ],
)
def test_every_dtype(dtype, ulps):
    first, second = (0, 1) if dtype == torch.bool else (2, 4) if dtype.is_floating_point or dtype.is_complex else (2, 3)
    values = iter([torch.tensor([first]).to(dtype), torch.tensor([second]).to(dtype)])
    row = determinism(lambda: next(values), runs=2, vary=()).row("nothing")
    assert (row.ulps, row.difference) == (ulps, float(second - first))


def test_zeros_of_both_signs_and_nan():
    values = iter([torch.tensor([0.0, float("nan")]), torch.tensor([-0.0, float("nan")])])
    row = determinism(lambda: next(values), runs=2, vary=()).row("nothing")
    assert (row.equal, row.difference, row.ulps) == (False, 0.0, 1)


def test_a_sparse_result():
    adjacency = torch.eye(3).to_sparse_coo()
    assert determinism(lambda: adjacency, runs=2, vary=()).equal


def test_the_table_in_text_and_html():
    report = determinism(counter(), runs=3, vary=())
    assert repr(report) == str(report)
    assert str(report).splitlines()[2].split("  ")[0] == "nothing"
    assert "no, 2 differ" in str(report)
    assert "deterministic algorithms off" in str(report)
    with gnnlab.deterministic():
        assert "deterministic algorithms on" in str(determinism(counter(), runs=1, vary=()))
    assert report._repr_html_().startswith("<table>")
    with pytest.raises(KeyError, match="no row 'threads', 'forward'"):
        report.row("threads")


def test_wrong_arguments_are_named():
    fn = counter()
    with pytest.raises(ValueError, match="runs: expected at least 1, found 0"):
        determinism(fn, runs=0)
    with pytest.raises(ValueError, match=r"vary: expected some of .*, found \['moon'\]"):
        determinism(fn, vary=("moon",))
    with pytest.raises(ValueError, match=r"expected a tensor `edge_index` in inputs with 'edge order', found \['x'\]"):
        determinism(fn, vary=("edge order",), inputs={"x": 1})
    with pytest.raises(TypeError, match="fn: expected a function that returns tensors"):
        determinism(lambda: 3, runs=1)


def test_all_is_set_back_after_an_error():
    before, state = torch.get_num_threads(), torch.get_rng_state()

    def fails():
        torch.rand(1)
        raise OSError("no")

    with pytest.raises(OSError, match="no"):
        determinism(fails, threads=(before + 1,))
    assert torch.get_num_threads() == before
    assert torch.equal(torch.get_rng_state(), state)
