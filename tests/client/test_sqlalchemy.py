"""SQLAlchemy and pandas ask a real server, and get answers, reflections and refusals in their own forms."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import date, datetime
from decimal import Decimal
from typing import Any
from unittest.mock import Mock

import duckdb
import pandas as pd
import pytest
import sqlalchemy as sa
from sqlalchemy import func, select
from sqlglot import exp

from discreet.accounting import Concentrated
from discreet.client import dbapi, http
from discreet.client.dialect import Dialect, answer_of, arguments_of
from discreet.sql.read import statement
from tests.costs import rho_of
from tests.server.running import Running

WARDS = [("A", 10), ("B", 20), ("C", 30)]


@contextmanager
def engine_of(
    server: Running, options: str = "?epsilon=0.02", who: str = "epidemiology", **settings: Any
) -> Iterator[sa.Engine]:
    address = server.url.removeprefix("http://")
    engine = sa.create_engine(f"discreet://{server.tokens[who]}@{address}/hospital{options}", **settings)
    try:
        yield engine
    finally:
        engine.dispose()


@pytest.fixture(scope="module")
def engine(server: Running) -> Iterator[sa.Engine]:
    with engine_of(server) as made:
        yield made


@pytest.fixture(scope="module")
def dummy(server: Running) -> Iterator[sa.Engine]:
    """Made-up rows: the same texts, the same answers in form, for free."""
    with engine_of(server, "?epsilon=0.02&dummy=true") as made:
        yield made


@pytest.fixture(scope="module")
def tables(engine: sa.Engine) -> dict[str, sa.Table]:
    known = sa.MetaData()
    known.reflect(engine)
    return dict(known.tables)


@pytest.fixture(scope="module")
def patients(tables: dict[str, sa.Table]) -> sa.Table:
    return tables["patients"]


@pytest.fixture(scope="module")
def wards(tables: dict[str, sa.Table]) -> sa.Table:
    return tables["wards"]


def rows(engine: sa.Engine, question: Any, values: dict[str, Any] | None = None) -> list[tuple[Any, ...]]:
    with engine.connect() as connection:
        return [tuple(row) for row in connection.execute(question, values)]


# addresses


@pytest.mark.parametrize(
    ("address", "url", "more"),
    [
        ("discreet://discreet_a@localhost:8000/h", "http://localhost:8000", {"token": "discreet_a", "dataset": "h"}),
        ("discreet://discreet_a@127.0.0.1/h", "http://127.0.0.1", {"insecure": True}),
        ("discreet://discreet_a@[::1]:8000/h", "http://[::1]:8000", {"insecure": True}),
        ("discreet://:discreet_a@example.org/h", "https://example.org", {"token": "discreet_a"}),
        ("discreet://any:discreet_a@example.org", "https://example.org", {"token": "discreet_a", "dataset": None}),
        ("discreet://example.org/h", "https://example.org", {"token": None, "insecure": False}),
        ("discreet+http://example.org/h", "http://example.org", {"insecure": True}),
        ("discreet://example.org/h?insecure=true", "http://example.org", {"insecure": True}),
        ("discreet://localhost/h?insecure=false", "https://localhost", {"insecure": False}),
        ("discreet://example.org/h?epsilon=0.1&analyst=x&errors=columns", "https://example.org", {"epsilon": 0.1}),
        ("discreet://example.org/h?error=3&confidence=.9&rho=1e-3", "https://example.org", {"confidence": 0.9}),
    ],
)
def test_addresses_are_understood(address: str, url: str, more: dict[str, Any]) -> None:
    found = arguments_of(sa.make_url(address))
    assert found["url"] == url
    assert {name: found[name] for name in more} == more


@pytest.mark.parametrize(
    ("address", "text"),
    [
        ("discreet:///h", "names no server → write discreet://"),
        ("discreet://example.org/h?epsilom=1", "unknown option, 'epsilom' → options: epsilon, rho"),
        ("discreet://example.org/h?epsilon=much", "'much' cannot be the epsilon of an address → write epsilon=0.5"),
        ("discreet://example.org/h?epsilon=nan", "cannot be the epsilon"),
        ("discreet://example.org/h?epsilon=1&epsilon=2", "epsilon stands in the address more than once"),
        ("discreet://example.org/h?dummy=perhaps", "write dummy=true"),
        ("discreet://example.org/h?errors=rows", "write errors=columns"),
    ],
)
def test_addresses_that_cannot_be(address: str, text: str) -> None:
    with pytest.raises(sa.exc.ArgumentError, match=text):
        sa.create_engine(address)


def test_the_token_may_stand_in_the_environment(server: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DISCREET_TOKEN", server.tokens["finance"])
    engine = sa.create_engine(server.url.replace("http://", "discreet+http://") + "/hospital")
    assert rows(engine, sa.text("SELECT COUNT(*) AS n FROM wards")) == [(3,)]
    engine.dispose()


def test_a_wrong_token_is_told(server: Running) -> None:
    engine = sa.create_engine(server.url.replace("http://", "discreet://discreet_nobody@"))
    with pytest.raises(sa.exc.OperationalError, match=r"unauthorized: .* → ") as caught, engine.connect():
        pass
    assert isinstance(caught.value.orig, dbapi.OperationalError)


def test_a_server_that_is_gone_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "FIRST_PAUSE", 0.001)
    engine = sa.create_engine("discreet://discreet_a@127.0.0.1:1/hospital")
    with pytest.raises(sa.exc.OperationalError, match="does not answer"):
        sa.inspect(engine)


# reflection


def test_tables_are_found(engine: sa.Engine) -> None:
    inspector = sa.inspect(engine)
    assert inspector.get_table_names() == ["patients", "wards"]
    assert (inspector.get_view_names(), inspector.get_schema_names()) == ([], [])
    assert [inspector.has_table(name) for name in ("patients", "Patients", "nothing", "")] == [True, True, False, False]
    assert not inspector.has_table("patients", schema="main")
    assert inspector.get_table_names(schema="main") == []
    with pytest.raises(sa.exc.NoSuchTableError, match="nothing → tables: patients, wards"):
        inspector.get_columns("nothing")
    with pytest.raises(sa.exc.NoSuchTableError):
        sa.Table("nothing", sa.MetaData(), autoload_with=engine)


def test_columns_have_types_and_what_is_known_of_them(engine: sa.Engine) -> None:
    table = sa.Table("patients", sa.MetaData(), autoload_with=engine)
    found = {column.name: (type(column.type), column.comment) for column in table.columns}
    assert found == {
        "age": (sa.DOUBLE, "0 … 120"),
        "ward": (sa.VARCHAR, "A, B, C"),
        "zip": (sa.VARCHAR, "keys are private"),
        "born": (sa.DATE, "1900-01-01 … 2026-12-31"),
    }
    assert table.comment == "each id is protected: at most 1 row"
    assert (list(table.primary_key), table.foreign_keys, table.indexes) == ([], set(), set())
    inspector = sa.inspect(engine)
    assert [str(column["type"]) for column in inspector.get_columns("wards")] == ["VARCHAR", "BIGINT"]


def test_reflection_asks_once(engine: sa.Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = Mock(side_effect=dbapi.Connection.tables)
    monkeypatch.setattr(dbapi.Connection, "tables", lambda self: asked(self))
    sa.Table("patients", sa.MetaData(), autoload_with=engine)
    asked.assert_called_once()


def test_refused_reflection_is_an_error_of_sqlalchemy(engine: sa.Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: object) -> None:
        raise dbapi.OperationalError("forbidden: no → ask the owner")

    monkeypatch.setattr(dbapi.Connection, "tables", refuse)
    with pytest.raises(sa.exc.OperationalError, match="ask the owner"):
        sa.inspect(engine).get_table_names()


# questions


def test_public_rows_are_exact(engine: sa.Engine, wards: sa.Table) -> None:
    assert rows(engine, select(wards).order_by(wards.c.ward)) == WARDS
    assert rows(engine, select(wards).order_by(wards.c.ward.desc()).limit(1)) == WARDS[2:]
    assert rows(engine, select(wards).order_by(wards.c.ward).offset(1)) == WARDS[1:]
    assert rows(engine, select(wards).order_by(wards.c.ward).limit(1).offset(1)) == WARDS[1:2]


def test_limits_are_not_mixed_up_by_the_cache(engine: sa.Engine, wards: sa.Table) -> None:
    for many in (1, 2, 3, 1):
        assert len(rows(engine, select(wards.c.ward).limit(many))) == many


@pytest.mark.parametrize(
    ("condition", "found"),
    [
        (lambda c: c.beds >= 20, "BC"),
        (lambda c: c.beds / 20 == 0.5, "A"),
        (lambda c: c.beds // 20 == 1, "BC"),
        (lambda c: c.beds.between(10, 20), "AB"),
        (lambda c: c.beds == Decimal(30), "C"),
        (lambda c: c.ward.in_(["A", "C", "it's"]), "AC"),
        (lambda c: c.ward.not_in(["A", "C"]), "B"),
        (lambda c: c.ward.in_([]), ""),
        (lambda c: c.ward.not_in([]), "ABC"),
        (lambda c: c.ward.like("A%"), "A"),
        (lambda c: c.ward.not_like("A%"), "BC"),
        (lambda c: c.ward.ilike("a%"), "A"),
        (lambda c: c.ward.not_ilike("a%"), "BC"),
        (lambda c: c.ward.is_(None), ""),
        (lambda c: sa.or_(c.ward == "A", ~(c.beds < 30)), "AC"),
        (lambda c: sa.literal(date(2026, 1, 2)) == sa.cast("2026-01-02", sa.Date), "ABC"),  # noqa: ARG005
        (lambda c: sa.literal(datetime(2026, 1, 2)) < sa.cast("2026-01-02", sa.DateTime), ""),  # noqa: ARG005
        (lambda c: (c.beds > 10) == sa.true(), "BC"),
        (lambda c: c.ward + "x" == sa.bindparam(None, "Bx"), "B"),
    ],
)
@pytest.mark.parametrize("written", ["parameters", "literals"])
def test_conditions_mean_what_they_say(
    engine: sa.Engine, wards: sa.Table, condition: Any, found: str, written: str
) -> None:
    question: Any = select(wards.c.ward).where(condition(wards.c)).order_by(wards.c.ward)
    if written == "literals":
        compiled = question.compile(engine, compile_kwargs={"literal_binds": True})
        assert compiled.params == {}
        question = sa.text(str(compiled).replace(":", "\\:"))
    assert "".join(row[0] for row in rows(engine, question)) == found


def test_values_in_each_place(engine: sa.Engine, wards: sa.Table) -> None:
    size = sa.case((wards.c.beds > 15, "large"), else_="small").label("size")
    question = select(sa.literal("x").label("sign"), size, func.count().label("n")).group_by(size).order_by("n")
    assert rows(engine, question) == [("x", "small", 1), ("x", "large", 2)]


def test_a_count_is_noisy_and_has_an_interval(engine: sa.Engine, patients: sa.Table) -> None:
    with engine.connect() as connection:
        result = connection.execute(select(func.count()).select_from(patients).where(patients.c.age > 31))
        value = result.scalar_one()
        answer = answer_of(result)
    ((low, high),) = answer.intervals[0].values()
    assert low < value < high
    assert answer.cost == Concentrated(rho_of(0.02))


def test_groups_labels_and_order(dummy: sa.Engine, patients: sa.Table) -> None:
    label = 'n of "it\'s" größe'
    question = (
        select(patients.c.ward.label("group"), func.count().label(label), func.avg(patients.c.age))
        .where(patients.c.born >= date(1950, 1, 1), patients.c.ward.in_(["A", "B"]))
        .group_by(patients.c.ward)
        .having(func.count() > -1_000_000)
        .order_by(patients.c.ward)
    )
    with dummy.connect() as connection:
        result = connection.execute(question)
        assert list(result.keys()) == ["group", label, "avg_1"]
        assert [row["group"] for row in result.mappings()] == ["A", "B", "C"]


@pytest.mark.parametrize(
    "key",
    [
        lambda c: func.date_trunc("year", c.born),
        lambda c: sa.extract("year", c.born),
        lambda c: func.width_bucket(c.age, 0, 100, 10),
        lambda c: c.age // 20,
    ],
)
def test_keys_with_values_in_them(dummy: sa.Engine, patients: sa.Table, key: Any) -> None:
    found = rows(dummy, select(key(patients.c).label("key"), func.count()).group_by(key(patients.c)).limit(2))
    assert len({row[0] for row in found}) == 2


def test_joins_subqueries_and_aliases(dummy: sa.Engine, patients: sa.Table, wards: sa.Table) -> None:
    other = patients.alias("p")
    joined = select(wards.c.beds, func.count()).join_from(other, wards, other.c.ward == wards.c.ward)
    assert {row[0] for row in rows(dummy, joined.group_by(wards.c.beds))} == {10, 20, 30}
    inner = select(patients.c.ward, func.count().label("n")).group_by(patients.c.ward)
    assert rows(dummy, select(func.count()).select_from(inner.subquery())) == [(3,)]
    largest = inner.cte("groups")
    assert len(rows(dummy, select(largest.c.ward, largest.c.n).order_by(largest.c.n.desc()).limit(1))) == 1


def test_texts_with_values(engine: sa.Engine) -> None:
    question = sa.text("SELECT ward::text AS ward, 'a:b' AS sign FROM wards WHERE beds > :beds ORDER BY ward")
    assert rows(engine, question, {"beds": 15}) == [("B", "a:b"), ("C", "a:b")]


def test_parameters_may_be_called_anything(engine: sa.Engine, wards: sa.Table) -> None:
    values = {"a-b": 10, "from": ["A", "B"], "1st": 5, "a b": 0, "größe": 1}
    conditions = [wards.c.beds >= sa.bindparam(name) for name in values if name != "from"]
    question = select(wards.c.ward).where(wards.c.ward.in_(sa.bindparam("from", expanding=True)), *conditions)
    assert rows(engine, question.order_by("ward"), values) == [("A",), ("B",)]


def test_every_name_is_read_as_a_name() -> None:
    known = [word for (word,) in duckdb.execute("SELECT keyword_name FROM duckdb_keywords()").fetchall()]
    words = [*known, "2024 cost", 'say "x"', "größe", "数", "🙂", "a-b", "A-B", "if", "date", "day"]
    dialect = Dialect()
    for some in (words[start : start + 50] for start in range(0, len(words), 50)):
        table = sa.table(some[0], *map(sa.column, some))
        columns = list(table.c)
        question = select(*(column.label(column.name) for column in columns)).group_by(*columns)
        compiled = question.where(*(column > 1 for column in columns)).compile(dialect=dialect)
        values = dict.fromkeys([*compiled.params, *compiled.escaped_bind_names.values()], 1)
        tree = statement(str(compiled), params=values).tree
        assert Counter(found.name for found in tree.find_all(exp.Column)) == dict.fromkeys(some, 3)
        assert [found.alias for found in tree.expressions] == some
        assert [found.name for found in tree.find_all(exp.Table)] == [table.name]


# the cost


def test_a_statement_and_a_connection_have_their_cost(engine: sa.Engine, patients: sa.Table) -> None:
    def asked(age: int) -> Any:
        return select(func.count()).select_from(patients).where(patients.c.age > age)

    with engine.connect().execution_options(epsilon=0.04, confidence=0.5) as connection:
        answer = answer_of(connection.execute(asked(32)))
        assert (answer.cost, answer.confidence) == (Concentrated(rho_of(0.04)), 0.5)
        answer = answer_of(connection.execute(asked(33).execution_options(rho=0.0001)))
        assert (answer.cost, answer.confidence) == (Concentrated(0.0001), 0.5)
    with engine.connect() as connection:
        cost = answer_of(connection.execute(asked(34))).cost
        assert isinstance(cost, Concentrated)
        assert cost == Concentrated(rho_of(0.02))


def test_intervals_are_columns_if_wanted(server: Running) -> None:
    question = "SELECT ward, COUNT(*) AS n FROM patients GROUP BY ward"
    with engine_of(server, "?epsilon=0.05&errors=columns") as engine:
        frame = pd.read_sql(question, engine)
        assert list(frame) == ["ward", "n", "n_low", "n_high"]
        assert ((frame["n_low"] < frame["n"]) & (frame["n"] < frame["n_high"])).all()
        table = sa.table("patients", sa.column("ward"))
        with engine.connect() as connection:
            result = connection.execute(select(table.c.ward, func.count().label("n")).group_by(table.c.ward))
            assert list(result.keys()) == ["ward", "n", "n_low", "n_high"]
            assert [tuple(row) for row in result] == [tuple(row) for row in frame.itertuples(index=False)]


def test_errors_are_columns_of_one_statement(engine: sa.Engine) -> None:
    question = sa.text("SELECT COUNT(*) AS n FROM patients WHERE age < 77")
    with engine.connect() as connection:
        assert list(connection.execute(question).keys()) == ["n"]
        result = connection.execute(question.execution_options(errors="columns"))
        assert list(result.keys()) == ["n", "n_low", "n_high"]
        with pytest.raises(sa.exc.ProgrammingError, match="no place for errors"):
            connection.execute(question.execution_options(errors=["columns"]))


def test_refusals_are_errors_of_sqlalchemy_with_their_text(engine: sa.Engine, patients: sa.Table) -> None:
    for question, kind, text in (
        (select(patients), sa.exc.ProgrammingError, "not-an-aggregate: .* → ask for a statistic"),
        (sa.text("SELECT COUNT(*) FROM nothing"), sa.exc.ProgrammingError, "unknown-table: .* → tables: patients"),
        (sa.insert(patients).values(age=3), sa.exc.NotSupportedError, "only SELECT is supported → write one SELECT"),
        (
            select(func.count()).select_from(patients).limit(sa.literal_column("1 + 1")),
            sa.exc.ProgrammingError,
            "LIMIT takes",
        ),
        (sa.delete(patients), sa.exc.NotSupportedError, "only SELECT is supported"),
        (
            sa.schema.CreateTable(sa.Table("t", sa.MetaData(), sa.Column("x", sa.Integer))),
            sa.exc.NotSupportedError,
            "→",
        ),
        (select(func.count()).select_from(patients).execution_options(epsilon=25), sa.exc.OperationalError, "budget-e"),
        (select(func.count()).select_from(patients).execution_options(epsilon=-1), sa.exc.DataError, "cost-invalid"),
    ):
        with pytest.raises(kind, match=text):
            rows(engine, question)
    with pytest.raises(sa.exc.CompileError, match="no ESCAPE → write the pattern without"):
        rows(engine, select(func.count()).where(patients.c.ward.ilike("a/%", escape="/")))


def test_transactions_and_pings_ask_nothing(server: Running, wards: sa.Table) -> None:
    with engine_of(server, pool_pre_ping=True, isolation_level="AUTOCOMMIT") as engine:
        for _ in range(2):
            with engine.begin() as connection:
                assert connection.get_isolation_level() == "AUTOCOMMIT"
                assert connection.execute(select(func.count()).select_from(wards)).scalar() == 3
                connection.rollback()


def test_eight_threads_share_a_pool(server: Running, wards: sa.Table) -> None:
    with engine_of(server, pool_size=4, max_overflow=0) as engine, ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: rows(engine, select(wards).order_by("ward")), range(24)))
        assert found == [WARDS] * 24
        assert engine.pool.checkedin() <= 4  # type: ignore[attr-defined]


# pandas


def test_pandas_reads_statements_texts_and_tables(engine: sa.Engine, patients: sa.Table) -> None:
    question = select(patients.c.ward, func.count().label("n")).group_by(patients.c.ward).order_by(patients.c.ward)
    frame = pd.read_sql(question.where(patients.c.born >= date(1950, 1, 1)), engine)
    assert (list(frame), list(frame["ward"]), str(frame["n"].dtype)) == (["ward", "n"], ["A", "B", "C"], "int64")
    frame = pd.read_sql(sa.text("SELECT ward FROM wards WHERE beds > :x ORDER BY 1"), engine, params={"x": 15})
    assert list(frame["ward"]) == ["B", "C"]
    assert list(pd.read_sql("SELECT COUNT(*) AS n FROM wards", engine)["n"]) == [3]
    assert len(pd.read_sql("wards", engine)) == 3
    with pytest.raises(
        (sa.exc.ProgrammingError, pd.errors.DatabaseError), match=r"rows of private tables are never shown.* → "
    ):
        pd.read_sql("patients", engine)
