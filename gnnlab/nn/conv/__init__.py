"""Convolutions: layers that pass messages along edges."""

from gnnlab.nn.conv.appnp import APPNP
from gnnlab.nn.conv.arma_conv import ARMAConv
from gnnlab.nn.conv.cheb_conv import ChebConv
from gnnlab.nn.conv.cluster_gcn_conv import ClusterGCNConv
from gnnlab.nn.conv.edge_conv import EdgeConv
from gnnlab.nn.conv.eg_conv import EGConv
from gnnlab.nn.conv.gat_conv import GATConv
from gnnlab.nn.conv.gated_graph_conv import GatedGraphConv
from gnnlab.nn.conv.gatv2_conv import GATv2Conv
from gnnlab.nn.conv.gcn2_conv import GCN2Conv
from gnnlab.nn.conv.gcn_conv import GCNConv
from gnnlab.nn.conv.gin_conv import GINConv, GINEConv
from gnnlab.nn.conv.gmm_conv import GMMConv
from gnnlab.nn.conv.graph_conv import GraphConv
from gnnlab.nn.conv.hetero_conv import HeteroConv
from gnnlab.nn.conv.lg_conv import LGConv
from gnnlab.nn.conv.message_passing import MessagePassing
from gnnlab.nn.conv.mf_conv import MFConv
from gnnlab.nn.conv.mixhop_conv import MixHopConv
from gnnlab.nn.conv.pan_conv import PANConv
from gnnlab.nn.conv.pdn_conv import PDNConv
from gnnlab.nn.conv.rgcn_conv import FastRGCNConv, RGCNConv
from gnnlab.nn.conv.sage_conv import SAGEConv
from gnnlab.nn.conv.sg_conv import SGConv, SSGConv
from gnnlab.nn.conv.signed_conv import SignedConv
from gnnlab.nn.conv.simple_conv import SimpleConv
from gnnlab.nn.conv.tag_conv import TAGConv
from gnnlab.nn.conv.wl_conv_continuous import WLConvContinuous

__all__ = [
    "APPNP",
    "ARMAConv",
    "ChebConv",
    "ClusterGCNConv",
    "EGConv",
    "EdgeConv",
    "FastRGCNConv",
    "GATConv",
    "GATv2Conv",
    "GCN2Conv",
    "GCNConv",
    "GINConv",
    "GINEConv",
    "GMMConv",
    "GatedGraphConv",
    "GraphConv",
    "HeteroConv",
    "LGConv",
    "MFConv",
    "MessagePassing",
    "MixHopConv",
    "PANConv",
    "PDNConv",
    "RGCNConv",
    "SAGEConv",
    "SGConv",
    "SSGConv",
    "SignedConv",
    "SimpleConv",
    "TAGConv",
    "WLConvContinuous",
]
