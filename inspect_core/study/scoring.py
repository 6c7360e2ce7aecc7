"""Scoring the photos of a study under fitted methods, those in folds each under what was fitted to the other folds."""

from collections.abc import Callable, Iterable, Sequence

import numpy as np
from torch import Tensor

from inspect_core.images.folders import Sample
from inspect_core.methods.view import View
from inspect_core.runtime.progress import Report, silent, stage
from inspect_core.study.fitting import Crossing
from inspect_core.study.order import Order
from inspect_core.study.passes import Passes
from inspect_core.study.scored_photo import ScoredPhoto
from inspect_core.study.scored_photos import ScoredPhotos

Tried = tuple[ScoredPhoto, list[np.ndarray]]
"""A photo with its (stops, h, w) float32 errors under each view."""
Trying = Callable[[Sequence[Sample]], Iterable[tuple[ScoredPhoto, tuple[Tensor, ...]]]]
"""Further photos made from some good ones, each with its (1, h, w, k) features for each view."""


def score_photos(
    order: Order,
    passes: Passes,
    views: Sequence[View],
    crossing: Crossing | None,
    area: int,
    report: Report,
    trying: Trying | None = None,
) -> tuple[ScoredPhotos, list[Tried]]:
    """The calibrate, choose and judge photos of an order, and the photos made by `trying`, which are not among them."""
    features, split, tried = passes.features, order.photos, []
    preparation = features.preparation
    scored = ScoredPhotos(views, preparation.grid, preparation.map_size, area=area)
    setters = split.setters(order.seed)
    apart = [()] if crossing is None else crossing.left_out(silent)
    folds = 1 if crossing is None else len(crossing.folds)
    for number, left_out in enumerate(apart):
        samples, seen = setters[number] if setters else [], scored.seen_by(left_out)
        step = stage(report, 0.6 * number / folds, 0.6 * (number + 1) / folds)
        for sample, errors in passes.score(seen, samples, step):
            scored = scored.with_errors(features.photo(sample, "calibrate", split.groups), *errors)
        further = () if trying is None else trying(samples)
        for photo, (errors,) in passes.swept(seen, ((photo, [own]) for photo, own in further)):
            step(1.0, "trying synthetic defects")
            tried.append((photo, errors))
    parts = [("choose", sample) for sample in split.choose] + [("judge", sample) for sample in split.judge]
    named, rest = {sample.name: part for part, sample in parts}, [sample for _, sample in parts]
    if rest:
        step = stage(report, 0.6, 1.0)
        for sample, errors in passes.score(scored.seen_by(), rest, step, passes.again):
            scored = scored.with_errors(features.photo(sample, named[sample.name], split.groups), *errors)
    every = [("calibrate", sample) for sample in order.setters] + parts + [("fit", sample) for sample in split.fit]
    return scored.with_unscored(features.unscored(every)), tried
