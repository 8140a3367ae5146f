"""What a value is, told the same by every process, so that a person can read what changed.

A description is plain JSON. Numbers, strings and lists stand for themselves; everything else is an object
with its `kind`, mostly a `name`, and what belongs to it: `items` (contents or attributes), `contents` (a
hash), `code` (a hash). It holds no address, no file name and no order of a set or a dict.

Code is the bytecode with its constants and names, so it belongs to one version of Python, which stands beside
it. A class is described by its methods, unless it has a `version`, which then speaks for it. Code that is
installed (the standard library, site-packages, gnnlab) is described by its name alone. What code reads from
its module is not followed: raise the `version` when that changes.
"""

import enum
import functools
import json
import math
import os
import sys
import sysconfig
from collections.abc import Callable, Iterator
from hashlib import blake2b
from pathlib import PurePath
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np
import torch
from torch import Tensor

from gnnlab.files.codecs import codec_name, find_codec
from gnnlab.files.tensors import checksum

_Inner = Callable[[Any], Any]
_PYTHON = "{}.{}".format(*sys.version_info)


def fingerprint(value: Any) -> str:
    """Returns 32 hexadecimal digits, the same for equal values, in every process of one Python."""
    return _hash(describe(value))


def describe(value: Any) -> Any:
    """Returns a description of `value` as plain JSON.

    Numbers, strings, containers, enums, paths, dtypes, devices, tensors, arrays and modules are
    described by type and content; functions, methods, partials, classes and their instances by
    name, code and attributes. What has no attributes to look at is described by its type alone,
    with the `kind` `"unknown"`. Values may contain themselves.
    """
    return _visit(value, ())


def diff(old: Any, new: Any, name: str = "") -> list[str]:
    """Returns what differs between two descriptions in words, one line for each difference.

    Args:
        old: What `describe` returned then.
        new: What it returns now.
        name: What the lines call the value.

    Dicts without a `kind`, whose values are descriptions, may be compared too. Code compiled by another
    version of Python cannot be compared, and is not called changed.

    Example:
        >>> diff(describe({"num_nodes": 10, "root": "a"}), describe({"num_nodes": 20, "root": "a"}))
        ['num_nodes: 10 -> 20']
    """
    if _canonical(old) == _canonical(new):
        return []
    label = name or "value"
    if isinstance(old, list) and isinstance(new, list):
        return _diff_items(old, new, name, "list")
    if not (isinstance(old, dict) and isinstance(new, dict)) or _identity(old) != _identity(new):
        return [f"{label}: {_show(old)} -> {_show(new)}"]
    if "kind" not in old:
        return _diff_items(old, new, name, "dict")
    lines = []
    compilers = {old.get("python"), new.get("python")} - {None}
    skipped = ("python",) if len(compilers) < 2 else ("python", "code", "methods")
    for field in sorted({*old, *new}):
        before, after = old.get(field), new.get(field)
        if field in skipped or _canonical(before) == _canonical(after):
            continue
        if field in ("code", "contents"):
            lines.append(f"{label}: {field} changed")
        elif field == "methods":
            before, after = before or {}, after or {}
            changed = [key for key in sorted({*before, *after}) if before.get(key) != after.get(key)]
            lines += [f"{label}: code of {key} changed" for key in changed]
        elif field == "items" and type(before) is type(after):
            lines += _diff_items(before, after, name, old["kind"])
        elif isinstance(before, dict) and isinstance(after, dict):
            lines += diff(before, after, name)
        else:
            lines.append(f"{label}: {field} {_show(before)} -> {_show(after)}")
    return lines


# Describing


def _visit(value: Any, above: tuple[int, ...]) -> Any:
    """Describes `value`, which lies within the objects whose ids are `above`."""
    if isinstance(value, enum.Enum):
        return {"kind": "enum", "name": f"{_name(type(value))}.{value.name}"}
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        return int(value)
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, float) and math.isfinite(value):
        return float(value)
    if id(value) in above:
        return {"kind": "cycle", "up": len(above) - above.index(id(value))}
    return _fields(value, lambda part: _visit(part, (*above, id(value))))


@functools.singledispatch
def _fields(value: Any, inner: _Inner) -> Any:
    """Describes an object by class and attributes. The functions below do other types."""
    name = codec_name(value)
    codec = find_codec(name) if name is not None else None
    if codec is not None:
        return {"kind": "object", "name": name, "items": _items(codec.decompose(value), inner)}
    if not hasattr(value, "__dict__") and not any(_slots(value)):
        return {"kind": "unknown", "name": _name(type(value))}
    attributes = getattr(value, "__dict__", {}) | {
        slot: getattr(value, slot) for slot in _slots(value) if hasattr(value, slot)
    }
    return _instance(value, attributes, inner)


def _instance(value: Any, attributes: dict[str, Any], inner: _Inner) -> Any:
    cls = inner(type(value)) | {"kind": "object", "name": _name(type(value))}
    return cls | {"items": _items(attributes, inner)}


