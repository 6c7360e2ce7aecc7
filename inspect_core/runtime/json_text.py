"""JSON from a file or from elsewhere, of which every damage is a ValueError."""

import json
from collections import Counter
from collections.abc import Callable
from typing import Any

DEEPEST = 64
"""Most levels of nesting: nothing that Loupe reads has more than ten."""
_TOO_DEEP = "it is nested too deep"


def from_json(text: str | bytes, *, constant: Callable[[str], Any] | None = None) -> Any:
    """The value of a JSON text. constant: as `parse_constant` of `json.loads`.

    Raises ValueError for what is not JSON, for an object with a key twice, of which another program may take the other,
    and for what is nested deeper than DEEPEST levels: less than Python reads, since whatever goes through it afterwards
    has less of the stack left.
    """
    try:
        value = json.loads(text, parse_constant=constant, object_pairs_hook=_distinct)
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


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) < len(pairs):
        [(twice, _)] = Counter(name for name, _ in pairs).most_common(1)
        raise ValueError(f"it has the key {twice!r:.40} twice")
    return fields
