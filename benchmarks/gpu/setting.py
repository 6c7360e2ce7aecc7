"""What the check of a GPU looks at, how large it is, and how long it may take."""

import time
from dataclasses import dataclass, field

from inspect_core.methods.registry import FITTED

LITE, DRAWN = "efficientnet_lite0", ("resnet18", "wide_resnet50_2", "vit_small_patch14_dinov2")
"""The network of the app, and larger ones whose weights are drawn on the spot: for their time alone."""


@dataclass(frozen=True)
class GpuSetting:
    """How much is measured.

    networks: timed; methods: compared; of_sample: photos taken of each part of a sample's split, None for all; fits:
    numbers of photos that are taught; side: of a photo in pixels; inspected: photos from file to verdict; seconds: in
    which all of it is done; what does not fit is left out and named.
    """

    networks: tuple[str, ...] = (LITE, *DRAWN)
    methods: tuple[str, ...] = FITTED
    of_sample: int | None = None
    fits: tuple[int, ...] = (300, 3000)
    side: int = 1000
    inspected: int = 2000
    seconds: float = 330.0


FULL = GpuSetting()
QUICK = GpuSetting((LITE,), ("mahalanobis", "nearest"), 4, (12,), 128, 10)
"""Only to see that everything runs; its figures say nothing."""


@dataclass(eq=False)
class Clock:
    """left_out: what no time was left for."""

    seconds: float
    left_out: list[str] = field(default_factory=list)
    began: float = field(default_factory=time.monotonic)

    def allows(self, what: str, seconds: float) -> bool:
        """Whether something that takes about so long still fits; it is noted where it does not."""
        fits = time.monotonic() - self.began + seconds <= self.seconds
        if not fits:
            self.left_out.append(what)
        return fits
