import importlib

import pytest


@pytest.fixture(params=["gnnlab", "torch_geometric"])
def package(request):
    """The package whose graphs and datasets are measured: ours, and PyG."""
    pytest.importorskip(request.param, reason="PyG is the peer here")
    return importlib.import_module(f"{request.param}.data")


@pytest.fixture
def make_dataset(package):
    """From a list of graphs to an in-memory dataset of them."""

    class Graphs(package.InMemoryDataset):
        def __init__(self, graphs, transform=None):
            super().__init__(None, transform)
            self.data, self.slices = self.collate(graphs)

    return Graphs
