"""Layers for rows of features without edges."""

from gnnlab.nn.dense.hetero_linear import HeteroDictLinear, HeteroLinear
from gnnlab.nn.dense.linear import Linear

__all__ = ["HeteroDictLinear", "HeteroLinear", "Linear"]
