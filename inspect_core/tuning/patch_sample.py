"""Previews: what a refit parameter (γ, M, σ) would do, shown from a fit on a sample of the good patches.

A full fit processes every good patch; a preview fits the same method on a seeded sample that is drawn once per study.
The method draws its random numbers from the study's seed, and a smaller draw is part of a larger one, so every γ, every
M and the full fit share them: a move changes nothing but the parameter. For the exact kernel method the sample is that
of its full fit, and the preview the same model. Good photos that set limits are scored in folds, as by the fit: by a
method that has not seen them.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from torch import Tensor

from inspect_core.datasets.dataset import PhotoFile
from inspect_core.methods.fitted_method import FittedMethod
from inspect_core.methods.method import Detector, Patches, Workload
from inspect_core.methods.registry import METHODS
from inspect_core.runtime.progress import Cancelled
from inspect_core.runtime.threads import cores, parallel_map
from inspect_core.study.study import FittedStudy

SECONDS = 8.0
"""How long the fits of all folds may take, by the forecast of the method: it decides how many folds there are."""
FEWEST_FOLDS = 4


@dataclass(frozen=True, eq=False)
class PatchSample:
    """A sample of a study's patches, for previews of one view.

    patches: (n, k), drawn evenly over the photos to fit with the study's seed; numbers: (n,) of these photos, the one
    of each patch; view: its position.
    """

    study: FittedStudy
    patches: Tensor
    numbers: Tensor
    view: int = 0

    @classmethod
    def from_study(
        cls, study: FittedStudy, cancelled: Callable[[], bool] | None = None, *, view: int = 0
    ) -> "PatchSample":
        """The sample of a study, as many patches as its method asks for.

        Needs no network if the store holds the photos' features. Raises Cancelled when `cancelled` returns True.
        """
        method = METHODS[study.methods[view]]
        value = study.live.get(method.live_parameter, 0)
        count = method.sample_size(study.parameters[view], value)
        sampler = study.patch_sampler(count, cancelled, view=view)
        return cls(study, sampler.rows(), sampler.numbers(), view)

    def fit(self, parameters: Mapping[str, float | None], cancelled: Callable[[], bool] | None = None) -> Detector:
        """The view's method fitted on the sample, with `parameters` over those of the study.

        Raises ValueError as the method's fit does, and Cancelled when `cancelled` returns True between two blocks.
        """
        return SampleFit(self, parameters, cancelled).detector()


class SampleFit:
    """The method of one view learned from a sample with some parameters over those of the study, fold by fold.

    Raises as `PatchSample.fit`.
    """

    def __init__(
        self, sample: PatchSample, parameters: Mapping[str, float | None], cancelled: Callable[[], bool] | None = None
    ) -> None:
        study, view = sample.study, sample.view
        self._sample, self._cancelled = sample, cancelled
        self._method, self._parameters = METHODS[study.methods[view]], dict(study.parameters[view]) | dict(parameters)
        self.folds = self._folds()
        self._of_folds = parallel_map(self._gathered, self.folds)
        self._total = self._begun()
        for statistics in self._of_folds:
            self._total.merge(statistics)

    def detector(self) -> Detector:
        """The method fitted on all of the sample."""
        return self._finished(self._total)

    def fold_detectors(self) -> Iterator[tuple[list[str], Detector]]:
        """Yield for each fold the names of its photos, and the method fitted on the others; nothing without folds."""
        if len(self.folds) < 2:
            return
        for first in range(0, len(self.folds), cores()):
            batch = slice(first, first + cores())
            detectors = parallel_map(lambda fold: self._finished(self._total.without(fold)), self._of_folds[batch])
            for fold, detector in zip(self.folds[batch], detectors, strict=True):
                yield [sample.name for sample in fold], detector

    def _folds(self) -> list[list[PhotoFile]]:
        """The folds of the fit, some of them joined where the eigenvectors of all would take long."""
        study = self._sample.study
        of_fit = study.split.folds(study.order.seed) or [list(study.split.train)]
        patches, width = self._sample.patches.shape
        seconds = self._method.costs(Workload(1, 0, patches, width), self._parameters).seconds
        count = min(len(of_fit), max(FEWEST_FOLDS, int(SECONDS / seconds)))
        return [[sample for fold in of_fit[first::count] for sample in fold] for first in range(count)]

    def _begun(self) -> Any:
        patches, photos = self._sample.patches, self._sample.study.split.train
        of_photo = -(-len(patches) // len(photos))
        geometry = Patches(len(photos), (1, of_photo), patches.shape[-1])
        return self._method.begin(geometry, None, self._sample.study.order.seed, self._parameters)

    def _gathered(self, fold: Sequence[PhotoFile]) -> Any:
        """The statistics of the patches of some photos."""
        statistics, sample = self._begun(), self._sample
        names = {photo.name for photo in fold}
        for number, photo in enumerate(sample.study.split.train):
            if photo.name in names:
                self._check(0.0)
                rows = sample.patches[sample.numbers == number]
                if len(rows):
                    self._method.update(statistics, rows[None], (number,))
        return statistics

    def _finished(self, statistics: Any) -> Detector:
        return self._method.finish(statistics, self._sample.study.order.seed, self._parameters, self._check)

    def _check(self, fraction: float) -> None:
        if self._cancelled is not None and self._cancelled():
            raise Cancelled


def explained(view: FittedMethod, stops: Sequence[int]) -> np.ndarray:
    """(len(stops),) float64 share of the variance of the good patches that the first components hold, 0 to 1.

    view: one whose live parameter counts components. Beyond those it has, 1; with none at all, 1.
    """
    assert view.variances is not None
    eigenvalues = np.asarray(view.variances.cpu(), float)
    total = eigenvalues.sum()
    if total <= 0:
        return np.ones(len(stops))
    sums = np.concatenate([[0.0], eigenvalues.cumsum()]) / total
    return np.minimum(sums[np.minimum(np.asarray(stops, int), len(eigenvalues))], 1.0)


def stop_explaining(view: FittedMethod, fraction: float) -> int:
    """The stop whose components hold nearest to that fraction of the variance, the first of equal ones."""
    return view.stops[int(np.argmin(np.abs(explained(view, view.stops) - min(fraction, 1.0)).round(12)))]
