"""Training the product check: what the product looks like as a whole, from good photos."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import torch

from inspect_core.datasets.folders import PhotoFile
from inspect_core.detectors.cop_corp import fit_cop
from inspect_core.features.backbones import Backbone
from inspect_core.features.extraction import FeatureExtractor
from inspect_core.features.store import feature_store
from inspect_core.images.alignment import Alignment
from inspect_core.runtime.progress import Report, ignore_progress, stage
from inspect_core.study.photo_features import PhotoFeatures
from inspect_core.study.study_tasks import IN_PROCESS, EmbeddingTask, Workers
from inspect_core.whole_part.product_check import WARN, ProductCheck, ProductSubspace

EXPLAINED_VARIANCE = 0.9
LEAST_LIMIT = 0.8
"""Over six products the highest score of 180 own defects was .74, the least of 1,800 photos of the others .85."""


def train_product_check(
    backbone: Backbone,
    good: Sequence[PhotoFile],
    held_out: Sequence[PhotoFile],
    *,
    fused: bool = False,
    mode: str = WARN,
    alignment: Alignment | None = None,
    report: Report = ignore_progress,
    workers: Workers = IN_PROCESS,
    known: PhotoFeatures | None = None,
) -> ProductCheck:
    """A product check from `good` photos, with its limit from `held_out` good ones.

    Raises ValueError for `fused` with a backbone that knows no classes.
    Photos that are damaged, or in which the part is not located, are skipped. alignment: locates the part; fused: with
    the energy of the backbone's logits. report(fraction, step) is called after each photo and may raise Cancelled;
    workers: as `Study` takes them; known: what a study of the photos has stored and noted of them.
    """
    if fused and not backbone.has_classes:
        raise ValueError(
            f"{backbone.name} has no class outputs, so the fused product check is not available; use the product "
            "check alone"
        )
    features = PhotoFeatures.here(FeatureExtractor(backbone, (1, 1), (), alignment=alignment), feature_store())
    if known is not None:
        features = replace(features, store=known.store, notes=known.notes)
    share = len(good) / (len(good) + len(held_out))
    rows = _described(features, good, workers, stage(report, 0.0, share), fused=fused)
    unseen = _described(features, held_out, workers, stage(report, share, 1.0), fused=fused)
    if not len(unseen[0]):
        unseen = tuple(np.zeros((0, values.shape[1]), np.float32) for values in rows)
    logits = {"good_logits": rows[1], "held_out_logits": unseen[1]} if fused else {}
    return fit(rows[0], unseen[0], mode=mode, **logits)


def fit(
    good: np.ndarray,
    held_out: np.ndarray,
    *,
    good_logits: np.ndarray | None = None,
    held_out_logits: np.ndarray | None = None,
    mode: str = WARN,
) -> ProductCheck:
    """Learn the product from good photos; set the limit on held-out good ones.

    good: (n, d) penultimate features; held_out: (c, d) of good photos not in `good` (if there are none, `good` is
    used); logits of both make it fused.
    The limit lies halfway between the strangest held-out photo and an unrelated one. The value of the latter is known
    beforehand: its mapped features are at right angles to the product's, so its error is about 1, or its fused score 0.
    A limit close to the good photos would take every ordinary defect for another product, so that of the check alone is
    LEAST_LIMIT or more.
    """
    detector = fit_cop(_tensor(good), explained_variance=EXPLAINED_VARIANCE)
    smallest = 0.0 if good_logits is None else min(0.0, float(_tensor(good_logits).logsumexp(-1).min()))
    arrays = {name: value.cpu().numpy() for name, value in detector.arrays().items()}
    subspace = ProductSubspace.from_arrays(arrays, detector.params())
    product_check = ProductCheck(subspace, good_logits is not None, smallest, 0.0, mode)
    scores = product_check.score(held_out, held_out_logits) if len(held_out) else product_check.score(good, good_logits)
    highest = float(scores.max())
    unrelated = 0.0 if product_check.fused else 1.0
    halfway = (highest + max(highest, unrelated)) / 2
    return replace(product_check, limit=halfway if product_check.fused else max(halfway, LEAST_LIMIT))


def _tensor(values: np.ndarray) -> torch.Tensor:
    return torch.from_numpy(np.ascontiguousarray(values, np.float32))


def _described(
    features: PhotoFeatures, samples: Sequence[PhotoFile], workers: Workers, report: Report, *, fused: bool
) -> tuple[np.ndarray, ...]:
    """(n, d) features and (n, c) logits of the photos that can be used; (0, 0) without any."""
    # What cannot be used is listed by the study.
    rows = list(workers.results(EmbeddingTask(fused), features, samples, report))
    return tuple(map(np.stack, zip(*rows, strict=True))) if rows else (np.zeros((0, 0), np.float32),) * 2
