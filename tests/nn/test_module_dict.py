import pytest
import torch
from torch.nn import Linear

from gnnlab.nn.module_dict import ModuleDict

EDGE_TYPES = [("a", "to", "b"), ("a.b", "x.y", "c"), ("a", "__", "b"), ("keys", "items", "a b")]
NODE_TYPES = ["paper", "a.b", "type", "items", "x y", "forward", "a__b"]


@pytest.mark.parametrize("keys", [EDGE_TYPES, NODE_TYPES], ids=["edges", "nodes"])
def test_names_as_pyg(pyg, keys):
    from torch_geometric.nn.module_dict import ModuleDict as TheirModuleDict

    ours, theirs = (cls({key: Linear(1, 1) for key in keys}) for cls in (ModuleDict, TheirModuleDict))
    assert list(ours.state_dict()) == list(theirs.state_dict())


@pytest.mark.parametrize("keys", [EDGE_TYPES, NODE_TYPES], ids=["edges", "nodes"])
def test_it_is_a_dict_of_modules(keys):
    layers = [Linear(1, size + 1) for size in range(len(keys))]
    modules = ModuleDict(dict(zip(keys, layers, strict=True)))
    assert list(modules) == list(modules.keys()) == keys
    assert list(modules.values()) == layers
    assert list(modules.items()) == list(zip(keys, layers, strict=True))
    assert all(modules[key] is layer for key, layer in zip(keys, layers, strict=True))
    assert keys[0] in modules
    assert "not there" not in modules
    assert len(modules) == len(keys)
    assert next(iter(modules.parameters())) is layers[0].weight
    with pytest.raises(KeyError):
        modules["not there"]


def test_a_module_is_replaced_and_two_of_one_name_are_refused():
    modules = ModuleDict({"a.b": Linear(1, 1)})
    modules["a.b"] = Linear(1, 2)
    assert modules["a.b"](torch.ones(1)).shape == (2,)
    with pytest.raises(ValueError, match="key: expected one that is not named 'a#b' as another is, found 'a#b'"):
        modules["a#b"] = Linear(1, 1)
