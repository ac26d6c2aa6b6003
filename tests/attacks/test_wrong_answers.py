"""The attack: a query that means one thing to the analyst and another to the planner, so that the answer is wrong and
nobody notices. Every such form is answered as SQL says, or refused for nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, timedelta
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from discreet.composed import name
from discreet.errors import Refused
from discreet.learn import CategoricalNB
from discreet.policy.model import Kind
from discreet.sql import select
from discreet.sql.domain import Domain
from discreet.sql.expression import Expr
from discreet.sql.literals import comparable
from tests.sql.twins import Twins, twins
from tests.sql.worlds import opened, policy_of

COST = 300


@pytest.fixture(scope="module")
def world() -> Iterator[Twins]:
    with twins() as found:
        yield found


def rows(world: Twins, text: str, **options: Any) -> list[tuple[Any, ...]]:
    return world.curator.query(text, epsilon=COST, **options).rows


def refused(world: Twins, text: str, **options: Any) -> Refused:
    """The refusal of a query, for nothing."""
    before = world.charges
    with pytest.raises(Refused) as found:
        world.curator.query(text, epsilon=COST, **options)
    assert world.charges == before
    return found.value


# modifiers that nobody looks at


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * RENAME (i AS j2) FROM p",
        "SELECT COLUMNS('i') FROM p",
        "SELECT * LIKE 'i%' FROM p",
        "SELECT SUM(i) FROM (SELECT COLUMNS('i') FROM t) AS z",
        "SELECT MIN(i, 2) FROM p",
        "SELECT COUNT(i, j) FROM p",
        "(SELECT k, COUNT(*) FROM t GROUP BY k) LIMIT 1",
        "SELECT COUNT(*) FROM p WHERE i = ((SELECT j FROM q) LIMIT 1)",
        "SELECT COUNT(*) FROM t WHERE i BETWEEN SYMMETRIC 5 AND 1",
        "SELECT DISCREET_BOUNDED(SUM(i), 'contribution_bounds_per_row', 0, 5) FROM t",
        "SELECT bounded_0(SUM(i), 'contribution_bounds_per_row', 0, 5) FROM t",
    ],
)
def test_nothing_that_is_written_is_ignored(text: str, world: Twins) -> None:
    refused(world, text)


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * EXCLUDE (i) FROM p",
        "SELECT * REPLACE (0 AS i) FROM p",
        "SELECT SUM(i) FROM (SELECT * EXCLUDE (i), j AS i FROM t) AS z",
        "SELECT SUM(i) FROM (SELECT * REPLACE (0 AS i) FROM t) AS z",
        "SELECT * EXCLUDE (k) FROM (SELECT k, COUNT(*) AS n FROM t GROUP BY k) AS z",
    ],
)
def test_what_stars_leave_out_or_replace_is_obeyed(text: str, world: Twins) -> None:
    assert sorted(map(repr, rows(world, text))) == sorted(map(repr, world.plain.execute(text).fetchall()))


@pytest.mark.parametrize(
    "text",
    [
        "SELECT SUM(CLAMP(i, 0, (SELECT MAX(i) FROM q))) FROM t",
        "SELECT PERCENTILE_CONT(i, (SELECT 0.9 FROM q LIMIT 1)) FROM t",
        "SELECT QUANTILE_CONT(i, (SELECT MAX(x) FROM q)) FROM t",
        "SELECT SUM(WIDTH_BUCKET(i, 0, (SELECT MAX(i) FROM q), 5)) FROM t",
        "SELECT SUM(ROUND(x, (SELECT 1 FROM q LIMIT 1))) FROM t",
        "SELECT COUNT(*) FROM t WHERE w LIKE (SELECT MAX(w) FROM q)",
        "SELECT COUNT(*) FROM t WHERE SUBSTR(w, (SELECT 1 FROM q LIMIT 1)) = 'a'",
        "SELECT APPROX_TOP_COUNT(k, (SELECT 2 FROM q LIMIT 1)) FROM t",
        "SELECT HISTOGRAM(i, (SELECT 2 FROM q LIMIT 1)) FROM t",
        "SELECT SUM(i, contribution_bounds_per_row => ((SELECT 0 FROM q LIMIT 1), 5)) FROM t",
        "SELECT SUM(c) FROM (SELECT LAG(i, (SELECT 1 FROM q LIMIT 1)) OVER (PARTITION BY person) AS c FROM t) AS z",
        "SELECT COUNT(*) FROM t WHERE d > (SELECT '2020-01-01' FROM q LIMIT 1)",
        "SELECT SUM(CLAMP(i, 0, CAST(5 AS INTEGER))) FROM t",
        "SELECT COUNT(*) FROM t LIMIT (SELECT 1 FROM q LIMIT 1)",
    ],
)
def test_a_constant_is_a_literal(text: str, world: Twins) -> None:
    """What a subquery gives is not known when bounds are set; its declared lower bound is something else."""
    refused(world, text)


def test_arithmetic_of_literals_is_a_literal(world: Twins) -> None:
    assert rows(world, "SELECT SUM(CLAMP(i, 2 - 4, 1 + 1)), COUNT(*) FILTER (WHERE x = 0.1 + 0.15) FROM t") == (
        world.plain.execute(
            "SELECT SUM(LEAST(GREATEST(i, -2), 2)), COUNT(*) FILTER (WHERE x = 0.1 + 0.15) FROM t WHERE i IS NOT NULL"
        ).fetchall()
    )


def test_expected_errors_take_no_subquery_for_a_number(world: Twins) -> None:
    """The error of a quotient by something unknown is not that of a quotient by its lower bound."""
    found = world.curator.preview("SELECT COUNT(*) / (SELECT MAX(i) FROM q) AS v, COUNT(*) / 2 AS w FROM t", epsilon=1)
    assert set(found.error) == {"w"}


# words of another dialect


def test_parts_of_dates_mean_what_bigquery_says(world: Twins) -> None:
    """DAYOFWEEK: 1 is Sunday. WEEK: 0 to 53, week 1 begins on the first Sunday. ISOWEEK: of ISO 8601."""
    text = (
        "SELECT d, EXTRACT(DAYOFWEEK FROM d), EXTRACT(WEEK FROM d), EXTRACT(ISOWEEK FROM d), EXTRACT(DAYOFYEAR FROM d),"
        " DATE_TRUNC(d, WEEK), DATE_TRUNC(d, ISOWEEK), DATE_TRUNC(d, WEEK(MONDAY)),"
        " DATE_DIFF(d, DATE '2020-01-01', WEEK), DATE_DIFF(d, DATE '2020-01-01', ISOWEEK) FROM p WHERE d IS NOT NULL"
    )
    first = date(2020, 1, 1)
    for day, *found in rows(world, text, dialect="bigquery"):
        sunday = day - timedelta(days=day.isoweekday() % 7)
        monday = day - timedelta(days=day.weekday())
        assert found == [
            day.isoweekday() % 7 + 1,
            int(day.strftime("%U")),
            day.isocalendar().week,
            day.timetuple().tm_yday,
            sunday,
            monday,
            monday,
            (sunday - (first - timedelta(days=first.isoweekday() % 7))).days // 7,
            (monday - (first - timedelta(days=first.weekday()))).days // 7,
        ]


def test_functions_mean_what_bigquery_says(world: Twins) -> None:
    text = (
        "SELECT CONCAT('a', NULL), GREATEST(1, NULL), LEAST(1, NULL), SUBSTR('hello', 0, 2), CAST(x AS INT64), LOG(x),"
        " LENGTH('é'), DIV(-7, 2), MOD(-7, 3) FROM p WHERE x = 2.5 LIMIT 1"
    )
    (found,) = rows(world, text, dialect="bigquery")
    assert found == (None, None, None, "he", 3, pytest.approx(0.9162907), 1, -3, -1)


@pytest.mark.parametrize(
    "expression",
    [
        "WEEK(d)",
        "DAYOFWEEK(d)",
        "SUBSTR(w, -9)",
        "EXTRACT(WEEK(TUESDAY) FROM d)",
        "EXTRACT(DOW FROM d)",
    ],
)
def test_what_bigquery_means_differently_is_refused(expression: str, world: Twins) -> None:
    refused(world, f"SELECT {expression} FROM p", dialect="bigquery")


# values of nothing


@pytest.mark.parametrize(
    "item",
    [
        "AVG(i)", "VAR_POP(i)", "VAR_SAMP(i)", "STDDEV(x)", "COVAR_POP(i, j)", "CORR(i, j)", "REGR_SLOPE(i, j)",
        "REGR_INTERCEPT(i, j)", "MODE(k)",
    ],
)  # fmt: skip
def test_aggregates_of_no_rows_are_null(item: str, world: Twins) -> None:
    """So are those of a public key without rows, and what follows sees NULL."""
    assert rows(world, f"SELECT {item} FROM t WHERE i > 100") == [(None,)]
    answer = world.curator.query(f"SELECT k, {item} AS v FROM t WHERE k <> 'C' GROUP BY k ORDER BY k", epsilon=COST)
    assert answer.rows[2] == ("C", None)
    assert None not in (answer.rows[0][1], answer.rows[1][1])
    assert "v" not in answer.intervals[2]
    assert str(answer)
    assert answer.to_dict()
    if "MODE" not in item:
        assert rows(world, f"SELECT COALESCE({item}, -1), {item} IS NULL FROM t WHERE i > 100") == [(-1, True)]


def test_quantiles_of_no_rows_say_what_they_are(world: Twins) -> None:
    answer = world.curator.query("SELECT MEDIAN(i) FROM t WHERE i > 100", epsilon=COST)
    assert any("where there are no rows" in note for note in answer.notes)
    many = ", ".join(f"QUANTILE_CONT(i, {share / 20})" for share in range(1, 20))
    assert set(rows(world, f"SELECT {many} FROM t WHERE i > 100")[0]) == {None}


# charged, and then failed


TEXTS = [
    "SELECT k, COUNT(*) FROM t GROUP BY k HAVING k IN (SELECT k FROM q WHERE id > 28) ORDER BY k",
    "SELECT k, k IN (SELECT k FROM q WHERE id > 28) AS o, COUNT(*) FROM t GROUP BY k ORDER BY k",
    "SELECT k, k IN ('A', 'B') AS o, COUNT(*) FROM t GROUP BY k ORDER BY k",
    "SELECT k, COUNT(*) FROM t GROUP BY k HAVING COUNT(*) IN (SELECT id FROM q) ORDER BY k",
    "SELECT k, COUNT(*) FROM t GROUP BY k HAVING k = (SELECT MIN(k) FROM q) ORDER BY k",
    "SELECT k, COUNT(*) FROM t GROUP BY k ORDER BY k IN (SELECT k FROM q WHERE id > 28), k",
    "SELECT -(SELECT MAX(i) FROM q) AS v, COUNT(*) FROM t",
    "SELECT SUM(c) FROM (SELECT person, k, COUNT(*) AS c FROM t GROUP BY person, k HAVING k IN (SELECT k FROM q)) AS z",
    "SELECT SUM(c) FROM (SELECT person, 7 AS o, SUM(i) AS c FROM t GROUP BY ALL) AS z",
    "SELECT SUM(c) FROM (SELECT person, 7 AS o, SUM(i) AS c FROM t GROUP BY person, o) AS z",
    "SELECT 7 AS o, COUNT(*) FROM t GROUP BY ALL",
    "SELECT 7 AS o, 'a' AS e, k, COUNT(*) FROM t GROUP BY ALL ORDER BY k",
    "SELECT 7 AS o, COUNT(*) FROM p GROUP BY ALL",
    "SELECT 7 AS o, k, COUNT(*) FROM p GROUP BY o, k ORDER BY k",
]
FREE = [
    "SELECT SUM(c) FROM (SELECT person, FIRST(i ORDER BY 'a') AS c FROM t GROUP BY person) AS z",
    "SELECT SUM(c) FROM (SELECT person, LAST(i ORDER BY NULL, 7) AS c FROM t GROUP BY person) AS z",
    "SELECT id FROM p ORDER BY 'a', id",
    "SELECT k, COUNT(*) FROM t GROUP BY k ORDER BY 'a', NULL",
]
FRAMES = ["1 FOLLOWING AND 1 PRECEDING", "UNBOUNDED FOLLOWING AND CURRENT ROW", "CURRENT ROW AND UNBOUNDED PRECEDING"]


@pytest.mark.parametrize("text", TEXTS)
def test_what_is_charged_is_answered(text: str, world: Twins) -> None:
    assert rows(world, text) == world.plain.execute(text).fetchall()


@pytest.mark.parametrize("text", FREE)
def test_an_order_of_constants_is_no_order(text: str, world: Twins) -> None:
    assert rows(world, text)


@pytest.mark.parametrize("frame", FRAMES)
def test_frames_that_end_before_they_start_are_refused(frame: str, world: Twins) -> None:
    over = f"OVER (PARTITION BY person ORDER BY id ROWS BETWEEN {frame})"
    refused(world, f"SELECT SUM(c) FROM (SELECT COUNT(*) {over} AS c FROM t) AS z")


@pytest.mark.parametrize("text", [text for text in [*TEXTS, *FREE] if "7 AS o" in text or "'a'" in text])
def test_what_the_planner_overlooks_is_refused_for_nothing(
    text: str, world: Twins, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Constants as positions again, as if nobody had thought of them: the engine is asked before the charge."""
    monkeypatch.setattr(Expr, "key", property(lambda self: self.sql))
    monkeypatch.setattr(select, "_varies", lambda _: True)
    world.curator._plans.clear()
    before = world.charges
    try:
        found = rows(world, text)
    except Refused:
        assert world.charges == before
    else:
        assert "'a', id" not in text
        assert found == world.plain.execute(text).fetchall()
    finally:
        world.curator._plans.clear()


