"""`Growing` against `torch.cat`: the same bytes, in one and an eighth of the memory."""

import subprocess
import sys

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from gnnlab.files import Growing
from gnnlab.files.tensors import DTYPES, blocks, from_bytes

WIDTHS = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64, 16: torch.complex128}


def raw(tensor: Tensor) -> bytes:
    return b"".join(block.tobytes() for block in blocks(tensor))


def random_tensor(dtype: torch.dtype, shape: list[int], seed: int) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    nbytes = torch.Size(shape).numel() * dtype.itemsize
    bits = torch.randint(0, 2 if dtype == torch.bool else 256, (nbytes,), generator=generator)
    return from_bytes(bits.to(torch.uint8), dtype, shape)


@given(
    dtype=st.sampled_from(list(DTYPES.values())),
    before=st.lists(st.integers(0, 3), max_size=2),
    after=st.lists(st.integers(0, 3), max_size=2),
    sizes=st.lists(st.integers(0, 40), min_size=1, max_size=12),
    negative=st.booleans(),
)
def test_equals_cat(dtype: torch.dtype, before: list[int], after: list[int], sizes: list[int], negative: bool) -> None:
    pieces = [random_tensor(dtype, [*before, size, *after], seed) for seed, size in enumerate(sizes)]
    dim = -len(after) - 1 if negative else len(before)
    growing = Growing(dtype, [*before, *after], dim)
    for piece in pieces:
        growing.append(piece)
    assert len(growing) == sum(sizes)
    result = growing.finish()
    same_width = WIDTHS[dtype.itemsize]  # torch cannot join every dtype.
    expected = torch.cat([piece.view(same_width) for piece in pieces], dim=len(before))
    assert result.dtype == dtype
    assert result.shape == expected.shape
    assert result.is_contiguous()
    assert raw(result) == raw(expected)


@pytest.mark.parametrize(("shape", "dim"), [((3,), 0), ((3,), 1), ((2, 3), 1)])
def test_rows_survive_many_enlargements(shape: tuple[int, ...], dim: int) -> None:
    sizes = [1, 5000, 3, 0, 40000, 17, 12345, 1]
    pieces = [random_tensor(torch.int64, [*shape[:dim], size, *shape[dim:]], size) for size in sizes]
    growing = Growing(torch.int64, shape, dim)
    for piece in pieces:
        growing.append(piece)
    assert torch.equal(growing.finish(), torch.cat(pieces, dim))


def test_strided_conjugate_and_differentiable_pieces() -> None:
    piece = torch.randn(4, 3, dtype=torch.complex64, requires_grad=True).t().conj()
    growing = Growing(torch.complex64, (3,), dim=1)
    growing.append(piece)
    growing.append(piece)
    result = growing.finish()
    assert torch.equal(result, torch.cat([piece, piece], dim=1))
    assert not result.requires_grad


def test_the_result_owns_its_memory_and_the_buffer_starts_again() -> None:
    growing = Growing(torch.int32)
    growing.append(torch.arange(3, dtype=torch.int32))
    first = growing.finish()
    growing.append(torch.full((100_000,), 7, dtype=torch.int32))
    first[0] = 5
    assert first.tolist() == [5, 1, 2]
    assert growing.shape == (100_000,)
    assert growing.finish().unique().tolist() == [7]
    assert growing.finish().tolist() == []


@pytest.mark.parametrize(
    ("piece", "message"),
    [
        (torch.zeros(3, 4), r"expected shape \[2, n\], found \[3, 4\]"),
        (torch.zeros(2, 4, 1), r"expected shape \[2, n\], found \[2, 4, 1\]"),
        (torch.zeros(2), r"expected shape \[2, n\], found \[2\]"),
        (torch.zeros(2, 4, dtype=torch.int64), r"expected torch.float32, found torch.int64"),
        (torch.zeros(2, 4, device="meta"), r"expected torch.strided on cpu, found .* on meta"),
        (torch.zeros(2, 4).to_sparse(), r"expected torch.strided on cpu, found torch.sparse_coo"),
    ],
)
def test_a_piece_that_does_not_fit_changes_nothing(piece: Tensor, message: str) -> None:
    growing = Growing(torch.float32, (2,), dim=-1)
    growing.append(torch.ones(2, 3))
    with pytest.raises(ValueError, match=message):
        growing.append(piece)
    assert torch.equal(growing.finish(), torch.ones(2, 3))


def test_a_dimension_that_is_not_there() -> None:
    with pytest.raises(ValueError, match="dim: expected one of 2 dimensions, found 2"):
        Growing(torch.float32, (2,), dim=2)


def test_enlargements_are_few(monkeypatch: pytest.MonkeyPatch) -> None:
    enlarge, capacities = Growing._enlarge, []

    def counted(self: Growing, needed: int) -> None:
        enlarge(self, needed)
        capacities.append(self._capacity)

    monkeypatch.setattr(Growing, "_enlarge", counted)
    growing = Growing(torch.int64, (2,), dim=1)
    for _ in range(2000):
        growing.append(torch.zeros(2, 100, dtype=torch.int64))
    assert len(capacities) < 40
    assert capacities[-1] <= 1.125 * len(growing)
    assert sum(capacities) < 10 * len(growing)  # What is moved: linear in the result.


MEMORY = """
import sys
import torch
from gnnlab.files import Growing

def status(key):
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith(key)) * 1024

dim, count = int(sys.argv[1]), int(sys.argv[2])
piece = torch.ones([2, 10_000] if dim else [10_000, 2], dtype=torch.int64)
buffers = [Growing(torch.int64, (2,), dim) for _ in range(count)]
buffers[0].append(piece), buffers[0].finish()
before = status("VmRSS")
for _ in range(1250 // count):
    for buffer in buffers:
        buffer.append(piece)
results = [buffer.finish() for buffer in buffers]
size = sum(result.nbytes for result in results)
assert size == 1250 // count * count * piece.nbytes, size
print((status("VmHWM") - before) / size, (status("VmRSS") - before) / size)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads the peak of memory from /proc")
@pytest.mark.parametrize(("dim", "count"), [(0, 1), (1, 1), (1, 4)])
def test_peak_memory(dim: int, count: int) -> None:
    command = [sys.executable, "-c", MEMORY, str(dim), str(count)]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    peak, after = map(float, output.split())
    assert 1.0 <= peak <= 1.15
    assert after <= 1.03