def _slots(value: Any) -> Iterator[str]:
    for cls in type(value).__mro__:
        slots = vars(cls).get("__slots__", ())
        yield from (slots,) if isinstance(slots, str) else slots


def _items(children: Any, inner: _Inner) -> Any:
    """Describes children by key, or by position."""
    if not isinstance(children, dict):
        return [inner(child) for child in children]
    return {_key(key, inner): inner(child) for key, child in children.items()}


def _key(key: Any, inner: _Inner) -> str:
    """Returns a string for a key, a different one for each: what is no string gets a `!`."""
    if isinstance(key, str) and not key.startswith("!"):
        return str.__str__(key)
    return "!" + _canonical(inner(key))


def _container(kind: str, value: Any, items: Any) -> Any:
    exact = type(value).__module__ == "builtins"
    return {"kind": kind, "items": items} | ({} if exact else {"type": _name(type(value))})


@_fields.register(float)
@_fields.register(complex)
def _(value: Any, inner: _Inner) -> Any:
    return {"kind": "number", "name": repr(value)}


@_fields.register(bytes)
@_fields.register(bytearray)
def _(value: Any, inner: _Inner) -> Any:
    digest = blake2b(value, digest_size=16).hexdigest()
    return {"kind": type(value).__name__, "size": len(value), "contents": digest}


@_fields.register(list)
def _(value: list[Any], inner: _Inner) -> Any:
    items = _items(value, inner)
    return items if type(value) is list else _container("list", value, items)


@_fields.register(tuple)
def _(value: tuple[Any, ...], inner: _Inner) -> Any:
    return _container("tuple", value, _items(value, inner))


@_fields.register(dict)
def _(value: dict[Any, Any], inner: _Inner) -> Any:
    return _container("dict", value, _items(value, inner))


@_fields.register(set)
@_fields.register(frozenset)
def _(value: Any, inner: _Inner) -> Any:
    return _container("set", value, {_key(member, inner): inner(member) for member in value})


@_fields.register(range)
def _(value: range, inner: _Inner) -> Any:
    return {"kind": "range", "items": [value.start, value.stop, value.step]}


@_fields.register(slice)
def _(value: slice, inner: _Inner) -> Any:
    return {"kind": "slice", "items": _items([value.start, value.stop, value.step], inner)}


@_fields.register(PurePath)
def _(value: PurePath, inner: _Inner) -> Any:
    return {"kind": "path", "name": value.as_posix()}


@_fields.register(torch.dtype)
@_fields.register(torch.device)
@_fields.register(torch.layout)
def _(value: Any, inner: _Inner) -> Any:
    return {"kind": type(value).__name__, "name": str(value)}


@_fields.register(Tensor)
def _(value: Tensor, inner: _Inner) -> Any:
    fields: dict[str, Any] = {
        "kind": "tensor",
        "dtype": str(value.dtype),
        "shape": list(value.shape),
    }
    name = codec_name(value)
    codec = find_codec(name) if name is not None else None
    if codec is not None:
        return fields | {"items": _items(codec.decompose(value), inner)}
    return fields if value.is_meta else fields | {"contents": checksum(value)}


@_fields.register(np.ndarray)
def _(value: np.ndarray, inner: _Inner) -> Any:
    fields: dict[str, Any] = {
        "kind": "array",
        "dtype": str(value.dtype),
        "shape": list(value.shape),
    }
    if value.dtype.hasobject:
        return fields | {"items": _items(value.reshape(-1).tolist(), inner)}
    return fields | {"contents": blake2b(value.tobytes(), digest_size=16).hexdigest()}


@_fields.register(np.generic)
def _(value: np.generic, inner: _Inner) -> Any:
    plain = value.item()
    return inner(np.asarray(value) if isinstance(plain, np.generic) else plain)


@_fields.register(torch.nn.Module)
def _(value: torch.nn.Module, inner: _Inner) -> Any:
    public = {key: part for key, part in vars(value).items() if not key.startswith("_")}
    return _instance(value, public | value._parameters | value._buffers | value._modules, inner)


@_fields.register(ModuleType)
def _(value: ModuleType, inner: _Inner) -> Any:
    return {"kind": "module", "name": value.__name__}


@_fields.register(functools.partial)
def _(value: functools.partial[Any], inner: _Inner) -> Any:
    return {
        "kind": "partial",
        "function": inner(value.func),
        "arguments": inner(list(value.args)),
        "keywords": inner(value.keywords),
    }


@_fields.register(MethodType)
def _(value: MethodType, inner: _Inner) -> Any:
    return {"kind": "method", "function": inner(value.__func__), "self": inner(value.__self__)}


@_fields.register(BuiltinFunctionType)
def _(value: BuiltinFunctionType, inner: _Inner) -> Any:
    owner = None if isinstance(value.__self__, ModuleType) else inner(value.__self__)
    return {"kind": "function", "name": _name(value), "self": owner}


