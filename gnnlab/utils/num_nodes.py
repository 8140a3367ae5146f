"""How many nodes a graph has, from its edges."""

from collections.abc import Mapping

from torch import Tensor

from gnnlab.typing import Adj, EdgeType, NodeType, is_sparse_tensor
from gnnlab.utils._checks import check_integer, extremes
from gnnlab.utils.sparse import is_torch_sparse_tensor


def maybe_num_nodes(edge_index: Adj | tuple[Tensor, Tensor], num_nodes: int | None = None) -> int:
    """`num_nodes` if given, else one more than the greatest node in `edge_index`, 0 without edges.

    edge_index: integers of any shape, or a pair of them, or a sparse matrix, of which the longer side counts.

    Raises ValueError for a dtype that is no integer. PyG: `torch_geometric.utils.num_nodes.maybe_num_nodes`.
    """
    if num_nodes is not None:
        return num_nodes
    if isinstance(edge_index, tuple):
        return max(maybe_num_nodes(index) for index in edge_index)
    if is_sparse_tensor(edge_index):
        return max(edge_index.sparse_sizes())
    if is_torch_sparse_tensor(edge_index):
        return max(edge_index.size(0), edge_index.size(1))
    check_integer(edge_index, "edge_index")
    return extremes(edge_index)[1] + 1 if edge_index.numel() > 0 else 0


def maybe_num_nodes_dict(
    edge_index_dict: Mapping[EdgeType, Tensor],
    num_nodes_dict: Mapping[NodeType, int] | None = None,
) -> dict[NodeType, int]:
    """The number of nodes of each type: as given, or else one more than the greatest node that any edge type names.

    edge_index_dict: [2, num_edges] integers by edge type. PyG: `torch_geometric.utils.num_nodes.maybe_num_nodes_dict`.
    """
    given = dict(num_nodes_dict or {})
    found: dict[NodeType, int] = {}
    for (source, _, target), edge_index in edge_index_dict.items():
        for node_type, index in ((source, edge_index[0]), (target, edge_index[1])):
            if node_type not in given:
                found[node_type] = max(found.get(node_type, 0), maybe_num_nodes(index))
    return {**given, **found}
