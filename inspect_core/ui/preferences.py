"""What Loupe remembers of each user from one session to the next, in one file of the workspace."""

import json
from typing import Any

from inspect_core.runtime import workspace
from inspect_core.runtime.atomic_write import atomic_replace, exclusive
from inspect_core.runtime.json_record import TABLE, check, table_of
from inspect_core.runtime.json_text import from_json
from inspect_core.ui import shell

FILE = "preferences.json"
LONGEST = 1 << 20
"""Bytes of the file."""


def read(name: str) -> Any:
    """What was remembered last for this user under a name; None for nothing, also where it cannot be read."""
    return _stored().get(shell.current_user(), {}).get(name)


def remember(name: str, value: object) -> None:
    """Remember a JSON value for this user. Raises OSError when it cannot be written."""
    user = shell.current_user()
    with exclusive(workspace.root() / FILE):
        stored = _stored()
        if stored.get(user, {}).get(name) != value:
            with atomic_replace(workspace.root() / FILE) as new:
                content = {**stored, user: {**stored.get(user, {}), name: value}}
                new.write_text(json.dumps(content, ensure_ascii=False, indent=1), encoding="utf-8")


def _stored() -> dict[str, dict[str, Any]]:
    try:
        stored = from_json(workspace.content(workspace.root() / FILE, at_most=LONGEST) or b"{}")
        check(stored, table_of(TABLE), "", FILE)
    except ValueError:
        return {}
    return stored
