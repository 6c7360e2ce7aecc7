"""Dataclasses as bytes without pickle: the length of a JSON text, the text, then arrays as safetensors.

Everything but numbers, texts and lists is a JSON object of one entry, which says what it is; a dataclass holds its
fields by name. What is read is checked against their types, and a field that a file of an earlier version lacks has its
default.
"""

import json
import types
from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import numpy as np
import safetensors.numpy

from inspect_core.runtime.json_text import from_json

_LENGTH = 8


def pack(value: Any) -> bytes:
    """A value of dataclasses, named tuples, containers, paths, bytes, arrays, tensors, numbers, texts as bytes.

    Equal values give equal bytes.
    """
    arrays: list[np.ndarray] = []

    def array(values: np.ndarray) -> int:
        arrays.append(np.asarray(values, order="C"))
        return len(arrays) - 1

    def plain(item: Any) -> Any:
        match item:
            case bytes():
                return {"bytes": array(np.frombuffer(item, np.uint8))}
            case Path():
                return {"path": str(item)}
            case Mapping():
                return {"map": [[plain(name), plain(inner)] for name, inner in item.items()]}
            case tuple() if not hasattr(item, "_fields"):
                return {"tuple": [plain(inner) for inner in item]}
            case list():
                return [plain(inner) for inner in item]
        if hasattr(item, "__array__"):
            return {"array": array(np.asarray(item))}
        if (names := _names(type(item))) is None:
            return item
        return {type(item).__name__: {name: plain(getattr(item, name)) for name in names}}

    text = json.dumps(plain(value)).encode()
    content = safetensors.numpy.save({str(i): values for i, values in enumerate(arrays)})
    return len(text).to_bytes(_LENGTH, "little") + text + content


def unpack(content: bytes, kinds: Iterable[type]) -> Any:
    """What was packed; kinds: dataclasses and named tuples it may hold.

    Raises ValueError, or whatever reading malformed values raises, for any other bytes, and for a dataclass with a
    field of another type than it declares.
    """
    end = _LENGTH + int.from_bytes(content[:_LENGTH], "little")
    try:
        value = from_json(content[_LENGTH:end])
        arrays = safetensors.numpy.load(content[end:])
    except (ValueError, safetensors.SafetensorError) as error:
        raise ValueError(f"{len(content)} bytes are not facts and arrays ({error})") from error

    makers = {kind.__name__: kind for kind in kinds}

    def whole(item: Any) -> Any:
        if isinstance(item, list):
            return [whole(inner) for inner in item]
        if not isinstance(item, dict):
            return item
        ((kind, inner),) = item.items()
        match kind:
            case "array":
                return arrays[str(inner)]
            case "bytes":
                return arrays[str(inner)].tobytes()
            case "path":
                return Path(inner)
            case "map":
                return {whole(name): whole(member) for name, member in inner}
            case "tuple":
                return tuple(whole(member) for member in inner)
        values = {name: whole(member) for name, member in inner.items()}
        if is_dataclass(makers[kind]):
            for name, member in values.items():
                if not is_of(member, _hints(makers[kind])[name]):
                    raise ValueError(f"{name} of {kind} is {member!r:.60}")
        return makers[kind](**values)

    return whole(value)


def is_of(value: Any, hint: Any) -> bool:
    """Whether a value is of a declared type: a class, a union, a literal, or a container of these.

    A whole number is a float too, as JSON writes one; a truth value is no number.
    """
    origin = get_origin(hint)
    inner = get_args(hint)
    if hint is Any:
        return True
    if origin in (Union, types.UnionType):
        return any(is_of(value, member) for member in inner)
    if origin is Literal:
        return value in inner
    if origin is tuple:
        hints = [inner[0]] * len(value) if isinstance(value, tuple) and inner[1:] == (...,) else list(inner)
        return isinstance(value, tuple) and len(value) == len(hints) and all(map(is_of, value, hints))
    if isinstance(origin, type) and issubclass(origin, Mapping):
        pairs = isinstance(value, Mapping) and value.items()
        return pairs is not False and all(is_of(key, inner[0]) and is_of(item, inner[1]) for key, item in pairs)
    if origin is not None:
        return isinstance(value, origin) and (origin is np.ndarray or all(is_of(item, inner[0]) for item in value))
    if hint in (int, float):
        return isinstance(value, (int, hint)) and not isinstance(value, bool)
    return value is None if hint is type(None) else isinstance(value, hint)


@cache
def _hints(kind: type) -> dict[str, Any]:
    return get_type_hints(kind)


def _names(kind: type) -> list[str] | None:
    """Names of the fields of a dataclass or a named tuple."""
    return [field.name for field in fields(kind)] if is_dataclass(kind) else getattr(kind, "_fields", None)
