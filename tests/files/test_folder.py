"""The folder format gives back what it was given, and never reads damage as data."""

import json
import math
import os
import pickle
import sys
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from gnnlab.files import FileFormatError, read_folder, register_codec, write_folder
from gnnlab.files.folder import _json_checksum
from gnnlab.files.tensors import DTYPES, blocks, from_bytes

beta = pytest.mark.filterwarnings("ignore:Sparse .* support is in beta:UserWarning")
"""torch says so when it first makes a tensor of these layouts."""


def random_tensor(dtype: torch.dtype, shape: list[int], seed: int = 0) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    nbytes = math.prod(shape) * dtype.itemsize
    bits = torch.randint(0, 2 if dtype == torch.bool else 256, (nbytes,), generator=generator)
    return from_bytes(bits.to(torch.uint8), dtype, shape)


def assert_same(one: Any, other: Any) -> None:
    """Same types, same values, same bits."""
    assert type(one) is type(other)
    if isinstance(one, dict):
        assert [*one] == [*other]
        for key in one:
            assert_same(one[key], other[key])
    elif isinstance(one, list | tuple):
        assert len(one) == len(other)
        for item, other_item in zip(one, other, strict=True):
            assert_same(item, other_item)
    elif isinstance(one, Tensor):
        assert (one.dtype, one.layout, one.shape) == (other.dtype, other.layout, other.shape)
        assert one.requires_grad == other.requires_grad
        if one.layout == torch.strided:
            assert other.is_contiguous()
            assert b"".join(map(bytes, blocks(one))) == b"".join(map(bytes, blocks(other)))
        else:
            assert torch.equal(one.to_dense(), other.to_dense())
    elif isinstance(one, float):
        assert repr(one) == repr(other)
    else:
        assert one == other


@st.composite
def tensors(draw: st.DrawFn) -> Tensor:
    dtype = draw(st.sampled_from(list(DTYPES.values())))
    tensor = random_tensor(dtype, draw(st.lists(st.integers(0, 4), max_size=3)))
    if tensor.dim() > 1 and draw(st.booleans()):
        tensor = tensor.transpose(0, 1)
    if tensor.dim() > 0 and draw(st.booleans()):
        tensor = tensor[: draw(st.integers(0, 3))]
    if dtype in (torch.float32, torch.float16, torch.complex64) and draw(st.booleans()):
        tensor = tensor.detach().requires_grad_()
    return tensor


text = st.text(st.characters(), max_size=8)
keys = st.one_of(text, st.integers(), st.tuples(text, text, text))
trees = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), text, st.binary(), tensors()),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.lists(inner, max_size=3).map(tuple),
        st.dictionaries(text, inner, max_size=3),
        st.dictionaries(keys, inner, max_size=3),
    ),
    max_leaves=8,
)


@settings(max_examples=50)
@given(tree=trees, mmap=st.booleans())
def test_any_tree_comes_back(tree: Any, mmap: bool) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "set")
        write_folder(path, tree, {"fingerprint": "abc", "parts": [1, None, 2.5]})
        back, meta = read_folder(path, mmap=mmap, verify=True)
    assert_same(tree, back)
    assert meta == {"fingerprint": "abc", "parts": [1, None, 2.5]}


@pytest.mark.parametrize("mmap", [False, True])
@pytest.mark.parametrize("name", DTYPES)
def test_every_dtype(tmp_path: Path, name: str, mmap: bool) -> None:
    large = random_tensor(DTYPES[name], [300, 300])
    tree = {
        "large": large,
        "strided": large.view(WIDTHS[large.itemsize])[::2, 1::3].t().view(large.dtype),
        "scalar": random_tensor(DTYPES[name], []),
        "empty": random_tensor(DTYPES[name], [0, 3]),
    }
    write_folder(tmp_path / "set", tree)
    back, _ = read_folder(tmp_path / "set", mmap=mmap, verify=True)
    assert_same(tree, back)


WIDTHS = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64, 16: torch.complex128}


