"""Runs detectors side by side on the same photos and features."""

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from inspect_core.features.store import FeatureStore
from inspect_core.images.alignment import NotLocated
from inspect_core.images.photo_reader import ImageError, read
from inspect_core.methods.fitted_method import FittedMethod, remarks
from inspect_core.methods.method import Workload
from inspect_core.methods.registry import ALL, METHODS, methods_of, title_of
from inspect_core.runtime.jobs import device_lock
from inspect_core.runtime.progress import Report, stage
from inspect_core.scoring.masks import mask_at
from inspect_core.scoring.metrics import aupro, auroc, pro_curve
from inspect_core.study.evaluation import evaluate_photos
from inspect_core.study.evaluation_scores import truth_masks
from inspect_core.study.scored_photo import ScoredPhoto
from inspect_core.study.scored_photos import ScoredPhotos
from inspect_core.study.study import FittedStudy
from inspect_core.study.study_tasks import IN_PROCESS, Workers
from inspect_core.study.teaching_config import TeachingConfig
from inspect_core.tuning.alignment_training import aligned_first
from inspect_core.tuning.comparison_result import Comparison, ComparisonRow, Estimate
from inspect_core.tuning.place import place_of
from inspect_core.tuning.synthetic_trial import COMPARISON_DEFECTS, SHRINK, DefectPaster, Trial, crossed_trial
from inspect_core.tuning.teaching_plan import TeachingPlan, comparison_seconds

DRAWS = 500
AUPRO_DRAWS = 30
RUNS = 5


def compare(
    order: TeachingConfig,
    store: FeatureStore,
    report: Report,
    detectors: Sequence[str] = ALL,
    *,
    workers: Workers = IN_PROCESS,
    with_test_photos: bool = True,
    as_published: bool = False,
    pasted: bool = True,
    embed: bool = False,
) -> Comparison:
    """All detectors on one extraction; each of their methods is fitted once and scores a photo once.
    as_published: then those that are one method once more, each as its paper has it (`TeachingConfig.as_fitted`).

    The methods begin at their defaults, except for the order's parameters. What is found of a detector is, to the bit,
    what teaching it alone finds. workers: as `Study` takes them; with_test_photos: whether figures of the test photos
    are worked out; pasted: whether defects are made up, beside those known to choose by; embed: as of `Study.extract`.
    Holds the device all the while. Raises ValueError as Study does, and where too few good photos are there to set
    limits, and whatever `report` raises to stop.
    """
    order, report = aligned_first(order, report)
    published_orders = published(order, detectors) if as_published else []
    share = 1 / (1 + len(published_orders))
    fixed = {"workers": workers, "with_test_photos": with_test_photos, "pasted": pasted, "embed": embed}
    comparison = _compared(order, store, stage(report, 0.0, share), detectors, **fixed)
    for number, published_config in enumerate(published_orders, start=1):
        step = stage(report, number * share, (number + 1) * share)
        compared = _compared(published_config, store, step, (str(published_config.method),), **fixed)
        comparison = replace(comparison, rows=comparison.rows + compared.rows)
    return comparison


def published(order: TeachingConfig, detectors: Sequence[str]) -> list[TeachingConfig]:
    """The order of each detector that is one method, as its paper has it. Raises as the order's `as_fitted`."""
    single = [name for name in detectors if methods_of(name) == (name,)]
    return [replace(order, method=name, as_published=True).as_fitted() for name in single]


def _compared(
    order: TeachingConfig,
    store: FeatureStore,
    report: Report,
    detectors: Sequence[str],
    *,
    workers: Workers,
    with_test_photos: bool,
    pasted: bool,
    embed: bool,
) -> Comparison:
    plan = TeachingPlan.to_compare(order, store, detectors, workers)
    study, methods = plan.study, plan.study.methods
    with device_lock(study.extractor.backbone.device):
        if not order.setters:
            raise ValueError("too few good photos to set limits; add good parts or lots, then compare")
        pasting = DefectPaster(study, order.setters, COMPARISON_DEFECTS if pasted else 0)
        expected = study.expected(pasting.count)
        share = expected.total / (
            expected.total + comparison_seconds(len(detectors) if with_test_photos else 0, len(order.scored))
        )
        read = share * expected.extract / expected.total
        study.extract(stage(report, 0.0, read), embed=embed)
        place = place_of(study)
        study = study.fit(stage(report, read, share), trying=pasting.paste_defects, expected=expected)
        trial, tried = crossed_trial(study, pasting)
        masks = truth_masks(study.scored) if with_test_photos else None
        timed = next((study.scored.photos[i] for i in np.flatnonzero(study.scored.setters())[:1]), None)
        differ = study.differ(photo.name for photo in study.photos)
        rows = []
        for number, detector in enumerate(detectors):
            report(share + (1 - share) * number / len(detectors), f"comparing: {title_of(detector)}")
            positions = [methods.index(name) for name in methods_of(detector)]
            scored = study.scored.of_views(positions).with_areas(order.areas)
            rows.append(
                ComparisonRow(
                    detector,
                    **_of_trial(trial, tried.of_views(positions)),
                    **_of_judged(scored, masks, differ),
                    fit_seconds=_fit_seconds(study, positions),
                    verdict_ms=_verdict_ms(study, timed, scored.views) if with_test_photos and timed else math.nan,
                    arrays_mb=sum(map(_megabytes, scored.views)),
                    scored=scored,
                    study=study,
                )
            )
    notes = remarks(study.scored.views, study.extractor, study.parameters, {}, photos=len(study.split.train))
    candidates = plan.shortlist.candidates
    return Comparison(tuple(rows), trial.basis, bool(order.photos.validation), place, notes, candidates)


