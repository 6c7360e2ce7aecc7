"""What is done with the photos of a study (learn, score, judge, describe), by this process or by workers.

A task gives one result after the other, in the order of the photos, equal to the bit wherever it is computed.
"""

from collections.abc import Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, ClassVar, NamedTuple, Protocol, Self

import numpy as np

from inspect_core.datasets.dataset import PhotoFile
from inspect_core.images.tolerances import Tolerances
from inspect_core.methods.fitted_method import FittedMethod, SeenBy, sweep_errors
from inspect_core.runtime.ordered_pool import ranges
from inspect_core.runtime.progress import Report
from inspect_core.study.evaluation_scores import AT_ONCE, EvaluationScores, Live, score_for_evaluation
from inspect_core.study.photo_features import Looks, PhotoFeatures
from inspect_core.study.scored_photos import ScoredPhotos
from inspect_core.study.statistics_gathering import FitPlan, Gathered, merged, shards_of

ErrorsOfPhoto = tuple[str, list[list[np.ndarray]]]
"""Name of a photo, and its (stops, h, w) float32 errors under each view, then those of its copies."""


class Shard(NamedTuple):
    """Some photos. start_index: of the first among all photos of the work; streamed: as `PhotoFeatures` takes them."""

    start_index: int
    samples: Sequence[PhotoFile]
    streamed: frozenset[str] = frozenset()


class Task(Protocol):
    """words: what it does with photos."""

    words: ClassVar[str]

    def process(self, features: PhotoFeatures, shard: Shard, report: Report) -> Iterator[Any]:
        """Yield the results, in the order of the photos. Raises whatever `report` raises to stop."""
        ...


@dataclass(frozen=True, eq=False)
class FitTask:
    """Gives the statistics of one shard after the other."""

    fit: FitPlan
    words: ClassVar[str] = "learning"

    def process(self, features: PhotoFeatures, shard: Shard, report: Report) -> Iterator[Gathered]:
        count = len(shard.samples)

        def looks_alone(photos: list[tuple[PhotoFile, Looks]]) -> list[Looks]:
            return [looks for _, looks in photos]

        def of_shard(numbers: range, of_photos: Iterator[Looks]) -> Iterator[tuple[int, Looks]]:
            for number, looks in zip(numbers, of_photos, strict=False):  # `numbers` ends first, and takes none too many
                yield shard.start_index + number, looks
                report((number + 1) / count, "learning from the good photos")

        with closing(features.in_batches(looks_alone, shard.samples, self.fit.tolerances)) as of_photos:
            for numbers in shards_of(count):
                yield self.fit.shard(of_shard(numbers, of_photos))


@dataclass(frozen=True, eq=False)
class ScoringTask:
    """Gives the errors of each photo that can be read.

    repeat_tolerances: tolerances of the copies that are scored too.
    """

    seen_by: tuple[tuple[FittedMethod, tuple[int, ...]], ...]
    repeat_tolerances: Tolerances | None
    words: ClassVar[str] = "scoring"

    @classmethod
    def from_views(cls, seen_by: SeenBy, repeat_tolerances: Tolerances | None = None) -> Self:
        return cls(tuple((replace(view, scales={}), stops) for view, stops in seen_by), repeat_tolerances)

    def process(self, features: PhotoFeatures, shard: Shard, report: Report) -> Iterator[ErrorsOfPhoto]:
        samples = shard.samples
        with closing(self.errors(features, samples)) as errors_of_photos:
            for done, (name, errors) in enumerate(errors_of_photos, 1):
                if errors:
                    yield name, errors
                report(done / len(samples), f"scoring photo {done} of {len(samples)}")

    def errors(self, features: PhotoFeatures, samples: Sequence[PhotoFile]) -> Generator[ErrorsOfPhoto]:
        """Yield (name, errors) of every photo, without errors for one that cannot be read."""

        def sweep(photos: list[tuple[PhotoFile, Looks]]) -> list[ErrorsOfPhoto]:
            swept = iter(
                sweep_errors(self.seen_by, [features_of_copy for _, looks in photos for features_of_copy in looks])
            )
            return [(sample.name, list(islice(swept, len(looks)))) for sample, looks in photos]

        return features.in_batches(sweep, samples, self.repeat_tolerances)