@pytest.mark.parametrize(
    "cut",
    [
        lambda whole: whole.t(),
        lambda whole: whole[::2],
        lambda whole: whole[:, ::3],
        lambda whole: whole.view(1, 60, -1).transpose(1, 2),
        lambda whole: whole[0].expand(7, -1),
        lambda whole: whole.flatten()[::2],
        lambda whole: whole[:0].t(),
    ],
)
def test_views_are_written_block_by_block(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cut: Callable[[Tensor], Tensor]
) -> None:
    monkeypatch.setattr("gnnlab.files.tensors.BLOCK", 1000)
    view = cut(torch.arange(60 * 1000).view(60, 1000))
    sizes = [block.nbytes for block in blocks(view)]
    assert max(sizes, default=0) <= 1000
    write_folder(tmp_path / "set", view)
    back, _ = read_folder(tmp_path / "set", verify=True)
    assert torch.equal(back, view)
    assert (tmp_path / "set" / "0000.bin").stat().st_size == view.numel() * 8


def test_lazily_conjugated_and_negated_tensors(tmp_path: Path) -> None:
    z = torch.randn(5, dtype=torch.complex64)
    tree = {"conj": z.conj(), "neg": z.conj().imag}
    write_folder(tmp_path / "set", tree)
    back, _ = read_folder(tmp_path / "set")
    assert torch.equal(back["conj"], z.conj())
    assert torch.equal(back["neg"], -z.imag)


def test_gradients_are_a_flag(tmp_path: Path) -> None:
    leaf = torch.ones(3, requires_grad=True)
    tree = {
        "leaf": leaf,
        "result": leaf * 2,
        "weight": torch.nn.Parameter(torch.ones(2)),
        "frozen": torch.nn.Parameter(torch.ones(2), requires_grad=False),
    }
    write_folder(tmp_path / "set", tree)
    back, _ = read_folder(tmp_path / "set")
    assert_same(tree, back)
    assert all(tensor.is_leaf for tensor in back.values())


def sparse_tensors() -> dict[str, Tensor]:
    dense = torch.tensor([[0.0, 1, 0, 2], [0, 0, 0, 0], [3, 0, 0, 0], [0, 0, 4, 5]])
    index = torch.tensor([[1, 0, 1], [2, 0, 2]])
    return {
        "coo": dense.to_sparse(),
        "uncoalesced": torch.sparse_coo_tensor(index, torch.ones(3), (2, 3), check_invariants=True),
        "hybrid": torch.sparse_coo_tensor(index, torch.ones(3, 5), (2, 3, 5), check_invariants=True),
        "csr": dense.to_sparse_csr(),
        "csc": dense.to_sparse_csc(),
        "bsr": dense.to_sparse_bsr((2, 2)),
        "bsc": dense.to_sparse_bsc((2, 2)),
        "batched": torch.stack([dense, dense]).to_sparse_csr(),
        "int": dense.to(torch.int16).to_sparse_csr(),
        "empty": torch.zeros(3, 0).to_sparse(),
        "grad": dense.to_sparse().requires_grad_(),
    }


@beta
def test_sparse_layouts(tmp_path: Path) -> None:
    tree = sparse_tensors()
    write_folder(tmp_path / "set", tree)
    for mmap in (False, True):
        back, _ = read_folder(tmp_path / "set", mmap=mmap, verify=True)
        assert_same(tree, back)
        for name in ("coo", "uncoalesced", "hybrid", "empty"):
            assert back[name].is_coalesced() == tree[name].is_coalesced()
        assert back["uncoalesced"]._nnz() == 3


