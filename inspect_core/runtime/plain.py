"""Dataclasses as bytes without pickle: the length of a JSON text, the text, then arrays as safetensors.

Everything but numbers, texts and lists is a JSON object of one entry, which says what it is.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np
import safetensors.numpy

from inspect_core.runtime.json_text import from_json

_LENGTH = 8


def pack(value: Any) -> bytes:
    """A value of dataclasses, named tuples, mappings, tuples, lists, paths, bytes, arrays, tensors, numbers and texts.

    Equal values give equal bytes.
    """
    arrays: list[np.ndarray] = []

    def array(values: np.ndarray) -> int:
        arrays.append(np.asarray(values, order="C"))
        return len(arrays) - 1

    def plain(own: Any) -> Any:
        match own:
            case bytes():
                return {"bytes": array(np.frombuffer(own, np.uint8))}
            case Path():
                return {"path": str(own)}
            case Mapping():
                return {"map": [[plain(name), plain(inner)] for name, inner in own.items()]}
            case tuple() if not hasattr(own, "_fields"):
                return {"tuple": [plain(inner) for inner in own]}
            case list():
                return [plain(inner) for inner in own]
        if hasattr(own, "__array__"):
            return {"array": array(np.asarray(own))}
        if (names := _names(type(own))) is None:
            return own
        return {type(own).__name__: [plain(getattr(own, name)) for name in names]}

    text = json.dumps(plain(value)).encode()
    content = safetensors.numpy.save({str(i): own for i, own in enumerate(arrays)})
    return len(text).to_bytes(_LENGTH, "little") + text + content


def unpack(content: bytes, kinds: Iterable[type]) -> Any:
    """What was packed; kinds: the dataclasses and named tuples that it may hold.

    Raises ValueError, or whatever reading malformed values raises, for any other bytes.
    """
    end = _LENGTH + int.from_bytes(content[:_LENGTH], "little")
    try:
        value, arrays = from_json(content[_LENGTH:end]), safetensors.numpy.load(content[end:])
    except (ValueError, safetensors.SafetensorError) as error:
        raise ValueError(f"{len(content)} bytes are not facts and arrays ({error})") from error

    makers = {kind.__name__: kind for kind in kinds}

    def whole(own: Any) -> Any:
        if isinstance(own, list):
            return [whole(inner) for inner in own]
        if not isinstance(own, dict):
            return own
        ((kind, inner),) = own.items()
        match kind:
            case "array":
                return arrays[str(inner)]
            case "bytes":
                return arrays[str(inner)].tobytes()
            case "path":
                return Path(inner)
            case "map":
                return {whole(name): whole(each) for name, each in inner}
            case "tuple":
                return tuple(whole(each) for each in inner)
        return makers[kind](*map(whole, inner))

    return whole(value)


def _names(kind: type) -> list[str] | None:
    """Names of the fields of a dataclass or a named tuple."""
    return [field.name for field in fields(kind)] if is_dataclass(kind) else getattr(kind, "_fields", None)
