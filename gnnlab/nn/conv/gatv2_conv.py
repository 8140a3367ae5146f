"""Graph attention whose order of neighbours depends on the node that looks at them."""

from typing import Any, no_type_check

from torch import Tensor

from gnnlab.nn.conv.attention import Attention, with_attention
from gnnlab.nn.conv.parts import channels_of
from gnnlab.typing import Adj


class GATv2Conv(Attention):
    """x'_i = sum over j of w_ij W_l x_j + b, for each head, where w_i is the softmax over j of
    a · leaky_relu(W_r x_i + W_l x_j + W_e e_ij).

    Arguments as in `GATConv`. share_weights: let W_r be W_l. bias: whether these maps and the sum have one.

    Source: https://arxiv.org/abs/2105.14491. PyG: `torch_geometric.nn.GATv2Conv`.
    """

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
        share_weights: bool = False,
        residual: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(
            *(in_channels, out_channels, heads, concat, negative_slope, dropout),
            *(add_self_loops, edge_dim, fill_value, residual),
            **kwargs,
        )
        self.share_weights = share_weights
        sources, targets = channels_of(in_channels)
        self.lin_l = self._linear(sources, bias)
        self.lin_r = self.lin_l if share_weights else self._linear(targets, bias)
        self._add_parameters(["att"], bias)

    def forward(
        self,
        x: Tensor | tuple[Tensor, Tensor | None],
        edge_index: Adj,
        edge_attr: Tensor | None = None,
        return_attention_weights: bool | None = None,
    ) -> Any:
        """[num_targets, heads * out_channels], or [num_targets, out_channels] without `concat`.

        Arguments as in `GATConv`.
        """
        if isinstance(x, Tensor):
            sent = self._by_head(self.lin_l, x)
            own: Tensor | None = sent if self.share_weights else self._by_head(self.lin_r, x)
        else:
            sent, own = self._by_head(self.lin_l, x[0]), None if x[1] is None else self._by_head(self.lin_r, x[1])
        edges, edge_attr = self._with_loops(x, edge_index, edge_attr, None)
        both = self._by_flow(sent, own)
        alpha = self.edge_updater(edges, x=both, edge_attr=edge_attr)
        out = self._finish(self.propagate(edges, x=both, alpha=alpha), x)
        return with_attention(out, edge_index, edges, alpha, return_attention_weights)

    @no_type_check  # a subclass of MessagePassing has arguments of its own
    def edge_update(
        self,
        x_j: Tensor,
        x_i: Tensor | None,
        edge_attr: Tensor | None,
        index: Tensor,
        dim_size: int | None,
    ) -> Tensor:
        """[num_edges, heads]."""
        x = x_j if x_i is None else x_j + x_i
        features = self._edge_features(edge_attr)
        if features is not None:
            x = x + features
        return self._attend((self._slope(x) * self.att).sum(-1), index, dim_size)
