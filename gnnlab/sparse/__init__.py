"""Sparse matrices: our SparseTensor, and joining, cutting and taking apart those of any kind
(torch's and torch_sparse's too).
"""

from gnnlab.sparse.layouts import (
    cat,
    compact,
    from_parts,
    is_sparse,
    kind,
    map_parts,
    narrow,
    sizes,
    to_parts,
)
from gnnlab.sparse.storage import SparseStorage
from gnnlab.sparse.tensor import SparseTensor

__all__ = [
    "SparseStorage",
    "SparseTensor",
    "cat",
    "compact",
    "from_parts",
    "is_sparse",
    "kind",
    "map_parts",
    "narrow",
    "sizes",
    "to_parts",
]
