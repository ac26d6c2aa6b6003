"""Goals and tests of models on arrays: what is accepted, what is refused, and that noise is where it should be."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, Final

import numpy as np
import pytest
from scipy.stats import binom

from discreet import noise
from discreet.accounting import Pure
from discreet.errors import Refused
from discreet.learn import GaussianNB, LinearRegression
from discreet.learn.statements import Facts
from discreet.ledger import Grant, Ledger
from discreet.ledger.memory import Memory
from discreet.stream import Decision, validate
from discreet.stream.goals import KINDS, Goal

DICE: Final = np.random.default_rng(3)
ROWS: Final = DICE.uniform(0, 10, (4000, 1))
NUMBERS: Final = np.clip(ROWS[:, 0] + DICE.uniform(-1, 1, 4000), 0, 10)
SIDES: Final = np.where(ROWS[:, 0] + DICE.uniform(-3, 3, 4000) < 5, "low", "high")
LINE: Final = LinearRegression(bounds=(0, 10), y_bounds=(0, 10), epsilon=1000).fit(ROWS, NUMBERS)
NAIVE: Final = GaussianNB(bounds=(0, 10), classes=["low", "high"], epsilon=1000).fit(ROWS, SIDES)
ERROR: Final = np.abs(LINE.predict(ROWS) - NUMBERS)
NO_BOUNDS: Final = Facts(None, None)


EXACT: Final = {
    "mean_absolute_error": float(ERROR.mean()),
    "mean_squared_error": float((ERROR**2).mean()),
    "root_mean_squared_error": float(np.sqrt((ERROR**2).mean())),
}


@pytest.mark.parametrize("metric", EXACT)
def test_errors_are_accepted_a_little_above_what_they_are_and_not_below(metric: str) -> None:
    """At ε 1000 noise is nothing beside 4,000 draws; goals are as exact as those allow."""
    exact = EXACT[metric]
    verdicts = [validate(LINE, ROWS, NUMBERS, goal=exact * by, metric=metric, epsilon=1000) for by in (3, 0.99)]
    assert [verdict.decision for verdict in verdicts] == [Decision.ACCEPT, Decision.RETRY]
    assert verdicts[0].value == pytest.approx(exact, rel=0.01)
    assert verdicts[0].rows == pytest.approx(4000, abs=1)
    assert str(verdicts[0]).startswith(f"ACCEPT: {metric} about ")


def test_so_are_accuracies_and_logarithmic_losses() -> None:
    right = float(np.mean(NAIVE.predict(ROWS) == SIDES))
    for goal, decision in ((right - 0.04, Decision.ACCEPT), (right + 0.001, Decision.RETRY)):
        assert validate(NAIVE, ROWS, SIDES, goal=goal, epsilon=1000).decision is decision
    places = (np.array(NAIVE.classes_)[None, :] == SIDES[:, None]).argmax(1)
    chances = NAIVE.predict_proba(ROWS)[np.arange(4000), places]
    exact = float(-np.log(np.maximum(chances, 0.001)).mean())
    for goal, decision in ((exact * 1.5, Decision.ACCEPT), (exact * 0.99, Decision.RETRY)):
        assert validate(NAIVE, ROWS, SIDES, goal=goal, metric="log_loss", epsilon=1000).decision is decision


def test_with_little_to_spend_nothing_is_accepted_and_later_attempts_are_asked_more() -> None:
    assert validate(LINE, ROWS, NUMBERS, goal=2, epsilon=1e-4).decision is Decision.RETRY
    misses = [validate(LINE, ROWS, NUMBERS, goal=2, epsilon=100, attempt=number).miss for number in (1, 2, 3)]
    assert misses == [0.025, 0.0125, 0.00625]


def test_a_ledger_is_charged_before_rows_are_read() -> None:
    ledger = Ledger(Memory(), Grant.of(Fraction(1), None), shares={})
    validate(LINE, ROWS, NUMBERS, goal=2, epsilon=0.75, ledger=ledger)
    assert [entry.loss for entry in ledger.entries()] == [Pure(0.75)]
    with pytest.raises(Refused):
        validate(LINE, None, None, goal=2, epsilon=0.75, ledger=ledger)
    assert len(ledger.entries()) == 1


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"goal": 0}, "strictly between 0 and 10"),
        ({"goal": 10}, "strictly between 0 and 10"),
        ({"goal": -1}, "strictly between"),
        ({"goal": float("nan")}, "finite"),
        ({"goal": "5"}, "number"),
        ({"goal": 2, "eta": 0}, "eta"),
        ({"goal": 2, "eta": -0.1}, "eta"),
        ({"goal": 2, "eta": 1}, "eta"),
        ({"goal": 2, "attempt": 0}, "attempt"),
        ({"goal": 2, "metric": "accuracy"}, "does not suit"),
        ({"goal": 2, "metric": "r2"}, "no mean over rows"),
        ({"goal": 2, "metric": "fun"}, "must be one of"),
        ({"goal": 2, "y_bounds": (10, 0)}, "low < high"),
        ({"goal": -2, "metric": "root_mean_squared_error"}, "strictly between 0 and 10"),
    ],
)
def test_what_makes_no_sense_is_refused_before_anything_is_charged(wrong: dict[str, Any], said: str) -> None:
    ledger = Ledger(Memory(), Grant.of(Fraction(1), None), shares={})
    with pytest.raises((TypeError, ValueError), match=said):
        validate(LINE, ROWS, NUMBERS, epsilon=0.5, ledger=ledger, **wrong)
    assert not ledger.entries()


def test_shares_and_values_are_inverse() -> None:
    for metric, kind in KINDS.items():
        if metric in ("accuracy", "log_loss"):
            goal = Goal.read(metric, 0.4, NO_BOUNDS)
            assert kind.value(float(goal.share), NO_BOUNDS) == pytest.approx(0.4)


@pytest.mark.slow
def test_models_no_better_than_the_goal_are_accepted_as_seldom_as_was_said() -> None:
    """Drawn, with all that a user calls; more than so many of 300 are accepted once in a million runs at most."""
    wrong, times, eta = 0.3, 300, 0.2
    said = NAIVE.predict(ROWS[:400])
    other = np.where(said == "low", "high", "low")
    accepted = 0
    for _ in range(times):
        truth = np.where(noise.below(10**6, 400) < wrong * 10**6, other, said)
        verdict = validate(NAIVE, ROWS[:400], truth, goal=1 - wrong, eta=eta, epsilon=0.5)
        accepted += verdict.decision is Decision.ACCEPT
    assert 0 < accepted <= binom.isf(1e-6, times, eta / 2)
