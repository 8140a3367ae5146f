"""Aggregation by a perceptron over all rows of a group."""

from typing import Any

from torch import Tensor

from gnnlab.nn.aggr.base import Aggregation


class MLPAggregation(Aggregation):
    """A perceptron over the rows of a group, laid side by side and filled up with zeros.

    The result depends on the order of the rows within a group. in_channels, out_channels: the sizes of a row and of the
    result. max_num_elements: how many rows of a group are looked at. kwargs: of `gnnlab.nn.MLP`.

    PyG: `torch_geometric.nn.aggr.MLPAggregation`, which takes sorted groups only.
    """

    def __init__(self, in_channels: int, out_channels: int, max_num_elements: int, **kwargs: Any) -> None:
        from gnnlab.nn.models.mlp import MLP  # models import convolutions, and those aggregations

        super().__init__()
        self.in_channels = in_channels
        self.out_channels = out_channels
        self.max_num_elements = max_num_elements
        self.mlp = MLP(in_channels=in_channels * max_num_elements, out_channels=out_channels, **kwargs)

    def reset_parameters(self) -> None:
        """Draw the parameters anew."""
        self.mlp.reset_parameters()

    def get_out_channels(self, in_channels: int) -> int:
        """As many as it was made with."""
        return self.out_channels

    def forward(
        self,
        x: Tensor,
        index: Tensor,
        ptr: Tensor | None = None,
        dim_size: int | None = None,
        dim: int = -2,
    ) -> Tensor:
        """[dim_size, out_channels]; x: [n, in_channels]. Raises ValueError for another shape."""
        self.assert_two_dimensional_input(x, dim)
        if x.size(1) != self.in_channels:
            raise ValueError(f"x: expected shape [n, {self.in_channels}], found {list(x.shape)}")
        rows, _ = self.to_dense_batch(x, index, ptr, dim_size, dim, max_num_elements=self.max_num_elements)
        out: Tensor = self.mlp(rows.flatten(1))
        return out

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}({self.in_channels}, {self.out_channels}, max_num_elements={self.max_num_elements})"
        )
