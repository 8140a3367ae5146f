"""Aggregations: what a group of rows is reduced to."""

from gnnlab.nn.aggr.base import Aggregation
from gnnlab.nn.aggr.basic import (
    MaxAggregation,
    MeanAggregation,
    MinAggregation,
    MulAggregation,
    SumAggregation,
)
from gnnlab.nn.aggr.multi import MultiAggregation

__all__ = [
    "Aggregation",
    "MaxAggregation",
    "MeanAggregation",
    "MinAggregation",
    "MulAggregation",
    "MultiAggregation",
    "SumAggregation",
]