def test_fits_are_rehearsed_too(world: Twins, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Expr, "key", property(lambda self: self.sql))
    before = world.charges
    model = CategoricalNB(classes=["A", "B", "C"], categories=[[7], [0, 1]])
    inner = "SELECT person, k, 7 AS o, SUM(i) AS c FROM t GROUP BY person, k, o"
    text = f"SELECT k, o, CASE WHEN c > 1 THEN 1 ELSE 0 END AS c FROM ({inner})"
    with pytest.raises(Refused, match="cannot compute"):
        world.curator.fit(model, text, epsilon=1, target="k")
    assert world.charges == before


# windows


@pytest.mark.parametrize("order", ["k", "b", "k DESC", "i NULLS FIRST", "b, k", "1", "'a'", "x"])
@pytest.mark.parametrize(
    "function", ["SUM(j)", "COUNT(*)", "COUNT(j)", "MIN(j)", "MAX(y)", "SUM(y)", "RANK()", "DENSE_RANK()"]
)
def test_rows_that_are_equal_share_their_window(function: str, order: str, world: Twins) -> None:
    """Without a frame a window ends after the last row that is equal in its order, as SQL says."""
    over = f"OVER (PARTITION BY person ORDER BY {order})"
    frame = f"OVER (PARTITION BY person ORDER BY {order} RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)"
    for window in (over, *([frame] if "RANK" not in function else [])):
        text = f"SELECT SUM(c), COUNT(c) FROM (SELECT {function} {window} AS c FROM t) AS z"
        assert rows(world, text) == world.plain.execute(text).fetchall()


