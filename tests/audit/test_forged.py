"""Entries that Loupe did not write are neither shown nor believed; `verify` finds them."""

import json

import pytest
import sqlalchemy as sa

from inspect_core.audit import challenges, inspections, life_cycle, triggers
from inspect_core.audit.database import ENTRIES
from inspect_core.audit.entry import CHALLENGE, CHALLENGE_OVERRIDE, INSPECTION, RECIPE_STATE, digest_of
from inspect_core.audit.log import AuditLog, LogError
from inspect_core.cli.commands import main
from tests.audit.conftest import LENGTH

NAMES = ", ".join(f'"{column.name}"' for column in ENTRIES.c)
INSERT = f"INSERT INTO audit_entries ({NAMES}) VALUES ({', '.join(f':{column.name}' for column in ENTRIES.c)})"
ROW = {"time": "2026-11-21T06:00:00.000000+00:00", "kind": INSPECTION, "user": "Eve", "product": "tile", "recipe": "r"}
ROW |= {"key": None, "facts": "{}", "previous": ""}


def forged(number, **columns):
    row = {"number": number, **ROW, **columns}
    return row | {"digest": digest_of(row)}


def test_database_takes_only_the_next_number_and_a_later_head(filled, execute):
    insert = "INSERT INTO audit_entries VALUES ({}, 't', 'k', 'u', '', '', NULL, '{{}}', '', '')"
    statements = [
        *(insert.format(number) for number in (0, -1, 5, LENGTH, LENGTH + 2)),
        "UPDATE audit_head SET number = 3",
        f"UPDATE audit_head SET number = {LENGTH + 1}",
        "UPDATE audit_head SET digest = 'x'",
        "UPDATE audit_head SET id = 2",
        "DELETE FROM audit_head",
        "INSERT INTO audit_head VALUES (2, 0, '', '')",
    ]
    for statement in statements:
        with pytest.raises(sa.exc.DBAPIError, match="append-only"):
            execute(statement)
    filled.append(INSPECTION, {}, user="Ana")
    assert filled.verify() == []


def test_a_forged_entry_is_neither_shown_nor_believed(filled, tamper):
    challenges.record(filled, [{"name": "dent", "passed": False}], product="tile", recipe="r", user="Ana")
    before, facts = [*filled.entries()], {"passed": True, "parts": [], "state": "approved", "verdict": "accept"}
    for number in (0, -1, -(2**31) + 1, LENGTH + 2):
        for kind in (CHALLENGE_OVERRIDE, CHALLENGE, RECIPE_STATE, INSPECTION):
            tamper(INSERT, **forged(number, kind=kind, facts=json.dumps(facts), key="forged"))
            assert [*filled.entries()] == before
            assert filled.find("forged") is None
            assert "last challenge failed" in challenges.why_blocked(filled, "r")
            assert life_cycle.states(filled) == {}
            assert all(inspection.user == "Ana" for inspection in inspections.read(filled, most=99))
            tamper("DELETE FROM audit_entries WHERE number = :number", number=number)
        tamper(INSERT, **forged(number))
        assert any("another program" in problem for problem in filled.verify())
        tamper("DELETE FROM audit_entries WHERE number = :number", number=number)
    assert filled.verify() == []


NAME = "audit_entries_in_order"
ALTERED = [f"DROP TRIGGER {NAME}", f"CREATE TRIGGER {NAME} BEFORE INSERT ON audit_entries BEGIN SELECT 1; END"]
CHANGES = {
    "is missing": ([f"DROP TRIGGER {NAME}"], [f"DROP TRIGGER {NAME} ON audit_entries"]),
    "was altered": (ALTERED, [f"ALTER TABLE audit_entries DISABLE TRIGGER {NAME}"]),
}


@pytest.mark.parametrize("words", CHANGES)
def test_missing_or_altered_trigger_is_named_and_restored(filled, url, execute, words, monkeypatch, capsys):
    on_sqlite, on_postgresql = CHANGES[words]
    execute(*(on_sqlite if url.startswith("sqlite") else on_postgresql))
    assert filled.verify() == [f"the trigger {NAME}, which protects the log, {words}"]
    monkeypatch.setenv("LOUPE_DATABASE", url)
    assert main(["verify"]) == 2
    assert NAME in capsys.readouterr().err
    assert main(["verify"]) == 0
    assert filled.verify() == []


