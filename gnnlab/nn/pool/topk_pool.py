"""Pooling that keeps the best nodes of each graph."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.nn import Module

from gnnlab.nn.pool.connect import FilterEdges
from gnnlab.nn.pool.select import SelectTopK, describe_ratio


class TopKPooling(Module):
    """Keep the nodes of each graph that lie furthest along a learnt direction, weighted by how far, and their edges.

    in_channels: the number of channels.
    ratio: a float from 0 to 1 is the share of a graph's nodes to keep, rounded up, an int the number of them.
    min_score: keep all nodes above that share of their graph's softmax over scores instead, and in any case the best.
    multiplier: what the nodes kept are multiplied by, beside their score.
    nonlinearity: what the projection goes through, a name or a function; unused with `min_score`.

    The direction is `select.weight`, [1, in_channels]. A `ratio` of 1.0 keeps all nodes (in PyG one of each graph); the
    edges keep their order. Raises ValueError for a `ratio` out of range, or where it and `min_score` are None.
    PyG: `torch_geometric.nn.TopKPooling`; arXiv:1905.05178.
    """

    def __init__(
        self,
        in_channels: int,
        ratio: int | float = 0.5,
        min_score: float | None = None,
        multiplier: float = 1.0,
        nonlinearity: str | Callable[..., Any] = "tanh",
    ) -> None:
        super().__init__()
        self.in_channels = in_channels
        self.ratio = ratio
        self.min_score = min_score
        self.multiplier = multiplier
        self.select = SelectTopK(in_channels, ratio, min_score, nonlinearity)
        self.connect = FilterEdges()

    def reset_parameters(self) -> None:
        """Draw the direction anew."""
        self.select.reset_parameters()

    def forward(
        self,
        x: Tensor,
        edge_index: Tensor,
        edge_attr: Tensor | None = None,
        batch: Tensor | None = None,
        attn: Tensor | None = None,
    ) -> tuple[Tensor, Tensor, Tensor | None, Tensor | None, Tensor, Tensor]:
        """x: [num_nodes, in_channels] float. edge_index: [2, num_edges] integers. edge_attr: [num_edges, ...].

        batch: [num_nodes] integers, the graph of each node; one graph by default. attn: [num_nodes, in_channels] float,
        what is scored in place of `x`.

        Returns `x`, `edge_index`, `edge_attr` and `batch` of the pooled graphs, the nodes kept, [n] int64, and their
        scores, [n]. Raises ValueError for wrong shapes or dtypes, IndexError for edges of nodes that are not there.
        """
        if batch is None:
            batch = torch.zeros(x.size(0), dtype=torch.long, device=x.device)
        x = x.unsqueeze(-1) if x.dim() == 1 else x
        selected = self.select(x if attn is None else attn, batch)
        kept, score = selected.node_index, selected.weight
        x = self.multiplier * (x[kept] * score.unsqueeze(-1))
        pooled = self.connect(selected, edge_index, edge_attr, batch)
        return x, pooled.edge_index, pooled.edge_attr, pooled.batch, kept, score

    def __repr__(self) -> str:
        kept = describe_ratio(self.ratio, self.min_score)
        return f"{type(self).__name__}({self.in_channels}, {kept}, multiplier={self.multiplier})"
