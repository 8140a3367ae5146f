"""`CachedLoader`: keeps a loader's batches for later epochs."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch

from gnnlab.loader.batches import map_batch, tensors_in


@dataclass(frozen=True)
class BatchCacheInfo:
    """What a `CachedLoader` did and holds.

    Attributes:
        hits: batches that were handed out from the cache.
        misses: batches that were asked of the loader.
        batches: batches held.
        bytes: memory that the tensors of the batches held lie in, shared memory once.
    """

    hits: int
    misses: int
    batches: int
    bytes: int


class CachedLoader:
    """The batches of another loader, kept from the first epoch on (`torch_geometric.loader.CachedLoader`).

    The first epoch asks the loader; if it was gone through to its end, later ones hand out the same batches in the same
    order, whatever the loader shuffles or samples. (In PyG a first epoch that is left early is all that later ones
    get.) Graphs and containers are handed out as copies that share their tensors, so setting an attribute of a batch
    doesn't reach the cache; changing a tensor in place does.

    Args:
        loader: any iterable of batches that can be gone through many times.
        device: where batches are kept; `None` leaves them where they are.
        transform: applied to every batch before it is moved and kept.
    """

    def __init__(
        self,
        loader: Any,
        device: torch.device | str | int | None = None,
        transform: Callable[[Any], Any] | None = None,
    ) -> None:
        self.loader = loader
        self.device = device
        self.transform = transform
        self._cache: list[Any] = []
        self._hits = 0
        self._misses = 0

    def clear(self) -> None:
        """Release the batches, so that the next epoch asks the loader again."""
        self._cache = []

    def cache_info(self) -> BatchCacheInfo:
        """What the cache did and holds."""
        storages = {}
        for x in tensors_in(self._cache):
            storage = x.untyped_storage()
            storages[x.device, storage.data_ptr()] = storage.nbytes()
        return BatchCacheInfo(self._hits, self._misses, len(self._cache), sum(storages.values()))

    def __iter__(self) -> Iterator[Any]:
        cache = self._cache
        if cache:
            for batch in cache:
                self._hits += 1
                yield map_batch(batch, _same)
            return
        batches = []
        for batch in self.loader:
            self._misses += 1
            batches.append(self._prepare(batch))
            yield map_batch(batches[-1], _same)
        if cache is self._cache and not cache:  # neither cleared nor filled by another pass meanwhile
            cache.extend(batches)

    def _prepare(self, batch: Any) -> Any:
        if self.transform is not None:
            batch = self.transform(batch)
        device = self.device
        return batch if device is None else map_batch(batch, lambda x: x.to(device))

    def __len__(self) -> int:
        return len(self.loader)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.loader!r})"


def _same(x: Any) -> Any:
    return x
