"""The analyst sends questions whose planning is free for them and endless for us, so that nobody else gets an answer.

Text that doubles with every function around a function or with every CTE, aggregates by the hundred whose planning was
quadratic, lists and histograms: each is planned in work that grows with its text, or refused for nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from cProfile import Profile
from typing import Any, Final

import pytest

from discreet.composed import LARGEST
from discreet.curator.curator import Curator
from discreet.curator.dummy import Dummy
from discreet.errors import Refused
from discreet.learn import KMeans
from discreet.sql import work
from discreet.sql.read import MAX_CHARACTERS, MAX_TOKENS
from tests.sql import tiny

PATIENCE: Final = 1_500_000
"""Calls of functions: some two seconds of work at most."""


class Calls:
    """How many functions were called: work, whatever the machine."""

    count = 0


@contextmanager
def counted() -> Iterator[Calls]:
    calls, profile = Calls(), Profile(builtins=False)
    profile.enable()
    try:
        yield calls
    finally:
        profile.disable()
        calls.count = sum(entry.callcount for entry in profile.getstats())


@pytest.fixture(scope="module")
def curator() -> Iterator[Curator]:
    with tiny.asked() as opened:
        opened.preview("SELECT COUNT(*) FROM visits", epsilon=1)
        opened.preview("SELECT floor, COUNT(*) FROM visits JOIN wards USING (ward) GROUP BY floor", epsilon=1)
        yield opened


# what grows without end is refused


def nested(around: str, deep: int, inner: str = "cost") -> str:
    for _ in range(deep):
        inner = around.format(inner)
    return inner


def chained(first: str, following: str, last: str, count: int = 24) -> str:
    """CTEs that use the one before, twice each."""
    more = (f"c{place} AS ({following.format(f'c{place - 1}')})" for place in range(1, count))
    return f"WITH {', '.join([f'c0 AS ({first})', *more])} {last.format(f'c{count - 1}')}"


ROWS: Final = "SELECT patient, cost FROM visits"
BOMBS: Final = {
    "quotient": f"SELECT SUM({nested('10 / ({})', 20)}) FROM visits",
    "case": f"SELECT SUM({nested('CASE {} WHEN 1 THEN 2 WHEN 2 THEN 3 WHEN 3 THEN 4 ELSE 5 END', 12)}) FROM visits",
    "after": f"SELECT {nested('10 / ({})', 20, 'COUNT(*)')} FROM visits",
    "having": f"SELECT COUNT(*) FROM visits HAVING {nested('10 / ({})', 20, 'COUNT(*)')} > 1",
    "order": f"SELECT COUNT(*) AS n FROM visits ORDER BY {nested('10 / ({})', 20, 'COUNT(*)')}",
    "where": f"SELECT COUNT(*) FROM visits WHERE {nested('10 / ({})', 20)} > 1",
    "per unit": f"SELECT COUNT(*) FROM (SELECT patient, SUM({nested('10 / ({})', 20)}) AS s FROM visits GROUP BY patient)",
    "window": f"SELECT SUM(s) FROM (SELECT MAX({nested('10 / ({})', 20)}) OVER (PARTITION BY patient) AS s FROM visits)",
    "values": chained("SELECT COUNT(*) AS n FROM visits", "SELECT n + n AS n FROM {}", "SELECT n FROM {}"),
    "union": chained(ROWS, "SELECT * FROM {0} UNION ALL SELECT * FROM {0}", "SELECT COUNT(*) FROM {}"),
    "join": chained(ROWS, "SELECT a.cost FROM {0} a JOIN {0} b ON a.patient = b.patient", "SELECT COUNT(*) FROM {}"),
    "columns": chained(ROWS, "SELECT *, *, * FROM {}", "SELECT COUNT(*) FROM {}"),
    "public": chained("SELECT floor AS x FROM wards", "SELECT a.x FROM {0} a JOIN {0} b ON a.x = b.x", "SELECT COUNT(*) FROM {}"),
    "public columns": chained("SELECT floor AS x FROM wards", "SELECT *, * FROM {}", "SELECT COUNT(*) FROM {}"),
    "subquery": chained("SELECT COUNT(*) AS n FROM visits", "SELECT (SELECT n FROM {0}) + (SELECT n FROM {0}) AS n FROM wards LIMIT 1", "SELECT n FROM {}"),
    "aggregates": f"SELECT {', '.join(f'SUM(CLAMP(cost, 0, {k + 1}))' for k in range(41))} FROM visits",
    "subqueries": f"SELECT {', '.join(f'(SELECT COUNT(*) FROM beds WHERE n > {k})' for k in range(41))} FROM wards",
    "bins": f"SELECT {', '.join(f'HISTOGRAM(CLAMP(cost, 0, {k + 1}), 10000)' for k in range(60))} FROM visits",
    "cells": f"SELECT day, {', '.join(f'HISTOGRAM(CLAMP(cost, 0, {k + 1}), 10000)' for k in range(12))} FROM visits GROUP BY day",
    "mode": f"SELECT MODE(CASE {' '.join(f'WHEN nights = {k} THEN {k * k}' for k in range(500))} ELSE 0 END) FROM visits",
    "literal": f"SELECT SUM({nested('SQRT({})', 10, f'LENGTH(note || {chr(39)}{chr(120) * 50_000}{chr(39)})')}) FROM visits",
}  # fmt: skip
# ruff: noqa: E501 (a question is one line)


def refused(ask: Callable[[], Any]) -> str:
    """The refusal of a question that would take too much work, after not much of it."""
    with counted() as calls, pytest.raises(Refused) as found:
        ask()
    assert found.value.code == "too-complex"
    assert found.value.fix
    assert calls.count < PATIENCE
    return found.value.reason


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Limits that are reached by counting are lower here, so that reaching them takes less time."""
    monkeypatch.setattr(work, "MAX_MEASURES", 40)
    monkeypatch.setattr(work, "MAX_STEPS", 500_000)


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize("name", BOMBS)
def test_what_grows_without_end_is_refused_for_nothing(curator: Curator, name: str) -> None:
    before = curator.count()
    refused(lambda: curator.preview(BOMBS[name], epsilon=1))
    assert curator.count() == before


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize("name", ["quotient", "join", "aggregates"])
def test_every_way_to_ask_has_the_same_limits(curator: Curator, name: str) -> None:
    text = BOMBS[name]
    reasons = {
        refused(lambda: curator.query(text, epsilon=1)),
        refused(lambda: curator.query(f"EXPLAIN PRIVACY {text}", epsilon=1)),
        refused(lambda: curator.preview(text, error=5)),
        refused(lambda: curator.preview(text, epsilon=1, params={"x": 1})),
    }
    assert len({reason.split(", near")[0] for reason in reasons}) == 1  # EXPLAIN moves the place


