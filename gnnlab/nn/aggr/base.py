"""What all aggregations share."""

from typing import Any

import torch
from torch import Tensor
from torch.nn import Module

from gnnlab.utils import scatter
from gnnlab.utils._checks import check_index
from gnnlab.utils._segment import expand_ptr


class Aggregation(Module):
    """Reduce groups of rows to one row each. A subclass writes `forward`; its callers call the module itself.

    PyG: `torch_geometric.nn.aggr.Aggregation`.
    """

    def reset_parameters(self) -> None:
        """Draw the parameters anew; here there are none."""

    def get_out_channels(self, in_channels: int) -> int:
        """How many channels come out where so many come in; the same here."""
        return in_channels

    def forward(
        self,
        x: Tensor,
        index: Tensor,
        ptr: Tensor | None = None,
        dim_size: int | None = None,
        dim: int = -2,
    ) -> Tensor:
        """[..., dim_size, ...]: the reduced groups, one a row along `dim`.

        x: [..., n, ...], rows along `dim`. index: [n] int64, the group of each row, in any order. ptr: None, or
        [dim_size + 1] int64, where each group starts in a sorted `index`. dim_size: the number of groups.
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

        x: [..., n, ...], rows along `dim`. index: [n] integers, the group of each row, in any order. ptr: [dim_size +
        1] integers, where each group starts, instead of a sorted `index` or beside it; without either all rows are one
        group. dim_size: the number of groups, by default one more than the greatest.

        Raises ValueError for a `dim` that `x` has not, an `index` that does not name a group for each row, a `ptr` that
        does not run from 0 to n, or a `dim_size` that does not fit it, IndexError for groups outside of it.
        """
        if not -x.dim() <= dim < x.dim():
            raise ValueError(f"dim: expected a dimension of x {list(x.shape)}, found {dim}")
        num_rows = x.size(dim)
        if ptr is not None:
            if dim_size not in (None, ptr.numel() - 1):
                raise ValueError(f"dim_size: expected {ptr.numel() - 1}, the groups of ptr, found {dim_size}")
            dim_size = ptr.numel() - 1
        if index is not None:
            check_index(index, "index")
        elif ptr is not None:
            index = expand_ptr(ptr, num_rows)
        else:
            index = torch.zeros(num_rows, dtype=torch.long, device=x.device)
        if index.numel() != num_rows:
            given = "ptr" if ptr is not None else "index"
            raise ValueError(f"{given}: expected the groups of {num_rows} rows, found those of {index.numel()}")
        if dim_size is None:
            dim_size = int(index.max()) + 1 if index.numel() else 0
        return super().__call__(x, index=index.long(), ptr=ptr, dim_size=dim_size, dim=dim, **kwargs)

    def reduce(
        self,
        x: Tensor,
        index: Tensor,
        ptr: Tensor | None = None,
        dim_size: int | None = None,
        dim: int = -2,
        reduce: str = "sum",
    ) -> Tensor:
        """The groups reduced by 'sum', 'mean', 'min', 'max' or 'mul'; see `gnnlab.utils.scatter`."""
        return scatter(x, index, dim, dim_size, reduce)

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"
