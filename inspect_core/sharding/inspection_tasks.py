"""A batch judged by workers: photos and a saved recipe go out, rows and maps come back as they are done.

An exported recipe needs no torch, here or on a worker.
"""

import math
import os
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from inspect_core.line.batch import Photo, RenderedRow, inspect_and_render
from inspect_core.line.inspector import Inspector
from inspect_core.line.map_folder import MapFolder
from inspect_core.line.photo_inspection import uninspected_row
from inspect_core.recipe_format.zipped import zipped
from inspect_core.runner import Runner
from inspect_core.runtime.ordered_pool import ranges
from inspect_core.sharding.executor import IDLE_WORKER_BYTES, RESTING_EXPORTED, Executor, Failure
from inspect_core.sharding.shard_runner import ATTEMPTS, results
from inspect_core.verdict import NOT_JUDGED, NOT_LOCATED

if TYPE_CHECKING:
    from inspect_core.sharding.transport import SentBackbone

PHOTOS = 16
"""Of one task: its maps are on their way together."""


@dataclass(frozen=True, eq=False)
class InspectionTask:
    """Inspects photos with a recipe.

    package: the recipe as a zip; release: digest of an export; network: None for an exported recipe; endings: of the
    maps that are wanted.
    """

    package: bytes
    release: str
    network: "SentBackbone | None"
    endings: tuple[str, ...]

    @classmethod
    def from_inspector(cls, path: Path, inspector: Inspector, maps: MapFolder | None) -> "InspectionTask":
        """path: of the saved recipe that the inspector was opened from."""
        backbone = getattr(inspector, "backbone", None)
        network = None
        if backbone is not None:
            from inspect_core.sharding.transport import SentBackbone  # which loads torch, as the recipe has

            network = SentBackbone.from_backbone(backbone)
        return cls(zipped(path), inspector.release, network, () if maps is None else maps.endings)

    def __call__(self, photos: Sequence[Photo]) -> list[RenderedRow]:
        return list(inspect_and_render(_opened(self), photos, self.endings))


@lru_cache(maxsize=1)
def _opened(task: InspectionTask) -> Inspector:
    """The recipe, checked and ready, with one thread. Raises ValueError as its readers do."""
    with tempfile.TemporaryDirectory(prefix="loupe-recipe-") as folder:
        path = Path(folder, "recipe.zip")
        path.write_bytes(task.package)
        if task.network is None:
            return Runner(path, threads=1, release=task.release)
        # Imported where they are used: an exported recipe needs none of them.
        from inspect_core.recipe import LoadedRecipe
        from inspect_core.recipe_io.recipe_file import load
        from inspect_core.runtime.threads import limit_to_one_core
        from inspect_core.sharding.transport import backbone_of

        limit_to_one_core()
        return LoadedRecipe(load(path), backbone_of(task.network))


@dataclass(frozen=True, eq=False)
class WorkerBatchInspector:
    """A `line.batch.BatchInspector`. path: of the saved recipe that the inspector was opened from."""

    executor: Executor
    path: Path

    def __call__(self, inspector: Inspector, photos: Sequence[Photo], maps: MapFolder | None) -> Iterator[RenderedRow]:
        """Yield every photo once, with the verdict that this process would give, to the bit; in any order.

        What a worker cannot judge is judged here; photos of a shard that failed in every attempt, or whose results
        could not be used, are not judged, and their rows say why. Raises ValueError for too little memory.
        """
        task = InspectionTask.from_inspector(self.path, inspector, maps)
        parts = ranges(len(photos), PHOTOS)
        self.executor.require(RESTING_EXPORTED if task.network is None else IDLE_WORKER_BYTES)

        def some_of(number: int) -> Sequence[Photo]:
            return photos[parts[number].start : parts[number].stop]

        def sent(number: int) -> list[Photo]:  # a worker may run in another folder
            return [(name, Path(os.path.abspath(path))) for name, path in some_of(number)]

        def checked_answer(number: int, shard_answer: Any) -> Any:
            reason_given = fault(shard_answer, [name for name, _ in some_of(number)], inspector)
            return Failure(reason_given) if reason_given else shard_answer

        for number, rows_of_shard in results(self.executor, task, sent, checked_answer, range(len(parts))):
            if isinstance(rows_of_shard, Failure):
                reason = f"its shard failed {ATTEMPTS} times: {rows_of_shard.reason}"
                yield from ((uninspected_row(inspector, name, reason=reason), "", {}) for name, _ in some_of(number))
                continue
            for drawn, photo in zip(rows_of_shard, some_of(number), strict=True):
                here = [photo] if drawn[0].verdict == NOT_JUDGED else []
                yield next(inspect_and_render(inspector, here, task.endings), drawn)


def fault(shard_answer: Any, names: Sequence[str], inspector: Inspector) -> str:
    """Why the result of a worker, which may be a faulty machine, is not that of these photos; "" for a sound
    one: rows by this recipe, with the verdict that follows from the score.
    """
    if not isinstance(shard_answer, list) or [getattr(drawn[0], "name", None) for drawn in shard_answer] != list(names):
        return "its result is about other photos"
    for row, _, _ in shard_answer:
        if (row.recipe, row.release) != (inspector.digest, inspector.release):
            return "its result is by another recipe"
        if row.verdict in (NOT_JUDGED, NOT_LOCATED):
            continue
        is_scored = row.score is not None and math.isfinite(row.score)
        is_true = is_scored and (row.verdict, row.decided_by) == row.decide_at(**vars(inspector.limits))
        if not is_true or row.reason != row.decided_by.text(row.photo_deviation):
            return f"{row.name} is {row.verdict!r} with score {row.score} and reason {row.reason!r}"
    return ""
