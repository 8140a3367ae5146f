"""The Triton backend against exact arithmetic and the numba backend: on a GPU, or in Triton's interpreter.

`test_triton.py` runs this file in a process of its own, with `TRITON_INTERPRET=1`, which Triton reads at its import.
"""

from itertools import product

import pytest
import torch
import triton
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.autograd import gradcheck, gradgradcheck

from gnnlab.sparse import SparseTensor
from gnnlab.sparse import triton_kernels as kernels
from gnnlab.sparse.backends import Pattern, backend
from gnnlab.sparse.spmm import spmm
from gnnlab.sparse.triton_backend import TritonBackend

DEVICE = "cpu" if not isinstance(kernels.reduce_rows, triton.JITFunction) else "cuda"
REDUCTIONS = ["sum", "mean", "min", "max"]
FLOATS = [torch.float32, torch.float64, torch.bfloat16, torch.float16]

#: Entries of each row: none, fewer than a piece, as many, several pieces; pieces end inside and between rows.
COUNTS = [0, 3, 8, 27, 1, 0, 9]
PIECES = TritonBackend(piece=8)

# Every width with and without values in float32, the other dtypes once each.
CASES = [
    *product([torch.float32], [1, 3, 64, 130], [False, True]),
    *product([torch.float64, torch.bfloat16, torch.float16], [3], [False, True]),
]


def random(*shape: int, dtype: torch.dtype, seed: int) -> Tensor:
    """Few different numbers, so that some tie, whose products and sums are exact in every dtype."""
    return (torch.randint(-3, 4, shape, generator=torch.Generator().manual_seed(seed)) / 4).to(dtype)


def matrix(counts: list[int], num_cols: int = 6, value: Tensor | None = None) -> SparseTensor:
    rowptr = torch.tensor([0, *counts]).cumsum(0)
    col = torch.randint(0, num_cols, (sum(counts),), generator=torch.Generator().manual_seed(1))
    sizes = len(counts), num_cols
    return SparseTensor(rowptr=rowptr, col=col, value=value, sparse_sizes=sizes, is_sorted=True, trust_data=True)


def pattern(adj: SparseTensor) -> Pattern:
    return Pattern(adj.storage.rowptr().to(DEVICE), adj.storage.col().to(DEVICE))


def exact(adj: SparseTensor, x: Tensor, value: Tensor | None, reduce: str) -> Tensor:
    """Row by row in float64. An extreme's gradient is shared evenly, as torch does along a dimension."""
    messages = x[adj.storage.col()] if value is None else x[adj.storage.col()] * value[:, None]
    function = {"sum": Tensor.sum, "mean": Tensor.mean, "min": Tensor.amin, "max": Tensor.amax}[reduce]
    rows = messages.split(adj.storage.rowptr().diff().tolist())
    return torch.stack([function(row, 0) if len(row) else x.new_zeros(x.size(1)) for row in rows])


@pytest.mark.parametrize("reduce", REDUCTIONS)
@pytest.mark.parametrize(("dtype", "width", "weighted"), CASES, ids=str)
def test_products_and_gradients(dtype: torch.dtype, width: int, weighted: bool, reduce: str) -> None:
    adj = matrix(COUNTS)
    x = random(6, width, dtype=dtype, seed=2)
    value = random(adj.nnz(), dtype=dtype, seed=3) if weighted else None
    leaves = [part.double().requires_grad_() for part in (x, value) if part is not None]
    expected = exact(adj, leaves[0], leaves[1] if weighted else None, reduce)
    given = None if value is None else value.to(DEVICE)
    found = PIECES.multiply(pattern(adj), given, x.to(DEVICE), reduce)
    assert found.dtype == dtype
    # The interpreter rounds bfloat16 towards zero.
    loose = {"rtol": 1e-2, "atol": 1e-3} if dtype == torch.bfloat16 else {}
    torch.testing.assert_close(found.cpu(), expected.to(dtype), **loose)
    numba = backend("numba")
    torch.testing.assert_close(
        found.cpu(), numba.multiply(Pattern(*map(Tensor.cpu, pattern(adj))), value, x, reduce), **loose
    )
    if reduce == "mean":
        return
    grad = random(len(COUNTS), width, dtype=dtype, seed=4)
    wanted = torch.autograd.grad(expected, leaves, grad.double())
    parts = [part.to(DEVICE) for part in (x, found, grad)]
    transposed = Pattern(adj.storage.colptr().to(DEVICE), adj.storage.csc_row().to(DEVICE))
    order = adj.storage.csr2csc().to(DEVICE)
    if reduce == "sum":
        dots = PIECES.dots(pattern(adj), parts[2], parts[0]) if weighted else None
        by_column = None if given is None else given[order]
        grads = PIECES.multiply(transposed, by_column, parts[2], "sum"), dots
    else:
        grads = PIECES.extreme_backward(pattern(adj), transposed, order, given, *parts)
    for part, right in zip(grads, wanted, strict=False):
        torch.testing.assert_close(part.cpu(), right.to(dtype), rtol=2e-2 if dtype in FLOATS[2:] else 1e-5, atol=2e-2)
    assert (grads[1] is None) == (not weighted)


