"""Every edge with its reverse."""

from typing import Any

from gnnlab import utils
from gnnlab.data.storage import EdgeStorage
from gnnlab.transforms.base_transform import BaseTransform, functional_transform
from gnnlab.transforms.edges import edge_keys, edge_tensors, recount, stores_to_change


@functional_transform("to_undirected")
class ToUndirected(BaseTransform):
    """Add the reverse of every edge (`torch_geometric.transforms.ToUndirected`).

    Edges among nodes of one type: `edge_index` [2, num_edges] gets the reverses, is sorted by source, then target, and
    equal edges are merged, the edge attributes [num_edges, ...] with them. Edges of a type (source, relation, target)
    between two types of nodes: a new type (target, 'rev_' + relation, source) holds their reverses in the same order,
    with the same edge attributes; one that is there under this name is replaced.

    Args:
        reduce: how attributes of merged edges merge, as in `scatter`. An edge whose reverse is there too is merged with
            it, and a self-loop with its own copy, so 'add' doubles them.
        merge: False gives edges of a heterogeneous graph among nodes of one type a new type of reverses, too.

    Raises:
        ValueError: if edges are held in an adjacency, or an edge attribute that must be merged is no tensor with one
            row an edge.
    """

    def __init__(self, reduce: str = "add", merge: bool = True) -> None:
        self.reduce = reduce
        self.merge = merge

    def forward(self, data: Any) -> Any:
        for store in stores_to_change(data, self):
            if store._key is None or (self.merge and not store.is_bipartite()):
                self._merge(store)
            else:
                source, relation, target = store._key
                reverse = data[target, f"rev_{relation}", source]
                for key in edge_keys(reverse):
                    del reverse[key]
                reverse.edge_index = store.edge_index.flip(0)
                reverse.update({key: store[key] for key in edge_keys(store)})
        return data

    def _merge(self, store: EdgeStorage) -> None:
        attrs = edge_tensors(store, self)
        edge_index, merged = utils.to_undirected(
            store.edge_index, list(attrs.values()), store.size(0), reduce=self.reduce
        )
        store.edge_index = edge_index
        store.update(dict(zip(attrs, merged, strict=True)))
        recount(store)
