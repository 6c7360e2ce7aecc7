"""Recorded changes of limits and of verdicts; and every entry of the log in plain words."""

import re
from collections.abc import Mapping
from dataclasses import asdict

from inspect_core.audit import entry as kinds
from inspect_core.audit.entry import LogEntry, NewLogEntry, require_reason
from inspect_core.audit.inspections import LoggedInspection
from inspect_core.verdict import Limits, VerdictWord

_DIGEST = re.compile(r"\b([0-9a-f]{12})[0-9a-f]{52}\b")
"""A SHA-256, and the digits of it that are shown."""


def limits_changed(
    old: Limits | None, new: Limits, *, product: str, recipe: str, reason: str, user: str
) -> NewLogEntry | None:
    """The entry for a saved recipe; None when its limits are those of the recipe it follows.

    old: of that recipe, None for the first one; recipe: digest of the saved one, which is recorded once.
    """
    if old == new:
        return None
    facts = {"old": old and asdict(old), "new": asdict(new), "reason": reason}
    return NewLogEntry(kinds.LIMITS_CHANGED, facts, user, product, recipe, key=f"limits/{recipe}")


def override(inspection: LoggedInspection, verdict: VerdictWord, *, reason: str, user: str) -> NewLogEntry:
    """The operator's verdict on an inspection, whose entry stays as it is. Raises ValueError for no reason."""
    facts = {"entry": inspection.number, "name": inspection.name, "digest": inspection.digest}
    facts |= {"original": inspection.verdict, "verdict": verdict, "reason": require_reason(reason)}
    return NewLogEntry(kinds.OVERRIDE, facts, user, inspection.product, inspection.recipe)


def relabelled(name: str, digest: str, before: str, after: str, *, product: str, recipe: str, user: str) -> NewLogEntry:
    """What the engineer says a part is, good or a defect type, with its former label; digest: its photo's."""
    facts = {"name": name, "digest": digest, "before": before, "after": after}
    return NewLogEntry(kinds.RELABELLED, facts, user, product, recipe)


def limits_in_words(limits: Limits) -> str:
    """One limit, or both."""
    if limits.review == limits.reject:
        return f"reject above {limits.reject:.4g}"
    return f"review above {limits.review:.4g}, reject above {limits.reject:.4g}"


def describe_entry(entry: LogEntry) -> str:
    """An entry in one line of words, without its reason."""
    try:
        return _in_words(entry.kind, entry.facts)
    except (ArithmeticError, AttributeError, TypeError, ValueError):
        return "cannot be read"


def _in_words(kind: str, facts: Mapping) -> str:
    if kind == kinds.LIMITS_CHANGED:
        new = _limits(facts.get("new"))
        return f"{_limits(facts['old'])} → {new}" if facts.get("old") else f"first set to {new}"
    if kind == kinds.OVERRIDE:
        return f"{facts.get('name')} (entry {facts.get('entry')}): {facts.get('original')} → {facts.get('verdict')}"
    if kind == kinds.DRIFT:
        return f"{facts.get('words')} At {facts.get('name')}."
    if kind == kinds.WATCH:
        trial = ", as a trial" if facts.get("trial") else ""
        return f"{facts.get('event')}{trial}: {facts.get('folder')} → {facts.get('out')}"
    if kind == kinds.WATCH_INTERRUPTED:
        return f"{facts.get('folder')} is not watched since {facts.get('stopped')}, as the server was stopped"
    if kind == kinds.RELABELLED:
        return f"{facts.get('name')}: {facts.get('before')} → {facts.get('after')}"
    if kind == kinds.RECIPE_STATE:
        return str(facts.get("state"))
    if kind == kinds.CHALLENGE:
        missed = [str(part.get("name")) for part in facts.get("parts", ()) if not part.get("passed")]
        return f"failed: {', '.join(missed)}" if missed else "all challenge parts passed"
    if kind == kinds.CHALLENGE_OVERRIDE:
        return "watching allowed despite a failed challenge"
    if kind == kinds.CLOCK_SET_BACK:
        return f"from {facts.get('last entry')} to {facts.get('clock')}"
    words = ", ".join(f"{name}: {value}" for name, value in facts.items() if name != "reason")
    return _DIGEST.sub(r"\1", words)


def _limits(pair: Mapping | None) -> str:
    try:
        return limits_in_words(Limits(**(pair or {})))
    except (TypeError, ValueError):
        return "unknown"
