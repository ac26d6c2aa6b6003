"""Reconstruction: everything from counts that are accurate, and no more than the theorem allows from private ones."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import linprog
from scipy.stats import binom

from discreet import noise
from discreet.lab import reconstruction
from discreet.lab.invented import Floats, Integers
from discreet.lab.posterior import told_right
from discreet.lab.reconstruction import (
    Noise,
    best_fit,
    least_squares,
    linear_program,
    most_right,
    noises,
    points,
    recovered,
    run,
    secrets,
    subsets_of,
    through_curator,
)
from tests.statistics import laplace_law

ATTACKS = (linear_program, least_squares)


def tosses(people: int) -> Integers:
    """Bits that nobody knows: the theorem is about those."""
    return noise.below(2, people)


def misfit(subsets: Integers, answers: Floats, fixed: int | None = None) -> float:
    """min Σ|Ax − y| as it is written: over 0 ≤ x ≤ 1; or over |x| ≤ 1 with one of them ½."""
    many, people = subsets.shape
    whole = sparse.hstack([sparse.csc_matrix(subsets), sparse.eye(many), -sparse.eye(many)]).tocsc()
    bounds = [(0.0, 1.0)] * people if fixed is None else [(-1.0, 1.0)] * people
    if fixed is not None:
        bounds[fixed] = (0.5, 0.5)
    goal = np.concatenate([np.zeros(people), np.ones(2 * many)])
    solved = linprog(goal, A_eq=whole, b_eq=answers, bounds=[*bounds, *[(0.0, None)] * (2 * many)])
    return float(solved.fun)


def test_the_dual_finds_what_the_program_asks_for() -> None:
    bits, subsets = secrets(24, "dual"), subsets_of(24, 70, "dual")
    answers = (subsets @ bits + noise.laplace(2, 70)).astype(np.float64)
    x = best_fit(subsets, answers)
    assert -1e-9 <= x.min() <= x.max() <= 1 + 1e-9
    assert np.abs(subsets @ x - answers).sum() == pytest.approx(misfit(subsets, answers), rel=1e-9)


@pytest.mark.parametrize("attack", ATTACKS)
def test_exact_counts_are_equations(attack: reconstruction.Attack) -> None:
    bits, subsets = secrets(32, "exact"), subsets_of(32, 64, "exact")
    assert np.linalg.matrix_rank(subsets) == 32
    assert (attack(subsets, (subsets @ bits).astype(np.float64)) == bits).all()


def test_noise_of_a_large_epsilon_each_hides_nothing() -> None:
    """Everything is recovered, whatever the bits, but with probability 10⁻⁶ at most.

    If x̂ fits best, Σ|A(x̂ − x)| ≤ 2Σ|Z|. A wrong bit has |x̂ᵢ − xᵢ| ≥ ½ for some i, and then, scaled to ½, the left side
    is at least the least Σ|Av| over |v| ≤ 1 with vᵢ = ½ (or −½): a linear program for each i. So all bits are right
    unless 2Σ|Z| is as large, of which Chernoff's bound says how likely it is.
    """
    people, many, epsilon = 12, 512, 4.0
    subsets = subsets_of(people, many, "1 0")
    least = min(misfit(subsets, np.zeros(many), place) for place in range(people))
    law = laplace_law(1)
    sizes = np.abs(np.arange(len(law.probabilities)) + law.first)
    chances = math.tanh(epsilon / 2) * np.exp(-epsilon * sizes)
    tail = min(
        many * math.log((chances * np.exp(t * sizes)).sum()) - t * least / 2
        for t in np.linspace(0.05, epsilon - 0.1, 60)
    )
    assert math.exp(tail) < 1e-6
    (found,) = recovered([tosses(people)], many, Noise.each(epsilon), [linear_program], 1)
    assert found.share == 1.0


@pytest.mark.parametrize("epsilon", [1, 2])
def test_private_counts_give_away_no_more_than_the_theorem(epsilon: int) -> None:
    """Of 256 tosses more are right with probability 10⁻⁶ at most, whatever the attack."""
    bits = [tosses(64) for _ in range(4)]
    for found in recovered(bits, 128, Noise.together(epsilon), ATTACKS, 1):
        assert found.right <= most_right(epsilon, found.bits) < found.bits


def test_the_bound_is_that_of_a_binomial() -> None:
    most = most_right(1, 512)
    assert binom.sf(most, 512, told_right(1)) <= 1e-6 < binom.sf(most - 1, 512, told_right(1))


def test_one_answer_attains_the_bound() -> None:
    """One bit, one count: the guess by its sign is right exactly as often as the theorem allows."""
    chances, first = laplace_law(1).probabilities, laplace_law(1).first
    assert chances[-first:].sum() == pytest.approx(told_right(1))


def test_a_curator_answers_until_its_budget_is_gone() -> None:
    found = through_curator(tosses(64), budget=1, cost=0.25, many=9)
    assert (found.answered, found.refused) == (4, True)
    assert found.recovered.right <= most_right(1, 64)


def test_a_curator_without_a_budget_gives_all_away() -> None:
    """Noise is 0 at this ε, but with probability e^−1000, and 24 subsets of 16 people are equations enough."""
    bits = secrets(16, "careless")
    found = through_curator(bits, budget=10**6, cost=1000, many=24)
    assert (found.answered, found.refused, found.recovered.right) == (24, False, 16)


def test_the_noises_of_the_table() -> None:
    by_name = {each.name: each for each in noises(128)}
    for name, size in (("within ± 1", 1), ("within ± √n/3", math.sqrt(128) / 3), ("within ± n/4", 32)):
        drawn = by_name[name].draw(1000)
        assert 0.9 * size < np.abs(drawn).max() <= size  # 0.9¹⁰⁰⁰ = 10⁻⁴⁶
        assert by_name[name].epsilon(5) == math.inf
    assert by_name["Laplace, ε = 1 each"].epsilon(5) == 5
    assert by_name["Laplace, ε = 10 in all"].epsilon(5) == 10


def test_what_the_experiment_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reconstruction, "SUBSETS", (20, 30))
    monkeypatch.setattr(reconstruction, "TRIALS", 1)
    monkeypatch.setattr(reconstruction, "PEOPLE", 16)
    monkeypatch.setattr(reconstruction, "COUNTS", (4, 2))
    monkeypatch.setattr(reconstruction, "points", lambda seed: points(seed, 8, (16,)))
    outcome = run(seed=2)
    assert len(outcome.tables[0].rows) == 7
    assert outcome.tables[0].marked == {5, 6}
    assert [row[-1] for row in outcome.tables[0].rows[-2:]] == ["all but 1 in 22,027", "all but 1 in 3.72"]
    assert [row[2] for row in outcome.tables[1].rows] == ["4", "2, then refused"]
    assert outcome.pictures[0].chart().to_dict()["layer"]


FIGURES = {
    "within ± 1": (1.0, 1.0),
    "within ± √n/3": (0.879, 0.943),
    "within ± √n": (0.650, 0.705),
    "within ± n/4": (0.554, 0.574),
    "Laplace, ε = 1 each": (0.998, 1.0),
    "Laplace, ε = 10 in all": (0.562, 0.540),
    "Laplace, ε = 1 in all": (0.504, 0.505),
}
"""Bits of 128 people by the linear program from 256 and 512 counts: means of 40 databases, of which one has a deviation
of 0.051 at most. Figures of 3 other databases (1, 0.88, 0.63, 0.59, 0.997, 0.57, 0.52; 1, 0.94, 0.67, 0.56, 1, 0.518,
0.505) lie within 0.04 of them."""


@pytest.mark.slow
def test_the_table_of_dinur_and_nissim() -> None:
    """Six databases within 0.13 of the figures: 6.2 deviations; least squares is no worse by 0.2: 6.7 deviations."""
    bits = [tosses(128) for _ in range(6)]
    for added in noises(128):
        for many, figure in zip((256, 512), FIGURES[added.name], strict=True):
            program, squares = recovered(bits, many, added, ATTACKS, 1)
            assert abs(program.share - figure) < 0.13, added.name
            assert squares.share > program.share - 0.2, added.name
