"""Alignment in teaching: learned when requested, otherwise tried, to see whether it would help."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace

import numpy as np

from inspect_core.features.extraction import Preparation
from inspect_core.images.alignment import learn
from inspect_core.images.folders import Sample
from inspect_core.images.read import ImageError, read
from inspect_core.methods.table import FIRST, methods_of, parameters_of
from inspect_core.runtime.progress import Report
from inspect_core.study.study import Study
from inspect_core.tuning.alignment_gain import Gain, measured
from inspect_core.tuning.order import ALIGN, NO_ALIGNMENT, RIGID, SIMILARITY, Order
from inspect_core.view import looks_of, with_taps

MOST, MOST_TRIED = 200, 24
"""Photos that an alignment is learned from, and photos used to see whether it would help."""


def aligned(order: Order, report: Report) -> Order:
    """The order with the alignment it asks for, learned from its good photos; damaged ones are skipped.

    Raises ValueError as `learn`, and whatever `report` raises to stop.
    """
    if order.align == NO_ALIGNMENT or order.alignment is not None:
        return order
    photos = _pixels(_evenly(order.photos.fit, MOST), report)
    scale = order.align == SIMILARITY
    return replace(order, alignment=learn(photos, scale=scale, turn=order.align_turn, shift=order.align_shift))


def on_alignment(study: Study, report: Report) -> tuple[str, ...]:
    """Notes on how parts lie, and which photos were left out; without alignment, whether it would help."""
    alignment = study.preparation.alignment
    if alignment is not None:
        lost = (f"{name} was left out: the part was not located ({reason})" for name, reason in study.lost.items())
        return (*alignment.sentences(), *lost)
    gain = gain_on(study.split.fit, study.preparation.untiled, report)
    remedy = f"Teach with alignment ({ALIGN[RIGID]!r}, --align {RIGID})."
    return (f"{gain.sentence()} {remedy}",) if gain is not None and gain.pays else ()


def gain_on(good: Sequence[Sample], preparation: Preparation, report: Report) -> Gain | None:
    """What alignment would bring, tried on a few of the good photos; None where there is nothing to align by."""
    photos = _evenly(good, MOST_TRIED)
    try:
        return measured(_pixels(photos, report), learn(_pixels(photos, report)), preparation)
    except ValueError:
        return None


def usual_preparation() -> Preparation:
    """By which photos are compared before any setting is chosen. Raises ValueError when the network is missing."""
    methods = methods_of(FIRST)
    backbone, taps = with_taps(methods, Order.backbone, size=Order.size)
    return Preparation(backbone, Order.grid, looks_of(methods, parameters_of(methods, {}, None), backbone, taps, 0))


def _evenly(samples: Sequence[Sample], most: int) -> Sequence[Sample]:
    return samples[:: -(-len(samples) // most)]


def _pixels(samples: Sequence[Sample], report: Report) -> Iterator[np.ndarray]:
    for done, sample in enumerate(samples):
        report(1.0, f"learning where the part lies, photo {done + 1} of {len(samples)}")
        with suppress(ImageError):
            yield read(sample.path, sample.depth).pixels