# names


@pytest.mark.parametrize(
    "text",
    [
        "SELECT i AS j, j AS i FROM p ORDER BY id",
        "SELECT i + 1 AS j, j + 1 AS o FROM p ORDER BY id",
        "SELECT i + 1 AS o, o + 1 AS e FROM p ORDER BY id",
        "SELECT -id AS id FROM p ORDER BY id",
        "SELECT -id AS id FROM p ORDER BY id + 0",
        "SELECT k, SUM(i) AS id FROM t GROUP BY k ORDER BY id, k",
        "SELECT k, COUNT(*) AS n FROM t GROUP BY k HAVING n > 5 ORDER BY 0 - n, k",
    ],
)
def test_a_name_is_a_column_before_it_is_an_item(text: str, world: Twins) -> None:
    assert rows(world, text) == world.plain.execute(text).fetchall()


def test_a_column_that_is_not_grouped_is_no_item(world: Twins) -> None:
    refused(world, "SELECT COUNT(*) AS i, i + 1 FROM t")


# whole numbers that float64 cannot tell apart


@pytest.mark.parametrize("table", ["t", "p"])
@pytest.mark.parametrize(
    "condition",
    [
        f"big {sign} {value}"
        for sign in ("=", "<>", "<", ">=")
        for value in (
            -(2**63),
            -(2**63) + 1,
            2**63 - 1,
            2**63,
            -(2**63) - 1,
            2**53 + 1,
            f"{2**53 + 1}.0",
            2**126,
            "0.5",
        )
    ]
    + [
        f"big IN ({-(2**63)}, {2**53 + 1})",
        f"big NOT IN ({2**63}, 5.0)",
        f"big BETWEEN {-(2**63)} AND 0",
        f"big BETWEEN {2**53 + 1}.0 AND {2**53 + 1}",
        f"NULLIF(big, {2**53 + 1}) IS NULL",
        f"CASE big WHEN {2**53 + 1} THEN TRUE END",
        f"big = {2**53} + 1",
        "big IN (SELECT big FROM q WHERE id < 9)",
    ],
)
def test_large_whole_numbers_are_compared_exactly(condition: str, table: str, world: Twins) -> None:
    text = f"SELECT COUNT(*) FROM {table} WHERE {condition}"
    assert rows(world, text) == world.plain.execute(text).fetchall()


