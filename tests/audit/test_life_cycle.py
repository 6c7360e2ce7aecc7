from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from inspect_core.audit import challenges, life_cycle
from inspect_core.audit.changes import describe_entry, limits_changed, override
from inspect_core.audit.entry import CHALLENGE, EXPORT, INSPECTION, LIMITS_CHANGED, OVERRIDE, WATCH_INTERRUPTED
from inspect_core.audit.inspections import LoggedInspection, counts, defect_types, read, verdicts_at_limits
from inspect_core.audit.life_cycle import (
    APPROVED,
    DRAFT,
    RETIRED,
    approval,
    approve,
    approved,
    history,
    retire,
    state_of,
    states,
)
from inspect_core.audit.log import AuditLog
from inspect_core.verdict import Limits, Reason

SAID = {"product": "tile", "reason": "new lamp", "user": "Ana"}


def test_approving_retires_the_version_before(log):
    assert state_of(log, "a" * 64) == DRAFT
    approve(log, "a" * 64, **SAID)
    approve(log, "c" * 64, product="ring", reason="first", user="Ben")
    entry = approve(log, "b" * 64, **SAID)
    assert (entry.recipe, entry.facts["state"]) == ("b" * 64, APPROVED)
    assert states(log) == {"a" * 64: RETIRED, "b" * 64: APPROVED, "c" * 64: APPROVED}
    assert (approved(log, "tile"), approved(log, "ring"), approved(log, "none")) == ("b" * 64, "c" * 64, None)
    last = history(log, "a" * 64)[-1]
    assert last.user == "Ana"
    assert last.facts["reason"] == f"replaced by {'b' * 12}: new lamp"


def test_the_way_back_to_a_retired_version(log):
    for digest in "aba":
        approve(log, digest, **SAID)
    assert states(log) == {"a": APPROVED, "b": RETIRED}


def test_retiring_leaves_none_in_force(log):
    approve(log, "a", **SAID)
    retire(log, "a", **SAID)
    retire(log, "draft", **SAID)
    assert states(log) == {"a": RETIRED, "draft": RETIRED}
    assert approved(log, "tile") is None


def test_reports_say_who_changed_the_state_when_and_why(log):
    assert approval(log, "a") == DRAFT
    changes = (approve, "Ana", "new lamp"), (retire, "Ben", "worn mask"), (approve, "Eve", "cleaned")
    for change, user, reason in changes:
        entry = change(log, "a", product="tile", reason=reason, user=user)
        state = {approve: APPROVED, retire: RETIRED}[change]
        assert approval(log, "a") == f"{state} by {user} on {entry.time[:10]}: {reason}"


def test_what_makes_no_sense_is_refused(log):
    approve(log, "a", **SAID)
    for change, digest, message in (
        (approve, "a", SAID),
        (approve, "b", SAID | {"reason": "  "}),
        (retire, "a", SAID | {"reason": ""}),
    ):
        with pytest.raises(ValueError, match=r"this version is already approved|a reason is required;"):
            change(log, digest, **message)
    retire(log, "a", **SAID)
    with pytest.raises(ValueError, match="this version is already retired"):
        retire(log, "a", **SAID)


def test_two_who_approve_at_once_leave_one_version(url):
    logs = [AuditLog.open(url) for _ in range(4)]
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda log, digest: approve(log, digest, **SAID), logs, "abcd"))
    assert sorted(states(logs[0]).values()) == [APPROVED, RETIRED, RETIRED, RETIRED]
    assert logs[0].verify() == []
    for log in logs:
        log.close()


@given(st.lists(st.tuples(st.sampled_from(["approve", "retire"]), st.sampled_from("abc"), st.sampled_from(["x", "y"]))))
@settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_never_two_in_force(tmp_path_factory, steps):
    with AuditLog.open(f"sqlite:///{tmp_path_factory.mktemp('log') / 'loupe.sqlite'}") as log:
        for what, digest, product in steps:
            try:
                (approve if what == "approve" else retire)(
                    log, product + digest, product=product, reason="r", user="Ana"
                )
            except ValueError:
                continue
            if what == "approve":
                assert approved(log, product) == product + digest
        for product in "xy":
            in_force = [digest for digest, state in states(log).items() if state == APPROVED and digest[0] == product]
            assert len(in_force) == (approved(log, product) is not None)


def inspected(log, score, *, verdict=None, kind="", reason="", **others):
    facts = {"name": "ü.png", "digest": "d" * 64, "score": score, "review": 3.0, "reject": 4.0, "area": 12}
    facts |= {"verdict": verdict or Limits(3.0, 4.0).decide(score)[0], "reason": reason, "defect_type": kind} | others
    return log.append(INSPECTION, facts, user="line", product="tile", recipe="r")


def test_an_override_keeps_the_original(log):
    for score in (1.0, 4.5):
        inspected(log, score)
    latest = read(log, most=10)[0]
    for verdict, reason in (("review", "unsure"), ("accept", "dust")):
        log.append_all([override(latest, verdict, reason=reason, user="Ben")])
    inspections = read(log, most=10)
    assert [(inspection.number, inspection.verdict, inspection.final_verdict) for inspection in inspections] == [
        (2, "reject", "accept"),
        (1, "accept", "accept"),
    ]
    assert inspections[0].override.facts["reason"] == "dust"
    assert counts(inspections) == {"accept": 2}
    assert [describe_entry(entry) for entry in log.entries(kind=OVERRIDE)] == [
        "ü.png (entry 2): reject → review",
        "ü.png (entry 2): reject → accept",
    ]
    with pytest.raises(ValueError, match="a reason is required;"):
        override(latest, "accept", reason=" ", user="Ben")


