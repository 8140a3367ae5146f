"""Time: one duration, a function's spread, candidates side by side, the memory's bandwidth."""

import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ContextDecorator
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

import torch
from torch import Tensor
from tqdm import tqdm

from gnnlab.profile.show import Shown, duration, text_table


def synchronize() -> None:
    """Wait for the accelerator to be done; nothing where there is none, or none in use yet."""
    if not torch.accelerator.is_available():
        return
    if torch.cuda.is_available() and not torch.cuda.is_initialized():
        return
    torch.accelerator.synchronize()


class timeit(ContextDecorator):
    """Time a `with` block, or every call of a decorated function, the accelerator's work included.

    - `log`: print the time.
    - `avg_time_divisor`: if above 1, the time is divided by it: the number of repetitions inside.

    Afterwards `duration` holds the seconds. `reset()` prints the time since the start, if `log`,
    and starts again. PyG's `torch_geometric.profile.timeit`.
    """

    def __init__(self, log: bool = True, avg_time_divisor: int = 0) -> None:
        self.log = log
        self.avg_time_divisor = avg_time_divisor
        self.t_start = self.t_end = self.duration = 0.0

    def __enter__(self) -> Self:
        synchronize()
        self.t_start = time.perf_counter()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stop()

    def reset(self) -> None:
        """End the measurement and begin the next."""
        self._stop()
        self.__enter__()

    def _stop(self) -> None:
        synchronize()
        self.t_end = time.perf_counter()
        self.duration = self.t_end - self.t_start
        if self.avg_time_divisor > 1:
            self.duration /= self.avg_time_divisor
        if self.log:
            print(f"Time: {self.duration:.8f}s", flush=True)


def benchmark(
    funcs: Sequence[Callable[..., Any]],
    args: tuple[Any, ...] | Sequence[tuple[Any, ...]],
    num_steps: int,
    func_names: Sequence[str] | None = None,
    num_warmups: int = 10,
    backward: bool = False,
    per_step: bool = False,
    progress_bar: bool = False,
) -> None:
    """Print a table of the time that each function takes, one function after another.

    - `args`: one tuple of arguments for all functions, or a list with one tuple for each.
    - `num_steps`, `num_warmups`: calls that are timed, and calls before them that aren't.
    - `func_names`: names for the table; default each function's own.
    - `backward`: time the backward pass too. Floating-point arguments then require gradients; the
      function returns a tensor, or a sequence whose first item is one.
    - `per_step`: print seconds a call instead of seconds in all.
    - `progress_bar`: show one over the functions.

    Raises ValueError if `args` or `func_names` don't have one item for each function. PyG's
    `torch_geometric.profile.benchmark`; `compare` alternates the candidates and tells the spread.
    """
    names = list(func_names) if func_names is not None else [_name(func) for func in funcs]
    each = list(args) if isinstance(args, list) else [args] * len(funcs)
    for argument, found in (("func_names", names), ("args", each)):
        if len(found) != len(funcs):
            raise ValueError(f"{argument} needs one item for each of the {len(funcs)} funcs; found {len(found)}")
    rows: list[tuple[str, ...]] = [("Name", "Forward", *(("Backward", "Total") * backward))]
    digits, divisor = (6, num_steps) if per_step else (4, 1)
    for func, name, arg in zip(tqdm(funcs, disable=not progress_bar), names, each, strict=True):
        forward, back = 0.0, 0.0
        inputs = [_requiring_grad(a) for a in arg] if backward else arg
        for step in range(-num_warmups, num_steps):
            with timeit(log=False) as run:
                out = func(*inputs)
            if step >= 0:
                forward += run.duration
            if backward:
                out = out if isinstance(out, Tensor) else out[0]
                grad = torch.randn_like(out)
                with timeit(log=False) as run:
                    out.backward(grad)
                if step >= 0:
                    back += run.duration
        times = (forward, back, forward + back) if backward else (forward,)
        rows.append((name, *(f"{t / divisor:.{digits}f}s" for t in times)))
    print(text_table(rows))


@dataclass(frozen=True)
class Timing(Shown):
    """Seconds a call: `first` the first call's (compilation, cold caches), `times` the measured."""

    first: float
    times: tuple[float, ...]

    @property
    def n(self) -> int:
        """How many measurements `times` holds."""
        return len(self.times)

    @property
    def median(self) -> float:
        """Median of `times`."""
        return statistics.median(self.times)

    @property
    def quartiles(self) -> tuple[float, float]:
        """First and third quartile of `times`: half of the measurements lie between them."""
        return _quartiles(self.times)

    def table(self) -> list[tuple[str, ...]]:
        return [("first call", "median", "quartiles", "n"), _timing_cells(self)]


