"""Previews: what a refit parameter (γ, M, σ) would do, from a fit on a patch sample, newest move first.

A full fit passes over every good patch; a preview fits the same method on a seeded sample of them that is drawn once a
study. The random draw of the method comes from the study's seed, and a smaller draw is a part of a larger one, so
every γ, every M and the full fit share their random numbers: what a move changes is the parameter alone. The sample of
the exact kernel method is the very one of its full fit, and its preview the very model.
"""

import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from torch import Tensor

from inspect_core.detectors.checks import Cancelled
from inspect_core.jobs import device_lock
from inspect_core.judge.anomaly_map import to_pixels
from inspect_core.methods import METHODS, Detector, Patches
from inspect_core.recipe import map_patches
from inspect_core.study import Study
from inspect_core.tray import SIGMA, Tray

LEAST_PATCHES, PATCHES_A_COMPONENT = 16_384, 50
_ROWS = 2048


@dataclass(frozen=True, eq=False)
class PatchSample:
    """A study's patches to fit previews on: (n, k), drawn evenly over the good photos with the study's seed."""

    study: Study
    patches: Tensor

    @classmethod
    def of(cls, study: Study, cancelled: Callable[[], bool] | None = None) -> "PatchSample":
        """The sample of an extracted study: as many as the method's own fit takes, else max(16384, 50 q), q of its fit.

        Needs no network when the store kept the photos. Raises Cancelled when `cancelled` returns True.
        """
        components = study.live.get("q", 0) if study.tray is not None else 0
        own = study.parameters.get("patches")
        count = int(own or max(LEAST_PATCHES, PATCHES_A_COMPONENT * components))
        return cls(study, study.patch_sample(count, cancelled))

    def fit(self, parameters: Mapping[str, float | None], cancelled: Callable[[], bool] | None = None) -> Detector:
        """The study's method on the sample, with `parameters` over those of the study.

        Raises ValueError as the method's fit does, Cancelled when `cancelled` returns True between two blocks of rows.
        """
        study = self.study

        def stream() -> Iterator[Tensor]:
            for block in self.patches.split(_ROWS):
                if cancelled is not None and cancelled():
                    raise Cancelled
                yield block

        preparation = study.preparation
        sample = Patches(
            len(study.split.fit), preparation.grid, preparation.width, stream, lambda count: self.patches[:count]
        )
        return METHODS[study.method].fit(sample, None, study.seed, study.parameters | dict(parameters))
