"""Asking in Python is asking in SQL: the same answers, costs, refusals and records."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import FrozenInstanceError, fields
from datetime import date
from decimal import Decimal
from typing import Any, Final

import numpy as np
import pytest

import discreet
from discreet.accounting import Pure
from discreet.answers import Answer, Preview
from discreet.answers.fluent import Rows
from discreet.answers.statistics import CALL, STATISTICS, OfColumn
from discreet.curator.curator import Curator
from discreet.errors import Refused
from tests.sql.worlds import opened, policy_of

POLICY: Final = """
[tables.visits]
source = "visits.csv"
unit = "person"
max_rows = 3
[tables.visits.columns]
ward = { values = ["A", "B"] }
flag = { type = "boolean" }
day = { min = 2026-01-01, max = 2026-03-31 }
note = { type = "text" }
cost = { min = 0, max = 10, step = 0.5 }
[tables.people]
source = "people.csv"
unit = "person"
[tables.people.columns]
age = { type = "integer", min = 0, max = 100 }
sex = { values = ["F", "M"] }
[tables.rows]
source = "rows.csv"
unit = "row"
[tables.rows.columns]
x = { min = 0, max = 1 }
[tables.wards]
source = "wards.csv"
public = true
[tables.wards.columns]
ward = { values = ["A", "B"] }
beds = { type = "integer", min = 0, max = 9 }
"""
ODD_TABLE: Final = 'größe "x"; --'
ODD_COLUMN: Final = "sélect 'from' \"é\""
ODD: Final = """
[tables.'größe "x"; --']
source = "odd.csv"
unit = "who is it"
[tables.'größe "x"; --'.columns]
"sélect 'from' \\"é\\"" = { values = ["a", "b"] }
"group" = { min = 0, max = 5 }
"""
DATA: Final[Mapping[str, Any]] = {
    "visits": [
        {
            "person": i % 5,
            "ward": "AB"[i % 2],
            "flag": i % 3 == 0,
            "day": f"2026-0{1 + i % 3}-10",
            "note": "xy"[i % 2],
            "cost": i % 9,
        }
        for i in range(12)
    ],
    "people": [{"person": i, "age": 20 + i, "sex": "FM"[i % 2]} for i in range(6)],
    "rows": [{"x": 0.5}, {"x": 1}],
    "wards": [{"ward": "A", "beds": 3}, {"ward": "B", "beds": 5}],
    ODD_TABLE: [{"who is it": i, ODD_COLUMN: "ab"[i % 2], "group": i} for i in range(4)],
}


@pytest.fixture(scope="module")
def curator() -> Iterator[Curator]:
    with opened(policy_of(POLICY, ODD), DATA) as found:
        yield found


@pytest.fixture
def visits(curator: Curator) -> Rows:
    return curator.table("visits")


Ask = Callable[[Curator], Any]


def rows_of(answer: Answer) -> tuple[list[str], list[tuple[Any, ...]]]:
    return answer.columns, answer.rows


def demand_same(curator: Curator, ask: Ask, sql: str, **cost: Any) -> Answer:
    """The same columns and rows, and the same question: what one bought, the other gets for nothing."""
    mine = ask(curator)
    theirs = curator.query(sql, **{"epsilon": 1, **cost})
    assert rows_of(mine) == rows_of(theirs)
    assert theirs.cached
    assert mine.cost == theirs.cost
    assert mine.notes == theirs.notes
    assert isinstance(mine, Answer)
    return mine


# statistics

SAME: Final[Mapping[str, tuple[Ask, str]]] = {
    "count": (lambda c: c.table("visits").count(epsilon=1), "SELECT COUNT(*) AS count FROM visits"),
    "count a column": (
        lambda c: c.table("visits").count("cost", epsilon=1),
        "SELECT COUNT(cost) AS count FROM visits",
    ),
    "count distinct": (
        lambda c: c.table("visits").count_distinct("person", epsilon=1),
        "SELECT COUNT(DISTINCT person) AS count_distinct FROM visits",
    ),
    "sum": (lambda c: c.table("visits").sum("cost", epsilon=1), "SELECT SUM(cost) AS sum FROM visits"),
    "sum of an expression": (
        lambda c: c.table("visits").sum("CLAMP(cost / 2, 0, 3)", epsilon=1),
        "SELECT SUM(CLAMP(cost / 2, 0, 3)) AS sum FROM visits",
    ),
    "mean": (lambda c: c.table("visits").mean("cost", epsilon=1), "SELECT AVG(cost) AS mean FROM visits"),
    "median": (lambda c: c.table("visits").median("cost", epsilon=1), "SELECT MEDIAN(cost) AS median FROM visits"),
    "quantile": (
        lambda c: c.table("visits").quantile("cost", 0.9, epsilon=1),
        "SELECT QUANTILE_CONT(cost, 0.9) AS quantile FROM visits",
    ),
    "min": (lambda c: c.table("visits").min("cost", epsilon=1), "SELECT MIN(cost) AS min FROM visits"),
    "max": (lambda c: c.table("visits").max("cost", epsilon=1), "SELECT MAX(cost) AS max FROM visits"),
    "std": (lambda c: c.table("visits").std("cost", epsilon=1), "SELECT STDDEV_SAMP(cost) AS std FROM visits"),
    "var": (lambda c: c.table("visits").var("cost", epsilon=1), "SELECT VAR_SAMP(cost) AS var FROM visits"),
    "mode": (lambda c: c.table("visits").mode("ward", epsilon=1), "SELECT MODE(ward) AS mode FROM visits"),
    "histogram": (
        lambda c: c.table("visits").histogram("cost", 5, epsilon=1),
        "SELECT HISTOGRAM(cost, 5) AS histogram FROM visits",
    ),
    "ten bins": (
        lambda c: c.table("visits").histogram("cost", epsilon=1),
        "SELECT HISTOGRAM(cost, 10) AS histogram FROM visits",
    ),
    "value counts": (
        lambda c: c.table("visits").value_counts("ward", epsilon=1),
        "SELECT ward, COUNT(*) AS count FROM visits GROUP BY ward",
    ),
    "several": (
        lambda c: c.table("visits").agg("COUNT(*)", total="SUM(cost)", epsilon=1),
        'SELECT COUNT(*), SUM(cost) AS "total" FROM visits',
    ),
    "a public table": (
        lambda c: c.table("visits").join("wards", on="visits.ward = wards.ward").sum("beds", epsilon=1),
        "SELECT SUM(beds) AS sum FROM visits JOIN wards ON visits.ward = wards.ward",
    ),
    "where": (
        lambda c: c.table("visits").where("cost > 2").where("flag OR cost < 8").count(epsilon=1),
        "SELECT COUNT(*) AS count FROM visits WHERE (cost > 2) AND (flag OR cost < 8)",
    ),
    "where binds its own": (
        lambda c: c.table("visits").where("cost > 8 OR flag").where("ward = 'A'").count(epsilon=1),
        "SELECT COUNT(*) AS count FROM visits WHERE (cost > 8 OR flag) AND (ward = 'A')",
    ),
    "comments": (
        lambda c: c.table("visits").where("cost > 3 -- dear").where("ward = 'B' /* or not */").count(epsilon=1),
        "SELECT COUNT(*) AS count FROM visits WHERE (cost > 3) AND (ward = 'B')",
    ),
    "group by": (
        lambda c: c.table("visits").group_by("ward", "flag").mean("cost", epsilon=1),
        "SELECT ward, flag, AVG(cost) AS mean FROM visits GROUP BY ward, flag",
    ),
    "named keys": (
        lambda c: c.table("visits").group_by(month="DATE_TRUNC('month', day)").count(epsilon=1),
        "SELECT DATE_TRUNC('month', day) AS month, COUNT(*) AS count FROM visits GROUP BY 1",
    ),
    "keys in two steps": (
        lambda c: c.table("visits").group_by("ward").group_by(dear="cost > 3").count(epsilon=1),
        "SELECT ward, cost > 3 AS dear, COUNT(*) AS count FROM visits GROUP BY 1, 2",
    ),
    "group by first": (
        lambda c: c.table("visits").group_by("ward").where("cost < 4").count(epsilon=1),
        "SELECT ward, COUNT(*) AS count FROM visits WHERE (cost < 4) GROUP BY ward",
    ),
    "assign": (
        lambda c: c.table("visits").assign(dear="cost > 3").group_by("dear").count(epsilon=1),
        "SELECT dear, COUNT(*) AS count FROM (SELECT *, cost > 3 AS dear FROM visits) AS visits GROUP BY dear",
    ),
    "assign after where": (
        lambda c: c.table("visits").where("flag").assign(twice="cost * 2").where("twice > 4").sum("twice", epsilon=1),
        (
            "SELECT SUM(twice) AS sum FROM (SELECT *, cost * 2 AS twice FROM visits WHERE flag) AS visits"
            " WHERE (twice > 4)"
        ),
    ),
    "join": (
        lambda c: c.table("visits").join("people").group_by("sex").count(epsilon=1),
        "SELECT sex, COUNT(*) AS count FROM visits JOIN people ON visits.person = people.person GROUP BY sex",
    ),
    "left join": (
        lambda c: c.table("people").join("visits", how="left").sum("cost", epsilon=1),
        "SELECT SUM(cost) AS sum FROM people LEFT JOIN visits ON people.person = visits.person",
    ),
    "right join": (
        lambda c: c.table("visits").join("people", how="right").count(epsilon=1),
        "SELECT COUNT(*) AS count FROM visits RIGHT JOIN people ON visits.person = people.person",
    ),
    "full join": (
        lambda c: c.table("visits").join("people", how="full").count(epsilon=1),
        "SELECT COUNT(*) AS count FROM visits FULL JOIN people ON visits.person = people.person",
    ),
    "join of narrowed rows": (
        lambda c: c.table("visits").where("cost > 1").join(c.table("people").where("age > 21")).count(epsilon=1),
        (
            "SELECT COUNT(*) AS count FROM (SELECT * FROM visits WHERE cost > 1) AS visits"
            " JOIN (SELECT * FROM people WHERE age > 21) AS people ON visits.person = people.person"
        ),
    ),
    "join and then where": (
        lambda c: c.table("visits").join("people").where("age > 21 AND cost > 1").count(epsilon=1),
        (
            "SELECT COUNT(*) AS count FROM visits JOIN people ON visits.person = people.person"
            " WHERE (age > 21 AND cost > 1)"
        ),
    ),
    "assigned rows joined": (
        lambda c: c.table("visits").assign(dear="cost > 3").join("people").group_by("dear").count(epsilon=1),
        (
            "SELECT dear, COUNT(*) AS count FROM (SELECT *, cost > 3 AS dear FROM visits) AS visits"
            " JOIN people ON visits.person = people.person GROUP BY dear"
        ),
    ),
    "three tables": (
        lambda c: c.table("visits").join("people").join("wards", on="visits.ward = wards.ward").sum("beds", epsilon=1),
        (
            "SELECT SUM(beds) AS sum FROM visits JOIN people ON visits.person = people.person"
            " JOIN wards ON visits.ward = wards.ward"
        ),
    ),
    "bounded": (
        lambda c: c.table("visits").bounded(max_rows=2, max_groups=1).group_by("ward").count(epsilon=1),
        (
            "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(max_rows_contributed = 2, max_groups_contributed = 1)"
            " ward, COUNT(*) AS count FROM visits GROUP BY ward"
        ),
    ),
    "rows that are units": (lambda c: c.table("rows").sum("x", epsilon=1), "SELECT SUM(x) AS sum FROM rows"),
}


@pytest.mark.parametrize("case", SAME)
def test_python_and_sql_ask_the_same(curator: Curator, case: str) -> None:
    ask, sql = SAME[case]
    answer = demand_same(curator, ask, sql)
    assert answer.rows


def test_the_exact_numbers(visits: Rows) -> None:
    """Without noise they are those of the rows: three of each person's are read."""
    assert visits.count(epsilon=1).rows == [(12,)]
    assert visits.where("ward = 'A'").count(epsilon=1).rows == [(6,)]
    assert visits.sum("cost", epsilon=1).rows == [(sum(i % 9 for i in range(12)),)]
    assert visits.value_counts("ward", epsilon=1).rows == [("A", 6), ("B", 6)]
    assert visits.bounded(max_rows=1).count(epsilon=1).rows == [(5,)]
    assert visits.where("day < $until", until=date(2026, 2, 1)).count(epsilon=1).rows == [(4,)]


