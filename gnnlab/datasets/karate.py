"""Zachary's karate club."""

from collections.abc import Callable
from typing import Any

import torch

from gnnlab.data import Data, InMemoryDataset

# For every member, the members with a higher number that they met outside the club; figure 1 of the
# paper.
_TIES = {
    0: [1, 2, 3, 4, 5, 6, 7, 8, 10, 11, 12, 13, 17, 19, 21, 31],
    1: [2, 3, 7, 13, 17, 19, 21, 30],
    2: [3, 7, 8, 9, 13, 27, 28, 32],
    3: [7, 12, 13],
    4: [6, 10],
    5: [6, 10, 16],
    6: [16],
    8: [30, 32, 33],
    9: [33],
    13: [33],
    14: [32, 33],
    15: [32, 33],
    18: [32, 33],
    19: [33],
    20: [32, 33],
    22: [32, 33],
    23: [25, 27, 29, 32, 33],
    24: [25, 27, 31],
    25: [31],
    26: [29, 33],
    27: [33],
    28: [31, 33],
    29: [32, 33],
    30: [32, 33],
    31: [32, 33],
    32: [33],
}

# The four groups of high modularity that Kipf and Welling took as classes.
_COMMUNITIES = (
    [8, 14, 15, 18, 20, 22, 23, 26, 27, 29, 30, 32, 33],
    [0, 1, 2, 3, 7, 9, 11, 12, 13, 17, 19, 21],
    [24, 25, 28, 31],
    [4, 5, 6, 10, 16],
)


class KarateClub(InMemoryDataset):
    """The friendships of the 34 members of a karate club: one undirected graph.

    From "An Information Flow Model for Conflict and Fission in Small Groups" (Zachary, 1977). The
    four classes are the groups of "Semi-Supervised Classification with Graph Convolutional
    Networks" (Kipf and Welling, 2017), found by modularity; the member with the lowest number in
    each is in the training mask.

    Args:
        transform: applied to the graph at every access.

    The graph holds `x: [34, 34] float32` (one-hot node ids), `edge_index: [2, 156] int64` (sorted),
    `y: [34] int64` and `train_mask: [34] bool`. PyG's `torch_geometric.datasets.KarateClub`.
    """

    def __init__(self, transform: Callable[[Data], Any] | None = None) -> None:
        super().__init__(None, transform)
        ties = [(one, other) for one, others in _TIES.items() for other in others]
        edges = sorted([*ties, *((other, one) for one, other in ties)])
        edge_index = torch.tensor(edges).t().contiguous()
        y = torch.empty(34, dtype=torch.long)
        train_mask = torch.zeros(34, dtype=torch.bool)
        for community, members in enumerate(_COMMUNITIES):
            y[members] = community
            train_mask[members[0]] = True
        data = Data(x=torch.eye(34), edge_index=edge_index, y=y, train_mask=train_mask)
        self.data, self.slices = self.collate([data])
