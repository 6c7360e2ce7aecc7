"""What is done with the photos of a study (learn, score, judge, describe), by this process or by workers.

A task gives one result after the other, in the order of the photos, equal to the bit wherever it is computed.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple, Protocol, Self

import numpy as np
from torch import Tensor

from inspect_core.images.samples import PhotoFile
from inspect_core.images.tolerances import Tolerances
from inspect_core.line.ordered_pool import ranges
from inspect_core.methods.fitted_method import FittedMethod
from inspect_core.runtime.progress import Report
from inspect_core.study.evaluation_scores import AT_ONCE, EvaluationScores, Live, score_for_evaluation
from inspect_core.study.photo_features import PhotoFeatures
from inspect_core.study.scored_photos import SeenBy, sweep_errors
from inspect_core.study.statistics_gathering import SHARD, FitPlan, Gathered, merged


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
    """Gives the statistics of SHARD photos after the other."""

    fit: FitPlan
    words: ClassVar[str] = "learning"

    def process(self, features: PhotoFeatures, shard: Shard, report: Report) -> Iterator[Gathered]:
        count = len(shard.samples)

        def looks_of(number: int) -> list[tuple[Tensor, ...]]:
            return features.augmented_features(shard.samples[number], self.fit.tolerances)

        def features_of(numbers: range) -> Iterator[tuple[int, list[tuple[Tensor, ...]]]]:
            for number, looks in zip(numbers, features.map_photos(looks_of, numbers), strict=True):
                yield shard.start_index + number, looks
                report((number + 1) / count, "learning from the good photos")

        for numbers in ranges(count, SHARD):
            yield self.fit.shard(features_of(numbers))


@dataclass(frozen=True, eq=False)
class ScoringTask:
    """Gives (name, errors) of each photo that can be read: (stops, h, w) float32 under each view, then its copies'.

    repeat_tolerances: tolerances of the copies that are scored too.
    """

    seen_by: tuple[tuple[FittedMethod, tuple[int, ...]], ...]
    repeat_tolerances: Tolerances | None
    words: ClassVar[str] = "scoring"

    @classmethod
    def from_views(cls, seen_by: SeenBy, repeat_tolerances: Tolerances | None = None) -> Self:
        return cls(tuple((replace(view, scales={}), stops) for view, stops in seen_by), repeat_tolerances)

    def process(
        self, features: PhotoFeatures, shard: Shard, report: Report
    ) -> Iterator[tuple[str, list[list[np.ndarray]]]]:
        samples = shard.samples

        def errors(sample: PhotoFile) -> list[list[np.ndarray]]:
            return [
                sweep_errors(self.seen_by, features_of_copy)
                for features_of_copy in features.augmented_features(sample, self.repeat_tolerances)
            ]

        for done, (sample, looks) in enumerate(zip(samples, features.map_photos(errors, samples), strict=True), 1):
            if looks:
                yield sample.name, looks
            report(done / len(samples), f"scoring photo {done} of {len(samples)}")


@dataclass(frozen=True, eq=False)
class EvaluationTask:
    """Gives the photos, AT_ONCE at a time, at each of the moves, as `evaluation_scores.judge`."""

    views: tuple[FittedMethod, ...]
    moves: tuple[Live, ...]
    repeat_tolerances: Tolerances | None
    words: ClassVar[str] = "judging"

    def process(self, features: PhotoFeatures, shard: Shard, report: Report) -> Iterator[list[EvaluationScores]]:
        samples = shard.samples
        for positions in ranges(len(samples), AT_ONCE):
            yield score_for_evaluation(
                features, self.views, self.moves, [samples[i] for i in positions], self.repeat_tolerances
            )
            report(positions.stop / len(samples), f"evaluating photo {positions.stop} of {len(samples)}")


@dataclass(frozen=True, eq=False)
class EmbeddingTask:
    """Gives what the product check learns from a photo: embedding (d,), logits (c,), float32; these if `fused`."""

    fused: bool
    words: ClassVar[str] = "describing"

    def process(self, features: PhotoFeatures, shard: Shard, report: Report) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        def described(sample: PhotoFile) -> tuple[np.ndarray, np.ndarray] | None:
            if not self.fused and (embedding := features.embedding(sample)) is not None:
                return embedding, embedding[:0]
            if (row := features.embed_and_classify(sample)) is None:
                return None
            return row if self.fused else (row[0], row[1][:0])

        for done, embedding in enumerate(features.map_photos(described, shard.samples), 1):
            if embedding is not None:
                yield embedding
            report(done / len(shard.samples), "training the product check")


class Workers(Protocol):
    """Who processes the photos of a study. What is noted of each photo goes to `features`."""

    def require(self, memory: int) -> None:
        """Raise ValueError, with the figures, where a worker has fewer bytes of memory to itself than this."""
        ...

    def extract(self, features: PhotoFeatures, samples: Sequence[PhotoFile], report: Report) -> None:
        """Store the features of these photos, where they are not stored when they are first needed."""
        ...

    def gather(self, fit: FitPlan, features: PhotoFeatures, samples: Sequence[PhotoFile], report: Report) -> Gathered:
        """Return the statistics of all these photos. Raises whatever `report` raises to stop, as `results` does."""
        ...

    def results(
        self, task: Task, features: PhotoFeatures, samples: Sequence[PhotoFile], report: Report
    ) -> Iterator[Any]:
        """Yield the results of a task, in the order of the photos."""
        ...


class InProcess:
    """This process: one photo after the other on a GPU, on a CPU some at a time."""

    def require(self, memory: int) -> None:
        """`methods.fitted_method.costs_of` has refused a fit that is too large for this machine."""

    def extract(self, features: PhotoFeatures, samples: Sequence[PhotoFile], report: Report) -> None:
        for done, _ in enumerate(features.map_photos(features.features_of, samples), start=1):
            report(done / len(samples), f"reading photo {done} of {len(samples)}")

    def gather(self, fit: FitPlan, features: PhotoFeatures, samples: Sequence[PhotoFile], report: Report) -> Gathered:
        return merged(fit, self.results(FitTask(fit), features, samples, report))

    def results(
        self, task: Task, features: PhotoFeatures, samples: Sequence[PhotoFile], report: Report
    ) -> Iterator[Any]:
        return task.process(features, Shard(0, samples), report)


IN_PROCESS = InProcess()
