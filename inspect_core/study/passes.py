"""Processing the photos of a study, in this process or by workers, with results that are equal to the bit."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from inspect_core.images.folders import Sample
from inspect_core.images.tolerances import Tolerances
from inspect_core.line.overlap import ranges
from inspect_core.methods.view import View
from inspect_core.runtime.progress import Report
from inspect_core.study.gathering import Fit, Gathered, gather
from inspect_core.study.judged import AT_ONCE, Judged, Live, judge
from inspect_core.study.photo_features import PhotoFeatures
from inspect_core.study.scored_photos import SeenBy, swept
from inspect_core.study.workers import Workers


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

    def gather(self, fit: Fit, samples: Sequence[Sample], report: Report) -> Gathered:
        """The statistics of all these photos. Raises whatever `report` raises to stop, as the others do."""
        if self.workers is None:
            return gather(fit, samples, self.features.looks, report, self.features.each)
        gathered, unusable = self.workers.gather(
            self.features.preparation, fit, samples, keep=self.keep, memory=self.memory, progress=report
        )
        self.features.leave_out(unusable)
        return gathered

    def score(
        self, seen_by: SeenBy, samples: Sequence[Sample], report: Report, again: Tolerances | None = None
    ) -> Iterator[tuple[Sample, list[list[np.ndarray]]]]:
        """Each photo that can be read, with its (stops, h, w) float32 errors under each view, and its copies'."""
        if self.workers is None:

            def errors(sample: Sample) -> list[list[np.ndarray]]:
                return [swept(seen_by, features) for features in self.features.looks(sample, again)]

            for done, (sample, found) in enumerate(zip(samples, self.features.each(errors, samples), strict=True), 1):
                if found:
                    yield sample, found
                report(done / len(samples), f"scoring photo {done} of {len(samples)}")
            return
        (views, stops), preparation = zip(*seen_by, strict=True), self.features.preparation
        for looked, unusable in self.workers.score(preparation, views, stops, samples, again=again, progress=report):
            self.features.leave_out(unusable)
            for sample, digest, placement, errors, quality in looked:
                self.features.found[sample.name] = digest, placement
                self.features.quality[sample.name] = quality
                yield sample, errors

    def judge(
        self, views: Sequence[View], moves: Sequence[Live], samples: Sequence[Sample], report: Report, *, keep: bool
    ) -> Iterator[list[Judged]]:
        """The photos, some at a time, at each of the moves, as `judged.judge`; keep: whether features are stored."""
        if self.workers is None:
            names = frozenset(sample.name for sample in samples)
            features = replace(self.features, streamed=frozenset() if keep else names)
            for some in ranges(len(samples), AT_ONCE):
                yield judge(features, views, moves, [samples[i] for i in some], self.again)
                report(some.stop / len(samples), f"judging photo {some.stop} of {len(samples)}")
            return
        done = self.workers.judge(
            self.features.preparation, views, moves, samples, keep=keep, again=self.again, progress=report
        )
        for judged, unusable in done:
            self.features.leave_out(unusable)
            yield judged
