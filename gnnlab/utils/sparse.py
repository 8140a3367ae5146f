"""Edges as sparse matrices of torch's, and back; dense adjacency matrices to edges; joining sparse matrices."""

from typing import Any

import torch
from torch import Tensor

from gnnlab.sparse import cat, torch_compressed, torch_coo
from gnnlab.sparse.pointers import index_to_ptr, ptr_to_index
from gnnlab.typing import Adj, is_sparse_tensor
from gnnlab.utils._checks import check_edge_index, check_per_edge, check_range, extremes
from gnnlab.utils._coalesce import coalesce

__all__ = [
    "cat",
    "dense_to_sparse",
    "is_sparse",
    "is_torch_sparse_tensor",
    "to_edge_index",
    "to_torch_coo_tensor",
    "to_torch_csc_tensor",
    "to_torch_csr_tensor",
    "to_torch_sparse_tensor",
]

MatrixSize = int | tuple[int | None, int | None] | None

LAYOUTS = (torch.sparse_coo, torch.sparse_csr, torch.sparse_csc)


def is_torch_sparse_tensor(src: Any) -> bool:
    """Whether `src` is a tensor of torch's in COO, CSR or CSC layout.

    PyG: `torch_geometric.utils.is_torch_sparse_tensor`.
    """
    return isinstance(src, Tensor) and src.layout in LAYOUTS


def is_sparse(src: Any) -> bool:
    """Whether `src` is a sparse tensor of torch's or a `SparseTensor`. PyG: `torch_geometric.utils.is_sparse`."""
    return is_torch_sparse_tensor(src) or is_sparse_tensor(src)


def to_torch_coo_tensor(
    edge_index: Tensor,
    edge_attr: Tensor | None = None,
    size: MatrixSize = None,
    is_coalesced: bool = False,
) -> Tensor:
    """`to_torch_sparse_tensor` in COO layout. PyG: `torch_geometric.utils.to_torch_coo_tensor`."""
    return to_torch_sparse_tensor(edge_index, edge_attr, size, is_coalesced, torch.sparse_coo)


def to_torch_csr_tensor(
    edge_index: Tensor,
    edge_attr: Tensor | None = None,
    size: MatrixSize = None,
    is_coalesced: bool = False,
) -> Tensor:
    """`to_torch_sparse_tensor` in CSR layout. PyG: `torch_geometric.utils.to_torch_csr_tensor`."""
    return to_torch_sparse_tensor(edge_index, edge_attr, size, is_coalesced, torch.sparse_csr)


def to_torch_csc_tensor(
    edge_index: Tensor,
    edge_attr: Tensor | None = None,
    size: MatrixSize = None,
    is_coalesced: bool = False,
) -> Tensor:
    """`to_torch_sparse_tensor` in CSC layout. PyG: `torch_geometric.utils.to_torch_csc_tensor`."""
    return to_torch_sparse_tensor(edge_index, edge_attr, size, is_coalesced, torch.sparse_csc)


def to_torch_sparse_tensor(
    edge_index: Tensor,
    edge_attr: Tensor | None = None,
    size: MatrixSize = None,
    is_coalesced: bool = False,
    layout: torch.layout = torch.sparse_coo,
) -> Tensor:
    """Edges as a sparse matrix of torch's, with an entry at (edge_index[0], edge_index[1]) for each.

    edge_index: [2, num_edges] integers. edge_attr: [num_edges, ...] the entries, 1.0 by default; those of equal edges
    are added up (without `edge_attr` an edge that is there twice is 1.0 too).
    size: (rows, columns), or one number for both; what is None is one more than the greatest node there.
    is_coalesced: True promises that no edge is there twice and that all are sorted: by column, then row, for CSC, by
    row, then column, for the others.
    layout: torch.sparse_coo, torch.sparse_csr or torch.sparse_csc.

    Returns [rows, columns, ...]. Raises ValueError for wrong shapes, dtypes or layouts, IndexError for nodes outside of
    `size`. PyG: `torch_geometric.utils.to_torch_sparse_tensor`.
    """
    check_edge_index(edge_index)
    if layout not in LAYOUTS:
        raise ValueError(f"layout: expected one of {LAYOUTS}, found {layout}")
    rows, columns = _matrix_size(edge_index, size)
    check_range(edge_index[0], "edge_index[0]", rows)
    check_range(edge_index[1], "edge_index[1]", columns)
    if edge_attr is not None:
        check_per_edge(edge_attr, "edge_attr", edge_index.size(1))

    edge_index = edge_index.long()
    if not is_coalesced:
        by_row = layout != torch.sparse_csc
        edge_index, edge_attr = coalesce(edge_index, edge_attr, sort_by_row=by_row)
    if edge_attr is None:
        edge_attr = torch.ones(edge_index.size(1), device=edge_index.device)
    return _assemble(edge_index, edge_attr, rows, columns, layout)


