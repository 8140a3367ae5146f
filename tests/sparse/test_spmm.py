"""Sparse times dense against gather and scatter, SciPy, finite differences and torch_sparse, on every backend."""

import os
import subprocess
import sys

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor
from torch.autograd import gradcheck, gradgradcheck

from gnnlab.sparse import SparseTensor
from gnnlab.sparse.backends import backend
from gnnlab.sparse.spmm import spmm
from gnnlab.utils import scatter

BACKENDS = ["numba", "torch"]
REDUCTIONS = ["sum", "mean", "min", "max"]


@st.composite
def matrices(draw: st.DrawFn) -> SparseTensor:
    """Any shape: not square, without entries, with empty rows, entries there twice and no order among columns."""
    rows, cols = draw(st.integers(0, 6)), draw(st.integers(1, 6))
    places = st.tuples(st.integers(0, max(rows - 1, 0)), st.integers(0, cols - 1))
    entries = sorted(draw(st.lists(places, max_size=20 if rows else 0)), key=lambda place: place[0])
    ids = torch.tensor(entries, dtype=torch.int64).view(-1, 2)
    value = None
    if draw(st.booleans()):
        value = torch.tensor(draw(st.lists(st.integers(-3, 3), min_size=len(ids), max_size=len(ids))))
    return SparseTensor(row=ids[:, 0], col=ids[:, 1], value=value, sparse_sizes=(rows, cols), is_sorted=True)


def by_messages(adj: SparseTensor, other: Tensor, reduce: str, value: Tensor | None = None) -> Tensor:
    row, col, held = adj.coo()
    value = held if value is None else value
    messages = other[col]
    if value is not None:
        messages = messages * value.to(other.dtype).view(-1, *[1] * (other.dim() - 1))
    return scatter(messages, row, 0, adj.size(0), reduce)


@pytest.mark.parametrize("name", BACKENDS)
@given(matrices(), st.sampled_from(REDUCTIONS), st.integers(0, 40), st.data())
def test_equals_gather_and_scatter(name: str, adj: SparseTensor, reduce: str, width: int, data: st.DataObject) -> None:
    numbers = st.lists(st.integers(-2, 2), min_size=adj.size(1) * width, max_size=adj.size(1) * width)
    other = torch.tensor(data.draw(numbers), dtype=torch.float64).view(adj.size(1), width).requires_grad_()
    value = adj.storage.value()
    leaves = [other]
    if value is not None:
        leaves.append(value.double().requires_grad_())
        adj = adj.set_value(leaves[1])
    out = spmm(adj, other, reduce, backend=name)
    expected = by_messages(adj, other, reduce)
    torch.testing.assert_close(out, expected)
    grad = torch.arange(out.numel(), dtype=out.dtype).view(out.shape)
    for found, wanted in zip(
        torch.autograd.grad(out, leaves, grad), torch.autograd.grad(expected, leaves, grad), strict=True
    ):
        torch.testing.assert_close(found, wanted)


@pytest.mark.parametrize("name", BACKENDS)
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
@pytest.mark.parametrize("reduce", REDUCTIONS)
@pytest.mark.parametrize("weighted", [False, True])
def test_16_bits(name: str, dtype: torch.dtype, reduce: str, weighted: bool) -> None:
    generator = torch.Generator().manual_seed(0)
    ids = torch.randint(0, 30, (2, 300), generator=generator)
    adj = SparseTensor.from_edge_index(
        ids, torch.rand(300, generator=generator).to(dtype) if weighted else None, (30, 30)
    )
    other = torch.randn(30, 20, generator=generator).to(dtype).requires_grad_()
    value = adj.storage.value()
    leaves = [other]
    if value is not None:
        leaves.append(value.requires_grad_())
    out = spmm(adj, other, reduce, backend=name)
    assert out.dtype == dtype
    grad = torch.randn(out.shape, generator=generator).to(dtype)
    found = torch.autograd.grad(out, leaves, grad)
    assert [part.dtype for part in found] == [dtype] * len(leaves)
    # Exact arithmetic on the same numbers; for extremes on messages rounded as a tensor of them would be.
    wide = [leaf.detach().double().requires_grad_() for leaf in leaves]
    row, col, _ = adj.coo()
    messages = wide[0][col] if value is None else wide[0][col] * wide[1][:, None]
    if reduce in ("min", "max"):
        messages = messages + (messages.to(dtype).double() - messages).detach()
    exact = scatter(messages, row, 0, 30, reduce)
    torch.testing.assert_close(out.double(), exact, rtol=2e-2, atol=1e-2)
    if reduce in ("min", "max"):
        assert torch.equal(out.double(), exact)
    for part, wanted in zip(found, torch.autograd.grad(exact, wide, grad.double()), strict=True):
        torch.testing.assert_close(part.double(), wanted, rtol=2e-2, atol=5e-2)


