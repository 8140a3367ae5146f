"""`PrefetchLoader`: copies the next batch to the GPU while the current one is worked on."""

from collections.abc import Iterator
from typing import Any

import torch

from gnnlab.loader.batches import map_batch, tensors_in


class PrefetchLoader:
    """The batches of another loader, on a device (`torch_geometric.loader.PrefetchLoader`).

    On a CUDA device every batch is copied from page-locked memory on a stream of its own, one batch ahead of the one
    that is handed out, so that copying and computing overlap. On the CPU there is nothing to copy: batches are passed
    on as they are. On any other device they are copied when their turn comes.

    Args:
        loader: any iterable of batches.
        device: where batches should go; by default the current CUDA device, or the CPU where there is none.
    """

    def __init__(self, loader: Any, device: torch.device | str | int | None = None) -> None:
        self.loader = loader
        if device is None:
            device = "cuda" if torch.cuda.is_available() else "cpu"
        self.device = torch.device(device)

    def non_blocking_transfer(self, batch: Any) -> Any:
        """A copy of `batch` on the device; on the CPU, `batch` itself. A CUDA device may still be copying on return."""
        return batch if self.device.type == "cpu" else map_batch(batch, self._transfer)

    def _transfer(self, x: Any) -> Any:
        if self.device.type == "cuda" and all(part.device.type == "cpu" for part in tensors_in(x)):
            x = x.pin_memory()
        return x.to(device=self.device, non_blocking=True)

    def __iter__(self) -> Iterator[Any]:
        if self.device.type != "cuda":
            yield from map(self.non_blocking_transfer, self.loader)
            return
        stream = torch.cuda.Stream(self.device)
        ahead = None
        for batch in self.loader:
            with torch.cuda.stream(stream):
                upcoming = self.non_blocking_transfer(batch), stream.record_event()
            if ahead is not None:
                yield self._receive(*ahead)
            ahead = upcoming
        if ahead is not None:
            yield self._receive(*ahead)

    def _receive(self, batch: Any, copied: Any) -> Any:
        """`batch`, once it is copied, for use on the current stream."""
        current = torch.cuda.current_stream(self.device)
        current.wait_event(copied)
        for x in tensors_in(batch):
            x.record_stream(current)
        return batch

    def __len__(self) -> int:
        return len(self.loader)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.loader!r})"
