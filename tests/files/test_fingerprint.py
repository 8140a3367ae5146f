"""Descriptions are the same in every process, differ where values differ, and say what changed."""

import copy
import enum
import functools
import json
import os
import subprocess
import sys
import threading
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from gnnlab.files import Growing, describe, diff, fingerprint


class Colour(enum.Enum):
    RED = 1
    BLUE = 2


class Number(enum.IntEnum):
    ONE = 1


class Scale:
    def __init__(self, factor: Any, **rest: Any) -> None:
        self.factor = factor
        vars(self).update(rest)

    def __call__(self, x: Any) -> Any:
        return x * self.factor


class Slotted:
    __slots__ = ("a", "b")

    def __init__(self, a: Any) -> None:
        self.a = a


def add(k: Any) -> Callable[[Any], Any]:
    return lambda x: x + k


def make(source: str, name: str = "f", **names: Any) -> Any:
    """Runs `source`, as a module called `made` would, and returns what it calls `name`."""
    scope: dict[str, Any] = {"__name__": "made", **names}
    exec(source, scope)
    return scope[name]


plain = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(),
        st.floats(),
        st.complex_numbers(),
        st.text(max_size=5),
        st.binary(max_size=5),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.lists(inner, max_size=3).map(tuple),
        st.dictionaries(st.one_of(st.text(max_size=2), st.integers()), inner, max_size=3),
        st.frozensets(st.one_of(st.integers(), st.text(max_size=3)), max_size=3),
    ),
    max_leaves=6,
)


def strictly(value: Any) -> Any:
    """A form that is equal for values of equal types and contents only, made another way."""
    if isinstance(value, dict):
        return "dict", {(type(key), key): strictly(item) for key, item in value.items()}
    if isinstance(value, frozenset):
        return "set", {(type(item), item) for item in value}
    if isinstance(value, list | tuple):
        return type(value), [strictly(item) for item in value]
    return type(value), repr(value)


@given(one=plain, other=plain)
def test_plain_values_have_one_description_each(one: Any, other: Any) -> None:
    assert json.loads(json.dumps(describe(one))) == describe(one)
    assert fingerprint(one) == fingerprint(copy.deepcopy(one))
    assert (fingerprint(one) == fingerprint(other)) == (strictly(one) == strictly(other))
    assert diff(describe(one), describe(one)) == []
    assert bool(diff(describe(one), describe(other))) == (strictly(one) != strictly(other))


@given(shape=st.lists(st.integers(0, 3), min_size=2, max_size=3), seed=st.integers(0, 3))
def test_tensors_are_described_by_what_they_hold(shape: list[int], seed: int) -> None:
    x = torch.rand(shape, generator=torch.Generator().manual_seed(seed))
    assert fingerprint(x) == fingerprint(x.t().clone().t() if x.dim() == 2 else x.clone())
    assert fingerprint(x) != fingerprint(x.double())
    assert fingerprint(x) != fingerprint(x[None])
    if x.numel():
        assert fingerprint(x) != fingerprint(x + 1)


class Layer(torch.nn.Module):
    def __init__(self, p: float = 0.5) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(2, 2)
        self.dropout = torch.nn.Dropout(p)
        torch.nn.init.ones_(self.linear.weight)
        torch.nn.init.zeros_(self.linear.bias)

    def forward(self, x: Any) -> Any:
        return self.dropout(self.linear(x))


def changed_layer() -> Layer:
    layer = Layer()
    with torch.no_grad():
        layer.linear.bias[0] = 1
    return layer


class Versioned(Scale):
    version = 1


class Renewed(Scale):
    version = 2


Renewed.__qualname__ = "Versioned"


def self_holding(*parts: Any) -> list[Any]:
    value = list(parts)
    value.append(value)
    return value


