"""Move graphs."""

from typing import Any

import torch

from gnnlab.transforms.base_transform import BaseTransform, functional_transform


@functional_transform("to_device")
class ToDevice(BaseTransform):
    """Move the tensors of a graph to a device (`torch_geometric.transforms.ToDevice`).

    Args:
        device: where to.
        attrs: names of the attributes to move; by default all.
        non_blocking: don't wait for copies from page-locked memory.
    """

    def __init__(
        self, device: int | str | torch.device, attrs: list[str] | None = None, non_blocking: bool = False
    ) -> None:
        self.device = device
        self.attrs = attrs or []
        self.non_blocking = non_blocking

    def forward(self, data: Any) -> Any:
        return data.to(self.device, *self.attrs, non_blocking=self.non_blocking)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.device})"
