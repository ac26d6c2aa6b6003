"""Texts that were not written to get an answer: a refusal with a stable code, or a legitimate answer, and nothing else.

Whatever is refused cost nothing and read nothing private, and no text of the data is in any message.
"""
# ruff: noqa: E501 (a question is one line)

from __future__ import annotations

import faulthandler
import random
import signal
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import pytest

from discreet.answers import Answer
from discreet.curator.curator import Curator
from discreet.engines.memory import Memory
from discreet.errors import Refused
from tests.budget import later
from tests.sql import tiny
from tests.sql.bombs import bombed, fanned
from tests.sql.fixtures import ANSWERED, REFUSED
from tests.sql.test_fixes import CODES
from tests.sql.worlds import ledger_of

CANARY = "cAnArY"
PRIVATE = ('"visits"', '"patients"', '"labs"', '"beds"', "discreet_source")
PATIENCE = 120
"""Seconds of the processor: by the clock, a busy machine was a hang."""


@pytest.fixture(autouse=True)
def _no_hang() -> Iterator[None]:
    """Two minutes without an end are a hang: say where, and die."""
    faulthandler.register(signal.SIGPROF, file=sys.__stderr__ or 2, chain=True)
    signal.setitimer(signal.ITIMER_PROF, PATIENCE)
    yield
    signal.setitimer(signal.ITIMER_PROF, 0)
    faulthandler.unregister(signal.SIGPROF)


class Guarded(Memory):
    """Notes whether anything private was read."""

    reads = 0

    def execute(self, text: str, seconds: float | None = None) -> list[tuple[Any, ...]]:
        self.reads += any(table in text for table in PRIVATE)
        return super().execute(text, seconds)


class World:
    """The tiny hospital with canaries in every private text, real noise, and a ledger that never runs out."""

    def __init__(self, curator: Curator, engine: Guarded) -> None:
        self.curator = curator
        self.engine = engine

    def preview(self, text: Any, **more: Any) -> str:
        """The code of the refusal, or nothing."""
        reads = self.engine.reads
        code = ""
        try:
            self.curator.preview(text, epsilon=1, **more)
        except Refused as refused:
            code = self._checked(refused)
        assert self.engine.reads == reads, "a preview read private rows"
        return code

    def query(self, text: Any, **more: Any) -> str:
        """The code of the refusal, or nothing; refusals cost and read nothing."""
        charges, reads = self.curator.count(), self.engine.reads
        try:
            answer = self.curator.query(text, epsilon=1, fresh=True, **more)
        except Refused as refused:
            assert (self.curator.count(), self.engine.reads) == (charges, reads)
            return self._checked(refused)
        assert isinstance(answer, Answer)
        assert CANARY not in repr(answer.rows)
        assert not any(isinstance(value, float) and value != value for row in answer.rows for value in row)
        return ""

    @staticmethod
    def _checked(refused: Refused) -> str:
        assert refused.code in CODES
        told = str(refused)
        assert CANARY not in told
        assert refused.__cause__ is None
        assert refused.__context__ is None or refused.__suppress_context__
        assert "Traceback" not in told
        assert len(told) < 2_000
        told.encode()
        return refused.code


def _with_canaries(data: Mapping[str, Sequence[tiny.Row]]) -> dict[str, list[tiny.Row]]:
    texts = {"note", "city", "w"}
    return {
        name: [
            {label: f"{CANARY}{value}" if label in texts and value else value for label, value in row.items()}
            for row in rows
        ]
        for name, rows in data.items()
    }


@contextmanager
def _opened(variant: str) -> Iterator[World]:
    policy = tiny.policy(variant)
    engine = Guarded(policy, _with_canaries(tiny.DATA))
    with ledger_of(policy) as ledger:
        yield World(Curator(policy, ledger, engine=engine), engine)
    engine.close()


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    with _opened("pure") as found:
        yield found


@pytest.fixture(scope="module")
def worlds(world: World) -> Iterator[list[World]]:
    with _opened("delta") as other:
        yield [world, other]


# written by hand

STATEMENTS = (
    "PRAGMA database_list", "PRAGMA table_info('visits')", "ATTACH 'x.db' AS x", "DETACH private", "COPY visits TO 'x.csv'",
    "COPY (SELECT * FROM visits) TO 'x.csv'", "COPY visits FROM 'x.csv'", "SET threads = 1", "SET enable_external_access = true",
    "RESET threads", "CALL duckdb_tables()", "INSTALL httpfs", "LOAD httpfs", "FORCE INSTALL httpfs", "EXPORT DATABASE 'x'",
    "IMPORT DATABASE 'x'", "CREATE TABLE x AS SELECT 1", "CREATE MACRO f(a) AS a", "CREATE OR REPLACE MACRO discreet_secret() AS 'x'",
    "CREATE FUNCTION f() AS 1", "CREATE VIEW v AS SELECT * FROM visits", "DROP TABLE visits", "ALTER TABLE visits ADD COLUMN x INT",
    "INSERT INTO visits VALUES (1)", "UPDATE visits SET cost = 0", "DELETE FROM visits", "TRUNCATE visits", "MERGE INTO visits USING labs ON 1=1 WHEN MATCHED THEN DELETE",
    "BEGIN", "COMMIT", "ROLLBACK", "CHECKPOINT", "VACUUM", "ANALYZE", "EXPLAIN SELECT COUNT(*) FROM visits", "EXPLAIN ANALYZE SELECT COUNT(*) FROM visits",
    "DESCRIBE visits", "DESCRIBE SELECT * FROM visits", "SUMMARIZE visits", "SHOW TABLES", "SHOW ALL TABLES", "USE private", "FROM visits", "TABLE visits", "VALUES (1)",
    "PREPARE p AS SELECT * FROM visits", "EXECUTE p", "DEALLOCATE p", "PIVOT visits ON ward", "UNPIVOT visits ON cost", "GRANT ALL ON visits TO eve",
    "SELECT COUNT(*) FROM visits; DROP TABLE visits", "SELECT COUNT(*) FROM visits; SELECT * FROM visits", "; ; DROP TABLE visits", "SELECT * INTO x FROM visits",
    "COMMENT ON TABLE visits IS 'x'", "KILL 1", "LOCK TABLE visits", "DECLARE c CURSOR FOR SELECT * FROM visits", "EXPLAIN PRIVACY DROP TABLE visits", "EXPLAIN PRIVACY EXPLAIN PRIVACY SELECT COUNT(*) FROM visits",
)  # fmt: skip