def test_every_statistic_is_compared_with_sql() -> None:
    compared = " ".join(SAME).replace(" ", "_")
    assert {statistic for statistic in STATISTICS if statistic not in compared} == set()


def test_costs_of_every_kind(visits: Rows, curator: Curator) -> None:
    assert visits.where("cost > 0.5").count(error=5).cost == curator.preview(
        "SELECT COUNT(*) AS count FROM visits WHERE (cost > 0.5)", error=5
    ).loss  # fmt: skip
    confident = visits.count(epsilon=1, confidence=0.5)
    assert confident.confidence == 0.5
    fresh = [visits.count(epsilon=1, fresh=True) for _ in range(2)]
    assert not any(answer.cached for answer in fresh)


# parameters


def test_parameters_are_values(visits: Rows, curator: Curator) -> None:
    found = visits.where("ward = $ward", ward="A' OR '1' = '1").count(epsilon=1)
    assert found.rows == [(0,)]
    rows = visits.where("cost > $least", least=2).where("cost < $most", most=7)
    sql = "SELECT COUNT(*) AS count FROM visits WHERE (cost > $least) AND (cost < $most)"
    demand_same(curator, lambda _: rows.count(epsilon=1), sql, params={"least": 2, "most": 7})
    late = visits.where("cost > $least").count(epsilon=1, params={"least": 4})
    assert late.rows == visits.where("cost > 4").count(epsilon=1).rows


