"""The interface of workers, which process the photos of a study in its place."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple, Protocol

import numpy as np

from inspect_core.features.extraction import Preparation
from inspect_core.images.folders import Sample
from inspect_core.images.photo_quality import Quality
from inspect_core.images.placement import Placement
from inspect_core.images.tolerances import Tolerances
from inspect_core.methods.view import View
from inspect_core.runtime.progress import Report
from inspect_core.study.gathering import Fit, Gathered
from inspect_core.study.judged import Judged, Live
from inspect_core.study.photo_features import Unusable


class Looked(NamedTuple):
    """A scored photo: digest of its pixels, how it was looked at, and errors (stops, h, w) float32 of each view, then
    those of its copies; quality: of its pixels.
    """

    sample: Sample
    digest: str
    placement: Placement
    errors: list[list[np.ndarray]]
    quality: Quality


class Workers(Protocol):
    """Every method returns, to the bit, what this process would, and raises whatever `progress` raises to stop."""

    def gather(
        self,
        preparation: Preparation,
        fit: Fit,
        samples: Sequence[Sample],
        *,
        keep: bool,
        memory: int,
        progress: Report,
    ) -> tuple[Gathered, Unusable]:
        """The statistics of all photos. keep: whether workers store the features; memory: bytes that one needs."""
        ...

    def score(
        self,
        preparation: Preparation,
        views: Sequence[View],
        stops: Sequence[Sequence[int]],
        samples: Sequence[Sample],
        *,
        again: Tolerances | None,
        progress: Report,
    ) -> Iterator[tuple[list[Looked], Unusable]]:
        """The photos in their order, some at a time, under fitted detectors at these stops of their live parameters.

        again: tolerances of the copies that are scored too.
        """
        ...

    def judge(
        self,
        preparation: Preparation,
        views: Sequence[View],
        moves: Sequence[Live],
        samples: Sequence[Sample],
        *,
        keep: bool,
        again: Tolerances | None,
        progress: Report,
    ) -> Iterator[tuple[list[Judged], Unusable]]:
        """The photos, some at a time, at each of the moves, as `judged.judge`; keep: whether features are stored."""
        ...

    def describe(
        self, preparation: Preparation, samples: Sequence[Sample], progress: Report | None
    ) -> tuple[np.ndarray, np.ndarray]:
        """What the product check learns from: embeddings (n, d) and logits (n, c), float32, of the usable photos.

        In their order; (0, 0) without any.
        """
        ...
