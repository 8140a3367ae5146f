"""Readers of other programs' files, and file functions for local and remote paths (`fs`)."""

from gnnlab.io import fs
from gnnlab.io.planetoid import read_planetoid_data
from gnnlab.io.tu import read_tu_data

__all__ = ["fs", "read_planetoid_data", "read_tu_data"]
