"""A multi-layer perceptron."""

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn import Identity, Module, ModuleList

from gnnlab.nn.dense.linear import Linear
from gnnlab.nn.inits import reset
from gnnlab.nn.resolver import activation_resolver, normalization_resolver


class MLP(Module):
    """Linear layers, each but the last followed by normalisation, activation and dropout.

    channel_list: the channels of the input, of each hidden layer and of the output; or `in_channels`,
    `hidden_channels`, `out_channels` and `num_layers` instead, where an int in its place is `in_channels`.
    dropout: the probability, or one for each layer. act: the activation by name, as a function, or None.
    act_first: activate before normalising. act_kwargs: for an activation by name.
    norm: the normalisation by name or as a module, which all layers then share, or None. norm_kwargs: for one by name.
    plain_last: the last layer is linear alone (and its dropout 0 unless given as a list).
    bias: whether the linear layers add one, or a list with one answer for each.

    Raises ValueError for too few or contradictory sizes, or lists of another length than there are layers.
    PyG: `torch_geometric.nn.models.MLP`.

    >>> MLP([16, 32, 4], dropout=0.5)
    MLP(16, 32, 4)
    >>> MLP(in_channels=16, hidden_channels=32, out_channels=4, num_layers=3)
    MLP(16, 32, 32, 4)
    """

    def __init__(
        self,
        channel_list: Sequence[int] | int | None = None,
        *,
        in_channels: int | None = None,
        hidden_channels: int | None = None,
        out_channels: int | None = None,
        num_layers: int | None = None,
        dropout: float | list[float] = 0.0,
        act: str | Callable[..., Any] | None = "relu",
        act_first: bool = False,
        act_kwargs: dict[str, Any] | None = None,
        norm: str | Callable[..., Any] | None = "batch_norm",
        norm_kwargs: dict[str, Any] | None = None,
        plain_last: bool = True,
        bias: bool | list[bool] = True,
    ) -> None:
        super().__init__()
        if isinstance(channel_list, int):
            channel_list, in_channels = None, channel_list
        if channel_list is None:
            channel_list = _channels(in_channels, hidden_channels, out_channels, num_layers)
        elif in_channels is not None:
            raise ValueError(f"in_channels: expected it or channel_list, found both, {in_channels} and {channel_list}")
        if len(channel_list) < 2:
            raise ValueError(f"channel_list: expected at least two sizes, found {channel_list}")
        self.channel_list = channel_list
        self.act = activation_resolver(act, **(act_kwargs or {}))
        self.act_first = act_first
        self.plain_last = plain_last
        self.dropout = _each_layer("dropout", dropout, self.num_layers)
        if plain_last and not isinstance(dropout, list):
            self.dropout[-1] = 0.0

        biases = _each_layer("bias", bias, self.num_layers)
        sizes = zip(channel_list[:-1], channel_list[1:], biases, strict=True)
        self.lins = ModuleList(Linear(size_in, size_out, bias=each) for size_in, size_out, each in sizes)
        self.norms = ModuleList(
            Identity() if norm is None else normalization_resolver(norm, channels, **(norm_kwargs or {}))
            for channels in channel_list[1 : -1 if plain_last else None]
        )
        self.supports_norm_batch = any("batch" in inspect.signature(m.forward).parameters for m in self.norms)
        self.reset_parameters()

    @property
    def in_channels(self) -> int:
        """The channels of the input."""
        return self.channel_list[0]

    @property
    def out_channels(self) -> int:
        """The channels of the output."""
        return self.channel_list[-1]

    @property
    def num_layers(self) -> int:
        """The number of linear layers."""
        return len(self.channel_list) - 1

    def reset_parameters(self) -> None:
        """Draw all parameters anew."""
        for module in (*self.lins, *self.norms):
            reset(module)

    def forward(
        self,
        x: Tensor,
        batch: Tensor | None = None,
        batch_size: int | None = None,
        return_emb: bool | None = None,
    ) -> Tensor | tuple[Tensor, Tensor | None]:
        """x: [num_nodes, in_channels] float ([..., in_channels] without normalisation).

        batch, batch_size: the graph of each node, [num_nodes] integers, and the number of graphs, for normalisations
        that look at one graph at a time. return_emb: return what goes into a plain last layer too
        (None if it is the only one).

        Returns [num_nodes, out_channels], with `return_emb` a pair.
        """
        emb: Tensor | None = None
        for i, (lin, norm) in enumerate(zip(self.lins, self.norms, strict=False)):
            x = lin(x)
            if self.act is not None and self.act_first:
                x = self.act(x)
            x = norm(x, batch, batch_size) if self.supports_norm_batch else norm(x)
            if self.act is not None and not self.act_first:
                x = self.act(x)
            x = emb = torch.nn.functional.dropout(x, self.dropout[i], self.training)
        if self.plain_last:
            x = torch.nn.functional.dropout(self.lins[-1](x), self.dropout[-1], self.training)
        return (x, emb) if return_emb else x

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(list(self.channel_list))[1:-1]})"


def _channels(
    in_channels: int | None, hidden: int | None, out_channels: int | None, num_layers: int | None
) -> list[int]:
    """The size of the input and of each layer's output."""
    sizes = [in_channels, *[hidden] * ((num_layers or 1) - 1), out_channels]
    if num_layers is None or None in sizes:
        raise ValueError(
            "channel_list: expected it, or in_channels, hidden_channels, out_channels and num_layers; found "
            f"{in_channels}, {hidden}, {out_channels} and {num_layers}"
        )
    if num_layers < 1:
        raise ValueError(f"num_layers: expected at least 1, found {num_layers}")
    return [size for size in sizes if size is not None]


def _each_layer(name: str, value: Any, num_layers: int) -> list[Any]:
    """A list with one entry for each layer."""
    if not isinstance(value, list):
        return [value] * num_layers
    if len(value) != num_layers:
        raise ValueError(f"{name}: expected one for each of {num_layers} layers, found {len(value)}")
    return list(value)
