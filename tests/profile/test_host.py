import platform
import socket
import subprocess
import sys

import psutil
import torch

import gnnlab
from gnnlab.profile import host, machine


def test_it_tells_the_kind_of_machine_and_versions():
    here = machine()
    assert here.cpu
    assert 1 <= here.cores <= psutil.cpu_count()
    assert here.threads == torch.get_num_threads()
    assert 0 < here.memory <= psutil.virtual_memory().total
    assert here.system == f"{platform.system()} {platform.release().split('.')[0]}"
    assert here.versions["torch"] == torch.__version__
    assert here.versions["gnnlab"] == gnnlab.__version__
    assert here.versions["python"] == platform.python_version()


def test_it_does_not_tell_whose_it_is():
    text = str(machine()) + machine()._repr_html_()
    assert socket.gethostname() not in text
    assert platform.release() not in text


def test_packages_that_are_not_installed_are_left_out(monkeypatch):
    monkeypatch.setattr(host, "_PACKAGES", ("torch", "no-such-package"))
    assert list(machine().versions) == ["python", "torch"]


def test_a_containers_limit_counts(monkeypatch, tmp_path):
    limit = tmp_path / "memory.max"
    monkeypatch.setattr(host, "_MEMORY_LIMIT", limit)
    assert machine().memory == psutil.virtual_memory().total
    limit.write_text("max\n")
    assert machine().memory == psutil.virtual_memory().total
    limit.write_text("1048576\n")
    assert machine().memory == 2**20


def test_importing_profile_imports_nothing_optional():
    code = (
        "import sys, gnnlab.profile as p; p.machine(); "
        "bad = {'numba', 'matplotlib', 'scipy', 'networkx', 'pandas', 'torch_geometric'}; "
        "print(sorted(bad & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
