"""An edge from every node to itself."""

from collections.abc import Callable
from typing import Any

from torch import Tensor

from gnnlab import utils
from gnnlab.data.storage import known_num_nodes
from gnnlab.transforms.base_transform import BaseTransform, functional_transform
from gnnlab.transforms.edges import edge_tensors, recount, stores_to_change


@functional_transform("add_self_loops")
class AddSelfLoops(BaseTransform):
    """Add a self-loop to every node, behind the other edges (`torch_geometric.transforms.AddSelfLoops`).

    `edge_index` [2, num_edges] becomes [2, num_edges + num_nodes], `attr` [num_edges, ...] becomes
    [num_edges + num_nodes, ...]. Every other edge attribute gets zeros for the loops (PyG leaves it too short). Edges
    between two types of nodes stay as they are.

    Args:
        attr: name of the edge attribute that gets `fill_value`; a graph without it gets none.
        fill_value: what the new loops have: a number, a tensor that broadcasts to one entry, or a reduction of
            `scatter` over the entries of the edges that lead into the node.

    Raises:
        ValueError: if edges are held in an adjacency, or an edge attribute is no tensor with one row an edge.
    """

    def __init__(self, attr: str | None = "edge_weight", fill_value: float | Tensor | str = 1.0) -> None:
        self.attr = attr
        self.fill_value = fill_value

    def forward(self, data: Any) -> Any:
        return with_self_loops(data, self, self.attr, self.fill_value, utils.add_self_loops)


def with_self_loops(
    data: Any, transform: object, attr: str | None, fill_value: float | Tensor | str, add: Callable[..., Any]
) -> Any:
    """`data` with self-loops in every storage that joins nodes of one type, for a `transform` that errors name.

    attr, fill_value: as in `AddSelfLoops`. add: `add_self_loops` or `add_remaining_self_loops` of `gnnlab.utils`.
    """
    for store in stores_to_change(data, transform):
        if store.is_bipartite():
            continue
        nodes = data.stores[0] if store._key is None else data[store._key[0]]
        num_nodes = known_num_nodes(nodes, "how many self-loops to add")
        attrs = edge_tensors(store, transform)
        for key, value in attrs.items():
            fill = fill_value if key == attr else 0
            store[key] = add(store.edge_index, value, fill, num_nodes)[1]
        store.edge_index = add(store.edge_index, num_nodes=num_nodes)[0]
        recount(store)
    return data
