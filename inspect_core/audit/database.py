"""The database of the audit log: its tables, and errors that say what to do.

SQLite in the workspace by default, any server by its SQLAlchemy URL. In SQLite and PostgreSQL triggers refuse to change
or delete an entry; on other servers only the chain of digests shows it.
"""

import contextlib
import os
import sqlite3
from collections.abc import Generator
from functools import partial
from pathlib import Path

import sqlalchemy as sa
from sqlalchemy.event import listen
from sqlalchemy.exc import ArgumentError, DBAPIError, DisconnectionError, NoSuchModuleError, SQLAlchemyError

from inspect_core.audit import triggers
from inspect_core.audit.entry import KEY_LENGTH
from inspect_core.runtime import workspace

WAIT_SECONDS = 30  # longest wait for another process that is writing
_SETUP_LOCK = 0x10C0FE
_TABLES = sa.MetaData()

ENTRIES = sa.Table(
    "audit_entries",
    _TABLES,
    sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
    *(sa.Column(name, sa.String(40), nullable=False) for name in ("time", "kind")),
    *(sa.Column(name, sa.Text, nullable=False) for name in ("user", "product", "recipe")),
    sa.Column("key", sa.String(KEY_LENGTH), unique=True),
    sa.Column("facts", sa.Text, nullable=False),
    sa.Column("previous", sa.String(64), nullable=False),
    sa.Column("digest", sa.String(64), nullable=False),
    sa.Index("audit_entries_kind", "kind", "number"),
)
HEAD = sa.Table(
    "audit_head",
    _TABLES,
    sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("number", sa.Integer, nullable=False),
    sa.Column("time", sa.String(40), nullable=False),
    sa.Column("digest", sa.String(64), nullable=False),
)
"""One row: number, time and digest of the last entry. Writers take turns by locking it, and it shows when entries were
removed from the end.
"""

_MOVE = "set LOUPE_DATABASE to another location"
_REMEDIES = (
    ("database is locked", "another program keeps it locked; close that program and try again"),
    ("lock timeout", "another program keeps it locked; close that program and try again"),
    ("readonly", f"make the file and its folder writable, or {_MOVE}"),
    ("read-only", "make the database writable, or set LOUPE_DATABASE to another one"),
    ("disk is full", "free some disk space; this step was not recorded"),
    ("no space left", "free some disk space there; this step was not recorded"),
    ("disk i/o", "check the disk and its connection; this step was not recorded"),
    ("permission denied", "let its user create tables, or set LOUPE_DATABASE to another database"),
    ("unable to open", f"check that its folder exists and can be written, or {_MOVE}"),
    ("malformed", "keep the damaged file for the auditor, and restore a backup"),
    ("not a database", f"it is not an SQLite file; {_MOVE}, or restore a backup"),
    ("append-only", "its last entries are inconsistent; run: python -m inspect_core verify"),
    ("unique", "its last entries are inconsistent; run: python -m inspect_core verify"),
    ("multiple rows", "it has more than one head; run: python -m inspect_core verify"),
    ("no row was found", "its head was removed; keep the damaged database for the auditor, and restore a backup"),
    ("no such", f"its tables are missing or do not belong to an audit log; restore a backup, or {_MOVE}"),
    ("does not exist", "create the database or its user, or correct LOUPE_DATABASE"),
    ("password", "correct the user and password in LOUPE_DATABASE"),
)
_OTHERWISE = "check that LOUPE_DATABASE names a running, reachable database"
_NO_FILE = "LOUPE_DATABASE does not name a file; write it as sqlite:////folder/loupe.sqlite"


class LogError(OSError):
    """The audit log cannot be used; the message names the database, the reason and the remedy."""


