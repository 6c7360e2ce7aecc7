"""Saving a recipe whose limits stand in the audit log: first the record, then the file under its name."""

from pathlib import Path

from inspect_core.audit.changes import limits_changed
from inspect_core.audit.log import AuditLog
from inspect_core.recipe import Recipe
from inspect_core.recipe_io import recipe_file
from inspect_core.verdict import Limits


def save_recorded(recipe: Recipe, path: str | Path, before: Limits | None, *, reason: str, user: str) -> Recipe:
    """Save a recipe as `recipe_file.save` does, and record its limits where they differ from those before.

    before: of the recipe it follows, None for the first one. Raises LogError where the log refuses them, with nothing
    saved, so that it can be repeated; otherwise as `recipe_file.save`.
    """

    def record(saved: Recipe) -> None:
        known = {"product": saved.product, "recipe": str(saved.digest), "reason": reason, "user": user}
        entry = limits_changed(before, saved.limits, **known)
        with AuditLog.open() as log:
            log.append_all([] if entry is None else [entry])

    return recipe_file.save(recipe, path, record)
