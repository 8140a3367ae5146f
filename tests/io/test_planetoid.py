"""Planetoid's pickles: what the reader makes of good ones, and that bad ones can do nothing."""

import builtins
import collections
import os
import pickle
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from gnnlab.io import read_planetoid_data
from gnnlab.io.planetoid import load_planetoid_pickle
from tests.io.planetoid_files import array, lists, number, pickled, sparse, string, write_planetoid

MATRIX = np.array([[0, 1.5, 0], [0, 0, 0], [2, 0, -3]], dtype="f4")


def load(folder: Path, content: bytes) -> Any:
    path = folder / "pickle"
    path.write_bytes(content)
    return load_planetoid_pickle(str(path))


@pytest.mark.parametrize("dtype", ["i1", "u2", "i4", "i8", "f4", "f8"])
def test_load_array(tmp_path: Path, dtype: str) -> None:
    loaded = load(tmp_path, pickled(array(MATRIX.astype(dtype))))
    assert loaded.dtype == dtype
    np.testing.assert_array_equal(loaded, MATRIX.astype(dtype))


def test_load_sparse_matrix(tmp_path: Path) -> None:
    loaded = load(tmp_path, pickled(sparse(MATRIX)))
    assert loaded.dtype == np.float32
    np.testing.assert_array_equal(loaded, MATRIX)


def test_load_lists(tmp_path: Path) -> None:
    neighbors = {0: [1, 2], 1: [], 2: [0]}
    assert load(tmp_path, pickled(lists(neighbors))) == neighbors


@pytest.mark.parametrize("module", [b"numpy.core", b"numpy._core"])
def test_load_what_python_3_and_any_numpy_write(tmp_path: Path, module: bytes) -> None:
    for values in (MATRIX, np.asfortranarray(MATRIX), MATRIX.astype(">i8")):
        content = pickle.dumps(values, protocol=3).replace(b"numpy._core", b"numpy.core")
        loaded = load(tmp_path, content.replace(b"numpy.core", module))
        assert loaded.dtype == values.dtype
        np.testing.assert_array_equal(loaded, values)


def test_load_what_scipy_writes_today(tmp_path: Path) -> None:
    scipy_sparse = pytest.importorskip("scipy.sparse", reason="SciPy is not installed")
    loaded = load(tmp_path, pickle.dumps(scipy_sparse.csr_matrix(MATRIX), protocol=4))
    np.testing.assert_array_equal(loaded, MATRIX)


def test_read_needs_no_scipy(tmp_path: Path) -> None:
    write_planetoid(tmp_path, "tiny")
    code = (
        "import sys; from gnnlab.io import read_planetoid_data; "
        "read_planetoid_data(sys.argv[1], 'tiny'); assert 'scipy' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=True)


def test_read_as_pyg_does(tmp_path: Path) -> None:
    pyg_io = pytest.importorskip("torch_geometric.io", reason="PyG is not installed")
    pytest.importorskip("scipy", reason="PyG needs SciPy to read Planetoid's files")
    write_planetoid(tmp_path, "citeseer")
    data = read_planetoid_data(str(tmp_path), "citeseer")
    expected = pyg_io.read_planetoid_data(str(tmp_path), "citeseer").to_dict()
    assert set(data.keys()) == set(expected)
    for key, value in expected.items():
        assert data[key].dtype == value.dtype
        assert torch.equal(data[key], value), key
    assert data.num_nodes == 520
    assert int(data.test_mask.sum()) == 9
    assert not data.test_mask[518]
    assert not data.x[518].any()


# Hostile files ------------------------------------------------------------------------------------


class Call:
    """Calls `function(*args)` when it is unpickled, and sets `state` on what comes out."""

    def __init__(self, function: Any, *args: Any, state: Any = None) -> None:
        self.reduced = (function, args) if state is None else (function, args, state)

    def __reduce__(self) -> tuple[Any, ...]:
        return self.reduced


HOSTILE_NAMES = {
    "posix.system": Call(os.system, "touch MARK"),
    "builtins.eval": Call(eval, "open('MARK', 'w')"),
    "builtins.exec": Call(exec, "open('MARK', 'w')"),
    "builtins.open": Call(open, "MARK", "w"),
    "builtins.getattr": Call(getattr, Call(__import__, "os"), "system"),
    "functools.partial": Call(partial, print),
    "builtins.map": Call(list, Call(map, os.mkdir, ["MARK"])),
    "numpy.fromfile": Call(np.fromfile, "MARK"),
    "numpy.load": Call(np.load, "MARK"),
    "numpy.memmap": Call(np.memmap, "MARK", "u1", "w+", 0, (1,)),
    "builtins.dict": Call(dict),
    "collections.OrderedDict": collections.OrderedDict(),
    "operator.attrgetter": __import__("operator").attrgetter("a"),
}


@pytest.mark.parametrize("name", HOSTILE_NAMES)
@pytest.mark.parametrize("protocol", [0, 2, 3, 4])
def test_load_refuses_names_that_are_not_on_the_list(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, protocol: int
) -> None:
    monkeypatch.chdir(tmp_path)
    content = pickle.dumps(HOSTILE_NAMES[name], protocol)
    with pytest.raises(pickle.UnpicklingError, match="pickle: "):
        load(tmp_path, content)
    assert os.listdir(tmp_path) == ["pickle"]


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("os", "system"),
        ("__builtin__", "eval"),
        ("numpy", "load"),
        ("numpy.core.multiarray", "fromfile"),
        ("numpy.core.multiarray", "_reconstruct.__globals__"),
        ("numpy", "ndarray.tofile"),
        ("collections", "defaultdict.__init__"),
        ("__builtin__", "list.__class__"),
        ("gnnlab.io.planetoid", "os.system"),
    ],
)
@pytest.mark.parametrize("form", ["global", "stack_global", "inst"])
def test_load_refuses_names_however_they_are_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, module: str, name: str, form: str
) -> None:
    monkeypatch.chdir(tmp_path)
    asked = f"{module}\n{name}\n".encode()
    text = [b"\x8c" + bytes([len(part)]) + part.encode() for part in (module, name)]
    content = {
        "global": b"c" + asked + b"(" + string(b"touch MARK") + b"tR.",
        "stack_global": b"".join(text) + b"\x93(" + string(b"touch MARK") + b"tR.",
        "inst": b"(" + string(b"touch MARK") + b"i" + asked + b".",
    }[form]
    with pytest.raises(pickle.UnpicklingError, match=f"refused the name .*{name.split('.')[0]}"):
        load(tmp_path, b"\x80\x04" + content)
    assert os.listdir(tmp_path) == ["pickle"]


