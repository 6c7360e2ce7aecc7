import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inspect_core.images.alignment import Alignment
from inspect_core.images.areas import InspectionArea, InspectionAreas
from inspect_core.images.part_pose import PartPose
from inspect_core.images.photo_quality import QualityRange, measure_quality
from inspect_core.images.placement import Placement
from inspect_core.scoring.anomaly_map import Region
from inspect_core.scoring.evidence import Evidence
from inspect_core.scoring.verdict_rule import Flags
from inspect_core.verdict import (
    DriftInputs,
    Limits,
    ProductCheckResult,
    Reason,
    Verdict,
    Visibility,
    assemble,
    is_partly_out,
    mask_uninspected,
)
from tests.examples import examples


@pytest.mark.parametrize(
    ("score", "word"), [(-5, "accept"), (2, "accept"), (2.1, "review"), (4, "review"), (4.0001, "reject")]
)
def test_a_limit_itself_is_still_the_milder_verdict(score, word):
    assert Limits(review=2, reject=4).decide(score)[0] == word


def test_one_limit_sends_nothing_to_review():
    limits = Limits(review=2, reject=2)
    assert [limits.decide(score)[0] for score in (1, 2, np.nextafter(2, 3))] == ["accept", "accept", "reject"]


def test_a_float32_score_does_not_round_the_limit():
    score = np.float32(0.1)
    assert float(score) > 0.1
    assert Limits(0.1, 0.1).decide(score)[0] == "reject"
    assert Limits(score, score).decide(score)[0] == "accept"


@given(st.lists(st.integers(0, 6), max_size=20), st.lists(st.integers(0, 6), max_size=20), st.data())
@settings(deadline=None, max_examples=examples(60))
def test_verdicts_one_by_one_add_up_to_the_counts(good, defects, data):
    """Those by the product check, and of parts against which something else speaks, are counted too."""
    review = data.draw(st.integers(0, 6))
    reject = data.draw(st.integers(review, 6))
    limits = Limits(review, reject)
    flags = [
        Flags(*(np.array(data.draw(st.lists(st.booleans(), min_size=n, max_size=n)), bool) for _ in Flags._fields))
        for n in (len(good), len(defects))
    ]
    stopped, out = (np.concatenate(columns) for columns in zip(*flags, strict=True))
    counts = Evidence.from_scores(good, defects, stopped=stopped, never_accepted=out).counts(limits)

    def said(scores, of_scores):
        return [
            limits.decide(score, stopped=bool(stopped), never_accepted=Reason.PARTLY_OUT if out else None)[0]
            for score, stopped, out in zip(scores, *of_scores, strict=True)
        ]

    said_of_good, said_of_defects = said(good, flags[0]), said(defects, flags[1])
    assert counts.good_rejected == said_of_good.count("reject")
    assert counts.good_reviewed == said_of_good.count("review")
    assert counts.defects_missed == said_of_defects.count("accept")
    assert counts.defects_reviewed == said_of_defects.count("review")


@pytest.mark.parametrize(
    ("review", "reject", "message"),
    [(3, 2, "review is 3.0, above reject 2.0"), (np.nan, 2, "review is nan"), (1, np.inf, "reject is inf")],
)
def test_limits_that_make_no_sense_are_refused(review, reject, message):
    with pytest.raises(ValueError, match=message):
        Limits(review, reject)


def test_limits_and_verdict_are_frozen():
    limits = Limits(np.float32(1), 2)
    assert type(limits.review) is float
    assert limits == Limits(1.0, 2.0)
    with pytest.raises(dataclasses.FrozenInstanceError):
        limits.review = 5
    verdict = Verdict(score=1.0, verdict="accept", anomaly_map=np.zeros((2, 2), dtype=np.float32))
    assert (verdict.regions, verdict.product_check, verdict.defect_type) == ((), None, None)
    with pytest.raises(dataclasses.FrozenInstanceError):
        verdict.score = 2.0


@given(
    st.integers(0, 6),
    st.tuples(st.integers(0, 6), st.integers(0, 6)).map(sorted),
    st.sampled_from([None, (False, False), (True, False), (True, True)]),
    st.sampled_from([None, "named", "unknown"]),
)
@settings(deadline=None, max_examples=examples(100))
def test_a_verdict_is_assembled_by_one_set_of_rules(peak, limits, reason_expected, types):
    anomaly_map = np.zeros((4, 8), np.float32)
    anomaly_map[1:3, 2:4] = peak
    check, asked = None if reason_expected is None else ProductCheckResult(*reason_expected, "said"), []

    def name_type(verdict):
        asked.append(verdict)
        return ("dent", 0.9) if types == "named" else None

    limits = Limits(*limits)
    placement = Placement((8, 16))
    view, namer = Visibility.from_placement(placement, (4, 8), None), None if types is None else name_type
    verdict = assemble(anomaly_map, limits, placement, view=view, check=check, name_type=namer)
    stopped, accepted = reason_expected == (True, True), limits.decide(peak)[0] == "accept"
    assert verdict.verdict == ("reject" if stopped else limits.decide(peak)[0])
    assert verdict.reason == (Reason.OTHER_PRODUCT.text() if stopped else "")
    assert verdict.product_check == (None if reason_expected is None else "said")
    assert [region.box for region in verdict.regions] == ([] if accepted else [(4, 2, 8, 6)])
    assert asked == ([verdict.regions] if types is not None and not stopped and not accepted else [])
    assert verdict.defect_type == (("dent", 0.9) if asked and types == "named" else None)
    assert verdict.of_unknown_type == bool(asked and types == "unknown")


