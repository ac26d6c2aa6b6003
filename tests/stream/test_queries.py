"""Queries on a stream until their answers are exact enough."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any, Final

import pytest

import discreet
from discreet.errors import Refused
from discreet.stream import Decision, Ending
from tests.curator.streams import EXACT, add, day, opened, rides, world

ZONES: Final = "SELECT zone, COUNT(*) AS n FROM rides GROUP BY zone"
COST: Final[dict[str, Any]] = {"epsilon": 0.125, "cap": 0.25}


def stream(folder: Path, days: int = 4) -> discreet.Curator:
    """Two rides a day of each of 30 riders, in both zones alike; the noise is off."""
    path = world(folder)
    add(folder, "all", rides(30, days))
    found = opened(path, sampler=EXACT)
    found.refresh(until=day(days + 1))
    return found


def test_relative_errors_shrink_with_cost_and_then_with_blocks(tmp_path: Path) -> None:
    """30 rides in each zone and on each day, two of them of one rider: noise of scale 2/ε."""
    with stream(tmp_path) as found:
        run = discreet.stream.query(found, ZONES, relative=3, key="zones", **COST)
        assert run.ending is Ending.ACCEPTED
        assert [(step.attempt.amount, step.attempt.blocks) for step in run.steps] == [
            (Fraction(1, 8), 1), (Fraction(1, 4), 1), (Fraction(1, 4), 2), (Fraction(1, 4), 4),
        ]  # fmt: skip
        assert [row[1] for row in run.result.rows] == [120, 120]
        assert run.result.confidence == pytest.approx(1 - 0.05 / 16 / 4)
        assert all(low > 120 / 4 for row in run.result.intervals for low, _ in row.values())
        again = discreet.stream.query(found, ZONES, relative=3, key="zones", **COST)
        assert all(step.cached for step in again.steps)
        assert again.result.rows == run.result.rows
        assert len(found.entries()) == 4


def test_an_error_that_the_cap_allows_is_reached_by_cost_alone(tmp_path: Path) -> None:
    with stream(tmp_path, 1) as found:
        run = discreet.stream.query(found, ZONES, error=80, **COST)
        assert run.ending is Ending.ACCEPTED
        assert [step.decision for step in run.steps] == [Decision.RETRY, Decision.ACCEPT]
        assert run.steps[-1].value is not None
        assert run.steps[-1].value <= 80
        assert "every number within 80" in str(run)
        never = discreet.stream.query(found, ZONES, error=1, **COST)
        assert never.ending is Ending.NO_BLOCKS
        assert never.result is None


@pytest.mark.parametrize(
    ("sql", "wrong"),
    [
        (ZONES, {}),
        (ZONES, {"error": 1, "relative": 1}),
        (ZONES, {"error": 0}),
        (ZONES, {"error": float("nan")}),
        (ZONES, {"relative": -1}),
        (ZONES, {"error": 1, "eta": 0}),
        ("SELECT MEDIAN(fare) AS m FROM rides", {"error": 1}),
        ("SELECT SUM(area) AS a FROM zones", {"error": 1}),
    ],
)
def test_what_has_no_test_is_refused_before_anything_is_charged(
    tmp_path: Path, sql: str, wrong: dict[str, Any]
) -> None:
    with stream(tmp_path, 1) as found:
        with pytest.raises(Refused) as refusal:
            discreet.stream.query(found, sql, **{**COST, **wrong})
        assert refusal.value.code == "stream-invalid"
        assert not found.entries()