@pytest.mark.parametrize("module", ["gnnlab.sparse", "torch_sparse"])
def test_sparse_tensor(tmp_path: Path, module: str) -> None:
    cls = getattr(pytest.importorskip(module, reason=f"needs {module}"), "SparseTensor", None) or pytest.skip(
        f"{module} has no SparseTensor"
    )
    index = torch.tensor([[2, 0, 2], [1, 3, 0]])
    for value in (None, torch.tensor([1.0, 2.0, 3.0])):
        tensor = cls(row=index[0], col=index[1], value=value, sparse_sizes=(4, 5))
        write_folder(tmp_path / "set", {"adj_t": tensor})
        back = read_folder(tmp_path / "set", verify=True)[0]["adj_t"]
        assert type(back) is type(tensor)
        assert back.sparse_sizes() == (4, 5)
        assert not tensor.storage.has_rowptr()  # Writing leaves nothing behind.
        for one, other in zip(back.coo(), tensor.coo(), strict=True):
            assert (one is other is None) or torch.equal(one, other)


def test_arrays(tmp_path: Path) -> None:
    tree = {
        "reversed": np.arange(5)[::-1],
        "big-endian": np.arange(3, dtype=">i4"),
        "bool": np.array([[True], [False]]),
    }
    write_folder(tmp_path / "set", tree)
    back, _ = read_folder(tmp_path / "set")
    for name, array in tree.items():
        assert isinstance(back[name], np.ndarray)
        np.testing.assert_array_equal(back[name], array)


def test_any_name_will_do(tmp_path: Path) -> None:
    names = [
        "",
        "a/b",
        "../up",
        "/root",
        "ü\u2028",
        "x" * 5000,
        "x",
        "X",
        "\0",
        "\ud800",
        "0",
        "..",
    ]
    tree: dict[Any, Any] = {
        **{name: torch.tensor(number) for number, name in enumerate(names)},
        0: torch.tensor(-1),
        ("paper", "cites", "author"): {"edge_index": torch.empty(2, 0)},
    }
    write_folder(tmp_path / "set", tree)
    assert_same(tree, read_folder(tmp_path / "set")[0])
    files = sorted(os.listdir(tmp_path / "set"))
    assert files == [*(f"{number:04d}.bin" for number in range(len(tree))), "manifest.json"]


def test_numpy_numbers(tmp_path: Path) -> None:
    tree = [np.float32(0.1), np.float64("nan"), np.int8(-3), np.uint64(2**64 - 1), np.bool_(True), np.float16(2)]
    write_folder(tmp_path / "set", tree)
    assert [(type(value), str(value)) for value in read_folder(tmp_path / "set")[0]] == [
        (type(value), str(value)) for value in tree
    ]


class Interval:
    def __init__(self, low: Tensor, high: float) -> None:
        self.low, self.high = low, high


def test_a_class_of_ones_own(tmp_path: Path) -> None:
    name = f"{Interval.__module__.partition('.')[0]}.Interval"
    with pytest.raises(TypeError, match=r"attribute 'a/1': cannot store a .*Interval"):
        write_folder(tmp_path / "set", {"a": [1, Interval(torch.ones(2), 3.0)]})
    register_codec(name, lambda it: {"low": it.low, "high": it.high}, lambda parts: Interval(**parts))
    write_folder(tmp_path / "set", {"a": [1, Interval(torch.ones(2), 3.0)]})
    back = read_folder(tmp_path / "set")[0]["a"][1]
    assert isinstance(back, Interval)
    assert (back.low.tolist(), back.high) == ([1.0, 1.0], 3.0)
    with pytest.raises(ValueError, match=r"name: expected one that is not taken, found .*Interval"):
        register_codec(name, vars, vars)


