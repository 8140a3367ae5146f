"""The ragged gather against slicing in Python, compiled and as plain Python."""

import os
import subprocess
import sys

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from gnnlab.kernels import gather


@given(st.data())
def test_gather_equals_slicing(data):
    sizes = data.draw(st.lists(st.integers(0, 4), min_size=1, max_size=8))
    rows, words = data.draw(st.integers(1, 3)), data.draw(st.integers(1, 3))
    index = np.array(data.draw(st.lists(st.integers(0, len(sizes) - 1), min_size=1, max_size=8)), dtype=np.int64)
    slices = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    block = np.arange(rows * slices[-1] * words, dtype=np.int32).reshape(rows, slices[-1], words)

    starts, ends = np.empty(len(index), np.int64), np.empty(len(index) + 1, np.int64)
    total = gather.part_bounds(slices, index, starts, ends)
    parts = [block[:, slices[i] : slices[i + 1]] for i in index]
    expected = np.concatenate(parts, axis=1)
    assert total == expected.shape[1]
    out = np.full((rows, total, words), -1, dtype=np.int32)
    gather.gather_parts(block, starts, ends, out)
    assert np.array_equal(out, expected)

    rows_together = [part.reshape(-1) for part in parts]
    memory = np.concatenate([np.zeros(3, np.int32), *rows_together])
    begins = 3 + np.cumsum([0, *(part.size for part in rows_together[:-1])])
    joined = np.full((rows, total * words), -1, dtype=np.int32)
    gather.join_parts(memory, begins, ends * words, joined)
    assert np.array_equal(joined, expected.reshape(rows, -1))

    labels = np.repeat(np.arange(len(index)), np.array(sizes)[index])
    values = np.zeros((rows, total), dtype=np.int64)
    steps = np.arange(rows * len(index), dtype=np.int64).reshape(rows, len(index))
    gather.shift_parts(values, ends, steps)
    assert np.array_equal(values, steps[:, labels])


def test_kernels_also_run_as_plain_python():
    code = (
        "import numpy as np; from gnnlab.kernels import gather as g;"
        "s=np.array([0,2,3]);i=np.array([1,0]);a=np.empty(2,int);e=np.empty(3,int);"
        "assert type(g.part_bounds).__name__=='function';"
        "assert g.part_bounds(s,i,a,e)==3;o=np.empty((1,3,1));"
        "g.gather_parts(np.arange(3.).reshape(1,3,1),a,e,o);assert o.ravel().tolist()==[2,0,1]"
    )
    subprocess.run([sys.executable, "-c", code], check=True, env={**os.environ, "NUMBA_DISABLE_JIT": "1"})


def test_the_cache_folder_changes_with_any_kernel_file(tmp_path, monkeypatch):
    from gnnlab.kernels import jit

    for name in ("a.py", "b.py"):
        (tmp_path / name).write_text("1")
    monkeypatch.setattr(jit, "__file__", str(tmp_path / "a.py"))
    jit.cache_folder.cache_clear()
    before = jit.cache_folder()
    (tmp_path / "b.py").write_text("2")
    jit.cache_folder.cache_clear()
    after = jit.cache_folder()
    jit.cache_folder.cache_clear()
    assert before != after
    assert before.parent == tmp_path / "__pycache__"
