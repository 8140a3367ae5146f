"""Layers that look at one node at a time."""

from gnnlab.nn.dense.linear import Linear

__all__ = ["Linear"]