TABLE_FUNCTIONS = (
    "read_csv", "read_csv_auto", "sniff_csv", "read_parquet", "parquet_scan", "parquet_metadata", "parquet_schema", "parquet_file_metadata",
    "parquet_kv_metadata", "read_json", "read_json_auto", "read_json_objects", "read_ndjson", "read_ndjson_objects", "read_text", "read_blob", "glob", "duckdb_tables",
    "duckdb_columns", "duckdb_views", "duckdb_settings", "duckdb_secrets", "duckdb_functions", "duckdb_databases", "duckdb_schemas", "duckdb_types",
    "duckdb_memory", "duckdb_logs", "duckdb_extensions", "duckdb_constraints", "duckdb_indexes", "duckdb_sequences", "duckdb_temporary_files", "duckdb_variables",
    "pragma_table_info", "pragma_database_size", "pragma_storage_info", "pragma_show", "pragma_version", "pragma_user_agent", "range", "generate_series", "unnest", "repeat",
    "repeat_row", "query", "query_table", "test_all_types", "icu_calendar_names", "seq_scan", "arrow_scan", "pandas_scan", "python_map_function", "sqlite_scan", "postgres_scan",
    "postgres_query", "mysql_scan", "iceberg_scan", "delta_scan", "st_read", "summary", "json_each", "json_tree", "from_substrait", "which_secret", "checkpoint", "force_checkpoint",
)  # fmt: skip

TABLES = (
    "'x.parquet'", "'/etc/passwd'", '"x.parquet"', '"../secret"', '"/etc/passwd"', "'https://example.org/x.csv'", "information_schema.tables", "information_schema.columns",
    "sqlite_master", "pg_catalog.pg_tables", "pg_class", "duckdb_tables", "main.visits", "private.visits", "memory.main.visits", "system.information_schema.tables",
    "discreet_source.visits", '"discreet_source"."visits"', "discreet_released_0", "discreet_released_1", '"discreet_released_0"', "_discreet_unit", '"vis""its"', '"visits"";--"',
    "visits.visits", "temp.visits", "(VALUES (1)) AS t(a)", "LATERAL (SELECT 1)", "(TABLE visits)", "(FROM visits)", "ONLY visits", "visits@v1", "visits AT (VERSION => 1)",
    "visits FOR SYSTEM_TIME AS OF '2020-01-01'", "visits TABLESAMPLE 1 ROWS", "visits USING SAMPLE 1", "visits PIVOT (COUNT(*) FOR ward IN ('A'))", "visits.*", "visits()", "visits(1)",
    "{{ visits }}", "{% visits %}", "$$visits$$", "`visits`.`x`", "@visits", "#visits", "visits WITH ORDINALITY", "UNNEST([1, 2])", "TABLE(visits)", "visits WITH (NOLOCK)",
)  # fmt: skip

