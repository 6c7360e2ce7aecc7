"""JSON from a file or from elsewhere, of which every damage is a ValueError."""

import json
from collections.abc import Callable
from typing import Any

DEEPEST = 64
"""Most levels of nesting: nothing that Loupe reads has more than ten."""
_TOO_DEEP = "it is nested too deep"


def from_json(text: str | bytes, *, constant: Callable[[str], Any] | None = None) -> Any:
    """The value of a JSON text. constant: as `parse_constant` of `json.loads`.

    Raises ValueError for what is not JSON, and for what is nested deeper than DEEPEST levels: less than Python reads,
    since whatever goes through it afterwards has less of the stack left.
    """
    try:
        value = json.loads(text, parse_constant=constant)
    except RecursionError as error:
        raise ValueError(_TOO_DEEP) from error
    level = [[value]]
    for _ in range(DEEPEST + 1):
        level = [
            inner
            for outer in level
            for inner in (outer.values() if isinstance(outer, dict) else outer)
            if isinstance(inner, dict | list)
        ]
        if not level:
            return value
    raise ValueError(_TOO_DEEP)
