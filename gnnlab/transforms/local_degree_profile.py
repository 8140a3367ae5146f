"""The degrees around a node, as features."""

from typing import Any

import torch

from gnnlab.data.storage import known_num_nodes
from gnnlab.transforms.base_transform import BaseTransform, functional_transform
from gnnlab.transforms.edges import append_columns, edge_index_of
from gnnlab.utils import degree, scatter


@functional_transform("local_degree_profile")
class LocalDegreeProfile(BaseTransform):
    """Add five columns to `x` about degrees (`torch_geometric.transforms.LocalDegreeProfile`).

    They are the node's number of edges out, and of the nodes at the other ends of these edges the least, the greatest
    and the mean number, and its standard deviation (of the whole, not of a sample); all 0 for a node without edges out.
    `x` becomes [num_nodes, num_features + 5], without it [num_nodes, 5] in torch's default dtype. Source: Cai and Wang,
    "A simple yet effective baseline for non-attributed graph classification", arXiv:1811.03508.

    Raises:
        ValueError: if the graph is heterogeneous or has no `edge_index`, the number of nodes is not known, or `x` has
            more than two dimensions.
    """

    def forward(self, data: Any) -> Any:
        row, col = edge_index_of(data, self)
        num_nodes = known_num_nodes(data.stores[0], "the degree of every node")
        own = degree(row, num_nodes)  # [num_nodes]
        around = own[col.long()]  # [num_edges]
        low, high, mean = (scatter(around, row, 0, num_nodes, reduce) for reduce in ("min", "max", "mean"))
        deviation = scatter((around - mean[row.long()]) ** 2, row, 0, num_nodes, "mean").sqrt()
        append_columns(data.stores[0], torch.stack([own, low, high, mean, deviation], dim=1))
        return data
