"""A log on every kind of database that is tested: SQLite, and a PostgreSQL of the tests' own."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa

from inspect_core.audit.entry import INSPECTION, NewLogEntry
from inspect_core.audit.log import AuditLog

LENGTH = 8


@pytest.fixture(scope="session")
def postgresql() -> Iterator[str]:
    """The address of a server in a temporary folder, reached by its Unix socket alone; no database name in it."""
    binaries = max(Path("/usr/lib/postgresql").glob("*/bin"), default=None, key=lambda path: int(path.parent.name))
    path = binaries / "initdb" if binaries else shutil.which("initdb")
    if path is None:
        pytest.skip("PostgreSQL is not installed; install the system's package postgresql")
    binaries = Path(path).parent
    as_user = ["runuser", "-u", "postgres", "--"] if os.geteuid() == 0 else []
    folder = Path(tempfile.mkdtemp(prefix="loupe-postgresql-"))
    try:
        if as_user:
            shutil.chown(folder, "postgres")
        data = str(folder / "data")

        def run(*command: str) -> None:
            subprocess.run([*as_user, *command], cwd=folder, check=True, stdout=subprocess.DEVNULL, timeout=60)

        options = ["--encoding=UTF8", "--no-locale", "--auth=trust", "--username=postgres", "--no-sync"]
        run(str(binaries / "initdb"), "--pgdata", data, *options)
        settings = f"-c listen_addresses= -c unix_socket_directories={folder} -c fsync=off"
        run(str(binaries / "pg_ctl"), "start", "-w", "-D", data, "-o", settings, "-l", str(folder / "log"))
        try:
            yield f"postgresql+psycopg://postgres@/{{}}?host={folder}"
        finally:
            run(str(binaries / "pg_ctl"), "stop", "-w", "-m", "immediate", "-D", data)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.slow)])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of a database without a log."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'loupe.sqlite'}"
    address, name = request.getfixturevalue("postgresql"), f"log_{os.urandom(6).hex()}"
    engine = sa.create_engine(address.format("postgres"), isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.exec_driver_sql(f"CREATE DATABASE {name}")
    engine.dispose()
    return address.format(name)


@pytest.fixture
def log(url: str) -> Iterator[AuditLog]:
    with AuditLog.open(url) as opened:
        yield opened


@pytest.fixture
def filled(log: AuditLog) -> AuditLog:
    """A log of LENGTH inspections."""
    log.append_all([NewLogEntry(INSPECTION, {"i": i}, "Ana", "tile", "r", f"k{i}") for i in range(LENGTH)])
    return log


@pytest.fixture
def execute(url: str) -> Iterator[Callable]:
    """execute(*statements) runs SQL on the database in one transaction, with its triggers."""
    engine = sa.create_engine(url)

    def run(*statements: str) -> None:
        with engine.begin() as connection:
            for statement in statements:
                connection.exec_driver_sql(statement)

    yield run
    engine.dispose()


@pytest.fixture
def tamper(url: str, log: AuditLog) -> Iterator[Callable]:
    """tamper(statement, **values) runs SQL on the log's tables, as someone who switches the triggers off meanwhile."""
    engine = sa.create_engine(url)

    def run(statement: str, **values: object) -> None:
        with engine.begin() as connection:
            if engine.dialect.name == "postgresql":
                connection.exec_driver_sql("SET LOCAL session_replication_role = replica")
                connection.execute(sa.text(statement), values)
                return
            triggers = connection.exec_driver_sql("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").all()
            for name, _ in triggers:
                connection.exec_driver_sql(f"DROP TRIGGER {name}")
            connection.execute(sa.text(statement), values)
            for _, sql in triggers:
                connection.exec_driver_sql(sql)

    yield run
    engine.dispose()
