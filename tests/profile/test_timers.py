import inspect

import pytest
import torch

from gnnlab.profile import Timing, bandwidth, benchmark, compare, measure, timeit, timers


@pytest.fixture
def clock(monkeypatch):
    """A clock that stands still but for `clock.sleep(seconds)`."""

    class Clock:
        now = 0.0

        def sleep(self, seconds):
            self.now += seconds

    clock = Clock()
    monkeypatch.setattr(timers.time, "perf_counter", lambda: clock.now)
    return clock


def replay(clock, durations):
    """A function that takes one of `durations` after another."""
    left = iter(durations)
    return lambda: clock.sleep(next(left))


def test_the_first_call_and_the_warm_up_are_apart(clock):
    timing = measure(replay(clock, [100, 50, 50, 4, 1, 3, 2]), warmup=2, repeat=4)
    assert timing == Timing(first=100, times=(4, 1, 3, 2))
    assert timing.median == 2.5
    assert timing.quartiles == (1.75, 3.25)
    assert timing.n == 4
    assert " ".join(str(timing).split()[-10:]) == "100.00 s 2.50 s 1.75 s .. 3.25 s 4"


def test_many_calls_a_measurement_are_divided(clock):
    timing = measure(replay(clock, [9, 9, 1, 2, 3, 4]), repeat=2, number=2)
    assert timing.times == (1.5, 3.5)


def test_arguments_are_passed_on():
    seen = []
    measure(lambda a, b: seen.append((a, b)), 1, b=2, warmup=3, repeat=4, number=2)
    assert seen == [(1, 2)] * (1 + 3 + 4 * 2)


def test_one_measurement_is_its_own_quartiles():
    assert Timing(1.0, (2.0,)).quartiles == (2.0, 2.0)


def test_candidates_take_turns_in_changing_order():
    seen = []
    compare({name: lambda name=name: seen.append(name) for name in "abc"}, 3, warmup=0)
    assert "".join(seen) == "abc" + "abc" + "cba" + "abc"


def test_ratios_are_taken_round_by_round(clock):
    """A machine that slows down tenfold in the second round does not change the ratio."""
    slow = replay(clock, [0, 0, 2, 20, 2])
    fast = replay(clock, [0, 0, 1, 10, 1])
    result = compare({"fast": fast, "slow": slow}, repeat=3)
    assert result.ratio("slow", "fast") == 2
    assert result.ratio("fast", "slow") == 0.5
    assert result.ratio_quartiles("slow", "fast") == (2, 2)
    assert result.timings["slow"].median == 2
    lines = str(result).splitlines()
    assert lines[0].split()[-3:] == ["time", "/", "fast"]
    assert lines[3].split()[0] == "slow"
    assert lines[3].split()[-1] == "2.000"


@pytest.mark.parametrize("wrong", [{"repeat": 0}, {"number": 0}, {"warmup": -1}])
def test_counts_are_checked(wrong):
    with pytest.raises(ValueError, match="at least 1"):
        measure(lambda: None, **wrong)
    with pytest.raises(ValueError, match="empty"):
        compare({})


def test_the_accelerator_is_waited_for(monkeypatch):
    waits = []
    monkeypatch.setattr(torch.accelerator, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.accelerator, "synchronize", lambda: waits.append(1))
    measure(lambda: None, repeat=3)
    assert len(waits) == 2 * (1 + 3)


def test_a_gpu_that_is_not_in_use_is_left_alone(monkeypatch):
    monkeypatch.setattr(torch.accelerator, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: False)
    monkeypatch.setattr(torch.accelerator, "synchronize", lambda: pytest.fail("would set it up"))
    measure(lambda: None, repeat=1)


def test_bandwidth_counts_reads_and_writes(monkeypatch):
    monkeypatch.setattr(timers, "measure", lambda *_, **__: Timing(9.0, (2.0, 0.5, 1.0)))
    assert bandwidth(1000) == 2 * 1000 / 0.5


def test_bandwidth_of_this_machine_is_one():
    assert 1e8 < bandwidth(2**22, repeat=2) < 1e13


def test_timeit_times_a_block_and_a_function(clock, capsys):
    with timeit() as timer:
        clock.sleep(0.25)
    assert timer.duration == 0.25
    assert capsys.readouterr().out == "Time: 0.25000000s\n"

    with timeit(log=False, avg_time_divisor=5) as timer:
        clock.sleep(10)
    assert timer.duration == 2
    assert capsys.readouterr().out == ""

    @timeit()
    def sleep(seconds):
        clock.sleep(seconds)
        return seconds

    assert sleep(1.5) == 1.5
    assert capsys.readouterr().out == "Time: 1.50000000s\n"


def test_timeit_starts_again_on_reset(clock, capsys):
    with timeit() as timer:
        clock.sleep(1)
        timer.reset()
        clock.sleep(2)
    assert capsys.readouterr().out == "Time: 1.00000000s\nTime: 2.00000000s\n"


def test_timeit_ends_with_an_exception(clock, capsys):
    @timeit()
    def fail():
        clock.sleep(1)
        raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert capsys.readouterr().out == "Time: 1.00000000s\n"


def test_benchmark_prints_forward_and_backward(clock, capsys):
    def double(x):
        clock.sleep(0.5)
        return 2 * x

    benchmark([double], (torch.ones(3),), num_steps=4, num_warmups=2)
    assert capsys.readouterr().out.split() == ["Name", "Forward", "-" * 15, "double", "2.0000s"]
    benchmark(
        [double, torch.nn.Identity()],
        [(torch.ones(3),), (torch.ones(3),)],
        4,
        ["a", "b"],
        backward=True,
        per_step=True,
    )
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["Name", "Forward", "Backward", "Total"]
    assert lines[2].split() == ["a", "0.500000s", "0.000000s", "0.500000s"]
    assert lines[3].split() == ["b", "0.000000s", "0.000000s", "0.000000s"]


def test_benchmark_shows_progress_on_request(capsys):
    benchmark([abs], (1,), num_steps=1, progress_bar=True)
    assert "1/1" in capsys.readouterr().err


def test_benchmark_checks_lengths():
    with pytest.raises(ValueError, match=r"func_names.*2 funcs.*found 1"):
        benchmark([abs, abs], (1,), 1, func_names=["a"])
    with pytest.raises(ValueError, match=r"args.*2 funcs.*found 1"):
        benchmark([abs, abs], [(1,)], 1)


class TestPyG:
    @pytest.fixture
    def pyg(self):
        return pytest.importorskip("torch_geometric.profile", reason="PyG is the peer here")

    def test_signatures(self, pyg):
        for name in ("benchmark", "timeit"):
            ours = inspect.signature(getattr(timers, name)).parameters
            theirs = inspect.signature(getattr(pyg, name)).parameters
            assert list(ours) == list(theirs)
            assert [p.default for p in ours.values()] == [p.default for p in theirs.values()]

    def test_benchmark_calls_as_often(self, pyg, capsys):
        pytest.importorskip("tabulate", reason="PyG's benchmark prints with it")
        counts = []
        for run in (benchmark, pyg.benchmark):
            calls = []
            run([lambda x, calls=calls: calls.append(x)], (1,), num_steps=5, num_warmups=3)
            counts.append(len(calls))
        assert counts == [8, 8]

    def test_timeit_prints_alike(self, pyg, capsys):
        for timer in (timeit, pyg.timeit):
            with timer() as run:
                pass
            assert capsys.readouterr().out == f"Time: {run.duration:.8f}s\n"
