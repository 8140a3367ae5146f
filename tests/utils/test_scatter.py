from types import ModuleType

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor
from torch.autograd import gradcheck, gradgradcheck

from gnnlab.utils import group_argsort, group_cat, scatter
from tests.utils.graphs import INTEGERS, assert_same

REDUCTIONS = ("sum", "add", "mean", "min", "amin", "max", "amax", "mul", "any")


@st.composite
def groups(draw: st.DrawFn, dtype: torch.dtype = torch.float64) -> tuple[Tensor, Tensor, int]:
    """Small whole numbers, so that ties are many: [n, 2], their groups [n], the number of groups."""
    num_groups = draw(st.integers(1, 5))
    index = draw(st.lists(st.integers(0, num_groups - 1), max_size=12))
    src = draw(st.lists(st.integers(-3, 3), min_size=2 * len(index), max_size=2 * len(index)))
    return torch.tensor(src, dtype=dtype).view(-1, 2), torch.tensor(index, dtype=torch.long), num_groups


def by_hand(src: Tensor, index: Tensor, num_groups: int, reduce: str) -> np.ndarray:
    """One group after the other, in NumPy."""
    reduction = {"sum": np.sum, "mean": np.mean, "min": np.min, "max": np.max, "mul": np.prod}[reduce]
    out = np.full((num_groups, src.size(1)), 1.0 if reduce == "mul" else 0.0)
    for group in set(index.tolist()):
        out[group] = reduction(src.numpy()[index.numpy() == group], axis=0)
    return out


@given(groups(), st.sampled_from(["sum", "mean", "min", "max", "mul"]))
def test_groups_one_by_one(data: tuple[Tensor, Tensor, int], reduce: str) -> None:
    src, index, num_groups = data
    out = scatter(src, index, 0, num_groups, reduce)
    np.testing.assert_allclose(out.numpy(), by_hand(src, index, num_groups, reduce))


@given(data=groups(), reduce=st.sampled_from(REDUCTIONS), dim=st.sampled_from([0, 1, -1, -2]))
def test_values_and_gradients_as_pyg(pyg: ModuleType, data: tuple[Tensor, Tensor, int], reduce: str, dim: int) -> None:
    src, index, num_groups = data
    src = src if dim in (0, -2) else src.t()
    if reduce.removeprefix("a") in ("min", "max") and src.numel():
        src = src - src.min() + 1  # a result of 0 takes a part of the gradient away in PyG, and none in ours: see below
    results = []
    for function in (scatter, pyg.scatter):
        leaf = src.clone().requires_grad_()
        out = function(leaf, index, dim, num_groups, reduce)
        (out * torch.arange(1.0, out.numel() + 1).view(out.shape)).sum().backward()
        results.append((out.detach(), leaf.grad))
    assert_same(*results)


@pytest.mark.parametrize("reduce", ["sum", "mean", "min", "max", "mul"])
def test_gradcheck(reduce: str) -> None:
    src = torch.randn(6, 2, dtype=torch.float64, requires_grad=True)
    index = torch.tensor([0, 0, 3, 3, 3, 1])
    assert gradcheck(lambda x: scatter(x, index, 0, 5, reduce), (src,))
    if reduce in ("sum", "mean"):
        assert gradgradcheck(lambda x: scatter(x, index, 0, 5, reduce), (src,))


def test_the_gradient_of_a_tie_is_shared() -> None:
    src = torch.tensor([2.0, 2.0, 1.0], requires_grad=True)
    scatter(src, torch.tensor([0, 0, 0]), reduce="max").sum().backward()
    assert_same(src.grad, torch.tensor([0.5, 0.5, 0.0]))


@pytest.mark.parametrize("reduce", ["min", "max"])
def test_zeros_that_win_get_the_whole_gradient(reduce: str) -> None:
    src = torch.tensor([[0.0, -0.0], [0.0, 0.0], [0.0, 0.0]], requires_grad=True)
    out = scatter(src, torch.tensor([0, 0, 2]), 0, 4, reduce)
    assert out.tolist() == [[0.0, 0.0]] * 4
    (out * 8).sum().backward()
    assert_same(src.grad, torch.tensor([[4.0, 4.0], [4.0, 4.0], [8.0, 8.0]]))


