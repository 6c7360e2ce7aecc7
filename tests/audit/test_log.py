import math
import os
import random
import signal
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import sqlalchemy as sa
from hypothesis import given, settings
from hypothesis import strategies as st

from inspect_core.audit import log as log_module
from inspect_core.audit.entry import CLOCK_SET_BACK, INSPECTION, OVERRIDE, NewLogEntry
from inspect_core.audit.log import AuditLog, LogError
from tests.examples import examples

ROOT = Path(__file__).parents[2]
LOADED = "from inspect_core.audit.log import AuditLog\nimport sys\nlog = AuditLog.open(sys.argv[1])\n"
FACTS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)


def test_entries_come_back_as_they_were_appended(log):
    first = log.append(INSPECTION, {"score": 1.5, "name": "ü.png"}, user="Ana", product="tile", recipe="r1", key="a")
    second = log.append(OVERRIDE, {}, user="Ben")
    assert [*log.entries()] == [first, second]
    assert (first.number, second.number, second.previous) == (1, 2, first.digest)
    assert log.find("a") == first
    assert log.find("b") is None
    assert log.head() == (2, second.digest)
    assert log.verify() == []


def test_a_key_is_recorded_once(log):
    first = log.append(INSPECTION, {"score": 1.0}, user="Ana", key="part")
    assert log.append(INSPECTION, {"score": 2.0}, user="Ben", key="part") == first
    entries = [NewLogEntry(INSPECTION, {}, "Ana", key=key) for key in ("part", "new", "new", None, None)]
    assert [entry.number for entry in log.append_all(entries)] == [1, 2, 2, 3, 4]
    assert len([*log.entries()]) == 4
    assert log.verify() == []


def test_all_or_none(log):
    with pytest.raises(ValueError, match="finite"):
        log.append_all([NewLogEntry(INSPECTION, {}, "Ana"), NewLogEntry(INSPECTION, {"score": math.nan}, "Ana")])
    assert [*log.entries()] == []
    assert log.append_all([]) == []


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"kind": "gossip"}, "gossip"),
        ({"user": " "}, "user"),
        ({"facts": {"x": math.inf}}, "finite"),
        ({"facts": {"x": b"bytes"}}, "JSON"),
        ({"key": ""}, "key"),
        ({"key": "k" * 256}, "key"),
    ],
)
def test_what_cannot_be_recorded_is_refused_by_name(wrong, words):
    with pytest.raises(ValueError, match=words):
        NewLogEntry(**({"kind": INSPECTION, "facts": {}, "user": "Ana"} | wrong)).stored()


def test_any_text_and_any_json_is_kept(log):
    @settings(max_examples=examples(40), deadline=None)
    @given(FACTS, st.text(st.characters(), min_size=1, max_size=40))
    def holds(facts, text):
        entry = log.append(INSPECTION, {"x": facts, text: text}, user="u" + text, product=text, recipe=text)
        assert entry.facts == {"x": facts, text: text}
        assert [*log.entries(recipe=text, newest=1)] == [entry]

    holds()
    assert log.verify() == []


def test_entries_are_chosen_by_kind_recipe_and_time(log, monkeypatch):
    start = datetime(2026, 11, 21, 6, tzinfo=UTC)
    for hour in range(6):
        monkeypatch.setattr(log_module, "_now", lambda hour=hour: start + timedelta(hours=hour))
        kind = INSPECTION if hour % 2 else OVERRIDE
        log.append(kind, {"hour": hour}, user="Ana", product="tile", recipe=f"r{hour // 3}")

    def hours(**expected):
        return [entry.facts["hour"] for entry in log.entries(**expected)]

    assert hours(kind=INSPECTION) == [1, 3, 5]
    assert hours(recipe="r1") == [3, 4, 5]
    assert hours(since=start + timedelta(hours=2), until=start + timedelta(hours=4)) == [2, 3]
    assert hours(newest=2) == [5, 4]
    assert hours(newest=0) == []
    assert hours(kind=INSPECTION, newest=9) == [5, 3, 1]


def test_batches_join_without_a_gap(log, monkeypatch):
    monkeypatch.setattr(log_module, "BATCH", 3)
    log.append_all([NewLogEntry(INSPECTION, {}, "Ana") for _ in range(9)])
    assert [entry.number for entry in log.entries()] == [*range(1, 10)]
    assert [entry.number for entry in log.entries(newest=7)] == [*range(9, 2, -1)]
    assert log.verify() == []


