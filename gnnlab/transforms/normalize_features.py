"""Features that add up to one."""

from typing import Any

from torch import Tensor

from gnnlab.transforms.base_transform import BaseTransform, functional_transform
from gnnlab.transforms.edges import is_dense


@functional_transform("normalize_features")
class NormalizeFeatures(BaseTransform):
    """Shift attributes to start at 0, then have each row add up to 1 (`torch_geometric.transforms.NormalizeFeatures`).

    An attribute [..., num_features] float is shifted by its least value over all rows, then each row is divided by its
    sum, or by 1 where that is less.

    Args:
        attrs: names of the attributes, of nodes, edges or the graph; by default 'x'. Those that a graph lacks don't
            matter.

    Raises:
        ValueError: if such an attribute is no dense floating-point tensor.
    """

    def __init__(self, attrs: list[str] | None = None) -> None:
        self.attrs = ["x"] if attrs is None else attrs

    def forward(self, data: Any) -> Any:
        for store in data.stores:
            for key, value in store.items(*self.attrs):
                store[key] = _normalized(value, key)
        return data


def _normalized(value: Any, name: str) -> Tensor:
    if not is_dense(value) or not value.is_floating_point():
        raise ValueError(f"{name}: expected a dense floating-point tensor to normalise, found {_kind(value)}")
    if value.numel() == 0:
        return value
    value = value - value.min()
    return value / value.sum(dim=-1, keepdim=True).clamp(min=1)


def _kind(value: Any) -> str:
    return f"{value.dtype} in {value.layout}" if isinstance(value, Tensor) else type(value).__name__
