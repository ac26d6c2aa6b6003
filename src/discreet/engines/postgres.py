"""A connection to PostgreSQL that reads, and nothing else: all tables as they were at one moment.

Everything happens in one transaction, REPEATABLE READ and READ ONLY, with settings that hold inside of it alone. Tables
are locked against being emptied or rewritten before the moment is chosen; readers and writers are not kept waiting.
Names are quoted here; nothing else of the policy becomes part of a statement, and a statement is one, by protocol.

What goes wrong before rows are read is told as it is. What goes wrong afterwards has one text: it may be a row's doing.
"""

from __future__ import annotations

import select
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Final

from discreet.engines.postgres_types import Type
from discreet.engines.problems import SourceError
from discreet.policy.databases import read_table
from discreet.policy.model import Login, Source
from discreet.policy.problems import suggest
from discreet.postgres import ConnectionFailedError, connect
from discreet.quoting import name

if TYPE_CHECKING:
    from psycopg import Connection
    from psycopg.pq.abc import PGconn

BLOCK: Final = 1 << 20
ROOM: Final = 1 << 20
"""Bytes that libpq takes in at once: it has room for the longest message that it ever got, and 16 kB at first."""
REST: Final = 0.0005
"""Seconds in which more rows come: the server sends 8 kB at a time, and each of them would wake both of us."""
LOCK_WAIT: Final = "60s"
SETTINGS: Final = {
    "search_path": "''",
    "datestyle": "'ISO'",
    "timezone": "'UTC'",
    "extra_float_digits": "1",
    "bytea_output": "'hex'",
    "lock_timeout": f"'{LOCK_WAIT}'",
    "idle_in_transaction_session_timeout": "0",
}
INTERRUPTED: Final = (
    "PostgreSQL did not read it to its end",
    "run it again; if it fails again, look into the log of the server",
)
"""One text for whatever happens once rows are read."""
_RIGHTS: Final = ("INSERT", "UPDATE", "DELETE", "TRUNCATE")
_ROLES: Final = {"rolsuper": "is a superuser", "rolcreaterole": "makes roles", "rolreplication": "replicates"}


@dataclass(frozen=True, slots=True)
class Relation:
    """A table, a view or a foreign table, as the catalogue has it."""

    schema: str
    name: str
    oid: int
    kind: str
    rows: float
    """As PostgreSQL estimates; 0 where it does not."""
    columns: dict[str, Type]
    hidden: frozenset[str]
    """Columns that this role may not read."""
    sources: frozenset[int]
    """It and all that it is made of: partitions, heirs, and what a view reads."""
    rights: tuple[str, ...]
    """What the role may do beside reading."""
    filtered: bool
    """Whether row-level security hides rows of it from this role."""

    @property
    def quoted(self) -> str:
        return f"{name(self.schema)}.{name(self.name)}"


class UnreadError(Exception):
    """Rows were not read to their end."""


