"""The audit log: who did what to which product and recipe, and Loupe's verdicts; entries are only ever added.

Every entry holds the digest of the one before, so `verify` finds an entry that was changed, removed, exchanged or
inserted later. The head, a row beside the log, shows when entries were cut off at the end. The log alone cannot prove
everything: someone with full rights to the database may write a whole new chain, or cut the end off and set the head
back. A digest noted elsewhere, on paper or in another system, shows that too: pass it to `verify`.
"""

from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa

from inspect_core.audit.database import ENTRIES, HEAD, Database, LogError
from inspect_core.audit.entry import CLOCK_SET_BACK, LogEntry, NewLogEntry, digest_of, storable
from inspect_core.runtime.json_text import from_json

Row = dict[str, Any]
BATCH = 1000
_LAST = sa.select(sa.func.max(HEAD.c.number)).scalar_subquery()
_COUNTED = ENTRIES.c.number.between(1, _LAST)
"""Entries 1, 2, 3 … up to the head: Loupe wrote no others, so they are neither shown nor believed."""
_COUNT = sa.select(sa.func.count().label("count"), sa.func.min(ENTRIES.c.number).label("lowest")).where(
    sa.not_(sa.func.coalesce(ENTRIES.c.number > _LAST, sa.false()))
)
TOLERATED_SECONDS = 2
"""Seconds by which the clocks of two machines that write one log may differ; an entry then has the time of the one
before.
"""


class AuditLog:
    """An open log. Several processes and threads may use one database; every method raises LogError when it fails."""

    def __init__(self, database: Database) -> None:
        self._database = database

    @classmethod
    def open(cls, url: str | None = None) -> "AuditLog":
        """Open the log at a SQLAlchemy URL; None for LOUPE_DATABASE, else SQLite at `loupe.sqlite` in the workspace.

        The file, the tables and the triggers are created if missing.
        """
        return cls(Database(url))

    @property
    def name(self) -> str:
        """The file of SQLite, or the address of the server, without a password."""
        return self._database.name

    def close(self) -> None:
        self._database.close()

    def __enter__(self) -> "AuditLog":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def append(
        self, kind: str, facts: Mapping, *, user: str, product: str = "", recipe: str = "", key: str | None = None
    ) -> LogEntry:
        """Record one entry, in a transaction of its own, and return it; if `key` exists already, the first entry.

        It is on the disk when this returns. Raises ValueError as `NewLogEntry.stored` does.
        """
        return self.append_all([NewLogEntry(kind, facts, user, product, recipe, key)])[0]

    def append_all(self, new: Iterable[NewLogEntry]) -> list[LogEntry]:
        """Record all of them or, on an error, none; otherwise as `append`. Entries in the order given."""
        columns_to_insert = [entry.stored() for entry in new]
        if not columns_to_insert:
            return []
        with self._database.writing() as connection:
            head = _head(connection, sa.select(HEAD).with_for_update())
            known = _rows_by_key(connection, [columns["key"] for columns in columns_to_insert])
            rows, recorded = [], []
            for columns in columns_to_insert:
                row = known.get(columns["key"])
                if row is None:
                    rows += _chained(columns, rows[-1] if rows else head)
                    row = rows[-1]
                    known |= {} if row["key"] is None else {row["key"]: row}
                recorded.append(row)
            if rows:
                connection.execute(ENTRIES.insert(), rows)
                head = {name: rows[-1][name] for name in ("number", "time", "digest")}
                connection.execute(HEAD.update().values(head))
        return [_entry(row) for row in recorded]

    def find(self, key: str) -> LogEntry | None:
        """The entry recorded under this key."""
        with self._database.reading() as connection:
            existing_rows = _rows_by_key(connection, [storable(key)])
        return next(map(_entry, existing_rows.values()), None)

    def head(self) -> tuple[int, str]:
        """Number and digest of the last entry; (0, "") for an empty log."""
        with self._database.reading() as connection:
            head = _head(connection, sa.select(HEAD))
        return head["number"], head["digest"]

    def entries(
        self,
        *,
        kind: str | None = None,
        recipe: str | None = None,
        newest: int | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        after: int | None = None,
    ) -> Iterator[LogEntry]:
        """Yield entries of this kind and recipe from `since` on and before `until`, read in batches.

        In the order of the log; with `newest`, at most that many, the last one first; after: the number of the entry
        before the first. Times need a time zone.
        """
        number = ENTRIES.c.number
        remaining = newest
        query = sa.select(ENTRIES).where(_COUNTED).order_by(number if newest is None else number.desc())
        query = query if kind is None else query.where(ENTRIES.c.kind == kind)
        query = query if recipe is None else query.where(ENTRIES.c.recipe == storable(recipe))
        query = query if since is None else query.where(ENTRIES.c.time >= _in_utc(since))
        query = query if until is None else query.where(ENTRIES.c.time < _in_utc(until))
        query = query if after is None else query.where(number > after)
        while remaining is None or remaining > 0:
            rows = self._rows(query.limit(BATCH if remaining is None else min(BATCH, remaining)))
            yield from map(_entry, rows)
            if len(rows) < BATCH:
                return
            last = rows[-1]["number"]
            query = query.where(number > last) if newest is None else query.where(number < last)
            remaining = None if remaining is None else remaining - len(rows)

    def verify(self, noted: str | None = None) -> list[str]:
        """The problems of the log in plain words, one each; empty when it is sound.

        noted: a digest that was noted elsewhere, which must still be in the log. Writers need not stop meanwhile.
        """
        heads = self._rows(sa.select(HEAD))
        number = ENTRIES.c.number
        if not heads:
            self.head()
        head = heads[0]
        last = {"id": 1, "number": 0, "time": "", "digest": ""}
        after = 0
        problems = self._database.unprotected()
        problems += [f"the log has {len(heads)} heads, of which Loupe wrote one"] if len(heads) > 1 else []
        ((count, lowest),) = map(dict.values, self._rows(_COUNT))
        if lowest is not None and not _positive(lowest):
            problems.append(f"entries numbered below 1 were inserted by another program; the lowest is {lowest}")
        elif count != head["number"]:
            problems.append(f"the log holds {count} entries, not {head['number']!s:.20} as its head says")
        met = head == last
        while rows := self._rows(sa.select(ENTRIES).where(number > after).order_by(number).limit(BATCH)):
            for row in rows:
                problems += _broken(last, row)
                noted = None if row["digest"] == noted else noted
                last = {name: row.get(name, 1) for name in last}
                met = met or head == last
            after = last["number"]
        if not met:
            missing_end = (
                f"the log ended with entry {head['number']!s:.20}, digest {head['digest']!s:.64}, which is missing"
            )
            reason = "entries were removed from the end, or the last one or the head was changed"
            problems.append(f"{missing_end}: {reason}")
        elif all(after > now["number"] for now in self._rows(sa.select(HEAD))):
            problems.append(f"entry {after} was appended by another program")
        if noted:
            problems.append(f"the noted digest {noted} is not in the log: the log was truncated or rewritten")
        return problems

    def _rows(self, query: sa.Select) -> list[Row]:
        with self._database.reading() as connection:
            return [dict(row) for row in connection.execute(query).mappings()]