DIFFERENT: dict[str, tuple[Any, Any]] = {
    "bool and int": (True, 1),
    "int and float": (1, 1.0),
    "text": ("1", 1),
    "signs of zero": (0.0, -0.0),
    "nan": (float("nan"), float("inf")),
    "list and tuple": ([1], (1,)),
    "dict and its subclass": ({"a": 1}, OrderedDict(a=1)),
    "keys": ({1: 2}, {"1": 2}),
    "odd keys": ({"!1": 2}, {1: 2}),
    "bytes": (b"a", bytearray(b"a")),
    "range": (range(3), range(4)),
    "slice": (slice(3), slice(0, 3)),
    "path": (Path("a"), "a"),
    "enum": (Colour.RED, Colour.BLUE),
    "int enum": (Number.ONE, 1),
    "dtype": (torch.float32, torch.float64),
    "device": (torch.device("cpu"), torch.device("meta")),
    "array": (np.arange(3), np.arange(3.0)),
    "array of objects": (np.array([1, "a"], object), np.array([1, "b"], object)),
    "long double": (np.longdouble(1), np.longdouble(2)),
    "tensor": (torch.tensor([1]), torch.tensor([2])),
    "objects and numbers": (np.array([1]), np.array([1], object)),
    "dense and sparse": (torch.eye(2), torch.eye(2).to_sparse()),
    "sparse tensor": (torch.eye(2).to_sparse(), (2 * torch.eye(2)).to_sparse()),
    "meta tensor": (torch.ones(2, device="meta"), torch.ones(3, device="meta")),
    "constant": (make("f = lambda x: x + 1"), make("f = lambda x: x + 2")),
    "operator": (make("f = lambda x: x + 1"), make("f = lambda x: x - 1")),
    "attribute": (make("f = lambda x: x.a"), make("f = lambda x: x.b")),
    "parameter": (make("def f(a): pass"), make("def f(b): pass")),
    "default": (make("def f(a=1): pass"), make("def f(a=2): pass")),
    "keyword default": (make("def f(*, a=1): pass"), make("def f(*, a=2): pass")),
    "inner code": (make("f = lambda: lambda: 1"), make("f = lambda: lambda: 2")),
    "set in code": (make("f = lambda x: x in {1, 2}"), make("f = lambda x: x in {1, 3}")),
    "closure": (add(1), add(2)),
    "closure over tensor": (add(torch.ones(2)), add(torch.zeros(2))),
    "builtin": (len, sum),
    "builtin method": ("a".join, "b".join),
    "method": (Scale(1).__call__, Scale(2).__call__),
    "partial": (functools.partial(add, 1), functools.partial(add, 2)),
    "partial by name": (functools.partial(add, k=1), functools.partial(add, k=2)),
    "attribute of an object": (Scale(1), Scale(2)),
    "nested attribute": (Scale([Scale(1)]), Scale([Scale(2)])),
    "slot": (Slotted(1), Slotted(2)),
    "class": (Scale, Slotted),
    "class and object": (Slotted, Slotted(1)),
    "version": (Versioned(1), Renewed(1)),
    "method of a class": (
        make("class f:\n  def g(self): return 1")(),
        make("class f:\n  def g(self): return 2")(),
    ),
    "new method": (make("class f: pass"), make("class f:\n  def g(self): return 2")),
    "property": (
        make("class f:\n  g = property(lambda self: 1)"),
        make("class f:\n  g = property(lambda self: 2)"),
    ),
    "static method": (
        make("class f:\n  g = staticmethod(lambda: 1)"),
        make("class f:\n  g = staticmethod(lambda: 2)"),
    ),
    "cached property": (
        make("class f:\n  g = C(lambda self: 1)", C=functools.cached_property),
        make("class f:\n  g = C(lambda self: 2)", C=functools.cached_property),
    ),
    "base class": (
        make("class b:\n  def g(self): return 1\nclass f(b): pass"),
        make("class b:\n  def g(self): return 2\nclass f(b): pass"),
    ),
    "module": (Layer(0.5), Layer(0.25)),
    "training": (Layer(), Layer().eval()),
    "weights": (Layer(), changed_layer()),
    "python module": (os, sys),
    "unknown": (threading.Lock(), iter([])),
    "cycle": (self_holding(1), self_holding(2)),
}


@pytest.mark.parametrize("name", DIFFERENT)
def test_what_differs_is_told_apart(name: str) -> None:
    one, other = map(describe, DIFFERENT[name])
    assert json.dumps(one) != json.dumps(other)
    assert len(diff(one, other, "it")) >= 1
    assert "0x" not in json.dumps(one)