@_fields.register(FunctionType)
def _(value: FunctionType, inner: _Inner) -> Any:
    code = value.__code__
    positional = code.co_varnames[: code.co_argcount]
    values = value.__defaults__ or ()
    defaults = dict(zip(positional[len(positional) - len(values) :], values, strict=True))
    cells = zip(code.co_freevars, value.__closure__ or (), strict=True)
    fields = {
        "kind": "function",
        "name": _name(value),
        "defaults": inner(defaults | (value.__kwdefaults__ or {})),
        "closure": inner({key: cell.cell_contents for key, cell in cells if _is_filled(cell)}),
    }
    if _is_installed(value):
        return fields
    return fields | {"python": _PYTHON, "code": _hash(_describe_code(code, inner, value.__doc__))}


@_fields.register(type)
def _(value: type, inner: _Inner) -> Any:
    fields: dict[str, Any] = {"kind": "class", "name": _name(value)}
    version = getattr(value, "version", None)
    if isinstance(version, int | float | str | tuple):
        return fields | {"version": inner(version)}
    methods = {
        f"{base.__name__}.{name}": _hash(inner(function))
        for base in value.__mro__
        if not _is_installed(base)
        for name, member in vars(base).items()
        for function in _functions(member)
    }
    return fields | ({"python": _PYTHON, "methods": methods} if methods else {})


def _functions(member: Any) -> Iterator[FunctionType]:
    """Yields the functions behind what stands in the body of a class."""
    if isinstance(member, FunctionType):
        yield member
    elif isinstance(member, staticmethod | classmethod):
        yield from _functions(member.__func__)
    elif isinstance(member, functools.cached_property):
        yield from _functions(member.func)
    elif isinstance(member, property):
        for accessor in (member.fget, member.fset, member.fdel):
            yield from _functions(accessor)


def _describe_code(code: CodeType, inner: _Inner, doc: str | None = None) -> Any:
    """Describes bytecode: no file name, line numbers, names of local variables or docstring."""
    constants = [_describe_code(part, inner) if isinstance(part, CodeType) else inner(part) for part in code.co_consts]
    if doc is not None and constants[:1] == [doc]:
        constants[0] = None
    parameters = code.co_argcount + code.co_kwonlyargcount
    return [
        code.co_code.hex(),
        constants,
        list(code.co_names),
        list(code.co_varnames[:parameters]),
        [code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags],
    ]


def _is_filled(cell: Any) -> bool:
    try:
        cell.cell_contents  # noqa: B018
    except ValueError:
        return False
    return True


def _name(value: Any) -> str:
    return f"{value.__module__}.{value.__qualname__}"


@functools.cache
def _installed_folders() -> tuple[str, ...]:
    return tuple(sysconfig.get_path(kind) + os.sep for kind in ("stdlib", "platstdlib", "purelib", "platlib"))


def _is_installed(value: Any) -> bool:
    """Whether a library holds this function or class, whose releases are no concern of a data set's."""
    module = value.__module__ or ""
    file = getattr(sys.modules.get(module), "__file__", None) or ""
    return module.partition(".")[0] in ("builtins", "gnnlab") or file.startswith(_installed_folders())


def _canonical(description: Any) -> str:
    return json.dumps(description, sort_keys=True, separators=(",", ":"))


def _hash(description: Any) -> str:
    return blake2b(_canonical(description).encode("ascii"), digest_size=16).hexdigest()


# Comparing


def _identity(node: dict[str, Any]) -> Any:
    return node.get("kind"), node.get("name"), node.get("type")


def _diff_items(old: Any, new: Any, name: str, kind: str) -> list[str]:
    if isinstance(old, list):
        old, new = dict(enumerate(old)), dict(enumerate(new))
    lines = []
    for key in [*old, *(key for key in new if key not in old)]:
        child = _child(name, key, kind)
        if key not in new:
            lines.append(f"{child}: {_show(old[key])} is gone")
        elif key not in old:
            lines.append(f"{child}: {_show(new[key])} is new")
        else:
            lines += diff(old[key], new[key], child)
    return lines


def _child(name: str, key: Any, kind: str) -> str:
    """Returns what lines call the child `key` of what they call `name`."""
    if kind == "set":
        return name or "value"
    if isinstance(key, int):
        return f"{name or 'value'}[{key}]"
    if key.startswith("!"):
        return f"{name or 'value'}[{_show(json.loads(key[1:]))}]"
    return f"{name}.{key}" if name else key


def _show(node: Any) -> str:
    """Returns a few words for a description."""
    match node:
        case [*items]:
            text = f"[{', '.join(map(_show, items))}]"
        case {"kind": "tuple", "items": items}:
            text = f"({', '.join(map(_show, items))}{',' * (len(items) == 1)})"
        case {"kind": "dict" | "set", "items": dict(items)}:
            text = f"{{{', '.join(f'{key}: {_show(item)}' for key, item in items.items())}}}"
        case {"kind": kind, "dtype": dtype, "shape": shape}:
            text = f"{kind} of {dtype} {shape}"
        case {"kind": kind}:
            text = f"{kind} {node.get('name', '')}".strip()
        case _:
            text = repr(node)
    return text if len(text) <= 80 else f"{text[:77]}..."
