from dataclasses import asdict, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspect_core.audit import challenges
from inspect_core.audit.log import AuditLog
from inspect_core.line.challenge import (
    MARGIN_KEPT,
    NO_PHOTO,
    challenge,
    margin,
    name_parts,
    photos_by_part,
    result_facts,
)
from inspect_core.recipe_format.recorded_photos import ChallengePart, read_challenge
from inspect_core.verdict import NOT_JUDGED, Limits, Reason

STOPPED = Reason.OTHER_PRODUCT
GOOD, DENT = ChallengePart("good one", True, "accept", 40.0), ChallengePart("dent", False, "reject", 240.0)


@pytest.fixture
def asked(inspector, photo, tmp_path):
    """asked(good=level, dent=level) photographs both parts and gives their answers by name."""

    def ask(**levels: int):
        paths = {name: photo(tmp_path / f"{name}.png", level) for name, level in levels.items()}
        return {answer.part.name: answer for answer in challenge(inspector(challenge_parts=(GOOD, DENT)), paths)}

    return ask


@pytest.mark.parametrize(
    ("name", "level", "passed", "margin", "words"),
    [
        ("good one", 44, True, 56.0, "accept with 93% of its margin"),
        ("good one", 70, True, 30.0, "accept with 50% of its margin"),
        ("good one", 71, False, 29.0, "accept with 48% of its margin, below the required 50%"),
        ("dent", 236, True, 36.0, "reject with 90% of its margin"),
        ("dent", 150, False, None, "review instead of reject"),
    ],
)
def test_part_passes_with_its_verdict_and_half_its_margin(asked, name, level, passed, margin, words):
    answer = asked(**{name: level})[name]
    assert (answer.passed, answer.margin, answer.words) == (passed, margin, words)
    assert answer.reference_margin == {"good one": 60.0, "dent": 40.0}[name]


def test_a_part_without_a_photo_or_without_a_verdict_is_missed(inspector, photo, tmp_path):
    parts = inspector(challenge_parts=(GOOD, DENT), refused=9)
    by_name = {answer.part.name: answer for answer in challenge(parts, {"dent": photo(tmp_path / "d.png", 9)})}
    assert by_name["good one"].verdict == NO_PHOTO
    assert (by_name["dent"].verdict, by_name["dent"].words) == (NOT_JUDGED, "score is not finite; teach it again")
    assert not any(answer.passed for answer in by_name.values())
    with pytest.raises(ValueError, match="tile has no challenge parts"):
        challenge(inspector(), {})


def test_the_photo_that_named_a_part_proves_nothing_of_today(inspector, photo, tmp_path):
    paths = {name: photo(tmp_path / f"{name}.png", level) for name, level in (("good one", 30), ("dent", 240))}
    named = name_parts(inspector(), [paths["good one"]], [paths["dent"]])
    answers = challenge(inspector(challenge_parts=named), paths)
    assert [(answer.passed, answer.words) for answer in answers] == 2 * [
        (False, "the photo that named this part; take one now")
    ]
    paths["good one"] = photo(tmp_path / "again.png", 31)
    assert [answer.passed for answer in challenge(inspector(challenge_parts=named), paths)] == [True, False]


def test_product_check_rejection_does_not_pass_a_challenge_part(inspector, photo, tmp_path):
    parts, path = inspector(challenge_parts=(DENT,)), photo(tmp_path / "dent.png", 250)
    assert challenge(parts, {"dent": path})[0].passed
    inspect = parts.inspect
    parts.inspect = lambda image: replace(inspect(image), verdict="reject", decided_by=STOPPED, reason=STOPPED.text())
    (answer,) = challenge(parts, {"dent": path})
    assert (answer.passed, answer.words) == (False, "reject (other product) instead of reject")
    (named,) = name_parts(parts, [], [path])
    assert (named.reason, named.with_limits(Limits(0.0, 300.0))) == (STOPPED.text(), named)
    parts.challenge_parts = (named,)
    (answer,) = challenge(parts, {"dent": photo(tmp_path / "other.png", 3)})
    assert (answer.passed, answer.reference_margin, answer.words) == (True, None, "reject (other product)")
    (answer,) = challenge(inspector(challenge_parts=(named,)), {"dent": photo(tmp_path / "dent again.png", 251)})
    assert (answer.passed, answer.words) == (False, "reject instead of reject (other product)")


@pytest.mark.parametrize("why", [Reason.PARTLY_OUT, Reason.EMPTY, Reason.SHADED])
def test_a_part_that_no_score_accepts_is_not_named(inspector, photo, tmp_path, why):
    """It would be to review for its photo, and prove nothing of lamp, lens and detector."""
    parts = inspector()
    inspect = parts.inspect
    parts.inspect = lambda image: replace(inspect(image), verdict="review", decided_by=why, reason=why.text())
    with pytest.raises(ValueError, match=rf"dent.png: .*{why}.*photo"):
        name_parts(parts, [], [photo(tmp_path / "dent.png", 50)])


