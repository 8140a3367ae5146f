"""Files for PyG and from it, there and back."""

from pathlib import Path
from typing import Any

import pytest
import torch

from gnnlab.data import Data, HeteroData, InMemoryDataset, OnDiskDataset, load_from_pyg, save_for_pyg
from gnnlab.data.testing import assert_equal
from gnnlab.datasets import FakeDataset, FakeHeteroDataset
from gnnlab.sparse import SparseTensor


@pytest.fixture
def pyg() -> Any:
    return pytest.importorskip("torch_geometric.data", reason="compares with torch_geometric")


def held(library: Any, path: Path, cls: Any) -> Any:
    class Held(library.InMemoryDataset):  # type: ignore[name-defined]
        def __init__(self) -> None:
            super().__init__(None)
            self.load(str(path), cls)

    return Held()


def counted() -> list[Data]:
    return [Data(edge_index=torch.tensor([[0], [1]]), num_nodes=n, name=f"graph {n}") for n in (3, 5, 2)]


def test_pyg_reads_what_we_save(pyg: Any, tmp_path: Path) -> None:
    for graphs in (list(FakeDataset(5)), counted(), [counted()[0]]):
        save_for_pyg(graphs, tmp_path / "file.pt")
        theirs = held(pyg, tmp_path / "file.pt", pyg.Data)
        assert len(theirs) == len(graphs)
        for found, graph in zip(theirs, graphs, strict=True):
            assert_equal(Data.from_dict(found.to_dict()), graph)
            assert found.num_nodes == graph.num_nodes


def test_pyg_reads_heterogeneous_graphs(pyg: Any, tmp_path: Path) -> None:
    graphs = list(FakeHeteroDataset(4))
    for graph in graphs:
        graph["v9"].num_nodes = 7
    save_for_pyg(graphs, tmp_path / "file.pt")
    theirs = held(pyg, tmp_path / "file.pt", pyg.HeteroData)
    for found, graph in zip(theirs, graphs, strict=True):
        assert_equal(HeteroData.from_dict(found.to_dict()), graph)


def test_there_and_back_by_way_of_the_disk(pyg: Any, tmp_path: Path) -> None:
    graphs = list(FakeDataset(5))
    theirs = [pyg.Data(**graph.to_dict()) for graph in graphs]
    pyg.InMemoryDataset.save(theirs, str(tmp_path / "theirs.pt"))
    stored = load_from_pyg(tmp_path / "theirs.pt").to_on_disk_dataset(str(tmp_path), "mmap", log=False)
    assert isinstance(stored, OnDiskDataset)
    save_for_pyg(stored, tmp_path / "again.pt")
    for found, graph in zip(held(pyg, tmp_path / "again.pt", pyg.Data), graphs, strict=True):
        assert_equal(Data.from_dict(found.to_dict()), graph)
    assert isinstance(load_from_pyg(tmp_path / "again.pt"), InMemoryDataset)


def test_what_pyg_has_no_word_for_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="attribute 'y' is missing in some of the graphs"):
        save_for_pyg([Data(num_nodes=1, y=torch.ones(1)), Data(num_nodes=2)], tmp_path / "file.pt")
    with pytest.raises(TypeError, match="attribute 'adj' is a gnnlab SparseTensor"):
        save_for_pyg([Data(num_nodes=2, adj=SparseTensor.eye(2))] * 2, tmp_path / "file.pt")
    with pytest.raises(ValueError, match="at least one graph"):
        save_for_pyg([], tmp_path / "file.pt")
    assert not (tmp_path / "file.pt").exists()
