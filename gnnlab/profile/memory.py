"""Bytes of the tensors, arrays and Python objects that an object keeps alive.

The walk follows Python's own references (`gc.get_referents`), so it needs to know no container:
dictionaries, dataclasses, slots, `Data` and datasets of gnnlab and of PyG, modules and closures are
all the same to it. It reads no property and fills no lazy cache. It stops at modules, classes and a
function's globals, and does not follow weak references, which keep nothing alive.
"""

import gc
import sys
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from types import BuiltinFunctionType, CodeType, FrameType, FunctionType, ModuleType, TracebackType
from typing import Any

import numpy as np
import torch
from torch import Tensor

from gnnlab.data.cache import OWN_HEADER, VIEW_HEADER
from gnnlab.profile.show import Shown, size
from gnnlab.profile.spans import EMPTY, Spans, count, mappings, overlap, strided, union

_ELSEWHERE = (ModuleType, type, CodeType, FrameType, TracebackType, BuiltinFunctionType)

_SPARSE_PARTS = {
    torch.sparse_coo: ("_indices", "_values"),
    torch.sparse_csr: ("crow_indices", "col_indices", "values"),
    torch.sparse_bsr: ("crow_indices", "col_indices", "values"),
    torch.sparse_csc: ("ccol_indices", "row_indices", "values"),
    torch.sparse_bsc: ("ccol_indices", "row_indices", "values"),
}


@dataclass(frozen=True)
class Footprint(Shown):
    """Memory of one object.

    - `tensors`: strided tensors and arrays found; a sparse tensor is its parts.
    - `addressed`: bytes that they address, each byte once.
    - `held`: bytes of the storages that they keep alive. More than `addressed` if a small view
      holds a large storage.
    - `mapped`, `shared`: how much of `held` is a memory-mapped file, and shared memory; None if the
      system can't tell.
    - `known`: how much of `addressed` lies in storages that were counted under an earlier owner
      (see `Ledger`), and is therefore not in `held`; 0 for an object measured alone.
    - `objects`: bytes of the Python objects by `sys.getsizeof`, without the storages.
    - `headers`: what the tensors take beside that on torch's C++ side, which Python doesn't see.
      Not read but reckoned, at `OWN_HEADER` bytes a tensor with a storage of its own and
      `VIEW_HEADER` bytes a view.
    """

    tensors: int
    addressed: int
    held: int
    mapped: int | None
    shared: int | None
    known: int
    objects: int
    headers: int

    def table(self) -> list[tuple[str, ...]]:
        rows = [
            ("tensors", str(self.tensors)),
            ("bytes addressed", size(self.addressed)),
            ("storage held", size(self.held)),
            ("Python objects", size(self.objects)),
            ("tensor headers", size(self.headers)),
        ]
        if self.known:
            rows.insert(2, ("... of it known storage", size(self.known)))
        if self.mapped:
            rows.append(("... mapped from files", size(self.mapped)))
        if self.shared:
            rows.append(("... shared memory", size(self.shared)))
        return [("memory", "value"), *rows]


class Ledger:
    """Counts owners one after another, each storage and Python object under the first that has it.

    What is counted must stay alive until the ledger is done with, which the ledger itself sees to.
    """

    def __init__(self) -> None:
        self._held: dict[torch.device, Spans] = {}
        self._objects: dict[int, Any] = {}

    def add(self, owner: object) -> Footprint:
        """The footprint of `owner`: what it addresses, and holds beyond the owners before it."""
        addressed: dict[torch.device, list[Spans]] = defaultdict(list)
        held: dict[torch.device, list[Spans]] = defaultdict(list)
        visited: dict[int, Any] = {}  # keeps what it names, so that no id is given out twice
        stack: list[Any] = [owner]
        tensors = objects = headers = 0
        while stack:
            obj = stack.pop()
            if id(obj) in visited or issubclass(type(obj), _ELSEWHERE):
                continue
            visited[id(obj)] = obj
            if id(obj) not in self._objects:
                objects += _object_bytes(obj)
                headers += _header_bytes(obj)
            if issubclass(type(obj), Tensor) and _is_strided(obj):
                tensors += 1
                device, storage = obj.device, obj.untyped_storage()
                if start := storage.data_ptr():
                    held[device].append(_span(start, storage.nbytes()))
                    addressed[device].append(_addressed_by_tensor(obj))
            elif issubclass(type(obj), np.ndarray):
                tensors += 1
                held[_CPU].append(_held_by_array(obj))
                addressed[_CPU].append(_addressed_by_array(obj))
            elif issubclass(type(obj), torch.UntypedStorage):
                held[obj.device].append(_span(obj.data_ptr(), obj.nbytes()))
            stack.extend(_children(obj))
        self._objects |= visited

        known, new_bytes, new_on_cpu = 0, 0, EMPTY
        for device in held.keys() | addressed.keys():
            before = self._held.get(device, EMPTY)
            known += overlap(union(*addressed[device]), before)
            self._held[device] = union(before, *held[device])
            new_bytes += count(self._held[device]) - count(before)
            if device.type == "cpu":
                new_on_cpu = _minus(self._held[device], before)
        kinds = mappings()
        return Footprint(
            tensors=tensors,
            addressed=sum(count(*spans) for spans in addressed.values()),
            held=new_bytes,
            mapped=overlap(new_on_cpu, kinds[0]) if kinds else None,
            shared=overlap(new_on_cpu, kinds[1]) if kinds else None,
            known=known,
            objects=objects,
            headers=headers,
        )