@pytest.mark.parametrize(("level", "good"), [(100, True), (200, False)])
def test_a_part_right_at_a_limit_is_not_named(inspector, photo, tmp_path, level, good):
    path = photo(tmp_path / "dent.png", level)
    with pytest.raises(ValueError, match=r"dent.png: its score is exactly at a limit, .*; choose another"):
        name_parts(inspector(), [path] if good else [], [] if good else [path])


def document(*parts: ChallengePart) -> dict:
    return {"limits": {"review": 100.0, "reject": 200.0}, "challenge_parts": [asdict(part) for part in parts]}


@pytest.mark.parametrize(
    "parts",
    [
        (GOOD, DENT, replace(GOOD, name="dent")),
        (replace(DENT, score=200.0),),
        (replace(GOOD, score=100.0),),
        (replace(DENT, score=150.0),),
        (replace(GOOD, verdict="reject", reason=STOPPED.text()),),
    ],
    ids=[
        "a name twice",
        "at the limit",
        "good at the limit",
        "would get a different verdict",
        "a good part of another product",
    ],
)
def test_parts_of_a_recipe_that_prove_nothing_are_refused(parts):
    assert read_challenge(document(GOOD, DENT)) == (GOOD, DENT)
    with pytest.raises(ValueError, match="challenge part"):
        read_challenge(document(*parts))


def test_parts_are_named_by_their_photos(inspector, photo, tmp_path):
    good, dent = photo(tmp_path / "good/ok 1.png", 30), photo(tmp_path / "bad/dent.png", 230)
    assert photos_by_part(tmp_path) == {"ok 1": good, "dent": dent}
    named = name_parts(inspector(), [good], [dent])
    bare = tuple(replace(part, digest="") for part in named)
    assert bare == (ChallengePart("ok 1", True, "accept", 30.0), ChallengePart("dent", False, "reject", 230.0))
    with pytest.raises(ValueError, match=r"dent.png: a good part with verdict reject"):
        name_parts(inspector(), [dent], [])
    with pytest.raises(ValueError, match=r"ok 1.png: a defective part with verdict accept"):
        name_parts(inspector(), [], [good])
    photo(tmp_path / "again/dent.png", 3)
    with pytest.raises(ValueError, match="two photos of dent"):
        photos_by_part(tmp_path)


@given(score=st.floats(-1e6, 1e6), move=st.floats(0, 1e6), limits=st.tuples(st.floats(-1e6, 1e6), st.floats(0, 1e6)))
def test_score_within_the_margin_keeps_its_verdict(score, move, limits):
    between = Limits(limits[0], limits[0] + limits[1])
    verdict = between.decide(score)[0]
    room = margin(between, verdict, score)
    if move < 0.999 * room - 1e-6:
        assert between.decide(score + move)[0] == between.decide(score - move)[0] == verdict or verdict != "review"
        assert between.decide(score + (move if verdict == "accept" else -move))[0] == verdict


@given(st.floats(-10, 10), st.floats(-10, 10), st.floats(0, 5), st.booleans())
def test_other_limits_keep_only_parts_that_prove_something(score, review, band, good):
    limits = Limits(review, review + band)
    part = ChallengePart("a", good, "accept" if good else "reject", score).with_limits(limits)
    clear = score not in (limits.review, limits.reject)
    assert (part is not None) == ((limits.decide(score)[0] == "accept") == good and clear)
    assert part is None or part == replace(part, verdict=limits.decide(score)[0])


def test_missed_challenge_blocks_until_passed_or_overridden(asked):
    facts = {"product": "tile", "recipe": "d" * 64, "user": "Ana"}
    missed = [result_facts(answer) for answer in asked(**{"good one": 44, "dent": 150}).values()]
    passed = [result_facts(answer) for answer in asked(**{"good one": 44, "dent": 236}).values()]
    with AuditLog.open() as log:
        assert "its challenge has never been run here;" in challenges.why_blocked(log, facts["recipe"])
        challenges.record(log, missed, **facts)
        assert "challenge failed (dent)" in challenges.why_blocked(log, facts["recipe"])
        with pytest.raises(ValueError, match="a reason is required;"):
            challenges.override(log, reason=" ", **facts)
        challenges.override(log, reason="lamp ordered", **facts)
        assert challenges.why_blocked(log, facts["recipe"]) is None
        challenges.record(log, missed, **facts)
        assert challenges.why_blocked(log, facts["recipe"]) is not None
        challenges.record(log, passed, **facts)
        assert challenges.why_blocked(log, facts["recipe"]) is None
        assert log.verify() == []
    assert MARGIN_KEPT == 0.5
