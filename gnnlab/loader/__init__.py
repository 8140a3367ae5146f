"""Loaders of mini-batches (`torch_geometric.loader`)."""

from gnnlab.loader.dataloader import Collater, DataLoader

__all__ = ["Collater", "DataLoader"]
