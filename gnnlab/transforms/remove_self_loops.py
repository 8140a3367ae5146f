"""No edge from a node to itself."""

from typing import Any

from gnnlab.transforms.base_transform import BaseTransform, functional_transform
from gnnlab.transforms.edges import stores_to_change, take_edges


@functional_transform("remove_self_loops")
class RemoveSelfLoops(BaseTransform):
    """Drop the edges from a node to itself (`torch_geometric.transforms.RemoveSelfLoops`).

    `edge_index` [2, num_edges] and every edge attribute [num_edges, ...] lose their entries. Edges between two types of
    nodes stay as they are.

    Args:
        attr: taken for PyG's sake, where it names the only attribute that follows the edges; here all do.

    Raises:
        ValueError: if edges are held in an adjacency.
    """

    def __init__(self, attr: str = "edge_weight") -> None:
        self.attr = attr

    def forward(self, data: Any) -> Any:
        for store in stores_to_change(data, self):
            if not store.is_bipartite():
                take_edges(store, store.edge_index[0] != store.edge_index[1])
        return data
