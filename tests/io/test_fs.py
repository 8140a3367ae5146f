"""The file functions, on the disk and in fsspec's memory."""

import gzip
import os
import pickle
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fsspec
import pytest
import torch

from gnnlab.io import fs


@pytest.fixture(params=["disk", "memory"])
def root(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """An empty folder, on either file system."""
    if request.param == "disk":
        yield str(tmp_path / "root")
        return
    yield "memory:///top"
    memory = fsspec.filesystem("memory")
    if memory.exists("/top"):
        memory.rm("/top", recursive=True)


def put(path: str, text: str) -> None:
    fs.makedirs(path.rpartition("/")[0])
    with fsspec.open(path, "w") as file:
        file.write(text)


def read(path: str) -> str:
    with fsspec.open(path, "r") as file:
        return file.read()


def tree(root: str) -> list[str]:
    return sorted(path.removeprefix(root)[1:] for path in fs.glob(f"{root}/**") if fs.isfile(path))


def test_questions(root: str) -> None:
    assert not fs.exists(root)
    put(f"{root}/a/b", "text")
    assert fs.exists(f"{root}/a/b")
    assert fs.isfile(f"{root}/a/b")
    assert not fs.isdir(f"{root}/a/b")
    assert fs.isdir(f"{root}/a")
    assert not fs.isfile(f"{root}/a")
    assert fs.islocal(root)
    assert fs.isdisk(root) == (not root.startswith("memory"))


def test_makedirs(root: str) -> None:
    fs.makedirs(f"{root}/a/b")
    fs.makedirs(f"{root}/a/b")
    assert fs.isdir(f"{root}/a/b")
    with pytest.raises(FileExistsError):
        fs.makedirs(f"{root}/a/b", exist_ok=False)


def test_ls_and_glob_give_full_paths(root: str) -> None:
    put(f"{root}/a", "1")
    put(f"{root}/b/c", "22")
    assert sorted(fs.ls(root)) == [f"{root}/a", f"{root}/b"]
    sizes = {entry["name"]: (entry["type"], entry["size"]) for entry in fs.ls(root, detail=True)}
    assert sizes[f"{root}/a"] == ("file", 1)
    assert sizes[f"{root}/b"][0] == "directory"
    assert fs.glob(f"{root}/*") == [f"{root}/a", f"{root}/b"]
    assert fs.glob(f"{root}/*/c") == [f"{root}/b/c"]


def test_normpath() -> None:
    assert fs.normpath("a/./b//../c") == "a/c"
    assert fs.normpath("memory://a/../b") == "memory://a/../b"


@pytest.mark.parametrize("there", ["disk", "memory"])
def test_cp(root: str, there: str, tmp_path: Path) -> None:
    target = str(tmp_path / "target") if there == "disk" else f"memory://{tmp_path}/target"
    put(f"{root}/a/one", "1")
    put(f"{root}/a/b/two", "2")
    fs.makedirs(f"{root}/a/empty")

    fs.cp(f"{root}/a/one", f"{target}/new/uno")
    fs.cp(f"{root}/a/one", f"{target}/new")
    assert tree(target) == ["new/one", "new/uno"]
    fs.cp(f"{root}/a", f"{target}/copy")
    assert tree(f"{target}/copy") == ["b/two", "one"]
    assert fs.isdir(f"{target}/copy/empty")
    fs.cp(f"{root}/a", f"{target}/copy")
    assert tree(f"{target}/copy") == ["a/b/two", "a/one", "b/two", "one"]
    assert read(f"{target}/copy/a/b/two") == "2"
    fs.rm(target)
    with pytest.raises(FileNotFoundError, match="nothing"):
        fs.cp(f"{root}/nothing", target)


def test_cp_extracts(root: str, tmp_path: Path) -> None:
    fs.makedirs(root)
    with fsspec.open(f"{root}/a.zip", "wb") as file, zipfile.ZipFile(file, "w") as archive:
        archive.writestr("in/a", "1")
    with fsspec.open(f"{root}/b.txt.gz", "wb") as file:
        file.write(gzip.compress(b"2"))
    target = str(tmp_path / "target")
    fs.cp(f"{root}/a.zip", target, extract=True, log=False)
    fs.cp(f"{root}/b.txt.gz", target, extract=True, log=False)
    assert tree(target) == ["b.txt", "in/a"]
    with pytest.raises(ValueError, match=r"expects one of \.tar\.gz"):
        fs.cp(f"{target}/b.txt", target, extract=True)
    with pytest.raises(ValueError, match="to the disk only"):
        fs.cp(f"{root}/a.zip", "memory://elsewhere", extract=True)


def test_mv_and_rm(root: str) -> None:
    put(f"{root}/a/one", "1")
    fs.mv(f"{root}/a", f"{root}/b")
    assert tree(root) == ["b/one"]
    other = "memory://elsewhere" if fs.isdisk(root) else "/elsewhere"
    with pytest.raises(ValueError, match="different file systems"):
        fs.mv(f"{root}/b", other)
    fs.rm(f"{root}/b/one")
    assert not fs.exists(f"{root}/b/one")
    fs.rm(root)
    assert not fs.exists(root)
    with pytest.raises(FileNotFoundError):
        fs.rm(root)


def test_torch_save_and_load(root: str) -> None:
    fs.makedirs(root)
    content: dict[str, Any] = {"a": torch.arange(3), "b": [1, "text", None]}
    fs.torch_save(content, f"{root}/a.pt")
    assert tree(root) == ["a.pt"]
    loaded = fs.torch_load(f"{root}/a.pt", map_location="cpu")
    assert torch.equal(loaded.pop("a"), content.pop("a"))
    assert loaded == content


class Touch:
    """Makes a file when it is unpickled."""

    def __init__(self, path: str) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (self.path,)


def test_torch_load_refuses_code(root: str, tmp_path: Path) -> None:
    fs.makedirs(root)
    mark = tmp_path / "mark"
    fs.torch_save(Touch(str(mark)), f"{root}/evil.pt")
    with pytest.raises(pickle.UnpicklingError, match="mkdir"):
        fs.torch_load(f"{root}/evil.pt")
    assert not mark.exists()
    fs.torch_load(f"{root}/evil.pt", weights_only=False)
    assert mark.exists()


def test_torch_save_that_fails_keeps_the_old_file(tmp_path: Path) -> None:
    path = str(tmp_path / "a.pt")
    fs.torch_save(1, path)
    with pytest.raises((AttributeError, pickle.PicklingError)):
        fs.torch_save(lambda: None, path)
    assert fs.torch_load(path) == 1
    assert os.listdir(tmp_path) == ["a.pt"]
