"""Fitting the methods of a study, and scoring its photos.

One pass over the photos gathers what all methods learn, then each is finished. Where the photos to fit set the limits
too, they are gathered in folds, and each is scored by what all folds but its own give.
"""

import tempfile
import warnings
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from inspect_core.datasets.folders import PhotoFile
from inspect_core.images.tolerances import Tolerances, photos_per_original
from inspect_core.methods.fitted_method import FittedMethod, SeenBy, sweep_errors
from inspect_core.methods.method import Parameters, Patches
from inspect_core.methods.patch_sampling import PatchSampler
from inspect_core.runtime.ordered_pool import in_batches
from inspect_core.runtime.progress import Report, ignore_progress, stage
from inspect_core.study.photo_features import PhotoFeatures
from inspect_core.study.scored_photo import ScoredPhoto
from inspect_core.study.scored_photos import ScoredPhotos
from inspect_core.study.statistics_gathering import FitPlan, Gathered
from inspect_core.study.study_tasks import ScoringTask, Workers
from inspect_core.study.teaching_config import TeachingConfig

Tried = tuple[ScoredPhoto, list[np.ndarray]]
"""A photo with its (stops, h, w) float32 errors under each view."""
Made = tuple[ScoredPhoto, np.ndarray]
"""A photo that was made, and its picture as `FeatureExtractor.network_input` gives it."""
Trying = Callable[[Sequence[PhotoFile]], Iterable[Callable[[], Made | None]]]
"""Further photos made from some good ones; None for one that cannot be read."""

IN_MEMORY = 1 << 29
"""Bytes of the statistics of folds that stay in memory: a file takes three times as long."""
GATHERING = 0.6
"""Share of the progress of a fit; the rest makes detectors from the statistics gathered."""


@dataclass(frozen=True, eq=False)
class StudyFitter:
    """methods, parameters: by the position of each among the views of a photo; features: of the photos;
    repeat_tolerances: tolerances of the copies that are scored beside every photo, None for none; workers: who
    processes the photos.

    Everything here raises whatever `report` raises to stop.
    """

    order: TeachingConfig
    methods: tuple[str, ...]
    parameters: tuple[Parameters, ...]
    features: PhotoFeatures
    repeat_tolerances: Tolerances | None
    workers: Workers

    def views(
        self, samples: Sequence[PhotoFile], report: Report, *, numbers: Sequence[int] | None = None
    ) -> tuple[FittedMethod, ...]:
        """The methods, or those at some positions, fitted on these photos."""
        fit = self.fit_of(samples, numbers)
        gathered = self.gather(fit, samples, stage(report, 0.0, GATHERING))
        return self.finished(fit, gathered, stage(report, GATHERING, 1.0))

    def gather(self, fit: FitPlan, samples: Sequence[PhotoFile], report: Report) -> Gathered:
        """The statistics of all these photos."""
        return self.workers.gather(fit, self.features, samples, report)

    def score(
        self, seen_by: SeenBy, samples: Sequence[PhotoFile], report: Report, repeat_tolerances: Tolerances | None = None
    ) -> Iterator[tuple[PhotoFile, list[list[np.ndarray]]]]:
        """Yield each photo that can be read, with its errors as `ScoringTask` gives them."""
        by_name = {sample.name: sample for sample in samples}
        for name, errors in self.workers.results(
            ScoringTask.from_views(seen_by, repeat_tolerances), self.features, samples, report
        ):
            yield by_name[name], errors

    def fit_of(self, samples: Sequence[PhotoFile], numbers: Sequence[int] | None = None) -> FitPlan:
        """What the methods, or those at some positions, learn from these photos."""
        numbers = range(len(self.methods)) if numbers is None else numbers
        extractor, tolerances = self.features.extractor, self.order.tolerances
        columns = [extractor.looks[i].columns for i in numbers]
        return FitPlan(
            tuple(self.methods[i] for i in numbers),
            tuple(numbers),
            tuple(self.patches(len(samples) * photos_per_original(tolerances), i) for i in numbers),
            tuple(None if column is None else column.to(extractor.backbone.device) for column in columns),
            tuple(self.parameters[i] for i in numbers),
            self.order.seed,
            tolerances=tolerances,
        )

    def finished(self, fit: FitPlan, gathered: Gathered, report: Report) -> tuple[FittedMethod, ...]:
        """The methods of a fit made from what was gathered."""
        looks = self.features.extractor.looks
        detectors = fit.finish(gathered, report)
        fitted_views = zip(fit.methods, detectors, fit.views, strict=True)
        return tuple(
            FittedMethod(name, detector, looks[i], is_uncalibrated=self.order.as_published)
            for name, detector, i in fitted_views
        )

    def patch_sampler(self, samples: Sequence[PhotoFile], count: int, view: int, report: Report) -> PatchSampler:
        """What drew `count` patches, or all, as one view sees them, evenly over the photos, by seed."""
        fit = FitPlan.of_sample(view, self.patches(len(samples), view), count, self.order.seed)
        return self.gather(fit, samples, report)[0]

    def patches(self, photos: int, view: int) -> Patches:
        """Those of so many photos as one view sees them."""
        _, height, width, channels = self.features.extractor.shapes[view]
        return Patches(photos, (height, width), channels)