ITEMS = (
    "discreet_secret()", "DISCREET_SECRET()", '"discreet_secret"()', "main.discreet_secret()", "_discreet_unit", '"_discreet_unit"', "_discreet_row", "rowid", "visits.rowid", "COUNT(rowid)", "COUNT(_discreet_unit)",
    "COUNT(DISTINCT _discreet_unit)", "MAX(_discreet_unit)", "MIN(patient)", "MAX(patient)", "MODE(patient)", "COUNT(patient)", "HISTOGRAM(patient, 3)", "ANY_VALUE(patient)", "LIST(patient)", "ARRAY_AGG(note)", "STRING_AGG(note)",
    "FIRST(note)", "LAST(note)", "MIN(note)", "MAX(note)", "ARG_MAX(note, cost)", "MAX_BY(note, cost)", "DISCREET_BOUNDED(COUNT(*))",
    "DISCREET_BOUNDED(note, 'contribution_bounds_per_row', 0, 1)", "DISCREET_BOUNDED()", "DISCREET_BOUNDED(1, 2, 3, 4)", "DISCREET_BOUNDED(DISCREET_BOUNDED(SUM(cost), 'a', 0, 1), 'b', 0, 1)", "DISCREET_BOUNDED(SUM(cost), note, 0, 1)",
    "DISCREET_BOUNDED(SUM(cost), 'contribution_bounds_per_group', COUNT(*), 9)", "SUM(cost, contribution_bounds_per_group => (0, (SELECT MAX(cost) FROM visits)))", "SUM(cost, contribution_bounds_per_group => ())", "SUM(cost, contribution_bounds_per_group =>",
    "SUM(cost, contribution_bounds_per_group => (0, 'inf'))", "SUM(cost, contribution_bounds_per_group => (5, 1))", "SUM(cost, contribution_bounds_per_group => (0, 1), contribution_bounds_per_row => (0, 1))", "(1, contribution_bounds_per_row => (0, 1))",
    "getenv('HOME')", "current_setting('threads')", "version()", "current_user", "current_database()", "random()", "uuid()", "current_time", "localtime", "pg_sleep(10)", "sleep(10)", "txid_current()", "nextval('s')", "error('x')", "hash(note)", "md5(note)",
    "write_log('x')", "getvariable('x')", "set_config('threads', '1')", "regexp_matches(note, '(a+)+$')", "COUNT_IF(regexp_matches(note, '(a+)+b'))", "SUM(cost) OVER ()", "COUNT(*) OVER (PARTITION BY patient)", "SUM(SUM(cost))", "SUM(COUNT(*))", "AVG(DISTINCT cost)",
    "COUNT(DISTINCT patient, ward)", "COUNT(DISTINCT *)", "COUNT(visits.*)", "COUNT(* EXCLUDE (ward))", "COLUMNS('.*')", "COUNT(COLUMNS(*))", "visits", "COUNT(visits)", "STRUCT_PACK(a := note)", "{'a': note}", "[note]", "note[1]", "ROW(note)", "CAST(note AS BLOB)", "note::UUID",
    "note COLLATE NOCASE", "COUNT(*) FILTER (WHERE EXISTS (SELECT 1 FROM patients))", "x -> 1", "LIST_TRANSFORM([1], x -> x + 1)", "COUNT(*) WITHIN GROUP (ORDER BY cost)", "PERCENTILE_CONT(cost)", "PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY cost DESC)", "MODE() WITHIN GROUP (ORDER BY note)",
    "DP_INTERVAL_LOW(note)", "DP_INTERVAL_LOW(patient)", "DP_INTERVAL_HIGH(COUNT(*))", "DP_INTERVAL_LOW()", "COUNT(*) AS _discreet_unit", 'COUNT(*) AS "a""b"', "COUNT(*) AS k0", "COUNT(*) AS place", "1e999", "1e-999", "1_000", "0x1F", "9" * 400, "1." + "0" * 400 + "1", "'", '"', "$$", "E'\\x41'", "U&'\\0041'",
    "INTERVAL 1 DAY", "day + INTERVAL 1 DAY", "DATE 'infinity'", "DATE '9999-99-99'", "TIMESTAMP '2024-01-01 00:00:00+02'", "CASE END", "CASE WHEN END", "NOT", "COUNT", "COUNT(", "COUNT)", "COUNT(*) COUNT(*)", ",", "*,*", "@@version", "?", "$1", ":x", "%s", "COUNT(*) IS DISTINCT FROM 1", "TRY(note)", "IF(1)",
)  # fmt: skip