def test_parameters_of_both_sides_of_a_join(curator: Curator) -> None:
    young = curator.table("people").where("age < $age", age=23)
    dear = curator.table("visits").where("cost > $cost", cost=3)
    assert dear.join(young)._steps.params == {"cost": 3, "age": 23}
    assert dear.join(young).count(epsilon=1).rows[0][0] > 0
    with pytest.raises(Refused, match="given twice"):
        dear.join(curator.table("people").where("age < $cost", cost=23))
    with pytest.raises(Refused, match="given twice"):
        dear.where("cost < $cost", cost=5)
    with pytest.raises(Refused, match="given twice"):
        dear.count(epsilon=1, params={"cost": 1})


def test_parameters_that_are_missing_or_odd(visits: Rows, curator: Curator) -> None:
    before = curator.count()
    for params in ({}, {"other": 1}, {"least": object()}, {"least": [1]}, {"least": float("nan")}):
        with pytest.raises(Refused):
            visits.where("cost > $least", **params).count(epsilon=1)
    assert curator.count() == before


# names


def test_odd_names(curator: Curator) -> None:
    rows = curator.table(ODD_TABLE)
    column = '"' + ODD_COLUMN.replace('"', '""') + '"'
    assert rows.count(epsilon=1).rows == [(4,)]
    assert rows.group_by(column).count(epsilon=1).rows == [("a", 2), ("b", 2)]
    assert rows.sum('"group"', epsilon=1).rows == [(6,)]
    assert rows.where('"group" > 1').assign(y='"group" * 2').sum("y", epsilon=1).rows == [(10,)]
    assert rows.partition(ODD_COLUMN)["a"].count(epsilon=1).rows == [(2,)]


