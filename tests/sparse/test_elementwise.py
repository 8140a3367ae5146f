"""Sums and products entry by entry are those of the dense matrices."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from gnnlab.sparse import SparseTensor, add, mul
from tests.sparse.matrices import check, dense, entries, matrices

ids = torch.tensor
PLAIN = ("none", "float64", "int64")


NUMBERS = ids([1.0, 2.0, 3.0, 4.0])


def example(value=NUMBERS):
    """[3, 4]: entries at (0, 1), (1, 0), (1, 3), (2, 2)."""
    value = value if value is None else value.clone()
    return SparseTensor(row=ids([0, 1, 1, 2]), col=ids([1, 0, 3, 2]), value=value, sparse_sizes=(3, 4))


WIDE = torch.arange(8.0).view(4, 2)


@settings(max_examples=50)
@given(st.data(), st.sampled_from(["add", "mul"]))
def test_two_matrices(data, name):
    rows, cols = data.draw(st.integers(0, 5)), data.draw(st.integers(0, 5))
    a, b = (data.draw(matrices(rows=rows, cols=cols, values=PLAIN)) for _ in range(2))
    if not a.has_value() and not b.has_value():
        a, b = a.coalesce(), b.coalesce()  # a pattern holds an entry or does not
    out = check(getattr(a, name)(b))
    assert out.is_coalesced()
    if out.has_value():
        assert (dense(out) == (dense(a) + dense(b) if name == "add" else dense(a) * dense(b))).all()
    else:
        assert (dense(out) == (np.maximum if name == "add" else np.minimum)(dense(a), dense(b))).all()
    stored = [dense(m.set_value(None)) > 0 for m in (a, b, out)]
    assert (stored[2] == (stored[0] | stored[1] if name == "add" else stored[0] & stored[1])).all()


@given(matrices(values=("float64", "wide", "int64")), st.sampled_from(["add", "mul"]), st.sampled_from([0, 1]))
def test_a_number_for_each_row_or_column(src, name, dim):
    size = src.sparse_size(dim)
    other = torch.arange(1.0, size + 1).to(src.dtype())
    other = other.view(-1, 1) if dim == 0 else other.view(1, -1)
    row, col, value = src.coo()
    factor = other.flatten()[row if dim == 0 else col].view(-1, *[1] * (value.dim() - 1))
    out = check(getattr(src, name)(other))
    assert torch.equal(out.storage.value(), value + factor if name == "add" else value * factor)
    again = src.clone()
    assert getattr(again, f"{name}_")(other) is again
    assert again == out


@given(matrices(values=("none", "float64", "wide")), st.booleans())
def test_a_number_for_each_entry(src, by_column):
    other = torch.arange(1.0, src.nnz() + 1)
    layout = "csc" if by_column else None
    ours = other[src.copy().storage.csc2csr()] if by_column else other
    value = src.storage.value()
    value = torch.ones(src.nnz()) if value is None else value
    ours = ours.view(-1, *[1] * (value.dim() - 1)).to(value.dtype)
    assert torch.equal(src.mul_nnz(other, layout).storage.value(), value * ours)
    assert torch.equal(src.add_nnz(other, layout).storage.value(), value + ours)
    again = src.clone()
    assert again.mul_nnz_(other, layout).add_nnz_(other, layout) is again
    assert torch.equal(again.storage.value(), value * ours + ours)


def test_dimensions_that_one_side_lacks_are_filled():
    assert example().mul(torch.full((3, 1, 2), 2.0)).sizes() == [3, 4, 2]
    assert example(WIDE).mul(ids([[1.0], [10.0], [100.0]])).storage.value()[:, 1].tolist() == [1, 30, 50, 700]
    assert example(None).add(torch.ones(1, 4, 2)).storage.value().tolist() == [[2.0, 2.0]] * 4
    assert example().mul_nnz(torch.ones(4, 1)).sizes() == [3, 4, 1]
    both = example() + example(WIDE)
    assert both.storage.value().tolist() == [[1, 2], [4, 5], [7, 8], [10, 11]]
    assert (example() * example(WIDE)).storage.value().tolist() == [[0, 1], [4, 6], [12, 15], [24, 28]]
    assert example(None).mul_nnz(ids(3.0)).storage.value().tolist() == [3.0] * 4
    assert example().add_nnz(ids([3.0])).storage.value().tolist() == [4.0, 5.0, 6.0, 7.0]


def test_dtypes_are_those_of_the_values_or_hold_both():
    assert example(ids([1, 2, 3, 4])).mul(torch.full((3, 1), 2.5)).storage.value().tolist() == [2, 4, 6, 8]
    assert example(None).mul(torch.ones(3, 1, dtype=torch.int32)).dtype() == torch.int32
    assert (example(ids([1, 2, 3, 4])) + example()).dtype() == torch.float32
    assert (example(ids([1, 2, 3, 4])) * example().double()).dtype() == torch.float64
    assert (
        example(ids([True, True, False, False])) + example(ids([True, False, False, True]))
    ).storage.value().tolist() == [
        True,
        True,
        False,
        True,
    ]


def test_sizes_that_differ_give_the_larger():
    small = SparseTensor(row=ids([0]), col=ids([1]), value=ids([5.0]), sparse_sizes=(1, 6))
    assert entries(example() * small) == [(0, 1, 5.0)]
    assert (example() * small).sizes() == (example() + small).sizes() == [3, 6]


def test_operators():
    src, other = example(), torch.full((3, 1), 2.0)
    assert src + other == other + src == src.add(other) == add(src, other)
    assert src * other == other * src == src.mul(other) == mul(src, other)
    assert src + src == src * other
    value = src.storage.value()
    src += other
    src *= other
    assert src.storage.value() is value
    assert value.tolist() == [6.0, 8.0, 10.0, 12.0]


def test_values_of_a_pattern_are_made_in_place():
    src = example(None)
    src *= ids([[2.0], [3.0], [4.0]])
    assert src.storage.value().tolist() == [2.0, 3.0, 3.0, 4.0]


def test_caches_stay():
    src = example().fill_cache_()
    for out in [src * torch.ones(3, 1), src.add_nnz(torch.ones(4)), src.mul(torch.ones(1, 4))]:
        assert out.cache_info() == src.cache_info()


def test_gradients_flow_to_both_sides():
    value = torch.arange(1.0, 5.0, dtype=torch.float64, requires_grad=True)
    line = torch.arange(1.0, 4.0, dtype=torch.float64).view(3, 1).requires_grad_()
    each = torch.arange(1.0, 5.0, dtype=torch.float64, requires_grad=True)

    def run(value, line, each):
        src = example(None).set_value(value)
        other = SparseTensor(row=ids([0, 1]), col=ids([1, 1]), value=each[:2], sparse_sizes=(3, 4))
        parts = [src * line, src + line, src.mul_nnz(each, "csc"), src.add_nnz(each), src + other, src * other]
        return torch.cat([part.storage.value() for part in parts])

    assert torch.autograd.gradcheck(run, (value, line, each))


@pytest.mark.parametrize(
    ("error", "message", "call"),
    [
        (TypeError, "other must be a SparseTensor or a dense tensor, found float", lambda a: a * 2.0),
        (TypeError, "other must be a SparseTensor or a dense tensor, found int", lambda a: 1 + a),
        (TypeError, "other must be a tensor, found SparseTensor", lambda a: a.add_(a)),
        (TypeError, "other must be a tensor, found float", lambda a: a.mul_nnz(2.0)),
        (
            ValueError,
            r"other must have shape \[3, 1, ...\] or \[1, 4, ...\], found \[3, 4\]",
            lambda a: a + torch.ones(3, 4),
        ),
        (ValueError, r"or \[1, 4, ...\], found \[\]", lambda a: a + torch.tensor(1.0)),
        (
            ValueError,
            r"other must have shape \[4, ...\] \(entries\) or be one number, found \[3\]",
            lambda a: a.add_nnz(torch.ones(3)),
        ),
        (ValueError, "layout must be 'coo', 'csr' or 'csc', found 'xyz'", lambda a: a.add_nnz(torch.ones(4), "xyz")),
        (ValueError, r"fit each other, found \[2\] and \[3\]", lambda a: a.set_value(WIDE) * torch.ones(3, 1, 3)),
        (
            ValueError,
            r"fit each other, found \[2\] and \[3\]",
            lambda a: a.set_value(WIDE) + a.set_value(torch.ones(4, 3)),
        ),
        (
            ValueError,
            r"other must fit into values of shape \[4\], found \[4, 2\]",
            lambda a: a.mul_nnz_(torch.ones(4, 2)),
        ),
    ],
)
def test_what_does_not_fit_is_named(error, message, call):
    with pytest.raises(error, match=message):
        call(example())