REST = (
    "SELECT COUNT(*) FROM visits WHERE ward = 'A' OR 1 = 1 --", "SELECT COUNT(*) FROM visits /* open", "SELECT COUNT(*) FROM visits -- \n; DROP TABLE visits", "SELECT/**/COUNT(*)/**/FROM/**/visits",
    "WITH RECURSIVE r AS (SELECT 1 UNION ALL SELECT 1 FROM r) SELECT COUNT(*) FROM r", "WITH r AS (SELECT * FROM r) SELECT COUNT(*) FROM r", "WITH visits AS (SELECT * FROM visits) SELECT COUNT(*) FROM visits",
    "WITH a AS (SELECT * FROM visits), a AS (SELECT * FROM labs) SELECT COUNT(*) FROM a", "WITH a(x) AS (SELECT ward FROM visits) SELECT COUNT(*) FROM a", "WITH a AS MATERIALIZED (SELECT ward FROM visits) SELECT COUNT(*) FROM a",
    "WITH x AS (DELETE FROM visits RETURNING *) SELECT COUNT(*) FROM x", "SELECT COUNT(*) FROM visits WHERE patient IN ('p1')", "SELECT COUNT(*) FROM visits WHERE patient IS NULL", "SELECT COUNT(*) FROM visits WHERE (patient) = patient",
    "SELECT COUNT(*) FROM visits a JOIN visits b ON a.patient = a.patient", "SELECT COUNT(*) FROM visits a JOIN visits b ON CAST(a.patient AS INT) = b.patient", "SELECT COUNT(*) FROM visits a JOIN visits b ON LOWER(a.patient) = b.patient",
    "SELECT COUNT(*) FROM visits a JOIN visits b ON a.patient <> b.patient", "SELECT COUNT(*) FROM visits a JOIN visits b ON NOT a.patient = b.patient", "SELECT COUNT(*) FROM visits a ASOF JOIN visits b ON a.patient = b.patient AND a.day >= b.day",
    "SELECT COUNT(*) FROM visits a POSITIONAL JOIN visits b", "SELECT COUNT(*) FROM visits a SEMI JOIN visits b ON a.patient = b.patient", "SELECT COUNT(*) FROM visits a ANTI JOIN visits b ON a.patient = b.patient", "SELECT COUNT(*) FROM visits a JOIN LATERAL (SELECT 1) b ON TRUE",
    "SELECT COUNT(*) FROM wards FULL JOIN visits ON wards.ward = visits.ward", "SELECT COUNT(*) FROM visits, LATERAL (SELECT * FROM patients)", "SELECT COUNT(*) FROM visits GROUP BY patient", "SELECT COUNT(*) FROM visits GROUP BY ()", "SELECT COUNT(*) FROM visits GROUP BY 0",
    "SELECT COUNT(*) FROM visits GROUP BY -1", "SELECT COUNT(*) FROM visits GROUP BY 1.5", "SELECT COUNT(*) FROM visits GROUP BY 99999999999999999999", "SELECT ward, COUNT(*) FROM visits GROUP BY ward ORDER BY 99", "SELECT COUNT(*) FROM visits ORDER BY patient", "SELECT COUNT(*) FROM visits HAVING MAX(note) = 'x'",
    "SELECT COUNT(*) FROM visits LIMIT -1", "SELECT COUNT(*) FROM visits LIMIT (SELECT 1)", "SELECT COUNT(*) FROM visits LIMIT ALL", "SELECT COUNT(*) FROM visits LIMIT 10 PERCENT", "SELECT COUNT(*) FROM visits LIMIT 99999999999999999999999", "SELECT COUNT(*) FROM visits FETCH FIRST 1 ROWS ONLY", "SELECT COUNT(*) FROM visits FOR UPDATE",
    "SELECT COUNT(*) FROM visits WINDOW w AS (PARTITION BY patient)", "SELECT COUNT(*) FROM visits QUALIFY 1", "SELECT COUNT(*) FROM visits OPTION (RECOMPILE)", "SELECT TOP 1 COUNT(*) FROM visits", "SELECT ALL COUNT(*) FROM visits", "SELECT AS STRUCT COUNT(*) FROM visits", "SELECT FROM visits", "SELECT COUNT(*)", "SELECT COUNT(*) FROM",
    "SELECT WITH DIFFERENTIAL_PRIVACY", "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS", "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(", "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS() COUNT(*) FROM visits", "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon) COUNT(*) FROM visits", "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon =) COUNT(*) FROM visits",
    "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = 1, epsilon = 1) COUNT(*) FROM visits", "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = -1) COUNT(*) FROM visits",
    "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(max_groups_contributed = 0) COUNT(*) FROM visits", "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(max_rows_contributed = 1000000000000) COUNT(*) FROM visits", "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(max_rows_contributed = 999999999) COUNT(*) FROM visits", "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(privacy_unit_column = 'patient') COUNT(*) FROM visits",
    "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(privacy_unit_column = note) COUNT(*) FROM visits", "SELECT WITH DIFFERENTIAL_PRIVACY WITH DIFFERENTIAL_PRIVACY COUNT(*) FROM visits", "SELECT WITH ANONYMIZATION COUNT(*) FROM visits", "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(confidence = 1) COUNT(*) FROM visits", "SELECT 'WITH DIFFERENTIAL_PRIVACY' FROM wards",
    "SELECT COUNT(*) FROM visits UNION ALL SELECT COUNT(*) FROM labs", "(SELECT COUNT(*) FROM visits)", "((SELECT COUNT(*) FROM visits))", "SELECT (SELECT note FROM visits) FROM wards", "SELECT note FROM wards, visits", "SELECT ward FROM wards WHERE ward IN (SELECT note FROM visits)", "SELECT COUNT(*) FROM wards WHERE EXISTS (SELECT 1 FROM visits)",
    "SELECT (SELECT COUNT(*) FROM visits WHERE visits.ward = wards.ward) FROM wards", "SELECT MAX(note) FROM (SELECT note FROM visits)", "SELECT SUM(n) FROM (SELECT note, COUNT(*) AS n FROM visits GROUP BY note)", "SELECT COUNT(*) FROM visits WHERE note LIKE '\\", "SELECT COUNT(*) FROM visits WHERE note LIKE '%' ESCAPE ''",
    "SELECT COUNT(*) FROM visits WHERE note SIMILAR TO '(a|b)*'", "SELECT COUNT(*) FROM visits WHERE note ~ 'a'", "SELECT COUNT(*) FROM visits WHERE note GLOB '*'", "SELECT COUNT(*) FROM visits WHERE 1 / 0 > 1", "SELECT COUNT(*) FROM visits WHERE CAST(note AS INT) > 1", "SELECT COUNT(*) FROM visits WHERE NULL", "SELECT COUNT(*) FROM visits WHERE 1", "SELECT NULL, COUNT(*) FROM visits",
    "SELECT 'a', COUNT(*) FROM visits", "SELECT 'a' AS k, COUNT(*) FROM visits GROUP BY k", "SELECT NULL AS k, COUNT(*) FROM visits GROUP BY k", "SELECT 1 AS k, COUNT(*) FROM visits GROUP BY 1", "SELECT TRUE AS k, COUNT(*) FROM visits GROUP BY k", "SELECT (SELECT COUNT(*) FROM labs) AS k, COUNT(*) FROM visits GROUP BY k", "SELECT COUNT(*), COUNT(*), COUNT(*) FROM visits",
)  # fmt: skip

