"""Files that hostile tests put in places, and what becomes of a recipe."""

import contextlib
import io
import socket
from pathlib import Path

import numpy as np
from PIL import Image

from inspect_core.recipe_format.recipe_package import RecipeError
from inspect_core.recipe_io.recipe_file import load


def made(path: Path) -> Path:
    """The path, in a folder that is there."""
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def photo(path: Path, level: int = 0) -> Path:
    """A grey photo in a lossless format, whatever its name says, at one brightness."""
    made(path).write_bytes(encoded(np.full((16, 16, 3), level, np.uint8), "PNG"))
    return path


def encoded(image: np.ndarray | Image.Image, kind: str, **options: object) -> bytes:
    file = io.BytesIO()
    (image if isinstance(image, Image.Image) else Image.fromarray(image)).save(file, kind, **options)
    return file.getvalue()


def linked(path: Path, target: Path | str) -> Path:
    path.symlink_to(target)
    return path


def listening(path: Path) -> Path:
    """A socket."""
    with contextlib.chdir(path.parent):  # the system takes short paths only
        socket.socket(socket.AF_UNIX).bind(path.name)
    return path


def loaded(path: Path):
    """The recipe, or None when it is refused by name."""
    try:
        return load(path)
    except RecipeError as error:
        name = str(error).split(": ")[0]
    assert name == path.name
    return None
