"""Whether a result is one that its task can have, as far as this machine can tell.

It comes from a worker that may be faulty, or from a file that may have been changed. A check raises ValueError, or
whatever reading malformed values raises.
"""

import re
from collections.abc import Callable
from typing import Any

import numpy as np

Check = Callable[[Any, Any], object]
"""Raises for what cannot be the result of this number or name."""
_SHA256 = re.compile(r"[0-9a-f]{64}")


def fault(check: Check, name: int | str, result: Any) -> str:
    """Why a result cannot be used; "" for a sound one."""
    try:
        check(name, result)
    except Exception as error:  # whatever nonsense it is, the shard is worked again
        return f"its result cannot be used: {error or type(error).__name__}"
    return ""


def require(true: Any, what: str) -> None:
    """Raise ValueError, saying what is wrong, unless it is true."""
    if not true:
        raise ValueError(what)


def numbers(values: np.ndarray, shape: tuple[int, ...], kind: type = np.float32) -> None:
    """Values of this shape and type, all finite."""
    sound = values.shape == shape and values.dtype == kind and np.isfinite(values).all()
    require(sound, f"it lacks finite numbers of shape {shape}")


def digest(text: Any) -> None:
    """A SHA-256 in hexadecimal digits."""
    require(isinstance(text, str) and _SHA256.fullmatch(text), "it lacks the digest of a photo")
