"""Previews: what a refit parameter (γ, M, σ) would do, shown from a fit on a sample of the good patches.

A full fit processes every good patch; a preview fits the same method on a seeded sample that is drawn once per study.
The method draws its random numbers from the study's seed, and a smaller draw is part of a larger one, so every γ, every
M and the full fit share them: a move changes nothing but the parameter. For the exact kernel method the sample is that
of its full fit, and the preview the same model.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from torch import Tensor

from inspect_core.methods.fitted_method import FittedMethod
from inspect_core.methods.method import Detector, Patches
from inspect_core.methods.registry import METHODS
from inspect_core.runtime.progress import Cancelled
from inspect_core.study.study import Study

_ROWS = 2048


@dataclass(frozen=True, eq=False)
class PatchSample:
    """A sample of a study's patches, for previews of one view.

    patches: (n, k), drawn evenly over the photos to fit with the study's seed; view: its position.
    """

    study: Study
    patches: Tensor
    view: int = 0

    @classmethod
    def from_study(cls, study: Study, cancelled: Callable[[], bool] | None = None, *, view: int = 0) -> "PatchSample":
        """Return the sample of an extracted study, as many patches as its method asks for.

        Needs no network if the store holds the photos' features. Raises Cancelled when `cancelled` returns True.
        """
        method = METHODS[study.methods[view]]
        value = study.live.get(method.live_parameter, 0) if study.scored is not None else 0
        count = method.sample_size(study.parameters[view], value)
        return cls(study, study.patch_sample(count, cancelled, view=view), view)

    def fit(self, parameters: Mapping[str, float | None], cancelled: Callable[[], bool] | None = None) -> Detector:
        """Return the view's method fitted on the sample, with `parameters` over those of the study.

        Raises ValueError as the method's fit does, and Cancelled when `cancelled` returns True between two blocks.
        """
        study, view = self.study, self.view
        _, height, width, channels = study.extractor.shapes[view]

        def report(fraction: float) -> None:
            if cancelled is not None and cancelled():
                raise Cancelled

        method, parameters = METHODS[study.methods[view]], study.parameters[view] | dict(parameters)
        statistics = method.begin(Patches(1, (height, width), channels), None, study.order.seed, parameters)
        for block in self.patches.split(_ROWS):
            report(0.0)
            method.update(statistics, block[None], (0,))
        return method.finish(statistics, study.order.seed, parameters, report)


def explained(view: FittedMethod, stops: Sequence[int]) -> np.ndarray:
    """Return (len(stops),) float64 share of the variance of the good patches that the first components hold, 0 to 1.

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
    """Return the stop whose components hold nearest to that fraction of the variance, the first of equal ones."""
    return view.stops[int(np.argmin(np.abs(explained(view, view.stops) - min(fraction, 1.0)).round(12)))]
