from types import ModuleType

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from gnnlab.utils import index_to_mask, mask_select, mask_to_index, narrow, select
from gnnlab.utils.map import map_index
from tests.utils.graphs import INTEGERS, assert_same

GRID = torch.arange(6).view(2, 3)
ENDS = torch.tensor([True, False, True])


@given(st.lists(st.booleans()))
def test_masks_and_indices_are_inverse(mask: list[bool]) -> None:
    mask = torch.tensor(mask, dtype=torch.bool)
    assert_same(index_to_mask(mask_to_index(mask), mask.numel()), mask)


@pytest.mark.parametrize("size", [None, 6])
@pytest.mark.parametrize(
    "index", [torch.tensor([1, 3]), torch.tensor([[3, 1], [0, 3]]), torch.tensor([2], dtype=torch.int32)]
)
def test_index_to_mask_as_pyg(pyg: ModuleType, index: torch.Tensor, size: int | None) -> None:
    assert_same(index_to_mask(index, size), pyg.index_to_mask(index, size))


def test_other_masks_as_pyg(pyg: ModuleType) -> None:
    assert_same(mask_to_index(ENDS), pyg.mask_to_index(ENDS))
    for dim in (1, -1):
        assert_same(mask_select(GRID, dim, ENDS), pyg.mask_select(GRID, dim, ENDS))
        assert_same(select(GRID, ENDS, dim), pyg.select(GRID, ENDS, dim))
        assert_same(select(GRID, torch.tensor([2, 0]), dim), pyg.select(GRID, torch.tensor([2, 0]), dim))
        assert_same(narrow(GRID, dim, 1, 2), pyg.narrow(GRID, dim, 1, 2))
    names = ["a", "b", "c"]
    assert_same(select(names, ENDS, 0), pyg.select(names, ENDS, 0))
    assert_same(select(tuple(names), torch.tensor([2, 0]), 0), pyg.select(tuple(names), torch.tensor([2, 0]), 0))
    assert_same(narrow(names, 0, 1, 2), pyg.narrow(names, 0, 1, 2))


@pytest.mark.parametrize("dtype", INTEGERS)
def test_every_integer_dtype(dtype: torch.dtype) -> None:
    index = torch.tensor([2, 0]).to(dtype)
    assert index_to_mask(index).tolist() == [True, False, True]
    assert select(torch.tensor([5, 6, 7]), index, 0).tolist() == [7, 5]
    assert select(["a", "b", "c"], index, 0) == ["c", "a"]
    assert_same(
        map_index(index, torch.tensor([0, 2]).to(dtype), inclusive=True), (torch.tensor([1, 0]).to(dtype), None)
    )


def test_nothing() -> None:
    assert index_to_mask(torch.empty(0, dtype=torch.long)).shape == (0,)
    assert mask_select(GRID, 1, torch.zeros(3, dtype=torch.bool)).shape == (2, 0)
    assert select(["a"], torch.empty(0, dtype=torch.long), 0) == []


def test_errors() -> None:
    with pytest.raises(IndexError, match=r"index: expected values in \[0, 2\), found 3"):
        index_to_mask(torch.tensor([3]), 2)
    with pytest.raises(IndexError, match=r"index: expected values in \[0, 3\), found -1"):
        index_to_mask(torch.tensor([-1]), 3)
    with pytest.raises(ValueError, match="index: expected an integer dtype"):
        index_to_mask(ENDS)
    with pytest.raises(ValueError, match=r"mask: expected one dimension, found shape \[1, 3\]"):
        mask_to_index(ENDS.view(1, 3))
    with pytest.raises(ValueError, match=r"mask: expected \[2\] bool, as src along dim 0, found \[3\]"):
        mask_select(GRID, 0, ENDS)
    with pytest.raises(ValueError, match=r"mask: expected \[3\] bool, .* torch.int64"):
        mask_select(GRID, 1, ENDS.long())
    with pytest.raises(IndexError, match=r"index_or_mask: expected values in \[0, 3\), found 3"):
        select(["a", "b", "c"], torch.tensor([3]), 0)
    with pytest.raises(ValueError, match="mask: expected"):
        select(["a", "b"], ENDS, 0)
    with pytest.raises(ValueError, match="index_or_mask: expected an integer dtype"):
        select(GRID, torch.tensor([0.5]), 0)
    for function in (lambda: select(["a"], ENDS, 1), lambda: narrow(["a"], 1, 0, 1)):
        with pytest.raises(ValueError, match="dim: expected 0, the only dimension of a list, found 1"):
            function()


# map_index


@given(st.lists(st.integers(0, 9)), st.lists(st.integers(0, 9), unique=True))
def test_map_index_one_by_one(src: list[int], index: list[int]) -> None:
    place, mask = map_index(torch.tensor(src, dtype=torch.long), torch.tensor(index, dtype=torch.long))
    assert mask.tolist() == [number in index for number in src]
    assert place.tolist() == [index.index(number) for number in src if number in index]


@pytest.mark.parametrize("max_index", [None, 9, torch.tensor(9)])
@pytest.mark.parametrize("dtype", [torch.int32, torch.int64])
def test_map_index_as_pyg(pyg: ModuleType, max_index: int | torch.Tensor | None, dtype: torch.dtype) -> None:
    src, index = torch.tensor([[2, 0, 5], [7, 5, 5]], dtype=dtype), torch.tensor([5, 2, 8, 2])
    assert_same(map_index(src, index, max_index), pyg.map.map_index(src, index, max_index))
    everything = torch.tensor([7, 5, 2, 0])
    ours = map_index(src, everything, max_index, inclusive=True)
    assert_same(ours, pyg.map.map_index(src, everything, max_index, inclusive=True))


def test_map_index_errors() -> None:
    with pytest.raises(ValueError, match="src: expected every number to be in index, found 0, which is not"):
        map_index(torch.tensor([2, 0]), torch.tensor([2]), inclusive=True)
    with pytest.raises(ValueError, match="src: expected an integer dtype"):
        map_index(torch.tensor([2.0]), torch.tensor([2]))
    with pytest.raises(ValueError, match="index: expected one dimension"):
        map_index(torch.tensor([2]), torch.tensor([[2]]))
