"""JSON from a file or from elsewhere, of which every damage is a ValueError."""

import json
from collections.abc import Callable
from typing import Any


def from_json(text: str | bytes, *, constant: Callable[[str], Any] | None = None) -> Any:
    """The value of a JSON text. constant: as `parse_constant` of `json.loads`.

    Raises ValueError for what is not JSON, also for one that is nested deeper than Python reads.
    """
    try:
        return json.loads(text, parse_constant=constant)
    except RecursionError as error:
        raise ValueError("it is nested too deep") from error
