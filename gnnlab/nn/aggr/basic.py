"""Aggregations without parameters: one reduction each."""

from torch import Tensor

from gnnlab.nn.aggr.base import Aggregation


class _Reduction(Aggregation):
    """One reduction of `gnnlab.utils.scatter`."""

    reduction: str

    def forward(
        self,
        x: Tensor,
        index: Tensor | None = None,
        ptr: Tensor | None = None,
        dim_size: int | None = None,
        dim: int = -2,
    ) -> Tensor:
        """See `Aggregation.forward`."""
        return self.reduce(x, index, ptr, dim_size, dim, self.reduction)


class SumAggregation(_Reduction):
    """The sum of a group; 0 for an empty one. PyG: `torch_geometric.nn.aggr.SumAggregation`."""

    reduction = "sum"


class MeanAggregation(_Reduction):
    """The mean of a group; 0 for an empty one. PyG: `torch_geometric.nn.aggr.MeanAggregation`."""

    reduction = "mean"


class MaxAggregation(_Reduction):
    """The greatest of a group; 0 for an empty one. PyG: `torch_geometric.nn.aggr.MaxAggregation`."""

    reduction = "max"


class MinAggregation(_Reduction):
    """The least of a group; 0 for an empty one. PyG: `torch_geometric.nn.aggr.MinAggregation`."""

    reduction = "min"


class MulAggregation(_Reduction):
    """The product of a group; 1 for an empty one. PyG: `torch_geometric.nn.aggr.MulAggregation`."""

    reduction = "mul"