def test_a_clock_set_back_is_named(log, monkeypatch):
    now = datetime.now(UTC)
    log.append(INSPECTION, {}, user="Ana")
    monkeypatch.setattr(log_module, "_now", lambda: now - timedelta(hours=1))
    entry = log.append(INSPECTION, {}, user="Ben")
    warnings = [*log.entries(kind=CLOCK_SET_BACK)]
    assert [other.number for other in warnings] == [2]
    assert warnings[0].facts["last entry"] > warnings[0].facts["clock"] == entry.time
    assert log.append(INSPECTION, {}, user="Ben").number == 4
    assert log.verify() == []


def test_clocks_of_two_machines_may_differ_a_little(log, monkeypatch):
    first = log.append(INSPECTION, {}, user="Ana")
    monkeypatch.setattr(log_module, "_now", lambda: datetime.fromisoformat(first.time) - timedelta(seconds=1))
    second = log.append(INSPECTION, {}, user="Ben")
    assert (second.number, second.time) == (2, first.time)
    assert log.verify() == []


def test_the_database_refuses_changes(log, url):
    log.append_all([NewLogEntry(INSPECTION, {}, "Ana", key=key) for key in "abc"])
    statements = [
        "UPDATE audit_entries SET \"user\" = 'Eve' WHERE number = 2",
        "DELETE FROM audit_entries WHERE number = 3",
    ]
    if url.startswith("sqlite"):
        statements += ["INSERT OR REPLACE INTO audit_entries SELECT * FROM audit_entries WHERE number = 1"]
    else:
        statements += ["TRUNCATE audit_entries"]
    engine = sa.create_engine(url)
    for statement in statements:
        with pytest.raises(sa.exc.DBAPIError, match="append-only"), engine.begin() as connection:
            connection.exec_driver_sql(statement)
    engine.dispose()
    assert [entry.user for entry in log.entries()] == ["Ana"] * 3
    assert log.verify() == []


def test_a_file_that_was_moved_away_is_not_written_any_more(tmp_path):
    path = tmp_path / "loupe.sqlite"
    with AuditLog.open(f"sqlite:///{path}") as log:
        log.append(INSPECTION, {}, user="Ana")
        path.rename(tmp_path / "elsewhere.sqlite")
        with pytest.raises(LogError, match="tables are missing"):
            log.append(INSPECTION, {}, user="Ana")


@pytest.mark.parametrize("name", ["a ? b", "50% #1", "ü@host:x", "?uri=true&mode=memory"])
def test_it_lies_in_the_workspace_whatever_that_is_called(name, tmp_path, monkeypatch):
    monkeypatch.setenv("LOUPE_WORKSPACE", str(tmp_path / name))
    for _ in range(2):
        with AuditLog.open() as log:
            log.append(INSPECTION, {}, user="Ana")
    assert (tmp_path / name / "loupe.sqlite").is_file()
    assert log.head()[0] == 2


def appending(url: str, begin: int, end: int) -> subprocess.Popen:
    """A process that appends a keyed entry for each number, and prints the number once it is recorded."""
    code = f"{LOADED}for i in range({begin}, {end}):\n"
    code += "    log.append('inspection', {'i': i}, user='line', key=f'part-{i}')\n    print(i, flush=True)"
    return subprocess.Popen([sys.executable, "-c", code, url], cwd=ROOT, stdout=subprocess.PIPE, text=True)


@pytest.mark.usefixtures("unhurried")
@pytest.mark.slow
def test_two_processes_write_one_chain(url):
    """Both find no log and make it; half of their keys are the same."""
    writers = [appending(url, 0, 60), appending(url, 30, 90)]
    assert [writer.communicate(timeout=60) and writer.returncode for writer in writers] == [0, 0]
    with AuditLog.open(url) as log:
        assert log.verify() == []
        assert sorted(entry.facts["i"] for entry in log.entries()) == [*range(90)]


@pytest.mark.usefixtures("unhurried")
@pytest.mark.slow
def test_killed_at_any_moment_nothing_is_lost_or_doubled(url):
    chance, reported = random.Random(5), set()
    for _ in range(4):
        writer = appending(url, 0, 10**6)
        reported.add(int(writer.stdout.readline()))
        time.sleep(chance.uniform(0, 0.05))
        os.kill(writer.pid, signal.SIGKILL)
        reported |= set(map(int, writer.communicate(timeout=60)[0].split()))
    with AuditLog.open(url) as log:
        assert log.verify() == []
        stored = [entry.facts["i"] for entry in log.entries()]
        assert len(stored) == len(set(stored))
        assert reported <= set(stored)
        assert log.append(INSPECTION, {}, user="Ana").number == len(stored) + 1
