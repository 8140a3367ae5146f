"""Neighbourhoods hop by hop: of nodes, of a model, and of a sampled batch."""

from collections.abc import Mapping, Sequence
from typing import Any, overload

import torch
from torch import Tensor

from gnnlab.typing import Adj, EdgeType, NodeType, is_sparse_tensor
from gnnlab.utils._checks import check_edge_index, check_integer, check_range, count_nodes
from gnnlab.utils.sparse import is_torch_sparse_tensor, to_edge_index, to_torch_sparse_tensor


def k_hop_subgraph(
    node_idx: int | Sequence[int] | Tensor,
    num_hops: int,
    edge_index: Tensor,
    relabel_nodes: bool = False,
    num_nodes: int | None = None,
    flow: str = "source_to_target",
    directed: bool = False,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The subgraph of all nodes from which `node_idx` is reached in at most `num_hops` steps.

    node_idx: one node, or several: a list or a tensor of integers. edge_index: [2, num_edges] integers.
    relabel_nodes: number the nodes of the subgraph anew. flow: "source_to_target" walks edges against their direction,
    as messages to `node_idx` come; "target_to_source" along it.
    directed: keep only the edges that such a walk takes, not all between the nodes.

    Returns the nodes, sorted, [n] int64; `edge_index` of the subgraph; the places of `node_idx` among the nodes, in
    the order given; and the mask of the edges that stay, [num_edges] bool. Raises ValueError for wrong shapes, dtypes
    or `flow`, IndexError for nodes that are not in [0, num_nodes). PyG: `torch_geometric.utils.k_hop_subgraph`.
    """
    check_edge_index(edge_index)
    if flow not in ("source_to_target", "target_to_source"):
        raise ValueError(f"flow: expected 'source_to_target' or 'target_to_source', found {flow!r}")
    num_nodes = count_nodes(edge_index, num_nodes)
    seeds = torch.as_tensor(node_idx, device=edge_index.device).reshape(-1)
    check_integer(seeds, "node_idx")
    check_range(seeds, "node_idx", num_nodes)
    seeds = seeds.long()

    far, near = edge_index.long() if flow == "source_to_target" else edge_index.long().flip(0)
    reached = torch.zeros(num_nodes, dtype=torch.bool, device=edge_index.device)
    reached[seeds] = True
    taken = torch.zeros(edge_index.size(1), dtype=torch.bool, device=edge_index.device)
    for _ in range(num_hops):
        taken = reached[near]
        reached[far[taken]] = True
    nodes = reached.nonzero().view(-1)
    number = reached.cumsum(0) - 1
    mask = taken if directed else reached[far] & reached[near]
    kept = edge_index[:, mask]
    if relabel_nodes:
        kept = number[kept.long()].to(edge_index.dtype)
    return nodes, kept, number[seeds], mask


def get_num_hops(model: torch.nn.Module) -> int:
    """How many message-passing layers there are in `model`: how far its receptive field reaches, if each is one hop.

    A message-passing layer is a module that has the methods `propagate` and `message`. PyG:
    `torch_geometric.utils.get_num_hops`.
    """
    return sum(
        callable(getattr(module, "propagate", None)) and callable(getattr(module, "message", None))
        for module in model.modules()
    )


@overload
def trim_to_layer(
    layer: int,
    num_sampled_nodes_per_hop: Sequence[int],
    num_sampled_edges_per_hop: Sequence[int],
    x: Tensor,
    edge_index: Adj,
    edge_attr: Tensor | None = None,
) -> tuple[Tensor, Adj, Tensor | None]: ...
@overload
def trim_to_layer(
    layer: int,
    num_sampled_nodes_per_hop: Mapping[NodeType, Sequence[int]],
    num_sampled_edges_per_hop: Mapping[EdgeType, Sequence[int]],
    x: Mapping[NodeType, Tensor],
    edge_index: Mapping[EdgeType, Adj],
    edge_attr: Mapping[EdgeType, Tensor] | None = None,
) -> tuple[dict[NodeType, Tensor], dict[EdgeType, Adj], dict[EdgeType, Tensor] | None]: ...
def trim_to_layer(
    layer: int,
    num_sampled_nodes_per_hop: Any,
    num_sampled_edges_per_hop: Any,
    x: Any,
    edge_index: Any,
    edge_attr: Any = None,
) -> Any:
    """Drop from a sampled batch what layer number `layer` of a model no longer needs: the outermost hop that is left.

    Called before each layer in turn, with what the call before returned. Layer 0 gets everything.

    num_sampled_nodes_per_hop, num_sampled_edges_per_hop: how many nodes and edges the sampler added in each hop, the
    seeds first; by type where the graph is heterogeneous.
    x: [num_nodes, ...]. edge_index: [2, num_edges], or an adjacency matrix [targets, sources], transposed as `adj_t`
    is.
    edge_attr: [num_edges, ...].

    Returns `x`, `edge_index` and `edge_attr` (None where none is given), trimmed; tensors are views. Raises ValueError
    for a `layer` beyond the hops. PyG: `torch_geometric.utils.trim_to_layer`.
    """
    if layer <= 0:
        return x, edge_index, edge_attr
    nodes, edges = num_sampled_nodes_per_hop, num_sampled_edges_per_hop
    if not isinstance(x, Mapping):
        attr = None if edge_attr is None else _drop_hop(edge_attr, 0, edges, layer)
        return _drop_hop(x, 0, nodes, layer), _trim_edges(edge_index, edges, nodes, nodes, layer), attr

    trimmed_x = {t: _drop_hop(value, 0, _hops_of(nodes, t), layer) for t, value in x.items()}
    trimmed_edges = {
        (source, relation, target): _trim_edges(
            value,
            _hops_of(edges, (source, relation, target)),
            _hops_of(nodes, source),
            _hops_of(nodes, target),
            layer,
        )
        for (source, relation, target), value in edge_index.items()
    }
    if edge_attr is not None:
        edge_attr = {t: _drop_hop(v, 0, _hops_of(edges, t), layer) for t, v in edge_attr.items()}
    return trimmed_x, trimmed_edges, edge_attr


def _hops_of(hops: Mapping[Any, Sequence[int]], key: NodeType | EdgeType) -> Sequence[int]:
    if key not in hops:
        raise ValueError(f"num_sampled_*_per_hop: expected an entry for {key!r}, found {list(hops)}")
    return hops[key]


def _hop(hops: Sequence[int], layer: int) -> int:
    """How many were sampled in the hop that layer number `layer` is the first to do without."""
    if layer > len(hops):
        raise ValueError(f"layer: expected at most {len(hops)}, the number of hops, found {layer}")
    return hops[-layer]


def _drop_hop(value: Tensor, dim: int, hops: Sequence[int], layer: int) -> Tensor:
    return value.narrow(dim, 0, value.size(dim) - _hop(hops, layer))


def _trim_edges(
    edge_index: Adj,
    edges: Sequence[int],
    source_nodes: Sequence[int],
    target_nodes: Sequence[int],
    layer: int,
) -> Adj:
    if not is_sparse_tensor(edge_index) and not is_torch_sparse_tensor(edge_index):
        return _drop_hop(edge_index, 1, edges, layer)
    size = (edge_index.size(0) - _hop(target_nodes, layer), edge_index.size(1) - _hop(source_nodes, layer))
    # The edges of the hop that goes lead to the nodes of the hop before it: their rows are emptied.
    filled = size[0] - (target_nodes[-layer - 1] if layer < len(target_nodes) else 0)
    if is_sparse_tensor(edge_index):
        return edge_index.narrow(0, 0, filled).narrow(1, 0, size[1]).sparse_resize(size)
    (row, col), value = to_edge_index(edge_index)
    stays = row < filled
    return to_torch_sparse_tensor(torch.stack([row[stays], col[stays]]), value[stays], size, layout=edge_index.layout)
