"""The analyst hides SQL in literals: a marker that the program replaces puts the text of one into another.

A literal '{over}' in the argument of a window and a second literal in its ORDER BY once ran as SQL over the private
tables, so that a query at ε = 0.001 read one person's value; `fit` read rows by the same code.
"""

from __future__ import annotations

from typing import Any, Final

import pytest

from discreet.composed import Sql
from discreet.curator.curator import Curator
from discreet.engines.memory import Memory
from discreet.exit.sampler import Sampler
from discreet.learn import KMeans
from tests.sql import tiny
from tests.sql.worlds import ledger_of, quiet

SECRET: Final = "(SELECT max(city) FROM patients)"
MARKERS: Final = (
    "{over}",
    "{}",
    "{0}",
    "{1}",
    "{{over}}",
    "%s",
    "%(over)s",
    "$1",
    "?",
    "\\1",
    "${over}",
    "%OVER%",
    "''",
)


class Noted(Memory):
    """Notes what is read, and what comes of it."""

    def __init__(self, *given: Any) -> None:
        self.noted: list[tuple[str, list[tuple[Any, ...]]]] = []
        super().__init__(*given)

    def execute(self, text: str, seconds: float | None = None) -> list[tuple[Any, ...]]:
        found = super().execute(text, seconds)
        self.noted.append((text, found))
        return found

    def columns(self, query: Sql, seconds: float | None = None) -> list[Any]:
        found = super().columns(query, seconds)
        self.noted.append((query.text, list(zip(*(column.tolist() for column in found), strict=True))))
        return found


def windowed(marker: str, function: str = "SUM") -> str:
    """1 in each row if the literal in ORDER BY is run and gives the city that we guess."""
    guess = f"{function}(CASE WHEN '{marker}' LIKE '%= Ulm)%' THEN 1 ELSE 0 END)"
    return f"{guess} OVER (PARTITION BY patient ORDER BY note = ' || {SECRET} || ')"


@pytest.mark.parametrize("marker", MARKERS)
@pytest.mark.parametrize("function", ["SUM", "MAX"])
def test_literals_of_a_window_are_not_run(marker: str, function: str) -> None:
    with ledger_of(tiny.policy()) as ledger:
        engine = Noted(tiny.policy(), tiny.DATA)
        with Curator(tiny.policy(), ledger, engine=engine, sampler=Sampler(add_noise=quiet)) as curator:
            inner = f"SELECT CLAMP({windowed(marker, function)}, 0, 1) AS hit FROM visits"
            answer = curator.query(f"SELECT SUM(hit) AS hits FROM ({inner})", epsilon=0.001)
        assert answer.rows == [(0,)]
        assert SECRET in engine.noted[-1][0], "the literal came through as it was"
        assert f"' || {SECRET} || '" in engine.noted[-1][0]


@pytest.mark.parametrize("marker", MARKERS)
def test_literals_of_the_rows_of_a_fit_are_not_run(marker: str) -> None:
    with ledger_of(tiny.policy()) as ledger:
        engine = Noted(tiny.policy(), tiny.DATA)
        with Curator(tiny.policy(), ledger, engine=engine, sampler=Sampler(add_noise=quiet)) as curator:
            inner = f"SELECT CLAMP({windowed(marker)}, 0, 1) AS hit, CLAMP(cost, 0, 9) AS cost FROM visits"
            curator.fit(KMeans(n_clusters=1), inner, epsilon=0.001)
        (query, rows) = engine.noted[-1]
        assert f"' || {SECRET} || '" in query
        assert rows
        assert {row[0] for row in rows} == {0}
