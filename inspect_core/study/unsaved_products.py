"""A product that is not saved as a recipe yet, on disk: the recipe it would be, and how to teach it again.

A folder of two files, both data only: `recipe.zip`, and `part`, which is sealed with its SHA-256. While a product is
being taught there is only `part`, so a server that is started again knows what was interrupted.
"""

import hashlib
import re
import shutil
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from inspect_core.datasets.dataset import PhotoFile
from inspect_core.datasets.splitting import Split
from inspect_core.images import heatmap
from inspect_core.images.alignment import Alignment, ValueRange
from inspect_core.images.areas import InspectionArea, InspectionAreas
from inspect_core.images.depth import Depth
from inspect_core.images.tiles import TilePlan
from inspect_core.images.tolerances import Tolerances
from inspect_core.recipe import Recipe
from inspect_core.recipe_io import recipe_file
from inspect_core.runtime import workspace
from inspect_core.runtime.atomic_write import atomic_replace
from inspect_core.runtime.jobs import JobRejected
from inspect_core.runtime.serialisation import pack, unpack
from inspect_core.study.scored_photo import ScoredPhoto, UnscoredPhoto
from inspect_core.study.teaching_config import TeachingConfig
from inspect_core.verdict import Limits

RECIPE, PART = "recipe.zip", "part"
LARGEST = 256 << 20
"""Bytes of the file `part`."""
MOST = 8
"""Parts that are kept."""
MOST_BYTES = 2 << 30
"""Bytes that they take together."""
LATEST = 1e11
"""Seconds since 1970, thousands of years from now."""
_DIGEST = 32


@dataclass(frozen=True)
class UnsavedProduct:
    """What is kept beside the recipe.

    opened_at: when it was taught, in seconds since 1970; thumbnail: WebP, b"" without one; order: teaches it again,
    with its detector; photos: all that have a score, without their placement; detector_reason: why this detector;
    unscored: photos without a score; live: values of live parameters in force, by name; limits_by_hand: that a user
    set, None for the suggested ones; suggested_limits: None where no photo can set them; set_on: scores of the photos
    that set these; recipe_digest: of the recipe that it was saved as last, "" for none.
    """

    product: str
    opened_at: float
    thumbnail: bytes
    order: TeachingConfig
    photos: tuple[ScoredPhoto, ...] = ()
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    detector_reason: str | None = None
    unscored: tuple[UnscoredPhoto, ...] = ()
    live: Mapping[str, int] = field(default_factory=dict)
    limits_by_hand: Limits | None = None
    suggested_limits: Limits | None = None
    set_on: tuple[float, ...] = ()
    recipe_digest: str = ""

    def __post_init__(self) -> None:
        if not 0 <= self.opened_at < LATEST:
            raise ValueError(f"it was made at {self.opened_at!r:.40}, which is no time")
        if self.thumbnail and not heatmap.is_thumbnail(self.thumbnail):
            raise ValueError("its thumbnail is not a picture")
        if not re.fullmatch("([0-9a-f]{64})?", self.recipe_digest):
            raise ValueError(f"its recipe is {self.recipe_digest!r:.80}, which is no digest")

    @property
    def samples(self) -> tuple[PhotoFile, ...]:
        """The photos that it is taught from."""
        return (*self.order.photos.train, *self.order.scored)

    @property
    def files(self) -> set[Path]:
        """Its photos and their masks."""
        photos = (*self.samples, *self.photos)
        return {path for photo in photos for path in (photo.path, photo.mask) if path is not None}


@dataclass(frozen=True)
class OpenProduct:
    """A line of the list of open products; opened_at and thumbnail as of `UnsavedProduct`.

    saved: whether a recipe holds it as it is; recipe: digest of the one that it was saved as last, "" for none;
    changed_at: when it was changed last; problem: why it cannot be opened, or is not on disk; interrupted: whether its
    teaching was, so that there is nothing to open; detector: "" where it is not known; values: those of its parameters,
    in words; fit: another one after each refit.
    """

    id: str
    product: str
    opened_at: float
    thumbnail: bytes
    saved: bool = False
    recipe: str = ""
    changed_at: float = 0.0
    problem: str = ""
    interrupted: bool = False
    detector: str = ""
    values: tuple[str, ...] = ()
    fit: str = ""


