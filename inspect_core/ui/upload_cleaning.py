"""Uploads that nothing uses any more: removed when the server starts, and said where photos are uploaded."""

import contextlib
import os
import shutil
import time
from pathlib import Path

from inspect_core.recipe_format import recipe_package
from inspect_core.runtime import workspace
from inspect_core.runtime.wording import pluralise
from inspect_core.study import unsaved_products
from inspect_core.ui import batch_store, saved_recipes

KEPT_SECONDS = 24 * 3600
"""Age from which an upload is removed that nothing uses; a window may still be at work with a younger one."""
_removed: list[str] = []


def clean() -> None:
    """Remove unused uploads, and remember what `sentence` says of it."""
    with contextlib.suppress(OSError):
        count, size = remove_unused()
        if count:
            uploads = pluralise(count, "upload")
            _removed[:] = [f"Removed at the start: {uploads} that no product uses, {size / 2**20:,.0f} MB."]


def sentence() -> str:
    """What was removed when the server started, "" for nothing."""
    return "".join(_removed)


def remove_unused(*, now: float | None = None) -> tuple[int, int]:
    """Remove folders of uploads that no open product, recipe or batch names, older than KEPT_SECONDS; returns how many,
    and their bytes. Removes nothing while a recipe or an open product cannot be read, since it may name one.
    """
    used = _used()
    before = (time.time() if now is None else now) - KEPT_SECONDS
    count = size = 0
    folder = workspace.uploads_folder()
    for upload in folder.iterdir() if used is not None and folder.is_dir() else ():
        if upload.is_symlink() or not upload.is_dir() or upload.name.startswith(".") or upload.stat().st_mtime > before:
            continue
        if not any(path.is_relative_to(os.path.realpath(upload)) for path in used or ()):
            size += sum(file.stat().st_size for file in upload.rglob("*") if file.is_file())
            shutil.rmtree(upload)
            count += 1
    return count, size


def _used() -> set[Path] | None:
    """The paths that open products, recipes and batches name; None where one of them cannot be read."""
    used = {Path(batch.source) for batch in batch_store.all_runs()}
    try:
        for path in saved_recipes.paths():
            document = recipe_package.read_document(recipe_package.check(path), None)
            used |= {Path(folder) for folder in (document["photo_root"], *document["photo_folders"]) if folder}
        folder = workspace.open_folder()
        for product in folder.iterdir() if folder.is_dir() else ():
            if product.is_dir() and not product.name.startswith("."):
                used |= unsaved_products.files_of(product)
    except (ValueError, OSError):
        return None
    return {Path(os.path.realpath(path)) for path in used}
