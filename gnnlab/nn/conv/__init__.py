"""Convolutions: layers that pass messages along edges."""

from gnnlab.nn.conv.gcn_conv import GCNConv
from gnnlab.nn.conv.gin_conv import GINConv, GINEConv
from gnnlab.nn.conv.graph_conv import GraphConv
from gnnlab.nn.conv.hetero_conv import HeteroConv
from gnnlab.nn.conv.message_passing import MessagePassing
from gnnlab.nn.conv.sage_conv import SAGEConv
from gnnlab.nn.conv.simple_conv import SimpleConv

__all__ = [
    "GCNConv",
    "GINConv",
    "GINEConv",
    "GraphConv",
    "HeteroConv",
    "MessagePassing",
    "SAGEConv",
    "SimpleConv",
]
