"""Graph convolution with edge weights that are learned of edge features."""

from typing import Any

from torch import Tensor
from torch.nn import Linear as Layer
from torch.nn import ReLU, Sequential, Sigmoid

from gnnlab import sparse
from gnnlab.nn.conv.normalized import NormalizedConv
from gnnlab.nn.conv.parts import bias_of
from gnnlab.nn.dense import Linear
from gnnlab.nn.inits import glorot, zeros
from gnnlab.typing import Adj
from gnnlab.utils._spmm import as_sparse_tensor


class PDNConv(NormalizedConv):
    """x'_i = W sum over j of a_ji x_j + b, with weights a of the features e_ji of edges, which may be normalised.

    A weight is sigmoid(V₂ relu(V₁ e_ji + c₁) + c₂), or 1 where edges have no features.

    in_channels: the size of the input, or -1: that of the first. out_channels: the size of the output. edge_dim: the
    size of an edge's features. hidden_channels: the number of rows of V₁. normalize: scale weights by the degrees of
    both ends. add_self_loops: before normalising, each of weight 1. bias: whether to add b.

    Source: https://arxiv.org/abs/2010.12878. PyG: `torch_geometric.nn.PDNConv`.
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        edge_dim: int,
        hidden_channels: int,
        add_self_loops: bool = True,
        normalize: bool = True,
        bias: bool = True,
        **kwargs: Any,
    ) -> None:
        super().__init__(normalize=normalize, add_self_loops=add_self_loops, improved=False, cached=False, **kwargs)
        self.in_channels, self.out_channels = in_channels, out_channels
        self.edge_dim, self.hidden_channels = edge_dim, hidden_channels
        self.lin = Linear(in_channels, out_channels, bias=False, weight_initializer="glorot")
        self.mlp = Sequential(Layer(edge_dim, hidden_channels), ReLU(), Layer(hidden_channels, 1), Sigmoid())
        self.bias = bias_of(out_channels, bias)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the parameters anew."""
        super().reset_parameters()
        self.lin.reset_parameters()
        for layer in (self.mlp[0], self.mlp[2]):
            glorot(layer.weight)
            zeros(layer.bias)
        zeros(self.bias)

    def forward(self, x: Tensor, edge_index: Adj, edge_attr: Tensor | None = None) -> Tensor:
        """[num_nodes, out_channels].

        x: [num_nodes, in_channels] float. edge_index: edges or transposed adjacency, whose values are edge features.
        edge_attr: [num_edges, edge_dim], or [num_edges] where that is 1, for an edge_index.

        Raises ValueError for features that do not fit.
        """
        if sparse.is_sparse(edge_index):
            adj = as_sparse_tensor(edge_index)
            edge_attr = adj.storage.value() if edge_attr is None else edge_attr
            edge_index = adj.set_value(self._weight(edge_attr), layout="coo")
            edge_weight = None
        else:
            edge_weight = self._weight(edge_attr)
        edge_index, edge_weight = self._edges(x, edge_index, edge_weight)
        out = self.propagate(edge_index, x=self.lin(x), edge_weight=edge_weight)
        return out if self.bias is None else out + self.bias

    def _weight(self, edge_attr: Tensor | None) -> Tensor | None:
        """[num_edges]: the weights of edges."""
        if edge_attr is None:
            return None
        features = edge_attr.view(-1, 1) if edge_attr.dim() == 1 else edge_attr
        if features.dim() != 2 or features.size(1) != self.edge_dim:
            raise ValueError(f"edge_attr: expected shape [num_edges, {self.edge_dim}], found {list(edge_attr.shape)}")
        return self.mlp(features).squeeze(-1)
