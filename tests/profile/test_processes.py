import mmap
import os
import subprocess
import sys
from contextlib import ExitStack, contextmanager

import psutil
import pytest

from gnnlab.profile import pss
from gnnlab.profile.child import status

MIB = 2**20

MAP_AND_WAIT = """
import mmap, sys
with open(sys.argv[1], "r+b") as file:
    block = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
sum(block[::4096])
print("ready", flush=True)
sys.stdin.read()
"""

FORK_AND_WAIT = """
import mmap, os, sys
block = mmap.mmap(-1, 32 * 2**20)
block[::4096] = b"1" * len(block[::4096])
if os.fork() == 0:
    sum(block[::4096])
    print("ready", flush=True)
sys.stdin.read()
"""


@contextmanager
def running(code, *args):
    """A process that runs `code`, is ready, and ends when its standard input is closed."""
    process = subprocess.Popen([sys.executable, "-c", code, *args], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    with process:
        assert process.stdout.readline() == b"ready\n"
        yield process


@pytest.fixture
def block(tmp_path):
    path = tmp_path / "block"
    path.write_bytes(bytes(32 * MIB))
    return str(path)


def test_a_page_that_two_processes_map_counts_half_in_each(block):
    with running(MAP_AND_WAIT, block) as first:
        alone = pss(first.pid, match=block)
        assert (alone.file, alone.anonymous, alone.shmem) == (32 * MIB, 0, 0)
        with running(MAP_AND_WAIT, block) as second:
            halves = [pss(p.pid, match=block).total for p in (first, second)]
            rss = [psutil.Process(p.pid).memory_info().rss for p in (first, second)]
    assert halves == [16 * MIB, 16 * MIB]
    assert sum(rss) > 64 * MIB


def test_a_tree_counts_shared_memory_once():
    with running(FORK_AND_WAIT) as parent:
        whole, root = pss(parent.pid), pss(parent.pid, children=False)
        assert len(whole.processes) == 2
        assert root.processes == (parent.pid,)
        assert whole.shmem == pytest.approx(32 * MIB, abs=MIB)
        assert root.shmem == pytest.approx(16 * MIB, abs=MIB)
        assert pss(parent.pid, match="^/dev/zero").shmem == whole.shmem
        assert whole.total == whole.anonymous + whole.file + whole.shmem
        assert "32.0" in str(whole)


def test_this_process_grows_by_what_it_touches():
    before = pss(children=False).anonymous
    block = bytearray(64 * MIB)
    block[::4096] = b"1" * len(block[::4096])
    grown = pss(os.getpid(), children=False).anonymous - before
    assert grown == pytest.approx(64 * MIB, abs=4 * MIB)


def test_pages_of_a_file_are_told_from_anonymous_ones(block):
    with open(block, "r+b") as file, mmap.mmap(file.fileno(), 0) as mapped:
        sum(mapped[::4096])
        assert pss(children=False, match=r"/block$").file == 32 * MIB
        assert pss(children=False, match="no such path").total == 0


def test_a_process_that_is_gone_is_named():
    with running("print('ready', flush=True)") as process:
        process.wait()
    with pytest.raises(psutil.NoSuchProcess):
        pss(process.pid)


def test_a_child_that_is_gone_is_left_out(monkeypatch):
    with ExitStack() as stack:
        child = stack.enter_context(running("print('ready', flush=True)"))
        child.wait()
        monkeypatch.setattr(psutil.Process, "children", lambda *_, **__: [_Gone(child.pid)])
        assert pss().processes == (os.getpid(),)


class _Gone:
    def __init__(self, pid):
        self.pid = pid


def test_a_system_that_counts_no_pss_is_told(monkeypatch):
    monkeypatch.setattr("gnnlab.profile.processes.Path.exists", lambda _: False)
    with pytest.raises(OSError, match="smaps_rollup"):
        pss()


def test_status_is_in_bytes():
    sizes = status()
    assert sizes["VmHWM"] >= sizes["VmRSS"] > MIB
    assert sizes["VmRSS"] == pytest.approx(psutil.Process().memory_info().rss, rel=0.05)
