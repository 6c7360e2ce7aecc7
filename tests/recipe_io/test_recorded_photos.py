"""What a recipe records of the parts its limits were set and tested on, and what the limits do to them."""

from dataclasses import replace

import pytest

from inspect_core.datasets.dataset import CALIBRATION, TEST
from inspect_core.recipe_format.recorded_photos import (
    UNKNOWN,
    CalibrationPhoto,
    ChallengePart,
    UnscoredPart,
    evidence_of,
    margin,
)
from inspect_core.verdict import NOT_JUDGED, NOT_LOCATED, Limits, Reason

LIMITS = Limits(2.0, 4.0)
SET_ON = [CalibrationPhoto(f"{score}.png", "", score) for score in (1.0, 1.5, 2.5)]


def photo(label: str, score: float) -> CalibrationPhoto:
    return CalibrationPhoto(f"{label}.png", "", score, label)


def test_good_and_defective_parts_tested_are_counted():
    recorded = [photo("good", 1.0), photo("good", 3.0), photo("good", 5.0), photo("dent", 1.0), photo("dent", 9.0)]
    recorded += [photo("scratch", 3.0), photo(UNKNOWN, 9.0), photo("", 9.0)]
    evidence = evidence_of(SET_ON, recorded)
    assert not evidence.limits_set_here
    counts = evidence.counts(LIMITS)
    assert (counts.good_total, counts.good_reviewed, counts.good_rejected) == (3, 1, 1)
    assert (counts.defects_total, counts.defects_reviewed, counts.defects_missed) == (3, 1, 1)


def test_without_good_tests_those_that_set_the_limits_count():
    evidence = evidence_of(SET_ON, [photo("dent", 1.0)])
    assert evidence.limits_set_here
    counts = evidence.counts(LIMITS)
    assert (counts.good_total, counts.good_reviewed, counts.defects_missed) == (3, 1, 1)


def test_parts_without_a_score_are_counted_apart():
    lost = UnscoredPart("a.png", "dent", TEST, NOT_LOCATED, "too dark")
    unjudged = [UnscoredPart(f"{subset}.png", "good", subset, NOT_JUDGED, "") for subset in (TEST, CALIBRATION)]
    counts = evidence_of(SET_ON, [photo("good", 1.0)], [lost, *unjudged]).counts(LIMITS)
    assert (counts.defects_total, counts.defects_unscored.not_located, counts.defects_missed) == (1, 1, 0)
    assert (counts.good_total, counts.good_unscored.not_judged) == (2, 1)


@pytest.mark.parametrize("stops", [True, False])
def test_what_decided_beside_the_score_decides_in_the_counts(stops):
    """A part of another product only where the product check stops it."""
    reasons = [Reason.OTHER_PRODUCT, Reason.PARTLY_OUT, Reason.SHADED, ""]
    recorded = [replace(photo("dent", 1.0), reason=str(reason)) for reason in reasons]
    expected = ["reject" if stops else "accept", "review", "review", "accept"]
    assert [part.decide(LIMITS, stops=stops)[0] for part in recorded] == expected
    counts = evidence_of(SET_ON, recorded, stops=stops).counts(LIMITS)
    assert (counts.defects_missed, counts.defects_reviewed) == (expected.count("accept"), expected.count("review"))


@pytest.mark.parametrize(
    ("verdict", "score", "apart"),
    [("accept", 1.25, 0.75), ("reject", 4.5, 0.5), ("review", 2.5, 0.5), ("review", 3.75, 0.25)],
)
def test_margin_is_the_way_to_the_nearest_other_verdict(verdict, score, apart):
    assert margin(LIMITS, verdict, score) == apart


def test_challenge_part_must_prove_its_side():
    part = ChallengePart("scratch.png", good=False, verdict="reject", score=5.0)
    assert part.with_limits(LIMITS) == part
    assert part.margin(LIMITS) == 1.0
    assert part.with_limits(Limits(2.0, 6.0)).verdict == "review"
    assert part.with_limits(Limits(5.0, 6.0)) is None, "at a limit"
    assert part.with_limits(Limits(6.0, 7.0)) is None, "accepted"
    good = ChallengePart("good.png", good=True, verdict="accept", score=1.0)
    assert good.with_limits(LIMITS) == good
    assert good.with_limits(Limits(0.5, 3.0)) is None


def test_challenge_part_of_another_product_has_no_margin():
    part = ChallengePart("bolt.png", good=False, verdict="reject", score=0.1, reason=Reason.OTHER_PRODUCT.value)
    assert part.margin(LIMITS) is None
    assert part.with_limits(Limits(9.0, 9.0)) is part
