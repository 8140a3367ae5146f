"""Every edge once."""

from typing import Any

import torch

from gnnlab import utils
from gnnlab.data.storage import EdgeStorage
from gnnlab.transforms.base_transform import BaseTransform, functional_transform
from gnnlab.transforms.edges import stores_to_change, take_edges
from gnnlab.utils._checks import check_per_edge


@functional_transform("remove_duplicated_edges")
class RemoveDuplicatedEdges(BaseTransform):
    """Sort edges by source, then target, and merge equal ones (`torch_geometric.transforms.RemoveDuplicatedEdges`).

    `edge_index` is [2, num_edges], edge attributes are [num_edges, ...]. An attribute that is not in `key` keeps the
    entry of the first of the merged edges (PyG leaves it as it was).

    Args:
        key: names of the edge attributes to merge; those that a graph lacks don't matter. By default 'edge_attr' and
            'edge_weight'.
        reduce: how they merge, as in `scatter`.

    Raises:
        ValueError: if edges are held in an adjacency, or an attribute in `key` has not one row an edge.
    """

    def __init__(self, key: str | list[str] | None = None, reduce: str = "add") -> None:
        key = ["edge_attr", "edge_weight"] if key is None else key
        self.keys = [key] if isinstance(key, str) else key
        self.reduce = reduce

    def forward(self, data: Any) -> Any:
        for store in stores_to_change(data, self):
            self._merge(store)
        return data

    def _merge(self, store: EdgeStorage) -> None:
        edge_index = store.edge_index
        keys = [key for key in self.keys if key in store]
        for key in keys:
            check_per_edge(store[key], key, edge_index.size(1))
        order = torch.arange(edge_index.size(1), device=edge_index.device)
        _, first = utils.coalesce(edge_index, order, reduce="min")
        _, merged = utils.coalesce(edge_index, [store[key] for key in keys], reduce=self.reduce)
        take_edges(store, first)
        store.update(dict(zip(keys, merged, strict=True)))
