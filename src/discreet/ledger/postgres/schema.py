"""The journal in PostgreSQL: two tables, and functions that let nobody do anything but append what follows.

`prepare` is run once, by the role that owns the database. Curators have another role, which may read both tables,
append to the journal and call `locked`; it changes and removes nothing. What a line says is repeated in columns that
say where to look; nothing that counts is read from them, and `verify` compares them with the lines.

Theorem  Whoever may only insert can make the journal longer by what follows from its last record, and nothing else.
Proof    `follows` runs at the end of each insert as the owner: it locks the one row of `head`, compares numbers and
         hashes, and moves the head on; what does not follow undoes the insert. Nobody else may write to `head`.
         `fixed` raises at updates, removals and truncation, whoever asks for them. Who owns the tables may drop all of
         it: against owners there are receipts and high-water marks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from discreet.ledger.codec import GENESIS
from discreet.ledger.problems import LedgerDamaged, LedgerError
from discreet.noise import SYSTEM
from discreet.quoting import literal, name

if TYPE_CHECKING:
    from psycopg import Connection

FORMAT: Final = 1
COLUMNS: Final = {
    "number": "bigint PRIMARY KEY",
    "line": "text NOT NULL",
    "hash": "text NOT NULL",
    "kind": "text NOT NULL",
    "answer": "bytea",
    "plan": "bytea",
    "charge": "bigint",
    "withdrawn": "boolean NOT NULL",
    "analyst": "bytea",
    "question": "bytea",
    "data": "bigint",
    "key": "bytea",
    "first": "numeric",
    "second": "numeric",
}
HEAD: Final = """
    one boolean PRIMARY KEY CHECK (one), format integer NOT NULL, name text NOT NULL, number bigint NOT NULL,
    hash text NOT NULL
"""
"""Of one row: the last record, and a random name that no other journal has."""
LOCKS: Final = "number bigint, hash text, name text, format integer"
INDEXES: Final = {
    "charges": "(number) WHERE kind = 'charge'",
    "analysts": "(analyst, number) WHERE kind = 'charge'",
    "answers": "(charge) WHERE kind = 'answer'",
    "keys": "(key) WHERE key IS NOT NULL",
    "cached": "(plan, data, first, number) WHERE kind = 'charge'",
    "events": "(number) WHERE kind NOT IN ('charge', 'answer', 'totals') OR withdrawn",
}
LOCKED: Final = """
DECLARE was record;
BEGIN
    SELECT h.number, h.hash, h.name, h.format INTO STRICT was FROM {head} AS h FOR UPDATE;
    RETURN QUERY SELECT was.number, was.hash, was.name, was.format;
END"""
FOLLOWS: Final = """
DECLARE
    was record;
    one record;
BEGIN
    SELECT h.number, h.hash INTO STRICT was FROM {head} AS h FOR UPDATE;
    FOR one IN SELECT a.number, a.line, a.hash FROM added AS a ORDER BY a.number LOOP
        IF one.number IS DISTINCT FROM was.number + 1 OR one.hash IS DISTINCT FROM
            encode(sha256(convert_to(was.hash || chr(10) || one.line, 'UTF8')), 'hex')
        THEN RAISE EXCEPTION 'a record does not follow from the one before';
        END IF;
        was.number := one.number;
        was.hash := one.hash;
    END LOOP;
    UPDATE {head} SET number = was.number, hash = was.hash;
    RETURN NULL;
END"""
FIXED: Final = """
BEGIN
    RAISE EXCEPTION 'the journal is never changed';
END"""
TRIGGERS: Final = {
    "follows": ("journal", 4, "AFTER INSERT ON {journal} REFERENCING NEW TABLE AS added FOR EACH STATEMENT", "follows"),
    "fixed": ("journal", 27, "BEFORE UPDATE OR DELETE ON {journal} FOR EACH ROW", "fixed"),
    "whole": ("journal", 34, "BEFORE TRUNCATE ON {journal} FOR EACH STATEMENT", "fixed"),
    "one": ("head", 42, "BEFORE DELETE OR TRUNCATE ON {head} FOR EACH STATEMENT", "fixed"),
}
"""Their table, PostgreSQL's number for when they run (pg_trigger.tgtype), the same in words, and what they run."""
_SETTINGS: Final = "LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp"


def _filled(text: str, schema: str) -> str:
    quoted = name(schema)
    return text.format(schema=quoted, head=f"{quoted}.head", journal=f"{quoted}.journal")


def prepare(connection: Connection[Any], schema: str, role: str) -> bool:
    """Make tables and functions in a new schema, and let a role use them; whether they were not there before.

    What is there already and as it should be is left alone, but for what the role may do.
    """
    from psycopg import Error

    try:
        with connection.transaction():
            (there,) = _row(connection, "SELECT count(*) FROM pg_namespace WHERE nspname = %s", schema)
            if not there:
                for statement in _statements(schema):
                    connection.execute(statement)
            recognise(connection, schema)
            for statement in _grants(schema, role):
                connection.execute(statement)
    except Error as error:
        known = {"42501": "run it as the owner of the database", "42704": f"CREATE ROLE {name(role)} LOGIN first"}
        raise LedgerError(
            f"PostgreSQL did not prepare a ledger ({error.sqlstate or 'it was interrupted'})",
            known.get(error.sqlstate or "", "look into the log of the server"),
        ) from None
    return not there


