"""No node without an edge."""

from typing import Any

import torch

from gnnlab.data.storage import known_num_nodes
from gnnlab.transforms.base_transform import BaseTransform, functional_transform


@functional_transform("remove_isolated_nodes")
class RemoveIsolatedNodes(BaseTransform):
    """Drop the nodes without any edge, in or out (`torch_geometric.transforms.RemoveIsolatedNodes`).

    A self-loop is an edge; in a heterogeneous graph edges of every type count. Node attributes [num_nodes, ...] lose
    their entries, `edge_index` gets the new ids, an adjacency loses rows and columns, as in `Data.subgraph`.

    Raises:
        ValueError: if the number of nodes is not known.
    """

    def forward(self, data: Any) -> Any:
        masks = {
            store._key: torch.zeros(known_num_nodes(store, "which nodes are isolated"), dtype=torch.bool)
            for store in data.node_stores
        }
        for store in data.edge_stores:
            ends = (None, None) if store._key is None else (store._key[0], store._key[-1])
            for node_type, ids in zip(ends, store._ends(), strict=True):
                masks[node_type][ids.long().cpu()] = True
        return data.subgraph(masks if hasattr(type(data), "edge_types") else masks[None])
