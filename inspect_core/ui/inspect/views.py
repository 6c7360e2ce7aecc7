"""What the bench draws: the model in force, or a preview with its results so far."""

from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from inspect_core.guard.model import Guard
from inspect_core.judge.anomaly_map import AREA, image_score
from inspect_core.study.evaluation import found_up_to, in_parts_of
from inspect_core.ui import defect_naming
from inspect_core.ui.inspect.live_parameters import describe
from inspect_core.ui.previews import Run
from inspect_core.ui.taught_part import TaughtPart
from inspect_core.verdict import InView, Limits, Verdict, assemble

NO_VERDICTS = "Preview: no verdicts until you apply it."


@dataclass(frozen=True, eq=False)
class Drawn:
    """Scores (photos,) in the order of the gallery, the (H, W) map of the photo shown, and what they are compared with.

    limits: in force on the bench; suggested: the default ones; setting_scores: of the good photos that set limits;
    calm: where colour begins; sentence: the limits in parts; area: the smallest that counts, in pixels of the map;
    found: (photos,) up to which limit each defect is found, NaN where that is not known; ceiling: of the scores, None
    where they do not end; note: what the engineer must know of this view, or None. Of a preview, limits and suggested
    only set the colours, and no scores set limits.
    """

    scores: np.ndarray
    pixel_map: np.ndarray
    limits: Limits
    suggested: Limits
    calm: float
    sentence: str
    setting_scores: np.ndarray
    area: int
    found: np.ndarray
    ceiling: float | None = None
    note: str | None = None


def of_model(taught: TaughtPart, position: int, live: dict[str, int], limits: Limits | None) -> Drawn:
    """The fitted model at this live value; limits None: the suggested ones."""
    scores, suggested = taught.scores(live), taught.suggested_limits(live)
    limits = limits or suggested
    pixel_map = taught.scored.map(position, **live)
    found = found_up_to(taught.scored, **live)
    sentence = in_parts_of(taught.scored, scores, limits, found)
    setting = taught.scored.calibration_scores(**live)
    return Drawn(
        scores,
        pixel_map,
        limits,
        suggested,
        taught.calm(live),
        sentence,
        setting,
        live[AREA],
        found,
        taught.scored.ceiling(**live),
    )


def of_preview(taught: TaughtPart, position: int, run: Run, model: Drawn) -> Drawn:
    """The preview's map as soon as it is there, its scores when all photos are done; nothing is counted or judged.

    Scores of two fits of one view have no common scale. Until the good photos are scored, all figures of the model are
    therefore brought to the preview's by the medians of the two maps shown. Those of several views are in spreads of
    good errors, the same scale for every fit.
    """
    what = describe(run.parameters)
    model = replace(model, sentence=NO_VERDICTS, setting_scores=np.zeros(0))
    if not run.ready(position):
        return replace(model, note=f"The preview of {what} is being computed; the current model is still shown.")
    pixel_map = run.map(position, run.live)
    if not run.complete:
        alone = len(taught.scored.views) == 1
        fraction = _ratio(float(np.median(pixel_map)), float(np.median(model.pixel_map))) if alone else 1.0
        scores = model.scores * fraction
        scores[position] = image_score(pixel_map, area=model.area)
        scaled = Drawn(
            scores, pixel_map, _scaled(model.limits, fraction), _scaled(model.suggested, fraction),
            model.calm * fraction, model.sentence, model.setting_scores, model.area, model.found,
        )  # fmt: skip
        return replace(scaled, note=f"Preview of {what}, not applied. The gallery will follow.")
    scores = run.scores(run.live)
    suggested = run.scored.default_limits(**run.live)
    ceilings = model.ceiling, run.scored.ceiling(**run.live)
    limits = model.limits.carried(model.suggested, suggested, ceilings)
    good, _ = taught.scored.good_and_defect()
    errors = run.grid_errors(run.live)
    calm = float(np.median(errors[good] if good.any() else errors))
    return replace(
        model, scores=scores, pixel_map=pixel_map, limits=limits, suggested=suggested, calm=calm, area=run.live[AREA],
        found=np.full(len(scores), np.nan), ceiling=None, note=f"Preview of {what}, not applied.",
    )  # fmt: skip


def verdict_of(
    taught: TaughtPart, position: int, view: Drawn, guard: Guard | None, *, preview: bool, gone: bool
) -> Verdict:
    """The verdict on the photo shown in this view, the same as from the recipe.

    guard: the part's, in the mode of the session. No defect type is named on a preview. A missing photo has no type,
    and a product check only if it was made before. Raises ValueError for a score that is not finite, and ImageError for
    a photo that has just disappeared.
    """
    named = taught.defect_types is not None and not preview and not gone
    scored, placement = taught.scored, taught.scored.photos[position].placed
    return assemble(
        view.pixel_map, view.limits, placement, photo="" if gone else taught.differs(position),
        area=view.area, view=InView.of(placement, scored.size, scored.areas),
        check=taught.product_check(position, guard, ask=not gone),
        name_type=partial(defect_naming.name_type, taught, position) if named else None,
    )  # fmt: skip


def _ratio(to: float, of: float) -> float:
    return to / of if to > 0 and of > 0 else 1.0


def _scaled(limits: Limits, fraction: float) -> Limits:
    return Limits(limits.review * fraction, limits.reject * fraction)
