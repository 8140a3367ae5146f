"""`DataListLoader`: mini-batches as plain lists of graphs."""

from typing import Any

import torch


class DataListLoader(torch.utils.data.DataLoader[Any]):
    """Mini-batches as lists of graphs, not joined (`torch_geometric.loader.DataListLoader`).

    Args:
        dataset: a dataset or list of graphs.
        batch_size: graphs a batch.
        shuffle: draw the graphs in a new random order every epoch.
        **kwargs: further arguments of `torch.utils.data.DataLoader`; a `collate_fn` among them is left out.
    """

    def __init__(self, dataset: Any, batch_size: int = 1, shuffle: bool = False, **kwargs: Any) -> None:
        kwargs.pop("collate_fn", None)
        super().__init__(dataset, batch_size, shuffle, collate_fn=list, **kwargs)
