"""What a study asks of workers, whoever they are, instead of going through its photos itself."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple, Protocol

import numpy as np

from inspect_core.features.extraction import Preparation
from inspect_core.images.folders import Sample
from inspect_core.runtime.progress import Cancel, Report
from inspect_core.study.gathering import Fit, Gathered
from inspect_core.view import View

Damaged = list[tuple[str, str]]
"""(name, reason) of photos that cannot be read."""


class Looked(NamedTuple):
    """A photo that was scored: digest of its pixels, (height, width), and errors (stops, h, w) float32 of each view."""

    sample: Sample
    digest: str
    size: tuple[int, int]
    errors: list[np.ndarray]


class Workers(Protocol):
    """Every method gives to the bit what this process would, and raises Cancelled when `cancelled` returns True."""

    def gather(
        self, preparation: Preparation, fit: Fit, samples: Sequence[Sample], *, keep: bool, memory: int,
        progress: Report | None, cancelled: Cancel | None,
    ) -> tuple[Gathered, Damaged]:  # fmt: skip
        """The statistics of all photos. keep: whether workers store the features; memory: bytes that one needs."""
        ...

    def score(
        self, preparation: Preparation, views: Sequence[View], stops: Sequence[Sequence[int]],
        samples: Sequence[Sample], *, progress: Report | None, cancelled: Cancel | None,
    ) -> Iterator[Looked | tuple[str, str]]:  # fmt: skip
        """Each photo in its order under fitted detectors, at these values of their live parameters; (name, reason) of
        one that is damaged.
        """
        ...
