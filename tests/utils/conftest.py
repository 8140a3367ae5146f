"""The peer that values, gradients and signatures are compared with."""

from types import ModuleType

import pytest


@pytest.fixture(scope="session")
def pyg() -> ModuleType:
    """`torch_geometric.utils`."""
    return pytest.importorskip("torch_geometric.utils", reason="PyG, the peer, is not installed")
