"""Joining, cutting and taking apart sparse matrices of any kind: ours, torch's COO, CSR and CSC,
and torch_sparse's.

`cat` and `narrow` are inverse to each other for every kind: what was joined is cut apart again with
the same entries in the same order (duplicates and unsorted ones too), the same dtypes, and
gradients that flow to the values. What batching needs stands on them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from gnnlab.sparse import checks, concat, convert, torch_compressed, torch_coo
from gnnlab.sparse.select import narrow as narrow_one
from gnnlab.sparse.select import narrow_diag
from gnnlab.sparse.storage import SparseStorage
from gnnlab.sparse.storage import compact as compact_strided
from gnnlab.sparse.tensor import SparseTensor

_BLOCKED = (torch.sparse_bsr, torch.sparse_bsc)
_COMPRESSED = {"csr": torch.sparse_csr, "csc": torch.sparse_csc}
_LAYOUT_NAMES = {torch.sparse_coo: "coo", torch.sparse_csr: "csr", torch.sparse_csc: "csc"}


def is_sparse(x: Any) -> bool:
    """Whether `x` is a sparse matrix of any kind: ours, torch_sparse's, or a tensor in one of
    torch's sparse layouts.
    """
    if isinstance(x, Tensor):
        return x.layout in _LAYOUT_NAMES or x.layout in _BLOCKED
    return isinstance(x, SparseTensor) or convert.is_torch_sparse(x)


def kind(x: Any) -> str:
    """'SparseTensor', 'torch_sparse', 'coo', 'csr' or 'csc'.

    Raises TypeError for anything else, torch's blocked layouts (BSR, BSC) included, ValueError for
    batched CSR and CSC tensors.
    """
    if isinstance(x, SparseTensor):
        return "SparseTensor"
    if convert.is_torch_sparse(x):
        return "torch_sparse"
    if isinstance(x, Tensor) and x.layout in _LAYOUT_NAMES:
        name = _LAYOUT_NAMES[x.layout]
        if name != "coo" and torch_compressed.parts(x)[0].dim() > 1:
            raise ValueError(f"a {name.upper()} tensor must not be batched, found shape {list(x.shape)}")
        return name
    if isinstance(x, Tensor) and x.layout in _BLOCKED:
        raise TypeError(
            f"sparse tensors must be in COO, CSR or CSC layout, found {x.layout}: "
            "blocks cannot be joined or cut at every row (to_sparse_csr() gives one that can)"
        )
    found = x.layout if isinstance(x, Tensor) else type(x).__name__
    raise TypeError(f"expected a sparse matrix, found {found}")


def sizes(x: Any) -> tuple[int, ...]:
    """Rows, columns, and the shape of a value."""
    return tuple(x.sizes() if kind(x) in ("SparseTensor", "torch_sparse") else x.shape)


def cat(tensors: Sequence[Any], dim: int | tuple[int, ...]) -> Any:
    """Sparse matrices of one kind, joined along rows (0), columns (1), or on the diagonal ((0, 1)).

    COO tensors have any number of sparse dimensions; ours and torch_sparse's can also be joined
    along the dimensions of their values. Entries keep their order, one matrix after the other;
    where rows are held together (all but COO) they do so row by row.

    Raises ValueError for no tensors, for kinds or other sizes that differ, and for values
    in some but not in all; IndexError for a dimension that cannot be joined; TypeError for what is
    no sparse matrix (BSR and BSC are refused).
    """
    if len(tensors) == 0:
        raise ValueError("tensors must hold at least one sparse matrix, found none")
    kinds = [kind(tensor) for tensor in tensors]
    checks.same("kinds of the sparse matrices", kinds)
    first, name = tensors[0], kinds[0]
    if name == "torch_sparse":
        joined = cat([SparseTensor.from_torch_sparse(tensor) for tensor in tensors], dim)
        return _as_torch_sparse(joined, like=first)
    dims = _dims(first, name, dim)
    if name == "SparseTensor":
        return concat.cat(tensors, tuple(sorted(dims)))
    others = [[size for i, size in enumerate(tensor.shape) if i not in dims] for tensor in tensors]
    checks.same(f"sizes beside dimension {dim}", others)
    if name == "coo":
        checks.same("numbers of sparse dimensions", [tensor.sparse_dim() for tensor in tensors])
        return torch_coo.cat(tensors, dims)
    return torch_compressed.cat(tensors, dims)


def narrow(
    x: Any,
    dim: int | tuple[int, ...],
    start: int | tuple[int, ...],
    length: int | tuple[int, ...],
) -> Any:
    """The block of `x` that `length` from `start` spans along `dim`: ints, or one of each for
    several dimensions at once.

    It is of the kind of `x`, shares memory with it where it can, and adds nothing to its caches. Of
    a batch it costs what the block costs, for an uncoalesced COO tensor one pass over all entries.

    Raises IndexError where the block is not inside `x`, else as `cat`.
    """
    name = kind(x)
    if name == "torch_sparse":
        block = narrow(SparseTensor.from_torch_sparse(x), dim, start, length)
        return _as_torch_sparse(block, like=x)
    dims = _dims(x, name, dim)
    starts = start if isinstance(start, tuple) else (start,)
    lengths = length if isinstance(length, tuple) else (length,)
    if not len(dims) == len(starts) == len(lengths):
        found = f"{len(dims)}, {len(starts)} and {len(lengths)}"
        raise ValueError(f"dim, start and length must be as many, found {found}")
    shape = sizes(x)
    starts = tuple(
        checks.span(first, count, shape[d], d) for d, first, count in zip(dims, starts, lengths, strict=True)
    )
    if name == "coo":
        return torch_coo.narrow(x, dims, starts, lengths)
    if name != "SparseTensor":
        return torch_compressed.narrow(x, dims, starts, lengths)
    if len(dims) == 1:
        return narrow_one(x, dims[0], starts[0], lengths[0])
    row, col = dims.index(0), dims.index(1)
    return narrow_diag(x, (starts[row], starts[col]), (lengths[row], lengths[col]))


def _dims(x: Any, name: str, dim: int | tuple[int, ...]) -> tuple[int, ...]:
    """`dim` as a tuple of different dimensions, from the front, that can be joined and cut."""
    asked = dim if isinstance(dim, tuple) else (dim,)
    dims = tuple(checks.dimension(d, len(sizes(x))) for d in asked)
    can_be = x.sparse_dim() if name == "coo" else 2
    if name == "SparseTensor" and len(dims) == 1:
        can_be = x.dim()
    if not dims or len(set(dims)) < len(dims) or max(dims) >= can_be:
        raise IndexError(f"dim must name different sparse dimensions, below {can_be}, found {dim}")
    return dims


def _as_torch_sparse(x: SparseTensor, like: Any) -> Any:
    return convert.build_torch_sparse(x.storage, type(like), type(like.storage))


def to_parts(x: Any) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """What `x` is made of: a description of ints, bools and strings (it can go into JSON), and
    strided tensors by name.
    """
    name = kind(x)
    if name == "torch_sparse":
        description, parts = to_parts(SparseTensor.from_torch_sparse(x))
        return description | {"kind": name}, parts
    if name == "SparseTensor":
        description = {"kind": name, "sizes": list(x.sparse_sizes()), "given": x.storage.given()}
        if x.is_transposed is not None:
            description["is_transposed"] = x.is_transposed
        return description, x.storage.tensors()
    description = {"kind": name, "sizes": list(x.shape)}
    if name == "coo":
        parts = {"indices": x._indices(), "values": torch_coo.values(x)}
        return description | {"is_coalesced": x.is_coalesced()}, parts
    return description, dict(zip(("ptr", "index", "values"), torch_compressed.parts(x), strict=True))


def from_parts(description: Mapping[str, Any], parts: Mapping[str, Tensor], trust_data: bool = False) -> Any:
    """The sparse matrix that `to_parts` took apart. Parts are checked to fit each other unless `trust_data`.

    Raises ValueError (torch's layouts: RuntimeError) where they do not, ImportError where torch_sparse is needed and
    missing.
    """
    name, size = description["kind"], list(description["sizes"])
    if name in ("SparseTensor", "torch_sparse"):
        storage = SparseStorage(**parts, sparse_sizes=(size[0], size[1]), is_sorted=True, trust_data=trust_data)
        out = SparseTensor.from_storage(storage.give(description["given"]))
        out.is_transposed = description.get("is_transposed")
        return out if name == "SparseTensor" else out.to_torch_sparse()
    if name == "coo":
        indices, value, coalesced = parts["indices"], parts["values"], description["is_coalesced"]
        return torch_coo.build(indices, value, size, coalesced, check=not trust_data)
    return torch_compressed.build(
        parts["ptr"], parts["index"], parts["values"], size, _COMPRESSED[name], check=not trust_data
    )


def map_parts(x: Any, func: Callable[[Tensor], Tensor]) -> Any:
    """`x` with `func` applied to every strided tensor it is made of. `func` must keep what they say."""
    description, parts = to_parts(x)
    return from_parts(description, {key: func(part) for key, part in parts.items()}, trust_data=True)


def compact(x: Any) -> Any:
    """`x`, parts of which that are views of something larger are copied: no more is pickled than it shows."""
    return map_parts(x, compact_strided)
