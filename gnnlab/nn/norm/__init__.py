"""Normalisation layers for node features, one graph or a batch of them at a time."""

from gnnlab.nn.norm.batch_norm import BatchNorm
from gnnlab.nn.norm.graph_norm import GraphNorm
from gnnlab.nn.norm.instance_norm import InstanceNorm
from gnnlab.nn.norm.layer_norm import LayerNorm
from gnnlab.nn.norm.pair_norm import PairNorm

__all__ = ["BatchNorm", "GraphNorm", "InstanceNorm", "LayerNorm", "PairNorm"]
