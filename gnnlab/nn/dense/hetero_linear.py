"""Linear layers with weights of their own for each type."""

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn import Module, Parameter, UninitializedParameter

from gnnlab.nn.dense.linear import Linear, check_initializers, reset_bias, reset_weight
from gnnlab.nn.module_dict import ModuleDict
from gnnlab.utils._checks import check_index


class HeteroLinear(Module):
    """x W + b, with W and b by the type of each row.

    in_channels: the size of the input, or -1: that of the first input then. out_channels: the size of the output.
    num_types: how many types there are. is_sorted: promise that rows come in the order of their types.
    bias, weight_initializer, bias_initializer: as of `Linear`.

    Raises ValueError for another initializer. PyG: `torch_geometric.nn.HeteroLinear`.

    >>> HeteroLinear(4, 2, num_types=3)(torch.ones(2, 4), torch.tensor([2, 0])).shape
    torch.Size([2, 2])
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        num_types: int,
        is_sorted: bool = False,
        *,
        bias: bool = True,
        weight_initializer: str | None = None,
        bias_initializer: str | None = None,
    ) -> None:
        super().__init__()
        check_initializers(weight_initializer, bias_initializer)
        self.in_channels = in_channels
        self.out_channels = out_channels
        self.num_types = num_types
        self.is_sorted = is_sorted
        self.weight_initializer = weight_initializer
        self.bias_initializer = bias_initializer
        self.weight: Parameter | UninitializedParameter = UninitializedParameter()
        if in_channels > -1:
            self.weight = Parameter(torch.empty(num_types, in_channels, out_channels))
        self.bias = Parameter(torch.zeros(num_types, out_channels)) if bias else None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the parameters anew, as soon as they have a size."""
        if self.in_channels > 0:
            reset_weight(self.weight, self.in_channels, self.weight_initializer)
            reset_bias(self.bias, self.in_channels, self.bias_initializer)

    def forward(self, x: Tensor, type_vec: Tensor) -> Tensor:
        """[num_rows, out_channels].

        x: [num_rows, in_channels] float. type_vec: [num_rows] integers in [0, num_types), the type of each row.

        Raises ValueError for a `type_vec` of another shape or dtype or, with `is_sorted`, out of order, IndexError for
        types that there are not.
        """
        check_index(type_vec, "type_vec", self.num_types)
        if type_vec.numel() != x.size(0):
            raise ValueError(f"type_vec: expected the type of each of {x.size(0)} rows, found {type_vec.numel()}")
        if isinstance(self.weight, UninitializedParameter):
            self.in_channels = x.size(-1)
            self.weight.materialize((self.num_types, self.in_channels, self.out_channels))
            self.reset_parameters()
        if self.is_sorted:
            if bool((type_vec.diff() < 0).any()):
                raise ValueError("type_vec: expected types in order, as is_sorted promises, found others")
            return self._of_sorted(x, type_vec.long())
        types, order = type_vec.long().sort(stable=True)
        out = self._of_sorted(x[order], types)
        return torch.empty_like(out).index_copy(0, order, out)

    def _of_sorted(self, x: Tensor, types: Tensor) -> Tensor:
        """One product for each type, of rows in the order of types."""
        sizes = torch.bincount(types, minlength=self.num_types).tolist()
        out = torch.cat([part @ self.weight[i] for i, part in enumerate(x.split(sizes))])
        return out if self.bias is None else out + self.bias[types]

    def __repr__(self) -> str:
        has_bias = self.bias is not None
        return (
            f"{type(self).__name__}({self.in_channels}, {self.out_channels}, "
            f"num_types={self.num_types}, bias={has_bias})"
        )


class HeteroDictLinear(Module):
    """One `Linear` for each type.

    in_channels: the size of the input by type, or one for all `types`; -1: that of the first input then.
    out_channels: the size of the output. types: the node types or edge types, where `in_channels` is one number.
    kwargs: of `Linear`.

    Raises ValueError for one `in_channels` without `types`. PyG: `torch_geometric.nn.HeteroDictLinear`.

    >>> HeteroDictLinear({"author": 4, "paper": 8}, 2)
    HeteroDictLinear({'author': 4, 'paper': 8}, 2, bias=True)
    """

    def __init__(
        self,
        in_channels: int | Mapping[Any, int],
        out_channels: int,
        types: Sequence[Any] | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__()
        if isinstance(in_channels, int):
            if types is None:
                raise ValueError(f"types: expected a list, since in_channels is one number for all, found {types}")
            in_channels = dict.fromkeys(types, in_channels)
        self.out_channels = out_channels
        self.kwargs = kwargs
        self.lins: ModuleDict[Any] = ModuleDict(
            {key: Linear(size, out_channels, **kwargs) for key, size in in_channels.items()}
        )

    @property
    def in_channels(self) -> dict[Any, int]:
        """The size of the input by type."""
        return {key: int(lin.in_channels) for key, lin in self.lins.items()}  # type: ignore[arg-type]

    def reset_parameters(self) -> None:
        """Draw the parameters anew."""
        for lin in self.lins.values():
            lin.reset_parameters()  # type: ignore[operator]

    def forward(self, x_dict: Mapping[Any, Tensor]) -> dict[Any, Tensor]:
        """[..., out_channels] by type, in the order of the layer's types.

        x_dict: [..., in_channels] by type; types that the layer does not have are left out.
        """
        return {key: lin(x_dict[key]) for key, lin in self.lins.items() if key in x_dict}

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.in_channels}, {self.out_channels}, bias={self.kwargs.get('bias', True)})"
