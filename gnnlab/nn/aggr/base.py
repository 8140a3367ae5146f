"""What all aggregations share."""

from typing import Any, cast

import torch
from torch import Tensor
from torch.nn import Module

from gnnlab.utils import scatter, to_dense_batch
from gnnlab.utils._checks import check_index
from gnnlab.utils._segment import expand_ptr


class Aggregation(Module):
    """Reduce groups of rows to one row each. A subclass writes `forward`; its callers call the module itself.

    For that it has `reduce`, `to_dense_batch`, and the checks `assert_index_present`, `assert_sorted_index` and
    `assert_two_dimensional_input`.

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
        does not run from 0 to n, or a `dim_size` that does not fit it, IndexError for groups outside of it. An `index`
        and a `ptr` of different groups are refused too, where that costs no wait for a device: the first and the last
        row of each group are looked at. PyG takes the one or the other of these, as the aggregation has it.
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
            _check_number("index", index.numel(), num_rows)
            if ptr is not None and index.device.type == "cpu" and not torch.compiler.is_compiling():
                _check_same_groups(index, ptr)
        elif ptr is not None:
            index = expand_ptr(ptr, num_rows)
            _check_number("ptr", index.numel(), num_rows)
        else:
            index = torch.zeros(num_rows, dtype=torch.long, device=x.device)
        if dim_size is None:
            dim_size = int(index.max()) + 1 if index.numel() else 0
        return super().__call__(x, index=index.long(), ptr=ptr, dim_size=dim_size, dim=dim, **kwargs)

    def reduce(
        self,
        x: Tensor,
        index: Tensor | None = None,
        ptr: Tensor | None = None,
        dim_size: int | None = None,
        dim: int = -2,
        reduce: str = "sum",
    ) -> Tensor:
        """The groups reduced by 'sum', 'mean', 'min', 'max' or 'mul'; see `gnnlab.utils.scatter`.

        Raises ValueError where there is neither `index` nor `ptr`.
        """
        index, dim_size = self._groups(index, ptr, dim_size, x.size(dim))
        return scatter(x, index, dim, dim_size, reduce)

    def to_dense_batch(
        self,
        x: Tensor,
        index: Tensor | None = None,
        ptr: Tensor | None = None,
        dim_size: int | None = None,
        dim: int = -2,
        fill_value: float = 0.0,
        max_num_elements: int | None = None,
    ) -> tuple[Tensor, Tensor]:
        """The rows of each group side by side, and which places hold one; see `gnnlab.utils.to_dense_batch`.

        x: [n, channels]. index, ptr: as of `reduce`, in any order. max_num_elements: how many rows of a group there is
        place for, by default those of the largest. fill_value: what stands where there is no row.

        Returns [dim_size, max_num_elements, channels], and [dim_size, max_num_elements] bool. Raises ValueError for
        another shape, or where there is neither `index` nor `ptr`.
        """
        self.assert_two_dimensional_input(x, dim)
        index, dim_size = self._groups(index, ptr, dim_size, x.size(0))
        return to_dense_batch(x, index, fill_value, max_num_elements, dim_size)

    def _groups(
        self, index: Tensor | None, ptr: Tensor | None, dim_size: int | None, num_rows: int
    ) -> tuple[Tensor, int | None]:
        """The group of each row and, where it is known, how many groups there are."""
        if index is None and ptr is not None:
            return expand_ptr(ptr, num_rows), ptr.numel() - 1
        self.assert_index_present(index)
        return cast(Tensor, index), dim_size

    def assert_index_present(self, index: Tensor | None) -> None:
        """Raises ValueError where there is no `index`."""
        if index is None:
            raise ValueError("index: expected the group of each row, found None")

    def assert_sorted_index(self, index: Tensor | None) -> None:
        """Raises ValueError for an `index` that falls somewhere; None is let through."""
        if index is not None and bool((index.diff() < 0).any()):
            raise ValueError("index: expected groups in order, found some that fall; sort the edges by their target")

    def assert_two_dimensional_input(self, x: Tensor, dim: int) -> None:
        """Raises ValueError for an `x` that is no [n, channels], or a `dim` that is not that of n."""
        if x.dim() != 2 or dim not in (0, -2):
            raise ValueError(f"x: expected shape [n, channels] and rows along dim 0, found {list(x.shape)}, dim {dim}")

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


def _check_number(name: str, found: int, num_rows: int) -> None:
    if found != num_rows:
        raise ValueError(f"{name}: expected the groups of {num_rows} rows, found those of {found}")


def _check_same_groups(index: Tensor, ptr: Tensor) -> None:
    """Refuse an `index` beside a `ptr` of other groups, by the first and the last row of each group."""
    check_index(ptr, "ptr")
    if ptr[:1].tolist() != [0]:
        raise ValueError(f"ptr: expected pointers from 0 on, found {ptr[:1].tolist()} first")
    _check_number("ptr", int(ptr[-1]), index.numel())
    size = ptr.diff()
    if bool((size < 0).any()):
        raise ValueError("ptr: expected pointers that never fall, found some that do")
    groups = size.nonzero().view(-1)
    for rows in (ptr[groups], ptr[groups + 1] - 1):
        if not torch.equal(index[rows].long(), groups):
            raise ValueError("index: expected the groups that ptr marks off, in their order, found others")
