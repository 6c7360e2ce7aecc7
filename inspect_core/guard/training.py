"""Training the guard: what the product looks like as a whole, from good photos."""

from collections.abc import Sequence

import numpy as np

from inspect_core.features.backbones import Backbone
from inspect_core.guard import model
from inspect_core.guard.model import WARN, Guard
from inspect_core.images.folders import Sample
from inspect_core.images.read import ImageError, read, squash
from inspect_core.runtime.progress import Report


def train_guard(
    backbone: Backbone,
    good: Sequence[Sample],
    held_out: Sequence[Sample],
    *,
    fused: bool = False,
    gamma: float | None = None,
    seed: int = 0,
    mode: str = WARN,
    report: Report | None = None,
) -> Guard:
    """A guard from `good` photos, with its limit from `held_out` good ones; damaged photos are passed over.

    fused: with the energy of the backbone's logits; gamma: CoRP with this kernel, None for CoP. report(fraction, step)
    is called after each photo and may raise Cancelled.
    """
    subsets = (good, held_out)
    total, done = sum(map(len, subsets)), 0
    described = []
    for samples in subsets:
        rows = []
        for sample in samples:
            if (row := _describe(sample, backbone)) is not None:
                rows.append(row)
            done += 1
            if report is not None:
                report(done / total, "learning the look of the product")
        described.append(rows)
    known, unseen = (_columns(rows, like=described[0]) for rows in described)
    return model.fit(
        known[0],
        unseen[0],
        good_logits=known[1] if fused else None,
        held_out_logits=unseen[1] if fused else None,
        gamma=gamma,
        seed=seed,
        mode=mode,
    )


def _describe(sample: Sample, backbone: Backbone) -> tuple[np.ndarray, np.ndarray] | None:
    """Penultimate features and logits of one photo; None for a damaged one, which the study has listed."""
    try:
        pixels = read(sample.path).pixels
    except ImageError:
        return None
    _, embedding, logits = backbone.describe(squash(pixels, backbone.size)[None])
    # Copies: a view would keep the network's whole output buffer of every photo.
    return embedding[0].cpu().numpy().copy(), logits[0].cpu().numpy().copy()


def _columns(rows: Sequence[tuple[np.ndarray, np.ndarray]], *, like: Sequence) -> tuple[np.ndarray, ...]:
    if not rows:
        return tuple(np.zeros((0, len(values)), np.float32) for values in like[0])
    return tuple(np.stack(column) for column in zip(*rows, strict=True))
