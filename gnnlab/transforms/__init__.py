"""Functions from graph to graph (`torch_geometric.transforms`)."""

from gnnlab.transforms.add_remaining_self_loops import AddRemainingSelfLoops
from gnnlab.transforms.add_self_loops import AddSelfLoops
from gnnlab.transforms.base_transform import BaseTransform, functional_transform
from gnnlab.transforms.compose import Compose, ComposeFilters
from gnnlab.transforms.constant import Constant
from gnnlab.transforms.gcn_norm import GCNNorm
from gnnlab.transforms.largest_connected_components import LargestConnectedComponents
from gnnlab.transforms.local_degree_profile import LocalDegreeProfile
from gnnlab.transforms.normalize_features import NormalizeFeatures
from gnnlab.transforms.one_hot_degree import OneHotDegree
from gnnlab.transforms.random_link_split import RandomLinkSplit
from gnnlab.transforms.random_node_split import RandomNodeSplit
from gnnlab.transforms.remove_duplicated_edges import RemoveDuplicatedEdges
from gnnlab.transforms.remove_isolated_nodes import RemoveIsolatedNodes
from gnnlab.transforms.remove_self_loops import RemoveSelfLoops
from gnnlab.transforms.sign import SIGN
from gnnlab.transforms.to_device import ToDevice
from gnnlab.transforms.to_sparse_tensor import ToSparseTensor
from gnnlab.transforms.to_undirected import ToUndirected

__all__ = [
    "SIGN",
    "AddRemainingSelfLoops",
    "AddSelfLoops",
    "BaseTransform",
    "Compose",
    "ComposeFilters",
    "Constant",
    "GCNNorm",
    "LargestConnectedComponents",
    "LocalDegreeProfile",
    "NormalizeFeatures",
    "OneHotDegree",
    "RandomLinkSplit",
    "RandomNodeSplit",
    "RemoveDuplicatedEdges",
    "RemoveIsolatedNodes",
    "RemoveSelfLoops",
    "ToDevice",
    "ToSparseTensor",
    "ToUndirected",
    "functional_transform",
]
