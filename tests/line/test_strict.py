import os
from dataclasses import replace

import pytest

from inspect_core.inspection import Inspection
from inspect_core.line.batch import Outputs, run
from inspect_core.line.watch import FOLDERS, Watch, watching
from inspect_core.runtime.progress import Cancelled

WORDS = "noisier than taught"
MODIFIED = 1_700_000_000


@pytest.fixture
def noisy(inspector):
    """An inspector by brightness to whom every photo is noisier than taught."""

    class Noisy(inspector):
        def inspect(self, image):
            return replace(super().inspect(image), photo_deviation=WORDS)

    return Noisy()


@pytest.fixture
def three(photo, tmp_path):
    """(name, path) of a photo that is accepted, one for review, and one that is rejected."""
    return [(f"{level}.png", photo(tmp_path / "photos" / f"{level}.png", level)) for level in (50, 150, 250)]


def test_a_photo_that_differs_is_told_and_only_strictly_reviewed(three, noisy):
    rows, strict = run(noisy, three, Outputs()), run(noisy, three, Outputs(), strict=True)
    assert [(row.verdict, row.photo_deviation, row.reason) for row in rows] == [
        (word, WORDS, "") for word in ("accept", "review", "reject")
    ]
    assert [(row.verdict, row.reason) for row in strict] == [("review", WORDS), ("review", ""), ("reject", "")]


def test_no_verdict_becomes_better():
    row = Inspection(
        name="a.png", photo_deviation=WORDS, review=1.0, reject=2.0, area=1, recipe="d" * 64, reason="its own"
    )
    for verdict in ("review", "reject", "not located", "not judged"):
        assert replace(row, verdict=verdict).in_strict_mode() == replace(row, verdict=verdict)
    alike = replace(row, verdict="accept", photo_deviation="")
    assert alike.in_strict_mode() == alike
    assert not row.is_strict_review


def test_a_trial_is_recorded_as_no_production(three, noisy, logged, inspections):
    run(noisy, three[:1], Outputs(), record=logged(noisy))
    run(noisy, three[:1], Outputs(), record=logged(noisy), trial=True)
    assert [facts.get("trial") for facts in inspections()] == [None, True]


@pytest.mark.parametrize("with_log", [True, False])
@pytest.mark.parametrize("first", [True, False])
def test_a_stopped_batch_goes_on_as_strictly_as_it_is_asked_to(
    three, noisy, logged, inspections, tmp_path, with_log, first
):
    def stop(row):
        raise Cancelled

    record, outputs, reports = logged(noisy) if with_log else None, Outputs(table=tmp_path / "v.csv"), []
    words = ["accept", "review"] if first else ["review", "accept"]
    for strict in (first, not first):
        with pytest.raises(Cancelled):
            run(noisy, three, outputs, record=record, on_row=stop, strict=not strict)
    rows = run(noisy, three, outputs, record=record, on_row=reports.append, strict=first)
    assert [row.verdict for row in rows] == [words[1], "review", "reject"]
    if with_log:
        assert {facts["verdict"] for facts in inspections() if facts["name"] == "50.png"} == {"accept", "review"}
        assert [facts["name"] for facts in inspections()].count("50.png") == 2, "each verdict is recorded once"


def test_a_strict_watch_puts_it_with_those_to_review(photo, noisy, logged, inspections, tmp_path):
    (tmp_path / "in").mkdir()
    with watching(tmp_path / "in", tmp_path / "out"):
        pass
    for strict, word in ((False, "accept"), (True, "review")):
        arrived = photo(tmp_path / "in" / "a.png", 50)
        os.utime(arrived, (MODIFIED, MODIFIED))
        watch = Watch(
            noisy,
            tmp_path / "in",
            tmp_path / "out",
            logged(noisy),
            settle_seconds=0.0,
            give_up_seconds=0.0,
            strict=strict,
        )
        watch.poll()
        watch.poll()
        assert [path.name for path in (tmp_path / "out" / FOLDERS[word]).rglob("*.png")] == ["a.png"]
        assert inspections()[-1]["verdict"] == word
