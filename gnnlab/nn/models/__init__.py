"""Models that are built of layers."""

from gnnlab.nn.models.basic_gnn import GAT, GCN, GIN, GraphSAGE
from gnnlab.nn.models.jumping_knowledge import HeteroJumpingKnowledge, JumpingKnowledge
from gnnlab.nn.models.mlp import MLP

__all__ = ["GAT", "GCN", "GIN", "MLP", "GraphSAGE", "HeteroJumpingKnowledge", "JumpingKnowledge"]
