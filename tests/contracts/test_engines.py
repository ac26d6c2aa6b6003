"""What every engine keeps, whichever it is. The table must name all of them: none can dodge."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import duckdb
import pytest

import discreet.curator
import discreet.engines
from discreet.composed import Sql, joined, literal, name, sql
from discreet.curator.dummy import Stage
from discreet.engines.duckdb import DuckDB
from discreet.engines.engine import Engine
from discreet.engines.memory import Memory
from discreet.engines.postgres_engine import Postgres
from discreet.engines.session import Session
from discreet.engines.spark.engine import Spark
from discreet.errors import QueryFailed
from discreet.policy import Policy, parse
from discreet.policy.layout import copied_columns
from tests.threads import at_once

POLICY: Final = """
name = "clinic"
[budget]
epsilon = 3
[unit]
name = "patient"
[tables.visits]
source = "visits.csv"
unit = "patient"
max_rows = 2
[tables.visits.columns]
ward = { values = ["A", "B", "ß"], nullable = true }
note = { type = "text" }
cost = { min = 0, max = 1e15 }
n = { type = "integer" }
day = { type = "date" }
[tables.wards]
source = "wards.csv"
public = true
[tables.wards.columns]
ward = { values = ["A", "B", "ß"] }
beds = { type = "integer" }
"""
NOTES: Final = [
    "it's",
    '"; DROP TABLE visits; --',
    "{x} %s ? $1",
    "\\n\\'",
    "-- /* */",
    "ß\u030a\U0001f986",
    "' || note || '",
]
VISITS: Final[Sequence[Mapping[str, object]]] = [
    {
        "patient": index // 2,
        "ward": "ABß"[index % 3],
        "note": note,
        "cost": 2**50 - index,
        "n": 2**62,
        "day": "2026-01-31",
    }
    for index, note in enumerate(NOTES)
]
WARDS: Final[Sequence[Mapping[str, object]]] = [{"ward": ward, "beds": 7} for ward in "ABß"]
TABLES: Final = {"visits": VISITS, "wards": WARDS}


def copied(policy: Policy) -> Engine:
    for table, rows in TABLES.items():
        lines = [",".join('"' + str(value).replace('"', '""') + '"' for value in row.values()) for row in rows]
        text = "\n".join([",".join(rows[0]), *lines, ""])
        policy.path.with_name(f"{table}.csv").write_text(text, encoding="utf-8")
    return DuckDB(policy, 1)


ENGINES: Final[dict[type[Session], Callable[[Policy], Engine]]] = {
    DuckDB: copied,
    Memory: lambda policy: Memory(policy, TABLES),
    Stage: lambda policy: Stage(policy, TABLES),
}

ELSEWHERE: Final = {Postgres, Spark}
"""Those that need a server, and answer aggregates alone: `tests.engines.contract` and `tests.spark` ask them the whole
language."""


def test_all_engines_are_in_the_table() -> None:
    wanted = {each for each in vars(Engine) if not each.startswith("_")}
    found = set()
    for package in (discreet.engines, discreet.curator):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            for _, kind in inspect.getmembers(importlib.import_module(module.name), inspect.isclass):
                if (
                    not getattr(kind, "_is_protocol", False)
                    and wanted - {"copy"} <= set(dir(kind))
                    and _has_tables(kind)
                ):
                    found.add(kind)
    assert found == set(ENGINES) | ELSEWHERE


def _has_tables(kind: type) -> bool:
    """Whether objects of this class name their rows."""
    return bool(re.search(r"self\.copy\b|def copy\b", "".join(map(inspect.getsource, kind.__mro__[:-2]))))


@contextmanager
def opened(kind: type[Session]) -> Iterator[Engine]:
    with TemporaryDirectory() as folder:
        policy = parse(POLICY.encode(), Path(folder) / "clinic.toml")
        engine = ENGINES[kind](replace(policy, state=Path(folder) / "state"))
        try:
            yield engine
        finally:
            engine.close()


@pytest.fixture(scope="module", params=ENGINES, ids=lambda kind: kind.__name__)
def engine(request: pytest.FixtureRequest) -> Iterator[Engine]:
    with opened(request.param) as found:
        yield found


def ask(engine: Engine, query: Sql) -> list[tuple[Any, ...]]:
    return engine.rows(query)


# queries are values, and mean the same everywhere


def test_it_says_which_dialect_it_runs_and_which_rows_it_has(engine: Engine) -> None:
    assert engine.dialect == "duckdb"
    assert len(engine.copy) >= 16
    assert engine.copy == engine.copy


@pytest.mark.parametrize("note", NOTES)
def test_literals_are_values(engine: Engine, note: str) -> None:
    query = sql("SELECT {}, COUNT(*) FROM visits WHERE note = {}", literal(note), literal(note))
    assert ask(engine, query) == [(note, 1)]


def test_names_are_names(engine: Engine) -> None:
    query = sql("SELECT {} FROM wards AS {} ORDER BY 1", joined(", ", [name("ward"), name("beds")]), name('"; x'))
    assert ask(engine, query) == [("A", 7), ("B", 7), ("ß", 7)]


def test_integers_are_exact(engine: Engine) -> None:
    (total, cost) = ask(engine, sql("SELECT SUM(CAST(n AS HUGEINT)), SUM(CAST(cost AS HUGEINT)) FROM visits"))[0]
    assert (type(total), total) == (int, len(NOTES) * 2**62)
    assert (type(cost), cost) == (int, sum(2**50 - index for index in range(len(NOTES))))


def test_columns_are_those_of_the_layout(engine: Engine) -> None:
    policy = parse(POLICY.encode(), Path("/nowhere/clinic.toml"))
    for table in policy.tables.values():
        schema, columns = engine.schema(table.name), copied_columns(table, policy.unit_kind)
        assert {column: schema.get(column) for column in columns} == columns


def test_ranks_bound_what_a_unit_has(engine: Engine) -> None:
    counts = ask(engine, sql("SELECT COUNT(*) FROM visits GROUP BY _discreet_unit"))
    assert max(count for (count,) in counts) <= 2
    assert all(1 <= rank <= 2 for (rank,) in ask(engine, sql("SELECT _discreet_row FROM visits")))


def test_what_is_printed_is_what_was_composed(engine: Engine) -> None:
    """A value whose text is not its skeleton's is never run."""
    altered = object.__new__(Sql)
    for label, value in {"text": "SELECT 1 FROM wards", "skeleton": "SELECT 1, ''", "weight": 1}.items():
        object.__setattr__(altered, label, value)
    with pytest.raises(QueryFailed):
        engine.rows(altered)


