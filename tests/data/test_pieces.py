"""Joining many small tensors, held against `torch.cat`."""

import os
import subprocess
import sys
from collections.abc import Callable

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from gnnlab.data.pieces import join

DTYPES = [
    torch.float32,
    torch.float64,
    torch.float16,
    torch.bfloat16,
    torch.int64,
    torch.int32,
    torch.int16,
    torch.uint8,
    torch.bool,
    torch.complex64,
]


def ragged(dtype: torch.dtype, dim: int = 0, num: int = 4500, width: int = 8) -> list[Tensor]:
    """`num` tensors `[i % 9, width]`, or `[width, i % 9]`, of small numbers."""
    generator = torch.Generator().manual_seed(0)
    sizes = [(i % 9, width) if dim == 0 else (width, i % 9) for i in range(num)]
    return [torch.randint(-100, 100, size, generator=generator).to(dtype) for size in sizes]


def check(pieces: list[Tensor], dim: int) -> None:
    joined, counts = join(pieces, dim)
    expected = torch.cat(pieces, dim)
    assert joined.dtype == expected.dtype
    assert joined.requires_grad == expected.requires_grad
    assert torch.equal(joined, expected)
    assert counts == [piece.size(dim) for piece in pieces]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("dim", [0, 1, -1])
def test_every_dtype(dtype: torch.dtype, dim: int) -> None:
    check(ragged(dtype, dim % 2), dim)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_single_values_of_every_dtype(dtype: torch.dtype) -> None:
    check([value[:1] for value in ragged(dtype, num=40_000, width=1) if value.numel()], 0)


@given(st.data())
def test_any_shape(data: st.DataObject) -> None:
    shape = data.draw(st.lists(st.integers(0, 4), min_size=1, max_size=4))
    dim = data.draw(st.integers(0, len(shape) - 1))
    dtype = data.draw(st.sampled_from([torch.float32, torch.int64, torch.int8]))
    sizes = data.draw(st.lists(st.integers(0, 60), min_size=1, max_size=5)) * 900
    check([torch.full([*shape[:dim], n, *shape[dim + 1 :]], i % 100, dtype=dtype) for i, n in enumerate(sizes)], dim)


def with_strides(piece: Tensor) -> Tensor:
    return piece.repeat_interleave(2, 1)[:, ::2]


def with_a_gradient(piece: Tensor) -> Tensor:
    return piece.clone().requires_grad_() if piece.is_floating_point() else piece


def off_its_words(piece: Tensor) -> Tensor:
    data = torch.zeros(piece.numel() * piece.element_size() + 1, dtype=torch.uint8)
    data[1:] = piece.reshape(-1).view(torch.uint8)
    bare = torch.frombuffer(data.numpy(), dtype=piece.dtype, offset=1, count=piece.numel())
    return bare.view(piece.shape)


class OwnTensor(Tensor):
    """A tensor of a user's own class."""


def of_a_class(piece: Tensor) -> Tensor:
    return piece.as_subclass(OwnTensor)


@pytest.mark.parametrize("change", [with_strides, with_a_gradient, off_its_words, of_a_class, torch._neg_view])
@pytest.mark.parametrize("dtype", [torch.float32, torch.int64], ids=str)
def test_tensors_that_are_more_than_their_memory(change: Callable[[Tensor], Tensor], dtype: torch.dtype) -> None:
    pieces = [piece for piece in ragged(dtype) if piece.numel()]
    for at in (0, 700):
        changed = [*pieces[:at], change(pieces[at]), *pieces[at + 1 :]]
        assert torch.equal(changed[at], -pieces[at] if change is torch._neg_view else pieces[at])
        check(changed, 0)


@pytest.mark.parametrize("dtype", [torch.float32, torch.int64], ids=str)
def test_what_does_not_fit_is_refused(dtype: torch.dtype) -> None:
    pieces = ragged(dtype)
    for other, error in [
        (torch.ones(2, 7, dtype=dtype), RuntimeError),
        (torch.ones(0, 7, dtype=dtype), RuntimeError),
        (torch.ones(2, 1, dtype=dtype), RuntimeError),
        (torch.ones(2, dtype=dtype), TypeError),
        (torch.ones(2, 8, dtype=torch.int32), TypeError),
        (torch.ones(2, 8, dtype=dtype, device="meta"), (RuntimeError, NotImplementedError)),
    ]:
        with pytest.raises(error):
            join([*pieces[:700], other, *pieces[700:]], 0)


def test_without_compilation() -> None:
    code = (
        "import torch; from gnnlab.data.pieces import join;"
        "pieces = [torch.full((2, 30 + i % 9), i) for i in range(4100)];"
        "assert torch.equal(join(pieces, 1)[0], torch.cat(pieces, 1)); assert torch.equal(join(pieces, 1)[0][0], join("
        "[piece[0] for piece in pieces], 0)[0])"
    )
    subprocess.run([sys.executable, "-c", code], check=True, env={**os.environ, "NUMBA_DISABLE_JIT": "1"})
