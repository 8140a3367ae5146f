"""Whether a function gives the same bits again: run after run, with other threads, with its edges in another order."""

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from gnnlab.profile.estimate import leaves
from gnnlab.profile.show import Shown

VARIED = ("threads", "edge order", "alignment")
Tensors = dict[str, Tensor]


@dataclass(frozen=True)
class Spread:
    """How far the results of some runs lie from those of the first run of all.

    - `varied`: what was changed from run to run, "nothing" for a mere repetition.
    - `part`: "forward", or "backward" for gradients.
    - `runs`: how many runs were compared. `differing`: in how many a bit was different.
    - `difference`: the largest absolute difference of two numbers.
    - `ulps`: the largest distance of two numbers, counted in neighbours that their dtype tells apart.
    - `worst`: the tensor with that distance, empty if all bits are equal.
    """

    varied: str
    part: str
    runs: int
    differing: int
    difference: float
    ulps: int
    worst: str

    @property
    def equal(self) -> bool:
        """Whether all bits were the same in every run."""
        return self.differing == 0


@dataclass(frozen=True, repr=False)
class Determinism(Shown):
    """What `determinism` found: a row for each thing varied, forward and backward; and the circumstances."""

    rows: tuple[Spread, ...]
    threads: tuple[int, ...]
    flag: bool

    @property
    def equal(self) -> bool:
        """Whether all bits were the same in all rows."""
        return all(row.equal for row in self.rows)

    def row(self, varied: str, part: str = "forward") -> Spread:
        """The row of that name; raises KeyError if there is none."""
        for row in self.rows:
            if (row.varied, row.part) == (varied, part):
                return row
        raise KeyError(f"no row {varied!r}, {part!r} in {[(row.varied, row.part) for row in self.rows]}")

    def table(self) -> list[tuple[str, ...]]:
        header = ("varied", "pass", "runs", "equal bits", "largest difference", "ulps", "where")
        return [header, *(_cells(row) for row in self.rows)]

    def note(self) -> str:
        counts = ", ".join(map(str, self.threads))
        return f"threads tried: {counts}; torch's deterministic algorithms {'on' if self.flag else 'off'}"

    def __repr__(self) -> str:
        return str(self)


def determinism(
    fn: Callable[..., Any],
    runs: int = 20,
    vary: Sequence[str] | None = None,
    *,
    inputs: Mapping[str, Any] | None = None,
    threads: Sequence[int] | None = None,
    seed: int = 0,
) -> Determinism:
    """Run a function again and again and compare all bits of its results and of their gradients with the first run's.

    fn: a function or a module that returns a tensor, or lists, tuples and dicts of tensors. It is called with `inputs`
    by name. Gradients are those of all results, each weighted by fixed numbers, to the floating-point tensors in
    `inputs`, and to the parameters if `fn` is a module. Before each run torch's generator is seeded with `seed`, and
    the module's buffers are set back, so dropout and running statistics make no difference.
    runs: how often, at least 1, once with nothing varied and once more for each thing in `vary`:

    - "threads": torch's number of threads takes turns through `threads` (by default 1, 2, 4, ... up to what it is,
      at least 2).
    - "edge order": the edges stand in a random order: the columns of `edge_index`, and with them the rows of all
      tensors in `inputs` called `edge_...`. Results for each node or graph should then be the same; results for each
      edge come in the new order and are different.
    - "alignment": tensors begin at another place in a line of the cache, where some kernels add in another order.

    By default all of them, "edge order" if there is an `edge_index`.

    Returns a table. torch's number of threads, its generators and the module are left as they were. Raises ValueError
    for `runs` below 1, another name in `vary` or one that doesn't apply, TypeError if `fn` returns no tensor.

    >>> report = determinism(lambda x: x.sum(), runs=3, vary=(), inputs={"x": torch.rand(1000)})
    >>> report.row("nothing", "backward").equal
    True
    """
    inputs = dict(inputs or {})
    threads = tuple(threads or _thread_counts())
    vary = _check(runs, vary, inputs)
    expected: dict[str, Tensors] = {}
    rows: list[Spread] = []
    for varied in ("nothing", *vary):
        spreads: dict[str, list[Spread]] = {}
        for run in range(runs):
            with _set_aside(fn, threads[run % len(threads)] if varied == "threads" else torch.get_num_threads()):
                found = _results(fn, inputs, _changes(varied, run, seed), seed)
            expected = expected or found
            for part, tensors in found.items():
                spreads.setdefault(part, []).append(_compare(varied, part, expected[part], tensors))
        rows.extend(_worst_of(of_part) for of_part in spreads.values())
    return Determinism(tuple(rows), threads, torch.are_deterministic_algorithms_enabled())


