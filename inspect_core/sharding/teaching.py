"""The tasks of teaching and evaluating: a shard of photos in, arrays and numbers out.

Executed by workers, which run the same program, and by this process for photos that they cannot read.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
import torch

from inspect_core.features.store import feature_store
from inspect_core.images.alignment import NotLocated
from inspect_core.images.depth import Depth
from inspect_core.images.located import Located
from inspect_core.images.photo_quality import Quality
from inspect_core.images.placement import Placement
from inspect_core.images.read import ImageError, read_mask
from inspect_core.images.samples import Sample
from inspect_core.images.tolerances import Tolerances
from inspect_core.judge.overlap_counts import OverlapCounts
from inspect_core.line.overlap import ranges
from inspect_core.methods.view import View
from inspect_core.sharding.sent import Prepared, preparation_of
from inspect_core.study.gathering import SHARD, Fit, Gathered, Merged
from inspect_core.study.judged import Judged, Live, judge
from inspect_core.study.photo_features import PhotoFeatures, Unusable, described
from inspect_core.study.workers import Looked


class Shard(NamedTuple):
    """Some photos; first: number of the first among all photos of the work."""

    first: int
    samples: Sequence[Sample]


@dataclass(frozen=True, eq=False)
class Found:
    """The result of a task; unmasked: names of photos whose mask cannot be read."""

    unusable: Unusable
    content: Any
    unmasked: list[str] = field(default_factory=list)


KINDS = (Unusable, Found, Looked, Sample, Depth, Placement, Located, Quality, Judged, OverlapCounts)
"""What results consist of."""


def fault(shard: Shard, found: Any) -> str:
    """Why the result of a worker, which may be a faulty machine, is not one of this shard; "" for a sound one."""
    if not isinstance(found, Found):
        return "it gave no result"
    left_out = {name for some in found.unusable for name, _ in some}.union(found.unmasked)
    if not left_out <= {sample.name for sample in shard.samples}:
        return "its result is about other photos"
    return "" if _is_finite(found.content) else "its result holds numbers that are not finite"


def _is_finite(content: Any) -> bool:
    """Whether the arrays in lists, tuples and tables are; what is judged may lack a place, and is not looked into."""
    if isinstance(content, np.ndarray):
        return bool(np.isfinite(content).all())
    if isinstance(content, dict):
        content = list(content.values())
    return not isinstance(content, list | tuple) or all(map(_is_finite, content))


@dataclass(frozen=True, eq=False)
class Fitting:
    """Learns from one shard of photos, or from one block if there are more: `states` of the statistics.

    keep: whether the features of the photos are stored.
    """

    prepared: Prepared
    fit: Fit
    keep: bool

    def __call__(self, shard: Shard) -> Found:
        features, fit = _features(self.prepared, shard, keep=self.keep), self.fit
        each = (
            fit.shard((shard.first + i, features.looks(shard.samples[i], fit.tolerances)) for i in some)
            for some in ranges(len(shard.samples), SHARD)
        )
        if len(shard.samples) <= SHARD:
            gathered = next(each)
        else:
            block = Merged(fit)
            for own in each:
                block.add_shard(own)
            gathered = block.total()
        return Found(features.unusable, states(gathered))


def states(gathered: Gathered) -> list[dict[str, np.ndarray]]:
    """The statistics of each method as arrays."""
    return [{name: own.cpu().contiguous().numpy() for name, own in each.state().items()} for each in gathered]


def restored(fit: Fit, content: list[dict[str, np.ndarray]]) -> Gathered:
    """The statistics from their `states`. Raises ValueError for those of another fit."""
    gathered = fit.begin()
    for own, state in zip(gathered, content, strict=True):
        own.restore({name: torch.from_numpy(values) for name, values in state.items()})
    return gathered


@dataclass(frozen=True, eq=False)
class Scoring:
    """Computes the grid errors of photos under fitted detectors at their stops: a `Looked` of each photo.

    Placements are without the alignment, which both sides know. again: tolerances of the copies to score too.
    """

    prepared: Prepared
    views: tuple[View, ...]
    again: Tolerances | None

    def __call__(self, shard: Shard) -> Found:
        features, looked = _features(self.prepared, shard, keep=True), []
        for sample in shard.samples:
            if looks := features.looks(sample, self.again):
                errors = [
                    [view.sweep(own, view.stops) for view, own in zip(self.views, look, strict=True)] for look in looks
                ]
                content, placement = features.found[sample.name]
                quality = features.quality[sample.name]
                looked.append(Looked(sample, content, replace(placement, alignment=None), errors, quality))
        return Found(features.unusable, looked)


@dataclass(frozen=True, eq=False)
class Judging:
    """Scores photos and counts their pixels at each of several moves of the live parameters: a `Judged` of each move.

    keep: whether their features are stored; again: tolerances of a copy to score too.
    """

    prepared: Prepared
    views: tuple[View, ...]
    moves: tuple[Live, ...]
    keep: bool
    again: Tolerances | None

    def __call__(self, shard: Shard) -> Found:
        features = _features(self.prepared, shard, keep=self.keep)
        judged = judge(features, self.views, self.moves, shard.samples, self.again)
        unmasked = [sample.name for sample in shard.samples if sample.mask and not has_mask(sample)]
        return Found(features.unusable, judged, unmasked)


@dataclass(frozen=True, eq=False)
class Describing:
    """Computes what the product check learns from photos: embeddings (n, d) and logits (n, c), float32."""

    prepared: Prepared

    def __call__(self, shard: Shard) -> Found:
        preparation, rows, unusable = preparation_of(self.prepared), [], Unusable([], [])
        for sample in shard.samples:
            try:
                rows.append(described(sample, preparation))
            except ImageError as error:
                unusable.damaged.append((sample.name, str(error)))
            except NotLocated as error:
                unusable.lost.append((sample.name, str(error)))
        return Found(unusable, [np.stack(own) for own in zip(*rows, strict=True)])


def has_mask(sample: Sample) -> bool:
    """Whether its mask can be read here."""
    try:
        return sample.mask is not None and read_mask(sample.mask, sample.size) is not None
    except ImageError:
        return False


def _features(prepared: Prepared, shard: Shard, *, keep: bool) -> PhotoFeatures:
    names = () if keep else frozenset(sample.name for sample in shard.samples)
    return PhotoFeatures(preparation_of(prepared), feature_store(), names)
