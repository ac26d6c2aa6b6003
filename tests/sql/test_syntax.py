"""Nothing that is written is ignored: every argument of every kind of node is read, or refused."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from functools import cache
from typing import Any, Final

import pytest
import sqlglot
from sqlglot import exp

from discreet.curator.curator import Curator
from discreet.curator.public import PublicTables
from discreet.errors import Refused
from discreet.sql import clause, read
from discreet.sql.plan import planned
from discreet.sql.syntax import (
    INDIFFERENT,
    UNDERSTOOD,
    BigQueryCast,
    Bounded,
    CarefulCast,
    Clause,
    Formatted,
    IntervalSub,
    Moment,
    Period,
    RealDiv,
    Shifted,
    understood,
)
from tests.sql import tiny
from tests.sql.fixtures import ANSWERED

KINDS = [kind for _, kind in inspect.getmembers(exp, inspect.isclass) if issubclass(kind, exp.Expression)]
PLAIN = "SELECT k, COUNT(*) AS n FROM t AS a JOIN s USING (id) WHERE i > 1 GROUP BY k ORDER BY k LIMIT 3"


def test_kinds_that_are_not_listed_are_refused() -> None:
    unlisted = [kind for kind in KINDS if kind not in UNDERSTOOD]
    assert len(unlisted) > 500
    for kind in unlisted:
        with pytest.raises(Refused):
            understood(kind())


@pytest.mark.parametrize("kind", UNDERSTOOD, ids=lambda kind: kind.__name__)
def test_arguments_that_are_not_listed_are_refused(kind: type[exp.Expression]) -> None:
    """Those that sqlglot knows, and one that it may know tomorrow."""
    listed = UNDERSTOOD[kind] | set(INDIFFERENT.get(kind, ()))
    assert UNDERSTOOD[kind].isdisjoint(INDIFFERENT.get(kind, ()))
    for place in {*kind.arg_types, "tomorrow"} - listed:
        for value in (True, "word", exp.Null(), [exp.Null()], 0, 1):
            with pytest.raises(Refused):
                understood(kind(**{place: value}))
        understood(kind(**{place: None}))
        understood(kind(**{place: False}))


def test_the_walk_goes_everywhere() -> None:
    """A modifier is found wherever it hides: in each place of a tree that holds an expression."""
    tree = read.statement(PLAIN).tree
    places = [node for node in tree.walk() if isinstance(node, (exp.Column, exp.Literal, exp.Star))]
    assert len(places) >= 6
    for number in range(len(places)):
        again = read.statement(PLAIN).tree
        node: Any = [node for node in again.walk() if isinstance(node, (exp.Column, exp.Literal, exp.Star))][number]
        node.replace(exp.Paren(this=exp.Star(rename=[exp.column("i")])))
        with pytest.raises(Refused):
            understood(again)


def test_kinds_of_our_own_cannot_be_written() -> None:
    """sqlglot makes none of them, whatever is written."""
    for kind in (BigQueryCast, Bounded, CarefulCast, Clause, Formatted, IntervalSub, Moment, Period, RealDiv, Shifted):
        assert kind not in KINDS
        assert kind.__name__.upper() not in sqlglot.Dialect.get_or_raise("duckdb").parser().FUNCTIONS


BOUNDS = "'contribution_bounds_per_row', 0, 5"


@pytest.mark.parametrize(
    ("call", "dialect"),
    [
        *((f"{name}(SUM(i), {BOUNDS})", dialect) for name in ("DISCREET_BOUNDED", "bounded_0", "Bounded_0", "BOUNDED")
          for dialect in read.DIALECTS),
        (f'"bounded_0"(SUM(i), {BOUNDS})', "duckdb"),
        (f"`bounded_0`(SUM(i), {BOUNDS})", "bigquery"),
    ],
)  # fmt: skip
def test_the_marker_of_bounds_is_a_name_that_is_not_written(call: str, dialect: str) -> None:
    """Even beside real bounds, which bring a marker of their own."""
    tree = read.statement(f"SELECT {call}, SUM(i, contribution_bounds_per_row => (0, 5)) FROM t", dialect).tree
    assert [node.args["label"] for node in tree.find_all(Bounded)] == [clause.PER_ROW]
    assert isinstance(tree.expressions[0], exp.Anonymous)


def test_markers_are_unlike_every_token() -> None:
    tokens = sqlglot.tokenize(" ".join(f"bounded_{number} x_BOUNDED_{number}_y" for number in range(50)))
    _, marker = clause.with_bounds_outside(tokens)
    assert marker == "bounded_50"


# nothing that is listed is ignored

WINDOW: Final = "SELECT SUM(CLAMP(x, 0, 9)) FROM (SELECT SUM(cost) OVER (PARTITION BY patient ORDER BY day {}) AS x FROM visits)"  # fmt: skip  # noqa: E501
RARER: Final = (
    *(f"SELECT {part}(day) AS p, COUNT(*) FROM visits GROUP BY p"
      for part in ("YEAR", "QUARTER", "WEEK", "DAY", "DAYOFYEAR", "HOUR", "MINUTE")),
    *(WINDOW.format(f"ROWS BETWEEN {frame}") for frame in
      ("1 FOLLOWING AND 2 FOLLOWING", "3 PRECEDING AND 2 PRECEDING", "CURRENT ROW AND UNBOUNDED FOLLOWING")),
    *(f"SELECT SUM(x) FROM (SELECT {word}(cost, 2) OVER (PARTITION BY patient ORDER BY day) AS x FROM visits)"
      for word in ("LAG", "LEAD")),
    "SELECT COUNT(*) FROM visits INNER JOIN patients USING (patient)",
    "SELECT COUNT(*) FROM visits SEMI JOIN patients USING (patient)",
    "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = 1) APPROX_TOP_COUNT(ward, 2) AS top FROM visits",
    "SELECT WITH DIFFERENTIAL_PRIVACY APPROX_QUANTILES(cost, 4)[ORDINAL(2)], APPROX_QUANTILES(cost, 4)[1] FROM visits",
    "SELECT WITH DIFFERENTIAL_PRIVACY COUNT_IF(day - 1 > '2024-02-01') FROM visits",
    "SELECT CURRENT_DATE, COUNT(*) FROM visits WHERE day < CURRENT_DATE",
    "SELECT COUNT(*) FROM other.visits",
    "SELECT COUNT(*) FROM (visits JOIN patients USING (patient)) JOIN labs USING (patient)",
    "SELECT COUNT(*) FROM ((visits JOIN patients USING (patient)) JOIN labs USING (patient))",
    "SELECT COUNT(*) AS n FROM visits UNION ALL SELECT COUNT(*) FROM patients ORDER BY n LIMIT 1 OFFSET 1",
    " UNION ALL ".join(f"SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(max_rows_contributed = {most}) COUNT(*) FROM visits"
                       for most in (1, 2)),
    *(f"SELECT ward, {word}(ward, urgent), COUNT(*) FROM visits GROUP BY GROUPING SETS (CUBE (ward, urgent), ROLLUP (ward, urgent), (ward, urgent))"  # noqa: E501
      for word in ("GROUPING", "GROUPING_ID")),
    "SELECT COUNT(*) FROM visits AS v WHERE EXISTS (SELECT 1 FROM labs WHERE labs.patient = v.patient)",
    "SELECT COUNT(other.visits.cost) FROM visits",
    "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward ORDER BY n NULLS FIRST",
    "SELECT COUNT(*) FROM (WITH a AS (SELECT patient FROM visits) SELECT * FROM a UNION ALL SELECT * FROM a)",
)  # fmt: skip
"""For arguments that no fixture gives."""
NOW: Final = datetime(2026, 1, 31, 12, 30)
ELSEWHERE: Final = (
    ("SELECT COUNT(*) FROM visits WHERE cost / nights > 1", "postgres"),
    ("SELECT COUNT(*) FROM visits WHERE CAST(day AS DATE) > '2024-02-01'", "spark"),
)
"""For kinds that are made of other dialects alone."""
NEVER: Final[Mapping[tuple[str, str], str]] = {
    ("Identifier", "quoted"): "names mean the same with quotes and without",
    ("Column", "catalog"): "it comes with a schema, and that is refused",
    ("Table", "catalog"): "it comes with a schema, and that is refused",
}


def meaning(asked: read.Statement, tree: exp.Query, curator: Curator) -> Any:
    """What is planned, or how that fails."""
    public = PublicTables(lambda: curator._engine(1))
    try:
        plan = planned(curator.policy, replace(asked, tree=tree), public=public)
    except Exception as failed:
        return type(failed)
    return [query.text for query in plan.queries], plan.after.items


def without(tree: exp.Query, number: int, argument: str) -> exp.Query:
    """The tree, with one argument less at its so many-th node."""
    less = tree.copy()
    list(less.walk())[number].set(argument, None)
    return less


@cache
def changing() -> set[tuple[str, str]]:
    """Every argument of which there is a query that means something else, or nothing, without it."""
    found: set[tuple[str, str]] = set()
    with tiny.asked("pure") as pure, tiny.asked("delta") as delta:
        queries = [(fixture.text, delta if fixture.policy == "delta" else pure, fixture.params) for fixture in ANSWERED]
        rarer = [(text, delta, None, dialect) for text, dialect in [*((text, None) for text in RARER), *ELSEWHERE]]
        for text, curator, params, dialect in [*((*query, None) for query in queries), *rarer]:
            asked = read.statement(text, dialect, params, NOW)
            whole = meaning(asked, asked.tree, curator)
            for number, node in enumerate(list(asked.tree.walk())):
                for argument in UNDERSTOOD.get(type(node), ()):  # type: ignore[arg-type]
                    key = type(node).__name__, argument
                    if key in found or node.args.get(argument) in (None, False, []):
                        continue
                    if meaning(asked, without(asked.tree, number, argument), curator) != whole:
                        found.add(key)
    return found


@pytest.mark.parametrize("kind", UNDERSTOOD, ids=lambda kind: kind.__name__)
def test_arguments_that_are_listed_are_read(kind: type[exp.Expression]) -> None:
    ignored = {(kind.__name__, argument) for argument in UNDERSTOOD[kind]} - changing()
    assert ignored == {key for key in NEVER if key[0] == kind.__name__}
