"""Edges from a node to itself."""

import torch
from torch import Tensor

from gnnlab.utils._checks import check_edge_index, check_per_edge, count_nodes
from gnnlab.utils._scatter import scatter
from gnnlab.utils.num_nodes import maybe_num_nodes
from gnnlab.utils.sparse import is_torch_sparse_tensor, to_edge_index, to_torch_sparse_tensor

FillValue = float | Tensor | str | None


def contains_self_loops(edge_index: Tensor) -> bool:
    """Whether any edge of `edge_index`, [2, num_edges] integers, leads from a node to itself.

    PyG: `torch_geometric.utils.contains_self_loops`.
    """
    check_edge_index(edge_index)
    return bool((edge_index[0] == edge_index[1]).any())


def remove_self_loops(edge_index: Tensor, edge_attr: Tensor | None = None) -> tuple[Tensor, Tensor | None]:
    """Drop the edges from a node to itself.

    edge_index: [2, num_edges] integers, or a sparse matrix of torch's, from which the diagonal goes.
    edge_attr: [num_edges, ...].

    Returns the same kind of `edge_index`, and `edge_attr` (None for a matrix, which holds its own values). Raises
    ValueError for wrong shapes or dtypes. PyG: `torch_geometric.utils.remove_self_loops`.
    """
    if is_torch_sparse_tensor(edge_index):
        edges, value = _entries(edge_index, edge_attr)
        edges, kept = remove_self_loops(edges, value)
        return _like(edge_index, edges, kept), None
    edge_index, edge_attr, _, _ = segregate_self_loops(edge_index, edge_attr)
    return edge_index, edge_attr


def segregate_self_loops(
    edge_index: Tensor, edge_attr: Tensor | None = None
) -> tuple[Tensor, Tensor | None, Tensor, Tensor | None]:
    """Split the edges into those between two nodes and those from a node to itself.

    edge_index: [2, num_edges] integers. edge_attr: [num_edges, ...].

    Returns `edge_index` and `edge_attr` of the first, then of the second kind. Raises ValueError for wrong shapes or
    dtypes. PyG: `torch_geometric.utils.segregate_self_loops`.
    """
    check_edge_index(edge_index)
    loop = edge_index[0] == edge_index[1]
    if edge_attr is None:
        return edge_index[:, ~loop], None, edge_index[:, loop], None
    check_per_edge(edge_attr, "edge_attr", edge_index.size(1))
    return edge_index[:, ~loop], edge_attr[~loop], edge_index[:, loop], edge_attr[loop]


def add_self_loops(
    edge_index: Tensor,
    edge_attr: Tensor | None = None,
    fill_value: FillValue = None,
    num_nodes: int | tuple[int, int] | None = None,
) -> tuple[Tensor, Tensor | None]:
    """Add a self-loop to every node, at the end; those there already stay.

    edge_index: [2, num_edges] integers, or a sparse matrix of torch's, to which the loops are added (1 where no
    `fill_value` is given). edge_attr: [num_edges, ...].
    fill_value: the attribute of the new loops: a number, a tensor that broadcasts to one row, or a reduction of
    `scatter` over the attributes of the edges that lead into the node; 1 by default.
    num_nodes: how many nodes get a loop; of a pair (sources, targets) the smaller.

    Returns the same kind of `edge_index`, and `edge_attr` (None for a matrix, which holds its own values). Raises
    ValueError for wrong shapes or dtypes. PyG: `torch_geometric.utils.add_self_loops`.

    >>> add_self_loops(torch.tensor([[0], [1]]), torch.tensor([5.0]))
    (tensor([[0, 0, 1],
            [1, 0, 1]]), tensor([5., 1., 1.]))
    """
    if is_torch_sparse_tensor(edge_index):
        edges, value = _entries(edge_index, edge_attr)
        edges, all_values = add_self_loops(edges, value, fill_value, (edge_index.size(0), edge_index.size(1)))
        return _like(edge_index, edges, all_values), None
    check_edge_index(edge_index)
    if isinstance(num_nodes, tuple | list):
        num_nodes = min(num_nodes)
    num_loops = maybe_num_nodes(edge_index, num_nodes)
    new = torch.arange(num_loops, dtype=edge_index.dtype, device=edge_index.device)
    if edge_attr is not None:
        loop_attr = _loop_attr(edge_index, edge_attr, fill_value, num_loops)
        edge_attr = torch.cat([edge_attr, loop_attr])
    return torch.cat([edge_index, new.expand(2, -1)], dim=1), edge_attr


