"""Challenges in the audit log: the result of each, and whether a recipe may be used by `watch`."""

from collections.abc import Mapping, Sequence

from inspect_core.audit.changes import describe_entry
from inspect_core.audit.entry import CHALLENGE, CHALLENGE_OVERRIDE, LogEntry, require_reason
from inspect_core.audit.log import AuditLog


def record(log: AuditLog, answers: Sequence[Mapping], *, product: str, recipe: str, user: str) -> LogEntry:
    """Record one challenge. answers: facts of each part, "passed" among them. Raises LogError."""
    facts = {"passed": all(answer["passed"] for answer in answers), "parts": list(answers)}
    return log.append(CHALLENGE, facts, user=user, product=product, recipe=recipe)


def override(log: AuditLog, *, product: str, recipe: str, reason: str, user: str) -> LogEntry:
    """Allow `watch` with a recipe in spite of a missed challenge. Raises ValueError without a reason, LogError."""
    return log.append(CHALLENGE_OVERRIDE, {"reason": require_reason(reason)}, user=user, product=product, recipe=recipe)


def last(log: AuditLog, recipe: str) -> LogEntry | None:
    """The latest challenge or override of a recipe, by its digest. Raises LogError."""
    kinds = (CHALLENGE, CHALLENGE_OVERRIDE)
    entries = [entry for kind in kinds for entry in log.entries(kind=kind, recipe=recipe, newest=1)]
    return max(entries, key=lambda entry: entry.number, default=None)


def why_blocked(log: AuditLog, recipe: str) -> str | None:
    """Why `watch` is blocked for a recipe with challenge parts, and the remedy; None if not. Raises LogError."""
    entry = last(log, recipe)
    if entry is None:
        return "its challenge has never been run here; run the challenge first"
    if entry.kind == CHALLENGE and entry.facts.get("passed") is not True:
        missed = describe_entry(entry).removeprefix("failed: ")
        return f"its last challenge failed ({missed}); correct lamp, lens or fixture and repeat it, or override it"
    return None
