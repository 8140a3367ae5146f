"""Nested plain values and tensors as JSON, and back. The tensors are numbered and handed out apart.

An object with one key stands for what JSON has no word for:

    {"tensor": 0}                                        the first tensor
    {"dict": {"x": {"tensor": 0}, "name": "karate"}}     a dict whose keys are all strings
    {"pairs": [[{"tuple": ["a", "to", "b"]}, 1.5]]}      a dict with other keys
    {"tuple": [1, 2]}  {"float": "nan"}  {"bytes": "aGVsbG8="}
    {"object": ["torch.sparse", {"dict": ...}]}          what a codec took apart
"""

import base64
import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn import Parameter

from gnnlab.files.codecs import codec_name, find_codec
from gnnlab.files.tensors import DTYPES

_DEEPEST = 200


class FileFormatError(ValueError):
    """A file or folder is damaged, incomplete, or not of the format it should be."""


def encode(tree: Any) -> tuple[Any, list[tuple[str, Tensor]]]:
    """Returns the JSON form of `tree`, and its tensors, each with the path of keys to it.

    Raises:
        TypeError: If the tree holds a value that cannot be stored; the message names it.
        ValueError: If the tree is nested too deeply, or holds itself.
    """
    tensors: list[tuple[str, Tensor]] = []
    return _encode(tree, (), tensors), tensors


def decode(node: Any, tensors: Sequence[Tensor]) -> Any:
    """Returns the tree whose JSON form is `node`, with `tensors` by their number.

    Raises:
        FileFormatError: If `node` is not what `encode` returns.
    """
    match node:
        case None | bool() | int() | float() | str():
            return node
        case [*items]:
            return [decode(item, tensors) for item in items]
        case {"tensor": int(number)} if 0 <= number < len(tensors):
            return tensors[number]
        case {"dict": dict(items)}:
            return {key: decode(item, tensors) for key, item in items.items()}
        case {"pairs": [*pairs]} if all(isinstance(pair, list) and len(pair) == 2 for pair in pairs):
            return {_decode_key(key): decode(item, tensors) for key, item in pairs}
        case {"tuple": [*items]}:
            return tuple(decode(item, tensors) for item in items)
        case {"float": "nan" | "inf" | "-inf" as text}:
            return float(text)
        case {"bytes": str(text)}:
            try:
                return base64.b64decode(text, validate=True)
            except ValueError as error:
                raise FileFormatError(f"damaged bytes: {error}") from error
        case {"object": [str(name), parts]}:
            return _recompose(name, decode(parts, tensors))
    raise FileFormatError(f"expected a node of the tree, found {str(node)[:80]}")


def _encode(value: Any, names: tuple[Any, ...], tensors: list[tuple[str, Tensor]]) -> Any:
    if len(names) > _DEEPEST:
        raise ValueError(f"tree: {_join(names[:4])}... is nested too deeply, or holds itself")
    kind = type(value)
    if value is None or kind in (bool, int, str):
        return value
    if kind is float:
        return value if math.isfinite(value) else {"float": repr(value)}
    if kind is bytes:
        return {"bytes": base64.b64encode(value).decode("ascii")}
    if kind in (list, tuple):
        items = [_encode(item, (*names, index), tensors) for index, item in enumerate(value)]
        return items if kind is list else {"tuple": items}
    if kind is dict:
        pairs = [(_encode_key(key, names), _encode(item, (*names, key), tensors)) for key, item in value.items()]
        if all(type(key) is str for key in value):
            return {"dict": dict(pairs)}
        return {"pairs": [list(pair) for pair in pairs]}
    name = codec_name(value)
    codec = find_codec(name) if name is not None else None
    if codec is not None:
        return {"object": [name, _encode(codec.decompose(value), names, tensors)]}
    if kind in (Tensor, Parameter) and _has_plain_bytes(value):
        tensors.append((_join(names), value))
        return {"tensor": len(tensors) - 1}
    raise TypeError(f"attribute {_join(names)!r}: cannot store {_describe(value)}")


def _encode_key(key: Any, names: tuple[Any, ...]) -> Any:
    if type(key) is tuple:
        return {"tuple": [_encode_key(part, names) for part in key]}
    if type(key) not in (str, int):
        raise TypeError(
            f"attribute {_join(names)!r}: a key must be a string, an integer or a tuple of them, found {key!r}"
        )
    return key


def _decode_key(key: Any) -> Any:
    match key:
        case int() | str():
            return key
        case {"tuple": [*parts]}:
            return tuple(_decode_key(part) for part in parts)
    raise FileFormatError(f"expected a key, found {str(key)[:80]}")


def _recompose(name: str, parts: Any) -> Any:
    codec = find_codec(name)
    if codec is None:
        raise FileFormatError(f"no codec is registered for {name!r} (gnnlab.files.register_codec)")
    try:
        return codec.recompose(parts)
    except (KeyError, TypeError, ValueError, RuntimeError) as error:
        raise FileFormatError(f"cannot put a {name!r} together: {error!r}") from error


def _has_plain_bytes(tensor: Tensor) -> bool:
    known = str(tensor.dtype).removeprefix("torch.") in DTYPES
    return known and tensor.layout == torch.strided and not tensor.is_meta


def _join(names: tuple[Any, ...]) -> str:
    return "/".join(name if isinstance(name, str) else repr(name) for name in names)


def _describe(value: Any) -> str:
    cls = f"{type(value).__module__}.{type(value).__qualname__}"
    if isinstance(value, Tensor):
        return f"a {cls} of {value.dtype} and {value.layout} on {value.device}"
    return f"a {cls} (gnnlab.files.register_codec can teach it)"
