"""Anything that may stand in the square brackets of a dataset, held against plain Python lists."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from gnnlab.data.positions import is_scalar, positions

INTEGERS = [torch.int8, torch.int16, torch.int32, torch.int64, torch.uint8, torch.uint16, torch.uint32, torch.uint64]


@given(st.data())
def test_ids_select_what_a_list_would(data):
    length = data.draw(st.integers(1, 20))
    ids = data.draw(st.lists(st.integers(-length, length - 1), max_size=10))
    expected = [list(range(length))[i] for i in ids]
    forms = [ids, tuple(ids), np.array(ids, dtype=np.int64), torch.tensor(ids, dtype=torch.long)]
    for form in forms:
        assert list(positions(form, length)) == expected


@given(st.integers(0, 20), st.data())
def test_slices_select_what_a_list_would(length, data):
    part = data.draw(st.slices(length))
    assert list(positions(part, length)) == list(range(length))[part]


@given(st.lists(st.booleans(), min_size=1, max_size=20))
def test_bools_are_a_mask(mask):
    expected = [i for i, chosen in enumerate(mask) if chosen]
    for form in (mask, tuple(mask), np.array(mask), torch.tensor(mask)):
        assert list(positions(form, len(mask))) == expected


@pytest.mark.parametrize("dtype", INTEGERS)
def test_every_integer_dtype_indexes(dtype):
    assert list(positions(torch.tensor([2, 0], dtype=dtype), 3)) == [2, 0]


def test_fractions_are_parts_of_the_whole():
    assert list(positions(slice(0.8), 10)) == list(range(8))
    assert list(positions(slice(0.8, None), 10)) == [8, 9]


@pytest.mark.parametrize(
    "empty", [[], (), np.array([]), torch.tensor([]), torch.tensor([], dtype=torch.long), range(0)]
)
def test_an_empty_index_selects_nothing(empty):
    assert list(positions(empty, 3)) == []


@pytest.mark.parametrize(
    ("idx", "message"),
    [
        ([True, False], "mask must have one entry for each of the 3 items, found 2"),
        (torch.tensor([True]), "found 1 entries"),
        (torch.tensor([], dtype=torch.bool), "found 0 entries"),
        ([3], "id 3 is out of range for 3 items"),
        ([0, -4], "id -4 is out of range"),
        (torch.tensor([2**63], dtype=torch.uint64), "out of range"),
        ([0.5], "ids must be integers"),
        (torch.tensor([1.0]), "ids must be integers"),
        (torch.tensor([1.0], dtype=torch.bfloat16), "ids must be integers"),
        (["a"], "ids must be integers"),
        ("abc", "found str"),
        (None, "found NoneType"),
        ({1, 2}, "found set"),
    ],
)
def test_what_selects_nothing_sensible_is_refused(idx, message):
    with pytest.raises(IndexError, match=message):
        positions(idx, 3)


def test_single_positions():
    assert all(map(is_scalar, [1, np.int32(1), np.array(1), torch.tensor(1, dtype=torch.uint8)]))
    assert not any(map(is_scalar, [True, np.True_, torch.tensor(True), [1], torch.tensor([1]), "1", slice(1)]))
