"""Counts of nodes, and nodes as indicator vectors."""

import torch
from torch import Tensor

from gnnlab.utils._checks import check_index
from gnnlab.utils._scatter import scatter
from gnnlab.utils.num_nodes import maybe_num_nodes


def degree(index: Tensor, num_nodes: int | None = None, dtype: torch.dtype | None = None) -> Tensor:
    """How often each node occurs in `index`, a row of `edge_index`.

    index: [num_edges] integers in [0, num_nodes). dtype: of the result, by default torch's default float.

    Returns [num_nodes]. Raises ValueError for an `index` that is no [n] tensor of integers, IndexError for values out
    of range. PyG: `torch_geometric.utils.degree`.

    >>> degree(torch.tensor([0, 2, 2]))
    tensor([1., 0., 2.])
    """
    check_index(index, "index")
    num_nodes = maybe_num_nodes(index, num_nodes)
    ones = torch.ones(index.numel(), dtype=torch.long, device=index.device)
    return scatter(ones, index, 0, num_nodes).to(dtype or torch.get_default_dtype())


def one_hot(index: Tensor, num_classes: int | None = None, dtype: torch.dtype | None = None) -> Tensor:
    """A row for each entry of `index`, with a one in the column it names and zeros elsewhere.

    index: [n] integers in [0, num_classes). num_classes: by default one more than the greatest.
    dtype: of the result, by default torch's default float.

    Returns [n, num_classes]. Raises ValueError for an `index` that is no [n] tensor of integers, IndexError for values
    out of range. PyG: `torch_geometric.utils.one_hot`.

    >>> one_hot(torch.tensor([1, 0]))
    tensor([[0., 1.],
            [1., 0.]])
    """
    check_index(index, "index")
    num_classes = maybe_num_nodes(index, num_classes)
    check_index(index, "index", num_classes)
    dtype = dtype or torch.get_default_dtype()
    out = torch.zeros(index.numel(), num_classes, dtype=dtype, device=index.device)
    return out.scatter_(1, index.long().unsqueeze(1), 1)
