"""A batch judged by workers: photos and a recipe go out, rows and maps come back as they are done.

A worker opens an exported recipe, which needs no torch; a saved one with a network of its own; or one whose network
runs here, on a GPU, which it only asks.
"""

import math
import os
import tempfile
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from inspect_core.line.batch import Photo, RenderedRow, inspect_and_render
from inspect_core.line.inspector import Inspector
from inspect_core.line.map_folder import MapFolder
from inspect_core.line.photo_inspection import uninspected_row
from inspect_core.recipe_format.zipped import zipped
from inspect_core.runner import Runner
from inspect_core.runtime.ordered_pool import ranges
from inspect_core.sharding.executor import IDLE_WORKER_BYTES, RESTING_EXPORTED, Executor, Failure
from inspect_core.sharding.network_client import NetworkAddress, ServedRecipe
from inspect_core.sharding.network_server import NetworkServer
from inspect_core.sharding.processes import Processes
from inspect_core.sharding.shard_runner import ATTEMPTS, results
from inspect_core.sharding.worker_selection import workers, worthwhile_processes
from inspect_core.verdict import NOT_JUDGED, NOT_LOCATED

if TYPE_CHECKING:
    from inspect_core.sharding.transport import SentBackbone

PHOTOS = 16
"""Of one task: its maps are on their way together."""


class Opening(Protocol):
    """A recipe as it is sent to a worker, and how it is opened there, with one thread."""

    @property
    def resting_bytes(self) -> int:
        """Memory of a worker that holds it and no photo."""
        ...

    def __call__(self) -> Inspector:
        """The recipe, checked and ready. Raises ValueError as its readers do."""
        ...


@dataclass(frozen=True, eq=False)
class SentExport:
    """An exported recipe, as a zip, with its digest."""

    package: bytes
    release: str
    resting_bytes = RESTING_EXPORTED

    def __call__(self) -> Inspector:
        with _as_file(self.package) as path:
            return Runner(path, threads=1, release=self.release)


@dataclass(frozen=True, eq=False)
class SentRecipe:
    """A saved recipe, as a zip, with its network."""

    package: bytes
    network: "SentBackbone"
    resting_bytes = IDLE_WORKER_BYTES

    def __call__(self) -> Inspector:
        # Imported where they are used: an exported recipe needs none of them.
        from inspect_core.recipe import LoadedRecipe
        from inspect_core.recipe_io.recipe_file import load
        from inspect_core.runtime.threads import limit_to_one_core
        from inspect_core.sharding.transport import backbone_of

        limit_to_one_core()
        with _as_file(self.package) as path:
            return LoadedRecipe(load(path), backbone_of(self.network))


@dataclass(frozen=True, eq=False)
class SentFacts:
    """A recipe without its network, which is served at an address; facts: as `recipe.Recipe.facts`."""

    address: NetworkAddress
    facts: Mapping[str, Any]
    resting_bytes = RESTING_EXPORTED

    def __call__(self) -> Inspector:
        return ServedRecipe(self.address, self.facts)


@contextmanager
def judging_on(executor: Executor | None, inspector: Inspector, path: Path) -> Generator["WorkerBatchInspector | None"]:
    """Who judges a batch on these workers, None for this process; path: of the recipe that the inspector was opened
    from.

    A network on a GPU is served to processes of this machine, which do all else; others open their copy of the recipe.
    """
    if executor is None:
        yield None
    elif inspector.at_once == 1 or not isinstance(executor, Processes):
        yield WorkerBatchInspector(executor, opening_of(inspector, path))
    else:
        recipe: Any = inspector  # a `recipe.LoadedRecipe`, as it takes batches
        with closing(NetworkServer(recipe)) as server:
            yield WorkerBatchInspector(executor, SentFacts(server.address, recipe.recipe.facts))


@contextmanager
def for_a_backlog(inspector: Inspector, path: Path) -> Generator["WorkerBatchInspector | None"]:
    """Who judges many photos at once beside a watch: processes of this machine, which are started when they are first
    needed, None where they would not be worth it; path: as of `judging_on`.
    """
    processes = worthwhile_processes()
    with workers(processes if processes > 1 else None) as executor, judging_on(executor, inspector, path) as judging:
        yield judging


def opening_of(inspector: Inspector, path: Path) -> Opening:
    backbone = getattr(inspector, "backbone", None)
    if backbone is None:
        return SentExport(zipped(path), inspector.release)
    from inspect_core.sharding.transport import SentBackbone  # which loads torch, as the recipe has

    return SentRecipe(zipped(path), SentBackbone.from_backbone(backbone))


@dataclass(frozen=True, eq=False)
class InspectionTask:
    """Inspects photos with a recipe. endings: of the maps that are wanted."""

    opening: Opening
    endings: tuple[str, ...]

    def __call__(self, photos: Sequence[Photo]) -> list[RenderedRow]:
        return list(inspect_and_render(_opened(self), photos, self.endings, threads=1))  # on a core of its own


@lru_cache(maxsize=1)
def _opened(task: InspectionTask) -> Inspector:
    return task.opening()


@contextmanager
def _as_file(package: bytes) -> Generator[Path]:
    with tempfile.TemporaryDirectory(prefix="loupe-recipe-") as folder:
        path = Path(folder, "recipe.zip")
        path.write_bytes(package)
        yield path


@dataclass(frozen=True, eq=False)
class WorkerBatchInspector:
    """A `line.batch.BatchInspector`. opening: of the inspector's recipe."""

    executor: Executor
    opening: Opening

    def __call__(
        self, inspector: Inspector, photos: Sequence[Photo], maps: MapFolder | None
    ) -> Iterator[list[RenderedRow]]:
        """Yield every photo once, with the verdict that this process would give, to the bit; in any order.

        What a worker cannot judge is judged here; photos of a shard that failed in every attempt, or whose results
        could not be used, are not judged, and their rows say why. Raises ValueError for too little memory.
        """
        task = InspectionTask(self.opening, () if maps is None else maps.endings)
        parts = ranges(len(photos), PHOTOS)
        self.executor.require(self.opening.resting_bytes)

        def some_of(number: int) -> Sequence[Photo]:
            return photos[parts[number].start : parts[number].stop]

        def absolute(number: int) -> list[Photo]:  # a worker may run in another folder
            return [(name, Path(os.path.abspath(path))) for name, path in some_of(number)]

        def checked_answer(number: int, shard_answer: Any) -> Any:
            reason_given = fault(shard_answer, [name for name, _ in some_of(number)], inspector)
            return Failure(reason_given) if reason_given else shard_answer

        for number, rows_of_shard in results(self.executor, task, absolute, checked_answer, range(len(parts))):
            if isinstance(rows_of_shard, Failure):
                reason = f"its shard failed {ATTEMPTS} times: {rows_of_shard.reason}"
                yield [(uninspected_row(inspector, name, reason=reason), "", {}) for name, _ in some_of(number)]
                continue
            failed = [
                photo
                for photo, (row, _, _) in zip(some_of(number), rows_of_shard, strict=True)
                if row.verdict == NOT_JUDGED
            ]
            here = inspect_and_render(inspector, failed, task.endings)
            yield [next(here) if drawn[0].verdict == NOT_JUDGED else drawn for drawn in rows_of_shard]


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
