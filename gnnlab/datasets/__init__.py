"""Datasets (`torch_geometric.datasets`), and two of our own that need no download."""

from gnnlab.datasets.debian_packages import DebianPackages
from gnnlab.datasets.python_functions import PythonFunctions, iter_python_functions

__all__ = ["DebianPackages", "PythonFunctions", "iter_python_functions"]
