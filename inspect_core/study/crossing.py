"""Cross-fitting: every good photo is scored by a detector that was fitted to all folds but its own.

What the methods learn is gathered fold by fold, once. All folds together give the detector; all without one fold give
those that score this fold's photos, one after another. The statistics of the folds lie in a temporary file meanwhile:
of ten folds they take 0.4 GB at 32 x 32 places and 100 features.
"""

import tempfile
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import torch

from inspect_core.images.folders import Sample
from inspect_core.methods.view import View
from inspect_core.runtime.progress import Cancel, Report, stage
from inspect_core.study.fitting import Fitting
from inspect_core.study.gathering import Gathered


class Crossing:
    """The good photos of a study in folds. folds: each photo in one of them; setters: of each fold those to score."""

    def __init__(self, fitting: Fitting, folds: Sequence[Sequence[Sample]], setters: Sequence[list[Sample]]) -> None:
        self.folds, self._fitting, self._setters = folds, fitting, setters
        self._fit = fitting.fit_of([sample for fold in folds for sample in fold])
        self._total: Gathered = self._fit.begin()
        self._file = tempfile.TemporaryFile(prefix="loupe-folds-")  # noqa: SIM115 - closed with this object
        self._places: list[list[dict[str, int]]] = []

    def gather(self, progress: Report | None, cancelled: Cancel | None) -> "Crossing":
        """Learn from the photos of every fold. Raises Cancelled when `cancelled` returns True."""
        first, count = 0, sum(map(len, self.folds))
        for fold in self.folds:
            fit = replace(self._fit, first=first)
            step = stage(progress, first / count, (first + len(fold)) / count)
            gathered = self._fitting.passes.gather(fit, fold, step, cancelled)
            self._keep(gathered)
            for own, other in zip(self._total, gathered, strict=True):
                own.merge(other)
            first += len(fold)
        return self

    def views(self, progress: Report | None, cancelled: Cancel | None) -> tuple[View, ...]:
        """The methods fitted on all photos."""
        return self._fitting.finished(self._fit, self._total, progress, cancelled)

    def left_out(self, cancelled: Cancel | None) -> Iterator[tuple[list[Sample], tuple[View, ...]]]:
        """(photos of a fold to score, the methods fitted on all other folds), fold by fold."""
        for number, samples in enumerate(self._setters):
            rest = [own.without(other) for own, other in zip(self._total, self._kept(number), strict=True)]
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)  # the detector of all photos has said the same
                views = self._fitting.finished(self._fit, rest, None, cancelled)
            yield samples, views

    def _keep(self, gathered: Gathered) -> None:
        self._places.append([])
        for own in gathered:
            names = {}
            for name, values in own.state().items():
                names[name] = self._file.seek(0, 2)
                np.save(self._file, values.cpu().numpy())
            self._places[-1].append(names)

    def _kept(self, number: int) -> Gathered:
        gathered = self._fit.begin()
        for own, names in zip(gathered, self._places[number], strict=True):
            state = {}
            for name, place in names.items():
                self._file.seek(place)
                state[name] = torch.from_numpy(np.load(self._file, allow_pickle=False))
            own.restore(state)
        return gathered
