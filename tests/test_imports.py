"""Importing gnnlab is cheap: nothing compiled, nothing optional, no plotting."""

import random
import subprocess
import sys

import numpy as np
import pytest
import torch

import gnnlab

HEAVY = {
    "numba",
    "matplotlib",
    "scipy",
    "networkx",
    "pandas",
    "IPython",
    "torch_geometric",
    "torch_scatter",
    "torch_sparse",
    "triton",
}

LIGHT_LAYERS = ["data", "datasets", "files", "io", "loader", "nn", "profile", "sparse", "transforms", "typing", "utils"]


def run(code: str) -> str:
    """What `code` prints in a fresh interpreter."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_importing_the_layers_imports_nothing_heavy():
    code = f"""
import sys
from importlib import import_module
for layer in {LIGHT_LAYERS}:
    import_module(f"gnnlab.{{layer}}")
    print(layer, *({HEAVY} & sys.modules.keys()))
"""
    assert run(code).splitlines() == LIGHT_LAYERS


def test_importing_gnnlab_alone_does_not_import_torch():
    assert run("import sys, gnnlab; print('torch' in sys.modules)") == "False\n"


def test_importing_the_data_layer_brings_in_few_modules():
    """The cost of an import is what it makes Python read: at most 150 modules beyond torch's."""
    code = "import sys, torch; n = len(sys.modules); import gnnlab.data; print(len(sys.modules) - n)"
    assert 0 < int(run(code)) <= 150


def test_subpackages_are_reached_from_the_root():
    assert run("import gnnlab; print(gnnlab.data.Data.__name__)") == "Data\n"
    assert {"data", "seed_everything", "__version__"} <= set(dir(gnnlab))
    with pytest.raises(AttributeError, match="no attribute 'no_such_name'"):
        _ = gnnlab.no_such_name


def test_seed_everything_seeds_python_numpy_and_torch():
    def draw():
        return random.random(), np.random.rand(), torch.rand(1).item()  # noqa: NPY002

    gnnlab.seed_everything(3)
    first = draw()
    assert draw() != first
    gnnlab.seed_everything(3)
    assert draw() == first


@pytest.mark.parametrize("seed", [-1, 2**32])
def test_seed_everything_refuses_what_numpy_cannot_take(seed):
    state = random.getstate()
    with pytest.raises(ValueError, match=f"found {seed}"):
        gnnlab.seed_everything(seed)
    assert random.getstate() == state
