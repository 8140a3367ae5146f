"""Graphs that do not fit together, and streams that go wrong: refused by name, never joined in silence."""

import pytest
import torch

from gnnlab.data import Data, InMemoryDataset


class Held(InMemoryDataset):
    """A dataset of graphs that are there already."""

    def __init__(self, graphs):
        super().__init__(None)
        self.data, self.slices = self.collate(graphs)


@pytest.mark.parametrize("as_stream", [False, True])
def test_one_column_is_not_stretched_to_many(as_stream):
    graphs = [Data(x=torch.ones(3, 16 if i < 3000 else 1)) for i in range(6000)]
    with pytest.raises(ValueError, match="'x'"):
        Held(iter(graphs) if as_stream else graphs)
