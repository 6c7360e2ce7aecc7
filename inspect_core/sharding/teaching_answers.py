"""Whether results of the tasks of teaching and evaluating (`teaching_shards`) are ones that these photos can have."""

from collections.abc import Mapping, Sequence
from dataclasses import fields

import numpy as np
import torch

from inspect_core.features.extraction import Preparation
from inspect_core.images.folders import Sample
from inspect_core.images.photo_quality import Quality
from inspect_core.images.tolerances import looks_in
from inspect_core.sharding import plan
from inspect_core.sharding.answers import digest, left, numbers, require
from inspect_core.sharding.container import unpack
from inspect_core.sharding.photos import placement_of
from inspect_core.study.gathering import Fit
from inspect_core.study.scored_photo import UNKNOWN


def check_fit(fit: Fit, numbers_of: Mapping[str, int], samples: Sequence[Sample], content: bytes) -> None:
    """Statistics of all the photos that can be used: finite, and of as many photos. numbers_of: of each by its name."""
    gathered, facts = plan.unpack_states(content, fit)
    each = looks_in(fit.tolerances)
    first = [numbers_of[name] * each for name in left(_names(samples), facts)]
    own_numbers = torch.tensor([number + copy for number in first for copy in range(each)], dtype=torch.int64)
    seen = len(own_numbers)
    for own in gathered:
        state = own.state()
        require(state or not seen, "it lacks statistics")
        for name, values in state.items():
            require(bool(values.isfinite().all()), f"{name} is not finite")
            if values.ndim and not values.is_floating_point():  # the photo of each row: as many of each
                expected = own_numbers.repeat_interleave(len(values) // max(seen, 1))
                require(torch.equal(values, expected), f"{name} are not those asked for")
            elif not values.is_floating_point():  # photos, or patches: as many of each
                require(int(values) % max(seen, 1) == 0 <= int(values), f"{name} is {values}, of {seen} photos")
                require(bool(values) == bool(seen), f"{name} is {values}, of {seen} photos")


def check_score(preparation: Preparation, looks: int, stops: int, samples: Sequence[Sample], content: bytes) -> None:
    """Digest and placement of each photo, and its errors and those of its copies at all stops."""
    facts, arrays = unpack(content)
    names = left(_names(samples), facts)
    require([name for name, *_ in facts["photos"]] == names, "it is about other photos")
    for _, own, placement, quality in facts["photos"]:
        digest(own)
        numbers(np.array(quality, float), (len(fields(Quality)),), np.float64)
        placed = placement_of(placement, preparation.alignment)
        require(min(placed.photo) > 0, "it has no pixels")
        require((placed.located is None) == (preparation.alignment is None), "it is not placed as asked")
        if placed.located is not None:
            numbers(placed.located.matrix, (2, 3), np.float64)
    if names:
        numbers(arrays.get("errors"), (len(names), looks, stops, *preparation.grid))


def check_evaluate(moves: int, samples: Sequence[Sample], content: bytes) -> None:
    """Scores and overlap counts of the photos at each move."""
    judged, facts = plan.unpack_judged(content)
    names = left(_names(samples), facts)
    require(set(facts["unmasked"]) <= {sample.name for sample in samples if sample.mask}, "it is about other masks")
    require(len(judged) == moves, f"it has {len(judged)} moves instead of {moves}")
    known = {sample.name: sample.kind not in ("good", UNKNOWN) for sample in samples}
    for own in judged:
        for scores in (own.scores, np.where(np.isnan(own.again), np.float32(0), own.again)):
            numbers(scores, (len(names),))
        require(own.defect.tolist() == [known[name] for name in names], "it takes other photos for defects")
        unknown = np.isnan(own.found)
        numbers(np.where(unknown, 0, own.found), (len(names),), np.float64)
        require((unknown | (own.found <= own.scores)).all(), "it finds defects above their scores")
        counts, shape = own.counts, own.counts.classes.shape
        numbers(counts.classes, shape, np.int32)
        numbers(counts.weight, shape, np.float64)
        for values in (counts.normal, counts.defect):
            numbers(values, shape, np.int64)
        each = (counts.normal, counts.defect, counts.weight, np.array(counts.regions))
        require(min(values.min(initial=0) for values in each) >= 0, "it counts fewer than no pixels")


def check_describe(samples: Sequence[Sample], content: bytes) -> None:
    """Embeddings and logits of the photos."""
    facts, arrays = unpack(content)
    names = left(_names(samples), facts)
    for name in ("embeddings", "logits") if names else ():
        numbers(arrays.get(name), (len(names), *arrays[name].shape[1:2]))


def _names(samples: Sequence[Sample]) -> list[str]:
    return [sample.name for sample in samples]
