"""Facts and arrays as one byte string: the length of a JSON text, the text, then safetensors."""

import json
from collections.abc import Mapping
from typing import Any

import safetensors.numpy
from numpy import ndarray

from inspect_core.runtime.json_text import from_json

LENGTH = 8


def pack(facts: Any, arrays: Mapping[str, ndarray] | None = None) -> bytes:
    """Facts that JSON can hold, and arrays of numbers, as bytes."""
    text = json.dumps(facts).encode()
    return len(text).to_bytes(LENGTH, "little") + text + safetensors.numpy.save(dict(arrays or {}))


def unpack(content: bytes) -> tuple[Any, dict[str, ndarray]]:
    """(facts, arrays) from the bytes of `pack`. Raises ValueError for any other bytes."""
    end = LENGTH + int.from_bytes(content[:LENGTH], "little")
    try:
        return from_json(content[LENGTH:end]), safetensors.numpy.load(content[end:])
    except (ValueError, safetensors.SafetensorError) as error:
        raise ValueError(f"{len(content)} bytes are not facts and arrays ({error})") from error


def facts(content: bytes) -> Any:
    """The facts from the bytes of `pack`; the arrays are not read."""
    return from_json(content[LENGTH : LENGTH + int.from_bytes(content[:LENGTH], "little")])
