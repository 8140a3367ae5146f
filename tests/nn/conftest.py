"""The peer that values, gradients, states and signatures are compared with."""

from types import ModuleType

import pytest


@pytest.fixture(scope="session")
def pyg() -> ModuleType:
    """`torch_geometric.nn`."""
    return pytest.importorskip("torch_geometric.nn", reason="PyG, the peer, is not installed")