def outside(shift):
    """The placement of a part of 64 px that lies `shift` px too far right in its photo."""
    matrix = np.array([[1.0, 0, shift], [0, 1, 0]])
    always = np.ones((64, 64), bool)
    aligned = Alignment(np.zeros((64, 64, 3), np.uint8), always, always, (64, 64), False, {})
    return Placement((64, 64), PartPose(matrix, (64, 64), (64, 64), 1.0, 1.0, 1.0), aligned)


@pytest.mark.parametrize(
    ("score", "stopped", "against", "expected"),
    [
        (0.5, False, None, ("accept", Reason.SCORE)),
        (0.5, False, Reason.PARTLY_OUT, ("review", Reason.PARTLY_OUT)),
        (1.5, False, Reason.PARTLY_OUT, ("review", Reason.SCORE)),
        (2.5, False, Reason.PARTLY_OUT, ("reject", Reason.SCORE)),
        (0.5, True, Reason.PARTLY_OUT, ("reject", Reason.OTHER_PRODUCT)),
        (2.5, True, None, ("reject", Reason.OTHER_PRODUCT)),
    ],
)
def test_reasons_are_given_where_the_score_alone_does_not_decide(score, stopped, against, expected):
    assert Limits(1.0, 2.0).decide(score, stopped=stopped, never_accepted=against) == expected
    with pytest.raises(ValueError, match="finite"):
        Limits(1.0, 2.0).decide(float("nan"), stopped=stopped, never_accepted=against)


@pytest.mark.parametrize(
    ("shift", "area", "areas", "word"),
    [
        (0, 64, None, "accept"),
        (2, 200, None, "accept"),
        (2, 64, None, "review"),
        (2, 64, InspectionAreas((InspectionArea("inspect", ((0.5, 0), (1, 0), (1, 1), (0.5, 1))),)), "accept"),
        (30, 64, InspectionAreas((InspectionArea("inspect", ((0.4, 0), (0.5, 0), (0.5, 0.4), (0.4, 0.4))),)), "review"),
    ],
)
def test_a_part_that_the_photo_does_not_show_is_never_accepted(shift, area, areas, word):
    """Unless what is missing is smaller than what counts, and enough is left to judge it by."""
    placement, limits = outside(shift), Limits(1.0, 2.0)
    view = Visibility.from_placement(placement, (64, 64), areas)
    left_out = view.uninspected
    quiet_map = mask_uninspected(np.full((64, 64), 0.5, np.float32), left_out, areas)
    verdict = assemble(quiet_map, limits, placement, area=area, view=view)
    assert verdict.verdict == word
    assert verdict.decided_by is (Reason.PARTLY_OUT if word == "review" else Reason.SCORE)
    assert np.array_equal(verdict.uninspected, left_out if left_out.any() else None)
    bad = mask_uninspected(np.full((64, 64), 9.0, np.float32), left_out, areas)
    assert assemble(bad, limits, placement, area=area, view=view).verdict != "accept"


@pytest.mark.parametrize(
    ("peak", "stain", "word", "reason"),
    [
        (0, 0, "accept", Reason.SCORE),
        (0, 12, "review", Reason.SHADED),
        (1.5, 12, "review", Reason.SCORE),
        (3, 12, "reject", Reason.SCORE),
    ],
)
def test_a_part_with_a_pale_area_is_never_accepted(peak, stain, word, reason):
    rng = np.random.default_rng(0)
    good = [np.clip(rng.normal(120, 3, (64, 64, 3)), 0, 255).astype(np.uint8) for _ in range(10)]
    good_range = QualityRange.from_qualities([measure_quality(photo, photo) for photo in good])
    photo = good[0].copy()
    photo[20:44, 20:44] += np.uint8(stain)
    placement = Placement((64, 64))
    verdict = assemble(
        np.full((64, 64), peak, np.float32),
        Limits(1.0, 2.0),
        placement,
        view=Visibility.from_placement(placement, (64, 64), None),
        quality=measure_quality(photo, photo),
        quality_range=good_range,
    )
    assert (verdict.verdict, verdict.decided_by, verdict.reason) == (word, reason, reason.text())


@pytest.mark.parametrize(
    ("missing", "inspected", "partly_out"), [(0, 30, False), (29, 30, False), (30, 500, True), (0, 29, True)]
)
def test_a_part_is_partly_out_from_the_area_on(missing, inspected, partly_out):
    assert is_partly_out(missing, inspected, 30) == partly_out


@pytest.mark.parametrize(
    ("box", "place"),
    [
        ((10, 20, 30, 60), (0.1, 0.4)),
        ((40, 0, 140, 20), (0.45, 0.1)),
        ((40, 0, 141, 20), (None, None)),
        (None, (None, None)),
    ],
)
def test_a_place_is_in_shares_of_the_photo_unless_it_is_large(box, place):
    regions = () if box is None else (Region(5, 9.0, box),)
    verdict = Verdict(5.0, "reject", np.zeros((4, 4), np.float32), regions, placement=Placement((100, 200)))
    assert verdict.region_place == place


def test_what_may_drift_is_named_where_it_was_measured():
    check = ProductCheckResult(False, False, "fits", 0.25)
    assert DriftInputs.from_measurements(None, check, Placement((8, 8))) == DriftInputs(product_distance=0.25)
    assert DriftInputs.from_measurements(None, None, Placement((8, 8))) == DriftInputs()
