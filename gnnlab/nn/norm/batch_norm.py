"""Batch normalisation of node features."""

import torch
from torch import Tensor
from torch.nn import BatchNorm1d, Module

from gnnlab.nn.groups import check_features


class BatchNorm(Module):
    """Centre and scale each channel over all nodes of the batch, whichever graph they are of.

    in_channels: the number of channels. eps: added to the variance.
    momentum: the weight of a batch in the running statistics, which stand in for the batch's own in evaluation; None
    keeps their plain average. affine: learn a scale and a shift for each channel.
    track_running_stats: keep the running statistics; without them evaluation takes the batch's own too.
    allow_single_element: where a batch has a single node, which has no spread, take the running statistics in training
    too, and leave them as they are; otherwise such a batch raises ValueError in training.

    Raises ValueError for `allow_single_element` without `track_running_stats`.
    PyG: `torch_geometric.nn.norm.BatchNorm`; arXiv:1502.03167.

    >>> BatchNorm(2)(torch.tensor([[1.0, 0.0], [3.0, 0.0]])).detach().round()
    tensor([[-1.,  0.],
            [ 1.,  0.]])
    """

    def __init__(
        self,
        in_channels: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        allow_single_element: bool = False,
        device: torch.device | None = None,
    ) -> None:
        super().__init__()
        if allow_single_element and not track_running_stats:
            raise ValueError("allow_single_element: expected track_running_stats=True with it, found False")
        self.in_channels = in_channels
        self.allow_single_element = allow_single_element
        self.module = BatchNorm1d(in_channels, eps, momentum, affine, track_running_stats, device)

    def reset_running_stats(self) -> None:
        """Forget all batches seen."""
        self.module.reset_running_stats()

    def reset_parameters(self) -> None:
        """Set scale, shift and running statistics to how they began."""
        self.module.reset_parameters()

    def forward(self, x: Tensor) -> Tensor:
        """x: [num_nodes, in_channels] float. Returns the same shape."""
        check_features(x, self.in_channels)
        if self.allow_single_element and x.size(0) == 1:
            stats = self.module
            return torch.nn.functional.batch_norm(
                x, stats.running_mean, stats.running_var, stats.weight, stats.bias, False, 0.0, stats.eps
            )
        return self.module(x)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.module.extra_repr()})"