def test_made_up_rows_parts_fits_and_python_have_the_same_limits(curator: Curator) -> None:
    deep = nested("10 / ({})", 20)
    with Dummy(tiny.policy(), rows=10) as dummy:
        refused(lambda: dummy.query(BOMBS["quotient"], epsilon=1))
    refused(lambda: curator.table("visits").where(f"{deep} > 1").count(epsilon=1))
    refused(lambda: curator.table("visits").sum(deep, epsilon=1))
    refused(lambda: curator.fit(KMeans(), f"SELECT {deep} AS x FROM visits", epsilon=1))


# what is large is planned in work that grows with it


@pytest.mark.parametrize(
    "around", ["CLAMP({}, 0, 10)", "SQRT({})", "WIDTH_BUCKET({}, 0, 10, 5)", "LN({})", "NULLIF({}, 10)"]
)
def test_functions_that_use_their_argument_twice_do_not_double_the_query(curator: Curator, around: str) -> None:
    spent = []
    for deep in (5, 20):
        with counted() as calls:
            curator.preview(f"SELECT COUNT(*) FROM visits WHERE {nested(around, deep)} > 1", epsilon=1)
        spent.append(calls.count)
    assert spent[1] < 4 * spent[0] + 20_000


def sums(count: int, function: str = "SUM") -> str:
    return f"SELECT {', '.join(f'{function}(CLAMP(cost, 0, {place + 1})) AS s{place}' for place in range(count))} FROM visits"