EQUAL: dict[str, tuple[Any, Any]] = {
    "order of a dict": ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
    "order of a set": ({1, 9, 17, "a"}, {"a", 17, 9, 1}),
    "NumPy numbers": (np.int64(3), 3),
    "paths": (Path("a/b"), Path("a//b")) if os.name == "posix" else (1, 1),
    "where code stands": (make("f = lambda x: x"), make("\n\n\nf = lambda  x  :  x")),
    "local names": (make("def f(a):\n b = a\n return b"), make("def f(a):\n c = a\n return c")),
    "docstring": (make("def f():\n '''a'''\n return 2"), make("def f():\n '''b'''\n return 2")),
    "no docstring": (make("def f():\n return 2"), make("def f():\n '''b'''\n return 2")),
    "version speaks for code": (
        make("class f:\n  version = 1\n  def g(self): return 1"),
        make("class f:\n  version = 1\n  def g(self): return 2"),
    ),
    "strides": (torch.ones(2, 3), torch.ones(3, 2).t()),
    "modules": (Layer(), Layer()),
    "empty slots": (Slotted(1), Slotted(1)),
}


@pytest.mark.parametrize("name", EQUAL)
def test_what_does_not_matter(name: str) -> None:
    one, other = EQUAL[name]
    assert diff(describe(one), describe(other)) == []
    assert fingerprint(one) == fingerprint(other)


def test_running_code_does_not_change_it() -> None:
    function = make("def f(x):\n  s = 0\n  for i in range(x): s += i * 2\n  return [s, s.real]")
    before = fingerprint(function)
    for _ in range(100):
        function(100)
    assert fingerprint(function) == before


def test_super_and_recursion_end() -> None:
    source = """
class f:
    def one(self): return super().one(), f
    def two(self): return super().two()
def g(): return g
"""
    described = describe(make(source))
    assert sorted(described["methods"]) == ["f.one", "f.two"]
    inner: list[Any] = []
    function = add(inner)
    inner.append(function)
    assert describe(function)["closure"]["items"]["k"] == [{"kind": "cycle", "up": 3}]


def test_a_function_whose_closed_over_value_is_not_there_yet() -> None:
    def outer() -> Callable[[], Any]:
        def inner() -> Any:
            return later

        described.append(describe(inner))
        later = 1
        return inner

    described: list[Any] = []
    outer()
    assert described[0]["closure"]["items"] == {}


def test_what_is_installed_is_described_by_name() -> None:
    nothing = {"kind": "dict", "items": {}}
    assert describe(os.path.join) == {
        "kind": "function",
        "name": "posixpath.join",
        "defaults": nothing,
        "closure": nothing,
    }
    assert describe(torch.nn.Linear) == {"kind": "class", "name": "torch.nn.modules.linear.Linear"}
    assert describe(Growing) == {"kind": "class", "name": "gnnlab.files.growing.Growing"}
    assert describe(dict) == {"kind": "class", "name": "builtins.dict"}
    assert describe(threading.Lock()) == {"kind": "unknown", "name": "_thread.lock"}


def test_what_another_python_compiled_is_not_called_changed() -> None:
    source = "class f:\n  def g(self, k={0}): return {0}\ndef h(k={0}): return {0}"
    for name, lines in (("f", ["code of f.g changed"]), ("h", ["code changed", "k: 1 -> 2"])):
        old, new = (describe(make(source.format(number), name)) for number in (1, 2))
        assert [line.removeprefix("it: ").removeprefix("it.") for line in diff(old, new, "it")] == lines
        old["python"] = "3.0"
        assert diff(old, new, "it") == [f"it.{line}" for line in lines if "code" not in line]


values = [value for pair in DIFFERENT.values() for value in pair]


@given(one=st.sampled_from(values), other=st.sampled_from(values))
def test_any_two_values_can_be_compared(one: Any, other: Any) -> None:
    old, new = {"it": describe(one)}, {"it": describe(other)}
    lines = diff(old, new)
    assert all(line.startswith("it") for line in lines)
    assert bool(lines) == (json.dumps(old) != json.dumps(new))


