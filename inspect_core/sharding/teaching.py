"""The tasks of teaching and evaluating: a shard of photos in, arrays and numbers out.

Executed by workers, and by this process for photos that they cannot read. `check` of a task raises for what cannot be
its result for a shard, as far as this machine can tell.
"""

from collections.abc import Sequence
from dataclasses import astuple, dataclass, field, replace
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
from inspect_core.images.tolerances import Tolerances, looks_in
from inspect_core.judge.overlap_counts import OverlapCounts
from inspect_core.line.overlap import ranges
from inspect_core.methods.view import View
from inspect_core.sharding.answers import digest, numbers, require
from inspect_core.sharding.sent import Prepared, preparation_of
from inspect_core.study.gathering import SHARD, Fit, Gathered, Merged
from inspect_core.study.judged import Judged, Live, judge
from inspect_core.study.photo_features import PhotoFeatures, Unusable, described
from inspect_core.study.scored_photo import UNKNOWN
from inspect_core.study.workers import Looked


class Shard(NamedTuple):
    """Some photos; first: number of the first among all photos of the work."""

    first: int
    samples: Sequence[Sample]

    def usable(self, unusable: Unusable) -> dict[int, Sample]:
        """The others by number. Raises ValueError unless the unusable are some of the photos, named once each."""
        others = [*unusable.damaged, *unusable.lost]
        require(all(isinstance(reason, str) for _, reason in others), "a photo is left out without a reason")
        without = dict(others)
        found = {i: own for i, own in enumerate(self.samples, self.first) if own.name not in without}
        require(len(found) + len(others) == len(self.samples), "it is about other photos")
        return found


@dataclass(frozen=True, eq=False)
class Found:
    """The result of a task; unmasked: names of photos whose mask cannot be read."""

    unusable: Unusable
    content: Any
    unmasked: list[str] = field(default_factory=list)


KINDS = (Unusable, Found, Looked, Sample, Depth, Placement, Located, Quality, Judged, OverlapCounts)
"""What results consist of."""


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

    def check(self, shard: Shard, found: Found) -> None:
        """Statistics of all the photos that can be used: finite, and of as many photos."""
        each, usable = looks_in(self.fit.tolerances), shard.usable(found.unusable)
        rows = torch.tensor([(self.fit.first + i) * each + copy for i in usable for copy in range(each)]).long()
        seen = len(rows)
        for own in restored(self.fit, found.content):
            state = own.state()
            require(state or not seen, "it lacks statistics")
            for name, values in state.items():
                require(bool(values.isfinite().all()), f"{name} is not finite")
                if values.ndim and not values.is_floating_point():  # the photo of each row: as many of each
                    expected = rows.repeat_interleave(len(values) // max(seen, 1))
                    require(torch.equal(values, expected), f"{name} are not those asked for")
                elif not values.is_floating_point():  # photos, or patches: as many of each
                    require(int(values) % max(seen, 1) == 0 <= int(values), f"{name} is {values}, of {seen} photos")
                    require(bool(values) == bool(seen), f"{name} is {values}, of {seen} photos")


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

    def check(self, shard: Shard, found: Found) -> None:
        """Digest and placement of each photo, and its errors and those of its copies at all stops."""
        samples, rest = list(shard.usable(found.unusable).values()), self.prepared.rest
        require([own.sample for own in found.content] == samples, "it is about other photos")
        for own in found.content:
            digest(own.digest)
            numbers(np.array(astuple(own.quality), float), (5,), np.float64)
            located = own.placement.located
            require(min(own.placement.photo) > 0, "it has no pixels")
            require((located is None) == (rest["alignment"] is None), "it is not placed as asked")
            if located is not None:
                numbers(located.matrix, (2, 3), np.float64)
            require(len(own.errors) == looks_in(self.again), "it has other copies than were asked for")
            for look in own.errors:
                for view, errors in zip(self.views, look, strict=True):
                    numbers(errors, (len(view.stops), *rest["grid"]))


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

    def check(self, shard: Shard, found: Found) -> None:
        """Scores and overlap counts of the photos at each move."""
        samples = shard.usable(found.unusable).values()
        known = [sample.kind not in ("good", UNKNOWN) for sample in samples]
        require(set(found.unmasked) <= {own.name for own in shard.samples if own.mask}, "it is about other masks")
        require(len(found.content) == len(self.moves), f"it has {len(found.content)} moves, not {len(self.moves)}")
        for own in found.content:
            for scores in (own.scores, np.where(np.isnan(own.again), np.float32(0), own.again)):
                numbers(scores, (len(known),))
            require(own.defect.tolist() == known, "it takes other photos for defects")
            unknown = np.isnan(own.found)
            numbers(np.where(unknown, 0, own.found), (len(known),), np.float64)
            require((unknown | (own.found <= own.scores)).all(), "it finds defects above their scores")
            counts, shape = own.counts, own.counts.classes.shape
            numbers(counts.classes, shape, np.int32)
            numbers(counts.weight, shape, np.float64)
            for values in (counts.normal, counts.defect):
                numbers(values, shape, np.int64)
            each = (counts.normal, counts.defect, counts.weight, np.array(counts.regions))
            require(min(values.min(initial=0) for values in each) >= 0, "it counts fewer than no pixels")


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

    def check(self, shard: Shard, found: Found) -> None:
        """Embeddings and logits of the photos."""
        if usable := shard.usable(found.unusable):
            embeddings, logits = found.content
            for values in (embeddings, logits):
                numbers(values, (len(usable), *values.shape[1:2]))


def has_mask(sample: Sample) -> bool:
    """Whether its mask can be read here."""
    try:
        return sample.mask is not None and read_mask(sample.mask, sample.size) is not None
    except ImageError:
        return False


def _features(prepared: Prepared, shard: Shard, *, keep: bool) -> PhotoFeatures:
    names = () if keep else frozenset(sample.name for sample in shard.samples)
    return PhotoFeatures(preparation_of(prepared), feature_store(), names)
