"""Nested plain values and tensors as one string of bytes: what `write_folder` spreads over files, for a single cell.

8 bytes      length of the header, little-endian
header       JSON: the tree (see `tree.py`) and, by number, each tensor's dtype and shape
elements     of one tensor after another, row-major, little-endian
"""

import json
import math
from typing import Any

import torch
from torch.nn import Parameter

from gnnlab.files.tensors import DTYPES, blocks, from_bytes
from gnnlab.files.tree import FileFormatError, decode, encode

_LENGTH = 8


def pack(tree: Any) -> bytes:
    """Returns a tree of plain values and tensors, as `write_folder` takes it, as bytes.

    Raises:
        TypeError: If the tree holds anything else; the message names it.
        ValueError: If it is nested too deeply, or holds itself.
    """
    node, tensors = encode(tree)
    entries = [
        [
            str(tensor.dtype).removeprefix("torch."),
            list(tensor.shape),
            tensor.requires_grad,
            isinstance(tensor, Parameter),
        ]
        for _, tensor in tensors
    ]
    header = json.dumps([node, entries], separators=(",", ":")).encode("ascii")
    parts = [len(header).to_bytes(_LENGTH, "little"), header]
    for _, tensor in tensors:
        parts.extend(block.tobytes() for block in blocks(tensor))
    return b"".join(parts)


def unpack(data: bytes) -> Any:
    """Returns the tree that `pack` made `data` of. Its tensors are new, and on the CPU.

    Raises:
        FileFormatError: If `data` is not what `pack` returns.
    """
    length = int.from_bytes(data[:_LENGTH], "little")
    try:
        node, entries = json.loads(data[_LENGTH : _LENGTH + length])
        described = [_describe(entry) for entry in entries]
    except (ValueError, TypeError, RecursionError) as error:
        raise FileFormatError(f"damaged: {error}") from error
    if _LENGTH + length + sum(nbytes for *_, nbytes in described) != len(data):
        raise FileFormatError("damaged: it is not as long as it says")
    tensors, start = [], _LENGTH + length
    for dtype, shape, requires_grad, parameter, nbytes in described:
        raw = torch.frombuffer(bytearray(data[start : start + nbytes] or b"\0"), dtype=torch.uint8)[:nbytes]
        tensor = from_bytes(raw, dtype, shape)
        tensors.append(Parameter(tensor, requires_grad) if parameter else tensor.requires_grad_(requires_grad))
        start += nbytes
    return decode(node, tensors)


def _describe(entry: Any) -> tuple[torch.dtype, list[int], bool, bool, int]:
    match entry:
        case [str(dtype), [*shape], bool(requires_grad), bool(parameter)] if dtype in DTYPES and all(
            type(size) is int and 0 <= size < 1 << 63 for size in shape
        ):
            return DTYPES[dtype], shape, requires_grad, parameter, math.prod(shape) * DTYPES[dtype].itemsize
    raise ValueError(f"expected a tensor, found {str(entry)[:80]}")