def test_sums_of_16_bits_are_formed_in_float32() -> None:
    adj = SparseTensor.from_edge_index(torch.tensor([[0] * 4096, range(4096)]), sparse_sizes=(1, 4096))
    for dtype in (torch.bfloat16, torch.float16):
        assert spmm(adj, torch.ones(4096, 3, dtype=dtype)).tolist() == [[4096.0] * 3]


@pytest.mark.parametrize("half", [torch.bfloat16, torch.float16], ids=str)
def test_conversions_of_every_pattern_of_16_bits(half: torch.dtype) -> None:
    from gnnlab.kernels import halves

    kind = halves.BFLOAT16 if half == torch.bfloat16 else halves.FLOAT16
    bits = np.arange(1 << 16, dtype=np.uint16).reshape(1, -1)
    wide = np.empty(bits.shape, np.float32)
    halves.widen(bits, 0, wide, wide.view(np.uint32), 0, kind)
    expected = torch.from_numpy(bits.copy()).view(half).float()
    assert torch.equal(
        torch.from_numpy(wide).view(torch.int32)[~expected.isnan()], expected.view(torch.int32)[~expected.isnan()]
    )
    assert np.array_equal(np.isnan(wide), expected.isnan().numpy())

    generator = torch.Generator().manual_seed(0)
    scale = torch.randint(-45, 40, (1, 200_000), generator=generator)
    numbers = torch.ldexp(torch.randn(1, 200_000, generator=generator), scale)
    numbers[0, :4] = torch.tensor([float("inf"), -float("inf"), 65519.99, 65520.0])
    found = np.empty(numbers.shape, np.uint16)
    halves.narrow(numbers.numpy().view(np.uint32), 0, found, 0, kind)
    assert torch.equal(torch.from_numpy(found).view(torch.int16), numbers.to(half).view(torch.int16))


@pytest.mark.parametrize("reduce", REDUCTIONS)
@pytest.mark.parametrize("name", BACKENDS)
def test_finite_differences(name: str, reduce: str) -> None:
    ids = torch.tensor([[0, 0, 0, 2, 2, 3], [1, 2, 1, 0, 3, 3]])

    def product(value: Tensor, other: Tensor) -> Tensor:
        return spmm(SparseTensor.from_edge_index(ids, value, (5, 4)), other, reduce, backend=name)

    generator = torch.Generator().manual_seed(1)
    value = torch.randn(6, dtype=torch.float64, generator=generator).requires_grad_()
    other = torch.randn(4, 3, dtype=torch.float64, generator=generator).requires_grad_()
    assert gradcheck(product, (value, other))
    if reduce in ("sum", "mean"):
        assert gradgradcheck(product, (value, other))
    else:
        with pytest.raises(RuntimeError, match="autograd"):
            gradgradcheck(product, (value, other))


