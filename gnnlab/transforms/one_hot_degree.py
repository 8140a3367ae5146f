"""How many edges a node has, as a feature."""

from typing import Any

import torch

from gnnlab.data.storage import known_num_nodes
from gnnlab.transforms.base_transform import BaseTransform, functional_transform
from gnnlab.transforms.edges import append_columns, edge_index_of
from gnnlab.utils import degree, one_hot


@functional_transform("one_hot_degree")
class OneHotDegree(BaseTransform):
    """Add the degree of each node to `x` as a one-hot vector (`torch_geometric.transforms.OneHotDegree`).

    `x` becomes [num_nodes, num_features + max_degree + 1], the new columns in its dtype; without it they are `x`, in
    torch's default dtype. A self-loop counts once.

    Args:
        max_degree: the greatest degree there may be.
        in_degree: count the edges that lead into a node, not those that lead out of it.
        cat: False has the columns take the place of `x`.

    Raises:
        ValueError: if a node has a greater degree, the graph is heterogeneous or has no `edge_index`, the number of
            nodes is not known, or `x` has more than two dimensions.
    """

    def __init__(self, max_degree: int, in_degree: bool = False, cat: bool = True) -> None:
        self.max_degree = max_degree
        self.in_degree = in_degree
        self.cat = cat

    def forward(self, data: Any) -> Any:
        ends = edge_index_of(data, self)[1 if self.in_degree else 0]
        count = degree(ends, known_num_nodes(data.stores[0], "the degree of every node"), torch.long)
        greatest = int(count.max()) if count.numel() > 0 else 0
        if greatest > self.max_degree:
            raise ValueError(f"max_degree: expected at least {greatest}, the degree of a node, found {self.max_degree}")
        x = data.x if self.cat else None
        append_columns(data.stores[0], one_hot(count, self.max_degree + 1, None if x is None else x.dtype), self.cat)
        return data

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.max_degree})"