def _check(runs: int, vary: Sequence[str] | None, inputs: Mapping[str, Any]) -> tuple[str, ...]:
    if runs < 1:
        raise ValueError(f"runs: expected at least 1, found {runs}")
    has_edges = isinstance(inputs.get("edge_index"), Tensor)
    if vary is None:
        return tuple(name for name in VARIED if has_edges or name != "edge order")
    unknown = [name for name in vary if name not in VARIED]
    if unknown:
        raise ValueError(f"vary: expected some of {VARIED}, found {unknown}")
    if "edge order" in vary and not has_edges:
        raise ValueError(f"vary: expected a tensor `edge_index` in inputs with 'edge order', found {list(inputs)}")
    return tuple(vary)


def _thread_counts() -> list[int]:
    most = max(torch.get_num_threads(), 2)
    return [*itertools.takewhile(lambda count: count < most, (2**i for i in itertools.count())), most]


@contextmanager
def _set_aside(fn: Callable[..., Any], threads: int) -> Iterator[None]:
    """Run the body with that many threads; then set them, the generators and the buffers of a module back."""
    before = torch.get_num_threads()
    buffers = list(fn.buffers()) if isinstance(fn, torch.nn.Module) else []
    saved = [buffer.clone() for buffer in buffers]
    devices = [torch.cuda.current_device()] if torch.cuda.is_initialized() else []
    with torch.random.fork_rng(devices):
        try:
            torch.set_num_threads(threads)
            yield
        finally:
            torch.set_num_threads(before)
            for buffer, value in zip(buffers, saved, strict=True):
                buffer.copy_(value)


def _results(
    fn: Callable[..., Any], inputs: Mapping[str, Any], change: Callable[[dict[str, Any]], dict[str, Any]], seed: int
) -> dict[str, Tensors]:
    """One run: the tensors it returns, and the gradients, by name."""
    torch.manual_seed(seed)
    given = {name: _leaf(value) for name, value in inputs.items()}
    out = {name: value for name, value in leaves({"out": fn(**change(given))}) if isinstance(value, Tensor)}
    if not out:
        raise TypeError("fn: expected a function that returns tensors, found one that returns none")
    wanted = {name: value for name, value in given.items() if isinstance(value, Tensor) and value.requires_grad}
    if isinstance(fn, torch.nn.Module):
        wanted |= {name: value for name, value in fn.named_parameters() if value.requires_grad}
    found = {"forward": {name: _dense(value) for name, value in out.items()}}
    differentiable = [value for value in out.values() if value.requires_grad]
    if wanted and differentiable:
        weights = [torch.arange(v.numel(), dtype=v.dtype, device=v.device).cos().view(v.shape) for v in differentiable]
        grads = torch.autograd.grad(differentiable, list(wanted.values()), weights, allow_unused=True)
        pairs = zip(wanted, grads, strict=True)
        found["backward"] = {name: _dense(grad) for name, grad in pairs if grad is not None}
    return found


def _leaf(value: Any) -> Any:
    is_float = isinstance(value, Tensor) and value.is_floating_point()
    return value.detach().clone().requires_grad_() if is_float else value


def _dense(value: Tensor) -> Tensor:
    value = value.detach()
    return value.clone() if value.layout == torch.strided else value.to_dense()


