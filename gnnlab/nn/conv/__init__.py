"""Message passing, and the layers that are built on it."""

from gnnlab.nn.conv.hetero_conv import HeteroConv

__all__ = ["HeteroConv"]
