"""Sparse matrices: our SparseTensor, and joining, cutting and taking apart those of any kind
(torch's and torch_sparse's too).

The functions of one matrix are those that torch_sparse has under the same names, so that
`from torch_sparse import SparseTensor, matmul, mul` becomes `from gnnlab.sparse import SparseTensor, matmul, mul`.
"""

from gnnlab.sparse.bandwidth import reverse_cuthill_mckee
from gnnlab.sparse.diag import fill_diag, get_diag, remove_diag, set_diag
from gnnlab.sparse.elementwise import add, add_, add_nnz, add_nnz_, mul, mul_, mul_nnz, mul_nnz_
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
from gnnlab.sparse.matmul import matmul
from gnnlab.sparse.partitions import partition
from gnnlab.sparse.reduce import max, mean, min, sum
from gnnlab.sparse.sampling import random_walk, saint_subgraph, sample, sample_adj
from gnnlab.sparse.select import (
    index_select,
    index_select_nnz,
    masked_select,
    masked_select_nnz,
    permute,
    select,
)
from gnnlab.sparse.storage import SparseStorage
from gnnlab.sparse.tensor import SparseTensor
from gnnlab.sparse.transpose import t

__all__ = [
    "SparseStorage",
    "SparseTensor",
    "add",
    "add_",
    "add_nnz",
    "add_nnz_",
    "cat",
    "compact",
    "fill_diag",
    "from_parts",
    "get_diag",
    "index_select",
    "index_select_nnz",
    "is_sparse",
    "kind",
    "map_parts",
    "masked_select",
    "masked_select_nnz",
    "matmul",
    "max",
    "mean",
    "min",
    "mul",
    "mul_",
    "mul_nnz",
    "mul_nnz_",
    "narrow",
    "partition",
    "permute",
    "random_walk",
    "remove_diag",
    "reverse_cuthill_mckee",
    "saint_subgraph",
    "sample",
    "sample_adj",
    "select",
    "set_diag",
    "sizes",
    "sum",
    "t",
    "to_parts",
]
