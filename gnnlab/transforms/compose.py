"""Several transforms in a row, several filters at once."""

from collections.abc import Callable, Sequence
from typing import Any

from gnnlab.transforms.base_transform import BaseTransform


class Compose(BaseTransform):
    """One transform after the other (`torch_geometric.transforms.Compose`).

    Where one of them gives several graphs, as `RandomLinkSplit` does, the next ones take each of these and the result
    is a list.

    Args:
        transforms: functions from graph to graph.
    """

    def __init__(self, transforms: Sequence[Callable[[Any], Any]]) -> None:
        self.transforms = transforms

    def forward(self, data: Any) -> Any:
        for transform in self.transforms:
            data = [transform(each) for each in data] if isinstance(data, (list, tuple)) else transform(data)
        return data

    def __repr__(self) -> str:
        return _listed(self, self.transforms)


class ComposeFilters:
    """Whether a graph, or each graph of a list, passes all filters (`torch_geometric.transforms.ComposeFilters`).

    Args:
        filters: functions from graph to bool; those after the first that says no are not asked.
    """

    def __init__(self, filters: Sequence[Callable[[Any], Any]]) -> None:
        self.filters = filters

    def __call__(self, data: Any) -> bool:
        graphs = data if isinstance(data, (list, tuple)) else [data]
        return all(passes(each) for each in graphs for passes in self.filters)

    def __repr__(self) -> str:
        return _listed(self, self.filters)


def _listed(owner: object, parts: Sequence[object]) -> str:
    lines = ",\n".join(f"  {part}" for part in parts)
    return f"{type(owner).__name__}([\n{lines}\n])"