class Snapshot:
    """One moment of a database. Whose method fails is over."""

    def __init__(self, connection: Connection[Any]) -> None:
        self._connection = connection
        (self.identity,) = self.query(_IDENTITY, ())
        """Which database this is, however it was reached, and on which timeline."""

    def relation(self, label: str, source: Source) -> Relation:
        """What a policy names; `SourceError` if there is none."""
        schema, table = read_table(source.table or "")
        matching = self.query(_RELATION, (schema, table))
        if not matching:
            near = suggest(f"{schema}.{table}", self.tables())
            fix = f"did you mean {near}?" if near else "correct `table` in the policy: schema.table"
            raise SourceError(label, f"there is no table {schema}.{table} in the database", fix)
        oid, kind, filtered, readable = matching[0]
        if not readable:
            raise SourceError(label, *REASONS["42501"])
        held = self.query(_COLUMNS, {"oid": oid})
        columns = {row[0]: Type(*row[1:6]) for row in held}
        hidden = frozenset(row[0] for row in held if not row[6])
        made_of = dict(self.query(_SOURCES, (oid,)))
        rights = self._rights(sorted(made_of))
        rows = sum(made_of.values())
        return Relation(schema, table, oid, kind, rows, columns, hidden, frozenset(made_of), rights, filtered)

    def tables(self) -> list[str]:
        """All that this role may read, as a policy names them."""
        return [_spelled(*row) for row in self.query(_LISTED, ())]

    def _rights(self, made_of: list[int]) -> tuple[str, ...]:
        (roles,) = self.query(f"SELECT {', '.join(_ROLES)} FROM pg_roles WHERE rolname = current_user", ())
        said = [word for word, held in zip(_ROLES.values(), roles, strict=True) if held]
        for right in _RIGHTS:
            ((held,),) = self.query(_HOLDS, (right, made_of))
            said += [f"may {right}"] if held else []
        return tuple(said)

    def query(self, text: str, values: Sequence[Any] | Mapping[str, Any]) -> list[tuple[Any, ...]]:
        return self._connection.execute(text, values).fetchall()

    def copy_out(self, query: str, target: BinaryIO, progress: Callable[[int], None]) -> int:
        """Write the rows of a query as lines, and return how many they are; `progress` hears the count now and then.

        Rows come from libpq one by one, and are no objects of Python: it takes as long as PostgreSQL's own program,
        once libpq has room for many of them.
        """
        from psycopg import Error, pq

        sent = f"COPY ({query}) TO STDOUT"
        done = False
        try:
            connection, waiting = self._connection.pgconn, select.poll()
            waiting.register(connection.socket, select.POLLIN)
            self.query("SELECT repeat(' ', %s)", (ROOM,))
            connection.send_query_params(sent.encode(), None)
            while connection.flush():
                select.select([], [connection.socket], [])
            while connection.is_busy():
                waiting.poll()
                connection.consume_input()
            begun = connection.get_result()
            if begun is None or begun.status != pq.ExecStatus.COPY_OUT:
                raise UnreadError
            count = _drained(connection, waiting, target, progress)
            ended = connection.get_result()
            if ended is None or ended.status != pq.ExecStatus.COMMAND_OK or ended.command_tuples != count:
                raise UnreadError
            while connection.get_result() is not None:
                pass
            done = True
        except Error:
            raise UnreadError from None
        finally:
            if not done:
                self.end()
        return count

    def end(self) -> None:
        """Have the server stop what it does for us, and leave."""
        with suppress(Exception):
            self._connection.cancel_safe(timeout=5)
        self._connection.close()


def _drained(connection: PGconn, waiting: select.poll, target: BinaryIO, progress: Callable[[int], None]) -> int:
    """Write what comes until nothing does; how many rows came."""
    get, count, block = connection.get_copy_data, 0, bytearray()
    while True:
        size, data = get(1)
        if size > 0:
            block += data
            count += 1
            if len(block) > BLOCK:
                target.write(as_text(block))
                block.clear()
                progress(count)
        elif size == 0:
            waiting.poll()
            time.sleep(REST)
            connection.consume_input()
        else:
            target.write(as_text(block))
            return count


def as_text(block: bytearray) -> bytes | bytearray:
    """Lines with fields that are no UTF-8 as NULL: a damaged database may hold such, and DuckDB fails there."""
    try:
        block.decode()
    except UnicodeDecodeError:
        return b"\n".join(b"\t".join(map(_field, line.split(b"\t"))) for line in bytes(block).split(b"\n"))
    return block


def _field(value: bytes) -> bytes:
    try:
        value.decode()
    except UnicodeDecodeError:
        return rb"\N"
    return value


@contextmanager
def snapshot(
    login: Login,
    folder: Path,
    label: str,
    sources: Iterable[Source] = (),
    before: Callable[[Snapshot], None] | None = None,
) -> Iterator[Snapshot]:
    """One moment of a database for these tables, which are locked for as long. Failures are called by the label.

    before   looks into the database before the moment is chosen, with a moment of its own for each query.
    """
    with _connected(login, folder, label) as connection:
        from psycopg import Error

        try:
            names = [read_table(source.table or "") for source in sources]
            _begin(connection, "READ COMMITTED")
            lockable = connection.execute(_LOCKABLE, ([row[0] for row in names], [row[1] for row in names])).fetchall()
            if before is not None:
                before(Snapshot(connection))
            connection.execute("COMMIT")
            _begin(connection, "REPEATABLE READ")
            for schema, table in lockable:  # no query was run yet: the first one chooses the moment
                connection.execute(f"LOCK TABLE {name(schema)}.{name(table)} IN ACCESS SHARE MODE")
            yield Snapshot(connection)
        except Error as error:
            raise SourceError(label, *REASONS.get(error.sqlstate or "", INTERRUPTED)) from None


def _begin(connection: Connection[Any], level: str) -> None:
    connection.execute(f"BEGIN ISOLATION LEVEL {level}, READ ONLY")
    for key, value in SETTINGS.items():
        connection.execute(f"SET LOCAL {key} = {value}")