@pytest.mark.parametrize("label", ["select", 'a"b', "größe", "a b", "🦆", "x" * 200, "1", "--", "'", "COUNT(*)"])
def test_odd_labels(visits: Rows, label: str) -> None:
    found = visits.group_by(**{label: "ward"}).agg(**{label + "n": "COUNT(*)"}, epsilon=1)
    assert found.columns == [label, label + "n"]
    assert found.rows == [("A", 6), ("B", 6)]
    assert visits.assign(**{label + "m": "cost > 100"}).count(epsilon=1).rows == [(12,)]


# previews


@pytest.mark.parametrize("case", SAME)
def test_a_preview_is_that_of_the_text(curator: Curator, case: str) -> None:
    ask, _ = SAME[case]

    class Ahead:
        """A curator whose tables are previewed."""

        def table(self, name: str) -> Rows:
            return curator.table(name).preview

    before = curator.entries()
    mine = ask(Ahead())  # type: ignore[arg-type]
    theirs = curator.preview(mine.question, epsilon=1, dialect="duckdb" if "OPTIONS" in mine.question else None)
    assert isinstance(mine, Preview)
    assert {name.name: getattr(mine, name.name) for name in fields(mine)} == {
        name.name: getattr(theirs, name.name) for name in fields(theirs)
    }
    assert curator.entries() == before


