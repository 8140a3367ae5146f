"""The largest parts of a graph that hang together."""

from typing import Any

import numpy as np
import torch

from gnnlab.data.storage import known_num_nodes
from gnnlab.transforms.base_transform import BaseTransform, functional_transform
from gnnlab.transforms.edges import homogeneous_store


@functional_transform("largest_connected_components")
class LargestConnectedComponents(BaseTransform):
    """Keep the nodes of the largest components (`torch_geometric.transforms.LargestConnectedComponents`).

    Nodes keep their order; node attributes [num_nodes, ...], edges and their attributes, or an adjacency, follow as in
    `Data.subgraph`. Of components of one size those that SciPy finds last are kept (with weak ones: whose first node is
    the greater). A graph of no more components stays as it is.

    Args:
        num_components: how many components to keep.
        connection: 'weak': the direction of edges doesn't count; 'strong': nodes of a component reach each other along
            the edges.

    Raises:
        ValueError: for another `connection`, fewer than one component, a heterogeneous graph, or a graph whose number
            of nodes is not known.
        ImportError: without SciPy, which finds the components.
    """

    def __init__(self, num_components: int = 1, connection: str = "weak") -> None:
        if num_components < 1:
            raise ValueError(f"num_components: expected a number from 1, found {num_components}")
        if connection not in ("weak", "strong"):
            raise ValueError(f"connection: expected 'weak' or 'strong', found {connection!r}")
        self.num_components = num_components
        self.connection = connection

    def forward(self, data: Any) -> Any:
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import connected_components

        store = homogeneous_store(data, self)
        num_nodes = known_num_nodes(store, "the components")
        row, col = (ids.cpu().numpy() for ids in store._ends())
        matrix = coo_array((np.ones(len(row)), (row, col)), (num_nodes, num_nodes))
        count, component = connected_components(matrix, connection=self.connection)
        if count <= self.num_components:
            return data
        largest = np.argsort(np.bincount(component), kind="stable")[-self.num_components :]
        return data.subgraph(torch.from_numpy(np.isin(component, largest)))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.num_components})"
