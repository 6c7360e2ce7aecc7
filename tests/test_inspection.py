"""An inspection comes back from the log as it was, and a damaged entry is read as far as it says something."""

from dataclasses import fields, replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inspect_core.inspection import COLUMNS, LOGGED, Inspection
from inspect_core.verdict import ALL_VERDICTS, NOT_JUDGED, Limits, Reason
from tests.examples import examples

ROW = Inspection(name="a.png", review=1.0, reject=2.0, area=4, recipe="r")
NUMBERS = st.floats(allow_nan=False, allow_infinity=False) | st.none()


def test_every_field_is_in_the_table_or_in_the_log() -> None:
    assert {*COLUMNS, *LOGGED} == {field.name for field in fields(Inspection)}
    assert set(LOGGED) - set(COLUMNS) == {"path", "source", "trial"}


@given(
    st.floats(-1e9, 1e9),
    st.sampled_from([None, Reason.PARTLY_OUT, Reason.EMPTY, Reason.SHADED, Reason.STRICT_MODE]),
    st.booleans(),
    st.text(),
    st.fixed_dictionaries(dict.fromkeys(("noise", "angle", "region_x"), NUMBERS)),
)
@settings(max_examples=examples(200))
def test_what_the_log_has_comes_back(score, against, stopped, text, measured) -> None:
    word, decided_by = Limits(1.0, 2.0).decide(score, stopped=stopped, never_accepted=against)
    known = {"score": score, "verdict": word, "decided_by": decided_by, "never_accepted": against}
    row = replace(ROW, **known, reason=text, path=text, source="batch", trial=stopped, **measured)
    assert Inspection.from_facts(row.facts(), recipe="r") == row
    assert row.decide_at(1.0, 2.0) == (word, decided_by)
    assert row.is_recorded(Inspection.from_facts(row.facts(), recipe="another"))
    assert not row.is_recorded(replace(row, score=score + 1e9))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(), inner, max_size=2),
)


@given(st.dictionaries(st.sampled_from(LOGGED), JSON))
@settings(max_examples=examples(300))
def test_any_facts_are_read(facts) -> None:
    row = Inspection.from_facts(facts, recipe="r")
    assert row.verdict == (facts["verdict"] if facts.get("verdict") in ALL_VERDICTS else NOT_JUDGED)
    assert bool(row.never_accepted) == bool(facts.get("never_accepted")), (
        "words that are unknown still speak against it"
    )


@pytest.mark.parametrize("change", [{"verdict": "fine"}, {"decided_by": "luck"}, {"never_accepted": "luck"}])
def test_what_there_is_none_of_is_refused(change) -> None:
    with pytest.raises(ValueError, match=r"luck|fine"):
        replace(ROW, **change)