def footprint(obj: object) -> Footprint:
    """Memory of everything that `obj` refers to, directly or not: see `Footprint`.

    Raises TypeError for a tensor of an opaque layout (mkldnn), whose memory torch doesn't show.

    >>> block = torch.zeros(1000, 4)
    >>> view = footprint([block[:10], block[5:20]])
    >>> view.addressed, view.held  # rows 0 to 19; the whole block
    (320, 16000)
    """
    return Ledger().add(obj)


def nbytes(obj: object) -> int:
    """Bytes that the tensors and NumPy arrays inside `obj` address, each byte counted once.

    `obj` is anything, on any device: nested containers, `Data`, a dataset, a sparse tensor, a
    module (gradients included). What a view keeps alive beyond the bytes it addresses is
    `footprint(obj).held`.

    >>> x = torch.zeros(10, 4)
    >>> nbytes({"x": x, "first": x[:3], "same": [x.numpy()]})
    160
    """
    return footprint(obj).addressed


def nbytes_of_tensors(tensors: Iterable[Tensor]) -> int:
    """Bytes that `tensors` address, each byte once, without following what else they refer to."""
    spans: dict[torch.device, list[Spans]] = defaultdict(list)
    for tensor in tensors:
        for part in _parts(tensor):
            spans[part.device].append(_addressed_by_tensor(part))
    return sum(count(*s) for s in spans.values())


_CPU = torch.device("cpu")


def _span(start: int, length: int) -> Spans:
    return np.array([[start, start + length]], dtype=np.int64)


def _minus(a: Spans, b: Spans) -> Spans:
    """The bytes of `a`, a union, that are not in `b`, another, which `a` contains."""
    edges = np.sort(np.concatenate([a.ravel(), b.ravel()])).reshape(-1, 2)
    return edges[edges[:, 0] < edges[:, 1]]


def _is_strided(tensor: Tensor) -> bool:
    """Whether `tensor` has its own storage: not sparse, no wrapper around other tensors, no stand-in."""
    return tensor.layout is torch.strided and not hasattr(tensor, "__tensor_flatten__") and not _is_stand_in(tensor)


def _is_stand_in(tensor: Tensor) -> bool:
    """Whether `tensor` stands for another while `torch.compile` or `torch.export` look on: it has no memory."""
    return type(tensor).__module__.startswith("torch._subclasses.")


def _parts(tensor: Tensor) -> list[Tensor]:
    """The strided tensors that `tensor` consists of."""
    if _is_strided(tensor):
        return [tensor]
    if _is_stand_in(tensor):
        return []
    if tensor.layout in _SPARSE_PARTS:
        return [getattr(tensor, name)() for name in _SPARSE_PARTS[tensor.layout]]
    if hasattr(tensor, "__tensor_flatten__"):
        return [getattr(tensor, name) for name in tensor.__tensor_flatten__()[0]]
    raise TypeError(f"a tensor of layout {tensor.layout} doesn't show its memory; found {tensor}")


def _addressed_by_tensor(tensor: Tensor) -> Spans:
    start = tensor.data_ptr()
    if start == 0:  # empty, or on the meta device
        return EMPTY
    step = tensor.element_size()
    if tensor.is_contiguous():
        return _span(start, tensor.numel() * step)
    return strided(start, tensor.shape, [stride * step for stride in tensor.stride()], step)


def _addressed_by_array(array: np.ndarray[Any, Any]) -> Spans:
    address = array.__array_interface__["data"][0]
    return strided(address, array.shape, array.strides, array.itemsize)


def _held_by_array(array: np.ndarray[Any, Any]) -> Spans:
    """The memory of the array at the end of the chain of bases, or of the tensor behind it."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    if isinstance(array.base, Tensor):
        storage = array.base.untyped_storage()
        return _span(storage.data_ptr(), storage.nbytes())
    spans = _addressed_by_array(array)
    return _span(spans[:, 0].min(), int(np.ptp(spans))) if len(spans) else EMPTY


def _children(obj: Any) -> list[Any]:
    """What `obj` refers to. A view's base isn't among it: that is held, but not addressed."""
    if issubclass(type(obj), Tensor):
        parts = [] if _is_strided(obj) else _parts(obj)
        grad = [obj.grad] if obj.is_leaf else []
        return [*parts, *grad, *gc.get_referents(obj)]
    if issubclass(type(obj), np.ndarray):
        return [*(obj.flat if obj.dtype.hasobject else ()), *gc.get_referents(obj)]
    if issubclass(type(obj), FunctionType):  # not its globals
        return [obj.__closure__, obj.__defaults__, obj.__kwdefaults__]
    return gc.get_referents(obj)


def _object_bytes(obj: Any) -> int:
    """`sys.getsizeof` without the memory that is counted as storage."""
    if issubclass(type(obj), torch.UntypedStorage):
        return 0
    if issubclass(type(obj), np.ndarray) and obj.flags.owndata:
        return sys.getsizeof(obj) - obj.nbytes
    return sys.getsizeof(obj, 0)


def _header_bytes(obj: Any) -> int:
    if not issubclass(type(obj), Tensor):
        return 0
    return OWN_HEADER if obj._base is None else VIEW_HEADER
