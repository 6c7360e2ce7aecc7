"""Where Loupe keeps its things on this machine: recipes, stored features, uploads; and which folders it may read."""

import os
import re
from pathlib import Path

FEATURE_BYTES = 4 << 30


def root() -> Path:
    """The workspace folder: LOUPE_WORKSPACE, else workspace/ beside where Loupe was started."""
    return Path(os.environ.get("LOUPE_WORKSPACE") or "workspace").resolve()


def features_folder() -> Path:
    return root() / "features"


def recipes_folder() -> Path:
    return root() / "recipes"


def uploads_folder() -> Path:
    return root() / "uploads"


def allowed_roots() -> tuple[Path, ...]:
    """Folders that pages may read photos from: LOUPE_ROOTS (separated as PATH is), else home, here and the workspace.

    The command line reads wherever its user may; this list guards what a browser may ask for.
    """
    named = os.environ.get("LOUPE_ROOTS")
    if named:
        return tuple(Path(part).resolve() for part in named.split(os.pathsep) if part)
    project = Path(__file__).resolve().parent.parent
    return tuple(dict.fromkeys((Path.home().resolve(), Path.cwd().resolve(), project, project.parent, root())))


def file_name(title: str) -> str:
    """A product's title as a safe file name: letters, digits, dash and underscore; never empty."""
    return re.sub(r"[^A-Za-z0-9_-]+", "-", title).strip("-")[:80] or "part"
