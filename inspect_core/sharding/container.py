"""Facts and arrays as one run of bytes: the length of a JSON text, the text, then safetensors."""

import json
from collections.abc import Mapping
from typing import Any

import safetensors.numpy
from numpy import ndarray

LENGTH = 8


def pack(facts: Any, arrays: Mapping[str, ndarray] | None = None) -> bytes:
    """JSON-able facts and arrays of numbers as bytes."""
    text = json.dumps(facts).encode()
    return len(text).to_bytes(LENGTH, "little") + text + safetensors.numpy.save(dict(arrays or {}))


def unpack(content: bytes) -> tuple[Any, dict[str, ndarray]]:
    """(facts, arrays) of what `pack` gave. Raises ValueError for anything else."""
    end = LENGTH + int.from_bytes(content[:LENGTH], "little")
    try:
        return json.loads(content[LENGTH:end]), safetensors.numpy.load(content[end:])
    except (ValueError, safetensors.SafetensorError) as error:
        raise ValueError(f"{len(content)} bytes are no facts and arrays ({error})") from error


def facts(content: bytes) -> Any:
    """The facts of what `pack` gave, without a look at the arrays."""
    return json.loads(content[LENGTH : LENGTH + int.from_bytes(content[:LENGTH], "little")])
