"""TUDataset on a small handmade set, beside PyG's, and downloaded from a server on this machine."""

import os
import zipfile
from pathlib import Path
from typing import Any

import pytest
import torch

from gnnlab.data import Data
from gnnlab.datasets import TUDataset
from tests.data.serving import serving
from tests.io.test_tu import FILES, SETS, write

PYG_REASON = "PyG is not installed"


def root_with(tmp_path: Path, *names: str, folder: str = "raw") -> str:
    write(tmp_path / "T" / folder, *names)
    return str(tmp_path)


def assert_same(data: Any, expected: Any) -> None:
    assert data.num_nodes == expected.num_nodes
    assert data.num_node_features == expected.num_node_features
    for key, value in expected.to_dict().items():
        if isinstance(value, torch.Tensor):
            assert data[key].dtype == value.dtype
            assert torch.equal(data[key], value), key


@pytest.mark.parametrize("names", SETS.values(), ids=SETS.keys())
@pytest.mark.parametrize("use", [(False, False), (True, False), (False, True), (True, True)])
def test_tu_dataset_as_in_pyg(tmp_path: Path, names: tuple[str, ...], use: tuple[bool, bool]) -> None:
    pyg = pytest.importorskip("torch_geometric.datasets", reason=PYG_REASON)
    flags = {"use_node_attr": use[0], "use_edge_attr": use[1]}
    dataset = TUDataset(root_with(tmp_path / "ours", *names), "T", **flags)
    expected = pyg.TUDataset(root_with(tmp_path / "theirs", *names), "T", **flags)
    assert repr(dataset) == repr(expected) == "T(3)"
    for fact in ("num_node_labels", "num_node_attributes", "num_edge_labels"):
        assert getattr(dataset, fact) == getattr(expected, fact)
    for fact in ("num_edge_attributes", "num_features", "num_edge_features"):
        assert getattr(dataset, fact) == getattr(expected, fact)
    for data, other in zip(dataset, expected, strict=True):
        assert_same(data, other)


def test_tu_dataset_reads_the_processed_files_again(tmp_path: Path) -> None:
    first = TUDataset(root_with(tmp_path, *FILES), "T", use_node_attr=True)
    (tmp_path / "T" / "raw" / "T_node_labels.txt").write_text("no numbers")
    again = TUDataset(str(tmp_path), "T", use_node_attr=True)
    assert again.sizes == first.sizes
    for data, other in zip(again, first, strict=True):
        assert_same(data, other)
    # Which columns are used is chosen when the processed files are read.
    assert TUDataset(str(tmp_path), "T").num_features == first.num_features - 2
    with pytest.raises(ValueError, match="T_node_labels"):
        TUDataset(str(tmp_path), "T", force_reload=True)


def has_two_nodes(data: Data) -> bool:
    return data.num_nodes >= 2


def add_size(data: Data) -> Data:
    data.size_of_graph = data.num_nodes
    return data


def test_tu_dataset_filters_and_transforms(tmp_path: Path) -> None:
    dataset = TUDataset(root_with(tmp_path, *FILES), "T", pre_transform=add_size, pre_filter=has_two_nodes)
    assert [int(data.size_of_graph) for data in dataset] == [3, 2]
    assert [data.num_nodes for data in dataset] == [3, 2]
    dataset = TUDataset(root_with(tmp_path / "other", *FILES), "T", transform=add_size)
    assert dataset[1].size_of_graph == 1


@pytest.mark.parametrize("cleaned", [False, True])
def test_tu_dataset_downloads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cleaned: bool) -> None:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    served = tmp_path / "served"
    served.mkdir()
    with zipfile.ZipFile(served / "T.zip", "w") as archive:
        for name, content in FILES.items():
            archive.writestr(f"T/T_{name}.txt", content)
        archive.writestr("T/README.txt", "about")

    with serving(served) as address:
        monkeypatch.setattr(TUDataset, "cleaned_url" if cleaned else "url", address)
        monkeypatch.setattr(TUDataset, "url" if cleaned else "cleaned_url", "unused")
        dataset = TUDataset(str(tmp_path / "root"), "T", cleaned=cleaned)
    assert len(dataset) == 3
    raw = tmp_path / "root" / "T" / ("raw_cleaned" if cleaned else "raw")
    names = [name for name in os.listdir(raw) if not name.startswith(".")]
    assert sorted(names) == sorted(["README.txt", *(f"T_{name}.txt" for name in FILES)])
    assert (tmp_path / "root" / "T" / ("processed_cleaned" if cleaned else "processed")).is_dir()


def test_tu_dataset_without_a_network_says_what_to_put_where(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(TUDataset, "url", "http://localhost.invalid")
    with pytest.raises(OSError, match=r"http://localhost\.invalid/T\.zip") as caught:
        TUDataset(str(tmp_path), "T")
    assert str(tmp_path / "T" / "raw" / "T.zip") in str(caught.value)
