from itertools import pairwise
from types import ModuleType

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor
from torch.autograd import gradcheck

from gnnlab.utils import cumsum, scatter, segment, segment_logsumexp, softmax
from tests.utils.graphs import INTEGERS, assert_same


@st.composite
def segments(draw: st.DrawFn) -> tuple[Tensor, Tensor]:
    """[n, 2] whole numbers and pointers over them, some segments empty."""
    sizes = draw(st.lists(st.integers(0, 4), min_size=1, max_size=5))
    ptr = cumsum(torch.tensor(sizes))
    values = draw(st.lists(st.integers(-3, 3), min_size=2 * sum(sizes), max_size=2 * sum(sizes)))
    return torch.tensor(values, dtype=torch.float64).view(-1, 2), ptr


def index_of(ptr: Tensor) -> Tensor:
    return torch.arange(ptr.numel() - 1).repeat_interleave(ptr.diff())


@given(segments(), st.sampled_from(["sum", "mean", "min", "max", "mul"]))
def test_segment_is_scatter_of_a_sorted_index(data: tuple[Tensor, Tensor], reduce: str) -> None:
    src, ptr = data
    assert_same(segment(src, ptr, reduce), scatter(src, index_of(ptr), 0, ptr.numel() - 1, reduce))
    assert_same(segment(src.t(), ptr, reduce, dim=1), segment(src, ptr, reduce).t())


@given(data=segments(), reduce=st.sampled_from(["sum", "mean", "min", "max"]))
def test_segment_as_pyg(pyg: ModuleType, data: tuple[Tensor, Tensor], reduce: str) -> None:
    src, ptr = data
    assert_same(segment(src, ptr, reduce), pyg.segment(src, ptr, reduce))


@pytest.mark.parametrize("reduce", ["sum", "mean", "min", "max"])
def test_gradients_as_pyg(pyg: ModuleType, reduce: str) -> None:
    src, ptr = torch.randn(6, 2, dtype=torch.float64), torch.tensor([0, 2, 2, 5, 6])
    grads = []
    for function in (segment, pyg.segment):
        leaf = src.clone().requires_grad_()
        function(leaf, ptr, reduce).pow(2).sum().backward()
        grads.append(leaf.grad)
    assert_same(*grads)


@pytest.mark.parametrize("reduce", ["sum", "mean", "min", "max", "mul"])
def test_gradcheck(reduce: str) -> None:
    src = torch.randn(5, 2, dtype=torch.float64, requires_grad=True)
    assert gradcheck(lambda x: segment(x, torch.tensor([0, 2, 2, 5]), reduce), (src,))


def test_rows_outside_of_the_pointers_belong_to_no_segment() -> None:
    assert_same(segment(torch.tensor([1.0, 2.0, 3.0, 4.0]), torch.tensor([1, 2, 3])), torch.tensor([2.0, 3.0]))


@pytest.mark.parametrize("dtype", [*INTEGERS, torch.float16, torch.bfloat16, torch.bool])
def test_dtypes_of_values(dtype: torch.dtype) -> None:
    out = segment(torch.tensor([0, 1, 1]).to(dtype), torch.tensor([0, 2, 3]), "max")
    assert_same(out, torch.tensor([1, 1]).to(dtype))


@pytest.mark.parametrize("dtype", INTEGERS)
def test_dtypes_of_pointers(dtype: torch.dtype) -> None:
    assert_same(segment(torch.tensor([1.0, 2.0, 3.0]), torch.tensor([0, 1, 3]).to(dtype)), torch.tensor([1.0, 5.0]))


@pytest.mark.parametrize(
    ("ptr", "error", "message"),
    [
        (torch.tensor([0, 4]), IndexError, r"ptr: expected pointers in \[0, 3\], found 4"),
        (torch.tensor([-1, 2]), IndexError, "ptr: .* found -1"),
        (torch.tensor([0, 3, 2]), ValueError, "ptr: expected pointers that never fall"),
        (torch.tensor([0.0, 3.0]), ValueError, "ptr: expected an integer dtype"),
        (torch.tensor([[0, 3]]), ValueError, "ptr: expected one dimension"),
        (torch.empty(0, dtype=torch.long), ValueError, "ptr: expected num_segments . 1 pointers, found none"),
    ],
)
def test_errors(ptr: Tensor, error: type[Exception], message: str) -> None:
    for function in (segment, lambda src, ptr: softmax(src, ptr=ptr), lambda src, ptr: segment_logsumexp(src, ptr, 0)):
        with pytest.raises(error, match=message):
            function(torch.rand(3), ptr)


# segment_logsumexp


