"""Layers, and models that are built of them."""

from gnnlab.nn.norm import BatchNorm, GraphNorm, InstanceNorm, LayerNorm, PairNorm

__all__ = [
    "BatchNorm",
    "GraphNorm",
    "InstanceNorm",
    "LayerNorm",
    "PairNorm",
]
