"""Edge weights scaled by the degrees of both ends."""

from typing import Any

import torch
from torch import Tensor

from gnnlab import sparse
from gnnlab.sparse import SparseTensor
from gnnlab.typing import Adj
from gnnlab.utils._checks import check_edge_index, check_per_edge
from gnnlab.utils._scatter import scatter
from gnnlab.utils._spmm import as_sparse_tensor
from gnnlab.utils.loop import add_remaining_self_loops
from gnnlab.utils.num_nodes import maybe_num_nodes


def gcn_norm(
    edge_index: Adj,
    edge_weight: Tensor | None = None,
    num_nodes: int | None = None,
    improved: bool = False,
    add_self_loops: bool = True,
    flow: str = "source_to_target",
    dtype: torch.dtype | None = None,
) -> Any:
    """The symmetric normalisation of a graph convolution: weight(j, i) / sqrt(degree(j) degree(i)), with self-loops.

    edge_index: [2, num_edges] integers, or the transposed adjacency, [num_nodes, num_nodes] sparse, of any kind.
    edge_weight: [num_edges] float, for an `edge_index`; by default ones. improved: weigh self-loops 2 instead of 1.
    add_self_loops: give each node without a self-loop one. flow: the end whose weights sum to the degree, the target
    for "source_to_target". dtype: of the weights where none are given.

    Returns `edge_index` and `edge_weight`, or the adjacency with its values. A node of degree 0 gets weights of 0, and
    a self-loop that is there keeps its weight. PyG leaves out `improved` where an `edge_index` comes without weights.
    Raises ValueError for wrong shapes, an adjacency that is not square, or weights beside an adjacency (PyG ignores
    them). Source: https://arxiv.org/abs/1609.02907. PyG: `torch_geometric.nn.conv.gcn_conv.gcn_norm`.
    """
    fill = 2.0 if improved else 1.0
    if sparse.is_sparse(edge_index):
        rows, cols = sparse.sizes(edge_index)[:2]
        if rows != cols:
            raise ValueError(f"edge_index: expected a square adjacency, found one of {rows} x {cols}")
        if edge_weight is not None:
            raise ValueError("edge_weight: expected None with an adjacency, whose values are the weights, found some")
        adj = _normalized(as_sparse_tensor(edge_index), fill, add_self_loops, dtype)
        if isinstance(edge_index, Tensor):
            return _WRITERS[edge_index.layout](adj), None
        return adj if isinstance(edge_index, SparseTensor) else adj.to_torch_sparse()
    check_edge_index(edge_index)
    assert isinstance(edge_index, Tensor)
    num_nodes = maybe_num_nodes(edge_index, num_nodes)
    if edge_weight is None:
        edge_weight = torch.ones(edge_index.size(1), dtype=dtype, device=edge_index.device)
    check_per_edge(edge_weight, "edge_weight", edge_index.size(1))
    if add_self_loops:
        edge_index, loops = add_remaining_self_loops(edge_index, edge_weight, fill, num_nodes)
        assert loops is not None
        edge_weight = loops
    row, col = edge_index[0], edge_index[1]
    degree = scatter(edge_weight, col if flow == "source_to_target" else row, 0, num_nodes)
    scale = _inverse_root(degree)
    return edge_index, scale.index_select(0, row.long()) * edge_weight * scale.index_select(0, col.long())


_WRITERS = {
    torch.sparse_coo: SparseTensor.to_torch_sparse_coo_tensor,
    torch.sparse_csr: SparseTensor.to_torch_sparse_csr_tensor,
    torch.sparse_csc: SparseTensor.to_torch_sparse_csc_tensor,
}


def _normalized(adj: SparseTensor, fill: float, add_self_loops: bool, dtype: torch.dtype | None) -> SparseTensor:
    if not adj.has_value():
        adj = adj.fill_value(1.0, dtype=dtype)
    if add_self_loops:
        adj = _add_remaining_self_loops(adj, fill)
    row, col, value = adj.coo()
    assert value is not None
    scale = _inverse_root(scatter(value, row, 0, adj.sparse_size(0)))
    return adj.set_value(scale.index_select(0, row) * value * scale.index_select(0, col), layout="coo")


def _add_remaining_self_loops(adj: SparseTensor, fill: float) -> SparseTensor:
    """Every entry of the diagonal there once; one that is there keeps its value, as with an `edge_index`."""
    row, col, value = adj.coo()
    assert value is not None
    loop = row == col
    diagonal = value.new_full((adj.sparse_size(0), *value.shape[1:]), fill)
    diagonal[row[loop]] = value[loop]
    return adj.set_diag(diagonal)


def _inverse_root(degree: Tensor) -> Tensor:
    return torch.where(degree == 0, float("inf"), degree).pow(-0.5)  # whose gradient at 0 is 0, not NaN
