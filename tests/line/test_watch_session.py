"""A watch that goes on: what it counts, what stands in its way, and a pause that leaves the rest where it lies."""

import pytest

from inspect_core.audit.changes import describe_entry
from inspect_core.audit.entry import WATCH
from inspect_core.line.drift_watch import DriftMonitor
from inspect_core.line.watch import Watch, watching
from inspect_core.line.watch_session import MAX_RECENT_PHOTOS, WatchSession, recorded_watch


@pytest.fixture
def shift(inspector, logged, tmp_path):
    (tmp_path / "in").mkdir()
    with watching(tmp_path / "in", tmp_path / "out"):
        pass
    record = logged(inspector())
    watch = Watch(inspector(), tmp_path / "in", tmp_path / "out", record, settle_seconds=0.0, give_up_seconds=0.0)
    return WatchSession(watch, DriftMonitor(record))


def test_it_counts_and_keeps_the_last_that_were_stopped(shift, photo, tmp_path):
    for number in range(MAX_RECENT_PHOTOS + 2):
        photo(tmp_path / "in" / f"{number:02d}.png", 250)
    photo(tmp_path / "in" / "good.png", 10)
    shift.poll_folder()
    assert shift.counts == {"reject": MAX_RECENT_PHOTOS + 2, "accept": 1}
    assert shift.last_photo.name == "good.png"
    assert [row.name for row in shift.not_accepted] == [
        f"{number:02d}.png" for number in range(MAX_RECENT_PHOTOS + 1, 1, -1)
    ]


def test_paused_session_claims_no_photo(shift, photo, inspections, tmp_path):
    for number in range(3):
        photo(tmp_path / "in" / f"{number}.png", 10)
    shift.on_photo = lambda facts, left: setattr(shift, "paused", True)
    shift.poll_folder()
    shift.poll_folder()
    assert shift.counts.total() == len(inspections()) == 1
    assert sorted(path.name for path in (tmp_path / "in").iterdir()) == ["1.png", "2.png"]
    shift.paused, shift.on_photo = False, lambda facts, left: None
    shift.poll_folder()
    assert shift.counts.total() == len(inspections()) == 3


def test_what_is_in_its_way_is_said_until_it_is_gone(shift, photo, tmp_path):
    photo(tmp_path / "in" / "a.png", 10)
    (tmp_path / "out").rename(tmp_path / "away")
    shift.poll_folder()
    assert "is missing; restore it and watching continues" in shift.problem
    (tmp_path / "away").rename(tmp_path / "out")
    shift.poll_folder()
    assert (shift.problem, shift.counts["accept"]) == ("", 1)


@pytest.mark.parametrize(("resumed", "begins"), [(False, "started"), (True, "resumed")])
def test_the_log_says_when_a_watch_began_and_ended(shift, resumed, begins):
    """Also where an error ends it."""
    record = shift.following.record
    with pytest.raises(OSError, match="full"), recorded_watch(shift.watch, record, resumed=resumed):
        raise OSError("the disk is full")
    entries = [*record.log.entries(kind=WATCH)]
    assert [entry.facts["event"] for entry in entries] == [begins, "stopped"]
    assert describe_entry(entries[0]) == f"{begins}: {shift.watch.folder} → {shift.watch.out}"
    assert {(entry.user, entry.recipe) for entry in entries} == {(record.user, record.inspector.digest)}
