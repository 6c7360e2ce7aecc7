"""The interface of workers, which process the photos of a study in its place."""

from collections.abc import Callable, Iterator
from typing import NamedTuple, Protocol

import numpy as np

from inspect_core.images.folders import Sample
from inspect_core.images.photo_quality import Quality
from inspect_core.images.placement import Placement
from inspect_core.study.gathering import Gathered
from inspect_core.study.judged import Judged
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
    """Every method returns, to the bit, what this process would, and raises whatever its `progress` raises to stop.

    gather(preparation, fit, samples, keep, memory): the statistics of all photos; keep: whether workers store the
    features; memory: bytes that one needs. score(preparation, views, stops, samples, again): the photos in their order,
    some at a time, under fitted detectors at these stops of their live parameters; again: tolerances of the copies that
    are scored too. judge(preparation, views, moves, samples, keep, again): the photos, some at a time, at each of the
    moves, as `judged.judge`. describe(preparation, samples): what the product check learns from, embeddings (n, d) and
    logits (n, c), float32, of the usable photos in their order; (0, 0) without any.
    """

    gather: Callable[..., tuple[Gathered, Unusable]]
    score: Callable[..., Iterator[tuple[list[Looked], Unusable]]]
    judge: Callable[..., Iterator[tuple[list[Judged], Unusable]]]
    describe: Callable[..., tuple[np.ndarray, np.ndarray]]
