"""What is public about the tables of a policy, as PostgreSQL's catalogue has it: a database of its own in memory.

It holds what the policy declares (names, types, bounds in words) and nothing else: no rows, no counts, nothing that
was read from data. Queries about it are read by `translation`, and only what that wrote is run here.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import duckdb

from discreet.answers.facts import Facts, column_words, limits_words
from discreet.curator.curator import Curator
from discreet.engines.connection import connect, lock_up
from discreet.engines.session import Session, running
from discreet.policy import Kind
from discreet.quoting import literal, name
from discreet.server.wire import types
from discreet.server.wire.problems import Failed
from discreet.server.wire.protocol import Field
from discreet.server.wire.relations import INFORMATION_SCHEMA, PG_CATALOG, columns_of
from discreet.server.wire.settings import KNOWN

MEMORY: Final = "64MB"
SECONDS: Final = 5.0
MOST_ROWS: Final = 20_000
MOST_CHARACTERS: Final = 2**22
"""Of all texts of an answer. Rows are fetched in portions: a text of a client may stand in each of them."""
PORTION: Final = 16
MAX_CACHED: Final = 16
"""Catalogues that wait for the next question: one for each policy and set of datasets that a token opens."""
SCHEMAS: Final = {"pg_catalog": (PG_CATALOG, "pg"), "information_schema": (INFORMATION_SCHEMA, "info")}
"""Where PostgreSQL has relations, and the schema that they have here."""
OWNER: Final = "discreet"
NAMESPACES: Final = {"pg_catalog": 11, "public": 2200, "information_schema": 13000}
CLASSES: Final = {
    "pg_attribute": 1249, "pg_class": 1259, "pg_constraint": 2606, "pg_database": 1262, "pg_extension": 3079,
    "pg_index": 2610, "pg_namespace": 2615, "pg_proc": 1255, "pg_rewrite": 2618, "pg_trigger": 2620, "pg_type": 1247,
}  # fmt: skip
"""Relations of the catalogue that are named where something is described."""
FIRST_TABLE: Final = 16384
FIRST_DATABASE: Final = 16000
COLLATION: Final = 100
ARRAYS: Final = {16: 1000, 20: 1016, 21: 1005, 23: 1007, 25: 1009, 26: 1028, 114: 199, 700: 1021, 701: 1022, 1043: 1015,
                 1082: 1182, 1114: 1115, 1184: 1185, 1700: 1231, 19: 1003, 18: 1002}  # fmt: skip
BASE: Final = {
    16: ("bool", 1, "B"), 17: ("bytea", -1, "U"), 18: ("char", 1, "Z"), 19: ("name", 64, "S"), 20: ("int8", 8, "N"),
    21: ("int2", 2, "N"), 23: ("int4", 4, "N"), 25: ("text", -1, "S"), 26: ("oid", 4, "N"), 114: ("json", -1, "U"),
    700: ("float4", 4, "N"), 701: ("float8", 8, "N"), 1042: ("bpchar", -1, "S"), 1043: ("varchar", -1, "S"),
    1082: ("date", 4, "D"), 1083: ("time", 8, "D"), 1114: ("timestamp", 8, "D"), 1184: ("timestamptz", 8, "D"),
    1186: ("interval", 16, "T"), 1700: ("numeric", -1, "N"), 2950: ("uuid", 16, "U"), 3802: ("jsonb", -1, "U"),
}  # fmt: skip
"""Types: their names, sizes and categories."""
MACROS: Final = (
    "object_name(x) AS regexp_replace(replace(x, '\"', ''), '^(pg_catalog|public|information_schema)\\.', '')",
    "to_class(x) AS (SELECT min(c.oid) FROM pg.classes c WHERE c.relname = object_name(x))",
    "class_name(x) AS (SELECT min(c.relname) FROM pg.classes c WHERE c.oid = x)",
    "to_type(x) AS (SELECT min(t.oid) FROM pg.pg_type t WHERE object_name(x) IN (t.typname, format_type(t.oid)))",
    "to_namespace(x) AS (SELECT min(n.oid) FROM pg.pg_namespace n WHERE n.nspname = object_name(x))",
    "namespace_name(x) AS (SELECT min(n.nspname) FROM pg.pg_namespace n WHERE n.oid = x)",
    "col_description(x, n) AS (SELECT min(description) FROM pg.pg_description WHERE objoid = x AND objsubid = n)",
    "obj_description(x) AS col_description(x, 0)",
    "series(a, b) AS generate_series(a, CASE WHEN b - a < 10000 THEN b ELSE error('too long')::BIGINT END)",
    "swapped(x, a, b) AS replace(left(x, 1000), a, left(b, 1000))",
    "quote_ident(x) AS '\"' || swapped(x, '\"', '\"\"') || '\"'",
)
"""What functions of PostgreSQL need beside constants. Texts that `replace` makes are no part of the memory that DuckDB
counts, and one in another would grow without an end: names are shorter than what is left of them."""


REPEATING: Final = frozenset({"format_type", "series"})
"""Those that name their argument more than once: none stands in another, where it would be a hundred thousand."""


@dataclass(frozen=True, slots=True)
class Table:
    """What a query about the catalogue answers."""

    fields: tuple[Field, ...]
    rows: list[tuple[Any, ...]]


class Catalogue(Session):
    """The catalogue of one dataset, as one that opens these datasets may see it."""

    def __init__(self, tables: Mapping[str, Facts], database: str, databases: Sequence[str]) -> None:
        self._tables, self._database, self._databases = tables, database, databases
        super().__init__()

    def _opened(self) -> duckdb.DuckDBPyConnection:
        connection = connect(threads=1, memory_limit=MEMORY)
        inserted = (_inserted(relation, rows) for relation, rows in self._contents() if rows)
        connection.execute(";\n".join(["BEGIN", *_schemas(), *self._macros(), *inserted, "COMMIT"]))
        lock_up(connection)
        return connection

    def ask(self, text: str) -> Table:
        """What a text answers that `translation` wrote."""
        try:
            return self._asked(lambda alive: _table(alive, text, SECONDS))
        except duckdb.InterruptException:
            raise Failed("57014", "this takes too long for a question about the catalogue", code="cancelled") from None
        except duckdb.Error:
            raise Failed(
                "0A000",
                "this question about the catalogue is not understood",
                "see information_schema.tables and information_schema.columns",
            ) from None

    @staticmethod
    def _macros() -> Iterator[str]:
        names = " ".join(f"WHEN {oid} THEN {literal(text)}" for oid, text in types.NAMES.items())
        lists = " ".join(f"WHEN {ARRAYS[oid]} THEN {literal(types.NAMES[oid] + '[]')}" for oid in ARRAYS)
        yield f"CREATE MACRO format_type(x) AS CASE x WHEN NULL THEN NULL {names} {lists} ELSE '???' END"
        classes = ", ".join(f"({oid}, {literal(relation)})" for relation, oid in CLASSES.items())
        yield (
            "CREATE VIEW pg.classes AS SELECT oid, relname FROM pg.pg_class "
            f"UNION ALL SELECT * FROM (VALUES {classes}) AS c(oid, relname)"
        )
        yield from (f"CREATE MACRO {macro}" for macro in MACROS)

    def _contents(self) -> Iterator[tuple[str, list[dict[str, Any]]]]:
        """The rows of the relations that have some."""
        yield "pg.pg_namespace", [{"oid": oid, "nspname": each, "nspowner": 10} for each, oid in NAMESPACES.items()]
        yield "pg.pg_roles", [{"oid": 10, "rolname": OWNER, "rolinherit": True, "rolconnlimit": -1, **_NOTHING_GRANTED}]
        yield "pg.pg_am", [{"oid": 2, "amname": "heap", "amtype": "t"}, {"oid": 403, "amname": "btree", "amtype": "i"}]
        yield "pg.pg_tablespace", [{"oid": 1663, "spcname": "pg_default", "spcowner": 10}]
        yield "pg.pg_collation", [{"oid": COLLATION, "collname": "default", "collnamespace": 11, "collprovider": "d"}]
        yield "pg.pg_settings", [{"name": each, "setting": known.value} for each, known in KNOWN.items()]
        yield "pg.pg_database", [self._database_row(index, each) for index, each in enumerate(self._databases)]
        yield "pg.pg_type", [*_type_rows()]
        yield (
            "info.schemata",
            [{"catalog_name": self._database, "schema_name": each, "schema_owner": OWNER} for each in NAMESPACES],
        )
        for index, facts in enumerate(self._tables.values()):
            yield from self._table(FIRST_TABLE + index, facts)

    @staticmethod
    def _database_row(index: int, database: str) -> dict[str, Any]:
        return {
            "oid": FIRST_DATABASE + index, "datname": database, "datdba": 10, "encoding": 6, "datlocprovider": "c",
            "datistemplate": False, "datallowconn": True, "datconnlimit": -1, "dattablespace": 1663,
            "datcollate": "C", "datctype": "C",
        }  # fmt: skip

    def _table(self, oid: int, facts: Facts) -> Iterator[tuple[str, list[dict[str, Any]]]]:
        where = {"table_catalog": self._database, "table_schema": "public", "table_name": facts.name}
        columns = list(facts.columns.values())
        yield "pg.pg_class", [_class_row(oid, facts.name, len(columns))]
        yield "pg.pg_tables", [{"schemaname": "public", "tablename": facts.name, "tableowner": OWNER, **_NO_PARTS}]
        yield "info.tables", [{**where, "table_type": "BASE TABLE", "is_insertable_into": "NO", "is_typed": "NO"}]
        described = [limits_words(facts), *(column_words(column, facts) for column in columns)]
        yield (
            "pg.pg_description",
            [
                {"objoid": oid, "classoid": CLASSES["pg_class"], "objsubid": number, "description": text}
                for number, text in enumerate(described)
                if text
            ],
        )
        pairs = list(enumerate(columns, 1))
        yield "pg.pg_attribute", [_attribute_row(oid, number, each.name, each.kind) for number, each in pairs]
        yield "info.columns", [{**where, **_column_row(number, each.name, each.kind)} for number, each in pairs]


_NOTHING_GRANTED: Final = dict.fromkeys(
    ("rolsuper", "rolcreaterole", "rolcreatedb", "rolcanlogin", "rolreplication", "rolbypassrls"), False
)
_NO_PARTS: Final = dict.fromkeys(("hasindexes", "hasrules", "hastriggers", "rowsecurity"), False)


def _class_row(oid: int, table: str, columns: int) -> dict[str, Any]:
    """How many rows there are is not told: -1, as of a table that was never looked at."""
    false = ("relhasindex", "relisshared", "relhasrules", "relhastriggers", "relhassubclass", "relrowsecurity",
             "relforcerowsecurity", "relispartition")  # fmt: skip
    zero = ("reltype", "reloftype", "relfilenode", "reltablespace", "relpages", "relallvisible", "reltoastrelid",
            "relchecks", "relrewrite", "relfrozenxid", "relminmxid")  # fmt: skip
    return {
        **dict.fromkeys(false, False), **dict.fromkeys(zero, 0),
        "oid": oid, "relname": table, "relnamespace": NAMESPACES["public"], "relowner": 10, "relam": 2,
        "reltuples": -1.0, "relpersistence": "p", "relkind": "r", "relnatts": columns, "relispopulated": True,
        "relreplident": "d",
    }  # fmt: skip


def _attribute_row(table: int, number: int, column: str, kind: Kind) -> dict[str, Any]:
    oid = types.OF_KINDS[kind]
    false = ("attnotnull", "atthasdef", "atthasmissing", "attisdropped", "attbyval")
    return {
        **dict.fromkeys(false, False),
        "attrelid": table, "attname": column, "atttypid": oid, "attstattarget": -1, "attlen": types.SIZES.get(oid, -1),
        "attnum": number, "attndims": 0, "attcacheoff": -1, "atttypmod": -1, "attalign": "i", "attstorage": "p",
        "attcompression": "", "attidentity": "", "attgenerated": "", "attislocal": True, "attinhcount": 0,
        "attcollation": COLLATION if oid == types.TEXT else 0,
    }  # fmt: skip


def _column_row(number: int, column: str, kind: Kind) -> dict[str, Any]:
    oid = types.OF_KINDS[kind]
    return {
        "column_name": column, "ordinal_position": number, "is_nullable": "YES", "data_type": types.NAMES[oid],
        "udt_schema": "pg_catalog", "udt_name": BASE[oid][0], "dtd_identifier": str(number), "is_identity": "NO",
        "is_generated": "NEVER", "is_updatable": "NO", "is_self_referencing": "NO",
    }  # fmt: skip


def _type_rows() -> Iterator[dict[str, Any]]:
    same = {"typnamespace": 11, "typowner": 10, "typtype": "b", "typispreferred": False, "typisdefined": True,
            "typdelim": ",", "typrelid": 0, "typnotnull": False, "typbasetype": 0, "typtypmod": -1, "typndims": 0,
            "typbyval": False}  # fmt: skip
    for oid, (each, size, category) in BASE.items():
        texts = {"typcollation": COLLATION if category == "S" else 0, "typinput": f"{each}in"}
        array = ARRAYS.get(oid, 0)
        yield {**same, **texts, "oid": oid, "typname": each, "typlen": size, "typcategory": category, "typelem": 0,
               "typarray": array}  # fmt: skip
        if array:
            lists = {"typcategory": "A", "typelem": oid, "typarray": 0, "typinput": "array_in", "typcollation": 0}
            yield {**same, **lists, "oid": array, "typname": f"_{each}", "typlen": -1}


def _schemas() -> Iterator[str]:
    for relations, schema in SCHEMAS.values():
        yield f"CREATE SCHEMA {schema}"
        for relation, columns in relations.items():
            written = ", ".join(f"{name(column)} {kind}" for column, kind in columns_of(columns).items())
            yield f"CREATE TABLE {schema}.{relation} ({written})"


def _inserted(relation: str, rows: list[dict[str, Any]]) -> str:
    """Rows of one form."""
    columns = list(rows[0])
    values = ", ".join(f"({', '.join(literal(row[column]) for column in columns)})" for row in rows)
    return f"INSERT INTO {relation} ({', '.join(map(name, columns))}) VALUES {values}"


def _table(connection: duckdb.DuckDBPyConnection, text: str, seconds: float | None) -> Table:
    def fetched(cursor: Any) -> Table:
        cursor.execute(text)
        rows = _fetched(cursor)
        described = [(str(column[0]), str(column[1])) for column in cursor.description]
        return Table(tuple(types.field(label, _oid(kind)) for label, kind in described), rows)

    return running(connection, seconds, fetched)


def _fetched(cursor: Any) -> list[tuple[Any, ...]]:
    """All rows, or a refusal: so many, and so much text."""
    rows: list[tuple[Any, ...]] = []
    size = 0
    while portion := cursor.fetchmany(PORTION):
        rows += portion
        size += sum(len(str(cell)) for row in portion for cell in row if not isinstance(cell, bool | int | float))
        if len(rows) > MOST_ROWS:
            raise Failed("54000", f"questions about the catalogue have at most {MOST_ROWS} rows", code="too-large")
        if size > MOST_CHARACTERS:
            raise Failed("54000", "the answer to this question about the catalogue is too long", code="too-large")
    return rows


OIDS: Final = {
    "BOOLEAN": types.BOOL, "TINYINT": types.INT2, "SMALLINT": types.INT2, "INTEGER": types.INT4, "BIGINT": types.INT8,
    "HUGEINT": types.NUMERIC, "DOUBLE": types.FLOAT8, "FLOAT": types.FLOAT8, "DATE": types.DATE,
    "TIMESTAMP": types.TIMESTAMP, "TIMESTAMP WITH TIME ZONE": types.TIMESTAMPTZ, "VARCHAR[]": types.TEXTS,
    "BIGINT[]": types.INT8S, "BOOLEAN[]": types.BOOLS, "JSON": types.JSON,
}  # fmt: skip


def _oid(kind: str) -> int:
    return types.NUMERIC if kind.startswith("DECIMAL") else OIDS.get(kind, types.TEXT)


class Catalogues:
    """The catalogues that were asked for lately."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._cached: OrderedDict[object, tuple[Curator, Catalogue]] = OrderedDict()

    def of(self, curator: Curator, database: str, databases: Sequence[str]) -> Catalogue:
        """That of a policy as it is now, for somebody who may open these datasets."""
        key = database, tuple(databases)
        with self._lock:
            known, made = self._cached.get(key, (None, None))
            if made is not None and known is curator:
                self._cached.move_to_end(key)
                return made
        made = Catalogue(curator.tables(), database, databases)
        with self._lock:
            self._cached[key] = curator, made
            while len(self._cached) > MAX_CACHED:
                self._cached.popitem(last=False)  # it is closed with its last reader
        return made

    def close(self) -> None:
        with self._lock:
            closing, self._cached = list(self._cached.values()), OrderedDict()
        for _, each in closing:
            each.close()