def _changes(varied: str, run: int, seed: int) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """What run number `run` does to its arguments."""
    if varied == "edge order":
        return lambda given: _reordered(given, torch.Generator().manual_seed(seed + run))
    if varied == "alignment":
        return lambda given: {name: _shifted(value, 1 + run % 15) for name, value in given.items()}
    return lambda given: given


def _reordered(given: dict[str, Any], generator: torch.Generator) -> dict[str, Any]:
    """The same edges in a random order."""
    num_edges = given["edge_index"].size(1)
    order = torch.randperm(num_edges, generator=generator).to(given["edge_index"].device)
    changed = dict(given)
    for name, value in given.items():
        if name == "edge_index":
            changed[name] = value[:, order]
        elif name.startswith("edge_") and isinstance(value, Tensor) and value.shape[:1] == (num_edges,):
            changed[name] = value.index_select(0, order)
    return changed


def _shifted(value: Any, offset: int) -> Any:
    """A copy that begins `offset` entries into its memory."""
    if not isinstance(value, Tensor) or value.layout != torch.strided:
        return value
    flat = value.reshape(-1)
    return torch.cat([flat.new_zeros(offset), flat])[offset:].view(value.shape)


def _compare(varied: str, part: str, expected: Tensors, found: Tensors) -> Spread:
    if expected.keys() != found.keys():
        return Spread(varied, part, 1, 1, float("nan"), 0, f"{sorted(expected.keys() ^ found.keys())} not in every run")
    worst = Spread(varied, part, 1, 0, 0.0, 0, "")
    for name, value in found.items():
        spread = _distance(varied, part, name, expected[name], value)
        worst = max(worst, spread, key=lambda s: (s.differing, s.ulps))
    return worst


def _distance(varied: str, part: str, name: str, a: Tensor, b: Tensor) -> Spread:
    if a.shape != b.shape or a.dtype != b.dtype:
        return Spread(varied, part, 1, 1, float("nan"), 0, f"{name} {list(a.shape)} and {list(b.shape)}")
    steps_a, steps_b = _steps(a), _steps(b)
    if np.array_equal(steps_a, steps_b):
        return Spread(varied, part, 1, 0, 0.0, 0, "")
    ulps = np.maximum(steps_a, steps_b) - np.minimum(steps_a, steps_b)
    where = torch.from_numpy(ulps > 0)
    a, b = (_real(t).reshape(-1).cpu()[where] for t in (a, b))
    return Spread(varied, part, 1, 1, float((a.double() - b.double()).abs().max()), int(ulps.max()), name)


def _real(tensor: Tensor) -> Tensor:
    return torch.view_as_real(tensor) if tensor.is_complex() else tensor


def _steps(tensor: Tensor) -> "np.ndarray[Any, np.dtype[np.uint64]]":
    """[numel] uint64: the place of each number among all that its dtype can hold, so that neighbours differ by 1.

    A float's bits, read as an integer, rise with its size: the sign is all that must be turned round.
    """
    tensor = _real(tensor).reshape(-1).cpu().contiguous()
    width = 8 * tensor.element_size()
    as_int = {8: torch.uint8, 16: torch.int16, 32: torch.int32, 64: torch.int64}[width]
    bits = tensor.view(as_int).numpy().view(f"uint{width}").astype(np.uint64)
    if tensor.dtype in (torch.bool, torch.uint8):
        return bits
    sign = np.uint64(1 << (width - 1))
    every = np.uint64((1 << width) - 1)
    return np.where(bits & sign, bits ^ every, bits ^ sign) if tensor.is_floating_point() else bits ^ sign


def _worst_of(spreads: Sequence[Spread]) -> Spread:
    """Many runs as one row."""
    worst = max(spreads, key=lambda s: (s.differing, s.ulps))
    differing = sum(s.differing for s in spreads)
    return Spread(worst.varied, worst.part, len(spreads), differing, worst.difference, worst.ulps, worst.worst)


def _cells(row: Spread) -> tuple[str, ...]:
    equal = "yes" if row.equal else f"no, {row.differing} differ"
    return (row.varied, row.part, str(row.runs), equal, f"{row.difference:.2g}", f"{row.ulps:,}", row.worst)
