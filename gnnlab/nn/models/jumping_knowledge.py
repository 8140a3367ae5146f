"""The outputs of all layers as one."""

import torch
from torch import Tensor
from torch.nn import LSTM, Linear, Module

from gnnlab.nn.inits import reset
from gnnlab.nn.module_dict import ModuleDict

MODES = ("cat", "max", "lstm")


class JumpingKnowledge(Module):
    """Join what each layer gives for a node.

    mode: "cat" sets the layers side by side, "max" takes the greatest of each channel (layers that tie share the
    gradient evenly), "lstm" a sum weighted by attention, whose scores a bi-directional LSTM over the layers gives.
    channels, num_layers: the size of a layer's output and the number of layers, for "lstm" alone.

    Raises ValueError for another `mode` or, with "lstm", without the sizes.
    PyG: `torch_geometric.nn.models.JumpingKnowledge`; arXiv:1806.03536.

    >>> JumpingKnowledge("max")([torch.tensor([[1.0, 5.0]]), torch.tensor([[2.0, 3.0]])])
    tensor([[2., 5.]])
    """

    def __init__(self, mode: str, channels: int | None = None, num_layers: int | None = None) -> None:
        super().__init__()
        self.mode = mode.lower()
        if self.mode not in MODES:
            raise ValueError(f"mode: expected one of {MODES}, found {mode!r}")
        self.channels = channels
        self.num_layers = num_layers
        self.lstm: LSTM | None = None
        self.att: Linear | None = None
        if self.mode == "lstm":
            if channels is None or num_layers is None:
                raise ValueError(f"channels: expected it and num_layers with 'lstm', found {channels} and {num_layers}")
            hidden = num_layers * channels // 2
            self.lstm = LSTM(channels, hidden, bidirectional=True, batch_first=True)
            self.att = Linear(2 * hidden, 1)

    def reset_parameters(self) -> None:
        """Draw the parameters of "lstm" anew."""
        for module in (self.lstm, self.att):
            if module is not None:
                module.reset_parameters()

    def forward(self, xs: list[Tensor]) -> Tensor:
        """xs: [num_nodes, channels] float each, one for each layer.

        Returns [num_nodes, num_layers * channels] with "cat", else [num_nodes, channels]. Raises ValueError for none.
        """
        if len(xs) == 0:
            raise ValueError("xs: expected the output of at least one layer, found none")
        if self.mode == "cat":
            return torch.cat(xs, dim=-1)
        x = torch.stack(xs, dim=1)
        if self.lstm is None or self.att is None:
            return x.amax(dim=1)
        weight = self.att(self.lstm(x)[0]).softmax(dim=1)  # [num_nodes, num_layers, 1]
        return (x * weight).sum(dim=1)

    def __repr__(self) -> str:
        sizes = f", channels={self.channels}, layers={self.num_layers}" if self.mode == "lstm" else ""
        return f"{type(self).__name__}({self.mode}{sizes})"


class HeteroJumpingKnowledge(Module):
    """A `JumpingKnowledge` for each node type.

    types: the node types. mode, channels, num_layers: as there.

    PyG: `torch_geometric.nn.models.HeteroJumpingKnowledge`.
    """

    def __init__(self, types: list[str], mode: str, channels: int | None = None, num_layers: int | None = None) -> None:
        super().__init__()
        self.mode = mode.lower()
        self.channels = channels
        self.num_layers = num_layers
        self.jk_dict = ModuleDict({key: JumpingKnowledge(mode, channels, num_layers) for key in types})

    def reset_parameters(self) -> None:
        """Draw the parameters of "lstm" anew."""
        for module in self.jk_dict.values():
            reset(module)

    def forward(self, xs_dict: dict[str, list[Tensor]]) -> dict[str, Tensor]:
        """xs_dict: for each node type what `JumpingKnowledge` takes. Returns for each what it gives."""
        return {key: module(xs_dict[key]) for key, module in self.jk_dict.items()}

    def __repr__(self) -> str:
        sizes = f", channels={self.channels}, layers={self.num_layers}" if self.mode == "lstm" else ""
        return f"{type(self).__name__}(num_types={len(self.jk_dict)}, mode={self.mode}{sizes})"