def fitted(row: ComparisonRow) -> FittedStudy:
    """The study of one of the detectors compared, as it was fitted."""
    return row.study.of_detector(row.detector, *row.study.order.network(methods_of(row.detector)))


def _fit_seconds(study: FittedStudy, positions: Sequence[int]) -> float:
    """Seconds that fitting these methods of a study is expected to take, without the network."""
    places = math.prod(study.extractor.grid)
    return sum(
        METHODS[study.methods[i]]
        .costs(Workload(len(study.split.train), 0, places, study.extractor.shapes[i][-1]), study.parameters[i])
        .seconds
        for i in positions
    )


def _of_trial(trial: Trial, tried: ScoredPhotos) -> dict:
    """The fields of a row that come from the trial."""
    qualities = trial.qualities(tried)
    synthetic, known = np.split(qualities, [trial.pasted])
    return {"qualities": qualities, "quality": _mean(qualities), "synthetic": _mean(synthetic), "known": _mean(known)}


def _of_judged(scored: ScoredPhotos, masks: list[np.ndarray | None] | None, differ: Sequence[str]) -> dict:
    """A row's fields that come from test photos; masks: of `truth_masks`, None where not scored; differ: as
    `FittedStudy.differ`.
    """
    figures = {"limits": None, "evaluation": None, "image_auroc": Estimate(), "aupro": Estimate(), "pro": None}
    if masks is None:
        return figures
    figures["limits"] = limits = scored.default_limits()
    figures["evaluation"] = evaluation = evaluate_photos(scored, limits, masks, differ=differ)
    good, defect = scored.good_and_defect()
    judge = scored.of_subset("test")
    scores = scored.scores()
    if not ((good & judge).any() and (defect & judge).any()):
        return figures
    rows = np.flatnonzero(judge & (good | defect))
    figures["image_auroc"] = Estimate.from_draws(
        evaluation.image_auroc, _drawn(lambda rows: auroc(scores[rows], defect[rows]), rows, defect, DRAWS)
    )
    known = np.array([i for i in np.flatnonzero(judge) if masks[i] is not None], int)
    here = slice(SHRINK // 2, None, SHRINK)
    maps = {i: scored.map(int(i))[here, here] for i in known}
    small = {i: mask_at(masks[i], maps[i].shape) for i in known}
    if any(mask.any() for mask in small.values()):

        def covered(rows: np.ndarray) -> float:
            return aupro(np.stack([maps[i] for i in rows]), np.stack([small[i] for i in rows]))

        figures["aupro"] = Estimate.from_draws(evaluation.aupro, _drawn(covered, known, defect, AUPRO_DRAWS))
        figures["pro"] = pro_curve(np.stack(list(maps.values())), np.stack(list(small.values())))
    return figures


def _mean(qualities: np.ndarray) -> Estimate:
    if not len(qualities):
        return Estimate()
    drawn = np.random.default_rng(0).choice(qualities, (DRAWS, len(qualities))).mean(axis=1)
    return Estimate.from_draws(float(qualities.mean()), drawn)


def _drawn(figure: Callable[[np.ndarray], float], rows: np.ndarray, defect: np.ndarray, draws: int) -> list[float]:
    """A figure over photos resampled from these, good and defective ones separately."""
    rng = np.random.default_rng(0)
    groups = [group for group in (rows[defect[rows]], rows[~defect[rows]]) if len(group)]
    return [figure(np.concatenate([rng.choice(group, len(group)) for group in groups])) for _ in range(draws)]


def _megabytes(view: FittedMethod) -> float:
    return sum(value.nelement() * value.element_size() for value in view.detector.arrays().values()) / 1e6


def _verdict_ms(study: FittedStudy, photo: ScoredPhoto, views: Sequence[FittedMethod]) -> float:
    """Median ms from a photo's file to its grid errors, without features that only other detectors need."""
    look_at = replace(study.extractor, looks=tuple(view.spec for view in views))
    took = []
    try:
        for _ in range(RUNS):
            began = time.perf_counter()
            for view, view_features in zip(views, look_at.features(read(photo.path, photo.depth).pixels), strict=True):
                view.errors([view_features], view.start)
            took.append(time.perf_counter() - began)
    except (ImageError, NotLocated):
        return math.inf
    return 1000 * float(np.median(took))
