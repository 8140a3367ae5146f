"""The lists of what is installed agree: pyproject.toml, constraints.txt and environment.yml."""

import re
import tomllib
from importlib.metadata import version
from pathlib import Path

import gnnlab

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]

TESTED_EXTRAS = {"notebooks", "torch-sparse", "partition", "gpu", "stores", "bench", "dev"}
"""What `make test` installs beside the core. The other extras have no version that was tested."""

CONDA_NAMES = {
    "pytorch-cpu": "torch",
    "pytorch-scatter": "torch-scatter",
    "pytorch-sparse": "torch-sparse",
    "pytorch-geometric": "torch-geometric",
    "matplotlib-base": "matplotlib",
}


def normalized(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def required(extras: set[str] = TESTED_EXTRAS) -> set[str]:
    """The distributions that the core and the extras name."""
    named = PROJECT["optional-dependencies"]
    lines = PROJECT["dependencies"] + [line for extra in extras for line in named[extra]]
    return {normalized(re.match(r"[\w.-]+", line).group()) for line in lines}


def pinned() -> dict[str, str]:
    """The versions in constraints.txt."""
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    pairs = [line.split("==") for line in lines if line and not line.startswith("#")]
    return {normalized(name): release for name, release in pairs}


def conda() -> dict[str, str]:
    """The versions in environment.yml, under the names that PyPI has for them; '' for any."""
    text = (ROOT / "environment.yml").read_text()
    pairs = re.findall(r"^  - ([\w.-]+)(?:=([\w.]+))?$", text, re.MULTILINE)
    names = {normalized(name): release for name, release in pairs}
    return {CONDA_NAMES.get(name, name): release for name, release in names.items()}


def test_the_extras_are_those_promised():
    assert set(PROJECT["optional-dependencies"]) == TESTED_EXTRAS | {"stores", "distributed"}


def test_constraints_pin_everything_that_is_required():
    assert required() - pinned().keys() == set()


def test_constraints_name_plain_versions():
    for name, release in pinned().items():
        assert re.fullmatch(r"[\d.]+(post\d+)?", release), f"{name}=={release}"


def test_conda_installs_the_same_set():
    by_pip = re.search(r"--editable \.\[([\w,-]+)\]$", (ROOT / "environment.yml").read_text(), re.MULTILINE).group(1)
    found = conda().keys() - {"python", "pip", "conda-forge", "nodefaults"}
    assert found == required(TESTED_EXTRAS - set(by_pip.split(",")))


def test_conda_versions_are_the_beginnings_of_the_pinned_ones():
    for name, release in conda().items():
        if name in pinned() and release:
            assert f"{pinned()[name]}.".startswith(f"{release}."), f"{name}={release}"


def test_python_is_the_same_everywhere():
    assert PROJECT["requires-python"] == ">=3.11"
    assert conda()["python"] == "3.11"
    assert "on Python 3.11" in (ROOT / "constraints.txt").read_text()


def test_the_version_stands_in_one_place():
    assert gnnlab.__version__ == version("gnnlab")


def test_the_readme_names_targets_and_variables_that_the_makefile_has():
    readme, makefile = (ROOT / "README.md").read_text(), (ROOT / "Makefile").read_text()
    targets = set(re.findall(r"\bmake ([a-z]+)\b", re.sub(r"`make`", "", readme)))
    assert {"demo", "test", "lab"} <= targets
    assert targets <= set(re.findall(r"^([a-z]+):", makefile, re.MULTILINE))
    variables = set(re.findall(r"\bmake [a-z]+ ([A-Z_]+)=", readme))
    assert {"NOTEBOOK", "TORCH_SPARSE"} <= variables
    assert variables <= set(re.findall(r"^([A-Z_]+) \?=", makefile, re.MULTILINE))