def _matrix_size(edge_index: Tensor, size: MatrixSize) -> tuple[int, int]:
    if size is None:
        size = _beyond(edge_index)  # one number of nodes, for both sides
    if isinstance(size, int):
        return size, size
    rows, columns = size
    return (
        _beyond(edge_index[0]) if rows is None else rows,
        _beyond(edge_index[1]) if columns is None else columns,
    )


def _beyond(index: Tensor) -> int:
    """One more than the greatest value, 0 if there is none."""
    return extremes(index)[1] + 1 if index.numel() > 0 else 0


def _assemble(
    edge_index: Tensor,
    value: Tensor,
    rows: int,
    columns: int,
    layout: torch.layout,
) -> Tensor:
    """The matrix of entries that stand in the order of `layout`, each once."""
    size = [rows, columns, *value.shape[1:]]
    row, col = edge_index
    if layout == torch.sparse_coo:
        return torch_coo.build(edge_index, value, size, is_coalesced=True)
    if layout == torch.sparse_csr:
        return torch_compressed.build(index_to_ptr(row, rows), col, value, size, layout)
    return torch_compressed.build(index_to_ptr(col, columns), row, value, size, layout)


def to_edge_index(adj: Adj) -> tuple[Tensor, Tensor]:
    """The entries of a sparse matrix as edges.

    adj: [rows, columns, ...] in COO, CSR or CSC layout of torch's, or a `SparseTensor`.

    Returns `edge_index` [2, nnz] and the values [nnz, ...], 1.0 each where a `SparseTensor` has none, in the order in
    which the matrix keeps them: by row, or by column for CSC; a COO matrix that is not coalesced keeps its repeated
    entries. Raises ValueError for anything else. PyG: `torch_geometric.utils.to_edge_index`.
    """
    if is_sparse_tensor(adj):
        row, col, value = adj.coo()
        if value is None:
            value = torch.ones(row.numel(), device=row.device)
        return torch.stack([row, col]), value
    if not is_torch_sparse_tensor(adj) or adj.sparse_dim() != 2:
        raise ValueError(f"adj: expected a sparse matrix, found {_describe(adj)}")
    if adj.layout == torch.sparse_coo:
        return adj._indices(), torch_coo.values(adj)
    ptr, index, value = torch_compressed.parts(adj)
    index = index.long()
    expanded = ptr_to_index(ptr.long(), index.numel())
    return torch.stack([expanded, index] if adj.layout == torch.sparse_csr else [index, expanded]), value


def _describe(adj: Any) -> str:
    if isinstance(adj, Tensor):
        return f"a tensor of shape {list(adj.shape)} in layout {adj.layout}"
    return type(adj).__name__


def dense_to_sparse(adj: Tensor, mask: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """The non-zero entries of a dense adjacency matrix, or of a batch of them, as edges.

    adj: [num_nodes, num_nodes] or [batch_size, num_nodes, num_nodes].
    mask: [batch_size, num_nodes] bool, for a batch: which nodes there are. The others get no number, and their entries
    are left out.

    Returns `edge_index` [2, num_edges] int64, with the nodes of a batch numbered on from graph to graph, and the
    entries [num_edges]. Raises ValueError for other shapes. PyG: `torch_geometric.utils.dense_to_sparse`.

    >>> dense_to_sparse(torch.tensor([[0, 3], [1, 0]]))
    (tensor([[0, 1],
            [1, 0]]), tensor([3, 1]))
    """
    if adj.dim() not in (2, 3):
        raise ValueError(f"adj: expected two or three dimensions, found shape {list(adj.shape)}")
    if mask is not None and (adj.dim() == 2 or mask.shape != adj.shape[:2] or adj.size(1) != adj.size(2)):
        raise ValueError(
            f"mask: expected [batch_size, num_nodes] for adj [batch_size, num_nodes, num_nodes], "
            f"found {list(mask.shape)} for {list(adj.shape)}"
        )
    at = adj.nonzero(as_tuple=True)
    value = adj[at]
    if adj.dim() == 2:
        return torch.stack(at), value
    graph, row, col = at
    if mask is None:
        return torch.stack([graph * adj.size(1) + row, graph * adj.size(2) + col]), value
    mask = mask.bool()
    number = (mask.reshape(-1).cumsum(0) - 1).view(mask.shape)
    there = mask[graph, row] & mask[graph, col]
    return torch.stack([number[graph, row], number[graph, col]])[:, there], value[there]
