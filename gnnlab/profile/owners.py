"""Where a dataset's bytes are."""

from dataclasses import dataclass
from typing import Any

from gnnlab.profile.estimate import leaves
from gnnlab.profile.memory import Footprint, Ledger, nbytes
from gnnlab.profile.show import Shown, size

# Where a dataset keeps the graphs it has taken out of its block: gnnlab, PyG.
_CACHES = ("_cache", "_data_list")


@dataclass(frozen=True)
class Report(Shown):
    """Memory of a dataset, owner by owner; what two owners share counts under the first.

    - `block`: the collated graphs, `slices`: where each graph begins, `cache`: graphs that were
      taken out and kept, `rest`: everything else (transforms, indices, ...).
    - `attributes`: bytes of the block's tensors by attribute.
    - `graphs`, `cached`: number of graphs selected, and in the cache.

    In `cache`, `known` are the bytes of tensors that are views of the block, `held` those of
    tensors with memory of their own; `objects` and `headers` are what the cache costs even where
    all its tensors are views.
    """

    block: Footprint
    slices: Footprint
    cache: Footprint
    rest: Footprint
    attributes: dict[str, int]
    graphs: int
    cached: int

    @property
    def total(self) -> int:
        """Bytes of storages, Python objects and tensor headers of all owners."""
        return sum(part.held + part.objects + part.headers for part in (self.block, self.slices, self.cache, self.rest))

    def table(self) -> list[tuple[str, ...]]:
        owners = {
            "block": self.block,
            "slices": self.slices,
            "cache": self.cache,
            "rest": self.rest,
        }
        rows = [(name, *_cells(part)) for name, part in owners.items()]
        rows[1:1] = [(f"  {name}", "", size(nbytes), "", "", "", "") for name, nbytes in self.attributes.items()]
        header = ("owner", "tensors", "addressed", "views", "own storage", "objects", "headers")
        return [header, *rows]

    def note(self) -> str:
        lines = [f"{size(self.total)} in all; {self.cached:,} of {self.graphs:,} graphs cached"]
        if self.slices.tensors == 0 and self.block.tensors:
            lines.append("one graph, not collated: there is nothing to slice, and nothing to cache")
        if self.block.mapped:
            lines.append(f"{size(self.block.mapped)} of the block are mapped from files")
        return "\n".join(lines)


def report(dataset: Any) -> Report:
    """Tell where the bytes of an in-memory dataset are: block, slices, cache, everything else.

    Works on gnnlab's `InMemoryDataset` and on PyG's. Reads no graph, so the cache is as it was.
    Raises TypeError for an object that holds no collated block (`_data`).
    """
    fields = vars(dataset)
    if "_data" not in fields:
        raise TypeError(
            f"report needs an in-memory dataset, which holds its block in _data; found a {type(dataset).__name__}"
        )
    cache = [fields[name] for name in _CACHES if fields.get(name) is not None]
    ledger = Ledger()
    return Report(
        block=ledger.add(fields["_data"]),
        slices=ledger.add(fields.get("slices")),
        cache=ledger.add(cache),
        rest=ledger.add(dataset),
        attributes=_attributes(fields["_data"]),
        graphs=len(dataset),
        cached=_cached(dataset),
    )


def _attributes(block: Any) -> dict[str, int]:
    return {} if block is None else {name: nbytes(v) for name, v in leaves(block.to_dict())}


def _cached(dataset: Any) -> int:
    if hasattr(dataset, "cache_info"):
        return dataset.cache_info().graphs
    return sum(graph is not None for graph in dataset._data_list or ())


def _cells(part: Footprint) -> tuple[str, ...]:
    sizes = (part.addressed, part.known, part.held, part.objects, part.headers)
    return (str(part.tensors), *map(size, sizes))
