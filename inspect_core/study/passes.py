"""Processing the photos of a study, in this process or by workers, with results that are equal to the bit."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from inspect_core.images.folders import Sample
from inspect_core.images.tolerances import Tolerances
from inspect_core.line.overlap import ranges
from inspect_core.runtime.progress import Cancel, Report, tell
from inspect_core.study.gathering import Fit, Gathered, gather
from inspect_core.study.judged import AT_ONCE, Judged, Live, judge
from inspect_core.study.photo_features import PhotoFeatures
from inspect_core.study.scored_photos import SeenBy, swept
from inspect_core.study.workers import Workers
from inspect_core.view import View


@dataclass(frozen=True, eq=False)
class Passes:
    """features: those of the photos, with notes on each; workers: None for this process.

    keep: whether the features of the photos to fit are stored; memory: bytes that a worker needs; again: tolerances of
    the copies that are scored beside every photo, None for none.
    """

    features: PhotoFeatures
    workers: Workers | None
    keep: bool
    memory: int
    again: Tolerances | None = None

    def gather(
        self, fit: Fit, samples: Sequence[Sample], progress: Report | None, cancelled: Cancel | None
    ) -> Gathered:
        """The statistics of all these photos. Raises Cancelled when `cancelled` returns True."""
        if self.workers is None:
            return gather(fit, samples, self.features.looks, progress, cancelled)
        gathered, unusable = self.workers.gather(
            self.features.preparation, fit, samples, keep=self.keep, memory=self.memory, progress=progress,
            cancelled=cancelled,
        )  # fmt: skip
        self.features.leave_out(unusable)
        return gathered

    def score(
        self, seen_by: SeenBy, samples: Sequence[Sample], progress: Report | None, cancelled: Cancel | None,
        again: Tolerances | None = None,
    ) -> Iterator[tuple[Sample, list[list[np.ndarray]]]]:  # fmt: skip
        """Each photo that can be read, with its (stops, h, w) float32 errors under each view, and those of its copies.

        Raises as `gather`.
        """
        if self.workers is None:
            return self._score_here(seen_by, samples, progress, cancelled, again)
        return self._score_by(self.workers, seen_by, samples, progress, cancelled, again)

    def _score_here(
        self, seen_by, samples, progress, cancelled, again
    ) -> Iterator[tuple[Sample, list[list[np.ndarray]]]]:
        for done, sample in enumerate(samples, start=1):
            if looks := self.features.looks(sample, again):
                yield sample, [swept(seen_by, features) for features in looks]
            tell(progress, cancelled, done / len(samples), f"scoring photo {done} of {len(samples)}")

    def _score_by(
        self, workers, seen_by, samples, progress, cancelled, again
    ) -> Iterator[tuple[Sample, list[list[np.ndarray]]]]:
        views, stops = zip(*seen_by, strict=True)
        for looked, unusable in workers.score(
            self.features.preparation, views, stops, samples, again=again, progress=progress, cancelled=cancelled
        ):
            self.features.leave_out(unusable)
            for sample, digest, placement, errors, quality in looked:
                self.features.found[sample.name] = digest, placement
                self.features.quality[sample.name] = quality
                yield sample, errors

    def judge(
        self, views: Sequence[View], moves: Sequence[Live], samples: Sequence[Sample], *, keep: bool,
        progress: Report | None, cancelled: Cancel | None,
    ) -> Iterator[list[Judged]]:  # fmt: skip
        """The photos, some at a time, at each of the moves, as `judged.judge`; raises as `gather`.

        keep: whether their features are stored.
        """
        if self.workers is None:
            names = frozenset(sample.name for sample in samples)
            features = replace(self.features, streamed=frozenset() if keep else names)
            for some in ranges(len(samples), AT_ONCE):
                yield judge(features, views, moves, [samples[i] for i in some], self.again)
                tell(progress, cancelled, some.stop / len(samples), f"judging photo {some.stop} of {len(samples)}")
            return
        for judged, unusable in self.workers.judge(
            self.features.preparation, views, moves, samples, keep=keep, again=self.again, progress=progress,
            cancelled=cancelled,
        ):  # fmt: skip
            self.features.leave_out(unusable)
            yield judged
