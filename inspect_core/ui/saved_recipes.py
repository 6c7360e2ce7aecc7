"""The recipes in the workspace, read when a page shows them."""

import contextlib
from collections.abc import Callable, Sequence
from pathlib import Path

import streamlit as st

from inspect_core.audit import life_cycle
from inspect_core.audit.log import AuditLog, LogError
from inspect_core.recipe import Recipe
from inspect_core.recipe_format.recipe_package import RecipeError
from inspect_core.recipe_io import recipe_file
from inspect_core.runtime import workspace
from inspect_core.ui import shell


def paths() -> list[Path]:
    """Everything in the workspace's folder of recipes, the latest first."""
    paths = [path for path in workspace.recipes_folder().glob("*") if not path.name.startswith(".")]
    return sorted(paths, key=_written, reverse=True)


def find(digest: str) -> Path | None:
    """Where the recipe with this digest is saved; None if it is not."""
    for path in paths():
        with contextlib.suppress(Exception):  # whatever reading a file from elsewhere raises
            if _facts(path, _written(path))[1] == digest:
                return path
    return None


def show_no_recipes() -> None:
    """For a workspace without recipes: where they come from."""
    st.info("No recipes yet. Teach a product, set the limit on Inspect, then save the recipe there.")
    if st.button("Go to Inspect", type="primary", key="to_inspect"):
        shell.go_to("pages/inspect.py")


def names(paths: Sequence[Path]) -> dict[Path, str]:
    """What each recipe is called in a choice, "aliens, draft 2": product, state and file's number."""
    states = _states()
    return {path: _name(path, states) for path in paths}


def versions() -> Callable[[str], str]:
    """What names a version by its digest: "draft 2", the start of the digest where no file here holds it."""
    states = _states()
    known = {}
    for path in paths():
        with contextlib.suppress(Exception):  # whatever reading a file from elsewhere raises
            product, digest = _facts(path, _written(path))
            known[digest] = _version(path, product, states.get(digest, life_cycle.DRAFT))
    return lambda digest: known.get(digest) or digest[:8]


def choices(paths: Sequence[Path]) -> dict[Path, str]:
    """The recipes for work on parts, and their names: first those approved, then others, for trials."""
    named = names(paths)
    return {
        path: f"{named[path]}, for a trial" if is_trial else named[path]
        for is_trial in (False, True)
        for path in paths
        if is_for_trial(path) == is_trial
    }


def is_for_trial(path: Path) -> bool:
    """Whether another version of the recipe's product is approved, so that this one is not for production."""
    try:
        product, digest = _facts(path, _written(path))
    except Exception:  # whatever reading a file from elsewhere raises: said where the recipe is used
        return False
    try:
        with AuditLog.open() as log:
            approved = life_cycle.approved(log, product)
    except LogError:
        return False
    return approved is not None and approved != digest


def _states() -> dict[str, str]:
    states: dict[str, str] = {}
    with contextlib.suppress(LogError), AuditLog.open() as log:
        states = life_cycle.states(log)
    return states


def state(digest: str, *, is_saved: bool) -> str:
    """Whether a recipe holds a product as it is: "not saved", "saved as draft 2", "changed since draft 2".

    digest: of the recipe that the product was saved as last, "" for none; is_saved: whether it holds all of it.
    """
    if not digest:
        return "not saved"
    path = find(digest)
    if path is None:
        return "saved in a file that is gone" if is_saved else "changed since it was saved"
    product, _ = _facts(path, _written(path))
    version = _version(path, product, _states().get(digest, life_cycle.DRAFT))
    return f"{'saved as' if is_saved else 'changed since'} {version}"


def _name(path: Path, states: dict[str, str]) -> str:
    try:
        product, digest = _facts(path, _written(path))
    except Exception:  # whatever reading a file from elsewhere raises: said where the recipe is used
        return path.name
    return f"{product}, {_version(path, product, states.get(digest, life_cycle.DRAFT))}"


def _version(path: Path, product: str, state: str) -> str:
    """The state of a recipe and its file's number: "draft 2"."""
    first = workspace.file_name(product)
    number = "1" if path.stem == first else path.stem.removeprefix(f"{first}-")
    return f"{state} {number if number.isdecimal() else f'({path.stem})'}"


@st.cache_data(max_entries=1000, show_spinner="Checking the recipe…", hash_funcs={type(Path()): bytes})
def _facts(path: Path, written: int) -> tuple[str, str]:
    """Product and digest."""
    recipe = checked(path)
    return recipe.product, str(recipe.digest)


def checked(path: Path) -> Recipe:
    """The recipe at the path; a pipe or a device is refused before it is opened, which would block."""
    if not path.name.isprintable():
        raise RecipeError(f"{path.name}: the name contains characters that cannot be displayed; rename the file")
    if not (path.is_file() or path.is_dir()):
        raise RecipeError(f"{path.name}: not a regular file (a pipe, device or broken link); delete it")
    return _load(str(path), _written(path))


@st.cache_resource(max_entries=16, show_spinner="Checking the recipe…")
def _load(path: str, written: int) -> Recipe:
    return recipe_file.load(path)


def reason(path: Path, error: Exception) -> str:
    """Why a recipe is refused: the sentence of the refusal, or the error."""
    if isinstance(error, RecipeError | OSError):
        return str(error)
    return f"{path.name}: not a readable recipe ({type(error).__name__}: {error}); copy it again from the source"


def _written(path: Path) -> int:
    """When a file, or a link itself, was written, in nanoseconds; 0 if it no longer exists."""
    try:
        return path.lstat().st_mtime_ns
    except OSError:
        return 0
