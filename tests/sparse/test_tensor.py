"""Where and how a matrix is held: dtypes, devices, shared and pinned memory, gradients, and how it prints."""

import subprocess
import sys

import pytest
import torch

from gnnlab import sparse
from gnnlab.sparse import SparseTensor

DTYPES = {
    "bool": torch.bool,
    "byte": torch.uint8,
    "char": torch.int8,
    "short": torch.int16,
    "int": torch.int32,
    "long": torch.int64,
    "half": torch.float16,
    "bfloat16": torch.bfloat16,
    "float": torch.float32,
    "double": torch.float64,
}


@pytest.mark.parametrize("name", DTYPES)
def test_casts_change_the_values_and_nothing_else(name):
    src = SparseTensor.eye(3, fill_cache=True)
    out = getattr(src, name)()
    assert out.dtype() == DTYPES[name]
    assert out.storage.value().tolist() == [1, 1, 1]
    assert out.storage.col() is src.storage.col()
    assert out.cache_info() == src.cache_info()
    assert src.dtype() == torch.float32
    assert out.is_floating_point() == DTYPES[name].is_floating_point
    assert not getattr(src.set_value(None), name)().has_value()


def test_to_takes_what_a_tensor_takes():
    src = SparseTensor.eye(2)
    half = torch.ones(1, dtype=torch.float16)
    assert src.to(torch.float64).dtype() == torch.float64
    assert src.to("cpu", torch.float16).dtype() == torch.float16
    assert src.to(half).dtype() == torch.float16
    assert src.type_as(half).dtype() == src.type(torch.float16).dtype() == torch.float16
    assert src.to(device="cpu", non_blocking=True) is src
    assert src.to("cpu", torch.float32, True) is src
    assert src.to(None) is src.cpu() is src.to_device("cpu") is src.device_as(half) is src
    again = src.to("cpu", copy=True)
    assert again == src
    assert again.storage.col().data_ptr() != src.storage.col().data_ptr()
    assert (src.device(), src.is_cuda()) == (torch.device("cpu"), False)


def test_another_device_takes_everything_along():
    src = SparseTensor.eye(2, fill_cache=True).to("meta")
    assert {part.device.type for part in src.storage.tensors().values()} == {"meta"}
    assert len(src.cache_info()) == 6


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_on_a_gpu_everything_is_as_on_the_cpu():
    row, col = torch.tensor([2, 0, 2, 1]), torch.tensor([1, 0, 3, 3])
    cpu = SparseTensor(row=row, col=col, value=torch.rand(4, 2), sparse_sizes=(4, 4))
    gpu = cpu.cuda()
    assert gpu.is_cuda()
    for part in [
        lambda src: src.t(),
        lambda src: src[1:, [3, 1]],
        lambda src: src.set_diag(),
        lambda src: src.to_symmetric(),
        lambda src: src + src.t(),
        lambda src: src * src.t(),
        lambda src: src @ src,
        lambda src: src.mul_nnz(torch.arange(4.0, device=src.device()), "csc"),
        lambda src: src.saint_subgraph(torch.tensor([2, 1], device=src.device()))[0],
        lambda src: src.sample_adj(torch.tensor([2, 1], device=src.device()), -1)[0],
        lambda src: src.reverse_cuthill_mckee()[0],
        lambda src: sparse.cat([src, src], 1),
        lambda src: sparse.narrow(sparse.cat([src, src], (0, 1)), (0, 1), (4, 4), (4, 4)),
    ]:
        assert part(gpu).cpu() == part(cpu)
    assert torch.equal(gpu.sum(1).cpu(), cpu.sum(1))
    walks = gpu.random_walk(torch.arange(3, device="cuda"), 5, generator=torch.Generator("cuda").manual_seed(0))
    assert walks.is_cuda
    assert walks[:, 0].tolist() == [0, 1, 2]
    pinned = cpu.pin_memory()
    assert pinned.is_pinned()
    assert pinned == cpu


def test_nothing_is_pinned_by_itself():
    assert not SparseTensor.eye(2).is_pinned()


def test_shared_memory_takes_the_caches_along():
    src = SparseTensor.eye(3, fill_cache=True)
    assert not src.is_shared()
    assert src.share_memory_() is src
    assert src.is_shared()
    assert all(part.is_shared() for part in src.storage.tensors().values())


def test_gradients():
    src = SparseTensor.eye(2, has_value=False)
    assert not src.requires_grad()
    assert src.requires_grad_(dtype=torch.float64) is src
    assert (src.requires_grad(), src.dtype()) == (True, torch.float64)
    assert not src.detach().requires_grad()
    assert src.requires_grad()
    assert not src.requires_grad_(False).requires_grad()
    made = src.set_value(torch.ones(2, requires_grad=True) * 2)
    assert made.detach_() is made
    assert not made.requires_grad()
    pattern = SparseTensor.eye(2, has_value=False)
    assert pattern.requires_grad_(False).detach().detach_() == pattern


def test_text_is_torch_sparses_and_leaves_nothing_in_the_cache():
    index = torch.arange(2)
    ptr = torch.tensor([0, 1, 2])
    src = SparseTensor(rowptr=ptr, col=index, value=torch.tensor([[1.0, 2.0], [3.0, 4.0]]))
    assert repr(src) == (
        "SparseTensor(row=tensor([0, 1]),\n"
        "             col=tensor([0, 1]),\n"
        "             val=tensor([[1., 2.],\n"
        "                           [3., 4.]]),\n"
        "             size=(2, 2, 2), nnz=2, density=50.00%)"
    )
    assert src.cache_info() == {}


def test_html_shows_each_part_and_whether_it_is_cached():
    src = SparseTensor(rowptr=torch.tensor([0, 1, 2]), col=torch.arange(2))
    src.storage.colcount()
    html = src._repr_html_()
    assert "<b>SparseTensor</b> 2 x 2, 2 entries" in html
    cells = ["rowptr", "[3]", "int64", "24", "cpu", "given"]
    assert "<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>" in html
    assert "<td>colcount</td><td>[2]</td>" in html
    assert html.count("<td>cached</td>") == 1
    assert html.count("<tr>") == html.count("</tr>") == 4


def test_a_fresh_process_sees_no_warning_and_imports_nothing_optional():
    code = """
import sys
from gnnlab import sparse
from gnnlab.sparse import SparseTensor
eye = SparseTensor.eye(3)
for layout in ["coo", "csr", "csc"]:
    matrix = getattr(eye, f"to_torch_sparse_{layout}_tensor")()
    sparse.narrow(sparse.cat([matrix, matrix], (0, 1)), 0, 0, 3)
assert not {"torch_sparse", "scipy", "numba", "torch_geometric"} & set(sys.modules)
"""
    run = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True)
    assert (run.returncode, run.stderr) == (0, "")
