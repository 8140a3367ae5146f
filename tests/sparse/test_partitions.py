"""Parts are complete, of nearly equal weight, with few entries between them, and the same every time."""

import sys
from itertools import pairwise

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from gnnlab.sparse import SparseTensor, partition
from tests.sparse.matrices import check, dense, matrices

ids = torch.tensor


def needs_metis() -> None:
    pytest.importorskip("pymetis", reason="pymetis is not installed: the extra 'partition' has it")


def two_cliques(size: int = 8) -> SparseTensor:
    """Two cliques in shuffled order, one edge between them."""
    full = torch.block_diag(torch.ones(size, size), torch.ones(size, size))
    full[0, size] = full[size, 0] = 1
    order = torch.randperm(2 * size, generator=torch.Generator().manual_seed(0))
    return SparseTensor.from_dense(full[order][:, order]).remove_diag()


def cut(src: SparseTensor, ptr: torch.Tensor) -> float:
    """The sum of the values between parts."""
    part = torch.arange(ptr.numel() - 1).repeat_interleave(ptr.diff())
    row, col, value = src.coo()
    return float(value[part[row] != part[col]].sum())


@given(matrices(rows=6, cols=6), st.integers(1, 6), st.booleans(), st.booleans())
def test_parts_are_complete(src, num_parts, recursive, balance_edge):
    needs_metis()
    out, ptr, perm = src.partition(num_parts, recursive, balance_edge=balance_edge)
    assert sorted(perm.tolist()) == list(range(6))
    assert len(ptr) == num_parts + 1
    assert (int(ptr[0]), int(ptr[-1])) == (0, 6)
    assert bool((ptr.diff() >= 0).all())
    for start, end in pairwise(ptr.tolist()):
        assert perm[start:end].tolist() == sorted(perm[start:end].tolist())
    assert (dense(check(out)) == dense(src)[perm][:, perm]).all()


@pytest.mark.parametrize("recursive", [True, False])
def test_two_cliques_are_told_apart_every_time(recursive):
    needs_metis()
    out, ptr, perm = partition(two_cliques(), 2, recursive)
    assert ptr.tolist() == [0, 8, 16]
    assert cut(out, ptr) == 2
    assert torch.equal(partition(two_cliques(), 2, recursive)[2], perm)


def test_directions_duplicates_and_the_diagonal_do_not_count():
    needs_metis()
    src = two_cliques()
    upper = src.masked_select_nnz(src.storage.row() < src.storage.col())
    assert torch.equal(upper.partition(2)[2], src.partition(2)[2])
    assert torch.equal(src.fill_diag(9.0).partition(2)[2], src.partition(2)[2])


@pytest.mark.parametrize("scale", [0.001, 1.0, 1000.0])
def test_values_say_which_entries_to_cut(scale):
    """A ring of 8, two opposite edges of which are light: cut there. Without weights any two would do."""
    needs_metis()
    row = torch.arange(8)
    value = torch.where((row == 1) | (row == 5), 0.1, 5.0) * scale
    src = SparseTensor(row=row, col=(row + 1) % 8, value=value)
    out, ptr, _ = src.partition(2, recursive=True, weighted=True)
    assert cut(out, ptr) == pytest.approx(0.2 * scale)
    whole = src.set_value((value / scale * 10).round().long())
    assert torch.equal(whole.partition(2, recursive=True, weighted=True)[2], src.partition(2, True, True)[2])


def test_nodes_have_weights():
    needs_metis()
    row = torch.arange(7)
    path = SparseTensor(row=row, col=row + 1, sparse_sizes=(8, 8))
    for weight in [ids([6, 1, 1, 1, 1, 1, 1, 0]), ids([0.6, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.0])]:
        _, ptr, perm = path.partition(2, recursive=True, node_weight=weight)
        heavy = perm[: ptr[1]] if 0 in perm[: ptr[1]] else perm[ptr[1] :]
        assert heavy.numel() <= 2
    star = SparseTensor(row=torch.zeros(8, dtype=torch.int64), col=torch.arange(1, 9), sparse_sizes=(9, 9))
    _, ptr, perm = star.to_symmetric().partition(2, recursive=True, balance_edge=True)
    assert sorted(ptr.diff().tolist()) != [4, 5]
    assert torch.equal(path.partition(2, node_weight=torch.zeros(8))[2], path.partition(2)[2])


def test_one_part_needs_no_metis(monkeypatch):
    monkeypatch.setitem(sys.modules, "pymetis", None)
    src = two_cliques()
    out, ptr, perm = src.partition(1)
    assert out == src
    assert (ptr.tolist(), perm.tolist()) == ([0, 16], list(range(16)))
    with pytest.raises(
        ImportError, match=r"pymetis must be installed for partition: pip install 'gnnlab\[partition\]'"
    ):
        src.partition(2)


@pytest.mark.parametrize(
    ("message", "call"),
    [
        (r"partition needs as many rows as columns, found \(2, 3\)", lambda a: SparseTensor.eye(2, 3).partition(1)),
        (r"num_parts must lie in 1 <= num_parts <= 3 \(rows\), found 4", lambda a: a.partition(4)),
        (r"num_parts must lie in 1 <= num_parts <= 3 \(rows\), found 0", lambda a: a.partition(0)),
        (
            r"values must have shape \[nnz\] to be weights, found sizes \[3, 3\]",
            lambda a: a.set_value(None).partition(2, weighted=True),
        ),
        (
            r"node_weight must have 3 rows \(rows\), found shape \[2\]",
            lambda a: a.partition(2, node_weight=torch.ones(2)),
        ),
        ("node_weight must be finite and not negative", lambda a: a.partition(2, node_weight=ids([1.0, 2.0, -1.0]))),
        (
            "node_weight must be finite and not negative",
            lambda a: a.partition(2, node_weight=ids([1.0, 2.0, float("nan")])),
        ),
        (
            "value must be finite and not negative",
            lambda a: a.set_diag(k=1).mul(torch.full((3, 1), -1.0)).partition(2, weighted=True),
        ),
    ],
)
def test_what_does_not_fit_is_named(message, call):
    with pytest.raises(ValueError, match=message):
        call(SparseTensor.eye(3))
