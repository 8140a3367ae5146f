"""What all transforms share, and the register of their names."""

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, TypeVar

_Transform = TypeVar("_Transform", bound="type[BaseTransform]")

#: Transforms by the name that `functional_transform` gave them.
TRANSFORMS: dict[str, "type[BaseTransform]"] = {}


class BaseTransform(ABC):
    """A function from graph to graph whose parameters are its attributes (`torch_geometric.transforms.BaseTransform`).

    Subclasses implement `forward(data)`, which gets a shallow copy of the graph and may set, replace and remove
    attributes of it, but must not write into their tensors: those belong to the caller's graph too.
    """

    def __call__(self, data: Any) -> Any:
        """The transformed graph; `data` itself keeps its attributes."""
        return self.forward(copy.copy(data))

    @abstractmethod
    def forward(self, data: Any) -> Any:
        """Transform `data`, a graph that may be changed in place."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


def functional_transform(name: str) -> Callable[[_Transform], _Transform]:
    """Decorator: register a transform class under `name`, for whoever picks transforms by name (a settings file).

    ValueError if the name is taken by another class. PyG: `torch_geometric.data.datapipes.functional_transform` (whose
    names become methods of torch's data pipes).

    >>> TRANSFORMS["constant"](value=2.0)
    Constant(value=2.0)
    """

    def register(cls: _Transform) -> _Transform:
        taken = TRANSFORMS.get(name)
        if taken is not None and (taken.__module__, taken.__qualname__) != (cls.__module__, cls.__qualname__):
            raise ValueError(f"name: expected one that is free, found {name!r}, which is {taken.__name__}'s")
        TRANSFORMS[name] = cls
        return cls

    return register
