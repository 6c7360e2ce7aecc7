"""A batch judged by workers: photos and a saved recipe go out, rows and maps come back as they are done.

An exported recipe needs no torch, here or on a worker.
"""

import math
import os
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_type_hints

from inspect_core.images.photo_quality import SAID
from inspect_core.line.batch import Drawn, Photo, judge_and_draw
from inspect_core.line.inspector import Inspector
from inspect_core.line.maps import Maps
from inspect_core.line.overlap import ranges
from inspect_core.line.row import Row, row_of
from inspect_core.recipe_format.zipped import zipped
from inspect_core.runner import Runner
from inspect_core.sharding.answers import digest, fault, require
from inspect_core.sharding.executor import RESTING, RESTING_EXPORTED, Executor, Failure
from inspect_core.sharding.run import ATTEMPTS, results
from inspect_core.verdict import NOT_JUDGED, NOT_LOCATED, OTHER_PRODUCT, PARTLY_OUT

if TYPE_CHECKING:
    from inspect_core.sharding.sent import Network

PHOTOS = 16
"""Of one task: its maps are on their way together."""


@dataclass(frozen=True, eq=False)
class Inspecting:
    """Inspects photos with a recipe.

    package: the recipe as a zip; release: digest of an export; network: None for an exported recipe; endings: of the
    maps that are wanted.
    """

    package: bytes
    release: str
    network: "Network | None"
    endings: tuple[str, ...]

    @classmethod
    def of(cls, path: Path, inspector: Inspector, maps: Maps | None) -> "Inspecting":
        """path: of the saved recipe that the inspector was opened from."""
        backbone, network = getattr(inspector, "backbone", None), None
        if backbone is not None:
            from inspect_core.sharding.sent import Network  # which loads torch, as the recipe has

            network = Network.of(backbone)
        return cls(zipped(path), inspector.release, network, () if maps is None else maps.endings)

    def __call__(self, photos: Sequence[Photo]) -> list[Drawn]:
        return [judge_and_draw(_opened(self), name, path, self.endings) for name, path in photos]


@lru_cache(maxsize=1)
def _opened(task: Inspecting) -> Inspector:
    """The recipe, checked and ready, with one thread. Raises ValueError as its readers do."""
    with tempfile.TemporaryDirectory(prefix="loupe-recipe-") as folder:
        path = Path(folder, "recipe.zip")
        path.write_bytes(task.package)
        if task.network is None:
            return Runner(path, threads=1, release=task.release)
        # Imported where they are used: an exported recipe needs none of them.
        from inspect_core.recipe import LoadedRecipe
        from inspect_core.recipe_io.recipe_file import load
        from inspect_core.runtime.threads import one_core
        from inspect_core.sharding.sent import backbone_of

        one_core()
        return LoadedRecipe(load(path), backbone_of(task.network))


@dataclass(frozen=True, eq=False)
class JudgedByWorkers:
    """A `line.batch.Judging`. path: of the saved recipe that the inspector was opened from."""

    executor: Executor
    path: Path

    def __call__(self, inspector: Inspector, photos: Sequence[Photo], maps: Maps | None) -> Iterator[Drawn]:
        """Every photo once, with the verdict that this process would give, to the bit; in any order.

        What a worker cannot judge is judged here; photos of a shard that failed in every attempt, or whose results
        could not be used, are not judged, and their rows say why. Raises ValueError for too little memory.
        """
        task, parts = Inspecting.of(self.path, inspector, maps), ranges(len(photos), PHOTOS)
        self.executor.require(RESTING_EXPORTED if task.network is None else RESTING)

        def some_of(number: int) -> Sequence[Photo]:
            return photos[parts[number].start : parts[number].stop]

        def sent(number: int) -> list[Photo]:  # a worker may run in another folder
            return [(name, Path(os.path.abspath(path))) for name, path in some_of(number)]

        def check(number: int, found: Sequence[Drawn]) -> None:
            for drawn, (name, _) in zip(found, some_of(number), strict=True):
                check_drawn(drawn, name, inspector, task.endings)

        def taken(number: int, found: Any) -> Any:
            why = fault(check, number, found)
            return Failure(why) if why else found

        for number, found in results(self.executor, task, sent, taken, range(len(parts))):
            if isinstance(found, Failure):
                reason = f"its shard failed {ATTEMPTS} times: {found.reason}"
                yield from ((row_of(inspector, name, reason=reason), "", {}) for name, _ in some_of(number))
                continue
            for drawn, (name, path) in zip(found, some_of(number), strict=True):
                yield judge_and_draw(inspector, name, path, task.endings) if drawn[0].verdict == NOT_JUDGED else drawn


_ASKED = ("name", "review", "reject", "area", "recipe", "release")
_BETWEEN = {"score": (-math.inf, math.inf), "percentile_among_good": (0, 100), "defect_type_probability": (0, 1)}
_BETWEEN |= dict.fromkeys(("product_distance", "shift_x", "shift_y", "angle"), (-math.inf, math.inf))
"""Least and greatest value of a number in a row, where it is not 0 and infinity."""


def _may_be(name: str, kind: type, value: Any) -> bool:
    """Whether a field of a row, by its name and type, can have this value."""
    if not isinstance(value, kind) or isinstance(value, bool):
        return False
    if isinstance(value, int | float):
        least, most = _BETWEEN.get(name, (0, math.inf))
        return math.isfinite(value) and least <= value <= most
    if name == "photo":
        return value == "" or SAID.issuperset(value.split(", "))
    return name != "time" or datetime.fromisoformat(value).tzinfo is not None


def check_drawn(drawn: Drawn, name: str, inspector: Inspector, endings: Sequence[str]) -> None:
    """Raise ValueError unless this is the row of this photo, by this recipe, with its maps and with the verdict that
    follows from its score.
    """
    row, file, maps = drawn
    require(type(row) is Row, "it is no row")
    asked = row_of(inspector, name)
    for field, kind in get_type_hints(Row).items():
        value = getattr(row, field)
        sound = value == getattr(asked, field) if field in _ASKED else _may_be(field, kind, value)
        require(sound, f"{field} of {name} is {value!r}")
    wanted = () if row.verdict == NOT_JUDGED else endings
    require(maps.keys() == set(wanted), "it has other maps than were asked for")
    require(all(type(content) is bytes for content in maps.values()), "its maps are not files")
    if row.verdict == NOT_JUDGED:
        return
    digest(row.digest)
    digest(file)
    if row.verdict == NOT_LOCATED:
        require(row.score is None and row.reason, f"{name} was not located, and has a score or no reason")
        return
    word = inspector.limits.verdict(math.nan if row.score is None else row.score)
    words = {"": word, OTHER_PRODUCT: "reject", PARTLY_OUT: "review" if word == "accept" else None}
    said = f"{name} is {row.verdict!r} with score {row.score} and reason {row.reason!r}"
    require(row.verdict == words.get(row.reason), said)
