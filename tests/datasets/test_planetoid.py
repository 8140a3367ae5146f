"""Planetoid: small made-up files, and Cora and CiteSeer where their raw files are at hand."""

import os
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch

from gnnlab.data import Data
from gnnlab.datasets import Planetoid
from tests.data.serving import serving
from tests.io.planetoid_files import ENDINGS, write_planetoid

VARIABLE = "GNNLAB_PLANETOID"
ELSEWHERE = os.environ.get(VARIABLE)
MASKS = ("train_mask", "val_mask", "test_mask")
SIZES = {
    "Cora": (2708, 10556, 1433, 7, 140),
    "CiteSeer": (3327, 9104, 3703, 6, 120),
}


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A root that holds a made-up CiteSeer in its own raw folder."""
    monkeypatch.delenv(VARIABLE, raising=False)
    write_planetoid(tmp_path / "CiteSeer" / "raw", "citeseer")
    return str(tmp_path)


def counts(data: Data) -> list[int]:
    return [int(data[mask].sum()) for mask in MASKS]


def test_planetoid(root: str) -> None:
    dataset = Planetoid(root, "CiteSeer")
    assert repr(dataset) == "CiteSeer()"
    assert len(dataset) == 1
    assert (dataset.num_features, dataset.num_classes) == (5, 3)
    data = dataset[0]
    assert data.num_nodes == 520
    assert counts(data) == [6, 500, 9]
    for path in Path(dataset.raw_dir).iterdir():
        path.unlink()
    (Path(dataset.raw_dir) / "ind.citeseer.x").touch()
    for name in dataset.raw_file_names:
        (Path(dataset.raw_dir) / name).touch()
    again = Planetoid(root, "CiteSeer")[0]  # from the processed file
    assert torch.equal(again.x, data.x)


def test_planetoid_full_split(root: str) -> None:
    public = Planetoid(root, "CiteSeer")[0]
    full = Planetoid(root, "CiteSeer", split="full")[0]
    assert counts(full) == [520 - 500 - 9, 500, 9]
    assert torch.equal(full.train_mask, ~(public.val_mask | public.test_mask))
    assert counts(Planetoid(root, "CiteSeer")[0]) == [6, 500, 9]


def test_planetoid_random_split(root: str) -> None:
    arguments = {"num_train_per_class": 7, "num_val": 20, "num_test": 30}
    data = Planetoid(root, "CiteSeer", "random", **arguments, seed=1)[0]
    assert data.y[data.train_mask].bincount().tolist() == [7, 7, 7]
    assert counts(data) == [21, 20, 30]
    assert not (data.train_mask & data.val_mask).any()
    assert not (data.test_mask & (data.train_mask | data.val_mask)).any()
    state = torch.get_rng_state()
    same, other = (Planetoid(root, "CiteSeer", "random", **arguments, seed=s)[0] for s in (1, 2))
    assert torch.equal(torch.get_rng_state(), state)
    assert torch.equal(same.train_mask, data.train_mask)
    assert torch.equal(same.test_mask, data.test_mask)
    assert not torch.equal(other.train_mask, data.train_mask)


def write_geom_gcn_splits(folder: Path) -> None:
    rng = np.random.default_rng(0)
    for i in range(10):
        masks = {mask: rng.random(520) < 0.5 for mask in MASKS}
        np.savez(folder / f"citeseer_split_0.6_0.2_{i}.npz", **masks)


@pytest.mark.parametrize("split", ["public", "full", "random", "geom-gcn"])
def test_planetoid_as_in_pyg(root: str, tmp_path: Path, split: str) -> None:
    pyg = pytest.importorskip("torch_geometric.datasets", reason="PyG is not installed")
    pytest.importorskip("scipy", reason="PyG needs SciPy to read Planetoid's files")
    if split == "geom-gcn":
        (tmp_path / "CiteSeer" / "geom-gcn").mkdir()
        (tmp_path / "CiteSeer" / "raw").rename(tmp_path / "CiteSeer" / "geom-gcn" / "raw")
        write_geom_gcn_splits(tmp_path / "CiteSeer" / "geom-gcn" / "raw")
    shutil.copytree(tmp_path / "CiteSeer", tmp_path / "pyg" / "CiteSeer")
    assert_as_in_pyg(root, str(tmp_path / "pyg"), "CiteSeer", split, pyg.Planetoid)


def assert_as_in_pyg(root: str, pyg_root: str, name: str, split: str, pyg_class: type) -> None:
    torch.manual_seed(3)
    expected = pyg_class(pyg_root, name, split)[0].to_dict()
    torch.manual_seed(3)
    data = Planetoid(root, name, split)[0]  # type: ignore[arg-type]
    assert set(data.keys()) == set(expected)
    for key, value in expected.items():
        assert data[key].dtype == value.dtype
        assert torch.equal(data[key], value), key


def test_planetoid_looks_into_the_environments_folder_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    elsewhere, root = tmp_path / "elsewhere", tmp_path / "root"
    write_planetoid(elsewhere, "citeseer")
    monkeypatch.setenv(VARIABLE, str(elsewhere))
    dataset = Planetoid(str(root), "CiteSeer")
    assert dataset.raw_dir == str(elsewhere)
    assert not (root / "CiteSeer" / "raw").exists()
    (elsewhere / "ind.citeseer.tx").unlink()
    assert dataset.raw_dir == str(root / "CiteSeer" / "raw")


@pytest.mark.parametrize("split", ["public", "geom-gcn"])
def test_planetoid_downloads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, split: str) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    write_planetoid(tmp_path / "data", "citeseer")
    (tmp_path / "splits").mkdir()
    write_geom_gcn_splits(tmp_path / "splits")

    with serving(tmp_path) as address:
        monkeypatch.setattr(Planetoid, "url", f"{address}/data")
        monkeypatch.setattr(Planetoid, "geom_gcn_url", address)
        dataset = Planetoid(str(tmp_path / "root"), "CiteSeer", split)  # type: ignore[arg-type]
    assert dataset[0].train_mask.shape == ((520, 10) if split == "geom-gcn" else (520,))
    names = {name for name in os.listdir(dataset.raw_dir) if not name.startswith(".")}
    assert names == set(dataset.raw_file_names)
    assert len(names) == len(ENDINGS) + (10 if split == "geom-gcn" else 0)


def test_planetoid_without_a_network_says_what_to_put_where(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.setattr(Planetoid, "url", "http://localhost.invalid")
    with pytest.raises(OSError, match=r"http://localhost\.invalid/ind\.pubmed\.x") as caught:
        Planetoid(str(tmp_path), "PubMed")
    assert str(tmp_path / "PubMed" / "raw" / "ind.pubmed.x") in str(caught.value)


def test_planetoid_refuses_other_names_and_splits(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="found 'DBLP'"):
        Planetoid(str(tmp_path), "DBLP")
    with pytest.raises(ValueError, match="found 'private'"):
        Planetoid(str(tmp_path), "CiteSeer", "private")  # type: ignore[arg-type]


def real_raw(name: str) -> Path:
    """Where the raw files of `name` are, or a skip."""
    own = Path("data") / "planetoid" / name / "raw"
    for folder in (Path(ELSEWHERE) if ELSEWHERE else own, own):
        if all((folder / f"ind.{name.lower()}.{ending}").exists() for ending in ENDINGS):
            return folder
    pytest.skip(f"{name}'s raw files are neither in the folder {VARIABLE} names nor in {own}")


@pytest.mark.parametrize("name", SIZES)
def test_real_planetoid(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv(VARIABLE, str(real_raw(name)))
    dataset = Planetoid(str(tmp_path), name)
    data = dataset[0]
    num_nodes, num_edges, num_features, num_classes, num_train = SIZES[name]
    assert (data.num_nodes, data.num_edges) == (num_nodes, num_edges)
    assert (dataset.num_features, dataset.num_classes) == (num_features, num_classes)
    assert counts(data) == [num_train, 500, 1000]
    assert data.is_undirected()
    assert not data.has_self_loops()


def test_real_citeseer_keeps_its_undescribed_nodes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, str(real_raw("CiteSeer")))
    data = Planetoid(str(tmp_path), "CiteSeer")[0]
    empty = (data.x.sum(dim=1) == 0).nonzero().view(-1)
    assert len(empty) == 15
    assert not data.y[empty].any()
    assert not (data.train_mask | data.val_mask | data.test_mask)[empty].any()


@pytest.mark.parametrize("split", ["public", "full", "random"])
@pytest.mark.parametrize("name", SIZES)
def test_real_planetoid_as_in_pyg(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, split: str) -> None:
    pyg = pytest.importorskip("torch_geometric.datasets", reason="PyG is not installed")
    pytest.importorskip("scipy", reason="PyG needs SciPy to read Planetoid's files")
    raw = real_raw(name)
    monkeypatch.setenv(VARIABLE, str(raw))
    target = tmp_path / "pyg" / name / "raw"
    target.mkdir(parents=True)
    for ending in ENDINGS:
        shutil.copy(raw / f"ind.{name.lower()}.{ending}", target)
    assert_as_in_pyg(str(tmp_path), str(tmp_path / "pyg"), name, split, pyg.Planetoid)