# nothing is asked before a statistic is


def test_steps_read_and_charge_nothing(curator: Curator, monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: object, **__: object) -> None:
        pytest.fail("a step asked something")

    for act in ("answer", "preview_of", "_plan", "_engine", "query", "preview"):
        monkeypatch.setattr(Curator, act, never)
    rows = curator.table("visits").where("nonsense >").group_by("nowhere").assign(a="x +").join("people")
    rows = rows.bounded(max_rows=1).preview
    assert repr(rows)
    assert repr(rows["cost"])
    assert repr(curator.table("visits").partition("ward"))
    assert curator.table("visits").partition("ward")["A"].sql("COUNT(*)")


def test_rows_never_change(visits: Rows) -> None:
    before = visits.sql("COUNT(*)"), visits._steps.params
    for step in (
        visits.where("cost > $x", x=1),
        visits.group_by("ward"),
        visits.assign(y="cost"),
        visits.join("people"),
        visits.bounded(max_rows=1),
        visits.preview,
        visits.partition("ward")["A"],
    ):
        assert step is not visits
        assert step != visits
    assert (visits.sql("COUNT(*)"), visits._steps.params) == before
    assert not visits._steps.ahead
    with pytest.raises(FrozenInstanceError):
        visits._steps = None  # type: ignore[misc,assignment]
    with pytest.raises((AttributeError, TypeError)):
        visits.more = 1  # type: ignore[attr-defined]


def test_a_caller_who_changes_a_dictionary_changes_no_rows(visits: Rows) -> None:
    given = {"least": 2}
    rows = visits.where("cost > $least", **given)
    given["least"] = 9
    assert rows._steps.params == {"least": 2}


def test_rows_can_be_used_twice(visits: Rows) -> None:
    dear = visits.where("cost > 3")
    assert dear.where("ward = 'A'").count(epsilon=1).rows[0][0] + dear.where("ward = 'B'").count(epsilon=1).rows[0][
        0
    ] == dear.count(epsilon=1).rows[0][0]  # fmt: skip


# one column, as pandas people write it