@pytest.mark.parametrize("dtype", [torch.int8, torch.uint8, torch.int64], ids=str)
@pytest.mark.parametrize("reduce", ["sum", "min", "max"])
def test_whole_numbers(dtype: torch.dtype, reduce: str) -> None:
    adj = matrix(COUNTS)
    generator = torch.Generator().manual_seed(0)
    x, value = (torch.randint(0, 5, size, generator=generator).to(dtype) for size in ((6, 3), (adj.nnz(),)))
    found = PIECES.multiply(pattern(adj), value.to(DEVICE), x.to(DEVICE), reduce).cpu()
    assert torch.equal(found, backend("numba").multiply(pattern(adj), value, x, reduce))


@settings(max_examples=25)
@given(st.lists(st.integers(0, 14), min_size=1, max_size=6), st.integers(1, 5))
def test_pieces_of_any_length_join_to_the_whole_row(counts: list[int], piece: int) -> None:
    adj = matrix(counts)
    x = torch.tensor([[1], [10], [100], [1000], [10_000], [100_000]])
    found = TritonBackend(piece).multiply(pattern(adj), None, x.to(DEVICE), "sum")
    assert torch.equal(found.cpu(), exact(adj, x.double(), None, "sum").long())


@pytest.mark.parametrize("counts", [[], [0, 0]])
@pytest.mark.parametrize("width", [0, 2])
def test_without_entries(counts: list[int], width: int) -> None:
    adj, x = matrix(counts), torch.ones(6, width, device=DEVICE)
    for reduce in REDUCTIONS:
        assert torch.equal(PIECES.multiply(pattern(adj), None, x, reduce).cpu(), torch.zeros(len(counts), width))
    assert PIECES.dots(pattern(adj), torch.ones(len(counts), width, device=DEVICE), x).shape == (0,)


def test_dots_of_no_columns_are_zero() -> None:
    found = PIECES.dots(pattern(matrix([2, 1])), torch.ones(2, 0, device=DEVICE), torch.ones(6, 0, device=DEVICE))
    assert found.tolist() == [0, 0, 0]


def test_what_is_not_a_number_wins_and_what_has_no_end_stays() -> None:
    adj = SparseTensor.from_edge_index(torch.tensor([[0, 0, 0, 1], [0, 1, 2, 0]]), sparse_sizes=(2, 3)).to(DEVICE)
    other = torch.tensor([[1.0, float("inf")], [float("nan"), 0.0], [3.0, -float("inf")]], device=DEVICE)
    for reduce, second in (("min", -float("inf")), ("max", float("inf"))):
        out = spmm(adj, other, reduce, backend="triton")
        assert out.isnan().tolist() == [[True, False], [False, False]]
        assert out[0, 1] == second
    assert spmm(adj, other[:1].expand(3, 2), backend="triton").tolist() == [[3, float("inf")], [1, float("inf")]]


@pytest.mark.parametrize("reduce", REDUCTIONS)
def test_through_the_operator(reduce: str) -> None:
    ids = torch.tensor([[0, 0, 0, 2], [1, 2, 1, 0]], device=DEVICE)

    def multiplied(value: Tensor, other: Tensor) -> Tensor:
        return spmm(SparseTensor.from_edge_index(ids, value, (3, 3)), other, reduce, backend="triton")

    generator = torch.Generator().manual_seed(1)
    value = torch.randn(4, dtype=torch.float64, generator=generator).to(DEVICE).requires_grad_()
    other = torch.randn(2, 3, dtype=torch.float64, generator=generator).to(DEVICE).t().requires_grad_()
    assert not other.is_contiguous()
    assert gradcheck(multiplied, (value, other))
    if reduce == "sum":
        assert gradgradcheck(multiplied, (value, other))
