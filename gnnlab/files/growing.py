"""Joining a stream of tensors into one without ever holding it twice."""

import ctypes
from collections.abc import Sequence
from math import prod

import numpy as np
import torch
from torch import Tensor

from gnnlab.files.tensors import carrier, from_bytes

_FIRST = 1 << 16


class Growing:
    """A CPU tensor that grows along one dimension, one piece at a time.

    `torch.cat` needs all pieces at once, so that memory peaks at twice the result. Here the peak is
    the result, an eighth of it at most as room to grow, and the piece at hand: the buffer is
    enlarged by `realloc`, which moves pages of a large block rather than copying them. If the
    dimension is not the first, rows are moved apart within the buffer as it grows, and together at
    the end. The bytes moved are linear in the size of the result.

    Args:
        dtype: The dtype of the pieces and of the result.
        shape: The sizes of all other dimensions.
        dim: The dimension along which to grow; a negative one counts from the last.

    Example:
        >>> edge_index = Growing(torch.long, shape=(2,), dim=-1)
        >>> edge_index.append(torch.tensor([[0, 1], [1, 2]]))
        >>> edge_index.append(torch.tensor([[2], [0]]))
        >>> edge_index.finish()
        tensor([[0, 1, 2],
                [1, 2, 0]])
    """

    def __init__(self, dtype: torch.dtype, shape: Sequence[int] = (), dim: int = 0) -> None:
        if not -len(shape) - 1 <= dim <= len(shape):
            raise ValueError(f"dim: expected one of {len(shape) + 1} dimensions, found {dim}")
        self.dtype = dtype
        self.dim = dim % (len(shape) + 1)
        self._before, self._after = tuple(shape[: self.dim]), tuple(shape[self.dim :])
        self._rows = prod(self._before)
        self._step = prod(self._after) * dtype.itemsize
        self._reset()

    def __len__(self) -> int:
        """The size so far along the growing dimension."""
        return self._length

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of what `finish` would return now."""
        return (*self._before, self._length, *self._after)

    def append(self, piece: Tensor) -> None:
        """Adds a piece, `[*before, n, *after]`. Its values are copied; gradients are not followed.

        Raises:
            ValueError: If dtype, shape or device do not fit. What was added before stays.
        """
        before, after = piece.shape[: self.dim], piece.shape[self.dim + 1 :]
        if before != self._before or after != self._after or piece.dim() <= self.dim:
            expected = ", ".join(map(str, [*self._before, "n", *self._after]))
            raise ValueError(f"piece: expected shape [{expected}], found {list(piece.shape)}")
        if piece.dtype != self.dtype:
            raise ValueError(f"piece: expected {self.dtype}, found {piece.dtype}")
        if piece.device.type != "cpu" or piece.layout != torch.strided:
            found = f"{piece.layout} on {piece.device}"
            raise ValueError(f"piece: expected torch.strided on cpu, found {found}")
        size = piece.shape[self.dim]
        if self._length + size > self._capacity:
            self._enlarge(self._length + size)
        piece = piece.detach()
        if self._view.dtype != piece.dtype:
            piece = piece.resolve_conj().view(self._view.dtype)
        self._view.narrow(self.dim, self._length, size).copy_(piece)
        self._length += size

    def finish(self) -> Tensor:
        """Returns what was added, contiguous, and starts again with nothing.

        The result owns its memory, which is not copied, and is writable.
        """
        shape = self.shape
        self._move_rows(range(1, self._rows), self._capacity, self._length)
        self._buffer.resize(self._rows * self._length * self._step, refcheck=False)
        result = from_bytes(torch.from_numpy(self._buffer), self.dtype, shape)
        self._reset()
        return result

    def _reset(self) -> None:
        self._length = self._capacity = 0
        self._buffer = np.empty(0, dtype=np.uint8)
        self._view_buffer()

    def _enlarge(self, needed: int) -> None:
        least = _FIRST // max(self._rows * self._step, 1)
        old, new = self._capacity, max(needed, self._capacity + max(self._capacity // 8, least))
        # A view of the old address must not be used any more: it is replaced right below.
        self._buffer.resize(self._rows * new * self._step, refcheck=False)
        self._capacity = new
        self._move_rows(range(self._rows - 1, 0, -1), old, new)
        self._view_buffer()

    def _move_rows(self, rows: range, old: int, new: int) -> None:
        """Moves rows from `old` to `new` steps apart, in an order in which none is overwritten."""
        start, size = self._buffer.ctypes.data, self._length * self._step
        for row in rows:
            ctypes.memmove(start + row * new * self._step, start + row * old * self._step, size)

    def _view_buffer(self) -> None:
        shape = (*self._before, self._capacity, *self._after)
        self._view = from_bytes(torch.from_numpy(self._buffer), carrier(self.dtype), shape)
