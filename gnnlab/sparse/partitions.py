"""A graph cut into parts of nearly equal size, with few entries between them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from gnnlab.sparse import checks
from gnnlab.sparse.diag import remove_diag
from gnnlab.sparse.pointers import count_to_ptr
from gnnlab.sparse.select import permute
from gnnlab.sparse.transpose import to_symmetric

if TYPE_CHECKING:
    from gnnlab.sparse.tensor import SparseTensor

#: What METIS, which takes whole numbers, is given for the largest weight where weights are fractions.
_LARGEST = 1_000_000


def partition(
    src: SparseTensor,
    num_parts: int,
    recursive: bool = False,
    weighted: bool = False,
    node_weight: Tensor | None = None,
    balance_edge: bool = False,
) -> tuple[SparseTensor, Tensor, Tensor]:
    """Cut the graph whose nodes are rows and columns into `num_parts` parts, by METIS: the same every time.

    Directions and the diagonal do not count. Nodes keep their order within a part.

    recursive: halve the graph again and again, instead of cutting it into all parts at once.
    weighted: let values, [nnz] not negative, say how bad it is to cut an entry.
    node_weight: [N] not negative; parts are to weigh about the same. None: to have as many nodes.
    balance_edge: take the number of entries of each row as its weight, in place of `node_weight`.
    Weights that are fractions are rounded to millionths of the largest; none is taken for less than 1.

    Returns the matrix in the new order, [num_parts + 1] int64, where each part begins in it, and [N] int64, which node
    comes at each place. Raises ImportError without pymetis; ValueError if the matrix is not square, `num_parts` is not
    in 1..N, or weights do not fit. torch_sparse: `partition`; METIS: https://doi.org/10.1137/S1064827595287997
    """
    if not src.is_quadratic():
        raise ValueError(f"partition needs as many rows as columns, found {src.sparse_sizes()}")
    num_nodes = src.sparse_size(0)
    if not 1 <= num_parts <= max(num_nodes, 1):
        raise ValueError(f"num_parts must lie in 1 <= num_parts <= {num_nodes} (rows), found {num_parts}")
    if weighted and (not src.has_value() or src.dim() != 2):
        raise ValueError(f"values must have shape [nnz] to be weights, found sizes {src.sizes()}")
    if balance_edge:
        node_weight = src.storage.rowptr().diff()
    elif node_weight is not None:
        checks.length("node_weight", node_weight, num_nodes, "rows")
    vertices = None if node_weight is None else _whole("node_weight", node_weight)
    if num_parts == 1:
        part = torch.zeros(num_nodes, dtype=torch.int64)
    else:
        graph = to_symmetric(remove_diag(src if weighted else src.set_value(None)))
        rowptr, col, value = graph.csr()
        edges = None if value is None else _whole("value", value)
        part = _metis(num_parts, rowptr, col, recursive, vweights=vertices, eweights=edges)
    part = part.to(src.device())
    perm = torch.argsort(part, stable=True)
    return permute(src, perm), count_to_ptr(torch.bincount(part, minlength=num_parts)), perm


def _whole(name: str, weight: Tensor) -> Any:
    """`weight` as a NumPy array of integers above 0."""
    weight = weight.detach().cpu()
    if weight.dim() != 1 or not bool(((weight >= 0) & weight.isfinite()).all()):
        raise ValueError(f"{name} must be finite and not negative, one number for each, found others")
    if weight.is_floating_point():
        scaled = weight.double()
        weight = (scaled * (_LARGEST / scaled.max())).round() if bool(scaled.any()) else scaled
    return weight.long().clamp(min=1).numpy()


def _metis(num_parts: int, rowptr: Tensor, col: Tensor, recursive: bool, **weights: Any) -> Tensor:
    """[N] int64: the part of each node."""
    try:
        import pymetis
    except ModuleNotFoundError:
        raise ImportError("pymetis must be installed for partition: pip install 'gnnlab[partition]'") from None

    graph = pymetis.CSRAdjacency(rowptr.cpu().numpy(), col.cpu().numpy())
    _, part = pymetis.part_graph(num_parts, graph, recursive=recursive, **weights)
    return torch.tensor(part, dtype=torch.int64)
