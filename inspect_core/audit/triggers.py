"""The triggers that let a database only add to the audit log: entries 1, 2, 3 …, never changed, and a head that only
moves forward to the last of them. In SQLite and PostgreSQL; other servers have none.
"""

import sqlalchemy as sa

_SAID = "the audit log is append-only"
_ABORT = f"BEGIN SELECT RAISE(ABORT, '{_SAID}'); END"
_SQLITE_FIRST = {
    "audit_entries_no_update": f"BEFORE UPDATE ON audit_entries {_ABORT}",
    "audit_entries_no_delete": f"BEFORE DELETE ON audit_entries {_ABORT}",
    # REPLACE deletes without firing the trigger above
    "audit_entries_no_replace": "BEFORE INSERT ON audit_entries "
    f"WHEN EXISTS (SELECT 1 FROM audit_entries WHERE number = NEW.number OR key = NEW.key) {_ABORT}",
}
"""What logs had that were made before there were the others."""
_SQLITE = _SQLITE_FIRST | {
    "audit_entries_in_order": "BEFORE INSERT ON audit_entries WHEN NEW.number IS NOT (SELECT "
    f"max(coalesce(max(number), 0), (SELECT number FROM audit_head)) + 1 FROM audit_entries) {_ABORT}",
    "audit_head_one": "BEFORE INSERT ON audit_head "
    f"WHEN NEW.id IS NOT 1 OR NEW.number IS NOT 0 OR EXISTS (SELECT 1 FROM audit_head) {_ABORT}",
    "audit_head_no_delete": f"BEFORE DELETE ON audit_head {_ABORT}",
    "audit_head_forward": "BEFORE UPDATE ON audit_head WHEN NEW.id IS NOT OLD.id OR NEW.number <= OLD.number "
    "OR NOT EXISTS (SELECT 1 FROM audit_entries "
    f"WHERE number = NEW.number AND time = NEW.time AND digest = NEW.digest) {_ABORT}",
}

_RAISE = f"RAISE EXCEPTION '{_SAID}';"
_FUNCTIONS = {
    "audit_refuse": f"BEGIN {_RAISE} END",
    "audit_in_order": "BEGIN IF NEW.number IS DISTINCT FROM 1 + greatest((SELECT number FROM audit_head), "
    f"(SELECT coalesce(max(number), 0) FROM audit_entries)) THEN {_RAISE} END IF; RETURN NEW; END",
    "audit_one_head": "BEGIN IF NEW.id <> 1 OR NEW.number <> 0 OR EXISTS (SELECT 1 FROM audit_head) "
    f"THEN {_RAISE} END IF; RETURN NEW; END",
    "audit_forward": "BEGIN IF NEW.id <> OLD.id OR NEW.number <= OLD.number OR NOT EXISTS (SELECT 1 FROM audit_entries "
    "WHERE number = NEW.number AND time = NEW.time AND digest = NEW.digest) "
    f"THEN {_RAISE} END IF; RETURN NEW; END",
}
_ROW, _INSERT, _DELETE, _UPDATE, _TRUNCATE = 1, 4, 8, 16, 32
_EVENTS = {"INSERT": _INSERT, "DELETE": _DELETE, "UPDATE": _UPDATE, "TRUNCATE": _TRUNCATE}
_POSTGRESQL_FIRST = {"audit_entries_append_only": ("audit_entries", _UPDATE | _DELETE | _TRUNCATE, "audit_refuse")}
_POSTGRESQL = _POSTGRESQL_FIRST | {
    "audit_entries_in_order": ("audit_entries", _INSERT | _ROW, "audit_in_order"),
    "audit_head_one": ("audit_head", _INSERT | _ROW, "audit_one_head"),
    "audit_head_forward": ("audit_head", _UPDATE | _ROW, "audit_forward"),
    "audit_head_no_delete": ("audit_head", _DELETE | _TRUNCATE, "audit_refuse"),
}
"""Table, events (bits of pg_trigger.tgtype), function. All fire before."""
_BEFORE = 2


def problems(connection: sa.Connection) -> list[str]:
    """What the log's triggers lack, a sentence each; a log of an earlier version has its own."""
    expected, first, actual = _expected_and_found(connection)
    if actual == first:
        return []
    wrong = [
        f"the trigger {name}, which protects the log, {'was altered' if name in actual else 'is missing'}"
        for name in expected
        if actual.get(name) != expected[name]
    ]
    return wrong + [f"the log has an unknown trigger, {name}" for name in sorted({*actual} - {*expected})]


def are_installed(connection: sa.Connection) -> bool:
    """Whether all of them are there, unaltered."""
    expected, _, actual = _expected_and_found(connection)
    return all(actual.get(name) == trigger for name, trigger in expected.items())


def install_triggers(connection: sa.Connection) -> None:
    """Create those that are missing or altered. Others that lie on the tables stay, and stay a problem."""
    if connection.dialect.name == "sqlite":
        for name, trigger in _SQLITE.items():
            connection.exec_driver_sql(f"DROP TRIGGER IF EXISTS {name}")
            connection.exec_driver_sql(f"CREATE TRIGGER {name} {trigger}")
    if connection.dialect.name == "postgresql":
        for name, body in _FUNCTIONS.items():
            connection.exec_driver_sql(
                f"CREATE OR REPLACE FUNCTION {name}() RETURNS trigger LANGUAGE plpgsql AS $${body}$$"
            )
        for name, (table, events, function) in _POSTGRESQL.items():
            connection.exec_driver_sql(
                f"CREATE OR REPLACE TRIGGER {name} "
                f"BEFORE {' OR '.join(event for event, bit in _EVENTS.items() if events & bit)} ON {table} "
                f"FOR EACH {'ROW' if events & _ROW else 'STATEMENT'} EXECUTE FUNCTION {function}()"
            )


def _expected_and_found(connection: sa.Connection) -> tuple[dict, dict, dict]:
    """By name, what must be there, what an earlier version had, and what is there."""
    if connection.dialect.name == "sqlite":
        trigger_filter = "type = 'trigger' AND tbl_name IN ('audit_entries', 'audit_head')"
        actual = dict(
            map(tuple, connection.exec_driver_sql(f"SELECT name, sql FROM sqlite_master WHERE {trigger_filter}"))
        )
        expected, first = (
            {name: f"CREATE TRIGGER {name} {trigger}" for name, trigger in statements.items()}
            for statements in (_SQLITE, _SQLITE_FIRST)
        )
        return expected, first, actual
    if connection.dialect.name == "postgresql":
        actual = {
            name: tuple(facts)
            for name, *facts in connection.exec_driver_sql(
                "SELECT tgname, relname::text, tgtype::int, tgenabled::text, tgqual IS NULL, proname::text, "
                "btrim(prosrc) FROM pg_trigger "
                "JOIN pg_class ON pg_class.oid = tgrelid JOIN pg_proc ON pg_proc.oid = tgfoid "
                "WHERE tgrelid IN ('audit_entries'::regclass, 'audit_head'::regclass) AND NOT tgisinternal"
            )
        }
        expected, first = (
            {
                name: (table, events | _BEFORE, "O", True, function, _FUNCTIONS[function])
                for name, (table, events, function) in statements.items()
            }
            for statements in (_POSTGRESQL, _POSTGRESQL_FIRST)
        )
        return expected, first, actual
    return {}, {}, {}
