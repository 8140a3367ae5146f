"""Graphs keep whether their adjacency is the transposed one, however they are stored, copied or joined."""

import copy
import io
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from gnnlab import sparse
from gnnlab.data import Batch, Data, InMemoryDataset
from gnnlab.data.separate import separate
from gnnlab.files import read_folder, write_folder
from gnnlab.loader import DataLoader
from gnnlab.sparse import SparseTensor


def graph(mark: bool | None) -> Data:
    ids = torch.arange(3)
    return Data(adj_t=SparseTensor(row=ids, col=ids.flip(0), sparse_sizes=(3, 3), is_transposed=mark), num_nodes=3)


def through_a_file(value: Data, path: Path) -> Data:
    file = io.BytesIO()
    torch.save(value, file)
    file.seek(0)
    return torch.load(file, weights_only=True)


def through_a_dataset(value: Data, path: Path) -> Data:
    InMemoryDataset.save([value, value], str(path))
    dataset = InMemoryDataset()
    dataset.load(str(path))
    return dataset[1]


def through_collate(value: Data, path: Path) -> Data:
    data, slices = InMemoryDataset.collate([value, value])
    return separate(Data, data, 1, slices, decrement=False)


def through_a_folder(value: Data, path: Path) -> Data:
    write_folder(path, value.to_dict())
    return Data.from_dict(read_folder(path)[0])


WAYS: dict[str, Callable[[Data, Path], Any]] = {
    "pickle": lambda value, path: pickle.loads(pickle.dumps(value)),
    "copy": lambda value, path: copy.copy(value),
    "deepcopy": lambda value, path: copy.deepcopy(value),
    "clone": lambda value, path: value.clone(),
    "to a device": lambda value, path: value.to("cpu"),
    "shared memory": lambda value, path: value.share_memory_(),
    "torch.save": through_a_file,
    "write_folder": through_a_folder,
    "a set saved as one file": lambda value, path: through_a_dataset(value, path.with_suffix(".pt")),
    "a set saved as a folder": through_a_dataset,
    "joined and cut": through_collate,
    "a batch": lambda value, path: Batch.from_data_list([value, value]),
    "a graph of a batch": lambda value, path: Batch.from_data_list([value, value])[1],
    "a batch of a worker": lambda value, path: next(iter(DataLoader([value, value], batch_size=2, num_workers=1))),
    "parts": lambda value, path: Data(adj_t=sparse.from_parts(*sparse.to_parts(value.adj_t))),
}


@pytest.mark.parametrize("mark", [True, False, None])
@pytest.mark.parametrize("way", WAYS)
def test_the_mark_is_kept(way: str, mark: bool | None, tmp_path: Path) -> None:
    assert WAYS[way](graph(mark), tmp_path / "graph").adj_t.is_transposed is mark


def test_a_folder_written_before_there_was_a_mark_opens(tmp_path: Path) -> None:
    write_folder(tmp_path / "old", graph(None).to_dict())
    manifest = (tmp_path / "old" / "manifest.json").read_text()
    assert "is_transposed" not in manifest  # so that this is what such a folder looks like
    assert read_folder(tmp_path / "old")[0]["adj_t"].is_transposed is None


@pytest.mark.parametrize("name", ["contiguous", "cpu", "clone", "detach", "detach_", "share_memory_", "requires_grad_"])
def test_what_a_graph_does_to_each_tensor_it_does_to_an_adjacency(name: str) -> None:
    before = graph(True)
    after = getattr(graph(True), name)().adj_t
    assert torch.equal(after.to_dense(), before.adj_t.to_dense())
    assert after.is_transposed
