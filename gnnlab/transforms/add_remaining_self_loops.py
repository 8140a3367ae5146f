"""An edge from every node to itself that has none."""

from typing import Any

from torch import Tensor

from gnnlab import utils
from gnnlab.transforms.add_self_loops import with_self_loops
from gnnlab.transforms.base_transform import BaseTransform, functional_transform


@functional_transform("add_remaining_self_loops")
class AddRemainingSelfLoops(BaseTransform):
    """Give every node exactly one self-loop (`torch_geometric.transforms.AddRemainingSelfLoops`).

    Of `edge_index` [2, num_edges] the edges between two nodes come first, then num_nodes loops; edge attributes
    [num_edges, ...] follow. A node that had loops keeps the attributes of the last one; the new ones have `fill_value`
    in `attr` and zeros in every other edge attribute (PyG leaves it as it was). Edges between two types of nodes stay
    as they are.

    Args:
        attr: name of the edge attribute that gets `fill_value`; a graph without it gets none.
        fill_value: a number, a tensor that broadcasts to one entry, or a reduction of `scatter` over the entries of the
            edges that lead into the node.

    Raises:
        ValueError: if edges are held in an adjacency, or an edge attribute is no tensor with one row an edge.
    """

    def __init__(self, attr: str | None = "edge_weight", fill_value: float | Tensor | str = 1.0) -> None:
        self.attr = attr
        self.fill_value = fill_value

    def forward(self, data: Any) -> Any:
        return with_self_loops(data, self, self.attr, self.fill_value, utils.add_remaining_self_loops)