WRITTEN = (
    *STATEMENTS,
    *(f"SELECT COUNT(*) FROM {name}('x')" for name in TABLE_FUNCTIONS),
    *(f"SELECT * FROM {name}('visits')" for name in TABLE_FUNCTIONS),
    *(f"SELECT {name}('x') FROM visits" for name in TABLE_FUNCTIONS),
    *(f"SELECT COUNT(*) FROM {table}" for table in TABLES),
    *(f"SELECT {item} FROM visits" for item in ITEMS),
    *(f"SELECT ward, {item} FROM visits GROUP BY ward" for item in ITEMS),
    *(f"SELECT COUNT(*) FROM visits WHERE {item}" for item in ITEMS),
    *(f"SELECT ward, COUNT(*) FROM visits GROUP BY ward HAVING {item}" for item in ITEMS),
    *(f"SELECT ward, COUNT(*) FROM visits GROUP BY ward ORDER BY {item}" for item in ITEMS),
    *(f"SELECT {item} FROM wards" for item in ITEMS),
    *REST,
)
STRANGE = (
    "", " ", "\n", ";", ";;;", "--", "/**/", "\x00", "\x00SELECT COUNT(*) FROM visits", "SELECT COUNT(*)\x00FROM visits", "SELECT COUNT(*)\x0bFROM visits", "SELECT COUNT(*)\x7fFROM visits", "SELECT\u00a0COUNT(*)\u2003FROM\u3000visits",
    "SELECT COUNT(*) FROM vis\u200bits", "SELECT COUNT(*) FROM \uff56isits", "ＳＥＬＥＣＴ COUNT(*) FROM visits", "SELECT COUNT(*) FROM visits WHERE ward = '\ud800'", "\udfff", "SELECT COUNT(*) FROM visits\ufeff", "\ufeffSELECT COUNT(*) FROM visits", "SELECT COUNT(*) AS 😀 FROM visits", "😀", "SELECT 😀 FROM visits",
    "SELECT COUNT(*) FROM visits WHERE note = '\u202e'", "SELECT COUNT(*) FROM visits\r\n", "\tSELECT\tCOUNT(*)\tFROM\tvisits\t", "SELECT COUNT(*) FROM visits\x1a", "SELECT COUNT(*) FROM visits\x85", "SELECT COUNT(*) FROM visits\u2028", "ſELECT COUNT(*) FROM visits", "SELECT COUNT(*) FROM VİSİTS", "SELECT COUNT(*) FROM visitſ",
    "(" * 10_000, ")" * 10_000, "(" * 10_000 + ")" * 10_000, "SELECT " + "(" * 10_000 + "1" + ")" * 10_000 + " FROM visits", "SELECT SUM(" + "-" * 10_000 + "1) FROM visits", "SELECT SUM(" + "- " * 10_000 + "1) FROM visits", "SELECT SUM(1" + " + 1" * 10_000 + ") FROM visits", "SELECT COUNT_IF(b" + " AND b" * 10_000 + ") FROM beds",
    "SELECT COUNT_IF(" + "NOT " * 9_000 + "b) FROM beds", "SELECT COUNT(*) FROM visits WHERE ward" + " || ward" * 9_000 + " = 'A'", "SELECT " + "CASE WHEN b THEN " * 5_000 + "1" + " END" * 5_000 + " FROM beds", "SELECT SUM(n" + "::INT" * 6_000 + ") FROM beds", "SELECT " + "[" * 5_000 + "]" * 5_000 + " FROM beds", "SELECT " + "{" * 5_000,
    "SELECT COUNT(*) FROM visits" + " JOIN labs USING (patient)" * 2_000, "SELECT COUNT(*) FROM " + "(SELECT * FROM " * 2_000 + "visits" + ")" * 2_000, "SELECT " + ", ".join(["COUNT(*)"] * 4_000) + " FROM visits", "SELECT COUNT(*) FROM visits WHERE nights IN (" + ", ".join(map(str, range(9_000))) + ")",
    " UNION ALL ".join(["SELECT ward FROM visits"] * 2_000), "WITH " + ", ".join(f"a{i} AS (SELECT ward FROM visits)" for i in range(1_000)) + " SELECT COUNT(*) FROM a999", "SELECT COUNT(*) FROM visits" + ";" * 10_000, "SELECT COUNT(*) FROM visits -- " + "x" * 1_000_000, "SELECT " + "a" * 1_000_000, "'" + "x" * 1_000_000, "x" * 2_000_000,
    "SELECT COUNT(*) FROM " + "v" * 90_000, "SELECT " + "c" * 90_000 + " FROM visits", "SELECT COUNT(*) FROM visits WHERE ward = '" + "x" * 90_000 + "'", "SELECT COUNT(*) AS " + "x" * 90_000 + " FROM visits", "SELECT SUM(" + "9" * 90_000 + ") FROM visits", "SELECT COUNT(*) FROM " + "a." * 30_000 + "b", "/*" * 40_000, "SELECT " + "/* */" * 15_000 + "COUNT(*) FROM visits",
    "WITH" + " " * 90_000 + "DIFFERENTIAL", "EXPLAIN" + " " * 90_000 + "PRIVACY SELECT COUNT(*) FROM visits", "EXPLAIN PRIVACY " * 6_000, "SELECT WITH DIFFERENTIAL_PRIVACY " * 3_000, "SELECT SUM(cost" + ", contribution_bounds_per_row => (0, 1)" * 2_000 + ") FROM visits", "SUM(" * 2_000 + "x, a => (0, 1)" + ")" * 2_000,
)  # fmt: skip


