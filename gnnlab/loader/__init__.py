"""Loaders of mini-batches (`torch_geometric.loader`)."""

from gnnlab.loader.cached_loader import CachedLoader
from gnnlab.loader.data_list_loader import DataListLoader
from gnnlab.loader.dataloader import Collater, DataLoader
from gnnlab.loader.dense_data_loader import DenseDataLoader
from gnnlab.loader.dynamic_batch_sampler import DynamicBatchSampler
from gnnlab.loader.imbalanced_sampler import ImbalancedSampler
from gnnlab.loader.prefetch_loader import PrefetchLoader
from gnnlab.loader.temporal_data_loader import TemporalDataLoader

__all__ = [
    "CachedLoader",
    "Collater",
    "DataListLoader",
    "DataLoader",
    "DenseDataLoader",
    "DynamicBatchSampler",
    "ImbalancedSampler",
    "PrefetchLoader",
    "TemporalDataLoader",
]
