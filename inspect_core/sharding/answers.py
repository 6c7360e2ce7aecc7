"""Whether a result is one that its task can have, as far as this machine can tell: photos, types, ranges, verdicts.

It comes from a worker that may be faulty, or from a file that may have been changed. Every check raises ValueError, or
whatever reading malformed facts raises.
"""

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any

import numpy as np

from inspect_core.images.photo_quality import SAID
from inspect_core.line.inspector import Inspector
from inspect_core.line.row import Row
from inspect_core.sharding.executor import Failure, Mapper, Numbered, Result
from inspect_core.verdict import NOT_JUDGED, NOT_LOCATED, OTHER_PRODUCT, PARTLY_OUT

Check = Callable[[int | str, bytes], object]
"""Raises for bytes that cannot be the result of this number or name."""
_SHA256 = re.compile(r"[0-9a-f]{64}")


def fault(check: Check, name: int | str, content: bytes) -> str:
    """Why a result cannot be used; "" for a sound one."""
    try:
        check(name, content)
    except Exception as error:  # whatever nonsense it is, the shard is worked again
        return f"its result cannot be used: {error or type(error).__name__}"
    return ""


def checked(mapper: Mapper, check: Check) -> Mapper:
    """The mapper, with a Failure in place of every result that cannot be used."""

    def mapped(task: str, shared: Sequence[bytes], payloads: Iterable[Numbered]) -> Iterator[tuple[int, Result]]:
        for number, result in mapper(task, shared, payloads):
            why = "" if isinstance(result, Failure) else fault(check, number, result)
            yield number, Failure(why) if why else result

    return mapped


def require(true: Any, what: str) -> None:
    """Raise ValueError, saying what is wrong, unless it is true."""
    if not true:
        raise ValueError(what)


def left(asked: Sequence[str], facts: Mapping[str, Any]) -> list[str]:
    """The photos that have a result: all that were asked for, except the damaged and the lost, named once each."""
    others = [*facts["damaged"], *facts["lost"]]
    require(all(isinstance(reason, str) for _, reason in others), "a photo is left out without a reason")
    without = dict(others)
    found = [name for name in asked if name not in without]
    require(len(found) + len(others) == len(asked), "it is about other photos")
    return found


def numbers(values: np.ndarray | None, shape: tuple[int, ...], kind: type = np.float32) -> None:
    """Values of this shape and type, all finite."""
    require(
        values is not None and values.shape == shape and values.dtype == kind and np.isfinite(values).all(),
        f"it lacks finite numbers of shape {shape}",
    )


def digest(text: Any) -> None:
    """A SHA-256 in hexadecimal digits."""
    require(isinstance(text, str) and _SHA256.fullmatch(text), "it lacks the digest of a photo")


def row(facts: Mapping[str, Any], name: str, file: Any, inspector: Inspector) -> Row:
    """The row of one photo: by this recipe, with the verdict that follows from its score."""
    own, limits = Row(**facts), inspector.limits
    asked = Row(
        name=name, review=limits.review, reject=limits.reject, area=inspector.area, recipe=inspector.digest,
        release=inspector.release,
    )  # fmt: skip
    for field, value in asdict(own).items():
        wanted = _FIELDS.get(field)
        require(wanted(value) if wanted else value == getattr(asked, field), f"{field} of {name} is {value!r}")
    if own.verdict == NOT_JUDGED:
        return own
    digest(own.digest)
    digest(file)
    if own.verdict == NOT_LOCATED:
        require(own.score is None and own.reason, f"{name} was not located, and has a score or no reason")
        return own
    word = limits.verdict(math.nan if own.score is None else own.score)
    words = {"": word, OTHER_PRODUCT: "reject", PARTLY_OUT: "review" if word == "accept" else None}
    said = f"{name} is {own.verdict!r} with score {own.score} and reason {own.reason!r}"
    require(own.verdict == words.get(own.reason), said)
    return own


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_number(least: float, most: float = math.inf) -> Any:
    return lambda value: (
        value is None or (type(value) in (int, float) and math.isfinite(value) and least <= value <= most)
    )


def _is_count(value: Any) -> bool:
    return value is None or (type(value) is int and value >= 0)


def _is_time(value: Any) -> bool:
    return _is_text(value) and datetime.fromisoformat(value).tzinfo is not None


_FIELDS = {
    "digest": _is_text,
    "score": _is_number(-math.inf),
    "verdict": _is_text,
    "percentile_among_good": _is_number(0, 100),
    "product_check": _is_text,
    "photo": lambda value: value == "" or (isinstance(value, str) and SAID.issuperset(value.split(", "))),
    "defect_type": _is_text,
    "defect_type_probability": _is_number(0, 1),
    "regions": _is_count,
    "largest_region_pixels": _is_count,
    "reason": _is_text,
    "time": _is_time,
    "milliseconds": lambda value: value is not None and _is_number(0)(value),
}
"""What a value of each field of a row must be; the others are those that were asked for."""