@given(segments())
def test_logsumexp_one_by_one(data: tuple[Tensor, Tensor]) -> None:
    src, ptr = data
    rows = [src[a:b].logsumexp(0) if b > a else src.new_zeros(2) for a, b in pairwise(ptr)]
    assert_same(segment_logsumexp(src, ptr, 0), torch.stack(rows))
    assert_same(segment_logsumexp(src.t(), ptr, -1), torch.stack(rows).t())


def test_logsumexp_as_pyg(pyg: ModuleType) -> None:
    src, ptr = torch.randn(6, 2), torch.tensor([0, 2, 2, 5, 6])
    assert_same(segment_logsumexp(src, ptr, 0), pyg.segment_logsumexp(src, ptr, 0))


def test_logsumexp_of_extremes() -> None:
    src = torch.tensor([1000.0, 1000.0, float("-inf"), float("-inf")])
    out = segment_logsumexp(src, torch.tensor([0, 2, 4]), 0)
    assert_same(out, torch.tensor([1000.0 + torch.tensor(2.0).log(), float("-inf")]))


def test_logsumexp_gradcheck() -> None:
    src = torch.randn(5, 2, dtype=torch.float64, requires_grad=True)
    assert gradcheck(lambda x: segment_logsumexp(x, torch.tensor([0, 2, 2, 5]), 0), (src,))


# softmax


@given(segments())
def test_softmax_sums_to_one_in_each_group(data: tuple[Tensor, Tensor]) -> None:
    src, ptr = data
    out = softmax(src, ptr=ptr)
    filled = (ptr.diff() > 0).to(src.dtype).view(-1, 1).expand(-1, 2)
    assert_same(segment(out, ptr), filled)
    assert_same(out, softmax(src, index_of(ptr), num_nodes=ptr.numel() - 1))


@given(data=segments(), shuffle=st.randoms(use_true_random=False))
def test_softmax_as_pyg(pyg: ModuleType, data: tuple[Tensor, Tensor], shuffle: object) -> None:
    src, ptr = data
    index = index_of(ptr)[torch.randperm(src.size(0), generator=torch.Generator().manual_seed(shuffle.randint(0, 99)))]
    results = []
    for function in (softmax, pyg.softmax):
        leaf = src.clone().requires_grad_()
        out = function(leaf, index)
        out.pow(2).sum().backward()
        results.append((out.detach(), leaf.grad))
    assert_same(*results)
    assert_same(softmax(src.t(), index, dim=1), pyg.softmax(src.t(), index, dim=1))
    assert_same(softmax(src, ptr=ptr), pyg.softmax(src, ptr=ptr))


def test_softmax_of_one_group_is_torch_softmax() -> None:
    src = torch.tensor([1000.0, 999.0, float("-inf")])
    assert_same(softmax(src, torch.zeros(3, dtype=torch.long)), src.softmax(0))


def test_softmax_of_nothing_but_minus_infinity_is_nan() -> None:
    out = softmax(torch.tensor([float("-inf"), 1.0]), torch.tensor([0, 1]))
    assert_same(out, torch.tensor([float("nan"), 1.0]))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_softmax_in_half(dtype: torch.dtype) -> None:
    out = softmax(torch.tensor([1.0, 2.0, 3.0], dtype=dtype), torch.tensor([0, 0, 1]))
    assert out.dtype == dtype
    torch.testing.assert_close(out[:2].sum(), torch.ones((), dtype=dtype), rtol=0.02, atol=0)


def test_softmax_gradcheck() -> None:
    src = torch.randn(5, 2, dtype=torch.float64, requires_grad=True)
    assert gradcheck(lambda x: softmax(x, torch.tensor([2, 0, 2, 0, 3])), (src,))


def test_softmax_errors() -> None:
    with pytest.raises(ValueError, match="index: expected `index` or `ptr`, found neither"):
        softmax(torch.rand(2))
    with pytest.raises(IndexError, match=r"index: expected values in \[0, 2\), found 2"):
        softmax(torch.rand(2), torch.tensor([0, 2]), num_nodes=2)
    with pytest.raises(ValueError, match="index: expected one entry for each of 3"):
        softmax(torch.rand(3), ptr=torch.tensor([0, 2]))


# cumsum


@pytest.mark.parametrize("dtype", [torch.int32, torch.int64, torch.float32])
@pytest.mark.parametrize("dim", [0, 1])
def test_cumsum_as_pyg(pyg: ModuleType, dtype: torch.dtype, dim: int) -> None:
    x = torch.tensor([[2, 0, 3], [1, 1, 4]]).to(dtype)
    assert_same(cumsum(x, dim), pyg.cumsum(x, dim))


def test_cumsum_along_the_last() -> None:
    assert cumsum(torch.tensor([[2, 3]]), dim=-1).tolist() == [[0, 2, 5]]
    assert cumsum(torch.empty(0, dtype=torch.long)).tolist() == [0]