class Renamed(Tensor):
    pass


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (object(), "attribute 'a/b': cannot store a builtins.object"),
        (np.longdouble(1.0), "attribute 'a/b': cannot store a numpy.longdouble"),
        (torch.ones(2, device="meta"), "attribute 'a/b': cannot store a torch.Tensor .* on meta"),
        (torch.ones(2).as_subclass(Renamed), "attribute 'a/b': cannot store a .*Renamed"),
        ({1.5: 1}, "attribute 'a/b': a key must be a string, .* found 1.5"),
        ({("a", None): 1}, "attribute 'a/b': a key must be a string, .* found None"),
    ],
)
def test_what_cannot_be_stored_is_named(tmp_path: Path, value: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        write_folder(tmp_path / "set", {"x": torch.ones(3), "a": {"b": value}})
    assert os.listdir(tmp_path) == []


def test_a_tree_that_holds_itself(tmp_path: Path) -> None:
    tree: dict[str, Any] = {}
    tree["me"] = [tree]
    with pytest.raises(ValueError, match=r"tree: me/0/me/0\.\.\. is nested too deeply"):
        write_folder(tmp_path / "set", tree)


@pytest.mark.parametrize("meta", [(1, 2), {1: 2}, {"a": {3}}, math.nan])
def test_meta_is_plain_json(tmp_path: Path, meta: Any) -> None:
    with pytest.raises(TypeError, match="meta: expected plain JSON values"):
        write_folder(tmp_path / "set", {}, meta)
    assert os.listdir(tmp_path) == []


def test_nothing_is_unpickled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_folder(tmp_path / "set", {"x": torch.ones(3), "s": torch.eye(3).to_sparse()})
    assert not any(
        b"\x80\x02" in path.read_bytes() or b"\x80\x04" in path.read_bytes() for path in (tmp_path / "set").iterdir()
    )

    def refuse(*args: Any, **kwargs: Any) -> None:
        raise AssertionError("unpickled")

    for name in ("load", "loads", "Unpickler"):
        monkeypatch.setattr(pickle, name, refuse)
    monkeypatch.setattr(torch, "load", refuse)
    assert read_folder(tmp_path / "set")[0]["x"].tolist() == [1, 1, 1]


# Memory maps


def test_writing_to_a_mapped_tensor_leaves_the_file(tmp_path: Path) -> None:
    x = torch.arange(100_000)
    write_folder(tmp_path / "set", {"x": x})
    mapped = read_folder(tmp_path / "set", mmap=True)[0]["x"]
    mapped += 1
    assert torch.equal(mapped, x + 1)
    assert torch.equal(read_folder(tmp_path / "set", mmap=True, verify=True)[0]["x"], x)


def test_a_mapped_tensor_survives_a_rebuild(tmp_path: Path) -> None:
    write_folder(tmp_path / "set", {"x": torch.arange(100_000)})
    mapped = read_folder(tmp_path / "set", mmap=True)[0]["x"]
    write_folder(tmp_path / "set", {"x": torch.zeros(3)})
    assert torch.equal(mapped, torch.arange(100_000))


def resident(kind: str) -> int:
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith(kind))


@pytest.mark.skipif(sys.platform != "linux", reason="reads the kinds of memory from /proc")
def test_mapped_pages_are_shared_with_the_page_cache(tmp_path: Path) -> None:
    size = 64 << 20
    write_folder(tmp_path / "set", {"x": torch.ones(size, dtype=torch.uint8)})
    anonymous, of_files = resident("RssAnon"), resident("RssFile")
    mapped = read_folder(tmp_path / "set", mmap=True)[0]["x"]
    assert resident("RssFile") - of_files < size // 4  # Nothing is read yet.
    assert int(mapped.sum(dtype=torch.int64)) == size
    assert resident("RssFile") - of_files >= size // 2
    assert resident("RssAnon") - anonymous < size // 4


@pytest.mark.skipif(sys.platform != "linux", reason="needs a sparse file")
def test_a_map_may_be_larger_than_memory(tmp_path: Path) -> None:
    write_folder(tmp_path / "set", {"x": torch.ones(3, dtype=torch.uint8)})
    size = 1 << 40

    def enlarge(body: dict[str, Any]) -> None:
        body["tensors"][0] |= {"shape": [size], "nbytes": size}

    edit_manifest(tmp_path / "set", enlarge)
    os.truncate(tmp_path / "set" / "0000.bin", size)
    mapped = read_folder(tmp_path / "set", mmap=True)[0]["x"]
    assert mapped.shape == (size,)
    assert mapped[[0, 2, 3, -1]].tolist() == [1, 1, 0, 0]


