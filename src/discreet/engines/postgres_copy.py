"""The bounded, ranked copy inside of PostgreSQL, for policies whose rows may not leave it (`engine = "postgres"`).

It is made of the sources in one transaction, by the database itself, in the schema that the owner made for it. The role
needs nothing of the sources but SELECT. Columns, ranks and masks are those of `engines.copy`, and so is their theorem:
they are functions of a unit's own rows and the secret. The hash is PostgreSQL's own, unless the policy says another: of
a unit that has more rows than it may have, other rows are here than DuckDB would take.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from discreet.engines.digests import key_of
from discreet.engines.postgres import INTERRUPTED, REASONS, SETTINGS, Relation, Snapshot
from discreet.engines.postgres_rows import COLLATED, owned, ranked
from discreet.engines.postgres_tables import created
from discreet.engines.problems import SourceError
from discreet.engines.rewriting.postgres import DIALECT, identifier
from discreet.engines.rewriting.postgres import TYPES as NAMES
from discreet.engines.rewriting.postgres_functions import functions
from discreet.engines.rewriting.statements import Stored, ranked_rows
from discreet.engines.rewriting.terms import TYPES as KINDS
from discreet.engines.rewriting.terms import public_columns
from discreet.policy import Policy, Table
from discreet.policy.databases import read_table
from discreet.policy.layout import copied_columns
from discreet.policy.model import Login
from discreet.postgres import ConnectionFailedError, connect
from discreet.quoting import name

if TYPE_CHECKING:
    from psycopg import Connection

OLDEST: Final = 14
SORTING: Final = "256MB"
"""What one sort of a copy may take of the server's memory."""
MAKING: Final = 0x64697363
"""The advisory lock of whoever makes functions and tables in a schema."""
Progress = Callable[[str, float], None]


@dataclass(frozen=True, slots=True)
class Names:
    """What the tables of one copy are called: for whose state, of which data version, and which copy."""

    state: str
    version: int
    copy: str

    @classmethod
    def of(cls, secret: str, version: int, copy: str) -> Names:
        return cls(hashlib.sha256(f"{secret} copies".encode()).hexdigest()[:12], version, copy[:12])

    @property
    def all(self) -> str:
        """How all tables of this state begin."""
        return f"discreet_{self.state}_"

    def table(self, policy: Policy, label: str) -> str:
        number = list(policy.tables).index(label)
        return f"{self.all}{self.version}_{self.copy}_{number}"

    def stored(self, policy: Policy, schemas: Mapping[str, Mapping[str, str]]) -> dict[str, Stored]:
        """The tables as queries find them; `schemas` are the columns of public ones."""
        return {
            table.name: Stored(
                identifier(self.table(policy, table.name)),
                public_columns(schemas.get(table.name, {}))
                if table.is_public
                else copied_columns(table, policy.unit_kind),
                ranked_rows(table, DIALECT),
            )
            for table in policy.tables.values()
        }


def login_of(policy: Policy) -> Login:
    """The database of all private tables: the policy has one (`policy.engines`)."""
    login = next(iter(policy.private_tables.values())).source.login
    assert login is not None
    return login


def session(policy: Policy, secret: str, label: str, *, writes: bool = False) -> Connection[Any]:
    """A connection in which names are those of the owner's schema; nothing is written unless told otherwise."""
    try:
        connection = connect(login_of(policy), policy.folder, 'use engine = "duckdb"')
    except ConnectionFailedError as failure:
        raise SourceError(label, failure.reason, failure.fix) from None
    try:
        if connection.info.server_version < OLDEST * 10_000:
            raise SourceError(label, f"the server is older than PostgreSQL {OLDEST}", 'use engine = "duckdb"')
        settings = {
            **{key: value.strip("'") for key, value in SETTINGS.items()},
            "search_path": identifier(policy.engine_schema),
            "standard_conforming_strings": "on",
            "default_transaction_read_only": "off" if writes else "on",
            "discreet.secret": key_of(policy, secret),
        }
        for key, value in settings.items():
            connection.execute("SELECT set_config(%s, %s, false)", (key, value))
    except BaseException:
        connection.close()
        raise
    return connection


@contextmanager
def making(policy: Policy, secret: str, label: str, tables: Iterable[Table] = ()) -> Iterator[Connection[Any]]:
    """A transaction of one moment that may write into the owner's schema, one at a time.

    Sources are locked before the moment is chosen, against being emptied or rewritten; nobody else has to wait.
    """
    with closing(session(policy, secret, label, writes=True)) as connection:
        from psycopg import Error

        try:
            connection.execute("SELECT pg_advisory_lock(%s)", (MAKING,))
            _demand_own(connection, policy, label)
            lockable = list(_lockable(connection, tables))
            connection.execute(f"BEGIN ISOLATION LEVEL REPEATABLE READ; SET LOCAL work_mem = '{SORTING}'".encode())
            for schema, table in lockable:
                connection.execute(f"LOCK TABLE {name(schema)}.{name(table)} IN ACCESS SHARE MODE".encode())
            yield connection
            connection.execute("COMMIT")
        except Error as error:
            raise SourceError(label, *REASONS.get(error.sqlstate or "", INTERRUPTED)) from None