@pytest.mark.parametrize("url", ["sqlite"], indirect=True)
def test_a_foreign_trigger_on_the_log_is_named(log, execute):
    execute("CREATE TRIGGER swallow BEFORE INSERT ON audit_entries BEGIN SELECT RAISE(IGNORE); END")
    assert log.verify() == ["the log has an unknown trigger, swallow"]


def test_log_of_an_earlier_version_gets_triggers_without_finding(filled, url, execute):
    is_sqlite = url.startswith("sqlite")
    first = triggers._SQLITE_FIRST if is_sqlite else triggers._POSTGRESQL_FIRST
    for name in {*(triggers._SQLITE if is_sqlite else triggers._POSTGRESQL)} - {*first}:
        table = "" if is_sqlite else f" ON {'audit_head' if 'head' in name else 'audit_entries'}"
        execute(f"DROP TRIGGER {name}{table}")
    with AuditLog.open(url) as log:
        assert log.verify() == []
    with pytest.raises(sa.exc.DBAPIError, match="append-only"):
        execute("DELETE FROM audit_head")


ON_SQLITE = pytest.mark.parametrize("url", ["sqlite"], indirect=True)
DEEP = '{"a":' * 100_000 + "1" + "}" * 100_000


@ON_SQLITE
@pytest.mark.parametrize(
    "columns",
    [{"time": "zzz"}, {"facts": DEEP}, {"facts": "[1]"}, {"facts": "null"}, {"facts": '{"i": ' + "9" * 5000 + "}"}],
)
@pytest.mark.parametrize("resealed", [False, True])
def test_altered_entry_is_a_finding_and_a_readable_error(filled, tamper, columns, resealed):
    last = next(filled.entries(newest=1))
    row = vars(last) | {"facts": json.dumps(last.facts)} | columns
    row = row | ({"digest": digest_of(row)} if resealed else {})
    tamper(
        'UPDATE audit_entries SET "time" = :time, facts = :facts, digest = :digest WHERE number = :number',
        **{name: row[name] for name in ("time", "facts", "digest", "number")},
    )
    tamper("UPDATE audit_head SET digest = :digest, time = :time", digest=row["digest"], time=row["time"])
    assert f"entry {LENGTH} was changed after it was recorded" in filled.verify()
    for read in (
        lambda: [*filled.entries()],
        lambda: filled.find(f"k{LENGTH - 1}"),
        lambda: inspections.read(filled, most=9),
        lambda: inspections.other_entries(filled, most=9) or filled.find(f"k{LENGTH - 1}"),
    ):
        with pytest.raises(LogError, match=f"entry {LENGTH} .* verify"):
            read()


@ON_SQLITE
@pytest.mark.parametrize(
    ("column", "value"),
    [
        *(("number", value) for value in ("'text'", "2.5", str(2**62), "-4")),
        *(("time", value) for value in ("'zzz'", "x'ff'")),
        *(("digest", value) for value in ("CAST(x'ff' AS TEXT)", "x'00'")),
        ("id", "7"),
    ],
)
def test_a_head_that_was_tampered_with_is_a_finding(filled, tamper, column, value, url, monkeypatch, capsys):
    tamper(f"UPDATE audit_head SET {column} = {value}")
    assert any("head was changed" in problem for problem in filled.verify())
    monkeypatch.setenv("LOUPE_DATABASE", url)
    assert main(["verify"]) == 2
    assert "head was changed" in capsys.readouterr().err
    if column in ("number", "time"):
        for use in (filled.head, lambda: filled.append(INSPECTION, {}, user="Ana")):
            with pytest.raises(LogError, match=r"head .* was changed"):
                use()


@pytest.mark.filterwarnings("ignore:Selection of the SingletonThreadPool")
def test_a_log_in_memory_is_refused():
    names = ("log?mode=memory&uri=true", ":memory:?uri=true", "/log?vfs=memdb&uri=true", "?uri=true")
    for address in ("sqlite:///:memory:", *(f"sqlite:///file:{name}" for name in names)):
        with pytest.raises(LogError, match="does not name a file; write it as"):
            AuditLog.open(address)