OF_COLUMN: Final[Mapping[str, tuple[Callable[[Rows], Any], Callable[[Rows], Any]]]] = {
    "mean": (lambda v: v["cost"].mean(epsilon=1), lambda v: v.mean("cost", epsilon=1)),
    "sum": (lambda v: v["cost"].sum(epsilon=1), lambda v: v.sum("cost", epsilon=1)),
    "count": (lambda v: v["cost"].count(epsilon=1), lambda v: v.count("cost", epsilon=1)),
    "nunique": (lambda v: v["person"].nunique(epsilon=1), lambda v: v.count_distinct("person", epsilon=1)),
    "histogram": (lambda v: v["cost"].histogram(4, epsilon=1), lambda v: v.histogram("cost", 4, epsilon=1)),
    "bins": (lambda v: v["cost"].histogram(bins=4, epsilon=1), lambda v: v.histogram("cost", 4, epsilon=1)),
    "quantile": (lambda v: v["cost"].quantile(0.25, epsilon=1), lambda v: v.quantile("cost", 0.25, epsilon=1)),
    "value counts": (lambda v: v["ward"].value_counts(epsilon=1), lambda v: v.value_counts("ward", epsilon=1)),
    "std": (lambda v: v["cost"].std(epsilon=1), lambda v: v.std("cost", epsilon=1)),
    "median": (lambda v: v["cost"].median(epsilon=1), lambda v: v.median("cost", epsilon=1)),
    "grouped": (
        lambda v: v.group_by("ward")["cost"].mean(epsilon=1),
        lambda v: v.group_by("ward").mean("cost", epsilon=1),
    ),
    "expression": (lambda v: v["cost * 2"].sum(epsilon=1), lambda v: v.sum("cost * 2", epsilon=1)),
}


@pytest.mark.parametrize("case", OF_COLUMN)
def test_a_column_of_rows(visits: Rows, case: str) -> None:
    mine, theirs = (ask(visits) for ask in OF_COLUMN[case])
    assert rows_of(mine) == rows_of(theirs)
    assert theirs.cached


def test_describe(curator: Curator, visits: Rows) -> None:
    sql = (
        "SELECT COUNT(cost) AS count, AVG(cost) AS mean, STDDEV_SAMP(cost) AS std, MIN(cost) AS min,"
        " QUANTILE_CONT(cost, 0.25) AS q25, QUANTILE_CONT(cost, 0.5) AS q50, QUANTILE_CONT(cost, 0.75) AS q75,"
        " MAX(cost) AS max FROM visits"
    )
    answer = demand_same(curator, lambda _: visits["cost"].describe(epsilon=9), sql, epsilon=9)
    assert answer.columns == ["count", "mean", "std", "min", "q25", "q50", "q75", "max"]
    assert answer.rows[0][0] == 12
    assert answer.cost == Pure(9)
    with pytest.raises(Refused):
        visits["note"].describe(epsilon=9)


def test_what_a_column_has(visits: Rows) -> None:
    column = visits["cost"]
    assert isinstance(column, OfColumn)
    assert {"mean", "value_counts", "describe", "nunique", "histogram"} <= set(dir(column))
    assert all(callable(getattr(column, statistic)) for statistic in dir(column))
    for missing in ("kurtosis", "agg", "_one", "where", "_repr_html_"):
        assert not hasattr(column, missing)
    with pytest.raises(AttributeError, match=r"there is no statistic 'avg'; there are .*mean"):
        column.avg(epsilon=1)
    assert repr(column).startswith("<cost of <rows: SELECT")
    assert copy.copy(column) == column


# wrong use


