"""Every name has PyG's parameters, in order and with their defaults; what is added is keyword-only and optional."""

import inspect
from types import ModuleType

import pytest

import gnnlab.utils
import gnnlab.utils.map
import gnnlab.utils.num_nodes
import gnnlab.utils.sparse

NAMES = [name for name in gnnlab.utils.__all__ if name not in ("from_pyg", "to_pyg", "from_networkx", "to_networkx")]
SUBMODULES = [
    ("num_nodes", "maybe_num_nodes"),
    ("num_nodes", "maybe_num_nodes_dict"),
    ("map", "map_index"),
    ("sparse", "cat"),
]


def check(ours: object, theirs: object) -> None:
    mine = inspect.signature(ours).parameters
    given = inspect.signature(theirs).parameters
    added = [p for name, p in mine.items() if name not in given]
    assert all(p.kind is p.KEYWORD_ONLY and p.default is not p.empty for p in added)
    shared = [(p.name, p.kind, p.default) for name, p in mine.items() if name in given]
    assert shared == [(p.name, p.kind, p.default) for p in given.values()]


@pytest.mark.parametrize("name", NAMES)
def test_signature(pyg: ModuleType, name: str) -> None:
    check(getattr(gnnlab.utils, name), getattr(pyg, name))


@pytest.mark.parametrize(("module", "name"), SUBMODULES)
def test_signature_of_submodules(pyg: ModuleType, module: str, name: str) -> None:
    ours = getattr(getattr(gnnlab.utils, module), name)
    check(ours, getattr(getattr(pyg, module), name))


def test_unknown_name() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        gnnlab.utils.nothing  # noqa: B018


def test_all_is_what_there_is() -> None:
    assert gnnlab.utils.__all__ == sorted(set(gnnlab.utils.__all__))
    assert all(callable(getattr(gnnlab.utils, name)) for name in NAMES)
