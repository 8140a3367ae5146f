"""Four named tiny graphs that can be checked by hand."""

import torch

from gnnlab.data import Data, HeteroData


def path() -> Data:
    """0 - 1 - 2, each edge in both directions, features and one label a node."""
    return Data(
        x=torch.tensor([[1.0, 0.0], [2.0, 0.0], [3.0, 0.0]]),
        edge_index=torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]),
        edge_attr=torch.tensor([[1.0], [2.0], [3.0], [4.0]]),
        y=torch.tensor([0, 1, 0]),
    )


def star() -> Data:
    """Leaves 1 to 4 point to the centre 0; features and one label for the graph."""
    return Data(
        x=torch.arange(10.0).view(5, 2),
        edge_index=torch.tensor([[1, 2, 3, 4], [0, 0, 0, 0]]),
        edge_attr=torch.tensor([[1.0], [2.0], [3.0], [4.0]]),
        y=torch.tensor([1]),
    )


def no_edges() -> Data:
    """Three nodes and no edge."""
    return Data(
        x=torch.zeros(3, 2),
        edge_index=torch.empty(2, 0, dtype=torch.long),
        edge_attr=torch.empty(0, 1),
        y=torch.tensor([0]),
    )


def two_types() -> HeteroData:
    """Three papers, of which one cites another, and two authors who write them."""
    data = HeteroData()
    data["paper"].x = torch.arange(6.0).view(3, 2)
    data["paper"].y = torch.tensor([0, 1, 0])
    data["author"].x = torch.arange(2.0).view(2, 1)
    data["author", "writes", "paper"].edge_index = torch.tensor([[0, 0, 1], [0, 1, 2]])
    data["author", "writes", "paper"].edge_attr = torch.tensor([[1.0], [2.0], [3.0]])
    data["paper", "cites", "paper"].edge_index = torch.tensor([[0], [1]])
    return data