class CrossFitter:
    """The methods of a fitting by folds of the photos to fit, which set the limits; without folds on all of them.

    The statistics of ten folds take 0.4 GB at 32 x 32 places and 100 features; more than IN_MEMORY lie in a temporary
    file.
    """

    def __init__(self, fitting: StudyFitter) -> None:
        self.folds = fitting.order.photos.folds(fitting.order.seed)
        self._fitting = fitting
        self._fit = fitting.fit_of([sample for fold in self.folds for sample in fold])
        self._total: Gathered = []
        self._file = tempfile.SpooledTemporaryFile(IN_MEMORY, prefix="loupe-folds-")  # noqa: SIM115 - closed with this
        self._places: list[list[dict[str, int]]] = []

    def gather(self, report: Report) -> None:
        """Learn from the photos of every fold."""
        self._total, first, count = self._fit.begin(), 0, sum(map(len, self.folds))
        for fold in self.folds:
            step = stage(report, first / count, (first + len(fold)) / count)
            gathered = self._fitting.gather(replace(self._fit, first=first), fold, step)
            self._places.append([self._keep(statistics.state()) for statistics in gathered])
            for total, other in zip(self._total, gathered, strict=True):
                total.merge(other)
            first += len(fold)

    def views(self, report: Report) -> tuple[FittedMethod, ...]:
        """The methods fitted on all photos; the folds are gathered for it."""
        if not self.folds:
            return self._fitting.views(self._fitting.order.photos.train, report)
        self.gather(report)
        return self._fitting.finished(self._fit, self._total, stage(report, 1.0, 1.0))

    def fold_detectors(self, report: Report) -> Iterator[tuple[FittedMethod, ...]]:
        """For each fold the methods fitted on all others; once none, where there are no folds."""
        if not self.folds:
            yield ()
        for places in self._places:
            rest = []
            for total, statistics, known in zip(self._total, self._fit.begin(), places, strict=True):
                statistics.restore({name: self._load(place) for name, place in known.items()})
                rest.append(total.without(statistics))
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)  # the detector of all photos has said the same
                views = self._fitting.finished(self._fit, rest, report)
            yield views

    def score(
        self,
        views: Sequence[FittedMethod],
        area: int,
        report: Report,
        trying: Trying | None = None,
        *,
        crossed: float = 0.6,
    ) -> tuple[ScoredPhotos, list[Tried]]:
        """The calibration, validation and test photos under fitted methods, those in folds each under what the
        other folds taught; and the photos made by `trying`, which are not among them. crossed: share of the progress
        for both.
        """
        fitting = self._fitting
        order = self._fitting.order
        tried = []
        features, split = fitting.features, order.photos
        scored = ScoredPhotos(views, features.extractor.grid, features.extractor.map_size, area=area)
        setters = split.limit_photos(order.seed) or [[]]
        for number, (samples, fold_methods) in enumerate(
            zip(setters, self.fold_detectors(ignore_progress), strict=True)
        ):
            by_fold = scored.seen_by(fold_methods)
            step = stage(report, crossed * number / len(setters), crossed * (number + 1) / len(setters))
            further = () if trying is None else tuple(trying(samples))
            photo_count = len(samples) + len(further)
            scoring = stage(step, 0.0, len(samples) / max(photo_count, 1))
            fold_scores = fitting.score(by_fold, samples, scoring, fitting.repeat_tolerances)
            scored = scored.with_errors(
                (features.photo(sample, "calibration", split.groups), errors) for sample, errors in fold_scores
            )
            with closing(_tried(features, by_fold, further)) as tried_photos:
                for done, photo in enumerate(tried_photos, len(samples) + 1):
                    step(done / photo_count, "trying synthetic defects")
                    tried += [photo] if photo else []
        parts = [("validation", sample) for sample in split.validation] + [("test", sample) for sample in split.test]
        named = {sample.name: part for part, sample in parts}
        rest = [sample for _, sample in parts]
        if rest:
            step = stage(report, crossed, 1.0)
            rest_scores = fitting.score(scored.seen_by(), rest, step, fitting.repeat_tolerances)
            scored = scored.with_errors(
                (features.photo(sample, named[sample.name], split.groups), errors) for sample, errors in rest_scores
            )
        every = (
            [("calibration", sample) for sample in order.setters]
            + parts
            + [("train", sample) for sample in split.train]
        )
        return scored.with_unscored(features.unscored(every)), tried

    def _keep(self, state: dict[str, Tensor]) -> dict[str, int]:
        """Where each of the arrays begins in the file."""
        places = {}
        for name, values in state.items():
            self._file.seek(0, 2)
            places[name] = self._file.tell()
            np.save(self._file, values.cpu().numpy())
        return places

    def _load(self, place: int) -> Tensor:
        self._file.seek(place)
        return torch.from_numpy(np.load(self._file, allow_pickle=False))


def _tried(
    features: PhotoFeatures, seen_by: SeenBy, further: Iterable[Callable[[], Made | None]]
) -> Generator[Tried | None]:
    """Yield the photos that are made, with their errors; None for one that cannot be read."""

    def errors(made: list[Made | None]) -> list[Tried | None]:
        pictures = [photo[1] for photo in made if photo is not None]
        swept = iter(sweep_errors(seen_by, features.of_pictures(pictures)))
        return [None if photo is None else (photo[0], next(swept)) for photo in made]

    return in_batches(
        lambda make: make(),
        errors,
        lambda photo: photo,
        further,
        at_once=features.extractor.at_once,
        threads=features.threads,
    )