@pytest.mark.parametrize("start", range(8))
def test_what_is_written_by_hand(start: int, worlds: list[World]) -> None:
    for text in WRITTEN[start::8]:
        for world in worlds:
            world.preview(text)


@pytest.mark.parametrize("start", range(8))
def test_what_is_written_by_hand_is_asked(start: int, world: World) -> None:
    for text in WRITTEN[start::8]:
        world.query(text)


@pytest.mark.parametrize("place", range(len(STRANGE)))
def test_strange_and_huge_texts(place: int, world: World) -> None:
    world.preview(STRANGE[place])


def test_nothing_but_a_select_is_answered(world: World) -> None:
    assert {world.query(text) for text in STATEMENTS} <= {"statement-not-allowed", "syntax", "not-an-aggregate"}


def test_no_table_function_is_answered(world: World) -> None:
    for name in TABLE_FUNCTIONS:
        for text in (f"SELECT COUNT(*) FROM {name}('x')", f"SELECT * FROM {name}()", f"SELECT {name}('x') FROM visits"):
            assert world.query(text), text


INTERNAL = (
    "discreet",
    "'",
    '"',
    "information_schema",
    "pg_",
    "sqlite",
    "duckdb",
    "main.",
    "private.",
    "memory.",
    "_disc",
)


def test_no_file_and_no_inner_name_is_a_table(world: World) -> None:
    for table in TABLES:
        code = world.query(f"SELECT COUNT(*) FROM {table}")
        if table.startswith(INTERNAL):
            assert code in {"unknown-table", "function-not-allowed", "syntax", "statement-not-allowed"}, table


def test_no_inner_name_is_a_column_or_a_function(world: World) -> None:
    for item in ITEMS:
        if "discreet" in item.lower() and "AS _discreet" not in item and "BOUNDED" not in item:
            assert world.query(f"SELECT {item} FROM visits"), item
            assert world.query(f"SELECT COUNT(*) FROM visits WHERE {item} = 'x'"), item


def test_what_a_text_is_not(world: World) -> None:
    for text in (None, 1, b"SELECT COUNT(*) FROM visits", ["SELECT"], object(), float("nan")):
        assert world.preview(text) == "syntax"
    valid = "SELECT COUNT(*) FROM visits WHERE note = $x"
    for value in (b"x", [1], {}, object(), float("nan"), float("inf"), 1j):
        assert world.preview(valid, params={"x": value}) == "syntax"
    assert world.preview(valid, params="x") == "syntax"
    assert world.preview(valid, params={}) == "syntax"
    assert world.preview(valid, dialect="oracle") == "syntax"
    for value in ("'; DROP TABLE visits; --", "\\", "''", "$x", "x" * 10_000, 10**30, -5, True, None, 1e-300):
        world.query(valid.replace("note =", "CAST(note AS VARCHAR) ="), params={"x": value})


def test_quotes_inside_of_texts_stay_texts(world: World) -> None:
    for inside in ("''", "'' OR TRUE --", "''); DROP TABLE visits; --", "\\''", "%", "$1", "{{x}}", "/*", "--", ";"):
        assert world.query(f"SELECT COUNT(*) FROM visits WHERE note = '{inside}'") == ""


# faults that there were


def test_bounds_beyond_what_noise_can_have(world: World) -> None:
    assert world.preview("SELECT COUNT(*, contribution_bounds_per_group => (0, 1e300)) FROM visits")
    assert world.preview("SELECT SUM(cost, contribution_bounds_per_group => (0, 1e-300)) FROM visits")


def test_a_lone_surrogate_in_a_parameter(world: World) -> None:
    assert world.query("SELECT COUNT(*) FROM visits WHERE note = $x", params={"x": "\ud800"}) == "syntax"


@pytest.mark.parametrize(
    "text",
    [
        "SELECT ward, SUM(n) FROM (SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward)",
        "SELECT ward, COUNT(*) FROM wards",
        "SELECT floor FROM wards GROUP BY wing",
        "SELECT ward FROM wards HAVING floor > 1",
        "SELECT ward FROM wards ORDER BY SUM(floor)",
    ],
)
def test_a_column_beside_an_aggregate_over_public_values(text: str, world: World) -> None:
    assert world.query(text)


def test_subqueries_beside_keys_are_planned_once(world: World) -> None:
    """Planned twice on each level, twelve levels would take four thousand plans."""
    text = "SELECT COUNT(*) FROM visits"
    for _ in range(12):
        text = f"SELECT MAX(c) FROM (SELECT ward, COUNT(*) + ({text}) AS c FROM visits GROUP BY ward)"
    assert world.preview(text) == ""


@pytest.mark.parametrize("text", [
    "SELECT COUNT(*) FROM visits WHERE nights > 1e999999999", "SELECT COUNT(*) FROM visits WHERE nights > 1e-999999999",
    "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = 1e999999999) COUNT(*) FROM visits", "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(delta = 1e-999999999) COUNT(*) FROM visits",
    "SELECT SUM(cost, contribution_bounds_per_row => (0, 1e999999999)) FROM visits", "SELECT SUM(CLAMP(cost, 0, 1e99999999)) FROM visits", "SELECT ROUND(SUM(cost), 999999999) FROM visits", "SELECT SUM(POWER(nights, 999999999)) FROM visits",
])  # fmt: skip
def test_numbers_with_huge_exponents(text: str, world: World) -> None:
    assert world.preview(text)


