"""Alignment in teaching: tried beforehand, to see whether it would help, and learned when requested."""

import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch

from inspect_core.features.extraction import FeatureExtractor
from inspect_core.images.alignment import MAX_ROTATION_DEGREES, TURN, Alignment, learn_alignment
from inspect_core.images.folders import PhotoFile
from inspect_core.images.photo_reader import ImageError, read
from inspect_core.images.shape import grid_of
from inspect_core.methods.fitted_method import patch_feature_specs
from inspect_core.methods.registry import DEFAULT_METHOD, methods_of, parameters_of
from inspect_core.runtime.progress import Report
from inspect_core.study.study import Study
from inspect_core.study.teaching_config import NO_ALIGNMENT, RIGID, SIMILARITY, TeachingConfig
from inspect_core.tuning.forecast import methods_to_fit

MOST = 200
"""Photos that an alignment is learned from."""
MOST_TRIED = 24
"""Photos used to see whether it would help."""
PAYS = 0.8
"""Alignment is proposed when it leaves less than this share of the variance."""
TURNED = 2 * TURN
"""Degrees of turn in good photos from which it is proposed in any case: a thin part is little of the variance."""


def with_learned_alignment(order: TeachingConfig, report: Report) -> TeachingConfig:
    """Return the order with the alignment it asks for, learned from its good photos; damaged ones are skipped.

    Raises ValueError as `learn_alignment`, and whatever `report` raises to stop.
    """
    if order.align == NO_ALIGNMENT or order.alignment is not None:
        return order
    bounds = {"scale": order.align == SIMILARITY, "turn": order.align_turn, "shift": order.align_shift}
    return replace(order, alignment=_learned(_evenly(order.photos.train, MOST), report, **bounds))


def alignment_notes(study: Study) -> tuple[str, ...]:
    """Return notes on how parts lie, and which photos were left out."""
    if study.extractor.alignment is None:
        return ()
    lost = (f"{name} was excluded: the part was not located ({reason})" for name, reason in study.not_located.items())
    return (*study.extractor.alignment.sentences(), *lost)


@dataclass(frozen=True)
class AlignmentGain:
    """How much less good photos differ from each other at each place when they are aligned.

    before, after: mean variance of a feature over the good photos, at the places that are then inspected; photos: those
    both are of; seconds: to align one of them; turned: degrees by which parts are turned at most.
    """

    before: float
    after: float
    photos: int
    seconds: float
    turned: float = 0.0

    @property
    def is_worthwhile(self) -> bool:
        """Whether to propose it."""
        return self.after < PAYS * self.before or self.turned > TURNED

    def sentence(self) -> str:
        """Return a gain that pays and its cost in words, for the user."""
        turned = f"turned by up to {self.turned:.0f}°" if self.turned < MAX_ROTATION_DEGREES else "at any angle"
        lie = f"The parts lie {turned}. " if self.turned > TURNED else ""
        less = 1 - self.after / self.before
        aligned = f"With alignment, {self.photos} good photos differ {less:.0%} less from each other at each location. "
        return (
            f"{lie}{aligned if less >= 0.05 else ''}Alignment adds {self.seconds:.2f} s per photo, and photos in "
            "which the part cannot be located are not inspected."
        )


def alignment_advice(order: TeachingConfig, report: Report) -> str:
    """Return that alignment would help, by what the first method sees; "" if not or asked for (see `with_taps`)."""
    if order.align != NO_ALIGNMENT or order.alignment is not None:
        return ""
    gain = gain_on(order.photos.train, default_extractor(order, methods_to_fit(order)), report)
    return "" if gain is None or not gain.is_worthwhile else f"{gain.sentence()} Use --align {RIGID}."


def default_extractor(order: TeachingConfig, methods: Sequence[str] = methods_of(DEFAULT_METHOD)) -> FeatureExtractor:
    """By which photos are compared before anything is learned, on the usual grid. Raises ValueError as `with_taps`."""
    backbone, taps = order.network(methods)
    grid = grid_of(order.size)
    return FeatureExtractor(
        backbone, grid, patch_feature_specs(methods, parameters_of(methods, {}, None), backbone, taps, 0)
    )


def gain_on(good: Sequence[PhotoFile], extractor: FeatureExtractor, report: Report) -> AlignmentGain | None:
    """Return what alignment would bring, tried on a few of the good photos; None where there is nothing to align by."""
    photos = _evenly(good, MOST_TRIED)
    try:
        return measured(_pixels(photos, report), _learned(photos, report), extractor)
    except ValueError:
        return None


def measured(photos: Iterable[np.ndarray], alignment: Alignment, extractor: FeatureExtractor) -> AlignmentGain:
    """Return the gain on good photos, (H, W, 3) uint8, processed one after the other; those not located are skipped.

    Two runs of the network per photo. Raises ValueError for fewer than two located photos.
    """
    moments = {way: [torch.zeros(1), torch.zeros(1)] for way in ("before", "after")}
    count, seconds = 0, 0.0
    for pixels in photos:
        began = time.perf_counter()
        located = alignment.locate(pixels)
        if located is None:
            continue
        count += 1
        laid_over = located.squash(pixels, extractor.backbone.size, alignment.reference)
        seconds += time.perf_counter() - began
        for way, picture in (("before", pixels), ("after", laid_over)):
            features = extractor.features(picture)[0].double().cpu()
            moments[way] = [moments[way][0] + features, moments[way][1] + features**2]
    if count < 2:
        raise ValueError(f"the part was located on {count} photos; the gain is measured on two or more")
    inspected = torch.from_numpy(alignment.known(extractor.grid))
    before, after = (
        float((squares / count - (sums / count) ** 2)[0, inspected].mean()) for sums, squares in moments.values()
    )
    angle = alignment.ranges["angle"]
    return AlignmentGain(before, after, count, seconds / count, max(-angle.low, angle.high))


def _evenly(samples: Sequence[PhotoFile], most: int) -> Sequence[PhotoFile]:
    return samples[:: -(-len(samples) // most)]


def _learned(samples: Sequence[PhotoFile], report: Report, **bounds: Any) -> Alignment:
    """As `learn_alignment`; its time is no part of the forecast, so it moves no bar: the step says how far it is."""
    step = f"learning part positions from {len(samples)} photos"
    return learn_alignment(
        _pixels(samples, report), report=lambda fraction, _: report(0.0, f"{step}: {fraction:.0%}"), **bounds
    )


def _pixels(samples: Sequence[PhotoFile], report: Report) -> Iterator[np.ndarray]:
    for done, sample in enumerate(samples):
        report(0.0, f"reading photo {done + 1} of {len(samples)}")
        with suppress(ImageError):
            yield read(sample.path, sample.depth).pixels