@contextmanager
def _connected(login: Login, folder: Path, label: str) -> Iterator[Connection[Any]]:
    """A connection, closed however it ends; `SourceError` if there is none."""
    try:
        connection = connect(login, folder, "read an export of the table instead")
    except ConnectionFailedError as failed:
        raise SourceError(label, failed.reason, failed.fix) from None
    with closing(connection):
        yield connection


def _spelled(schema: str, table: str) -> str:
    """A table as a policy writes it."""
    plain = f"{schema}.{table}"
    return plain if plain.count(".") == 1 and '"' not in plain else f"{name(schema)}.{name(table)}"


_IDENTITY: Final = """
    SELECT system_identifier, (SELECT oid FROM pg_database WHERE datname = current_database()),
        (SELECT timeline_id FROM pg_control_checkpoint()) FROM pg_control_system()
"""
_HOLDS: Final = "SELECT bool_or(has_table_privilege(o, %s)) FROM unnest(%s::oid[]) AS o"
REASONS: Final = {
    "55P03": (f"another session locks a table for longer than {LOCK_WAIT}", "run it again when that has ended"),
    "42501": ("this role may not read it", "GRANT SELECT on it, and USAGE on its schema, to the role"),
}
_LOCKABLE: Final = """
    SELECT n.nspname::text, c.relname::text
    FROM (SELECT DISTINCT * FROM unnest(%s::text[], %s::text[]) AS w(s, t)) AS w
    JOIN pg_catalog.pg_namespace AS n ON n.nspname = w.s JOIN pg_catalog.pg_class AS c ON c.relnamespace = n.oid
    WHERE c.relname = w.t AND c.relkind IN ('r', 'p')
    AND has_schema_privilege(n.oid, 'USAGE') AND has_table_privilege(c.oid, 'SELECT') ORDER BY 1, 2
"""
_LISTED: Final = r"""
    SELECT n.nspname::text, c.relname::text FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
    WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND NOT c.relispartition
    AND n.nspname <> 'information_schema' AND n.nspname NOT LIKE 'pg\_%%'
    AND has_schema_privilege(n.oid, 'USAGE') AND has_any_column_privilege(c.oid, 'SELECT') ORDER BY 1, 2
"""
_RELATION: Final = """
    SELECT c.oid, c.relkind::text, row_security_active(c.oid),
        has_schema_privilege(n.oid, 'USAGE') AND has_any_column_privilege(c.oid, 'SELECT')
    FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
    WHERE n.nspname = %s AND c.relname = %s AND c.relkind IN ('r', 'p', 'v', 'm', 'f')
"""
_COLUMNS: Final = """
    WITH RECURSIVE held AS (
        SELECT a.attnum, a.attname::text AS label, t.oid AS type, t.typname::text AS called, t.typtype::text AS kind,
            t.typnamespace AS place, t.typbasetype AS below,
            CASE WHEN t.typtype = 'd' THEN t.typtypmod ELSE a.atttypmod END AS modifier
        FROM pg_attribute AS a JOIN pg_type AS t ON t.oid = a.atttypid
        WHERE a.attrelid = %(oid)s AND a.attnum > 0 AND NOT a.attisdropped
        UNION ALL
        SELECT h.attnum, h.label, t.oid, t.typname::text, t.typtype::text, t.typnamespace, t.typbasetype,
            CASE WHEN t.typtype = 'd' THEN t.typtypmod ELSE h.modifier END
        FROM held AS h JOIN pg_type AS t ON t.oid = h.below WHERE h.kind = 'd'
    )
    SELECT label, called, kind, place = 'pg_catalog'::regnamespace, modifier, format_type(type, modifier),
        has_column_privilege(%(oid)s::oid, attnum, 'SELECT')
    FROM held WHERE kind <> 'd' ORDER BY attnum
"""
_SOURCES: Final = """
    WITH RECURSIVE made_of AS (
        SELECT %s::oid AS oid
        UNION
        SELECT e.child FROM made_of AS m JOIN (
            SELECT inhparent AS parent, inhrelid AS child FROM pg_inherits
            UNION ALL
            SELECT r.ev_class, d.refobjid FROM pg_rewrite AS r JOIN pg_depend AS d ON d.objid = r.oid
            WHERE d.classid = 'pg_rewrite'::regclass AND d.refclassid = 'pg_class'::regclass
        ) AS e ON e.parent = m.oid
    )
    SELECT c.oid, greatest(c.reltuples, 0)::float8 FROM made_of AS m JOIN pg_class AS c ON c.oid = m.oid
    WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f')
"""