class UnsavedProductStore:
    """The products that are not saved, each in a folder of its own under its id; lines: those known, by id."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        there = [path for path in folder.iterdir() if workspace.is_generated_name(path, 12)] if folder.is_dir() else []
        self.lines = {path.name: _line_of(path) for path in there}

    def keep(self, line: OpenProduct, unsaved: UnsavedProduct, freeze: Callable[[], Recipe] | None) -> None:
        """Write a product, each file in one step; freeze: makes its recipe, None leaves the one that is there.

        Why it cannot be kept, as when all would take more than MOST_BYTES, is said in its line; what is there of it
        already stays.
        """
        problem = ""
        folder = self._folder / line.id
        is_new = not folder.exists()
        try:
            if freeze is not None:
                recipe_file.save(freeze(), folder / RECIPE)
            with atomic_replace(folder / PART) as new:
                new.write_bytes(_packed(unsaved))
            if is_new and self._bytes() > MOST_BYTES:
                shutil.rmtree(folder)
                raise ValueError(f"unsaved products may use at most {MOST_BYTES >> 30} GB")
        except (ValueError, TypeError, OSError) as error:
            problem = f"kept in memory only ({error}); save it as a recipe"
        self.lines[line.id] = replace(line, problem=problem)

    def begin(self, part_id: str, order: TeachingConfig) -> None:
        """Write down what is about to be taught, until `drop`: it is listed as interrupted if the server ends first.

        Raises OSError when it cannot be written.
        """
        with atomic_replace(self._folder / part_id / PART) as new:
            new.write_bytes(_packed(UnsavedProduct(order.product, time.time(), b"", order)))

    def drop(self, part_id: str) -> None:
        """Delete a product, if it is there."""
        self.lines.pop(part_id, None)
        shutil.rmtree(self._folder / part_id, ignore_errors=True)

    def require_room(self) -> None:
        """Raise JobRejected, with what to do, when one more product would not be kept."""
        if len(self.lines) >= MOST or self._bytes() >= MOST_BYTES:
            reason = f"{len(self.lines)} unsaved products are open, which is the maximum"
            raise JobRejected(f"{reason}; save one as a recipe or close one in the sidebar, then try again")

    def _bytes(self) -> int:
        return sum(path.stat().st_size for path in self._folder.rglob("*") if path.is_file())


def interrupted(folder: Path) -> TeachingConfig:
    """The order that was being taught. Raises ValueError as `load_unsaved`."""
    return _read(folder).order


def files_of(folder: Path) -> set[Path]:
    """The photos and masks of a product. Raises ValueError as `load_unsaved`."""
    return _read(folder).files


def load_unsaved(folder: Path) -> tuple[UnsavedProduct, Recipe]:
    """A product and the recipe that it would be. Raises ValueError, reason and remedy, for anything damaged."""
    unsaved = _read(folder)
    if workspace.regular_file_stat(folder / RECIPE) is None:
        raise ValueError(f"{folder.name}/{RECIPE} is missing; teach the part again")
    return unsaved, replace(recipe_file.load(folder / RECIPE), digest=None)


def _packed(unsaved: UnsavedProduct) -> bytes:
    photos = tuple(replace(photo, placement=None) for photo in unsaved.photos)
    content = pack(replace(unsaved, photos=photos))
    return hashlib.sha256(content).digest() + content


def _read(folder: Path) -> UnsavedProduct:
    stored = workspace.content(folder / PART, at_most=LARGEST)
    content = b"" if stored is None else stored[_DIGEST:]
    try:
        if stored is None or hashlib.sha256(content).digest() != stored[:_DIGEST]:
            raise ValueError("it is missing, cut short or changed")
        unpacked = unpack(content, _KINDS)
        if not isinstance(unpacked, UnsavedProduct) or unpacked.order.weights is not None:
            raise ValueError("it was not written by Loupe")
    except Exception as error:  # sealed, and yet of any other form
        why = error if isinstance(error, ValueError) else "another version of Loupe wrote it"
        raise ValueError(f"{folder.name}/{PART} cannot be used ({why}); teach the part again") from error
    return unpacked


def _line_of(folder: Path) -> OpenProduct:
    try:
        unsaved = _read(folder)
    except ValueError as error:
        return OpenProduct(folder.name, folder.name, folder.lstat().st_mtime, b"", problem=str(error))
    interrupted = not (folder / RECIPE).exists()
    detector = unsaved.order.method or ""
    return OpenProduct(
        folder.name,
        unsaved.product,
        unsaved.opened_at,
        unsaved.thumbnail,
        recipe=unsaved.recipe_digest,
        changed_at=(folder / PART).lstat().st_mtime,
        interrupted=interrupted,
        detector=detector,
    )


_KINDS = (
    UnsavedProduct, Limits, TeachingConfig, Split, PhotoFile, Depth, Alignment, ValueRange, InspectionAreas,
    InspectionArea, TilePlan, Tolerances, ScoredPhoto, UnscoredPhoto,
)  # fmt: skip
