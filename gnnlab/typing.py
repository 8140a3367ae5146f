"""The type names that signatures use, as in `torch_geometric.typing`.

`EdgeIndex`, `Index` and TorchScript have no place in gnnlab: asking for them here raises an `ImportError` that says
what to use instead.
"""

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from torch import Tensor

from gnnlab.sparse import SparseTensor
from gnnlab.sparse.convert import is_torch_sparse

if TYPE_CHECKING:
    from typing_extensions import TypeIs

NodeType: TypeAlias = str
EdgeType: TypeAlias = tuple[str, str, str]  # (source type, relation, target type)
NodeOrEdgeType: TypeAlias = NodeType | EdgeType
QueryType: TypeAlias = NodeType | EdgeType | tuple[str, str]
Metadata: TypeAlias = tuple[list[NodeType], list[EdgeType]]

DEFAULT_REL = "to"  # the relation of an edge type written as a pair, ("user", "item")
EDGE_TYPE_STR_SPLIT = "__"  # joins an edge type where it must be one string, "user__rates__item"

OptTensor: TypeAlias = Tensor | None
PairTensor: TypeAlias = tuple[Tensor, Tensor]
OptPairTensor: TypeAlias = tuple[Tensor, Tensor | None]
PairOptTensor: TypeAlias = tuple[Tensor | None, Tensor | None]
Size: TypeAlias = tuple[int, int] | None  # (number of source nodes, number of target nodes)
NoneType: TypeAlias = Tensor | None  # an argument that a layer takes but never fills

FeatureTensorType: TypeAlias = Tensor | np.ndarray[Any, Any]
EdgeTensorType: TypeAlias = tuple[Tensor, Tensor]
Adj: TypeAlias = Tensor | SparseTensor

MaybeHeteroNodeTensor: TypeAlias = Tensor | dict[NodeType, Tensor]
MaybeHeteroEdgeTensor: TypeAlias = Tensor | dict[EdgeType, Tensor]
MaybeHeteroAdjTensor: TypeAlias = Tensor | dict[EdgeType, Adj]

InputNodes: TypeAlias = OptTensor | NodeType | tuple[NodeType, OptTensor]
InputEdges: TypeAlias = OptTensor | EdgeType | tuple[EdgeType, OptTensor]

REFUSED = {
    "EdgeIndex": "pass a plain [2, num_edges] integer tensor, or a gnnlab.typing.SparseTensor, "
    "which keeps its sorted forms",
    "Index": "pass a plain [n] integer tensor, or row pointers where a function takes `ptr`",
    "TorchScript": "use torch.compile",
}


def refusal(name: str) -> str:
    """The sentence that refuses `name`, a key of `REFUSED`, and says what to use instead."""
    return f"gnnlab has no {name}: {REFUSED[name]}"


def is_sparse_tensor(value: Any) -> "TypeIs[SparseTensor]":
    """Whether `value` is a `SparseTensor`: ours, or torch_sparse's, which has the same methods."""
    return isinstance(value, SparseTensor) or is_torch_sparse(value)


def __getattr__(name: str) -> Any:
    if name in REFUSED:
        # Not an AttributeError: `from gnnlab.typing import EdgeIndex` would swallow its message.
        raise ImportError(refusal(name))
    raise AttributeError(f"module 'gnnlab.typing' has no attribute {name!r}")
