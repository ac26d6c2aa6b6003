"""Averages come to the truth where nobody counts, and not where a ledger does."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import linprog

from discreet.lab.averaging import (
    EXACT,
    QUESTION,
    ROOMS,
    SMOKERS,
    averaged,
    experiment,
    people,
    rmse,
    run,
    until_refused,
    variants,
)
from discreet.lab.curators import SMOKERS_POLICY, curator_over
from tests.statistics import laplace_law


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
def test_errors_are_those_of_the_noise(epsilon: float) -> None:
    law = laplace_law(round(1 / epsilon)) if epsilon < 1 else None
    q, z = math.exp(-epsilon), np.arange(-400, 401)
    chances = law.probabilities if law else (1 - q) / (1 + q) * q ** np.abs(z)
    places = np.arange(len(chances)) + (law.first if law else z[0])
    assert rmse(epsilon, 1) == pytest.approx(math.sqrt((chances * places**2).sum()), rel=1e-9)
    assert rmse(epsilon, 25) == pytest.approx(rmse(epsilon, 1) / 5)


def test_the_table_of_ten_to_ten_thousand() -> None:
    """Figures of the lectures: 14.4, 4.5, 1.4, 0.46, 0.14 for a true 42 and noise of scale 10."""
    expected = [rmse(0.1, times) for times in (1, 10, 100, 1_000, 10_000)]
    assert expected == pytest.approx([14.4, 4.5, 1.4, 0.46, 0.14], rel=0.04)


def test_ten_thousand_answers_average_to_the_truth() -> None:
    """An error of 1 is 7 deviations of the mean: by Chernoff with Laplace's moments, less than 10⁻¹⁰ on both sides."""
    times, limit = 10_000, 1.0
    # E exp(tZ) = (1 − q)²/((1 − qe^t)(1 − qe^−t)) for discrete Laplace noise
    q, t = math.exp(-0.1), limit / rmse(0.1, 1) ** 2
    moment = (1 - q) ** 2 / ((1 - q * math.exp(t)) * (1 - q * math.exp(-t)))
    assert 2 * math.exp(times * (math.log(moment) - t * limit)) < 1e-10
    found = averaged(0.1, times, draws=times)
    assert found.trials == 1
    assert found.rmse < limit < rmse(0.1, 1)


@pytest.mark.parametrize("budget", [0.1, 1.0, 4.0])
def test_splitting_a_budget_never_helps(budget: float) -> None:
    errors = [rmse(budget / times, times) for times in (1, 2, 3, 10, 100)]
    assert errors == sorted(errors)


def test_no_other_way_to_spend_epsilon_has_a_smaller_error() -> None:
    """The best of all ε-DP counts of up to N people, by linear programming, comes close to Laplace's from below."""
    best = [math.sqrt(least_error(people_, 1.0)) for people_ in (4, 8, 16)]
    assert best == sorted(best)
    assert 0.95 * rmse(1.0, 1) < best[-1] <= rmse(1.0, 1)


def least_error(most: int, epsilon: float) -> float:
    """The least worst-case squared error of any ε-DP release of a count from 0 to `most`."""
    size = most + 1
    near, far = np.arange(most * size), np.arange(most * size) + size
    rows, one, shrunk = np.arange(most * size), np.ones(most * size), np.full(most * size, math.exp(-epsilon))
    shape = (most * size, size * size + 1)
    up = sparse.coo_matrix((np.concatenate([-one, shrunk]), (np.tile(rows, 2), np.concatenate([near, far]))), shape)
    down = sparse.coo_matrix((np.concatenate([shrunk, -one]), (np.tile(rows, 2), np.concatenate([near, far]))), shape)
    squares = [np.subtract.outer([exact], range(size)) ** 2 for exact in range(size)]
    worst = sparse.hstack([sparse.block_diag(squares), -np.ones((size, 1))])
    total = sparse.hstack([sparse.block_diag([np.ones((1, size))] * size), sparse.coo_matrix((size, 1))])
    limits = sparse.vstack([up, down, worst]).tocsc()
    goal = np.append(np.zeros(size * size), 1.0)
    solved: Any = linprog(goal, limits, np.zeros(limits.shape[0]), total.tocsc(), np.ones(size), (0, None))
    return float(solved.fun)


def test_a_curator_answers_the_same_once_and_variants_until_its_budget_is_gone() -> None:
    with curator_over(SMOKERS_POLICY.format(rooms=ROOMS, budget=1), {"people": people(EXACT)}) as curator:
        same, refusal = until_refused(curator, [QUESTION] * 20, 0.25)
        assert (len(same), len(set(same)), refusal) == (20, 1, "")
        assert float(curator.budget().spent.epsilon) == 0.25
        varied, refusal = until_refused(curator, variants(20), 0.25)
        assert len(varied) == 3
        assert "budget" in refusal
        assert float(curator.budget().spent.epsilon) == 1
        assert until_refused(curator, [QUESTION], 0.25)[0] == same[:1]


def test_variants_have_the_same_exact_answer() -> None:
    with curator_over(SMOKERS_POLICY.format(rooms=ROOMS, budget=10**9), {"people": people()}) as curator:
        answers, _ = until_refused(curator, [QUESTION, *variants(3)], 10**4)
    assert answers == (SMOKERS,) * 4  # noise for such an ε is 0, but with probability e^−10000


def test_fresh_answers_end_with_the_budget() -> None:
    answers = experiment(0.3, 1.0)
    assert len(answers.fresh) == 3
    assert answers.refusal.startswith("budget-exhausted")
    assert answers.cached == answers.cached_again


@pytest.mark.slow
def test_the_experiment_shows_the_table() -> None:
    outcome = run(seed=3)
    assert [row[0] for row in outcome.tables[0].rows] == ["1", "10", "100", "1,000", "10,000"]
    assert [row[3] for row in outcome.tables[0].rows] == ["0.1", "1", "10", "100", "1,000"]
    assert outcome.figures.items[1].value == "1"
    assert outcome.figures.items[2].value == "10 of 101"
    assert outcome.pictures[0].chart().to_dict()["layer"]
