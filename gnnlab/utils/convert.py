"""Edges to SciPy's sparse matrices, and back."""

from typing import Any

import numpy as np
import torch
from torch import Tensor

from gnnlab.utils._checks import check_edge_index, count_nodes


def to_scipy_sparse_matrix(edge_index: Tensor, edge_attr: Tensor | None = None, num_nodes: int | None = None) -> Any:
    """Edges as a square `scipy.sparse.coo_matrix`, with an entry at (edge_index[0], edge_index[1]) for each.

    edge_index: [2, num_edges] integers. edge_attr: [num_edges] or [num_edges, 1], by default 1.0.

    Returns [num_nodes, num_nodes], in memory shared with the tensors where they are on the CPU. Raises ValueError for
    wrong shapes or dtypes, IndexError for nodes that are not in [0, num_nodes).
    PyG: `torch_geometric.utils.to_scipy_sparse_matrix`.
    """
    import scipy.sparse

    check_edge_index(edge_index)
    num_nodes = count_nodes(edge_index, num_nodes)
    if edge_attr is None:
        edge_attr = torch.ones(edge_index.size(1))
    if edge_attr.numel() != edge_index.size(1) or edge_attr.dim() not in (1, 2):
        raise ValueError(
            f"edge_attr: expected one number for each of {edge_index.size(1)} edges, "
            f"found shape {list(edge_attr.shape)}"
        )
    row, col = edge_index.cpu().numpy()
    value = edge_attr.detach().cpu().view(-1).numpy()
    return scipy.sparse.coo_matrix((value, (row, col)), shape=(num_nodes, num_nodes))


def from_scipy_sparse_matrix(A: Any) -> tuple[Tensor, Tensor]:
    """The entries of a SciPy sparse matrix as edges.

    Returns `edge_index` [2, nnz] int64 and the entries, [nnz] of the dtype of `A`, in the order of its COO form.
    PyG: `torch_geometric.utils.from_scipy_sparse_matrix`.
    """
    A = A.tocoo()
    edge_index = torch.from_numpy(np.stack([A.row, A.col]).astype(np.int64, copy=False))
    return edge_index, torch.from_numpy(A.data)
