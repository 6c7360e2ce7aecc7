"""Fitting the methods of a study: one pass over the photos gathers what all of them learn, then each is finished."""

from collections.abc import Sequence
from dataclasses import dataclass

from torch import Tensor

from inspect_core.images.folders import Sample
from inspect_core.images.tolerances import Tolerances, looks_in
from inspect_core.methods.method import Parameters, Patches
from inspect_core.methods.view import View
from inspect_core.runtime.progress import Cancel, Report, stage
from inspect_core.study.gathering import Fit, Gathered
from inspect_core.study.passes import Passes

GATHERING = 0.6
"""Share of the progress of a fit; the rest makes detectors from the statistics gathered."""


@dataclass(frozen=True, eq=False)
class Fitting:
    """methods, parameters: by the position of each among the views of a photo; passes: how photos are processed."""

    methods: tuple[str, ...]
    parameters: tuple[Parameters, ...]
    seed: int
    passes: Passes
    tolerances: Tolerances | None = None

    def views(
        self,
        samples: Sequence[Sample],
        progress: Report | None,
        cancelled: Cancel | None,
        *,
        numbers: Sequence[int] | None = None,
    ) -> tuple[View, ...]:
        """The methods, or those at some positions, fitted on these photos.

        Raises Cancelled when `cancelled` returns True.
        """
        fit = self.fit_of(samples, numbers)
        gathered = self.passes.gather(fit, samples, stage(progress, 0.0, GATHERING), cancelled)
        return self.finished(fit, gathered, stage(progress, GATHERING, 1.0), cancelled)

    def fit_of(self, samples: Sequence[Sample], numbers: Sequence[int] | None = None) -> Fit:
        """What the methods, or those at some positions, learn from these photos."""
        numbers = range(len(self.methods)) if numbers is None else numbers
        preparation = self.passes.features.preparation
        looks, device = preparation.looks, preparation.backbone.device
        return Fit(
            tuple(self.methods[i] for i in numbers),
            tuple(numbers),
            tuple(self._patches(len(samples) * looks_in(self.tolerances), i) for i in numbers),
            tuple(None if (columns := looks[i].columns) is None else columns.to(device) for i in numbers),
            tuple(self.parameters[i] for i in numbers),
            self.seed,
            tolerances=self.tolerances,
        )

    def finished(
        self, fit: Fit, gathered: Gathered, progress: Report | None, cancelled: Cancel | None
    ) -> tuple[View, ...]:
        """The methods of a fit made from what was gathered. Raises Cancelled when `cancelled` returns True."""
        looks = self.passes.features.preparation.looks
        detectors = fit.finish(gathered, progress, cancelled)
        return tuple(
            View(name, detector, looks[i]) for name, detector, i in zip(fit.methods, detectors, fit.views, strict=True)
        )

    def patch_sample(self, samples: Sequence[Sample], count: int, view: int, cancelled: Cancel | None) -> Tensor:
        """(n, k) patches as one view sees them, drawn evenly over the photos with the seed; n is `count` or all."""
        fit = Fit.of_sample(view, self._patches(len(samples), view), count, self.seed)
        return self.passes.gather(fit, samples, None, cancelled)[0].rows()

    def _patches(self, photos: int, view: int) -> Patches:
        _, height, width, channels = self.passes.features.preparation.shapes[view]
        return Patches(photos, (height, width), channels)
