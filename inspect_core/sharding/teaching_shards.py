"""The tasks of teaching and evaluating: photos in, a state or a table out. Run by workers, and here for what they
cannot read.
"""

import numpy as np

from inspect_core.features.extraction import Preparation
from inspect_core.features.store import Store
from inspect_core.images.folders import Sample
from inspect_core.images.read import ImageError, read, squash
from inspect_core.runtime import workspace
from inspect_core.runtime.threads import one_thread
from inspect_core.sharding import plan
from inspect_core.sharding.container import pack, unpack
from inspect_core.sharding.photos import sample_of
from inspect_core.study.gathering import SHARD, Merged, shards
from inspect_core.study.photo_features import PhotoFeatures


def fit_shard(payload: bytes, preparation: bytes, weights: bytes, fit: bytes) -> bytes:
    """The statistics of the photos of one shard, or of one block when they are more.

    payload: {"first": number of the first photo, "photos": facts of each}; the others, and what comes back, as `plan`
    packs them.
    """
    (facts, _), prepared = unpack(payload), plan.unpack_preparation(preparation, weights)
    wanted, keep = plan.unpack_fit(fit, prepared.backbone.device)
    samples, first = [sample_of(photo) for photo in facts["photos"]], facts["first"]
    features = _features(prepared, samples, keep=keep)
    with one_thread():
        each = (wanted.shard((first + i, features.of(samples[i])) for i in numbers) for numbers in shards(len(samples)))
        if len(samples) <= SHARD:
            gathered = next(each)
        else:
            block = Merged(wanted)
            for shard in each:
                block.add_shard(shard)
            gathered = block.total()
        return plan.pack_states(gathered, features.skipped)


def evaluate_shard(payload: bytes, preparation: bytes, weights: bytes, views: bytes) -> bytes:
    """The grid errors of some photos under fitted detectors.

    payload: {"photos": facts of each, "keep": whether their features are stored}. Back come {"photos": [(name, digest
    of the pixels, (height, width)), ...], "damaged": [(name, reason), ...]} and errors, (photos, stops of all views, h,
    w) float32.
    """
    (facts, _), prepared = unpack(payload), plan.unpack_preparation(preparation, weights)
    chosen, samples = plan.unpack_views(views, prepared), [sample_of(photo) for photo in facts["photos"]]
    features, photos, errors = _features(prepared, samples, keep=facts["keep"]), [], []
    with one_thread():
        for sample in samples:
            if (seen := features.of(sample)) is not None:
                own = [view.sweep(patches, stops) for (view, stops), patches in zip(chosen, seen, strict=True)]
                errors.append(np.concatenate(own))
                photos.append((sample.name, *features.found[sample.name]))
    arrays = {"errors": np.stack(errors)} if errors else {}
    return pack({"photos": photos, "damaged": features.skipped}, arrays)


def describe_shard(payload: bytes, preparation: bytes, weights: bytes) -> bytes:
    """What the product check learns of some photos. payload: {"photos": facts of each}.

    Back come {"read": names, "damaged": [(name, reason), ...]}, embeddings (n, d) and logits (n, c), float32.
    """
    (facts, _), backbone = unpack(payload), plan.unpack_preparation(preparation, weights).backbone
    names, rows, damaged = [], [], []
    for photo in facts["photos"]:
        sample = sample_of(photo)
        try:
            pixels = read(sample.path, sample.depth).pixels
        except ImageError as error:
            damaged.append((sample.name, str(error)))
            continue
        _, embedding, logits = backbone.describe(squash(pixels, backbone.size)[None])
        rows.append((embedding[0].cpu().numpy(), logits[0].cpu().numpy()))
        names.append(sample.name)
    columns = [np.stack(column) for column in zip(*rows, strict=True)]
    return pack({"read": names, "damaged": damaged}, dict(zip(("embeddings", "logits"), columns, strict=False)))


def _features(preparation: Preparation, samples: list[Sample], *, keep: bool) -> PhotoFeatures:
    store = Store(workspace.features_folder(), limit=workspace.FEATURE_BYTES)
    return PhotoFeatures(preparation, store, () if keep else frozenset(sample.name for sample in samples))
