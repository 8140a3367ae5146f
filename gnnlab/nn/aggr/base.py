"""What all aggregations share."""

from typing import Any

import torch
from torch import Tensor
from torch.nn import Module

from gnnlab.utils import scatter, segment


class Aggregation(Module):
    """Reduce groups of rows to one row each. A subclass writes `forward`; its callers call the module itself.

    PyG: `torch_geometric.nn.aggr.Aggregation`.
    """

    def reset_parameters(self) -> None:
        """Draw the parameters anew; here there are none."""

    def forward(
        self,
        x: Tensor,
        index: Tensor | None = None,
        ptr: Tensor | None = None,
        dim_size: int | None = None,
        dim: int = -2,
    ) -> Tensor:
        """[..., dim_size, ...]: the reduced groups, one a row along `dim`.

        x: [..., n, ...], rows along `dim`. index: [n] int64, the group of each row, in any order; by default all rows
        are one group. ptr: [num_groups + 1] int64, instead of or beside a sorted `index`: where each group starts.
        dim_size: the number of groups.
        """
        raise NotImplementedError(f"{type(self).__name__} has no forward")

    def __call__(
        self,
        x: Tensor,
        index: Tensor | None = None,
        ptr: Tensor | None = None,
        dim_size: int | None = None,
        dim: int = -2,
        **kwargs: Any,
    ) -> Any:
        """`forward` of checked arguments.

        Raises ValueError for a `dim` that `x` has not, an `index` that does not name a group for each row, a `ptr`
        that ends elsewhere, or a `dim_size` that does not fit, IndexError for groups outside of it.
        """
        if not -x.dim() <= dim < x.dim():
            raise ValueError(f"dim: expected a dimension of x {list(x.shape)}, found {dim}")
        if index is None and ptr is None:
            index = x.new_zeros(x.size(dim), dtype=torch.long)
        if ptr is not None:
            if dim_size is None:
                dim_size = ptr.numel() - 1
            elif dim_size != ptr.numel() - 1:
                raise ValueError(f"dim_size: expected {ptr.numel() - 1}, the groups of ptr, found {dim_size}")
        if index is not None and (index.dim() != 1 or index.numel() != x.size(dim)):
            raise ValueError(f"index: expected the group of each of {x.size(dim)} rows, found {list(index.shape)}")
        if index is not None and dim_size is None:
            dim_size = int(index.max()) + 1 if index.numel() else 0
        return super().__call__(x, index=index, ptr=ptr, dim_size=dim_size, dim=dim, **kwargs)

    def reduce(
        self,
        x: Tensor,
        index: Tensor | None = None,
        ptr: Tensor | None = None,
        dim_size: int | None = None,
        dim: int = -2,
        reduce: str = "sum",
    ) -> Tensor:
        """The groups reduced by 'sum', 'mean', 'min', 'max' or 'mul'; see `gnnlab.utils.scatter`."""
        if index is None:
            assert ptr is not None
            return segment(x, ptr, reduce, dim=dim)
        return scatter(x, index, dim, dim_size, reduce)

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"
