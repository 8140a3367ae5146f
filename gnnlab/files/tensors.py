"""The bytes of a tensor, block by block, as they are hashed and written to files."""

import re
from collections.abc import Iterator, Sequence
from hashlib import blake2b

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

BLOCK = 1 << 23
"""Bytes that are held, hashed or written at once."""

DTYPES: dict[str, torch.dtype] = {
    str(dtype).removeprefix("torch."): dtype
    for dtype in vars(torch).values()
    if isinstance(dtype, torch.dtype) and not str(dtype).startswith("torch.q")
}
"""Every dtype by its name, but for the quantised ones, whose scale lies outside their bytes."""

_NO_COPY_KERNEL = {torch.complex32} | {dtype for name, dtype in DTYPES.items() if re.fullmatch("u?int[1-7]", name)}


def carrier(dtype: torch.dtype) -> torch.dtype:
    """Returns a dtype of the same width that torch can copy; `dtype` itself, save for a few."""
    if dtype not in _NO_COPY_KERNEL:
        return dtype
    return torch.uint8 if dtype.itemsize == 1 else torch.int32


def blocks(tensor: Tensor) -> Iterator[NDArray[np.uint8]]:
    """Yields the elements of a dense tensor in row-major order, as bytes, about `BLOCK` at a time.

    A contiguous CPU tensor is not copied; of any other one block at a time is.
    """
    if tensor.numel() == 0:
        return  # an empty tensor may have strides in which its bytes can't be viewed
    for piece in _pieces(tensor.detach()):
        piece = piece.cpu().resolve_conj().resolve_neg()
        flat = piece.view(carrier(piece.dtype)).contiguous().reshape(-1)
        for part in flat.view(torch.uint8).split(BLOCK):
            yield part.numpy()


def checksum(tensor: Tensor) -> str:
    """Returns the BLAKE2b hash (128 bits, hexadecimal) of the bytes of a strided tensor."""
    digest = blake2b(digest_size=16)
    for block in blocks(tensor):
        digest.update(block.data)
    return digest.hexdigest()


def from_bytes(raw: Tensor, dtype: torch.dtype, shape: Sequence[int]) -> Tensor:
    """Views `raw`, a 1-dimensional `uint8` tensor, as `dtype` and `shape`."""
    if raw.numel() == 0:  # NumPy gives empty arrays a stride of 0, which cannot be viewed.
        raw = torch.empty(0, dtype=torch.uint8)
    return raw.view(dtype).view(tuple(shape))


def _pieces(tensor: Tensor) -> Iterator[Tensor]:
    """Cuts along the leading dimensions whatever would be copied, so that each piece is small."""
    as_it_is = tensor.is_cpu and tensor.is_contiguous() and not (tensor.is_conj() or tensor.is_neg())
    if as_it_is or tensor.nbytes <= BLOCK:
        yield tensor
        return
    rows = BLOCK * len(tensor) // tensor.nbytes
    if rows > 0:
        yield from tensor.split(rows)
    else:
        for row in tensor:
            yield from _pieces(row)