@pytest.mark.parametrize(
    "condition", [f"big > {2**53}.5", f"big IN ({2**53 + 1}, 0.5)", f"big BETWEEN 0.5 AND {2**60}"]
)
def test_large_whole_numbers_beside_decimals_are_refused(condition: str, world: Twins) -> None:
    refused(world, f"SELECT COUNT(*) FROM t WHERE {condition}")


def test_a_float_beside_whole_numbers_is_the_nearest_float64() -> None:
    """2**61 is printed as a float that way, and equals it; read as decimals it would be a larger number."""
    column = Expr(name("x"), Domain(Kind.INTEGER))
    written = Expr.literal(Fraction("2.305843009213694e18"), exact=False)
    assert [argument.value for argument in comparable([column, written])] == [None, 2**61]
    decimals = Expr.literal(Fraction("2305843009213694000.0"))
    assert comparable([column, decimals])[1].value == 2305843009213694000


def test_the_least_whole_number_is_one_key_and_one_part() -> None:
    """As a float it is its neighbour too: a unit with both would be in two parts, and pay for one."""
    least = -(2**63)
    policy = policy_of(
        '[tables.t]\nsource = "t.csv"\nunit = "who"\nmax_rows = 3\nmax_groups = 3\n[tables.t.columns]\n'
        f'k = {{ type = "integer", values = [{least}, {least + 1}, 7] }}\nbig = {{ type = "integer" }}'
    )
    held = [
        {"who": "a", "k": least, "big": least},
        {"who": "a", "k": least + 1, "big": least + 1},
        {"who": "b", "k": least},
    ]
    with opened(policy, {"t": held}) as curator:
        found = curator.query("SELECT k, COUNT(*) FROM t GROUP BY k", epsilon=1).rows
        assert found == [(least, 2), (least + 1, 1), (7, 0)]
        parts = curator.table("t").partition("k")
        counted = {key: parts[key].count(epsilon=1).rows[0][0] for key in (least, least + 1, 7)}
        assert sum(counted.values()) == 2  # each unit is in one part


def test_categories_beyond_floats() -> None:
    large = [2**53, 2**53 + 1, 2**63 - 1, -(2**63)]
    kinds = np.array([[value] for value in large * 250], dtype=np.int64)
    labels = np.array([0, 1, 0, 1] * 250)
    model = CategoricalNB(classes=[0, 1], categories=[large], epsilon=10**6).fit(kinds, labels)
    assert model.predict(kinds[:4]).tolist() == [0, 1, 0, 1]
    assert model.predict(np.array([[2**53 + 2], [2**63 - 2]])).tolist() == model.predict(np.array([[5], [7]])).tolist()


def test_classes_beyond_floats() -> None:
    large = np.array([2**53, 2**53 + 1] * 500, dtype=np.int64)
    kinds = np.array([[0], [1]] * 500)
    model = CategoricalNB(classes=[2**53, 2**53 + 1], categories=2, epsilon=10**6).fit(kinds, large)
    assert model.predict(kinds[:2]).tolist() == [2**53, 2**53 + 1]
    assert np.allclose(model.class_count_, 500, atol=1)
