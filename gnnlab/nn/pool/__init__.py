"""Pooling: a row for each graph, and graphs of fewer nodes."""

from gnnlab.nn.pool.glob import global_add_pool, global_max_pool, global_mean_pool
from gnnlab.nn.pool.topk_pool import TopKPooling

__all__ = ["TopKPooling", "global_add_pool", "global_max_pool", "global_mean_pool"]
