"""The evidence of scored photos: which of them count, and what decides about each (`scoring.evidence`)."""

import math
from collections.abc import Collection, Sequence
from dataclasses import replace

import numpy as np

from inspect_core.scoring.anomaly_map import AREA
from inspect_core.scoring.counts import select_counted_parts
from inspect_core.scoring.defect_hits import hit_limit
from inspect_core.scoring.evidence import Evidence
from inspect_core.study.evaluation_scores import AT_ONCE, unscored_counts
from inspect_core.study.scored_photo import ADDED, RELABELLED, UNKNOWN, ScoredPhoto
from inspect_core.study.scored_photos import ScoredPhotos
from inspect_core.verdict import Reason


def evidence_of(
    scored: ScoredPhotos, *, differ: Sequence[str] = (), foreign: Collection[str] = (), **live: int
) -> Evidence:
    """That of all photos, at stored live values, then of the good ones that set the limits and are not here, where
    they are counted; counted are those of `select_counted_parts`.

    differ: how each photo differs from all good ones, so that no score accepts it, "" where it does not, as
    `FittedStudy.differ`; foreign: digests of those that the product check stops.
    """
    photos, elsewhere = scored.photos, () if scored.set_on is None else scored.set_on
    known = [*photos, *scored.unscored]
    labels = [*(photo.label for photo in known), *("good" for _ in elsewhere)]
    is_good = np.array([label == "good" for label in labels], bool)
    is_defect = np.array([label not in ("good", UNKNOWN) for label in labels], bool)
    subsets = [*(photo.subset for photo in known), *("calibration" for _ in elsewhere)]
    good, defect, limits_set_here = select_counted_parts(is_good, is_defect, subsets)
    count, last = len(photos), len(known)
    without = [photo for photo, counts in zip(scored.unscored, (good | defect)[count:last], strict=True) if counts]
    reasons = reasons_of(scored, {**scored.live, **live}[AREA], differ, foreign)
    evidence = Evidence(
        scores=scored.scores(**live),
        good=good[:count],
        defect=defect[:count],
        stopped=np.array([reason == Reason.OTHER_PRODUCT for reason in reasons], bool),
        never_accepted=np.array([reason not in ("", Reason.OTHER_PRODUCT) for reason in reasons], bool),
        hit_limits=found_up_to(scored, **live),
        repeat_scores=scored.repeat_scores(**live),
        groups=[*map(_group, photos)],
        **unscored_counts(without),
        limits_set_here=limits_set_here,
        relabelled=_relabelled(photos),
    )
    return evidence.with_good(elsewhere) if good[last:].any() else evidence


def reasons_of(scored: ScoredPhotos, area: int, differ: Sequence[str] = (), foreign: Collection[str] = ()) -> list[str]:
    """Of each photo, what decides about it whatever its score, as a value of `verdict.Reason`; "" where that decides.

    Otherwise as `evidence_of`.
    """
    differ = differ or [""] * len(scored.photos)
    reasons = []
    for photo, is_out, words in zip(scored.photos, scored.partly_out(area).tolist(), differ, strict=True):
        reason = Reason.OTHER_PRODUCT if photo.digest in foreign else Reason.PARTLY_OUT if is_out else words
        reasons.append(str(reason))
    return reasons


def evidence_to_choose_by(scored: ScoredPhotos, evidence: Evidence) -> Evidence:
    """The same photos, counted where a limit may be chosen by them: the good ones that set limits, and the defects
    kept to choose by, or where there are none those of the test.

    evidence: of these photos.
    """
    setters, chosen = scored.setters(), scored.chosen_defects()
    if not chosen.any():
        chosen = scored.of_subset("test") & scored.good_and_defect()[1]
    others = np.zeros(len(evidence) - len(scored.photos), bool)
    sets = {
        is_good: {photo.subset for photo, uses in zip(scored.photos, used, strict=True) if uses}
        for is_good, used in ((True, setters), (False, chosen))
    }
    unscored = [photo for photo in scored.unscored if photo.subset in sets[photo.label == "good"]]
    return replace(
        evidence,
        good=np.append(setters, others),
        defect=np.append(chosen, others),
        **unscored_counts(unscored),
        limits_set_here=True,
    )


def found_up_to(scored: ScoredPhotos, **live: int) -> np.ndarray:
    """(photos,) float64, read-only, of `scoring.defect_hits` at a stored live value; NaN without a mask."""
    values = {**scored.live, **live}

    def look_up() -> np.ndarray:
        limits = np.full(len(scored.photos), math.nan)
        masks = {
            i: mask for i, photo in enumerate(scored.photos) if (mask := photo.dilated_mask(scored.size)) is not None
        }
        known = list(masks)
        for first in range(0, len(known), AT_ONCE):
            positions = known[first : first + AT_ONCE]
            for i, anomaly_map in zip(positions, scored.maps(positions, **live), strict=True):
                limits[i] = hit_limit(anomaly_map, masks[i], area=values[AREA])
        return limits

    return scored.cached(("found", *sorted(values.items())), look_up)


def _group(photo: ScoredPhoto) -> str:
    return photo.split_group or photo.group or photo.name


def _relabelled(photos: Sequence[ScoredPhoto]) -> int:
    """Count the photos whose label was given by someone who had seen the score: they are in no figure."""
    return sum(photo.subset == RELABELLED or (photo.subset == ADDED and photo.label != UNKNOWN) for photo in photos)
