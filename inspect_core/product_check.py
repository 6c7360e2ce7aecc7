"""Teaching the guard: what the product looks like as a whole, from the good photos of a study."""

from collections.abc import Callable, Sequence

import numpy as np

from inspect_core import guard
from inspect_core.features.backbones import Backbone
from inspect_core.guard import WARN, Guard
from inspect_core.images.folders import Sample
from inspect_core.images.read import ImageError, read, squash
from inspect_core.study import Study


def learn_product(
    study: Study,
    *,
    fused: bool = False,
    gamma: float | None = None,
    mode: str = WARN,
    report: Callable[[float, str], None] | None = None,
) -> Guard:
    """A guard from the fit photos of `study`, with its limit from the calibrate photos.

    fused: with the energy of the backbone's logits; gamma: CoRP with this kernel, None for CoP. report(share, step)
    is called after each photo and may raise Cancelled.
    """
    backbone, parts = study.preparation.backbone, (study.split.fit, study.split.calibrate)
    total, done = sum(map(len, parts)), 0
    described = []
    for samples in parts:
        rows = []
        for sample in samples:
            if (row := _describe(sample, backbone)) is not None:
                rows.append(row)
            done += 1
            if report is not None:
                report(done / total, "learning to know the product")
        described.append(rows)
    good, held_out = (_columns(rows, like=described[0]) for rows in described)
    return guard.fit(
        good[0],
        held_out[0],
        good_logits=good[1] if fused else None,
        held_out_logits=held_out[1] if fused else None,
        gamma=gamma,
        seed=study.seed,
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


def _columns(rows: Sequence[tuple[np.ndarray, np.ndarray]], *, like: Sequence) -> tuple[np.ndarray, np.ndarray]:
    if not rows:
        return tuple(np.zeros((0, len(values)), np.float32) for values in like[0])
    return tuple(np.stack(column) for column in zip(*rows, strict=True))
