"""Aggregations: what a group of rows is reduced to."""

from gnnlab.nn.aggr.base import Aggregation
from gnnlab.nn.aggr.basic import (
    MaxAggregation,
    MeanAggregation,
    MinAggregation,
    MulAggregation,
    PowerMeanAggregation,
    SoftmaxAggregation,
    StdAggregation,
    SumAggregation,
    VarAggregation,
)
from gnnlab.nn.aggr.mlp import MLPAggregation
from gnnlab.nn.aggr.multi import MultiAggregation
from gnnlab.nn.aggr.quantile import MedianAggregation, QuantileAggregation
from gnnlab.nn.aggr.scaler import DegreeScalerAggregation

__all__ = [
    "Aggregation",
    "DegreeScalerAggregation",
    "MLPAggregation",
    "MaxAggregation",
    "MeanAggregation",
    "MedianAggregation",
    "MinAggregation",
    "MulAggregation",
    "MultiAggregation",
    "PowerMeanAggregation",
    "QuantileAggregation",
    "SoftmaxAggregation",
    "StdAggregation",
    "SumAggregation",
    "VarAggregation",
]
