"""A taught part that is not saved as a recipe yet, on disk: the recipe it would be, and how to teach it again.

A folder of two files, both data only: `recipe.zip`, and `part`, which is sealed with its SHA-256.
"""

import hashlib
import shutil
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from inspect_core.images.alignment import Alignment, Range
from inspect_core.images.areas import Area, Areas
from inspect_core.images.depth import Depth
from inspect_core.images.samples import Sample
from inspect_core.images.splitting import Split
from inspect_core.images.tiles import TilePlan
from inspect_core.images.tolerances import Tolerances
from inspect_core.recipe import Recipe
from inspect_core.recipe_io import recipe_file
from inspect_core.runtime import workspace
from inspect_core.runtime.jobs import Busy
from inspect_core.runtime.plain import pack, unpack
from inspect_core.runtime.unfinished import replacing
from inspect_core.study.order import Order
from inspect_core.study.scored_photo import ScoredPhoto

RECIPE, PART = "recipe.zip", "part"
LARGEST = 256 << 20
"""Bytes of the file `part`."""
MOST, MOST_BYTES = 8, 2 << 30
"""Parts that are kept, and bytes that they take together."""
_DIGEST = 32


@dataclass(frozen=True)
class Unsaved:
    """What is kept beside the recipe.

    made: when it was taught, in seconds since 1970; thumbnail: WebP, b"" without one; order: teaches it again, with
    its detector; photos: on the bench, without those that set limits, without their placement; choice: why this
    detector.
    """

    product: str
    made: float
    thumbnail: bytes
    order: Order
    photos: tuple[ScoredPhoto, ...]
    notes: tuple[str, ...] = ()
    choice: str | None = None

    @property
    def folders(self) -> set[Path]:
        """Those that its photos and their masks lie in."""
        photos = (*self.order.photos.fit, *self.order.scored, *self.photos)
        return {path.parent for photo in photos for path in (photo.path, photo.mask) if path is not None}


@dataclass(frozen=True)
class OpenPart:
    """A line of the list of open parts; made and thumbnail as of `Unsaved`, problem: why it cannot be opened, or is not
    on disk.
    """

    id: str
    product: str
    made: float
    thumbnail: bytes
    saved: bool = False
    problem: str = ""


class UnsavedParts:
    """The parts that are not saved, each in a folder of its own under its id; lines: those known, by id."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        there = [path for path in folder.iterdir() if workspace.is_own(path, 12)] if folder.is_dir() else []
        self.lines = {path.name: _line_of(path) for path in there}

    def keep(self, line: OpenPart, part: Unsaved, freeze: Callable[[], Recipe] | None) -> None:
        """Write a part, each file in one step; freeze: makes its recipe, None leaves the one that is there.

        Why it cannot be kept, as when all would take more than MOST_BYTES, is said in its line.
        """
        problem, folder = "", self._folder / line.id
        try:
            if freeze is not None:
                recipe_file.save(freeze(), folder / RECIPE)
            with replacing(folder / PART) as new:
                new.write_bytes(_packed(part))
            if self._bytes() > MOST_BYTES:
                shutil.rmtree(folder)
                raise ValueError(f"all parts that are not saved may take {MOST_BYTES >> 30} GB")
        except (ValueError, TypeError, OSError) as error:
            problem = f"kept in memory only ({error}); save it as a recipe"
        self.lines[line.id] = replace(line, problem=problem)

    def drop(self, part_id: str) -> None:
        """Delete a part, if it is there."""
        if self.lines.pop(part_id, None) is not None:
            shutil.rmtree(self._folder / part_id, ignore_errors=True)

    def require_room(self) -> None:
        """Raise Busy, with what to do, when one more part would not be kept."""
        if len(self.lines) >= MOST or self._bytes() >= MOST_BYTES:
            reason = f"{len(self.lines)} open parts are not saved, and no more can be kept"
            raise Busy(f"{reason}; save one as a recipe, or close one in the list in the sidebar, then start again")

    def _bytes(self) -> int:
        return sum(path.stat().st_size for path in self._folder.rglob("*") if path.is_file())


def opened(folder: Path) -> tuple[Unsaved, Recipe]:
    """A part and the recipe that it would be. Raises ValueError, with reason and remedy, for anything damaged."""
    part = _read(folder)
    if workspace.ordinary(folder / RECIPE) is None:
        raise ValueError(f"{folder.name}/{RECIPE} is missing; teach the part again")
    return part, replace(recipe_file.load(folder / RECIPE), digest=None)


def _packed(part: Unsaved) -> bytes:
    photos = tuple(replace(photo, placement=None) for photo in part.photos)
    content = pack(replace(part, photos=photos, order=replace(part.order, fixed=tuple(part.order.fixed))))
    return hashlib.sha256(content).digest() + content


def _read(folder: Path) -> Unsaved:
    stored = workspace.content(folder / PART, at_most=LARGEST)
    content = b"" if stored is None else stored[_DIGEST:]
    try:
        if stored is None or hashlib.sha256(content).digest() != stored[:_DIGEST]:
            raise ValueError("it is missing, cut short or changed")
        found = unpack(content, _KINDS)
        if not isinstance(found, Unsaved) or found.order.weights is not None:
            raise ValueError("it is not what Loupe writes")
    except Exception as error:  # sealed, and yet of any other form
        raise ValueError(f"{folder.name}/{PART} cannot be used ({error}); teach the part again") from error
    return found


def _line_of(folder: Path) -> OpenPart:
    try:
        part = _read(folder)
    except ValueError as error:
        return OpenPart(folder.name, folder.name, folder.lstat().st_mtime, b"", problem=str(error))
    return OpenPart(folder.name, part.product, part.made, part.thumbnail)


_KINDS = (Unsaved, Order, Split, Sample, Depth, Alignment, Range, Areas, Area, TilePlan, Tolerances, ScoredPhoto)