LARGE: Final[dict[str, Callable[[int], str]]] = {
    "sums": sums,
    "averages": lambda n: f"{sums(n, 'AVG')} HAVING {' AND '.join(f'COUNT(*) > {k}' for k in range(n // 4))}",
    "spreads": lambda n: sums(n // 4, "STDDEV"),
    "quantiles": lambda n: f"SELECT {', '.join(f'PERCENTILE_CONT(cost, 0.{k + 1:04})' for k in range(n))} FROM visits",
    "medians": lambda n: sums(n, "MEDIAN"),
    "filters": lambda n: f"SELECT {', '.join(f'COUNT(*) FILTER (WHERE nights = {k})' for k in range(n))} FROM visits",
    "same": lambda n: f"SELECT {', '.join(['COUNT(*)'] * n)} FROM visits",
    "keys": lambda n: f"SELECT ward, {', '.join(f'{k} + COUNT(*)' for k in range(n))} FROM visits GROUP BY ward",
    "per unit": lambda n: f"SELECT COUNT(*) FROM (SELECT patient, {sums(n)[7:]} GROUP BY patient)",
    "columns": lambda n: f"SELECT COUNT(*) FROM (SELECT {', '.join(f'cost + {k} AS c{k}' for k in range(n))} FROM visits)",
    "chain": lambda n: chained(ROWS, "SELECT * FROM {}", "SELECT COUNT(*) FROM {}", n // 4),
    "public chain": lambda n: chained("SELECT COUNT(*) AS n FROM visits", "SELECT n FROM {} WHERE n > 1 LIMIT 9", "SELECT n FROM {}", n // 4),
    "list": lambda n: f"SELECT COUNT(*) FROM visits WHERE nights IN ({', '.join(map(str, range(10 * n)))})",
    "list of keys": lambda n: f"SELECT ward, COUNT(*) FROM visits GROUP BY ward HAVING ward IN ({', '.join(map(repr, map(str, range(10 * n))))})",
    "branches": lambda n: f"SELECT SUM(CASE {' '.join(f'WHEN nights = {k} THEN {k}' for k in range(3 * n))} ELSE 0 END) FROM visits",
    "branches of keys": lambda n: f"SELECT CASE ward {' '.join(f'WHEN {chr(39)}{k}{chr(39)} THEN {k}' for k in range(3 * n))} END AS k, COUNT(*) FROM visits GROUP BY k",
    "subqueries": lambda n: f"SELECT {', '.join(f'(SELECT COUNT(*) FROM visits WHERE nights > {k})' for k in range(n))} FROM wards",
}  # fmt: skip


@pytest.mark.parametrize("name", LARGE)
def test_work_grows_with_the_text(curator: Curator, name: str) -> None:
    spent = []
    for count in (24, 96):
        with counted() as calls:
            curator.preview(LARGE[name](count), epsilon=1)
        spent.append(calls.count)
    assert spent[1] < 4.8 * spent[0] + 20_000


def test_work_for_wanted_errors_grows_with_the_text(curator: Curator) -> None:
    spent = []
    for count in (6, 24):
        with counted() as calls:
            curator.preview(sums(count), error={f"s{place}": 5 for place in range(count)})
        spent.append(calls.count)
    assert spent[1] < 4.8 * spent[0]


def test_questions_of_ordinary_size_are_answered(curator: Curator) -> None:
    for name in ("list", "list of keys", "branches"):
        assert curator.preview(LARGE[name](300), epsilon=1).columns
    deep = curator.query(f"SELECT SUM({nested('CLAMP({}, 0, 10)', 5)}) FROM visits WHERE note = 'flu'", epsilon=1)
    assert len(deep.rows) == 1
    assert curator.preview("SELECT HISTOGRAM(cost, 10000) FROM visits", epsilon=1).columns


def test_the_limits_on_counting_are_generous() -> None:
    assert work.MAX_MEASURES >= 400
    assert work.MAX_STEPS >= 10 * work.NODE * MAX_TOKENS


def test_the_limit_is_on_what_the_question_makes_of_it() -> None:
    assert max(len(text) for text in BOMBS.values()) < MAX_CHARACTERS < LARGEST
