import mmap

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from gnnlab.profile.spans import count, mappings, overlap, strided, union

intervals = st.lists(st.tuples(st.integers(0, 50), st.integers(0, 8)), max_size=12)


def spans_of(pairs):
    return np.array([(a, a + n) for a, n in pairs], dtype=np.int64).reshape(-1, 2)


def bytes_of(spans):
    return {byte for start, stop in spans.tolist() for byte in range(start, stop)}


@given(intervals)
def test_union_is_sorted_disjoint_and_complete(pairs):
    merged = union(spans_of(pairs))
    assert bytes_of(merged) == bytes_of(spans_of(pairs))
    assert (merged[1:, 0] > merged[:-1, 1]).all()


@given(intervals, intervals)
def test_count_and_overlap_agree_with_sets(a, b):
    set_a, set_b = bytes_of(spans_of(a)), bytes_of(spans_of(b))
    assert count(spans_of(a), spans_of(b)) == len(set_a | set_b)
    assert overlap(spans_of(a), spans_of(b)) == len(set_a & set_b)


def test_nothing_is_zero_bytes():
    assert count() == 0
    assert count(strided(100, (3, 0), (8, 8), 8)) == 0


@given(
    shape=st.lists(st.integers(1, 4), max_size=3),
    strides=st.lists(st.integers(-12, 12), min_size=3, max_size=3),
    itemsize=st.sampled_from([1, 2, 4, 8]),
)
def test_strided_finds_the_bytes_of_any_view(shape, strides, itemsize):
    strides = strides[: len(shape)]
    expected = {
        1000 + sum(i * s for i, s in zip(index, strides, strict=True)) + byte
        for index in np.ndindex(*shape)
        for byte in range(itemsize)
    }
    assert bytes_of(strided(1000, shape, strides, itemsize)) == expected


def test_a_long_column_takes_one_interval_a_row_and_a_block_takes_one():
    assert len(strided(0, (1000,), (40,), 4)) == 1000
    assert len(strided(0, (1000, 10), (40, 4), 4)) == 1


def test_mappings_tell_files_from_shared_memory(tmp_path):
    path = tmp_path / "block"
    path.write_bytes(bytes(mmap.PAGESIZE))
    with (
        path.open("r+b") as file,
        mmap.mmap(file.fileno(), 0) as of_file,
        mmap.mmap(-1, mmap.PAGESIZE) as shared,
    ):
        files, shm = mappings()
        assert overlap(_span_of(of_file), files) == mmap.PAGESIZE
        assert overlap(_span_of(of_file), shm) == 0
        assert overlap(_span_of(shared), shm) == mmap.PAGESIZE
        assert overlap(_span_of(shared), files) == 0


def _span_of(mapped):
    array = np.frombuffer(mapped, dtype=np.uint8)
    start = array.__array_interface__["data"][0]
    return np.array([[start, start + len(array)]])