def add_remaining_self_loops(
    edge_index: Tensor,
    edge_attr: Tensor | None = None,
    fill_value: FillValue = None,
    num_nodes: int | None = None,
) -> tuple[Tensor, Tensor | None]:
    """Give every node exactly one self-loop; a node that has one keeps its attribute.

    Arguments as in `add_self_loops`, `edge_index` [2, num_edges] only. The edges between two nodes come first, then the
    loops from node 0 on; of several loops of a node the last one's attribute stays. Raises IndexError for nodes that
    are not in [0, num_nodes). PyG: `torch_geometric.utils.add_remaining_self_loops`.

    >>> add_remaining_self_loops(torch.tensor([[0, 1], [0, 0]]), torch.tensor([5.0, 6.0]))
    (tensor([[1, 0, 1],
            [0, 0, 1]]), tensor([6., 5., 1.]))
    """
    check_edge_index(edge_index)
    num_nodes = count_nodes(edge_index, num_nodes)
    is_loop = edge_index[0] == edge_index[1]
    loops, others = (mask.nonzero().view(-1) for mask in (is_loop, ~is_loop))
    new = torch.arange(num_nodes, dtype=edge_index.dtype, device=edge_index.device)
    if edge_attr is not None:
        loop_attr = _loop_attr(edge_index, edge_attr, fill_value, num_nodes)
        loop_attr[edge_index[0, loops].long()] = edge_attr[loops]
        edge_attr = torch.cat([edge_attr[others], loop_attr])
    return torch.cat([edge_index[:, others], new.expand(2, -1)], dim=1), edge_attr


def get_self_loop_attr(edge_index: Tensor, edge_attr: Tensor | None = None, num_nodes: int | None = None) -> Tensor:
    """The attribute of each node's self-loop, 0 where it has none.

    edge_index: [2, num_edges] integers. edge_attr: [num_edges, ...]; by default 1 for each edge.

    Returns [num_nodes, ...]; of several loops of a node the last one counts. Raises ValueError for wrong shapes or
    dtypes, IndexError for nodes that are not in [0, num_nodes). PyG: `torch_geometric.utils.get_self_loop_attr`.
    """
    check_edge_index(edge_index)
    num_nodes = count_nodes(edge_index, num_nodes)
    if edge_attr is None:
        edge_attr = torch.ones(edge_index.size(1), device=edge_index.device)
    check_per_edge(edge_attr, "edge_attr", edge_index.size(1))
    loop = edge_index[0] == edge_index[1]
    out = edge_attr.new_zeros([num_nodes, *edge_attr.shape[1:]])
    out[edge_index[0, loop].long()] = edge_attr[loop]
    return out


def _loop_attr(edge_index: Tensor, edge_attr: Tensor, fill_value: FillValue, num_loops: int) -> Tensor:
    """[num_loops, ...] attributes of new self-loops, writable."""
    check_per_edge(edge_attr, "edge_attr", edge_index.size(1))
    shape = [num_loops, *edge_attr.shape[1:]]
    if isinstance(fill_value, str):
        # A node beyond the loops (more targets than sources) still has to have its place in the sum.
        size = max(num_loops, maybe_num_nodes(edge_index[1]))
        return scatter(edge_attr, edge_index[1], 0, size, fill_value)[:num_loops]
    if isinstance(fill_value, Tensor):
        try:
            return fill_value.to(edge_attr).expand(shape).clone()
        except RuntimeError:
            raise ValueError(
                f"fill_value: expected a shape that broadcasts to {shape}, found {list(fill_value.shape)}"
            ) from None
    return edge_attr.new_full(shape, 1.0 if fill_value is None else fill_value)


def _entries(adj: Tensor, edge_attr: Tensor | None) -> tuple[Tensor, Tensor]:
    if edge_attr is not None:
        raise ValueError("edge_attr: expected None beside a sparse matrix, which holds its own values")
    return to_edge_index(adj)


def _like(adj: Tensor, edge_index: Tensor, value: Tensor | None) -> Tensor:
    size = (adj.size(0), adj.size(1))
    return to_torch_sparse_tensor(edge_index, value, size=size, layout=adj.layout)
