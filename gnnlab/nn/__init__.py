"""Layers, and models that are built of them."""

from gnnlab.nn.conv import (
    GCNConv,
    GINConv,
    GINEConv,
    GraphConv,
    HeteroConv,
    MessagePassing,
    SAGEConv,
    SimpleConv,
)
from gnnlab.nn.dense import Linear
from gnnlab.nn.models import MLP, HeteroJumpingKnowledge, JumpingKnowledge
from gnnlab.nn.norm import BatchNorm, GraphNorm, InstanceNorm, LayerNorm, PairNorm
from gnnlab.nn.pool import TopKPooling, global_add_pool, global_max_pool, global_mean_pool
from gnnlab.nn.sequential import Sequential
from gnnlab.nn.to_hetero_transformer import to_hetero

__all__ = [
    "MLP",
    "BatchNorm",
    "GCNConv",
    "GINConv",
    "GINEConv",
    "GraphConv",
    "GraphNorm",
    "HeteroConv",
    "HeteroJumpingKnowledge",
    "InstanceNorm",
    "JumpingKnowledge",
    "LayerNorm",
    "Linear",
    "MessagePassing",
    "PairNorm",
    "SAGEConv",
    "Sequential",
    "SimpleConv",
    "TopKPooling",
    "global_add_pool",
    "global_max_pool",
    "global_mean_pool",
    "to_hetero",
]