def _rows_by_key(connection: sa.Connection, keys: list[str | None]) -> dict[str | None, Row]:
    existing_rows: dict[str | None, Row] = {}
    present_keys = [key for key in keys if key is not None]
    for start in range(0, len(present_keys), BATCH):
        query = sa.select(ENTRIES).where(_COUNTED, ENTRIES.c.key.in_(present_keys[start : start + BATCH]))
        existing_rows |= {row["key"]: dict(row) for row in connection.execute(query).mappings()}
    return existing_rows


def _chained(columns: Row, last: Mapping) -> list[Row]:
    """The row of an entry after `last`; if the clock was set back, preceded by one that says so."""
    now = _now()
    new_rows = [columns]
    time = _in_utc(now)
    if time < last["time"]:
        if (datetime.fromisoformat(last["time"]) - now).total_seconds() <= TOLERATED_SECONDS:
            time = last["time"]
        else:
            facts = {"last entry": last["time"], "clock": time}
            new_rows = [NewLogEntry(CLOCK_SET_BACK, facts, columns["user"]).stored(), columns]
    rows: list[Row] = []
    for number, values in enumerate(new_rows, last["number"] + 1):
        previous = rows[-1]["digest"] if rows else last["digest"]
        row = {"number": number, "time": time, **values, "previous": previous}
        rows.append(row | {"digest": digest_of(row)})
    return rows


def _broken(last: Mapping, row: Mapping) -> list[str]:
    """The problem of a row that follows `last`."""
    number = row["number"]
    if not _positive(number):
        return [f"the number of entry {number!s:.20} was changed"]
    expected = last["number"] + 1 if isinstance(last["number"], int) else number
    if number != expected:
        missing = f"entry {expected} is" if number - 1 == expected else f"entries {expected} to {number - 1} are"
        return [f"{missing} missing", *_changed(row)]
    problems = _changed(row)
    if row["previous"] != last["digest"]:
        problems.append(f"entry {number} does not follow the one before: one of the two was changed or replaced")
    if str(row["time"]) < str(last["time"]) and row["kind"] != CLOCK_SET_BACK:
        problems.append(f"entry {number} has an earlier time than the one before, and no clock change is recorded")
    return problems


def _changed(row: Mapping) -> list[str]:
    try:
        _entry(row)
    except LogError:
        return [f"entry {row['number']} was changed after it was recorded"]
    return []


def _entry(row: Mapping) -> LogEntry:
    try:
        facts = from_json(row["facts"]) if digest_of(row) == row["digest"] else None
        if isinstance(facts, dict) and _is_time(row["time"]):
            return LogEntry(**{**row, "facts": facts})
    except (TypeError, ValueError):
        pass
    changed = f"entry {row['number']!s:.20} of the audit log was changed and cannot be trusted"
    raise LogError(f"{changed}; run: python -m inspect_core verify")


def _head(connection: sa.Connection, query: sa.Select) -> Mapping:
    head = connection.execute(query).mappings().one()
    number, time, digest = (head[name] for name in ("number", "time", "digest"))
    if (number == 0 or _positive(number)) and isinstance(digest, str) and (_is_time(time) or (number, time) == (0, "")):
        return head
    raise LogError("the head of the audit log was changed and cannot be trusted; run: python -m inspect_core verify")


def _positive(number: object) -> bool:
    return type(number) is int and 0 < number < 2**31


def _is_time(text: object) -> bool:
    """Whether it is a time as the log writes it."""
    try:
        return isinstance(text, str) and datetime.fromisoformat(text).tzinfo is not None
    except ValueError:
        return False


def _now() -> datetime:
    return datetime.now(UTC)


def _in_utc(time: datetime) -> str:
    return time.astimezone(UTC).isoformat(timespec="microseconds")