def _lockable(connection: Connection[Any], tables: Iterable[Table]) -> Iterator[tuple[str, str]]:
    for table in tables:
        schema, label = read_table(table.source.table or "")
        if connection.execute(_LOCKABLE, (schema, label)).fetchall():
            yield schema, label


def _demand_own(connection: Connection[Any], policy: Policy, label: str) -> None:
    """Raise unless the schema is there, this role's own, and nobody else may enter it."""
    schema = policy.engine_schema
    held = connection.execute(_SCHEMA, (schema,)).fetchall()
    if not held:
        fix = f"CREATE SCHEMA {name(schema)} AUTHORIZATION the role that reads, or name another with engine_schema"
        raise SourceError(label, f"there is no schema {schema} in the database", fix)
    ((own, others),) = held
    if not own:
        raise SourceError(
            label, f"the schema {schema} is not this role's own", f"ALTER SCHEMA {name(schema)} OWNER TO it"
        )
    if others:
        fix = f"REVOKE ALL ON SCHEMA {name(schema)} FROM {others}"
        raise SourceError(label, f"others may enter the schema {schema}, where the private copy lies", fix)


def make(
    policy: Policy,
    names: Names,
    secret: str,
    public: Mapping[str, tuple[Mapping[str, str], list[tuple[Any, ...]]]],
    progress: Progress | None,
) -> None:
    """Make the copy: private tables from their sources, public ones of the rows that are given."""
    label = next(iter(policy.private_tables))
    with making(policy, secret, label, _there(policy)) as connection:
        moment = Snapshot(connection)
        relations = {table.name: moment.relation(table.name, table.source) for table in _there(policy)}
        _demand_apart(policy, relations)
        _drop(connection, names.all, lambda version: version == names.version)
        for text in functions():
            connection.execute(text.encode())
        for table in policy.tables.values():
            if progress is not None:
                progress(table.name, 0.0)
            held = identifier(names.table(policy, table.name))
            if table.is_public:
                _fill(connection, held, *public[table.name], table.name)
            else:
                rows = ranked(owned(policy, table, relations), table, policy.hashing)
                for text in created(names.table(policy, table.name), rows, table):
                    connection.execute(text.encode())
            connection.execute(f"ANALYZE {held}".encode())
            if progress is not None:
                progress(table.name, 1.0)


def forget(policy: Policy, secret: str, version: int) -> None:
    """Drop the tables of all other data versions: people who left the sources leave the schema as well."""
    names = Names.of(secret, version, "")
    with making(policy, secret, "state") as connection:
        _drop(connection, names.all, lambda other: other != version)


def _drop(connection: Connection[Any], prefix: str, which: Callable[[int], bool]) -> None:
    for (table,) in connection.execute(_TABLES, (prefix,)).fetchall():
        if which(int(table.removeprefix(prefix).partition("_")[0])):
            connection.execute(f"DROP TABLE IF EXISTS {identifier(table)}".encode())


def _there(policy: Policy) -> list[Table]:
    """The tables that lie in the database."""
    return [table for table in policy.tables.values() if table.source.login == login_of(policy)]


def _demand_apart(policy: Policy, relations: Mapping[str, Relation]) -> None:
    """Raise if rows that are private are also read as public ones, through partitions or views."""
    for public in _there(policy):
        for private in policy.private_tables.values():
            if public.is_public and relations[public.name].sources & relations[private.name].sources:
                reason = f"it reads rows of {private.name}, which is private"
                raise SourceError(public.name, reason, "copy what is public elsewhere")


def _fill(
    connection: Connection[Any], table: str, columns: Mapping[str, str], rows: list[tuple[Any, ...]], label: str
) -> None:
    """Write a public table."""
    typed = ", ".join(
        f"{identifier(column)} {NAMES[KINDS[kind]]}{COLLATED if kind == 'VARCHAR' else ''}"
        for column, kind in columns.items()
    )
    connection.execute(f"CREATE TABLE {table} ({typed})".encode())
    if not columns:
        return
    if any(isinstance(value, str) and "\0" in value for row in rows for value in row):
        raise SourceError(label, "a text holds the character 0, which PostgreSQL cannot", "remove it from the source")
    with connection.cursor() as cursor, cursor.copy(f"COPY {table} FROM STDIN".encode()) as copy:
        for row in rows:
            copy.write_row(row)


_SCHEMA: Final = """
    SELECT n.nspowner = (SELECT oid FROM pg_roles WHERE rolname = current_user),
        (SELECT string_agg(DISTINCT CASE WHEN a.grantee = 0 THEN 'PUBLIC' ELSE a.grantee::regrole::text END, ', ')
         FROM aclexplode(n.nspacl) AS a WHERE a.grantee <> n.nspowner)
    FROM pg_namespace AS n WHERE n.nspname = %s
"""
_TABLES: Final = """
    SELECT c.relname::text FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
    WHERE n.nspname = current_schema() AND c.relkind IN ('r', 'p') AND starts_with(c.relname::text, %s)
    ORDER BY c.relkind
"""
"""Those made of parts first: with them their parts are dropped."""
_LOCKABLE: Final = """
    SELECT 1 FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
    WHERE n.nspname = %s AND c.relname = %s AND c.relkind IN ('r', 'p')
    AND has_schema_privilege(n.oid, 'USAGE') AND has_table_privilege(c.oid, 'SELECT')
"""