# nothing else is in reach


@pytest.mark.parametrize(
    "reach",
    [
        sql("SELECT * FROM read_csv({})", literal("/etc/passwd")),
        sql("SELECT * FROM read_text({})", literal("/etc/passwd")),
        sql("COPY wards TO {}", literal("/tmp/discreet-contract")),
        sql("ATTACH {} AS other", literal("/tmp/discreet-contract.duckdb")),
        sql("SET enable_external_access = true"),
        sql("SET threads = 64"),
        sql("INSTALL httpfs"),
    ],
    ids=lambda query: query.text,
)
def test_it_reaches_nothing_else(engine: Engine, reach: Sql) -> None:
    with pytest.raises(duckdb.Error):
        engine.rows(reach)


def test_an_error_is_the_query_s_own(engine: Engine) -> None:
    with pytest.raises(duckdb.Error):
        ask(engine, sql("SELECT nothing FROM visits"))
    assert ask(engine, sql("SELECT COUNT(*) FROM wards")) == [(3,)]


# time, threads, the end


def test_what_takes_too_long_is_interrupted(engine: Engine) -> None:
    endless = sql("SELECT COUNT(*) FROM range(1000000000000) WHERE hash(range) = 42")
    with pytest.raises(duckdb.InterruptException):
        engine.rows(endless, 0.01)
    assert ask(engine, sql("SELECT COUNT(*) FROM wards")) == [(3,)]


def test_threads_share_it(engine: Engine) -> None:
    query = sql("SELECT COUNT(*), SUM(beds) FROM wards")
    assert at_once(4, lambda: [ask(engine, query) for _ in range(5)]) == [[[(3, 21)]] * 5] * 4


@pytest.mark.parametrize("kind", ENGINES, ids=lambda kind: kind.__name__)
def test_a_closed_one_answers_nothing(kind: type[Session]) -> None:
    with opened(kind) as engine:
        engine.close()
        for _ in range(2):
            with pytest.raises(duckdb.Error):
                engine.rows(sql("SELECT 1"))
