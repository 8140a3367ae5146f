"""Functions of tensors: reduce, sort, convert, sample and change edges and node features.

All names are PyG's. A file whose function has the file's own name starts with an underscore, so that
`gnnlab.utils.scatter` is the function. The modules `num_nodes`, `map`, `sparse` and `mixin` hold more.
"""

from importlib import import_module
from typing import Any

from gnnlab.utils import map as map
from gnnlab.utils import mixin as mixin
from gnnlab.utils._coalesce import coalesce
from gnnlab.utils._degree import degree, one_hot
from gnnlab.utils._dense import to_dense_adj, to_dense_batch
from gnnlab.utils._homophily import homophily
from gnnlab.utils._hops import get_num_hops, k_hop_subgraph, trim_to_layer
from gnnlab.utils._negative_sampling import (
    batched_negative_sampling,
    negative_sampling,
    structured_negative_sampling,
    structured_negative_sampling_feasible,
)
from gnnlab.utils._scatter import group_argsort, group_cat, scatter
from gnnlab.utils._segment import segment, segment_logsumexp
from gnnlab.utils._select import narrow, select
from gnnlab.utils._softmax import softmax
from gnnlab.utils._sort import index_sort, lexsort, sort_edge_index
from gnnlab.utils._spmm import spmm
from gnnlab.utils._subgraph import bipartite_subgraph, subgraph
from gnnlab.utils._unbatch import unbatch, unbatch_edge_index
from gnnlab.utils.convert import from_scipy_sparse_matrix, to_scipy_sparse_matrix
from gnnlab.utils.dropout import dropout_edge, dropout_node
from gnnlab.utils.functions import cumsum
from gnnlab.utils.isolated import contains_isolated_nodes, remove_isolated_nodes
from gnnlab.utils.laplacian import get_laplacian
from gnnlab.utils.loop import (
    add_remaining_self_loops,
    add_self_loops,
    contains_self_loops,
    get_self_loop_attr,
    remove_self_loops,
    segregate_self_loops,
)
from gnnlab.utils.mask import index_to_mask, mask_select, mask_to_index
from gnnlab.utils.random import (
    barabasi_albert_graph,
    erdos_renyi_graph,
    stochastic_blockmodel_graph,
)
from gnnlab.utils.sparse import (
    dense_to_sparse,
    is_sparse,
    is_torch_sparse_tensor,
    to_edge_index,
    to_torch_coo_tensor,
    to_torch_csc_tensor,
    to_torch_csr_tensor,
    to_torch_sparse_tensor,
)
from gnnlab.utils.undirected import is_undirected, to_undirected

__all__ = [
    "add_remaining_self_loops",
    "add_self_loops",
    "barabasi_albert_graph",
    "batched_negative_sampling",
    "bipartite_subgraph",
    "coalesce",
    "contains_isolated_nodes",
    "contains_self_loops",
    "cumsum",
    "degree",
    "dense_to_sparse",
    "dropout_edge",
    "dropout_node",
    "erdos_renyi_graph",
    "from_networkx",
    "from_pyg",
    "from_scipy_sparse_matrix",
    "get_laplacian",
    "get_num_hops",
    "get_self_loop_attr",
    "group_argsort",
    "group_cat",
    "homophily",
    "index_sort",
    "index_to_mask",
    "is_sparse",
    "is_torch_sparse_tensor",
    "is_undirected",
    "k_hop_subgraph",
    "lexsort",
    "mask_select",
    "mask_to_index",
    "narrow",
    "negative_sampling",
    "one_hot",
    "remove_isolated_nodes",
    "remove_self_loops",
    "scatter",
    "segment",
    "segment_logsumexp",
    "segregate_self_loops",
    "select",
    "softmax",
    "sort_edge_index",
    "spmm",
    "stochastic_blockmodel_graph",
    "structured_negative_sampling",
    "structured_negative_sampling_feasible",
    "subgraph",
    "to_dense_adj",
    "to_dense_batch",
    "to_edge_index",
    "to_networkx",
    "to_pyg",
    "to_scipy_sparse_matrix",
    "to_torch_coo_tensor",
    "to_torch_csc_tensor",
    "to_torch_csr_tensor",
    "to_torch_sparse_tensor",
    "to_undirected",
    "trim_to_layer",
    "unbatch",
    "unbatch_edge_index",
]

# These build Data, so they live in a layer that imports this one.
_CONVERTERS = ("from_networkx", "from_pyg", "to_networkx", "to_pyg")


def __getattr__(name: str) -> Any:
    if name in _CONVERTERS:
        return getattr(import_module("gnnlab.data.convert"), name)
    raise AttributeError(f"module 'gnnlab.utils' has no attribute {name!r}")
