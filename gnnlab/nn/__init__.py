"""Layers, and models that are built of them."""

from gnnlab.nn.conv import (
    APPNP,
    GCN2Conv,
    GCNConv,
    GINConv,
    GINEConv,
    GraphConv,
    HeteroConv,
    LGConv,
    MessagePassing,
    SAGEConv,
    SGConv,
    SimpleConv,
    SSGConv,
    TAGConv,
)
from gnnlab.nn.dense import Linear
from gnnlab.nn.models import MLP, HeteroJumpingKnowledge, JumpingKnowledge
from gnnlab.nn.norm import BatchNorm, GraphNorm, InstanceNorm, LayerNorm, PairNorm
from gnnlab.nn.pool import TopKPooling, global_add_pool, global_max_pool, global_mean_pool
from gnnlab.nn.sequential import Sequential
from gnnlab.nn.to_hetero_transformer import to_hetero

__all__ = [
    "APPNP",
    "MLP",
    "BatchNorm",
    "GCN2Conv",
    "GCNConv",
    "GINConv",
    "GINEConv",
    "GraphConv",
    "GraphNorm",
    "HeteroConv",
    "HeteroJumpingKnowledge",
    "InstanceNorm",
    "JumpingKnowledge",
    "LGConv",
    "LayerNorm",
    "Linear",
    "MessagePassing",
    "PairNorm",
    "SAGEConv",
    "SGConv",
    "SSGConv",
    "Sequential",
    "SimpleConv",
    "TAGConv",
    "TopKPooling",
    "global_add_pool",
    "global_max_pool",
    "global_mean_pool",
    "to_hetero",
]
