"""What someone changes behind the log's back is found, and said in words."""

import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from inspect_core.audit import database
from inspect_core.audit.entry import INSPECTION, OVERRIDE, NewLogEntry, digest_of
from inspect_core.audit.log import AuditLog
from inspect_core.cli.commands import main
from tests.audit.conftest import LENGTH

ROOT = Path(__file__).parents[2]
SET = 'UPDATE audit_entries SET "{}" = :value WHERE number = :number'


@pytest.mark.parametrize("missing", [{1}, {3}, {2, 3}, {LENGTH}, {LENGTH - 1, LENGTH}, set(range(1, LENGTH + 1))])
def test_rows_that_are_gone_are_found(filled, tamper, missing):
    for number in missing:
        tamper("DELETE FROM audit_entries WHERE number = :number", number=number)
    assert filled.verify() != []
    assert filled.append(INSPECTION, {}, user="Ben").number == LENGTH + 1
    assert filled.verify() != [], "an entry more must not heal it"


@pytest.mark.parametrize(("missing", "words"), [({3}, "entry 3 is missing"), ({2, 3, 4}, "entries 2 to 4 are missing")])
def test_a_gap_is_named_by_its_entries(filled, tamper, missing, words):
    for number in missing:
        tamper("DELETE FROM audit_entries WHERE number = :number", number=number)
    assert words in filled.verify()


def test_exchanged_rows_are_found(filled, tamper):
    for number, other in ((2, 99), (5, 2), (99, 5)):
        tamper("UPDATE audit_entries SET number = :other WHERE number = :number", number=number, other=other)
    assert any("changed" in problem for problem in filled.verify())


def test_a_row_put_in_is_found(filled, tamper):
    last = vars(next(filled.entries(newest=1)))
    forged = last | {"number": LENGTH + 1, "previous": last["digest"], "key": None, "facts": "{}"}
    forged["digest"] = digest_of(forged)
    names = ", ".join(f'"{name}"' for name in forged)
    tamper(f"INSERT INTO audit_entries ({names}) VALUES ({', '.join(f':{name}' for name in forged)})", **forged)
    assert filled.verify() == [f"entry {LENGTH + 1} was appended by another program"]
    with pytest.raises(OSError, match="verify"):
        filled.append(INSPECTION, {}, user="Ana")


def test_an_end_cut_off_with_its_head_is_found_by_a_noted_digest(filled, tamper):
    noted = filled.append(OVERRIDE, {}, user="Ana").digest
    assert filled.verify(noted) == []
    tamper("DELETE FROM audit_entries WHERE number = :number", number=LENGTH + 1)
    last = [*filled.entries()][LENGTH - 1]
    head = {"number": LENGTH, "time": last.time, "digest": last.digest}
    tamper("UPDATE audit_head SET number = :number, time = :time, digest = :digest", **head)
    assert filled.verify() == []
    assert any(noted in problem for problem in filled.verify(noted))


def test_a_row_that_cannot_be_read_is_named(filled, tamper):
    tamper(SET.format("facts"), value="no JSON", number=3)
    assert filled.verify() == ["entry 3 was changed after it was recorded"]
    with pytest.raises(OSError, match="entry 3"):
        [*filled.entries()]


def test_the_verb_says_what_it_found(filled, tamper, url, monkeypatch, capsys):
    monkeypatch.setenv("LOUPE_DATABASE", url)
    assert main(["verify"]) == 0
    output = capsys.readouterr().out
    assert filled.head()[1] in output
    assert f"{LENGTH} entries" in output
    tamper(SET.format("user"), value="Eve", number=2)
    assert main(["verify"]) == 2
    assert "entry 2 was changed" in capsys.readouterr().err
    assert main(["verify", "--noted", "0" * 64]) == 2


def test_a_head_that_was_removed_is_named(filled, tamper):
    tamper("DELETE FROM audit_head")
    for use in (filled.verify, lambda: filled.append(INSPECTION, {}, user="Ana")):
        with pytest.raises(OSError, match="head was removed"):
            use()


@pytest.mark.usefixtures("unhurried")
@pytest.mark.slow
def test_the_verb_needs_no_torch(tmp_path):
    code = "import sys; sys.modules['torch'] = None\n"
    code += "from inspect_core.cli.commands import main; sys.exit(main(['verify']))"
    environment = os.environ | {"LOUPE_DATABASE": f"sqlite:///{tmp_path / 'loupe.sqlite'}"}
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=environment, check=True, stdout=subprocess.PIPE)
    assert b"The log is intact." in done.stdout


def damaged(path, url):
    path.write_bytes(b"no database at all" * 100)
    return url


def torn(path, url):
    with AuditLog.open(url) as log:
        log.append_all([NewLogEntry(INSPECTION, {"i": i}, "Ana") for i in range(2000)])
    content = path.read_bytes()
    path.write_bytes(content[:8192] + bytes(len(content) - 8192))
    return url


def another(path, url):
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE audit_head (id INTEGER)")
    return url


def read_only(path, url):
    AuditLog.open(url).close()
    return f"sqlite:///file:{path}?mode=ro&uri=true"


def locked(path, url):
    AuditLog.open(url).close()
    test_errors.holder = sqlite3.connect(path)
    test_errors.holder.execute("BEGIN EXCLUSIVE")
    return url


def full(path, url):
    AuditLog.open(url).close()
    return url


def folder(path, url):
    path.mkdir()
    return url


CASES = {
    damaged: "not a database|encrypted",
    torn: "malformed|backup",
    another: "tables",
    read_only: "writable",
    locked: "close that program",
    full: "disk space",
    folder: "not a file",
}


@pytest.mark.parametrize("case", CASES)
def test_errors(case, tmp_path, monkeypatch):
    path = tmp_path / "audit log.sqlite"
    url = case(path, f"sqlite:///{path}")
    monkeypatch.setattr("inspect_core.audit.database.WAIT_SECONDS", 0.2)
    if case is full:
        set_up = database._set_up_sqlite

        def small(connection, record):
            set_up(connection, record)
            connection.execute("PRAGMA max_page_count = 12")

        monkeypatch.setattr(database, "_set_up_sqlite", small)
    with pytest.raises(OSError, match=CASES[case]) as error, AuditLog.open(url) as log:
        log.append_all([NewLogEntry(INSPECTION, {"i": i}, "Ana") for i in range(2000)])
    assert "audit log.sqlite" in str(error.value)
    assert ";" in str(error.value)


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("nonsense", "not the address"),
        ("postgresql://Ana:geheim@host:port/log", "not the address"),
        ("sqlite://", "LOUPE_DATABASE does not name a file;"),
        ("postgresql://Ana:geheim@127.0.0.1:1/log", "reachable database"),
        ("oracle://Ana:geheim@127.0.0.1:1/log", "driver"),
        ("nobody://Ana:geheim@127.0.0.1:1/log", "driver"),
        ("sqlite:////nowhere/at/all/loupe.sqlite", "folder"),
    ],
)
def test_a_wrong_address_is_said_without_its_password(url, words, monkeypatch, capsys):
    monkeypatch.setenv("LOUPE_DATABASE", url)
    assert main(["verify"]) == 2
    output = capsys.readouterr().err
    assert words in output
    assert "geheim" not in output
    assert output.count("\n") == 1