# generated

WORDS = """
SELECT FROM WHERE GROUP BY HAVING ORDER LIMIT OFFSET DISTINCT ALL AS ON USING JOIN LEFT RIGHT FULL INNER CROSS NATURAL UNION EXCEPT
INTERSECT WITH RECURSIVE CASE WHEN THEN ELSE END AND OR NOT IN IS NULL LIKE BETWEEN EXISTS CAST TRY_CAST EXTRACT OVER PARTITION ROWS
RANGE UNBOUNDED PRECEDING CURRENT ROW FILTER WITHIN TRUE FALSE VALUES LATERAL UNNEST PIVOT QUALIFY WINDOW SAMPLE OPTIONS
DIFFERENTIAL_PRIVACY EXPLAIN PRIVACY epsilon delta contribution_bounds_per_group => visits patients labs beds wards stays patient ward
kind cost nights urgent day note age sex city level x n w d t b floor wing COUNT SUM AVG MIN MAX MEDIAN MODE QUANTILE PERCENTILE_CONT
STDDEV VAR_POP CORR HISTOGRAM COUNT_IF ROW_NUMBER LAG FIRST ABS ROUND CLAMP WIDTH_BUCKET DATE_TRUNC COALESCE NULLIF LEAST CONCAT
DISCREET_BOUNDED DP_INTERVAL_LOW discreet_secret _discreet_unit read_csv ( ) ( ) ( ) , , , . * * + - / % = <> < > <= || :: ; [ ] { } ? $a :b
'A' 'month' 'x' "x" 0 1 2 0.5 1e9 -1 100 DATE INTEGER VARCHAR INTERVAL $$ -- /* */ ' " ` \\ @ # ! ~ ^ & | \x07 é 😀
""".split()  # noqa: SIM905
VALID = tuple(fixture.text for fixture in ANSWERED) + tuple(r.text for r in REFUSED if 0 < len(r.text) < 1_000)


def soup(dice: random.Random) -> str:
    """Words in any order; often after a beginning that parses."""
    words = [dice.choice(WORDS) for _ in range(dice.randint(1, 25))]
    start = dice.choice(
        ["", "SELECT ", "SELECT COUNT(*) FROM visits ", "SELECT COUNT(*) FROM visits WHERE ", "SELECT SUM("]
    )
    return start + dice.choice([" ", " ", ""]).join(words)


def mutated(dice: random.Random) -> str:
    """A question with some bytes changed, dropped, doubled, or with a piece of another."""
    text = bytearray(dice.choice(VALID).encode("utf-8", "surrogatepass"))
    for _ in range(dice.randint(1, 4)):
        place, kind = dice.randrange(len(text) + 1), dice.randrange(5)
        if kind == 0:
            text[place:place] = bytes([dice.randrange(256)])
        elif kind == 1:
            del text[place : place + dice.randint(1, 8)]
        elif kind == 2:
            text[place:place] = text[place : place + dice.randint(1, 30)]
        elif kind == 3:
            text[place:place] = f" {dice.choice(WORDS)} ".encode()
        else:
            other = dice.choice(VALID).encode("utf-8", "surrogatepass")
            start = dice.randrange(len(other))
            text[place : place + dice.randint(0, 20)] = other[start : start + dice.randint(1, 40)]
    return text.decode("utf-8", dice.choice(["replace", "ignore", "surrogateescape"]))


def swapped(dice: random.Random) -> str:
    """A question with one word for another: most of them still parse."""
    words = dice.choice(VALID).split(" ")
    for _ in range(dice.randint(1, 3)):
        words[dice.randrange(len(words))] = dice.choice(
            [dice.choice(WORDS), dice.choice(dice.choice(VALID).split(" "))]
        )
    return " ".join(words)


MARKS = (
    "{over}", "{}", "{0}", "{{", "}}", "{x!r}", "%s", "%(x)s", "$1", "$x$", "\\1", "\\g<0>", "\\", "''", '"', "`", "--", "/*", "*/", ";",
    " || (SELECT MIN(note) FROM visits) || ", ") OR (1 = 1", "E''", "discreet_secret()", "discreet_released_0", "NULL", "\u2028", "é", "x" * 300,
)  # fmt: skip
"""What would be a marker, a quote or a comment somewhere."""


def marked(dice: random.Random) -> str:
    """A question in which every text is made of marks."""
    text = dice.choice(MARKED)
    while "'?'" in text:
        inside = "".join(dice.choice(MARKS) for _ in range(dice.randint(1, 3)))
        text = text.replace("'?'", f"'{inside.replace('?', '')}'", 1)
    return text


