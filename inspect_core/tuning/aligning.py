"""Alignment in teaching: tried beforehand, to see whether it would help, and learned when requested."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np

from inspect_core.features.extraction import Preparation
from inspect_core.images.alignment import learn
from inspect_core.images.folders import Sample
from inspect_core.images.read import ImageError, read
from inspect_core.methods.table import FIRST, methods_of, parameters_of
from inspect_core.methods.view import looks_of, with_taps
from inspect_core.runtime.progress import Report
from inspect_core.study.study import Study
from inspect_core.tuning.alignment_gain import Gain, measured
from inspect_core.tuning.order import NO_ALIGNMENT, RIGID, SIMILARITY, Order

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


def on_alignment(study: Study) -> tuple[str, ...]:
    """Notes on how parts lie, and which photos were left out."""
    if study.preparation.alignment is None:
        return ()
    lost = (f"{name} was left out: the part was not located ({reason})" for name, reason in study.lost.items())
    return (*study.preparation.alignment.sentences(), *lost)


def proposed(order: Order, methods: Sequence[str], report: Report) -> str:
    """That alignment would help, by the features that the first of the methods sees; "" where it would not, or is asked
    for. Raises ValueError as `with_taps`.
    """
    if order.align != NO_ALIGNMENT or order.alignment is not None:
        return ""
    backbone = {"taps": order.taps, "size": order.size, "device": order.device, "weights": order.weights}
    gain = gain_on(order.photos.fit, usual_preparation(methods, order.backbone, **backbone), report)
    return "" if gain is None or not gain.pays else f"{gain.sentence()} Add --align {RIGID}."


def gain_on(good: Sequence[Sample], preparation: Preparation, report: Report) -> Gain | None:
    """What alignment would bring, tried on a few of the good photos; None where there is nothing to align by."""
    photos = _evenly(good, MOST_TRIED)
    try:
        return measured(_pixels(photos, report), learn(_pixels(photos, report)), preparation)
    except ValueError:
        return None


def usual_preparation(
    methods: Sequence[str] = methods_of(FIRST), name: str = Order.backbone, size: tuple[int, int] = Order.size,
    **chosen: Any,
) -> Preparation:  # fmt: skip
    """By which photos are compared before anything is learned, on the usual grid. chosen, errors: as `with_taps`."""
    backbone, taps = with_taps(methods, name, size=size, **chosen)
    return Preparation(backbone, Order.grid, looks_of(methods, parameters_of(methods, {}, None), backbone, taps, 0))


def _evenly(samples: Sequence[Sample], most: int) -> Sequence[Sample]:
    return samples[:: -(-len(samples) // most)]


def _pixels(samples: Sequence[Sample], report: Report) -> Iterator[np.ndarray]:
    for done, sample in enumerate(samples):
        report(1.0, f"learning where the part lies, photo {done + 1} of {len(samples)}")
        with suppress(ImageError):
            yield read(sample.path, sample.depth).pixels
