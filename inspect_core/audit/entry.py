"""One entry of the audit log: what it holds, and the digest that ties it to the one before."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

INSPECTION = "inspection"
LIMITS_CHANGED = "limits changed"
OVERRIDE = "override"
RECIPE_STATE = "recipe state"
EXPORT = "export"
CHALLENGE = "challenge"
CHALLENGE_OVERRIDE = "challenge override"
RELABELLED = "part relabelled"
DRIFT = "drift"
WATCH = "watch"
WATCH_INTERRUPTED = "watch interrupted"
PART = "part"
CLOCK_SET_BACK = "clock set back"
KINDS = (
    INSPECTION,
    LIMITS_CHANGED,
    OVERRIDE,
    RECIPE_STATE,
    EXPORT,
    CHALLENGE,
    CHALLENGE_OVERRIDE,
    RELABELLED,
    DRIFT,
    WATCH,
    WATCH_INTERRUPTED,
    PART,
    CLOCK_SET_BACK,
)
"""Kinds of entries. The last one is written by the log itself."""

COLUMNS = ("number", "time", "kind", "user", "product", "recipe", "key", "facts", "previous")
"""What the digest covers, as stored: facts as their JSON text."""
KEY_LENGTH = 255


@dataclass(frozen=True)
class NewLogEntry:
    """An entry to record. facts: JSON with finite numbers; key: unique in the log, or None."""

    kind: str
    facts: Mapping
    user: str
    product: str = ""
    recipe: str = ""
    key: str | None = None

    def stored(self) -> dict[str, Any]:
        """Its columns as stored: facts as canonical JSON, without characters that a database refuses.

        Raises ValueError for an unknown kind, no user, a key that is too long, facts that are not JSON or not finite.
        """
        if self.kind not in KINDS:
            raise ValueError(f"kind is {self.kind!r}; the audit log knows {', '.join(KINDS)}")
        if not self.user.strip():
            raise ValueError("user is empty; the audit log records who acted")
        key = storable(self.key)
        if key is not None and not 0 < len(key) <= KEY_LENGTH:
            raise ValueError(f"key has {len(key)} characters; the audit log takes 1 to {KEY_LENGTH}")
        try:
            facts = canonical(dict(self.facts))
        except (TypeError, ValueError) as error:
            raise ValueError(f"facts of an entry {self.kind!r} are not JSON with finite numbers ({error})") from error
        texts = {name: storable(getattr(self, name)) for name in ("user", "product", "recipe")}
        return {"kind": self.kind, **texts, "key": key, "facts": facts}


@dataclass(frozen=True)
class LogEntry:
    """One row of the log.

    number: from 1 on, without gaps; time: ISO 8601, UTC, by the clock of the machine that wrote it; recipe: digest;
    previous: the digest of the entry before, empty for the first; digest: SHA-256 over all other columns.
    """

    number: int
    time: str
    kind: str
    user: str
    product: str
    recipe: str
    key: str | None
    facts: dict
    previous: str
    digest: str


def canonical(value: object) -> str:
    """JSON text, keys sorted, in ASCII. Raises ValueError or TypeError for what is not JSON or not finite."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


def digest_of(columns: Mapping) -> str:
    """SHA-256 over canonical JSON of COLUMNS; works for any values, as a changed row may hold."""
    text = json.dumps({name: columns[name] for name in COLUMNS}, sort_keys=True, separators=(",", ":"), default=repr)
    return hashlib.sha256(text.encode()).hexdigest()


def require_reason(reason: str) -> str:
    """A reason without the blanks around it. Raises ValueError for an empty one."""
    if not reason.strip():
        raise ValueError("a reason is required; explain briefly why")
    return reason.strip()


def storable(text: str | None) -> str | None:
    """Text that every database takes: NUL and invalid UTF-8 are written as escapes."""
    return text and text.encode("utf-8", "backslashreplace").decode().replace("\0", "\\x00")