@pytest.mark.parametrize("reduce", ["sum", "mean", "min", "max"])
@pytest.mark.parametrize("weighted", [False, True])
def test_beside_torch_sparse(reduce: str, weighted: bool) -> None:
    torch_sparse = pytest.importorskip("torch_sparse", reason="compares with torch_sparse")
    generator = torch.Generator().manual_seed(0)
    ids = torch.randint(0, 50, (2, 400), generator=generator)
    results = []
    for cls, product in ((SparseTensor, spmm), (torch_sparse.SparseTensor, torch_sparse.matmul)):
        value = torch.randn(400, dtype=torch.float64, generator=generator.manual_seed(1)).requires_grad_()
        other = torch.randn(60, 7, dtype=torch.float64, generator=generator).requires_grad_()
        adj = cls(row=ids[0], col=ids[1], value=value if weighted else None, sparse_sizes=(55, 60))
        out = product(adj, other, reduce)
        grad = torch.randn(out.shape, dtype=torch.float64, generator=generator)
        leaves = [other, value] if weighted else [other]
        results.append([out, *torch.autograd.grad(out, leaves, grad)])
    for mine, theirs in zip(*results, strict=True):
        torch.testing.assert_close(mine, theirs)


def test_beside_scipy() -> None:
    scipy = pytest.importorskip("scipy.sparse", reason="compares with SciPy")
    mat = scipy.random(300, 200, 0.05, random_state=0, format="csr")
    other = np.random.default_rng(0).normal(size=(200, 33))
    found = spmm(SparseTensor.from_scipy(mat), torch.from_numpy(other))
    np.testing.assert_allclose(found.numpy(), mat @ other)


@pytest.mark.parametrize("dtype", [torch.int8, torch.uint8, torch.int16, torch.int32, torch.int64], ids=str)
@pytest.mark.parametrize("name", BACKENDS)
def test_whole_numbers(dtype: torch.dtype, name: str) -> None:
    adj = SparseTensor.from_edge_index(torch.tensor([[0, 0, 2], [1, 2, 0]]), torch.tensor([2, 3, 4]), (4, 3))
    other = torch.tensor([[1, 2], [3, 4], [5, 6]], dtype=dtype)
    assert spmm(adj, other, backend=name).tolist() == [[21, 26], [0, 0], [4, 8], [0, 0]]
    assert spmm(adj, other, "max", backend=name).tolist() == [[15, 18], [0, 0], [4, 8], [0, 0]]
    assert spmm(adj, other, backend=name).dtype == dtype
    assert spmm(adj, other, "mean", backend=name).tolist() == [[10.5, 13.0], [0, 0], [4, 8], [0, 0]]


def test_any_shape_and_layout_of_the_right_side() -> None:
    adj = SparseTensor.from_edge_index(torch.tensor([[0, 0, 2], [1, 2, 0]]), sparse_sizes=(4, 3))
    other = torch.arange(24.0).view(3, 2, 4)
    expected = torch.stack([other[1] + other[2], torch.zeros(2, 4), other[0], torch.zeros(2, 4)])
    assert torch.equal(spmm(adj, other), expected)
    assert torch.equal(spmm(adj, other[:, :, 0]), expected[:, :, 0])
    assert torch.equal(spmm(adj, other[:, 0, 0]), expected[:, 0, 0])
    assert torch.equal(spmm(adj, other.transpose(0, 2).contiguous().transpose(0, 2)), expected)
    assert spmm(adj, other[:, :0]).shape == (4, 0, 4)


@pytest.mark.parametrize("name", BACKENDS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16, torch.bfloat16], ids=str)
@pytest.mark.parametrize("reduce", REDUCTIONS)
def test_values_without_end_stay_so(name: str, dtype: torch.dtype, reduce: str) -> None:
    value = torch.tensor([1.0, float("inf"), 2.0, 4.0, 8.0, -float("inf")])
    row, col = torch.tensor([0, 0, 1, 1, 1, 2]), torch.tensor([0, 1, 0, 1, 1, 0])
    adj = SparseTensor(row=row, col=col, value=value, sparse_sizes=(3, 2))
    other = torch.ones(2, 3, dtype=dtype)
    found = spmm(adj, other, reduce, backend=name)
    torch.testing.assert_close(found, by_messages(adj, other.double(), reduce).to(dtype))


