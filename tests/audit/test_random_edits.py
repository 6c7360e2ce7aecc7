"""`verify` finds every one of many random edits of the tables, each undone before the next."""

import random
from contextlib import contextmanager

import pytest
import sqlalchemy as sa

from inspect_core.audit import triggers
from inspect_core.audit.database import ENTRIES, HEAD, Database
from inspect_core.audit.entry import digest_of
from inspect_core.audit.log import AuditLog, LogError
from tests.audit.conftest import LENGTH

pytestmark = pytest.mark.usefixtures("unhurried")

EDITS = 500


class Held(Database):
    """Reads in the transaction of the test, which is rolled back."""

    connection = None

    @contextmanager
    def reading(self):
        if self.connection is None:
            with super().reading() as connection:
                yield connection
        else:
            with self._named_errors():
                yield self.connection


def test_every_one_of_500_random_edits_is_found(filled, url):
    chance, database = random.Random(11), Held(url)
    log, edits = AuditLog(database), {}
    with database.writing() as connection:
        before = contents(connection)
        database.connection = connection
        while sum(edits.values()) < EDITS:
            edit = chance.choice(EDIT_KINDS)
            undone = connection.begin_nested()
            try:
                with connection.begin_nested():
                    untriggered(connection, lambda edit=edit: edit(connection, chance, before[0]))
            except sa.exc.DBAPIError:  # a value that this column does not take
                undone.rollback()
                continue
            if contents(connection) != before:
                assert says(log), (edit.__name__, contents(connection))
                edits[edit.__name__] = edits.get(edit.__name__, 0) + 1
            undone.rollback()
        database.connection = None
    database.close()
    assert filled.verify() == []
    assert min(edits.values()) > 9
    assert len(edits) == len(EDIT_KINDS)


def contents(connection):
    """The rows of both tables, by number."""
    return [
        [dict(row) for row in connection.execute(sa.select(table).order_by(*table.primary_key)).mappings()]
        for table in (ENTRIES, HEAD)
    ]


def says(log):
    try:
        return log.verify()
    except LogError as error:
        return [str(error)]


def untriggered(connection, edit):
    """Run an edit as someone who switches the triggers off, and on again."""
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql("SET LOCAL session_replication_role = replica")
        edit()
        connection.exec_driver_sql("SET LOCAL session_replication_role = origin")
        return
    for name in triggers._SQLITE:
        connection.exec_driver_sql(f"DROP TRIGGER {name}")
    edit()
    triggers.install_triggers(connection)


def value_of(chance, rows):
    other = chance.choice(rows)[chance.choice([*rows[0]])]
    return chance.choice([other, None, "", "x", "zzz", "ü\n", "{}", 0, 1, -1, 7, 2**40, 2.5, "1" * 64])


def update(connection, chance, rows):
    name = chance.choice([*ENTRIES.c]).name
    new = {"value": value_of(chance, rows), "number": chance.randint(1, LENGTH)}
    connection.execute(sa.text(f'UPDATE audit_entries SET "{name}" = :value WHERE number = :number'), new)


def update_many(connection, chance, rows):
    name = chance.choice(["time", "kind", "user", "product", "recipe", "facts", "previous", "digest"])
    new = {"value": value_of(chance, rows), "number": chance.randint(1, LENGTH)}
    connection.execute(sa.text(f'UPDATE audit_entries SET "{name}" = :value WHERE number >= :number'), new)


def reseal(connection, chance, rows):
    """One entry with a digest that fits, but not the one that follows."""
    name = chance.choice(["user", "product", "recipe", "facts"])
    row = chance.choice(rows) | {name: chance.choice(["{}", "[]", "Eve"])}
    row["digest"] = digest_of(row)
    sets = ", ".join(f'"{name}" = :{name}' for name in row)
    connection.execute(sa.text(f"UPDATE audit_entries SET {sets} WHERE number = :number"), row)


def update_head(connection, chance, rows):
    name = chance.choice([*HEAD.c]).name
    connection.execute(sa.text(f"UPDATE audit_head SET {name} = :value"), {"value": value_of(chance, rows)})


def delete(connection, chance, rows):
    first = chance.randint(1, LENGTH)
    numbers = {"first": first, "last": chance.randint(first, LENGTH)}
    connection.execute(sa.text("DELETE FROM audit_entries WHERE number BETWEEN :first AND :last"), numbers)


def delete_head(connection, chance, rows):
    connection.execute(HEAD.delete())


def insert(connection, chance, rows):
    number = chance.choice([0, -1, -5, -(2**31) + 1, LENGTH + 1, LENGTH + 2, 10**6])
    row = chance.choice(rows) | {"number": number, "key": chance.choice([None, "new"])}
    row |= {"previous": chance.choice(rows)["digest"]}
    row |= {"digest": digest_of(row)} if chance.random() < 0.7 else {}
    connection.execute(ENTRIES.insert().values(row))


def insert_head(connection, chance, rows):
    row = {"id": chance.randint(-3, 9), "number": chance.randint(-3, 9), "time": ""}
    row["digest"] = chance.choice(rows)["digest"]
    connection.execute(HEAD.insert().values(row))


def exchange(connection, chance, rows):
    first, other = chance.sample(range(1, LENGTH + 1), 2)
    statement = sa.text("UPDATE audit_entries SET number = :new WHERE number = :number")
    for number, new in ((first, 99), (other, first), (99, other)):
        connection.execute(statement, {"new": new, "number": number})


def renumber(connection, chance, rows):
    new = {"by": chance.choice([100, 1000, -100, -(2**30)]), "least": chance.randint(0, LENGTH - 1)}
    connection.execute(sa.text("UPDATE audit_entries SET number = number + :by WHERE number > :least"), new)


def retype(connection, chance, rows):
    columns = {"audit_entries": ["time", "user", "facts", "digest", "previous", "key"]}
    columns["audit_head"] = ["time", "digest", "number"]
    table = chance.choice([*columns])
    name = chance.choice(columns[table])
    new = chance.choice(["CAST({} AS BLOB)", "CAST({} AS INTEGER)", "CAST(x'ff' AS TEXT)", "{} || ' '", "NULL"])
    connection.exec_driver_sql(f'UPDATE {table} SET "{name}" = ' + new.format(f'"{name}"'))


EDIT_KINDS = [update, update_many, reseal, update_head, delete, delete_head]
EDIT_KINDS += [insert, insert_head, exchange, renumber, retype]
