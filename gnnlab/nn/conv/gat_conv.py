"""Graph attention."""

from typing import Any, no_type_check

from torch import Tensor
from torch.nn import Parameter

from gnnlab.nn.conv.attention import Attention, with_attention
from gnnlab.typing import Adj, Size


class GATConv(Attention):
    """x'_i = sum over j of w_ij W x_j + b, for each head, where w_i is the softmax over j of
    leaky_relu(a_t · W x_i + a_s · W x_j + a_e · W_e e_ij).

    in_channels: the size of the input, or -1: that of the first; or a pair for sources and targets, which then have a W
    each. out_channels: the size of the output of a head. heads: their number. concat: put heads beside one another, or
    take their mean. negative_slope: of the leaky_relu. dropout: the probability with which an attention is dropped in
    training. add_self_loops: one for each node, in place of those there. edge_dim: the size of an edge's features.
    fill_value: the features of self-loops: a number, a tensor, or how to reduce those of the edges into the node.
    bias: whether to add b. residual: add a linear map of x_i.

    An adjacency's values are edge features where there is `edge_dim`, and ignored otherwise.

    Source: https://arxiv.org/abs/1710.10903. PyG: `torch_geometric.nn.GATConv`, which takes no edge features on an
    adjacency with self-loops, and ignores `edge_attr` without `edge_dim`, which is refused here.
    """

    att_src: Parameter
    att_dst: Parameter

    def __init__(
        self,
        in_channels: int | tuple[int, int],
        out_channels: int,
        heads: int = 1,
        concat: bool = True,
        negative_slope: float = 0.2,
        dropout: float = 0.0,
        add_self_loops: bool = True,
        edge_dim: int | None = None,
        fill_value: float | Tensor | str = "mean",
        bias: bool = True,
        residual: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(
            *(in_channels, out_channels, heads, concat, negative_slope, dropout),
            *(add_self_loops, edge_dim, fill_value, residual),
            **kwargs,
        )
        if isinstance(in_channels, int):
            self.lin = self._linear(in_channels, bias=False)
        else:
            self.lin_src, self.lin_dst = (self._linear(size, bias=False) for size in in_channels)
        names = ["att_src", "att_dst"] if edge_dim is None else ["att_src", "att_dst", "att_edge"]
        self._add_parameters(names, bias)

    def forward(
        self,
        x: Tensor | tuple[Tensor, Tensor | None],
        edge_index: Adj,
        edge_attr: Tensor | None = None,
        size: Size = None,
        return_attention_weights: bool | None = None,
    ) -> Any:
        """[num_targets, heads * out_channels], or [num_targets, out_channels] without `concat`.

        x: [num_nodes, in_channels] float, or a pair for sources and targets. edge_index: edges or transposed adjacency.
        edge_attr: [num_edges, edge_dim], or [num_edges] where that is 1. size: the numbers of sources and targets, for
        an edge_index. return_attention_weights: if a bool, give a pair: with it the edges and their attention,
        [num_edges, heads], or the adjacency with attention as values.

        Raises ValueError for features that do not fit.
        """
        sent, own = self._transform(x)
        edges, edge_attr = self._with_loops(x, edge_index, edge_attr, size)
        scores = self._by_flow((sent * self.att_src).sum(-1), None if own is None else (own * self.att_dst).sum(-1))
        alpha = self.edge_updater(edges, alpha=scores, edge_attr=edge_attr, size=size)
        out = self._finish(self.propagate(edges, x=self._by_flow(sent, own), alpha=alpha, size=size), x)
        return with_attention(out, edge_index, edges, alpha, return_attention_weights)

    def _transform(self, x: Tensor | tuple[Tensor, Tensor | None]) -> tuple[Tensor, Tensor | None]:
        """[num_nodes, heads, out_channels] of sources and targets."""
        one = isinstance(self.in_channels, int)
        sources, targets = (self.lin, self.lin) if one else (self.lin_src, self.lin_dst)
        if isinstance(x, Tensor):
            sent = self._by_head(sources, x)
            return sent, sent if one else self._by_head(targets, x)
        return self._by_head(sources, x[0]), None if x[1] is None else self._by_head(targets, x[1])

    @no_type_check  # a subclass of MessagePassing has arguments of its own
    def edge_update(
        self,
        alpha_j: Tensor,
        alpha_i: Tensor | None,
        edge_attr: Tensor | None,
        index: Tensor,
        dim_size: int | None,
    ) -> Tensor:
        """[num_edges, heads]."""
        alpha = alpha_j if alpha_i is None else alpha_j + alpha_i
        features = self._edge_features(edge_attr)
        if features is not None:
            alpha = alpha + (features * self.att_edge).sum(-1)
        return self._attend(self._slope(alpha), index, dim_size)
