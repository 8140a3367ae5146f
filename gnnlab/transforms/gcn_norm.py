"""Edge weights as a graph convolution normalises them."""

from typing import Any

from gnnlab import utils
from gnnlab.data.storage import known_num_nodes
from gnnlab.transforms.add_self_loops import with_self_loops
from gnnlab.transforms.base_transform import BaseTransform, functional_transform
from gnnlab.transforms.edges import edge_index_of, homogeneous_store
from gnnlab.utils.gcn_norm import gcn_norm


@functional_transform("gcn_norm")
class GCNNorm(BaseTransform):
    """Scale edge weights by the degrees of both ends, once for all epochs (`torch_geometric.transforms.GCNNorm`).

    `edge_weight`, [num_edges] float or ones where there is none, becomes weight(j, i) / sqrt(degree(j) degree(i)),
    where a node's degree is the sum of the weights of the edges that lead into it; see `gnnlab.utils.gcn_norm`. A graph
    whose edges are held in `adj_t` gets these values there; edge attributes beside it stay as they are.

    Args:
        add_self_loops: first give every node without a self-loop one of weight 1, as `AddRemainingSelfLoops` does.

    Raises:
        ValueError: if the graph is heterogeneous, has no edges' `edge_index` or `adj_t`, has both, or its number of
            nodes is not known.
    """

    def __init__(self, add_self_loops: bool = True) -> None:
        self.add_self_loops = add_self_loops

    def forward(self, data: Any) -> Any:
        store = homogeneous_store(data, self)
        if "adj_t" in store and "edge_index" not in store:
            store.adj_t = gcn_norm(store.adj_t, add_self_loops=self.add_self_loops)
            return data
        edge_index_of(data, self)
        if self.add_self_loops:
            with_self_loops(data, self, "edge_weight", 1.0, utils.add_remaining_self_loops)
        num_nodes = known_num_nodes(store, "the degree of every node")
        _, store.edge_weight = gcn_norm(store.edge_index, data.edge_weight, num_nodes, add_self_loops=False)
        return data

    def __repr__(self) -> str:
        return f"{type(self).__name__}(add_self_loops={self.add_self_loops})"