def test_a_reader_never_sees_half_of_two(tmp_path: Path) -> None:
    def version(number: int) -> dict[str, Tensor]:
        return {name: torch.full((20,), number) for name in "abcdef"}

    write_folder(tmp_path / "set", version(0))
    done = threading.Event()

    def read_on() -> None:
        while not done.is_set():
            tree, _ = read_folder(tmp_path / "set")
            seen.add(len(torch.cat(list(tree.values())).unique()))

    seen: set[int] = set()
    thread = threading.Thread(target=read_on)
    thread.start()
    for number in range(40):
        write_folder(tmp_path / "set", version(number))
    done.set()
    thread.join()
    assert seen == {1}


# Damage


@pytest.fixture
def stored(tmp_path: Path) -> Path:
    tree = {"x": torch.arange(30000), ("a", "to", "b"): {"w/1": torch.ones(2, 3)}, "name": "set"}
    write_folder(tmp_path / "set", tree, {"fingerprint": "abc"})
    return tmp_path / "set"


def edit_manifest(folder: Path, edit: Callable[[dict[str, Any]], object]) -> None:
    """Changes a manifest as someone would who knows how to make its checksum fit."""
    body = json.loads((folder / "manifest.json").read_text())
    del body["checksum"]
    edit(body)
    body["checksum"] = _json_checksum(body)
    (folder / "manifest.json").write_text(json.dumps(body))


@pytest.mark.parametrize("mmap", [False, True])
@pytest.mark.parametrize(("file", "attribute"), [("0000.bin", "'x'"), ("0001.bin", "('a', 'to', 'b')/w/1")])
def test_damaged_tensors(stored: Path, file: str, attribute: str, mmap: bool) -> None:
    path = stored / file
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    with pytest.raises(FileFormatError, match="damaged") as error:
        read_folder(stored, mmap=mmap, verify=True)
    assert file in str(error.value)
    assert attribute in str(error.value)

    for size in (0, len(data) - 1, len(data) + 1):
        os.truncate(path, size)
        with pytest.raises(FileFormatError, match=f"{len(data)} bytes, found {size}") as error:
            read_folder(stored, mmap=mmap)
        assert attribute in str(error.value)

    path.unlink()
    with pytest.raises(FileFormatError, match=f"{file}.*missing") as error:
        read_folder(stored, mmap=mmap)
    assert attribute in str(error.value)


def test_files_that_nobody_knows(stored: Path) -> None:
    (stored / ".DS_Store").touch()
    read_folder(stored)
    (stored / "0002.bin").touch()
    with pytest.raises(FileFormatError, match=r"does not name: \['0002.bin'\]"):
        read_folder(stored)


def test_no_folder(stored: Path, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="nowhere"):
        read_folder(tmp_path / "nowhere")
    with pytest.raises(FileFormatError, match=r"expected a folder with a manifest\.json"):
        read_folder(tmp_path)
    with pytest.raises(FileFormatError, match=r"expected a folder with a manifest\.json"):
        read_folder(stored / "0000.bin")


DAMAGED = {"x": torch.arange(3), "n": 1.5, ("a", "b"): [None, "text", (True,)]}


