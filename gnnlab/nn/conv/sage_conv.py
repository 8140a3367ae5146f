"""GraphSAGE's layer."""

from typing import Any

from torch import Tensor
from torch.nn import functional

from gnnlab.nn.conv.parts import channels_of, pair_of
from gnnlab.nn.conv.products import UnweightedConv
from gnnlab.nn.dense import Linear
from gnnlab.typing import Adj, Size


class SAGEConv(UnweightedConv):
    """x'_i = W₁ x_i + W₂ times the neighbours' x_j, reduced; an adjacency's values are ignored.

    in_channels: the size of the input, or a pair for sources and targets; -1: that of the first input. out_channels:
    the size of the output. aggr: how to reduce. normalize: scale the output to length 1. root_weight: whether to add
    W₁ x_i. project: send relu(W₃ x_j + b) instead of x_j. bias: whether to add one.

    Raises ValueError for `project` with an input whose size is open. Source: https://arxiv.org/abs/1706.02216.
    PyG: `torch_geometric.nn.SAGEConv`.
    """

    def __init__(
        self,
        in_channels: int | tuple[int, int],
        out_channels: int,
        aggr: Any = "mean",
        normalize: bool = False,
        root_weight: bool = True,
        project: bool = False,
        bias: bool = True,
        **kwargs: Any,
    ) -> None:
        super().__init__(aggr, **kwargs)
        self.in_channels, self.out_channels = in_channels, out_channels
        self.normalize, self.root_weight, self.project = normalize, root_weight, project
        sources, targets = channels_of(in_channels)
        if project:
            if sources <= 0:
                raise ValueError("project: expected False where the size of the input is open (-1), found True")
            self.lin = Linear(sources, sources, bias=True)
        gathered = sources if self.aggr_module is None else self.aggr_module.get_out_channels(sources)
        self.lin_l = Linear(-1 if sources < 0 else gathered, out_channels, bias=bias)
        if root_weight:
            self.lin_r = Linear(targets, out_channels, bias=False)

    def reset_parameters(self) -> None:
        """Draw the parameters anew."""
        super().reset_parameters()
        for name in ("lin", "lin_l", "lin_r"):
            if hasattr(self, name):
                getattr(self, name).reset_parameters()

    def forward(self, x: Tensor | tuple[Tensor, Tensor | None], edge_index: Adj, size: Size = None) -> Tensor:
        """[num_targets, out_channels].

        x: [num_nodes, in_channels] float, or a pair for sources and targets. edge_index: edges or transposed adjacency.
        """
        own = pair_of(x)
        if self.project:
            own = self.lin(own[0]).relu(), own[1]
        out: Tensor = self.lin_l(self.propagate(edge_index, x=own, size=size))
        if self.root_weight and own[1] is not None:
            out = out + self.lin_r(own[1])
        return functional.normalize(out, p=2.0, dim=-1) if self.normalize else out

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.in_channels}, {self.out_channels}, aggr={self.aggr})"
