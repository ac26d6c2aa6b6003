"""Nothing that is written is ignored: every argument of every kind of node is read, or refused."""

from __future__ import annotations

import inspect
from typing import Any

import pytest
import sqlglot
from sqlglot import exp

from discreet.errors import Refused
from discreet.sql import clause, read
from discreet.sql.syntax import INDIFFERENT, UNDERSTOOD, Bounded, Period, understood

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
        node.replace(exp.Paren(this=exp.Star(except_=[exp.column("i")])))
        with pytest.raises(Refused):
            understood(again)


def test_kinds_of_our_own_cannot_be_written() -> None:
    """sqlglot makes none of them, whatever is written."""
    for kind in (Bounded, Period):
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
