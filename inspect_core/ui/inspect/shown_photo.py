"""What the panels below the bench are about."""

from dataclasses import dataclass

import numpy as np

from inspect_core.ui.bench.bench_state import BenchState
from inspect_core.ui.session import SessionSettings
from inspect_core.workbench.previews import PreviewRun
from inspect_core.workbench.taught_product import TaughtProduct


@dataclass(frozen=True, eq=False)
class ShownPhoto:
    """The photo shown, and all that is in force.

    view: as drawn on the bench; pixels: (H, W, 3) uint8 as placed, black where the photo is missing; busy: whether a
    job runs; preview: the run that is shown instead of the model in force, if any.
    """

    product: TaughtProduct
    settings: SessionSettings
    view: BenchState
    pixels: np.ndarray
    photo_missing: bool
    busy: bool
    preview: PreviewRun | None

    @property
    def position(self) -> int:
        return self.view.position

    @property
    def live(self) -> dict[str, int]:
        """The live parameters of the model in force."""
        return self.product.live
