"""What convolutions by attention share: a coefficient for each edge and head, and the sum it weighs."""

from typing import Any, no_type_check

import torch
from torch import Tensor
from torch.nn import Parameter
from torch.nn.functional import dropout, leaky_relu

from gnnlab import sparse
from gnnlab.nn.conv.message_passing import MessagePassing
from gnnlab.nn.conv.parts import bias_of, channels_of, pair_of
from gnnlab.nn.dense import Linear
from gnnlab.nn.inits import glorot, zeros
from gnnlab.sparse import SparseTensor
from gnnlab.sparse.convert import is_torch_sparse
from gnnlab.typing import Adj, Size
from gnnlab.utils import add_self_loops, remove_self_loops, softmax, spmm
from gnnlab.utils._checks import check_per_edge, check_probability
from gnnlab.utils._spmm import as_sparse_tensor

#: Sources' and targets' features; targets may have none.
_Features = Tensor | tuple[Tensor, Tensor | None]


class Attention(MessagePassing):
    """Neighbours' features, weighed by attention that a softmax over each node's edges gives, head by head.

    On an adjacency the sum is a product with it for each head, which forms no messages; the attention itself has one
    number for each edge and head.
    """

    lin_edge: Linear | None
    res: Linear | None

    def __init__(
        self,
        in_channels: int | tuple[int, int],
        out_channels: int,
        heads: int,
        concat: bool,
        negative_slope: float,
        dropout: float,
        add_self_loops: bool,
        edge_dim: int | None,
        fill_value: float | Tensor | str,
        residual: bool,
        **kwargs: Any,
    ) -> None:
        if heads < 1:
            raise ValueError(f"heads: expected at least 1, found {heads}")
        check_probability(dropout, "dropout")
        kwargs.setdefault("aggr", "add")
        super().__init__(node_dim=0, **kwargs)
        self.in_channels, self.out_channels, self.heads, self.concat = in_channels, out_channels, heads, concat
        self.negative_slope, self.dropout, self.add_self_loops = negative_slope, dropout, add_self_loops
        self.edge_dim, self.fill_value, self.residual = edge_dim, fill_value, residual

    def _add_parameters(self, attentions: list[str], bias: bool) -> None:
        """Add what the layers have in common, after what they transform nodes by: `attentions` and the rest."""
        size = self.out_channels * (self.heads if self.concat else 1)
        for name in attentions:
            setattr(self, name, Parameter(torch.empty(1, self.heads, self.out_channels)))
        self._attentions = attentions
        self.lin_edge = None
        if self.edge_dim is not None:
            self.lin_edge = self._linear(self.edge_dim, bias=False)
        self.res = None
        if self.residual:
            targets = channels_of(self.in_channels)[1]
            self.res = Linear(targets, size, bias=False, weight_initializer="glorot")
        self.bias = bias_of(size, bias)
        self.reset_parameters()

    def _linear(self, size: int, bias: bool) -> Linear:
        return Linear(size, self.heads * self.out_channels, bias=bias, weight_initializer="glorot")

    def reset_parameters(self) -> None:
        """Draw the parameters anew."""
        super().reset_parameters()
        for module in self.children():
            if isinstance(module, Linear):
                module.reset_parameters()
        for name in self._attentions:
            glorot(getattr(self, name))
        zeros(self.bias)

    # Nodes and edges --------------------------------------------------------------------------------------------------

    def _by_head(self, lin: Linear, x: Tensor) -> Tensor:
        """[num_nodes, heads, out_channels]."""
        if x.dim() != 2:
            raise ValueError(f"x: expected shape [num_nodes, in_channels], found {list(x.shape)}")
        return lin(x).view(-1, self.heads, self.out_channels)

    def _with_loops(self, x: _Features, edge_index: Adj, edge_attr: Tensor | None, size: Size) -> Any:
        """The edges, with a self-loop for each node where these are wanted, and their features."""
        if edge_attr is not None and self.lin_edge is None:
            raise ValueError(f"edge_attr: expected none, since {type(self).__name__} was made without edge_dim")
        if edge_attr is not None and edge_attr.dim() == 1:
            edge_attr = edge_attr.view(-1, 1)
        adj = as_sparse_tensor(edge_index) if sparse.is_sparse(edge_index) else None
        if adj is not None:
            if adj.is_transposed is False:
                raise ValueError("edge_index: expected the transposed adjacency, found one marked as not: pass adj.t()")
            edge_attr = adj.storage.value() if edge_attr is None and self.lin_edge is not None else edge_attr
            if edge_attr is not None:
                check_per_edge(edge_attr, "edge_attr", adj.nnz())
            if not self.add_self_loops:
                return adj.set_value(None), edge_attr
            row, col, _ = adj.coo()
            edges = torch.stack([col, row])
            num_loops = min(adj.sparse_sizes())
        elif not self.add_self_loops:
            return edge_index, edge_attr
        else:
            assert isinstance(edge_index, Tensor)
            edges = edge_index
            num_loops = min(size if size is not None else [end.size(0) for end in pair_of(x) if end is not None])
        edges, edge_attr = remove_self_loops(edges, edge_attr)
        edges, edge_attr = add_self_loops(edges, edge_attr, self.fill_value, num_loops)
        if adj is None:
            return edges, edge_attr
        looped = SparseTensor(
            row=edges[1], col=edges[0], value=edge_attr, sparse_sizes=adj.sparse_sizes(), trust_data=True
        )
        return looped.set_value(None), looped.storage.value()

    def _edge_features(self, edge_attr: Tensor | None) -> Tensor | None:
        """[num_edges, heads, out_channels]: what attention sees of the edges' features."""
        if edge_attr is None or self.lin_edge is None:
            return None
        features = edge_attr.view(-1, 1) if edge_attr.dim() == 1 else edge_attr
        if features.dim() != 2 or features.size(1) != self.edge_dim:
            raise ValueError(f"edge_attr: expected shape [num_edges, {self.edge_dim}], found {list(edge_attr.shape)}")
        return self.lin_edge(features).view(-1, self.heads, self.out_channels)

    def _by_flow(self, sent: Tensor, own: Tensor | None) -> tuple[Tensor | None, Tensor | None]:
        """What senders and receivers have, as what is at both rows of an edge_index."""
        return (sent, own) if self.flow == "source_to_target" else (own, sent)

    # The sum ----------------------------------------------------------------------------------------------------------

    def _attend(self, alpha: Tensor, index: Tensor, dim_size: int | None) -> Tensor:
        """[num_edges, heads]: attention of scores."""
        alpha = softmax(alpha, index, None, dim_size)
        return dropout(alpha, self.dropout, self.training)

    def _slope(self, x: Tensor) -> Tensor:
        return leaky_relu(x, self.negative_slope)

    @no_type_check  # a subclass of MessagePassing has arguments of its own
    def message(self, x_j: Tensor, alpha: Tensor) -> Tensor:
        """[num_edges, heads, out_channels]."""
        return alpha.unsqueeze(-1) * x_j

    def message_and_aggregate(self, adj_t: Adj, x: _Features, alpha: Tensor) -> Tensor:
        """[num_targets, heads, out_channels]; alpha: [num_edges, heads] in the order of the adjacency."""
        adj, values = as_sparse_tensor(adj_t), pair_of(x)[0]  # the flow is "source_to_target" here
        assert isinstance(self.aggr, str)
        heads = [spmm(adj.set_value(alpha[:, h], layout="coo"), values[:, h], self.aggr) for h in range(self.heads)]
        return torch.stack(heads, dim=1)

    def _finish(self, out: Tensor, x: _Features) -> Tensor:
        """[num_targets, heads * out_channels], or their mean, with residual and bias."""
        out = out.flatten(1) if self.concat else out.mean(1)
        own = pair_of(x)[1]
        if self.res is not None and own is not None:
            out = out + self.res(own)
        return out if self.bias is None else out + self.bias

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.in_channels}, {self.out_channels}, heads={self.heads})"


def with_attention(out: Tensor, given: Adj, edges: Adj, alpha: Tensor, wanted: bool | None) -> Any:
    """`out`, or with it the edges and their attention, as PyG gives them: a pair for an `edge_index`, an adjacency of
    the kind that was given with attention as values, and for torch's kinds both.
    """
    if not isinstance(wanted, bool):
        return out
    if not sparse.is_sparse(given):
        return out, (edges, alpha)
    adj = as_sparse_tensor(edges).set_value(alpha, layout="coo")
    if isinstance(given, SparseTensor):
        return out, adj
    if is_torch_sparse(given):
        return out, adj.to_torch_sparse()
    assert isinstance(given, Tensor)
    layout = str(given.layout).removeprefix("torch.")
    return out, (getattr(adj, f"to_torch_{layout}_tensor")(), alpha)
