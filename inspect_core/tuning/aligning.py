"""Alignment in teaching: learned when requested, otherwise tried, to see whether it would help."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace

import numpy as np

from inspect_core.images.alignment import learn
from inspect_core.images.folders import Sample
from inspect_core.images.read import ImageError, read
from inspect_core.runtime.progress import Report
from inspect_core.study.study import Study
from inspect_core.tuning.alignment_gain import measured
from inspect_core.tuning.order import NO_ALIGNMENT, SIMILARITY, Order

MOST, MOST_TRIED = 200, 24
"""Photos that an alignment is learned from, and photos used to see whether it would help."""


def aligned(order: Order, report: Report) -> Order:
    """The order with the alignment it asks for, learned from its good photos; damaged ones are skipped.

    Raises ValueError as `learn`, and whatever `report` raises to stop.
    """
    if order.align == NO_ALIGNMENT or order.alignment is not None:
        return order
    photos = _pixels(_evenly(order.photos.fit, MOST), report)
    return replace(order, alignment=learn(photos, scale=order.align == SIMILARITY))


def on_alignment(study: Study, report: Report) -> tuple[str, ...]:
    """Notes on how parts lie, and which photos were left out; without alignment, whether it would help."""
    alignment = study.preparation.alignment
    if alignment is not None:
        lost = (f"{name} was left out: the part was not located ({reason})" for name, reason in study.lost.items())
        return (*alignment.sentences(), *lost)
    photos = _evenly(study.split.fit, MOST_TRIED)
    try:
        gain = measured(_pixels(photos, report), learn(_pixels(photos, report)), study.preparation.untiled)
    except ValueError:  # nothing to align by
        return ()
    return (gain.sentence(),) if gain.pays else ()


def _evenly(samples: Sequence[Sample], most: int) -> Sequence[Sample]:
    return samples[:: -(-len(samples) // most)]


def _pixels(samples: Sequence[Sample], report: Report) -> Iterator[np.ndarray]:
    for done, sample in enumerate(samples):
        report(1.0, f"learning where the part lies, photo {done + 1} of {len(samples)}")
        with suppress(ImageError):
            yield read(sample.path, sample.depth).pixels