NAME = {
    "dtype": b"cnumpy\ndtype\n",
    "ndarray": b"cnumpy\nndarray\n",
    "reconstruct": b"cnumpy.core.multiarray\n_reconstruct\n",
    "csr": b"cscipy.sparse.csr\ncsr_matrix\n",
    "defaultdict": b"ccollections\ndefaultdict\n",
    "list": b"c__builtin__\nlist\n",
}


def attributes(names: list[str]) -> bytes:
    return b"}(" + b"".join(string(name.encode()) + number(1) for name in names) + b"u"


@pytest.mark.parametrize("name", NAME)
@pytest.mark.parametrize("kind", ["class", "instance"])
@pytest.mark.parametrize("state", ["dict", "slots"])
def test_load_lets_a_file_change_nothing_that_it_can_name(tmp_path: Path, name: str, kind: str, state: str) -> None:
    """The opcode BUILD sets attributes, of classes too, on whatever has no `__setstate__`."""
    target = NAME[name]
    if kind == "instance":
        argument = string(b"f4") if name == "dtype" else b""
        target += b"(" + argument + b"tR"
    names = attributes(["find_class", "dtype", "value", "__setstate__", "append"])
    content = target + (names if state == "dict" else b"N" + names + b"\x86") + b"b"
    with pytest.raises(pickle.UnpicklingError, match="not a Planetoid file"):
        load(tmp_path, pickled(content))
    np.testing.assert_array_equal(load(tmp_path, pickled(sparse(MATRIX))), MATRIX)
    assert not hasattr(builtins.list, "find_class")


@pytest.mark.parametrize("code", [b"O8", b"O", b"V8", b"S4", b"f4,O", b"f16", b"(4,)f4", b""])
def test_load_refuses_dtypes_that_are_no_plain_numbers(tmp_path: Path, code: bytes) -> None:
    with pytest.raises(pickle.UnpicklingError, match="plain numbers"):
        load(tmp_path, pickled(NAME["dtype"] + string(code) + b"\x85R"))


ARRAY = pickled(array(MATRIX))


@pytest.mark.parametrize(
    "content",
    [
        ARRAY.replace(number(3) + number(3), number(3) + number(4)),  # more than there is
        ARRAY.replace(b"U\x01<", b"U\x01?"),  # no byte order
        ARRAY.replace(b"K\x03U\x01<NNN", b"K\x03NNNN"),
        ARRAY[:-9],
        pickled(sparse(MATRIX)).replace(b"indices", b"indicex"),
        pickled(sparse(MATRIX)).replace(number(3) + number(3), number(3) + number(2)),
        pickled(NAME["dtype"] + b")R"),
        pickled(b"]}(" + b"]" + number(1) + b"u"),  # a list as a key
        pickled(b"U\x01aQ"),  # an object kept elsewhere
        b"",
        b"not a pickle",
    ],
)
def test_load_refuses_damaged_files(tmp_path: Path, content: bytes) -> None:
    with pytest.raises(pickle.UnpicklingError, match=r"pickle: "):
        load(tmp_path, content)


def test_read_refuses_files_that_hold_something_else(tmp_path: Path) -> None:
    write_planetoid(tmp_path, "tiny")
    good = (tmp_path / "ind.tiny.x").read_bytes()
    (tmp_path / "ind.tiny.x").write_bytes(pickled(lists({0: [1]})))
    with pytest.raises(pickle.UnpicklingError, match=r"ind\.tiny\.x: expected a matrix"):
        read_planetoid_data(str(tmp_path), "tiny")
    (tmp_path / "ind.tiny.x").write_bytes(good)
    (tmp_path / "ind.tiny.graph").write_bytes(good)
    with pytest.raises(pickle.UnpicklingError, match=r"ind\.tiny\.graph: expected a dictionary"):
        read_planetoid_data(str(tmp_path), "tiny")
