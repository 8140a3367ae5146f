"""Some graphs of a dataset on their way to a loader, which wants a batch of them rather than each."""

from collections.abc import Sequence
from typing import Any


class Selection(Sequence[Any]):
    """Some graphs of a dataset as a list would hold them, which are read when the first of them is asked for.

    Args:
        dataset: an `InMemoryDataset` or `OnDiskDataset`.
        indices: which of the selected graphs.
    """

    def __init__(self, dataset: Any, indices: Sequence[int]) -> None:
        self.dataset, self.indices = dataset, indices
        self._graphs: list[Any] | None = None

    def __len__(self) -> int:
        return len(self.indices)

    def __getitem__(self, idx: Any) -> Any:
        if self._graphs is None:  # once, since a transform may be random
            self._graphs = self.dataset._graphs_at(self.indices)
        return self._graphs[idx]

    @property
    def is_vectorised(self) -> bool:
        """Whether `batch` needs no single graph."""
        return self.dataset._why_not_vectorised() is None

    def batch(self, follow_batch: list[str] | None, exclude_keys: list[str] | None) -> Any:
        """All of them as a batch."""
        return self.dataset.batch(self.indices, follow_batch, exclude_keys)
