"""Draft, approved, retired: the state of a recipe lives in the audit log, and nowhere else.

A recipe begins as a draft. The version of a product that was approved last is in force, so there is at most one, even
when two people approve at once. A retired version can be approved again: the way back when a new one fails on the line.
"""

from inspect_core.audit.entry import EXPORT, RECIPE_STATE, LogEntry, NewLogEntry, require_reason, storable
from inspect_core.audit.log import AuditLog

DRAFT, APPROVED, RETIRED = "draft", "approved", "retired"


def states(log: AuditLog) -> dict[str, str]:
    """The state of every recipe that is no longer a draft, by its digest. Raises LogError."""
    return _read(log)[0]


def state_of(log: AuditLog, digest: str) -> str:
    """DRAFT, APPROVED or RETIRED. Raises LogError."""
    return states(log).get(digest, DRAFT)


def approved(log: AuditLog, product: str) -> str | None:
    """Digest of the version of a product that is in force; None without one. Raises LogError."""
    return _read(log)[1].get(storable(product))


def released(log: AuditLog, release: str, *, recipe: str, product: str, user: str) -> LogEntry:
    """Record that a recipe was exported; release: the digest over all files of the export. Raises LogError."""
    return log.append(EXPORT, {"release": release}, user=user, product=product, recipe=recipe)


def releases(log: AuditLog, digest: str) -> list[str]:
    """The exports of a recipe that are recorded, the first one first. Raises LogError."""
    recorded_releases = (entry.facts.get("release") for entry in log.entries(kind=EXPORT, recipe=digest))
    return list(dict.fromkeys(release for release in recorded_releases if isinstance(release, str)))


def approve(log: AuditLog, digest: str, *, product: str, reason: str, user: str) -> LogEntry:
    """Put a recipe in force; the version that was in force is retired, for that reason. Names its exports so far.

    Raises ValueError without a reason and for the version in force, LogError when it cannot be recorded.
    """
    reason = require_reason(reason)
    before = approved(log, product)
    if before == digest:
        raise ValueError("this version is already approved")
    new = [state_entry(APPROVED, digest, product, reason, user, releases=releases(log, digest))]
    if before is not None:
        new.insert(0, state_entry(RETIRED, before, product, f"replaced by {digest[:12]}: {reason}", user))
    return log.append_all(new)[-1]


def retire(log: AuditLog, digest: str, *, product: str, reason: str, user: str) -> LogEntry:
    """Retire a recipe. Raises ValueError without a reason and for one already retired, LogError as `approve`."""
    reason = require_reason(reason)
    if state_of(log, digest) == RETIRED:
        raise ValueError("this version is already retired")
    return log.append_all([state_entry(RETIRED, digest, product, reason, user)])[0]


def approval(log: AuditLog, digest: str) -> str:
    """The state of a recipe with who gave it, when and why: "approved by Ana on 2026-11-27: new lamp".

    Raises LogError.
    """
    state = state_of(log, digest)
    changes = [entry for entry in history(log, digest) if entry.facts.get("state") == state]
    if not changes:
        return state
    return f"{state} by {changes[-1].user} on {changes[-1].time[:10]}: {changes[-1].facts.get('reason')}"


def history(log: AuditLog, digest: str) -> list[LogEntry]:
    """Its changes of state, the first one first. Raises LogError."""
    return [*log.entries(kind=RECIPE_STATE, recipe=digest)]


def _read(log: AuditLog) -> tuple[dict[str, str], dict[str, str]]:
    """States by digest, and digests in force by product."""
    status_by_recipe: dict[str, str] = {}
    in_force: dict[str, str] = {}
    for entry in log.entries(kind=RECIPE_STATE):
        status_by_recipe[entry.recipe] = str(entry.facts.get("state"))
        if in_force.get(entry.product, entry.recipe) != entry.recipe and status_by_recipe[entry.recipe] == APPROVED:
            status_by_recipe[in_force[entry.product]] = RETIRED
        if status_by_recipe[entry.recipe] == APPROVED:
            in_force[entry.product] = entry.recipe
        elif in_force.get(entry.product) == entry.recipe:
            del in_force[entry.product]
    return status_by_recipe, in_force


def state_entry(state: str, recipe: str, product: str, reason: str, user: str, **facts: object) -> NewLogEntry:
    """The entry by which a recipe, named by its digest, gets a state; facts: "releases", its exports."""
    return NewLogEntry(RECIPE_STATE, {"state": state, "reason": reason} | facts, user, product, recipe)