@dataclass(frozen=True)
class Comparison(Shown):
    """Timings of candidates that took turns; the table's ratios refer to the first."""

    timings: dict[str, Timing]

    def ratio(self, a: str, b: str) -> float:
        """How many times as long `a` takes as `b`: the median over the rounds of time(a) / time(b).

        Both were run in every round, so what slows the machine for a while strikes out.
        """
        return statistics.median(self._ratios(a, b))

    def ratio_quartiles(self, a: str, b: str) -> tuple[float, float]:
        """First and third quartile over the rounds of time(a) / time(b)."""
        return _quartiles(self._ratios(a, b))

    def _ratios(self, a: str, b: str) -> list[float]:
        pairs = zip(self.timings[a].times, self.timings[b].times, strict=True)
        return [time_a / time_b for time_a, time_b in pairs]

    def table(self) -> list[tuple[str, ...]]:
        first = next(iter(self.timings))
        return [
            ("candidate", "first call", "median", "quartiles", "n", f"time / {first}"),
            *(
                (name, *_timing_cells(timing), f"{self.ratio(name, first):.3f}")
                for name, timing in self.timings.items()
            ),
        ]


def measure(
    fn: Callable[..., Any],
    *args: Any,
    warmup: int = 1,
    repeat: int = 20,
    number: int = 1,
    **kwargs: Any,
) -> Timing:
    """Time `fn(*args, **kwargs)`, waiting for the accelerator at both ends of each measurement.

    The first call is timed apart, then come `warmup` calls that aren't timed, then `repeat`
    measurements of `number` calls each (raise `number` for what takes microseconds). Raises
    ValueError for a `repeat` or `number` below 1.

    >>> measure(sum, [1, 2, 3], repeat=5).n
    5
    """
    return compare({"": lambda: fn(*args, **kwargs)}, repeat, warmup=warmup, number=number).timings[""]


def compare(
    candidates: Mapping[str, Callable[[], Any]],
    repeat: int = 20,
    *,
    warmup: int = 1,
    number: int = 1,
) -> Comparison:
    """Time functions that take turns: one measurement of each a round, `repeat` rounds.

    The functions take no arguments. Every other round runs them in the opposite order, so that none
    always follows the same one. `warmup` and `number` as in `measure`. Raises ValueError for no
    candidates, or a `repeat` or `number` below 1.

    >>> result = compare({"list": lambda: [0] * 1000, "tuple": lambda: (0,) * 1000}, repeat=4)
    >>> result.timings["list"].n, result.ratio("list", "list")
    (4, 1.0)
    """
    if not candidates:
        raise ValueError("candidates is a dict of name to function; found it empty")
    if repeat < 1 or number < 1 or warmup < 0:
        raise ValueError(
            "repeat and number are at least 1 and warmup at least 0; "
            f"found repeat={repeat}, number={number}, warmup={warmup}"
        )
    first = {name: _once(fn, 1) for name, fn in candidates.items()}
    for fn in candidates.values():
        for _ in range(warmup):
            fn()
    times: dict[str, list[float]] = {name: [] for name in candidates}
    order = list(candidates)
    for _ in range(repeat):
        for name in order:
            times[name].append(_once(candidates[name], number))
        order.reverse()
    return Comparison({name: Timing(first[name], tuple(times[name])) for name in candidates})


def bandwidth(nbytes: int = 2**28, repeat: int = 5, device: torch.device | str = "cpu") -> float:
    """Memory bandwidth in bytes a second, read plus written: the fastest of `repeat` copies.

    A floor under every operation: one that must read and write n bytes in all can't take less than
    n / bandwidth() seconds. `nbytes`, the size of what is copied, should be several times the last
    cache; twice as much is allocated. Runs on torch's threads.
    """
    source = torch.ones(nbytes, dtype=torch.uint8, device=device)
    target = torch.zeros_like(source)
    return 2 * nbytes / min(measure(target.copy_, source, repeat=repeat).times)


def _once(fn: Callable[[], Any], number: int) -> float:
    synchronize()
    begin = time.perf_counter()
    for _ in range(number):
        fn()
    synchronize()
    return (time.perf_counter() - begin) / number


def _quartiles(values: Sequence[float]) -> tuple[float, float]:
    if len(values) == 1:
        return values[0], values[0]
    first, _, third = statistics.quantiles(values, n=4, method="inclusive")
    return first, third


def _timing_cells(timing: Timing) -> tuple[str, str, str, str]:
    low, high = timing.quartiles
    return (
        duration(timing.first),
        duration(timing.median),
        f"{duration(low)} .. {duration(high)}",
        str(timing.n),
    )


def _name(func: Callable[..., Any]) -> str:
    return getattr(func, "__name__", type(func).__name__)


def _requiring_grad(value: Any) -> Any:
    if isinstance(value, Tensor) and value.is_floating_point():
        return value.detach().clone().requires_grad_()
    return value
