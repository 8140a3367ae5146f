"""Modules by node type or edge type."""

from collections.abc import Iterator, KeysView, Mapping
from typing import Generic, TypeVar

import torch
from torch.nn import Module

from gnnlab.typing import EdgeType, NodeOrEdgeType, NodeType

Key = TypeVar("Key", NodeType, EdgeType)

# A module of one of these names would hide a method of torch's.
_TAKEN = frozenset(dir(torch.nn.ModuleDict()))


class ModuleDict(Module, Generic[Key]):
    """A `torch.nn.ModuleDict` whose keys may be edge types, hold dots, and bear the names of its methods.

    modules: the modules by node type (a string) or edge type (a tuple of strings).

    Its state's names are PyG's: `<author___writes___paper>` for an edge type, `#` for a dot, `<type>` for a key that
    torch has a method for. Raises ValueError for two keys of one name.
    PyG: `torch_geometric.nn.module_dict.ModuleDict`.

    >>> list(ModuleDict({("a", "to", "b"): torch.nn.Linear(1, 1, bias=False)}).state_dict())
    ['<a___to___b>.weight']
    """

    def __init__(self, modules: Mapping[Key, Module] | None = None) -> None:
        super().__init__()
        self._by_key: dict[Key, str] = {}
        for key, module in (modules or {}).items():
            self[key] = module

    def __setitem__(self, key: Key, module: Module) -> None:
        name = module_name(key)
        if key not in self._by_key and name in self._modules:
            raise ValueError(f"key: expected one that is not named {name!r} as another is, found {key!r}")
        self.add_module(name, module)
        self._by_key[key] = name

    def __getitem__(self, key: Key) -> Module:
        return self.get_submodule(self._by_key[key])

    def __contains__(self, key: object) -> bool:
        return key in self._by_key

    def __len__(self) -> int:
        return len(self._by_key)

    def __iter__(self) -> Iterator[Key]:
        return iter(self._by_key)

    def keys(self) -> KeysView[Key]:
        """The node types and edge types."""
        return self._by_key.keys()

    def values(self) -> Iterator[Module]:
        """The modules."""
        return (self[key] for key in self)

    def items(self) -> Iterator[tuple[Key, Module]]:
        """The pairs of a type and its module."""
        return ((key, self[key]) for key in self)


def module_name(key: NodeOrEdgeType) -> str:
    """What the module of a node type or edge type is called in a state."""
    name = key if isinstance(key, str) else f"<{'___'.join(key)}>"
    return (f"<{name}>" if name in _TAKEN else name).replace(".", "#")
