"""Sparse times sparse, by sorting and by kernels, against the dense product, SciPy and finite differences."""

import os
import subprocess
import sys
from contextlib import contextmanager

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.autograd import gradcheck, gradgradcheck

from gnnlab.sparse import SparseTensor, matmul
from gnnlab.sparse import spspmm as module
from tests.sparse.matrices import check, dense, entries, matrices

ids = torch.tensor
WAYS = {"sorting": 1 << 60, "kernels": -1}


@contextmanager
def going(way):
    """Takes one of the two ways, however many products there are."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_WORTH_KERNELS", WAYS[way])
        yield


@pytest.fixture(params=WAYS)
def way(request):
    with going(request.param):
        yield


@st.composite
def pairs(draw):
    middle = draw(st.integers(0, 6))
    kinds = ("none", "float64", "int64", "bool")
    return draw(matrices(cols=middle, values=kinds)), draw(matrices(rows=middle, values=kinds))


@pytest.mark.parametrize("name", WAYS)
@settings(max_examples=50)
@given(pair=pairs())
def test_the_product_is_that_of_the_dense_matrices(name, pair):
    a, b = pair
    with going(name):
        out = check(a @ b)
    assert out.is_coalesced()
    assert out.sizes() == [a.size(0), b.size(1)]
    counts = dense(a.set_value(None)) @ dense(b.set_value(None))
    assert (dense(out.set_value(None)) == (counts > 0)).all()
    if not a.has_value() and not b.has_value():
        assert not out.has_value()
        return
    expected = torch.promote_types(*(m.dtype() if m.has_value() else torch.bool for m in pair))
    assert out.dtype() == expected
    # Bools with bools are any of all; beside other numbers they count as 0 or 1, however often an entry is there.
    full = [dense(m.set_value(m.storage.value().to(expected)) if m.has_value() else m) for m in pair]
    product = full[0] @ full[1]
    assert (dense(out) == (product > 0 if expected == torch.bool else product)).all()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.int32, torch.complex64])
def test_scipy_says_the_same(way, dtype):
    generator = torch.Generator().manual_seed(0)
    a, b = (
        SparseTensor(
            row=torch.randint(40, (300,), generator=generator),
            col=torch.randint(40, (300,), generator=generator),
            value=torch.randint(-9, 10, (300,), generator=generator).to(dtype),
            sparse_sizes=(40, 40),
        )
        for _ in range(2)
    )
    out = a @ b
    assert out.dtype() == dtype
    expected = a.to_scipy("csr") @ b.to_scipy("csr")
    assert (out.to_scipy().toarray() == expected.toarray()).all()


def test_both_ways_give_the_same_bits():
    generator = torch.Generator().manual_seed(1)
    index = torch.randint(30, (2, 200), generator=generator)
    src = SparseTensor.from_edge_index(index, torch.rand(200, generator=generator), (30, 30))
    outs = []
    for name in WAYS:
        with going(name):
            outs.append(src @ src)
    assert outs[0] == outs[1]


def test_many_products_take_the_kernels_and_few_do_not(monkeypatch):
    taken = []
    by_kernel = module._by_kernel
    monkeypatch.setattr(module, "_by_kernel", lambda *a: taken.append(a) or by_kernel(*a))
    full = SparseTensor.from_dense(torch.ones(20, 20), has_value=False)
    assert entries(full @ full) == entries(full)
    assert not taken
    full = SparseTensor.from_dense(torch.ones(50, 50))
    assert torch.equal((full @ full).to_dense(), torch.full((50, 50), 50.0))
    assert len(taken) == 1


def test_an_entry_that_cancels_out_stays(way):
    a = SparseTensor(row=ids([0, 0]), col=ids([0, 1]), value=ids([1.0, -1.0]))
    b = SparseTensor(row=ids([0, 1]), col=ids([0, 0]), value=ids([1.0, 1.0]))
    assert entries(a @ b) == [(0, 0, 0.0)]


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_sums_of_16_bit_numbers_are_formed_in_float32(way, dtype):
    """4,096 and then 8 times 1: in 16 bits each step would be rounded away."""
    row = SparseTensor.from_dense(ids([[4096.0, *[1.0] * 8]]).to(dtype))
    out = row @ SparseTensor.from_dense(torch.ones(9, 1, dtype=dtype))
    assert out.storage.value().tolist() == torch.tensor([4104.0]).to(dtype).tolist()


def test_sums_of_300_bools_are_true(way):
    ones = SparseTensor.from_dense(torch.ones(256, 1, dtype=torch.bool))
    assert entries(ones.t() @ ones) == [(0, 0, True)]


def test_values_of_any_shape_are_multiplied_position_by_position(way):
    a = SparseTensor.from_dense(torch.arange(1.0, 7.0).view(1, 3, 2))
    b = SparseTensor.from_dense(torch.arange(1.0, 4.0).view(3, 1))
    out = check(a @ b)
    assert out.sizes() == [1, 1, 2]
    assert out.storage.value().tolist() == [[22.0, 28.0]]
    assert (b.t() @ a.set_value(None).t()).sizes() == [1, 1]
    with pytest.raises(
        ValueError, match=r"values of entries must have shapes that fit each other, found \[2\] and \[3\]"
    ):
        _ = a @ b.set_value(torch.ones(3, 3))


@pytest.mark.parametrize("shape", [(), (2,)])
@pytest.mark.parametrize("dtype", [torch.float64, torch.complex128])
def test_gradients_of_first_and_second_order(way, shape, dtype):
    index_a, index_b = ids([[0, 0, 1, 1, 2], [1, 2, 0, 0, 2]]), ids([[0, 1, 2, 2], [1, 1, 0, 1]])
    generator = torch.Generator().manual_seed(2)
    values = [torch.randn(n, *shape, dtype=dtype, generator=generator).requires_grad_() for n in (5, 4)]

    def product(a, b):
        left = SparseTensor.from_edge_index(index_a, a, (3, 3), is_sorted=True)
        right = SparseTensor.from_edge_index(index_b, b, (3, 2), is_sorted=True)
        return (left @ right).storage.value()

    assert gradcheck(product, values)
    assert gradgradcheck(product, values)


def test_gradients_flow_where_one_side_is_a_pattern(way):
    pattern = SparseTensor.from_dense(torch.ones(2, 3), has_value=False)
    src = SparseTensor.from_dense(torch.ones(3, 2)).requires_grad_()
    ((pattern @ src).storage.value() ** 2).sum().backward()
    assert src.storage.value().grad.tolist() == [12.0] * 6


def test_torch_sparses_matrices_are_taken():
    torch_sparse = pytest.importorskip(
        "torch_sparse", reason="torch-sparse is not installed: it is compiled from source"
    )
    eye = SparseTensor.eye(3)
    assert eye @ torch_sparse.SparseTensor.eye(3) == eye


def test_matmul_goes_by_what_stands_to_the_right():
    src = SparseTensor(row=ids([0, 0]), col=ids([0, 1]), value=ids([2.0, 3.0]), sparse_sizes=(2, 2))
    x = ids([[1.0], [10.0]])
    assert (src @ x).tolist() == src.matmul(x, "add").tolist() == src.spmm(x).tolist() == [[32.0], [0.0]]
    assert matmul(src, x, reduce="max").tolist() == src.spmm(x, "max", backend="torch").tolist() == [[30.0], [0.0]]
    assert src @ src == src.matmul(src, "add") == src.spspmm(src)
    assert entries(src.spspmm(src)) == [(0, 0, 4.0), (0, 1, 6.0)]


@pytest.mark.filterwarnings("ignore:Sparse invariant checks are implicitly disabled:UserWarning")
def test_what_does_not_fit_is_named():
    src = SparseTensor.eye(2, 3)
    with pytest.raises(ValueError, match="other must have as many rows as src has columns, 3, found 2"):
        _ = src @ src
    for call in (src.matmul, src.spspmm):
        with pytest.raises(
            ValueError, match=r"reduce must be 'sum' \(or 'add'\) between sparse matrices, found 'mean'"
        ):
            call(src.t(), "mean")
    with pytest.raises(ValueError, match="other must be on cpu as src is, found meta"):
        _ = src @ src.t().to("meta")
    for other, name in [
        (2.0, "float"),
        (torch.eye(3).to_sparse(), "torch.sparse_coo"),
        (src.to_scipy().T, "coo_matrix"),
    ]:
        with pytest.raises(TypeError, match=f"other must be a SparseTensor or a dense tensor, found {name}"):
            _ = src @ other


def test_without_compilation():
    code = (
        "import torch; from gnnlab.sparse import SparseTensor, spspmm as m; m._WORTH_KERNELS = -1;"
        "v = torch.ones(9, requires_grad=True);"
        "a = SparseTensor.from_dense(torch.ones(3, 3)).set_value(v);"
        "o = (a @ a).storage.value(); o.sum().backward();"
        "assert o.tolist() == [3.0] * 9 and v.grad.tolist() == [6.0] * 9"
    )
    subprocess.run([sys.executable, "-c", code], check=True, env={**os.environ, "NUMBA_DISABLE_JIT": "1"})
