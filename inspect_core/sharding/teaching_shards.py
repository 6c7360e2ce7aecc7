"""The tasks of teaching and evaluating: photos in, a state or a table out. Executed by workers, and by this process
for photos that they cannot read.
"""

from dataclasses import astuple, replace

import numpy as np

from inspect_core.features.extraction import Preparation
from inspect_core.features.store import feature_store
from inspect_core.images.alignment import NotLocated
from inspect_core.images.folders import Sample
from inspect_core.images.read import ImageError
from inspect_core.images.tolerances import Tolerances
from inspect_core.line.overlap import ranges
from inspect_core.sharding import plan
from inspect_core.sharding.container import pack, unpack
from inspect_core.sharding.photos import has_mask, placement_facts, sample_of
from inspect_core.study.gathering import SHARD, Merged
from inspect_core.study.judged import judge
from inspect_core.study.photo_features import PhotoFeatures, Unusable, described


def fit_shard(payload: bytes, preparation: bytes, weights: bytes, fit: bytes) -> bytes:
    """The statistics of one shard of photos, or of one block if there are more.

    payload: {"first": number of the first photo, "photos": facts of each}; the other arguments and the result are
    packed by `plan`.
    """
    (facts, _), prepared = unpack(payload), plan.unpack_preparation(preparation, weights)
    wanted, keep = plan.unpack_fit(fit, prepared.backbone.device)
    samples, first = [sample_of(photo) for photo in facts["photos"]], facts["first"]
    features = _features(prepared, samples, keep=keep)
    each = (
        wanted.shard((first + i, features.looks(samples[i], wanted.tolerances)) for i in numbers)
        for numbers in ranges(len(samples), SHARD)
    )
    if len(samples) <= SHARD:
        gathered = next(each)
    else:
        block = Merged(wanted)
        for shard in each:
            block.add_shard(shard)
        gathered = block.total()
    return plan.pack_states(gathered, features.unusable)


def score_shard(payload: bytes, preparation: bytes, weights: bytes, views: bytes) -> bytes:
    """The grid errors of some photos under fitted detectors.

    payload: {"photos": facts of each, "keep": whether their features are stored, "again": tolerances of the copies to
    score too, or None}. Returns {"photos": [(name, digest of the pixels, facts of its placement, `Quality`),
    ...]}, `Unusable`, and errors, (photos, 1 + copies, stops of all views, h, w) float32.
    """
    (facts, _), prepared = unpack(payload), plan.unpack_preparation(preparation, weights)
    chosen, samples = plan.unpack_views(views, prepared), [sample_of(photo) for photo in facts["photos"]]
    features, photos, errors = _features(prepared, samples, keep=facts["keep"]), [], []
    for sample in samples:
        if looks := features.looks(sample, _again(facts)):
            own = [
                [view.sweep(patches, stops) for (view, stops), patches in zip(chosen, seen, strict=True)]
                for seen in looks
            ]
            errors.append(np.stack([np.concatenate(each) for each in own]))
            digest, placement = features.found[sample.name]
            quality = astuple(features.quality[sample.name])
            photos.append((sample.name, digest, placement_facts(placement), quality))
    arrays = {"errors": np.stack(errors)} if errors else {}
    return pack({"photos": photos} | features.unusable._asdict(), arrays)


def evaluate_shard(payload: bytes, preparation: bytes, weights: bytes, views: bytes, moves: bytes) -> bytes:
    """Scores and overlap counts of some photos at each of several moves of the live parameters.

    payload: {"photos": facts of each, "keep": whether their features are stored, "again": as above}. Returns the bytes
    of `plan.pack_judged`.
    """
    (facts, _), prepared = unpack(payload), plan.unpack_preparation(preparation, weights)
    chosen, samples = plan.unpack_views(views, prepared), [sample_of(photo) for photo in facts["photos"]]
    features = _features(prepared, samples, keep=facts["keep"])
    asked, lives = plan.unpack_moves(moves, [replace(view, only=stops) for view, stops in chosen])
    judged = judge(features, asked, lives, samples, _again(facts))
    return plan.pack_judged(judged, features.unusable, [s.name for s in samples if s.mask and not has_mask(s)])


def describe_shard(payload: bytes, preparation: bytes, weights: bytes) -> bytes:
    """What the product check learns from some photos. payload: {"photos": facts of each}.

    Returns `Unusable`, and of all others embeddings (n, d) and logits (n, c), float32.
    """
    (facts, _), prepared = unpack(payload), plan.unpack_preparation(preparation, weights)
    rows, unusable = [], Unusable([], [])
    for sample in map(sample_of, facts["photos"]):
        try:
            rows.append(described(sample, prepared))
        except ImageError as error:
            unusable.damaged.append((sample.name, str(error)))
        except NotLocated as error:
            unusable.lost.append((sample.name, str(error)))
    columns = [np.stack(column) for column in zip(*rows, strict=True)]
    return pack(unusable._asdict(), dict(zip(("embeddings", "logits"), columns, strict=False)))


def _again(facts: dict) -> Tolerances | None:
    return None if facts["again"] is None else Tolerances(**facts["again"])


def _features(preparation: Preparation, samples: list[Sample], *, keep: bool) -> PhotoFeatures:
    return PhotoFeatures(preparation, feature_store(), () if keep else frozenset(sample.name for sample in samples))