def test_what_a_notch_would_have_done(log):
    for score in (2.0, 2.9, 3.1, 3.9, 4.1, 9.0):
        inspected(log, score)
    inspected(log, 0.5, verdict="reject", reason="other product", decided_by="other product")
    inspected(log, None, verdict="not judged")
    counts = verdicts_at_limits(read(log, most=10))
    assert counts[0] == {"accept": 2, "review": 2, "reject": 3, "not judged": 1}
    assert counts[-1] == {"accept": 1, "review": 2, "reject": 4, "not judged": 1}
    assert counts[1] == {"accept": 3, "review": 2, "reject": 2, "not judged": 1}


def test_what_spoke_against_a_part_still_does_at_other_limits(log):
    """Sent to review as noisier than taught by the strict mode; and rejected by its score, though also partly out."""
    inspected(log, 1.0, verdict="review", reason="noisier than taught", never_accepted="strict mode")
    inspected(log, 4.1, never_accepted=Reason.PARTLY_OUT)
    strict, out = reversed(read(log, most=10))
    assert [strict.verdict_at(step) for step in (-1, 0, 20)] == ["review"] * 3
    assert [out.verdict_at(step) for step in (0, 1, 20)] == ["reject", "review", "review"]


def test_defect_types_are_counted_of_what_was_not_accepted(log):
    for score, kind in ((9.0, "dent"), (9.0, "scratch"), (3.5, "scratch"), (9.0, ""), (1.0, "")):
        inspected(log, score, kind=kind)
    inspected(log, 0.5, verdict="reject", reason="other product", decided_by="other product")
    counts = defect_types(read(log, most=10))
    expected = {"scratch": 2, "dent": 1, "no defect type": 1, "other product": 1}
    assert {kind: len(parts) for kind, parts in counts.items()} == expected
    assert next(iter(counts)) == "scratch"


def test_facts_that_lack_something_are_read(log):
    inspection = LoggedInspection.of_entry(log.append(INSPECTION, {"score": "high", "verdict": "maybe"}, user="line"))
    assert (inspection.score, inspection.verdict, inspection.name, inspection.verdict_at(1)) == (
        None,
        "not judged",
        "",
        "not judged",
    )


def test_other_limits_are_recorded_once(log):
    facts = {"product": "tile", "reason": "new lamp", "user": "Ana"}
    assert limits_changed(Limits(3, 4), Limits(3, 4), recipe="r", **facts) is None
    first = limits_changed(None, Limits(4, 4), recipe="r1", **facts)
    second = limits_changed(Limits(4, 4), Limits(3, 4.5), recipe="r2", **facts)
    log.append_all([first, second, second])
    assert [describe_entry(entry) for entry in log.entries(kind=LIMITS_CHANGED)] == [
        "first set to reject above 4",
        "reject above 4 → review above 3, reject above 4.5",
    ]


@pytest.mark.parametrize(
    ("kind", "facts", "words"),
    [
        (
            WATCH_INTERRUPTED,
            {"folder": "in", "stopped": "Monday", "reason": "update"},
            "in is not watched since Monday, as the server was stopped",
        ),
        (EXPORT, {"place": "line 2", "reason": "update"}, "place: line 2"),
        (LIMITS_CHANGED, {"old": {"review": 1.0, "reject": "?"}, "new": {}}, "unknown → unknown"),
        (CHALLENGE, {"parts": 3}, "cannot be read"),
    ],
)
def test_an_entry_is_told_without_its_reason_even_a_damaged_one(log, kind, facts, words):
    assert describe_entry(log.append(kind, facts, user="Ana", product="tile", recipe="r")) == words


def test_a_digest_is_told_by_its_first_digits(log):
    life_cycle.released(log, "ab" * 32, product="flange", recipe="d" * 64, user="Ana")
    (entry,) = log.entries()
    assert describe_entry(entry) == f"release: {'ab' * 6}"


def test_challenges_are_told_in_words(log):
    facts = {"product": "flange", "recipe": "d" * 64, "user": "Ana"}
    challenges.record(log, [{"name": "dent", "passed": False}, {"name": "plain", "passed": True}], **facts)
    challenges.override(log, reason="lamp ordered", **facts)
    challenges.record(log, [{"name": "dent", "passed": True}], **facts)
    expected = ["failed: dent", "watching allowed despite a failed challenge", "all challenge parts passed"]
    assert [describe_entry(entry) for entry in log.entries()] == expected


def test_approval_names_earlier_exports_and_records_later_ones(log):
    facts = {"product": "flange", "user": "Ana"}
    life_cycle.released(log, "e1", recipe="a", **facts)
    entry = life_cycle.approve(log, "a", reason="proved", **facts)
    assert entry.facts["releases"] == ["e1"]
    life_cycle.released(log, "e2", recipe="a", **facts)
    life_cycle.released(log, "other", recipe="b", **facts)
    assert life_cycle.releases(log, "a") == ["e1", "e2"]
    assert log.verify() == []
