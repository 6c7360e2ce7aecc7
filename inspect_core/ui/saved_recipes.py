"""The recipes in the workspace, read when a page shows them."""

from pathlib import Path

import streamlit as st

from inspect_core.recipe import Recipe
from inspect_core.recipe_format.manifest import RecipeError
from inspect_core.recipe_io import recipe_file
from inspect_core.runtime import workspace


def paths() -> list[Path]:
    """Everything in the workspace's folder of recipes, the latest first."""
    found = [path for path in workspace.recipes_folder().glob("*") if not path.name.startswith(".")]
    return sorted(found, key=_written, reverse=True)


def say_none() -> None:
    """For a workspace without recipes: where they come from."""
    st.info("No recipe has been saved yet. Teach a part, set the limit on Inspect, then save the recipe there.")
    if st.button("Go to Inspect", type="primary", key="to_inspect"):
        st.switch_page("pages/inspect.py")


def checked(path: Path) -> Recipe:
    """The recipe at the path; a pipe or a device is refused before it is opened, which would block."""
    if not path.name.isprintable():
        raise RecipeError(f"{path.name}: its name holds characters that cannot be shown; rename it")
    if not (path.is_file() or path.is_dir()):
        raise RecipeError(f"{path.name}: it is not a recipe but a pipe, a device or a broken link; delete it")
    return _load(str(path), _written(path))


@st.cache_resource(max_entries=16, show_spinner="Checking the recipe…")
def _load(path: str, written: int) -> Recipe:
    return recipe_file.load(path)


def reason(path: Path, error: Exception) -> str:
    """Why a recipe is refused: the sentence of the refusal, or the error."""
    if isinstance(error, RecipeError | OSError):
        return str(error)
    return f"{path.name}: it cannot be read as a recipe ({type(error).__name__}: {error}); get a fresh copy"


def _written(path: Path) -> int:
    """When a file, or a link itself, was written, in nanoseconds; 0 if it no longer exists."""
    try:
        return path.lstat().st_mtime_ns
    except OSError:
        return 0