@dataclass(frozen=True, eq=False)
class EvaluationTask:
    """Gives the photos, AT_ONCE at a time, at each of the moves, as `score_for_evaluation`.

    views: asked for the values of the moves only, with the local scales that were learned for them; repeat_tolerances:
    tolerances of a copy that is scored too.
    """

    views: tuple[FittedMethod, ...]
    moves: tuple[Live, ...]
    repeat_tolerances: Tolerances | None
    words: ClassVar[str] = "judging"

    def process(self, features: PhotoFeatures, shard: Shard, report: Report) -> Iterator[list[EvaluationScores]]:
        samples = shard.samples
        scored = ScoredPhotos(self.views, features.extractor.grid, features.extractor.map_size)
        scoring = ScoringTask.from_views(scored.seen_by(), self.repeat_tolerances)
        with closing(scoring.errors(features, samples)) as errors_of_photos:
            for positions in ranges(len(samples), AT_ONCE):
                # `positions` ends first, and takes none too many.
                block = [(samples[i], errors) for i, (_, errors) in zip(positions, errors_of_photos, strict=False)]
                rows = [(features.photo(sample, "test"), errors) for sample, errors in block if errors]
                yield score_for_evaluation(scored.with_errors(rows), self.moves)
                report(positions.stop / len(samples), f"evaluating photo {positions.stop} of {len(samples)}")


@dataclass(frozen=True, eq=False)
class EmbeddingTask:
    """Gives what the product check learns from a photo: embedding (d,), logits (c,), float32; these if `fused`."""

    fused: bool
    words: ClassVar[str] = "describing"

    def process(self, features: PhotoFeatures, shard: Shard, report: Report) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        samples = shard.samples
        described = (
            features.embed_and_classify(samples)
            if self.fused
            else features.embed_and_classify(samples, known=features.embedding)
        )
        with closing(described):
            for done, row in enumerate(described, 1):
                if row is not None:
                    yield row if self.fused else (row[0], row[1][:0])
                report(done / len(samples), "training the product check")


class Workers(Protocol):
    """Who processes the photos of a study. What is noted of each photo goes to `features`."""

    def require(self, memory: int) -> None:
        """Raise ValueError, with the figures, where a worker has fewer bytes of memory to itself than this."""
        ...

    def extract(self, features: PhotoFeatures, samples: Sequence[PhotoFile], report: Report) -> None:
        """Store the features of these photos, where they are not stored when they are first needed."""
        ...

    def gather(self, fit: FitPlan, features: PhotoFeatures, samples: Sequence[PhotoFile], report: Report) -> Gathered:
        """The statistics of all these photos. Raises whatever `report` raises to stop, as `results` does."""
        ...

    def results(
        self, task: Task, features: PhotoFeatures, samples: Sequence[PhotoFile], report: Report
    ) -> Iterator[Any]:
        """Yield the results of a task, in the order of the photos."""
        ...


class InProcess:
    """This process: photos in the GPU's batches, on a CPU some at a time."""

    def require(self, memory: int) -> None:
        """`methods.fitted_method.costs_of` has refused a fit that is too large for this machine."""

    def extract(self, features: PhotoFeatures, samples: Sequence[PhotoFile], report: Report) -> None:
        def nothing(photos: list[tuple[PhotoFile, Looks]]) -> list[None]:
            return [None] * len(photos)

        with closing(features.in_batches(nothing, samples)) as stored:
            for done, _ in enumerate(stored, start=1):
                report(done / len(samples), f"reading photo {done} of {len(samples)}")

    def gather(self, fit: FitPlan, features: PhotoFeatures, samples: Sequence[PhotoFile], report: Report) -> Gathered:
        return merged(fit, self.results(FitTask(fit), features, samples, report))

    def results(
        self, task: Task, features: PhotoFeatures, samples: Sequence[PhotoFile], report: Report
    ) -> Iterator[Any]:
        return task.process(features, Shard(0, samples), report)


IN_PROCESS = InProcess()
