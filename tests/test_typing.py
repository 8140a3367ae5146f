from types import UnionType
from typing import Union, get_args, get_origin

import pytest
import torch

import gnnlab.typing
from gnnlab.sparse import SparseTensor
from gnnlab.typing import is_sparse_tensor

ALIASES = [
    "Adj",
    "DEFAULT_REL",
    "EDGE_TYPE_STR_SPLIT",
    "EdgeTensorType",
    "EdgeType",
    "FeatureTensorType",
    "InputEdges",
    "InputNodes",
    "MaybeHeteroAdjTensor",
    "MaybeHeteroEdgeTensor",
    "MaybeHeteroNodeTensor",
    "Metadata",
    "NodeOrEdgeType",
    "NodeType",
    "NoneType",
    "OptPairTensor",
    "OptTensor",
    "PairOptTensor",
    "PairTensor",
    "QueryType",
    "Size",
]


@pytest.mark.parametrize("name", ALIASES)
def test_aliases_stand_for_what_they_stand_for_in_pyg(name: str) -> None:
    pyg = pytest.importorskip("torch_geometric.typing", reason="PyG, the peer, is not installed")
    ours, theirs = getattr(gnnlab.typing, name), getattr(pyg, name)

    def flat(alias: object) -> str:
        """Comparable: `Optional[X]`, `Union[X, None]` and `X | None` read alike, and so do both packages' classes."""
        if alias in (SparseTensor, pyg.SparseTensor):
            return "SparseTensor"
        parts = [flat(part) for part in get_args(alias)]
        if not parts:
            return str(alias)
        if get_origin(alias) in (Union, UnionType):
            return f"one of {sorted(parts)}"
        return f"{get_origin(alias)} of {parts}"

    if isinstance(ours, str):
        assert ours == theirs
    elif name != "FeatureTensorType":  # NumPy's arrays are named with and without parameters
        assert flat(ours) == flat(theirs)


def test_sparse_tensor() -> None:
    assert gnnlab.typing.SparseTensor is SparseTensor
    assert is_sparse_tensor(SparseTensor.eye(2))
    for other in (torch.eye(2), torch.eye(2).to_sparse(), None, SparseTensor):
        assert not is_sparse_tensor(other)


def test_sparse_tensors_of_torch_sparse_count() -> None:
    torch_sparse = pytest.importorskip("torch_sparse", reason="torch_sparse is not installed")
    assert is_sparse_tensor(torch_sparse.SparseTensor.eye(2))


@pytest.mark.parametrize("name", ["EdgeIndex", "Index", "TorchScript"])
def test_refused_names_say_what_to_use(name: str) -> None:
    with pytest.raises(ImportError, match=f"gnnlab has no {name}: (pass|use)"):
        getattr(gnnlab.typing, name)


def test_refused_names_say_so_when_imported() -> None:
    with pytest.raises(ImportError, match="pass a plain"):
        from gnnlab.typing import EdgeIndex  # noqa: F401


def test_unknown_name() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        gnnlab.typing.nothing  # noqa: B018