def test_what_is_not_a_number_wins() -> None:
    adj = SparseTensor.from_edge_index(torch.tensor([[0, 0, 0, 1], [0, 1, 2, 0]]), sparse_sizes=(2, 3))
    other = torch.tensor([[1.0, 2.0], [float("nan"), 0.0], [3.0, float("nan")]])
    for name in BACKENDS:
        for reduce in ("min", "max"):
            out = spmm(adj, other, reduce, backend=name)
            assert out.isnan().tolist() == [[True, True], [False, False]]


@pytest.mark.parametrize("reduce", REDUCTIONS)
def test_the_same_bits_for_any_number_of_threads_and_at_every_run(reduce: str) -> None:
    generator = torch.Generator().manual_seed(0)
    ids = torch.randint(0, 5000, (2, 60_000), generator=generator)
    value = torch.randn(60_000, generator=generator).requires_grad_()
    other = torch.randn(5000, 48, generator=generator).requires_grad_()
    grad = torch.randn(5000, 48, generator=generator)
    adj = SparseTensor.from_edge_index(ids, value, (5000, 5000))
    before = torch.get_num_threads()
    results = []
    try:
        for threads in [1, 2, 3, 4] * 5:
            torch.set_num_threads(threads)
            out = spmm(adj, other, reduce)
            results.append([out, *torch.autograd.grad(out, [other, value], grad, retain_graph=True)])
    finally:
        torch.set_num_threads(before)
    for result in results[1:]:
        assert all(torch.equal(part, first) for part, first in zip(result, results[0], strict=True))


def test_what_the_gradient_needs_is_computed_once_and_kept() -> None:
    adj = SparseTensor.from_edge_index(torch.tensor([[0, 0, 2], [1, 2, 0]]), sparse_sizes=(3, 3))
    other = torch.ones(3, 2, requires_grad=True)
    spmm(adj, other.detach())
    assert "csc_row" not in adj.storage.cache_info()
    spmm(adj, other).sum().backward()
    kept = {key: adj.storage.held(key)[key].data_ptr() for key in ("colptr", "csc_row")}
    spmm(adj, other).sum().backward()
    assert kept == {key: adj.storage.held(key)[key].data_ptr() for key in kept}
    adj.storage.clear_cache_()
    assert adj.storage.cache_info() == {}


def test_a_long_sort_by_column_is_the_short_one() -> None:
    generator = torch.Generator().manual_seed(0)
    ids = torch.randint(0, 3000, (2, 150_000), generator=generator)
    adj = SparseTensor.from_edge_index(ids, sparse_sizes=(3000, 3100))
    order = torch.argsort(adj.storage.col(), stable=True)
    assert torch.equal(adj.storage.csc_row(), adj.storage.row()[order])
    assert torch.equal(adj.storage.csr2csc(), order)
    assert torch.equal(adj.storage.colptr().diff(), torch.bincount(adj.storage.col(), minlength=3100))