@pytest.mark.parametrize(
    "ask",
    [
        lambda v: v.where(5),
        lambda v: v.where(None),
        lambda v: v.where(""),
        lambda v: v.where(" \n"),
        lambda v: v.where(b"cost > 1"),
        lambda v: v.where(["cost > 1"]),
        lambda v: v.group_by(1),
        lambda v: v.group_by("ward", x=None),
        lambda v: v.assign(x=3),
        lambda v: v[None],
        lambda v: v["cost":"flag"],
        lambda v: v.sum(3, epsilon=1),
        lambda v: v.sum("", epsilon=1),
        lambda v: v.count(True, epsilon=1),
        lambda v: v.agg(3, epsilon=1),
        lambda v: v.agg(n=3, epsilon=1),
        lambda v: v.agg(n="COUNT(*)", epsiln=0.1),
        lambda v: v.agg(epsilon=1),
        lambda v: v.agg(),
        lambda v: v.sql(),
        lambda v: v.histogram("cost", 0, epsilon=1),
        lambda v: v.histogram("cost", 2.5, epsilon=1),
        lambda v: v.histogram("cost", "5", epsilon=1),
        lambda v: v.quantile("cost", "half", epsilon=1),
        lambda v: v.quantile("cost", 2, epsilon=1),
        lambda v: v.quantile("cost", None, epsilon=1),
        lambda v: v.quantile("cost", float("nan"), epsilon=1),
        lambda v: v.bounded(rows=3),
        lambda v: v.bounded(max_rows=0),
        lambda v: v.bounded(max_rows="3"),
        lambda v: v.bounded(max_rows=True),
        lambda v: v.join("nowhere"),
        lambda v: v.join(5),
        lambda v: v.join(None),
        lambda v: v.join("people", how="cross"),
        lambda v: v.join("people", how="INNER"),
        lambda v: v.join("people", on=""),
        lambda v: v.join("wards"),
        lambda v: v.join("rows"),
        lambda v: v.join("people").join("people"),
        lambda v: v.join("visits").count(epsilon=1),
        lambda v: v.join("people").where("age > 3").join("wards", on="visits.ward = wards.ward"),
        lambda v: v.join("people", on="TRUE").count(epsilon=1),
        lambda v: v.join("people", on="cost = age").count(epsilon=1),
        lambda v: v.where("nowhere > 3").count(epsilon=1),
        lambda v: v.where("cost >").count(epsilon=1),
        lambda v: v.where("cost > 1; SELECT 1").count(epsilon=1),
        lambda v: v.where("TRUE); DROP TABLE visits; --").count(epsilon=1),
        lambda v: v.where("TRUE) /*").where("cost > 3").count(epsilon=1),
        lambda v: v.group_by("person").count(epsilon=1),
        lambda v: v.sum("nowhere", epsilon=1),
        lambda v: v.sum("note", epsilon=1),
        lambda v: v.mean("person", epsilon=1),
        lambda v: v.count(),
        lambda v: v.count(epsilon=-1),
        lambda v: v.count(epsilon="much"),
        lambda v: v.count(epsilon=1, rho=1),
        lambda v: v.count(epsilon=1, analyst="nobody"),
        lambda v: v.count(epsilon=1, fresh="no"),
        lambda v: v.count(epsilon=1, dialect=7),
        lambda v: v.agg("cost", epsilon=1),
        lambda v: v.agg("*", epsilon=1),
    ],
)
def test_wrong_use_is_refused_and_free(curator: Curator, visits: Rows, ask: Callable[[Rows], Any]) -> None:
    before = curator.entries()
    with pytest.raises(Refused) as refused:
        ask(visits)
    assert refused.value.reason
    assert refused.value.fix
    assert curator.entries() == before


def test_a_typing_mistake_is_named(visits: Rows) -> None:
    with pytest.raises(TypeError, match=r"there is no argument 'epsiln'; there are .*epsilon"):
        visits.count(epsiln=1)
    with pytest.raises(TypeError, match="there is no argument 'bin'"):
        visits.histogram("cost", bin=4, epsilon=1)


def test_statistics_take_what_query_takes() -> None:
    assert set(inspect.signature(Curator.query).parameters) - {"self", "sql"} == CALL


@pytest.mark.parametrize("table", ["nowhere", "Visits", "visits; --", "", None, 5])
def test_a_table_that_is_not_there(curator: Curator, table: Any) -> None:
    with pytest.raises(Refused) as refused:
        curator.table(table)
    assert refused.value.code == "unknown-table"
    assert refused.value.fix