@pytest.mark.parametrize(
    ("old", "new", "lines"),
    [
        ({"n": 10, "m": 1}, {"n": 20, "m": 1}, ["n: 10 -> 20"]),
        ({"n": 1}, {"n": True}, ["n: 1 -> True"]),
        ({"n": 1}, {"m": "a"}, ["n: 1 is gone", "m: 'a' is new"]),
        ({"n": [1, 2]}, {"n": [1, 3, 4]}, ["n[1]: 2 -> 3", "n[2]: 4 is new"]),
        ({"n": (1, 2)}, {"n": (1,)}, ["n[1]: 2 is gone"]),
        ({"n": (1, 2)}, {"n": [1, None]}, ["n: (1, 2) -> [1, None]"]),
        ({"n": {"a": 1}}, {"n": {}}, ["n.a: 1 is gone"]),
        ({"n": {1}}, {"n": {2}}, ["n: 1 is gone", "n: 2 is new"]),
        ({1: 1, ("a", "b"): 2}, {("a", "b"): 3}, ["value[1]: 1 is gone", "value[('a', 'b')]: 2 -> 3"]),
        ({"n": {"!": 1}}, {"n": {"!": 2}}, ["n['!']: 1 -> 2"]),
        ({"n": None}, {"n": {"a": (1,)}}, ["n: None -> {a: (1,)}"]),
        ({"p": Path("a")}, {"p": Path("b")}, ["p: path a -> path b"]),
        ({"x": torch.ones(2)}, {"x": torch.zeros(2)}, ["x: contents changed"]),
        (
            {"x": torch.ones(2)},
            {"x": torch.ones(3, 1).double()},
            ["x: contents changed", "x: dtype 'torch.float32' -> 'torch.float64'", "x: shape [2] -> [3, 1]"],
        ),
        ({"x": None}, {"x": torch.ones(3, 1)}, ["x: None -> tensor of torch.float32 [3, 1]"]),
        ({"t": add(1)}, {"t": add(2)}, ["t.k: 1 -> 2"]),
        (
            {"t": make("f = lambda x: x")},
            {"t": make("f = lambda x: -x")},
            ["t: code changed"],
        ),
        (
            {"t": make("def f(a=1): pass")},
            {"t": make("def g(a=1): pass", "g")},
            ["t: function made.f -> function made.g"],
        ),
        (
            {"t": make("class f:\n  def g(self): return 1")()},
            {"t": make("class f:\n  def g(self): return 2")()},
            ["t: code of f.g changed"],
        ),
        (
            {"t": make("class f: version = 1")()},
            {"t": make("class f: version = 2")()},
            ["t: version 1 -> 2"],
        ),
        ({"t": make("class f: pass")()}, {"t": None}, ["t: object made.f -> None"]),
        ({"l": "a" * 200}, {"l": 1}, [f"l: '{'a' * 76}... -> 1"]),
    ],
)
def test_changes_in_words(old: Any, new: Any, lines: list[str]) -> None:
    assert diff(describe(old), describe(new)) == lines


def test_the_whole_has_a_name() -> None:
    assert diff(1, 2) == ["value: 1 -> 2"]
    assert diff([1], [2]) == ["value[0]: 1 -> 2"]
    assert diff(describe({"a": 1}), describe({"a": 2}), "arguments") == ["arguments.a: 1 -> 2"]


MODULE = """
import enum, functools
from pathlib import Path
import torch
from gnnlab.files import describe

class Mode(enum.Enum):
    A = "a"

class Transform:
    def __init__(self, **arguments): self.__dict__.update(arguments)
    def __call__(self, x): return x if x in {"p", "q", "r", "s"} else super().__call__(x)

value = {
    "names": {"alpha", "beta", "gamma", "delta"},
    "transform": Transform(mode=Mode.A, seed=(1, 2.5), weight=torch.arange(3)),
    "filter": lambda data: data.num_nodes in {"a", "b", "c"} and len,
    "partial": functools.partial(Transform, root=Path("x")),
    "module": torch.nn.Identity(),
    "unknown": iter(()),
}
"""


def test_every_process_tells_the_same(tmp_path: Path) -> None:
    (tmp_path / "described.py").write_text(MODULE)
    command = "import json, described; print(json.dumps(described.describe(described.value)))"
    outputs = [
        subprocess.run(
            [sys.executable, "-c", command],
            check=True,
            capture_output=True,
            text=True,
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.fspath(tmp_path)},
        ).stdout
        for seed in ("1", "2")
    ]
    one, other = map(json.loads, outputs)
    assert diff(one, other) == []
    assert "0x" not in outputs[0]
    assert os.fspath(tmp_path) not in outputs[0]
