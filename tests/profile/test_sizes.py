import gc
import os

import numpy as np
import pytest
import torch

from gnnlab import profile


@pytest.fixture
def model():
    model = torch.nn.Sequential(torch.nn.Linear(30, 40), torch.nn.BatchNorm1d(40))
    model[0].bias.requires_grad_(False)
    return model


def test_parameters_without_gradient_do_not_count(model):
    assert profile.count_parameters(model) == 30 * 40 + 80


def test_the_models_size_is_its_files(model, tmp_path):
    torch.save(model.state_dict(), tmp_path / "archive")
    written = (tmp_path / "archive").stat().st_size
    assert profile.get_model_size(model) == written


def test_live_tensors_are_counted_once():
    gc.collect()
    before = profile.get_cpu_memory_from_gc()
    block = torch.zeros(1000, 100)
    views = [block[:10], block.t()]
    assert profile.get_cpu_memory_from_gc() - before == 400_000
    del block, views
    assert profile.get_cpu_memory_from_gc() == before


def test_sparse_tensors_are_counted():
    gc.collect()
    before = profile.get_cpu_memory_from_gc()
    adj = torch.eye(1000).to_sparse()
    assert profile.get_cpu_memory_from_gc() - before == adj._nnz() * (2 * 8 + 4)


def test_tensors_that_stand_for_others_have_no_memory():
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode() as mode:
        fake = mode.from_tensor(torch.zeros(1000))
    gc.collect()
    before = profile.get_cpu_memory_from_gc()
    assert profile.nbytes({"fake": fake, "real": torch.zeros(10)}) == 40
    assert profile.footprint(fake).held == 0
    assert profile.get_cpu_memory_from_gc() == before


@pytest.mark.skipif(torch.cuda.is_available(), reason="tells what happens without a GPU")
def test_without_a_gpu_its_memory_is_an_error():
    with pytest.raises(RuntimeError, match="torch sees 0 GPUs"):
        profile.get_gpu_memory_from_gc()


def test_without_nvidia_smi_its_answer_is_an_error(monkeypatch):
    monkeypatch.setenv("PATH", "")
    with pytest.raises(RuntimeError, match="nvidia-smi"):
        profile.get_gpu_memory_from_nvidia_smi()


def command(folder, monkeypatch, lines):
    script = folder / "nvidia-smi"
    script.write_text("#!/bin/sh\n" + lines)
    script.chmod(0o755)
    monkeypatch.setenv("PATH", str(folder), prepend=os.pathsep)


def test_nvidia_smi_speaks_of_mebibytes(tmp_path, monkeypatch):
    command(tmp_path, monkeypatch, 'test "$3" = --id=1 && echo "1000, 500"\n')
    assert profile.get_gpu_memory_from_nvidia_smi(1) == (1048.58, 524.29)
    assert profile.get_gpu_memory_from_nvidia_smi(1, digits=0) == (1049, 524)


def test_a_device_that_nvidia_smi_does_not_know_is_an_error(tmp_path, monkeypatch):
    command(tmp_path, monkeypatch, 'echo "No devices were found"; exit 6\n')
    with pytest.raises(RuntimeError, match=r"device=3.*No devices"):
        profile.get_gpu_memory_from_nvidia_smi(3)


class Graph:
    """All that `get_data_size` needs to know of a graph."""

    def __init__(self, **attributes):
        self.attributes = attributes

    def to_dict(self):
        return self.attributes


def test_data_size_counts_each_byte_once():
    x = torch.zeros(10, 4)
    assert profile.get_data_size(Graph(x=x, first=x[2:], more=[x.clone(), "text", 3])) == 320
    assert profile.get_data_size(Graph(x=np.zeros(10))) == 80


class TestPyG:
    @pytest.fixture
    def pyg(self):
        return pytest.importorskip("torch_geometric.profile", reason="PyG is the peer here")

    def test_of_models(self, pyg, model):
        assert profile.count_parameters(model) == pyg.count_parameters(model)
        # A file holds its own name once a tensor, and PyG's has a long one.
        assert profile.get_model_size(model) == pytest.approx(pyg.get_model_size(model), rel=0.05)

    def test_of_data(self, pyg):
        from torch_geometric.data import Batch, Data, HeteroData

        x = torch.zeros(10, 4)
        graph = Data(x=x, first=x[:3], nested={"a": [torch.zeros(3)]}, name="a")
        hetero = HeteroData(a={"x": x}, a__to__b={"w": torch.zeros(3)})
        for data in (graph, hetero, Batch.from_data_list([graph, graph])):
            assert profile.get_data_size(data) == pyg.get_data_size(data)

    def test_of_live_tensors(self, pyg):
        tensors = [torch.zeros(10**4) for _ in range(10)]
        gc.collect()
        grown = [f() for f in (pyg.get_cpu_memory_from_gc, profile.get_cpu_memory_from_gc)]
        tensors += [torch.zeros(10**4) for _ in range(10)]
        assert pyg.get_cpu_memory_from_gc() - grown[0] == 400_000
        assert profile.get_cpu_memory_from_gc() - grown[1] == 400_000