class Database:
    """An open database with the two tables. Every method raises LogError when it cannot be used."""

    def __init__(self, url: str | None = None) -> None:
        """url: of SQLAlchemy; None for LOUPE_DATABASE, else `loupe.sqlite` in the workspace."""
        url = url or os.environ.get("LOUPE_DATABASE")
        default_url = sa.URL.create("sqlite", database=str(workspace.root() / "loupe.sqlite"))
        try:
            address = sa.make_url(url) if url else default_url
        except (ArgumentError, ValueError) as error:
            remedy = "write it as sqlite:////folder/loupe.sqlite or postgresql://user:password@host/name"
            raise LogError(f"LOUPE_DATABASE is not the address of a database; {remedy}") from error
        self.is_sqlite = address.get_backend_name() == "sqlite"
        self.name = str(address.database) if self.is_sqlite else address.render_as_string(hide_password=True)
        if self.is_sqlite:
            self._prepare_place(address.database)
        self._mended: list[str] = []
        try:
            self._engine = _engine(address, self.is_sqlite)
        except (ImportError, NoSuchModuleError) as error:
            remedy = "install it, for PostgreSQL with: pip install psycopg[binary]"
            raise LogError(
                f"the audit log {self.name} needs a driver that is not installed ({error}); {remedy}"
            ) from error
        except (ArgumentError, TypeError, ValueError) as error:
            raise LogError(f"the audit log {self.name} cannot be used ({error}); {_OTHERWISE}") from error
        try:
            self._set_up()
        except LogError:
            self.close()
            raise

    def close(self) -> None:
        self._engine.dispose()

    @contextlib.contextmanager
    def reading(self) -> Generator[sa.Connection]:
        with self._named_errors(), self._engine.begin() as connection:
            yield connection

    @contextlib.contextmanager
    def writing(self) -> Generator[sa.Connection]:
        """One transaction; other writers wait for it once it has read the head with `FOR UPDATE`."""
        with self._named_errors(), self._engine.execution_options(writing=True).begin() as connection:
            yield connection

    def unprotected(self) -> list[str]:
        """What is wrong with the triggers now, or was when the log was opened, in plain words, one each."""
        with self.reading() as connection:
            now = triggers.problems(connection)
        return list(dict.fromkeys([*(f"{problem} when the log was opened" for problem in self._mended), *now]))

    def _set_up(self) -> None:
        """Create the tables and triggers that are missing; altered triggers are replaced."""
        with self.reading() as connection:
            if self.is_sqlite:
                self._require_file(connection)
            new = not sa.inspect(connection).has_table(HEAD.name)
            problems = [] if new else triggers.problems(connection)
            if not new and triggers.are_installed(connection):
                return
        # A user of the database who may not create triggers can still write entries; `unprotected` tells.
        with contextlib.nullcontext() if new else contextlib.suppress(LogError), self.writing() as connection:
            if connection.dialect.name == "postgresql":
                connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_SETUP_LOCK)))
            new = not sa.inspect(connection).has_table(HEAD.name)
            _TABLES.create_all(connection)
            triggers.install_triggers(connection)
            if new:
                connection.execute(HEAD.insert().values(id=1, number=0, time="", digest=""))
            self._mended = problems

    def _require_file(self, connection: sa.Connection) -> None:
        """Refuse a database in memory, which is lost when Loupe ends, whatever its address looks like."""
        (_, _, file), *_ = connection.exec_driver_sql("PRAGMA database_list").all()
        if not file or connection.exec_driver_sql("PRAGMA journal_mode").scalar() == "memory":
            raise LogError(_NO_FILE)

    def _prepare_place(self, file: str | None) -> None:
        """Refuse a pipe or a device, which would block."""
        if file in (None, "", ":memory:"):
            raise LogError(_NO_FILE)
        path = Path(file)
        if path.exists() and not path.is_file():
            raise LogError(f"the audit log {self.name} is not a file; remove it, or {_MOVE}")
        if path.parent == workspace.root():
            path.parent.mkdir(parents=True, exist_ok=True)

    @contextlib.contextmanager
    def _named_errors(self) -> Generator[None]:
        try:
            yield
        except (SQLAlchemyError, sqlite3.Error) as error:
            reason = str(error.orig if isinstance(error, DBAPIError) else error).strip().splitlines()[0]
            remedy = next((words for part, words in _REMEDIES if part in reason.lower()), _OTHERWISE)
            raise LogError(f"the audit log {self.name} cannot be used ({reason}); {remedy}") from error


def _engine(address: sa.URL, is_sqlite: bool) -> sa.Engine:
    if not is_sqlite:
        limits = {"connect_timeout": WAIT_SECONDS} if address.get_backend_name() == "postgresql" else {}
        engine = sa.create_engine(address, pool_pre_ping=True, connect_args=limits)
        listen(engine, "begin", _begin_on_server)
        return engine
    engine = sa.create_engine(address, connect_args={"timeout": WAIT_SECONDS})
    listen(engine, "connect", lambda _, record: record.info.update(file=_identity(address)))
    listen(engine, "checkout", lambda _, record, __: _require_same(record.info["file"], _identity(address)))
    listen(engine, "connect", _set_up_sqlite)
    listen(engine, "begin", _begin_sqlite)
    return engine


def _set_up_sqlite(connection: sqlite3.Connection, _record: object) -> None:
    connection.isolation_level = None  # the driver begins no transaction of its own
    # Loupe writes no bytes that are not UTF-8; an entry that holds them was changed, and is read to say so.
    connection.text_factory = partial(str, encoding="utf-8", errors="surrogateescape")
    if connection.execute("PRAGMA journal_mode").fetchone() != ("wal",):
        # Another writer may be doing the same, and SQLite does not wait here; the next connection tries again.
        with contextlib.suppress(sqlite3.OperationalError):
            connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")


def _begin_sqlite(connection: sa.Connection) -> None:
    writing = connection.get_execution_options().get("writing")
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writing else "BEGIN")


def _begin_on_server(connection: sa.Connection) -> None:
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql(f"SET LOCAL lock_timeout = '{WAIT_SECONDS}s'")


def _identity(address: sa.URL) -> tuple[int, int] | None:
    try:
        facts = os.stat(address.database or "")
    except OSError:
        return None
    return facts.st_dev, facts.st_ino


def _require_same(before: tuple[int, int] | None, now: tuple[int, int] | None) -> None:
    """Raise LogError for another file: an open connection would go on writing to one that was moved or deleted."""
    if before != now:
        raise DisconnectionError
