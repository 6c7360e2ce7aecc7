"""What the bench draws: the model in force, or a preview with its results so far."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

import numpy as np

from inspect_core.scoring.anomaly_map import AREA, image_score
from inspect_core.study.scored_photos import ScoredPhotos
from inspect_core.ui import defect_naming
from inspect_core.ui.bench.bench_state import BenchState
from inspect_core.verdict import Limits, Verdict, Visibility, assemble
from inspect_core.workbench.previews import PreviewRun
from inspect_core.workbench.taught_product import TaughtProduct, describe

COUNTING = "Preview: verdicts follow as soon as all photos are scored."


def of_model(product: TaughtProduct, position: int) -> BenchState:
    """The fitted model at the live values and limits in force. Raises ValueError without a limit."""
    live, suggested = product.live, product.suggested_limits(product.live)
    return _of_all_photos(product, product.scored, position, live, product.limits_by_hand, suggested)


def of_preview(product: TaughtProduct, position: int, run: PreviewRun, model: BenchState) -> BenchState:
    """The preview's map as soon as it is there, its scores, limits and verdicts when all photos are scored.

    Scores of two fits of one view have no common scale. Until then, all figures of the model are therefore brought to
    the preview's by the medians of the two maps shown, and nothing is counted or judged. Those of several views are in
    spreads of good errors, the same scale for every fit.
    """
    subject = describe(run.parameters)
    if run.complete:
        suggested = run.scored.default_limits(**run.live)
        ceilings = model.ceiling, run.scored.ceiling(**run.live)
        limits = run.limits or model.limits.carried(model.suggested, suggested, ceilings)
        view = _of_all_photos(product, run.scored, position, run.live, limits, suggested)
        note = f"Preview of {subject}, from a sample of the good patches. The fit of all of them follows."
        return replace(view, note=note)
    model = replace(model, sentence=COUNTING, setting_scores=np.zeros(0), preview=True)
    if not run.ready(position):
        return replace(model, note=f"Computing the preview of {subject}. The current model is still shown.")
    anomaly_map = run.map(position, run.live)
    is_single = len(product.scored.views) == 1
    ratio = _ratio(float(np.median(anomaly_map)), float(np.median(model.anomaly_map))) if is_single else 1.0
    scores = model.evidence.scores * ratio
    scores[position] = image_score(anomaly_map, area=model.area)
    return replace(
        model,
        evidence=model.evidence.with_scores(scores),
        anomaly_map=anomaly_map,
        limits=_scaled(model.limits, ratio),
        suggested=_scaled(model.suggested, ratio),
        typical_score=model.typical_score * ratio,
        ceiling=None,
        note=f"Preview of {subject}. Scores and verdicts are being computed.",
    )


def _of_all_photos(
    product: TaughtProduct, scored: ScoredPhotos, position: int, live: Mapping[str, int], limits: Limits | None,
    suggested: Limits,
) -> BenchState:  # fmt: skip
    """The photos under the model in force or under a preview that has scored all of them."""
    evidence, limits = product.evidence(scored, live), limits or suggested
    return BenchState(
        photos=scored.photos,
        evidence=evidence,
        position=position,
        anomaly_map=scored.map(position, **live),
        limits=limits,
        suggested=suggested,
        typical_score=scored.typical_score(**live),
        sentence=evidence.sentence(limits),
        setting_scores=scored.calibration_scores(**live),
        area=live[AREA],
        unscored=scored.unscored,
        ceiling=scored.ceiling(**live),
        mm_per_pixel=product.mm_per_pixel,
    )


def verdict_of(product: TaughtProduct, view: BenchState, *, photo_missing: bool) -> Verdict:
    """The verdict on the photo shown in this view, the same as from the recipe.

    No defect type is named on a preview. A missing photo has no type, and a
    product check only if it was made before. Raises ValueError for a score that is not finite, and ImageError for a
    photo that has just disappeared.
    """
    position = view.position
    named = product.defect_types is not None and not view.preview and not photo_missing
    scored, placement = product.scored, product.scored.photos[position].placed
    return assemble(
        view.anomaly_map, view.limits, placement, quality=None if photo_missing else product.quality_of(position),
        quality_range=product.quality,
        area=view.area, view=Visibility.from_placement(placement, scored.size, scored.areas),
        check=product.checked(position, ask=not photo_missing),
        name_type=partial(defect_naming.name_type, product, position) if named else None,
    )  # fmt: skip


def _ratio(to: float, base: float) -> float:
    return to / base if to > 0 and base > 0 else 1.0


def _scaled(limits: Limits, ratio: float) -> Limits:
    return Limits(limits.review * ratio, limits.reject * ratio)