def test_what_is_not_a_number_stays_so_and_reaches_no_other_place() -> None:
    src = torch.tensor([float("nan"), 1.0, 2.0])
    assert scatter(src, torch.tensor([0, 0, 2]), 0, 4, "max").isnan().tolist() == [True, False, False, False]


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.int8, torch.int64, torch.bool])
@pytest.mark.parametrize("reduce", ["sum", "min", "max", "mul", "any"])
def test_dtypes_stay(pyg: ModuleType, dtype: torch.dtype, reduce: str) -> None:
    src = torch.tensor([0, 3, 2, 1]).to(dtype)
    index = torch.tensor([0, 0, 2, 2])
    out = scatter(src, index, 0, 4, reduce)
    assert out.dtype == dtype
    assert_same(out, pyg.scatter(src, index, 0, 4, reduce))


@pytest.mark.parametrize("dtype", INTEGERS)
def test_every_integer_dtype_indexes(dtype: torch.dtype) -> None:
    out = scatter(torch.tensor([1.0, 2.0, 3.0]), torch.tensor([0, 2, 2]).to(dtype))
    assert_same(out, torch.tensor([1.0, 0.0, 5.0]))


def test_means_of_integers_and_bools_are_exact() -> None:
    # Where PyG sums in the dtype given: 200 overflows int8, and True + True is True.
    assert_same(
        scatter(torch.tensor([100, 100], dtype=torch.int8), torch.tensor([0, 0]), reduce="mean")[0].item(), 100.0
    )
    assert scatter(torch.tensor([True, False]), torch.tensor([0, 0]), reduce="mean").item() == 0.5


