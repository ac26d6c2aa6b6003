"""Running totals: factors and their sensitivities by enumeration, errors as predicted, calendars."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from datetime import date, datetime
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from discreet.accounting.losses import Sensitivity
from discreet.errors import Refused
from discreet.exit import Cost
from discreet.mechanisms.prefixes import FACTORS, FINE, Factor, SquareRoot
from discreet.release import RunningTotals
from tests.release.cases import BOTH, POLICY, PURE, world
from tests.sql.worlds import opened, policy_of

YEAR = (date(2026, 1, 1), date(2026, 12, 31))


def matrix(factor: Factor, count: int) -> Any:
    return np.stack([factor.measured(unit) for unit in np.eye(count, dtype=np.int64)], axis=1)


def additions(count: int, rows: int, *, once: bool) -> Iterator[Any]:
    """All that a unit can add."""
    for added in itertools.product(range((1 if once else rows) + 1), repeat=count):
        if sum(added) <= rows:
            yield np.array(added, dtype=np.int64)


@pytest.mark.parametrize("once", [False, True])
@pytest.mark.parametrize("count", [1, 2, 5, 6])
@pytest.mark.parametrize("name", FACTORS)
def test_no_unit_moves_what_is_measured_farther_than_it_says(name: str, count: int, once: bool) -> None:
    """By enumeration of all that a unit can add: several contributions, near each other or apart."""
    factor = FACTORS[name](count)
    entries = matrix(factor, count)
    for rows in (1, 2, 3):
        moved = [entries @ added for added in additions(count, rows, once=once)]
        farthest = (
            max(int(np.abs(each).sum()) for each in moved),
            max(sum(x**2 for x in each.tolist()) for each in moved),
        )
        said = factor.moved(rows, once=once)
        assert farthest[0] <= said.l1
        assert farthest[1] <= said.l2_squared
        if not once or name == "root":
            assert Sensitivity(Fraction(farthest[0]), Fraction(farthest[1])) == said


@pytest.mark.parametrize("count", [1, 2, 3, 8, 13, 100])
@pytest.mark.parametrize("name", FACTORS)
def test_factors_give_the_totals_back_and_know_their_errors(name: str, count: int) -> None:
    factor = FACTORS[name](count)
    exact = np.arange(count, dtype=np.int64) ** 2 % 17
    assert np.allclose(factor.totals(factor.measured(exact)), np.cumsum(exact), atol=1e-6)
    noise = np.tril(np.ones((count, count))) @ np.linalg.inv(matrix(factor, count).astype(np.float64))
    assert np.allclose(factor.variances(), (noise**2).sum(axis=1))


def test_the_square_root_squared_is_the_lower_triangle_and_a_coarse_one_still_falls() -> None:
    root = matrix(SquareRoot(40), 40) / FINE
    assert np.abs(root @ root - np.tril(np.ones((40, 40)))).max() < 1e-4
    for fine in (1, 2, 7, 1000):
        column = SquareRoot(50, fine).column
        assert column[0] == fine
        assert (np.diff(column) <= 0).all()
        assert column.min() >= 0


def test_totals_are_exact_far_beyond_what_floats_hold() -> None:
    exact = np.array([2**40, 1, 2**40 + 1], dtype=np.int64)
    for factor in FACTORS.values():
        entries = matrix(factor(3), 3).tolist()
        wanted = [sum(a * b for a, b in zip(row, exact.tolist(), strict=True)) for row in entries]
        assert factor(3).measured(exact).tolist() == wanted


# errors, predicted and measured


@pytest.mark.parametrize("method", FACTORS)
@pytest.mark.parametrize("cost", [{"epsilon": 1}, {"rho": Fraction(1, 50)}])
def test_the_error_is_what_was_predicted(method: str, cost: dict[str, Any]) -> None:
    """Within 5 % in 4,000 releases of 24 months. The mean square error has a standard deviation of less than 1.6 % of
    itself, for totals that all go together under Laplace noise (kurtosis 6), so its root one of 0.8 %: 6 of them.
    """
    publication = RunningTotals.over("day", date(2025, 1, 1), date(2026, 12, 31), method=method).declared(None)
    charged, runs = Cost.alone(**cost), 4000
    chosen = publication._chosen(charged, 1)
    exact = np.arange(24, dtype=np.int64) % 7
    measured = np.tile(chosen.factor.measured(exact), runs)
    noisy = np.asarray(charged.noise(chosen.moved).release(measured)).reshape(runs, 24)
    errors = np.array([chosen.factor.totals(each) for each in noisy]) - np.cumsum(exact)
    assert math.sqrt((errors**2).mean()) == pytest.approx(math.sqrt((chosen.deviations**2).mean()), rel=0.05)
    assert np.abs(errors.mean(axis=0)).max() <= 6 * chosen.deviations.max() / math.sqrt(runs)
    assert publication.expected(charged, 1).error["total"] == pytest.approx(1.96 * chosen.deviations.max())


def test_the_best_method_is_never_worse_than_any_and_known_before() -> None:
    for count, cost in itertools.product(("month", "day"), (Cost.alone(epsilon=1), Cost.alone(rho=0.02))):
        errors = {}
        for method in ("best", *FACTORS):
            publication = RunningTotals.over("day", *YEAR, every=count, method=method).declared(None)
            chosen = publication._chosen(cost, 1)
            errors[method] = chosen.size
        assert errors["best"] == min(errors.values())
        if not cost.pure:
            assert errors["best"] == errors["root"] < errors["tree"] / 1.5
    plain = RunningTotals.over("day", *YEAR, every="day", method="plain").declared(None)._chosen(cost, 1).size
    assert plain / errors["best"] > 4.5


def test_wide_noise_is_drawn_on_a_coarser_grid() -> None:
    publication = RunningTotals.over("day", *YEAR, every="day", method="root").declared(None)
    chosen = publication._chosen(Cost.alone(epsilon=Fraction(1, 10**6)), 10)
    assert isinstance(chosen.factor, SquareRoot)
    assert 1 <= chosen.factor.fine < FINE
    with pytest.raises(Refused, match="cost-invalid"):
        publication._chosen(Cost.alone(epsilon=Fraction(1, 10**9)), 10**6)


# from tables


def test_units_are_counted_once_in_a_step() -> None:
    days = (date(2026, 1, 1), date(2026, 1, 2), date(2026, 2, 1))
    rows = [{"person": 1, "ward": "A", "flag": True, "day": day, "note": "", "cost": 1, "stay": 1} for day in days]
    with opened(policy_of(POLICY, head=BOTH), {**world(0), "visits": rows}) as curator:
        both = [
            curator.release(RunningTotals(counted=what, method="plain"), "visits", epsilon=1, max_rows=3)
            for what in ("rows", "units")
        ]
    assert np.allclose(both[0].values, [2, 3, 3])
    assert np.allclose(both[1].values, [1, 2, 2])


def test_a_total_has_its_step_and_interval_and_can_be_made_to_rise() -> None:
    totals = RunningTotals.over("day", *YEAR).release({"day": [date(2026, 5, 1)] * 50}, epsilon=1)
    rows = totals.rows()
    assert len(rows) == 12
    assert rows[4][0] == (date(2026, 5, 1), date(2026, 5, 31))
    assert all(low < value < high for _, value, low, high in rows)
    rising = totals.rising().tolist()
    assert rising == sorted(rising)
    assert min(rising) >= 0


@pytest.mark.parametrize(
    ("options", "sql", "code"),
    [
        ({}, "SELECT stay FROM visits", "release-invalid"),
        ({"column": "stay"}, "visits", "release-invalid"),
        ({"column": "nothing"}, "visits", "release-invalid"),
    ],
)
def test_calendars_are_of_dates(options: dict[str, Any], sql: str, code: str) -> None:
    with opened(policy_of(POLICY, head=PURE), world(3)) as curator:
        with pytest.raises(Refused, match="dates") as refused:
            curator.release(RunningTotals(**options), sql, epsilon=1)
        assert refused.value.code == code
        assert not curator.entries()


def test_what_makes_no_sense_is_said_before_anything_else() -> None:
    wrong: tuple[dict[str, Any], ...] = ({"every": 5}, {"counted": "people"}, {"method": []}, {"calendar": "2026"})
    for options in (*wrong, {"every": "hour"}):
        with pytest.raises((ValueError, TypeError)):
            RunningTotals(**options)
    with pytest.raises(Refused, match="calendar"):
        RunningTotals().release({"day": []}, epsilon=1)
    with pytest.raises(Refused, match="steps"):
        RunningTotals.over("day", date(1900, 1, 1), date(2026, 1, 1), every="day").release({"day": []}, epsilon=1)
    stamps = RunningTotals.over("at", datetime(2026, 1, 1), datetime(2026, 2, 1), every="week")
    assert stamps.release({"at": [datetime(2026, 1, 9, 12)]}, epsilon=5).values.shape == (5,)


def test_a_step_is_counted_in_the_loss_of_every_method() -> None:
    """The sensitivity that noise is drawn for is that of the integer matrix, not of its real square root."""
    factor = SquareRoot(12)
    said = factor.moved(3, once=False)
    column = factor.column.tolist()
    assert said == Sensitivity(Fraction(3 * sum(column)), Fraction(9 * sum(each**2 for each in column)))
