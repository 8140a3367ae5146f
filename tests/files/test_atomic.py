"""Builds are all or nothing, whenever they fail or are killed."""

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest
import torch

from gnnlab.files import atomic, building, locked, read_folder, recover, write_folder

TARGET = "target"


def listing(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if path.name != f".lock-{TARGET}")


def put(path: Path, text: str) -> None:
    """Builds a folder of two files."""
    with building(path) as new:
        (new / "one").write_text(text)
        (new / "sub").mkdir()
        (new / "sub" / "two").write_text(text)


def get(path: Path) -> str:
    text = (path / "one").read_text()
    assert (path / "sub" / "two").read_text() == text
    return text


def test_a_folder_appears_when_it_is_complete(tmp_path: Path) -> None:
    target = tmp_path / "parent" / TARGET
    with building(target) as new:
        (new / "one").write_text("x")
        assert new.name.endswith(TARGET)
        assert not target.exists()
    assert (target / "one").read_text() == "x"
    assert listing(target.parent) == [TARGET]


def test_a_file_appears_when_it_is_complete(tmp_path: Path) -> None:
    target = tmp_path / TARGET
    for text in ("old", "new"):
        with building(target, folder=False) as new:
            new.write_text(text)
        assert target.read_text() == text
    assert listing(tmp_path) == [TARGET]


@pytest.mark.parametrize("swap", [True, False])
def test_what_was_there_is_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, swap: bool) -> None:
    if not swap:
        monkeypatch.setattr(atomic, "_exchange", lambda one, other: False)
    target = tmp_path / TARGET
    target.write_text("a file")
    put(target, "old")
    put(target, "new")
    assert get(target) == "new"
    with building(target, folder=False) as new:
        new.write_text("a file again")
    assert target.read_text() == "a file again"
    assert listing(tmp_path) == [TARGET]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_an_error_leaves_what_was_there(tmp_path: Path, error: type[BaseException]) -> None:
    def fail() -> None:
        with building(target) as new:
            (new / "one").write_text("half")
            raise error

    target = tmp_path / TARGET
    put(target, "old")
    with pytest.raises(error):
        fail()
    assert get(target) == "old"
    assert listing(tmp_path) == [TARGET]


def test_a_block_that_writes_nothing(tmp_path: Path) -> None:
    with (
        pytest.raises(FileNotFoundError, match="nothing was written"),
        building(tmp_path / TARGET, folder=False),
    ):
        pass
    assert listing(tmp_path) == []


def test_a_link_is_followed(tmp_path: Path) -> None:
    real, link = tmp_path / "disk" / TARGET, tmp_path / TARGET
    put(real, "old")
    link.symlink_to(real)
    put(link, "new")
    assert link.is_symlink()
    assert get(real) == "new"


def test_a_second_builder_waits_or_says_why_not(tmp_path: Path) -> None:
    target = tmp_path / TARGET
    started, go_on = threading.Event(), threading.Event()

    def build_slowly() -> None:
        with building(target, folder=False) as new:
            started.set()
            go_on.wait()
            new.write_text("first")

    thread = threading.Thread(target=build_slowly)
    thread.start()
    started.wait()
    with (
        pytest.raises(TimeoutError, match=f"{TARGET}: another builder"),
        building(target, timeout=0),
    ):
        pass
    go_on.set()
    with locked(target):
        assert target.read_text() == "first"
        with building(target, folder=False) as new:  # The lock may be taken twice.
            new.write_text("second")
    thread.join()
    assert target.read_text() == "second"


def test_a_build_killed_between_two_renames_is_put_back(tmp_path: Path) -> None:
    target = tmp_path / TARGET
    write_folder(target, {"x": torch.arange(3)})
    target.rename(tmp_path / f".replaced-{TARGET}")
    tree, _ = read_folder(target)
    assert tree["x"].tolist() == [0, 1, 2]
    assert listing(tmp_path) == [TARGET]


def test_recover_leaves_everything_else_alone(tmp_path: Path) -> None:
    put(tmp_path / TARGET, "old")
    (tmp_path / f".replaced-{TARGET}").mkdir()
    recover(tmp_path / TARGET)
    recover(tmp_path / "nothing")
    assert listing(tmp_path) == [f".replaced-{TARGET}", TARGET]


# Forks a builder and kills it as it is about to make its 1st, 2nd, 3rd, ... call to the operating
# system, until it once gets to its end. After each kill the target must be the old or the new one,
# and the next build must tidy up.
KILLS = """
import os, shutil, signal, sys
from itertools import count
from pathlib import Path

from gnnlab.files import atomic, building, recover

base, folder, swap = Path(sys.argv[1]), sys.argv[2] == "folder", sys.argv[3] == "swap"
target, names = base / "target", ("one", "two", "three")
if not swap:
    atomic._exchange = lambda one, other: False

def put(text):
    with building(target, folder=folder) as new:
        for name in names:
            with open(new / name if folder else new, "a") as file:
                file.write(text)

def get():
    if not folder:
        text = target.read_text()
        assert text == text[0] * len(names), text
        return text[0]
    texts = {(target / name).read_text() for name in names}
    assert sorted(os.listdir(target)) == sorted(names) and len(texts) == 1, texts
    return texts.pop()

def die_at(last):
    calls = count()
    def hook(event, arguments):
        if event.partition(".")[0] in ("os", "open", "shutil", "ctypes", "fcntl", "pathlib"):
            if next(calls) == last:
                os.kill(os.getpid(), signal.SIGKILL)
    sys.addaudithook(hook)

put("a")
seen = []
for last in count():
    child = os.fork()
    if child == 0:
        die_at(last)
        put("b")
        os._exit(0)
    status = os.waitpid(child, 0)[1]
    if status == 0:
        break
    assert os.waitstatus_to_exitcode(status) == -signal.SIGKILL
    if swap:
        assert target.exists(), last
    recover(target)
    seen.append(get())
    put("a")
    assert get() == "a" and sorted(os.listdir(base)) == [".lock-target", "target"]
assert get() == "b"

children = []
for text in "vwxyz":
    child = os.fork()
    if child == 0:
        put(text)
        os._exit(0)
    children.append(child)
assert [os.waitpid(child, 0)[1] for child in children] == [0] * 5
assert get() in "vwxyz" and sorted(os.listdir(base)) == [".lock-target", "target"]
print("".join(seen))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="forks, and swaps two folders in one step")
@pytest.mark.parametrize(("kind", "how"), [("folder", "swap"), ("folder", "rename"), ("file", "swap")])
def test_a_kill_at_any_moment_leaves_the_old_or_the_new(tmp_path: Path, kind: str, how: str) -> None:
    command = [sys.executable, "-c", KILLS, os.fspath(tmp_path), kind, how]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    seen = done.stdout.strip()
    assert seen == "a" * seen.count("a") + "b" * seen.count("b")  # From some moment on the new one.
    assert "a" in seen
    assert "b" in seen