def test_public_tables_are_asked_for_nothing(curator: Curator) -> None:
    assert curator.table("wards").sum("beds").rows == [(8,)]
    assert curator.table("wards").agg("beds").loss == Pure(0)


# known not to hold yet


@pytest.mark.parametrize(
    "ask",
    [
        lambda v: v._asks.table(["visits"]),
        lambda v: v.join(["people"]),
        lambda v: v.join("people", how=["inner"]),
        lambda v: v.count(epsilon=1, params=[1]),
        lambda v: v.quantile("cost", [0.5], epsilon=1),
    ],
)
def test_wrong_types_are_refused(visits: Rows, ask: Callable[[Rows], Any]) -> None:
    with pytest.raises(Refused):
        ask(visits)


@pytest.mark.parametrize("second", ["TRUE) OR (TRUE", "note = ' OR TRUE"])
def test_a_condition_narrows_whatever_it_says(visits: Rows, second: str) -> None:
    """No question of privacy: of what a program means that puts its own condition before somebody else's."""
    try:
        first = visits.where("ward = 'B" if "'" in second else "ward = 'B'")
        found = first.where(second).count(epsilon=1, fresh=True)
    except Refused:
        return
    assert found.rows[0][0] <= 6


@pytest.mark.parametrize("q", [Decimal("0.5"), np.float32(0.5)])
def test_a_quantile_of_any_number(visits: Rows, q: Any) -> None:
    assert visits.quantile("cost", q, epsilon=1).rows == visits.quantile("cost", 0.5, epsilon=1).rows


def test_a_parameter_may_have_any_name(visits: Rows) -> None:
    params: dict[str, Any] = {"condition": 100}
    assert visits.where("cost > $condition", **params).count(epsilon=1).rows == [(0,)]


def test_limits_of_the_other_side_of_a_join(curator: Curator, visits: Rows) -> None:
    try:
        joined = curator.table("people").join(visits.bounded(max_rows=1))
    except Refused:
        return
    assert joined._steps.limits


def test_a_preview_of_the_other_side_of_a_join(curator: Curator) -> None:
    try:
        joined = curator.table("visits").join(curator.table("people").preview)
    except Refused:
        return
    assert joined._steps.ahead


def test_rows_of_two_curators_are_not_joined(curator: Curator, visits: Rows) -> None:
    with curator.dummy(rows=5) as dummy, pytest.raises(Refused):
        visits.join(dummy.table("people"))


# the ledger


def test_the_ledger_shows_what_was_asked(curator: Curator, visits: Rows) -> None:
    visits.where("cost > 7").group_by("ward").mean("cost", epsilon=2)
    shown = " ".join(curator.entries()[-1].question.split())
    assert shown == 'SELECT ward, AVG(cost) AS mean FROM "visits" WHERE (cost > 7 ) GROUP BY 1'
    assert curator.query(curator.entries()[-1].question, epsilon=2).cached


def test_what_is_printed(curator: Curator, visits: Rows) -> None:
    first, *facts = repr(visits).split("\n")
    assert first == '<rows: SELECT * FROM "visits"; end with count, sum, mean, … and a cost>'
    assert facts == repr(curator.tables()["visits"]).split("\n")
    assert "0 … 10 in steps of 0.5" in repr(visits)
    assert "<table" in visits._repr_html_()
    assert "<i>" not in visits.where("note = '<i>'")._repr_html_()
    assert "&lt;i&gt;" in visits.where("note = '<i>'")._repr_html_()
    assert "GROUP BY ward" in repr(visits.group_by("ward"))
    assert "WHERE (cost > 3 )" in repr(visits.where("cost > 3"))
    assert discreet.Refused is Refused
    assert isinstance(curator.table("visits"), Rows)
