"""Models that are built of layers."""

from gnnlab.nn.models.jumping_knowledge import HeteroJumpingKnowledge, JumpingKnowledge
from gnnlab.nn.models.mlp import MLP

__all__ = ["MLP", "HeteroJumpingKnowledge", "JumpingKnowledge"]