def _statements(schema: str) -> list[str]:
    columns = ", ".join(f"{column} {kind}" for column, kind in COLUMNS.items())
    head = f"true, {FORMAT}, {literal(SYSTEM.bytes(16).hex())}, 0, {literal(GENESIS)}"
    texts = [
        "CREATE SCHEMA {schema}",
        f"CREATE TABLE {{journal}} ({columns})",
        f"CREATE TABLE {{head}} ({HEAD})",
        f"INSERT INTO {{head}} VALUES ({head})",
        f"CREATE FUNCTION {{schema}}.locked() RETURNS TABLE ({LOCKS}) {_SETTINGS} AS $${LOCKED}$$",
        f"CREATE FUNCTION {{schema}}.follows() RETURNS trigger {_SETTINGS} AS $${FOLLOWS}$$",
        f"CREATE FUNCTION {{schema}}.fixed() RETURNS trigger {_SETTINGS} AS $${FIXED}$$",
        "REVOKE ALL ON ALL FUNCTIONS IN SCHEMA {schema} FROM PUBLIC",
        *(f"CREATE INDEX {index} ON {{journal}} {over}" for index, over in INDEXES.items()),
        *(
            f"CREATE TRIGGER {trigger} {when} EXECUTE FUNCTION {{schema}}.{function}()"
            for trigger, (_, _, when, function) in TRIGGERS.items()
        ),
    ]
    return [_filled(text, schema) for text in texts]


def _grants(schema: str, role: str) -> list[str]:
    who = name(role)
    texts = [
        "REVOKE ALL ON ALL TABLES IN SCHEMA {schema} FROM %s",
        "GRANT USAGE ON SCHEMA {schema} TO %s",
        "GRANT SELECT, INSERT ON {journal} TO %s",
        "GRANT SELECT ON {head} TO %s",
        "GRANT EXECUTE ON FUNCTION {schema}.locked() TO %s",
    ]
    return [_filled(text, schema).replace("%s", who) for text in texts]


def recognise(connection: Connection[Any], schema: str) -> None:
    """Raise unless there is a journal in this schema, guarded as `prepare` made it."""
    if not _row(connection, _THERE, schema)[0]:
        raise LedgerError(
            f"there is no ledger in the schema {schema} of that database, or this role may not use it",
            "let the owner of the database run `discreet ledger prepare`",
        )
    columns = dict(connection.execute(_COLUMNS, (schema,)).fetchall())
    triggers = {row[0]: row[1:] for row in connection.execute(_TRIGGERS, (schema,)).fetchall()}
    functions = dict(connection.execute(_FUNCTIONS, (schema,)).fetchall())
    wanted = {column: kind.split()[0] for column, kind in COLUMNS.items()}
    guards = {trigger: (table, kind, "O", function) for trigger, (table, kind, _, function) in TRIGGERS.items()}
    bodies = {"locked": LOCKED, "follows": FOLLOWS, "fixed": FIXED}
    if (columns, triggers, functions) != (
        wanted,
        guards,
        {each: _filled(body, schema) for each, body in bodies.items()},
    ):
        raise LedgerDamaged(
            f"the schema {schema} has another layout than a ledger should",
            "name another one, or open it with the version of discreet that prepared it",
        )


def demand_restrained(connection: Connection[Any], schema: str) -> None:
    """Raise if this role may do more than append and read."""
    (more,) = _row(connection, _MORE, schema)
    if more:
        raise LedgerError(
            "this role may change or remove what is in the ledger",
            "connect as the role that `discreet ledger prepare --role` named: it appends and reads",
        )


def _row(connection: Connection[Any], query: str, *values: object) -> tuple[Any, ...]:
    row: tuple[Any, ...] | None = connection.execute(query, values).fetchone()
    assert row is not None
    return row


_THERE: Final = """
    SELECT count(*) FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
    WHERE n.nspname = %s AND c.relname = 'journal' AND has_schema_privilege(n.oid, 'USAGE')
        AND has_table_privilege(c.oid, 'SELECT')
"""
_COLUMNS: Final = """
    SELECT a.attname::text, format_type(a.atttypid, a.atttypmod) FROM pg_attribute AS a
    JOIN pg_class AS c ON c.oid = a.attrelid JOIN pg_namespace AS n ON n.oid = c.relnamespace
    WHERE n.nspname = %s AND c.relname = 'journal' AND c.relkind = 'r' AND a.attnum > 0 AND NOT a.attisdropped
"""
_TRIGGERS: Final = """
    SELECT t.tgname::text, c.relname::text, t.tgtype::int, t.tgenabled::text, p.proname::text
    FROM pg_trigger AS t JOIN pg_proc AS p ON p.oid = t.tgfoid JOIN pg_class AS c ON c.oid = t.tgrelid
    JOIN pg_namespace AS n ON n.oid = c.relnamespace
    WHERE n.nspname = %s AND NOT t.tgisinternal
"""
_FUNCTIONS: Final = """
    SELECT p.proname::text, p.prosrc FROM pg_proc AS p JOIN pg_namespace AS n ON n.oid = p.pronamespace
    WHERE n.nspname = %s AND p.prosecdef AND p.proconfig = ARRAY['search_path=pg_catalog, pg_temp']
"""
_MORE: Final = """
    SELECT bool_or(pg_has_role(c.relowner, 'USAGE') OR has_table_privilege(c.oid, 'UPDATE, DELETE, TRUNCATE')
        OR has_any_column_privilege(c.oid, 'UPDATE') OR c.relname = 'head' AND has_table_privilege(c.oid, 'INSERT'))
    FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
    WHERE n.nspname = %s AND c.relname IN ('journal', 'head')
"""