MARKED = (
    "SELECT COUNT(*) FROM visits WHERE note = '?' OR note LIKE '?' OR note IN ('?', '?')",
    "SELECT CASE WHEN note = '?' THEN '?' ELSE '?' END AS k, COUNT(*) FROM visits GROUP BY k HAVING k <> '?' ORDER BY k = '?'",
    "SELECT SUM(s) FROM (SELECT CLAMP(SUM(CASE WHEN note = '?' THEN 1 ELSE 0 END) OVER (PARTITION BY patient ORDER BY note = '?', day), 0, 9) AS s FROM visits)",
    "SELECT SUM(s) FROM (SELECT patient, COUNT(CASE WHEN note LIKE '?' THEN '?' END) AS s FROM visits WHERE note <> '?' GROUP BY patient HAVING COUNT(*) > 0)",
    "SELECT MODE(CASE WHEN note = '?' THEN '?' ELSE '?' END), COUNT(*) FILTER (WHERE note = '?') FROM visits",
    "SELECT ward, '?' AS a, n FROM (SELECT ward, COUNT(*) AS n FROM visits WHERE CONCAT(note, '?') <> '?' GROUP BY ward) WHERE ward <> '?'",
    "SELECT COUNT(*) FROM visits v JOIN wards w ON v.ward = w.ward AND w.wing <> '?' WHERE COALESCE(v.note, '?') IN (SELECT wing FROM wards WHERE wing > '?')",
    "SELECT COUNT(*) FROM visits WHERE SUBSTR(note || '?', 2) < UPPER('?')",
)  # fmt: skip

AROUND = (
    "CLAMP({}, 0, 10)", "SQRT({})", "WIDTH_BUCKET({}, 0, 9, 3)", "ABS({})", "ROUND({}, 2)", "COALESCE({}, 1)", "CASE WHEN {} > 1 THEN 2 ELSE 3 END",
    "CASE {} WHEN 1 THEN 2 WHEN 3 THEN 4 END", "LEAST({}, 5)", "NULLIF({}, 3)", "({} + {})", "({} * {})", "LN({})", "MOD({}, 7)", "CAST({} AS INTEGER)", "-{}",
)  # fmt: skip
STEPS = (
    "SELECT *, * FROM {0}", "SELECT patient, x + x AS x FROM {0}", "SELECT * FROM {0} UNION ALL SELECT * FROM {0}", "SELECT patient, SUM(CLAMP(x, 0, 9)) AS x FROM {0} GROUP BY patient",
    "SELECT a.patient, a.x + b.x AS x FROM {0} a JOIN {0} b ON a.patient = b.patient", "SELECT patient, MAX(x) OVER (PARTITION BY patient) AS x FROM {0}", "SELECT patient, CLAMP(x, 0, 9) AS x FROM {0} WHERE x > 1",
)  # fmt: skip


def deep(dice: random.Random) -> str:
    """Functions around functions, or CTEs over CTEs, each of which may stand in the next more than once."""
    if dice.random() < 0.5:
        inner, kinds = dice.choice(["cost", "nights", "COUNT(*)"]), dice.sample(AROUND, 2)
        for _ in range(dice.randint(1, 28)):
            inner = dice.choice(kinds).replace("{}", inner)
            if len(inner) > 4_000:
                break
        return f"SELECT {inner} FROM visits" if "COUNT" in inner else f"SELECT SUM({inner}) FROM visits"
    steps = [f"c{k} AS ({dice.choice(STEPS).format(f'c{k - 1}')})" for k in range(1, dice.randint(2, 30))]
    last = dice.choice(["COUNT(*)", "SUM(CLAMP(x, 0, 9))", "COUNT(DISTINCT patient)"])
    return (
        f"WITH {', '.join(['c0 AS (SELECT patient, cost AS x FROM visits)', *steps])} SELECT {last} FROM c{len(steps)}"
    )


MAKERS = {"soup": soup, "mutated": mutated, "swapped": swapped, "marked": marked, "deep": deep}
BOMBS = {"bombed": bombed, "fanned": fanned}


@pytest.mark.parametrize("seed", later(range(4), 2))
@pytest.mark.parametrize("maker", MAKERS)
def test_generated_texts(maker: str, seed: int, worlds: list[World]) -> None:
    dice = random.Random(f"{maker} {seed}")
    for _ in range(200 if maker in ("soup", "mutated", "swapped") else 20):
        worlds[seed % 2].preview(MAKERS[maker](dice))


@pytest.mark.parametrize("seed", later(range(4), 2))
def test_generated_texts_that_are_asked(seed: int, worlds: list[World]) -> None:
    dice = random.Random(f"asked {seed}")
    for _ in range(120):
        worlds[0].query(MAKERS[dice.choice(["mutated", "swapped"])](dice))


@pytest.mark.long
@pytest.mark.parametrize("maker", BOMBS)
def test_bombs_are_answered_or_refused(maker: str, worlds: list[World]) -> None:
    """No failure that a row decides; and most of them are answered, else nothing would be tried."""
    dice = random.Random(f"bombs {maker}")
    codes = [worlds[place % 2].query(BOMBS[maker](dice)) for place in range(30)]
    assert codes.count("") > 10, codes


@pytest.mark.parametrize("seed", range(2))
def test_marks_in_texts_stay_texts(seed: int, worlds: list[World]) -> None:
    """All of these are answered, none with what stands in the data: a mark means nothing anywhere."""
    dice = random.Random(f"marks {seed}")
    refused = [text for text in (marked(dice) for _ in range(25)) if worlds[0].query(text)]
    assert refused == []


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 110))
def test_ten_thousand_texts(seed: int, worlds: list[World]) -> None:
    dice = random.Random(f"many {seed}")
    for number in range(1_000):
        makers = {**MAKERS, **BOMBS}
        text = makers[dice.choice(list(makers))](dice)
        if number % 20:
            worlds[seed % 2].preview(text)
        else:
            worlds[0].query(text)