def test_means_of_many_halves_are_right() -> None:
    # A count kept in float16 would stop at 2048.
    out = scatter(torch.full((4096,), 0.25, dtype=torch.float16), torch.arange(4096) // 4096, reduce="mean")
    assert out.item() == pytest.approx(0.25, rel=1e-2)


def test_extremes_pass_nan_and_infinity() -> None:
    src = torch.tensor([float("nan"), 1.0, float("-inf")])
    out = scatter(src, torch.tensor([0, 0, 1]), 0, 3, "max")
    assert_same(out, torch.tensor([float("nan"), float("-inf"), 0.0]))


@pytest.mark.parametrize("reduce", REDUCTIONS)
def test_nothing_to_reduce(reduce: str) -> None:
    index = torch.empty(0, dtype=torch.long)
    assert scatter(torch.empty(0, 3), index, reduce=reduce).shape == (0, 3)
    fill = 1.0 if reduce == "mul" else 0.0
    assert_same(scatter(torch.empty(0, 3), index, 0, 2, reduce), torch.full((2, 3), fill))


@pytest.mark.parametrize(
    ("index", "dim", "error", "message"),
    [
        (torch.tensor([0, 1, 3]), 0, IndexError, r"index: expected values in \[0, 3\), found 3"),
        (torch.tensor([0, -1, 2]), 0, IndexError, r"index: expected values in \[0, 3\), found -1"),
        (torch.tensor([0.0, 1.0, 2.0]), 0, ValueError, "index: expected an integer dtype, found torch.float32"),
        (torch.tensor([True, False, True]), 0, ValueError, "index: expected an integer dtype, found torch.bool"),
        (torch.tensor([[0, 1, 2]]), 0, ValueError, "index: expected one dimension"),
        (torch.tensor([0, 1]), 0, ValueError, "index: expected one entry for each of 3 along dim 0 of src, found 2"),
        ([0, 1, 2], 0, ValueError, "index: expected a tensor of integers, found list"),
        (torch.tensor([0, 1, 2]), 1, ValueError, "dim: expected a dimension"),
        (torch.tensor([0, 1, 2]), -2, ValueError, "dim: expected a dimension"),
    ],
)
@pytest.mark.parametrize("reduce", REDUCTIONS)
def test_errors(index: Tensor, dim: int, error: type[Exception], message: str, reduce: str) -> None:
    with pytest.raises(error, match=message):
        scatter(torch.rand(3), index, dim, 3, reduce)


def test_negative_index_without_a_size() -> None:
    with pytest.raises(IndexError, match="index: expected values in"):
        scatter(torch.rand(3), torch.tensor([0, -1, 2]))


def test_unknown_reduction() -> None:
    with pytest.raises(ValueError, match=r"reduce: expected one of .*, found 'median'"):
        scatter(torch.rand(3), torch.tensor([0, 1, 2]), reduce="median")


def test_torch_errors_that_are_not_about_the_index_pass() -> None:
    with pytest.raises(RuntimeError, match="negative dimension"):
        scatter(torch.rand(0), torch.empty(0, dtype=torch.long), dim_size=-1)


def test_compiles() -> None:
    index = torch.tensor([0, 2, 2])
    compiled = torch.compile(lambda x: scatter(x, index, 0, 3, "mean"), backend="eager", fullgraph=True)
    src = torch.rand(3, 2)
    assert_same(compiled(src), scatter(src, index, 0, 3, "mean"))


# group_argsort


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(-3, 3)), max_size=12), st.booleans(), st.booleans())
def test_group_argsort_one_by_one(pairs: list[tuple[int, int]], descending: bool, return_consecutive: bool) -> None:
    index = torch.tensor([group for group, _ in pairs], dtype=torch.long)
    src = torch.tensor([value for _, value in pairs], dtype=torch.float32)
    out = group_argsort(src, index, descending=descending, return_consecutive=return_consecutive, stable=True)
    sign = -1 if descending else 1
    order = sorted(range(len(pairs)), key=lambda i: (pairs[i][0], sign * pairs[i][1], i))
    place = {i: k for k, i in enumerate(order)}
    first = {g: min(place[i] for i, (h, _) in enumerate(pairs) if h == g) for g, _ in pairs}
    expected = [place[i] - (0 if return_consecutive else first[g]) for i, (g, _) in enumerate(pairs)]
    assert out.dtype == torch.long
    assert out.tolist() == expected


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("return_consecutive", [False, True])
def test_group_argsort_as_pyg(pyg: ModuleType, descending: bool, return_consecutive: bool) -> None:
    src = torch.tensor([3.0, 1.5, -2.0, 5.0, 4.0, 0.5])
    index = torch.tensor([2, 0, 1, 1, 2, 0])
    arguments = {"descending": descending, "return_consecutive": return_consecutive, "num_groups": 3}
    assert_same(group_argsort(src, index, **arguments), pyg.group_argsort(src, index, **arguments))


def test_group_argsort_errors() -> None:
    with pytest.raises(ValueError, match="src: expected one entry for each of 2 in index"):
        group_argsort(torch.rand(3), torch.tensor([0, 1]))
    with pytest.raises(IndexError, match="index: expected values in"):
        group_argsort(torch.rand(2), torch.tensor([0, 2]), num_groups=2)


# group_cat


def test_group_cat_as_pyg(pyg: ModuleType) -> None:
    tensors = [torch.arange(6.0).view(3, 2), torch.arange(4.0).view(2, 2)]
    indices = [torch.tensor([0, 0, 2]), torch.tensor([1, 2])]
    assert_same(group_cat(tensors, indices), pyg.group_cat(tensors, indices))
    sideways = [tensor.t() for tensor in tensors]
    assert_same(
        group_cat(sideways, indices, dim=1, return_index=True),
        pyg.group_cat(sideways, indices, dim=1, return_index=True),
    )


def test_group_cat_keeps_the_order_within_a_group() -> None:
    out, index = group_cat(
        [torch.tensor([1, 2]), torch.tensor([3, 4])],
        [torch.tensor([1, 0]), torch.tensor([0, 1])],
        return_index=True,
    )
    assert out.tolist() == [2, 3, 1, 4]
    assert index.tolist() == [0, 0, 1, 1]


def test_group_cat_errors() -> None:
    with pytest.raises(ValueError, match="indices: expected one for each of the tensors"):
        group_cat([], [])
    with pytest.raises(ValueError, match=r"indices\[1\]: expected 2 entries"):
        group_cat([torch.rand(1), torch.rand(2)], [torch.tensor([0]), torch.tensor([0])])
