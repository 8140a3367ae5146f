"""A wheel, installed into an empty folder, carries the files of DebianPackages."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).parents[2]

LOAD = """
import sys
from pathlib import Path
import gnnlab
from gnnlab.datasets import DebianPackages, debian_packages

assert Path(gnnlab.__file__).parents[1] == Path(sys.argv[1]), gnnlab.__file__
assert Path(sys.argv[1]) in debian_packages._folder().parents
print(DebianPackages()[0].num_nodes)
"""


def run(*command: str, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=cwd, env=os.environ | environment, capture_output=True, text=True, check=False)


def test_an_installed_wheel_loads_the_set(tmp_path: Path) -> None:
    pytest.importorskip("hatchling", reason="building a wheel without a network needs hatchling")
    wheels, installed, elsewhere = (tmp_path / name for name in ("wheels", "installed", "empty"))
    elsewhere.mkdir()

    built = run(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(wheels), cwd=CHECKOUT)
    assert built.returncode == 0, built.stderr
    (wheel,) = wheels.glob("gnnlab-*.whl")
    pip = run(
        *(sys.executable, "-m", "pip", "install", "--no-deps", "--no-index"),
        *("--target", str(installed), str(wheel)),
        cwd=elsewhere,
    )
    assert pip.returncode == 0, pip.stderr

    loaded = run(sys.executable, "-c", LOAD, str(installed), cwd=elsewhere, PYTHONPATH=str(installed))
    assert loaded.returncode == 0, loaded.stderr
    assert loaded.stdout.strip() == "63436"
