"""Datasets (`torch_geometric.datasets`), and some of our own that need no download."""

from gnnlab.datasets.debian_packages import DebianPackages
from gnnlab.datasets.fake import FakeDataset, FakeHeteroDataset
from gnnlab.datasets.karate import KarateClub
from gnnlab.datasets.planetoid import Planetoid
from gnnlab.datasets.power_law import PowerLaw
from gnnlab.datasets.python_functions import PythonFunctions, iter_python_functions
from gnnlab.datasets.tu_dataset import TUDataset

__all__ = [
    "DebianPackages",
    "FakeDataset",
    "FakeHeteroDataset",
    "KarateClub",
    "Planetoid",
    "PowerLaw",
    "PythonFunctions",
    "TUDataset",
    "iter_python_functions",
]