@pytest.mark.parametrize("reduce", REDUCTIONS)
def test_compile_and_export_see_one_operator(reduce: str) -> None:
    from gnnlab.sparse import product

    adj = SparseTensor.from_edge_index(torch.tensor([[0, 0, 2], [1, 2, 0]]), torch.rand(3), (3, 3))
    other = torch.randn(3, 4, requires_grad=True)
    parts = adj.storage.rowptr(), adj.storage.col(), adj.storage.value(), other, reduce, "numba"
    transposed = adj.storage.colptr(), adj.storage.csc_row(), adj.storage.csr2csc()
    torch.library.opcheck(product.spmm, (*parts, *transposed), raise_exception=True)

    class Layer(torch.nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return torch.ops.gnnlab.spmm(*parts[:3], x.relu(), *parts[4:], *transposed)

    exported = torch.export.export(Layer(), (other.detach(),))
    assert "gnnlab.spmm" in exported.graph_module.code
    assert torch.equal(exported.module()(other.detach()), spmm(adj, other.relu(), reduce))
    compiled = torch.compile(Layer(), backend="aot_eager", fullgraph=True)
    out = compiled(other)
    out.sum().backward()
    grad, other.grad = other.grad, None
    spmm(adj, other.relu(), reduce).sum().backward()
    assert torch.equal(out, spmm(adj, other.relu(), reduce))
    assert torch.equal(grad, other.grad)


class Products(torch.utils.data.Dataset[Tensor]):
    """Two products, each computed where it is asked for."""

    def __init__(self, adj: SparseTensor, other: Tensor) -> None:
        self.adj, self.other = adj, other

    def __len__(self) -> int:
        return 2

    def __getitem__(self, index: int) -> Tensor:
        return spmm(self.adj, self.other, ["sum", "max"][index])


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_forked_worker_multiplies_after_its_parent_has() -> None:
    generator = torch.Generator().manual_seed(0)
    ids = torch.randint(0, 2000, (2, 40_000), generator=generator)
    adj = SparseTensor.from_edge_index(ids, sparse_sizes=(2000, 2000))
    products = Products(adj, torch.randn(2000, 64, generator=generator))
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        expected = list(products)
        loader = torch.utils.data.DataLoader(
            products, batch_size=None, num_workers=1, timeout=60, multiprocessing_context="fork"
        )
        for found, wanted in zip(loader, expected, strict=True):
            assert torch.equal(found, wanted)
    finally:
        torch.set_num_threads(before)


def test_without_compilation() -> None:
    code = (
        "import torch; from gnnlab.sparse import SparseTensor; from gnnlab.sparse.spmm import spmm;"
        "i = torch.tensor([[0, 0, 0, 0, 0, 2], [1, 2, 0, 1, 2, 0]]);"
        "x = torch.tensor([[1., 2.], [3., 4.], [5., 7.]], requires_grad=True);"
        "v = torch.arange(1., 7.).requires_grad_();"
        "a = SparseTensor(row=i[0], col=i[1], value=v, sparse_sizes=(3, 3));"
        "ys = {(n, r): spmm(a, x.to(d), r, backend=n).float() for n in ('numba', 'torch') "
        "for r in ('sum', 'mean', 'max') for d in [torch.bfloat16]};"
        "torch.stack(list(ys.values())).sum().backward();"
        "assert all(torch.equal(ys['numba', r], ys['torch', r]) for r in ('sum', 'mean', 'max')), ys"
    )
    subprocess.run([sys.executable, "-c", code], check=True, env={**os.environ, "NUMBA_DISABLE_JIT": "1"})


def test_errors_name_what_is_wrong() -> None:
    adj = SparseTensor.from_edge_index(torch.tensor([[0, 0, 2], [1, 2, 0]]), sparse_sizes=(3, 3))
    with pytest.raises(ValueError, match=r"reduce: expected 'sum'.*found 'prod'"):
        spmm(adj, torch.ones(3, 1), "prod")
    with pytest.raises(ValueError, match=r"other: expected one row for each of 3 columns of src, found \[4, 1\]"):
        spmm(adj, torch.ones(4, 1))
    with pytest.raises(TypeError, match="other: expected a tensor, found list"):
        spmm(adj, [[1.0]] * 3)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"other: expected real numbers, found torch\.complex64"):
        spmm(adj, torch.ones(3, 1, dtype=torch.complex64))
    with pytest.raises(TypeError, match=r"other: expected real numbers, found torch\.bool"):
        spmm(adj, torch.ones(3, 1, dtype=torch.bool))
    with pytest.raises(ValueError, match=r"src: expected one number in each entry, found shape \[2\]"):
        spmm(adj.set_value(torch.ones(3, 2)), torch.ones(3, 1))
    with pytest.raises(ValueError, match="other: expected it on cpu as src is, found it on meta"):
        spmm(adj, torch.ones(3, 1, device="meta"))
    with pytest.raises(ValueError, match="backend: expected one of 'numba', 'torch', 'triton', found 'mkl'"):
        spmm(adj, torch.ones(3, 1), backend="mkl")
    assert backend("numba").deterministic
