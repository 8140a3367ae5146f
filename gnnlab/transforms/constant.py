"""The same feature for every node."""

from typing import Any

import torch
from torch import Tensor

from gnnlab.data.storage import known_num_nodes
from gnnlab.transforms.base_transform import BaseTransform, functional_transform
from gnnlab.transforms.edges import append_columns
from gnnlab.typing import NodeType


@functional_transform("constant")
class Constant(BaseTransform):
    """Add a column of one value to `x`: [num_nodes, num_features + 1] (`torch_geometric.transforms.Constant`).

    The column gets the dtype and device of `x`; without `x` it is `x`, [num_nodes, 1] in torch's default dtype.

    Args:
        value: the value.
        cat: False has the column take the place of `x`.
        node_types: the node types to add it to, one or a list; by default all.

    Raises:
        ValueError: if `node_types` names a type that the graph hasn't, the number of nodes is not known, `x` has more
            than two dimensions, or holds integers and `value` is none.
    """

    def __init__(
        self, value: float = 1.0, cat: bool = True, node_types: NodeType | list[NodeType] | None = None
    ) -> None:
        self.value = value
        self.cat = cat
        self.node_types = [node_types] if isinstance(node_types, str) else node_types

    def forward(self, data: Any) -> Any:
        stores = {store._key: store for store in data.node_stores}
        unknown = [key for key in self.node_types or [] if key not in stores]
        if unknown:
            raise ValueError(f"node_types: expected some of {list(stores)}, found {unknown[0]!r}")
        for node_type in stores if self.node_types is None else self.node_types:
            append_columns(stores[node_type], self._column(stores[node_type]), self.cat)
        return data

    def _column(self, store: Any) -> Tensor:
        num_nodes = known_num_nodes(store, "how many constants to add")
        x = store.get("x") if self.cat else None
        dtype = torch.get_default_dtype() if x is None else x.dtype
        if not (dtype.is_floating_point or dtype.is_complex) and self.value != int(self.value):
            raise ValueError(f"value: expected an integer beside 'x', which holds {dtype}, found {self.value}")
        return torch.full((num_nodes, 1), self.value, dtype=dtype)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(value={self.value})"