@pytest.fixture(scope="module")
def damaged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder whose manifest may be overwritten."""
    folder = tmp_path_factory.mktemp("damaged") / "set"
    write_folder(folder, DAMAGED, {"fingerprint": "abc"})
    return folder


@pytest.fixture(scope="module")
def manifest(damaged: Path) -> bytes:
    return (damaged / "manifest.json").read_bytes()


@settings(max_examples=200)
@given(data=st.data())
def test_a_damaged_manifest_is_refused_or_means_the_same(damaged: Path, manifest: bytes, data: st.DataObject) -> None:
    text = bytearray(manifest)
    position = data.draw(st.integers(0, len(text) - 1), "position")
    if data.draw(st.booleans(), "cut"):
        del text[position:]
    else:
        text[position] = data.draw(st.integers(0, 255), "byte")
    (damaged / "manifest.json").write_bytes(text)
    try:
        back, meta = read_folder(damaged)
    except FileFormatError:
        return
    assert_same(DAMAGED, back)
    assert meta == {"fingerprint": "abc"}


def entry(**changes: Any) -> Callable[[dict[str, Any]], object]:
    return lambda body: body["tensors"][0].update(changes)


def tree(node: Any) -> Callable[[dict[str, Any]], object]:
    return lambda body: body.update(tree=node)


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (lambda body: body.update(version=2), "format version 1 at most, found 2"),
        (lambda body: body.update(format="other"), "expected the manifest of a 'gnnlab.folder'"),
        (lambda body: body.update(byteorder="big"), "expected version, byteorder"),
        (lambda body: body.pop("tree"), "expected version, byteorder"),
        (entry(file="../../etc/passwd"), "expected a tensor"),
        (entry(file="/etc/passwd"), "expected a tensor"),
        (entry(file="manifest.json"), "expected a tensor"),
        (entry(file="0001.bin", shape=[2, 3], nbytes=24, dtype="float32"), "named twice"),
        (entry(dtype="qint8"), "expected a tensor"),
        (entry(dtype="nn"), "expected a tensor"),
        (entry(shape=[-30000]), "expected a tensor"),
        (entry(shape=["30000"]), "expected a tensor"),
        (entry(shape=[29999]), "expected a tensor"),
        (entry(requires_grad=True), "'x': cannot be read"),
        (entry(checksum=None), "expected a tensor"),
        (lambda body: body.update(tensors=[None]), "expected a tensor"),
        (tree({"tensor": 2}), "expected a node of the tree"),
        (tree({"tensor": -1}), "expected a node of the tree"),
        (tree({"other": 0}), "expected a node of the tree"),
        (tree({"pairs": [[1]]}), "expected a node of the tree"),
        (tree({"pairs": [[None, 1]]}), "expected a key"),
        (tree({"float": "1e5"}), "expected a node of the tree"),
        (tree({"bytes": "&"}), "damaged bytes"),
        (tree({"object": ["os.system", "true"]}), "no codec is registered for 'os.system'"),
        (tree({"object": ["torch.sparse", {"dict": {}}]}), "cannot put a 'torch.sparse' together"),
        (tree({"object": ["torch.sparse", 3]}), "cannot put a 'torch.sparse' together"),
    ],
)
def test_a_forged_manifest_is_refused(stored: Path, edit: Callable[[dict[str, Any]], object], message: str) -> None:
    edit_manifest(stored, edit)
    with pytest.raises(FileFormatError, match=message):
        read_folder(stored)


@pytest.mark.parametrize("shape", [[1 << 64, 0], [1 << 62, 1 << 62, 0]])
def test_a_shape_beyond_64_bits(tmp_path: Path, shape: list[int]) -> None:
    write_folder(tmp_path / "set", {"x": torch.empty(0)})
    edit_manifest(tmp_path / "set", entry(shape=shape))
    with pytest.raises(FileFormatError, match=r"'x': cannot be read|expected a tensor"):
        read_folder(tmp_path / "set")


def test_a_manifest_nested_without_end(stored: Path) -> None:
    (stored / "manifest.json").write_text("[" * 100_000)
    with pytest.raises(FileFormatError, match="damaged"):
        read_folder(stored)


@pytest.mark.parametrize("dtype", [torch.int16, torch.float32, torch.bool, torch.bfloat16])
def test_empty_tensors_of_any_strides_come_back(tmp_path, dtype):
    tree = {
        "flat": torch.empty(0, dtype=dtype).as_strided((0,), (0,)),
        "wide": torch.empty(1, dtype=dtype).expand(3, 1)[:, :0],
        "numpy": torch.from_numpy(np.empty(0, dtype=np.uint8)[::2]).view(torch.bool),
    }
    write_folder(tmp_path / "set", tree)
    found, _ = read_folder(tmp_path / "set", verify=True)
    assert {key: (value.dtype, value.shape) for key, value in found.items()} == {
        key: (value.dtype, value.shape) for key, value in tree.items()
    }
