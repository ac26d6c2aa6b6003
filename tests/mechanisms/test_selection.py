"""What the choosing mechanisms share, and the small world on which each of them is checked completely."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.mechanisms.grid import INTEGERS
from discreet.mechanisms.selection import factor, fine_grid, log_odds, score_grid, shortfall, tilt, units
from discreet.noise import Exponents

Scores = tuple[int, ...]


def neighbours(*, monotone: bool, candidates: int = 3) -> Iterator[tuple[Scores, Scores]]:
    """All pairs of score vectors over {0, 1, 2} and what one unit with Δ = 1 can make of them, in both orders."""
    moves = (0, 1) if monotone else (-1, 0, 1)
    for scores in itertools.product((0, 1, 2), repeat=candidates):
        for move in itertools.product(moves, repeat=candidates):
            moved = tuple(score + step for score, step in zip(scores, move, strict=True))
            yield scores, moved
            yield moved, scores


def test_the_small_world_is_complete() -> None:
    anyhow, upwards = (list(neighbours(monotone=monotone)) for monotone in (False, True))
    assert (len(anyhow), len(upwards)) == (2 * 27 * 27, 2 * 27 * 8)
    assert all(abs(a - b) <= 1 for pair in anyhow for a, b in zip(*pair, strict=True))


def test_integer_scores_stay_as_they_are() -> None:
    exact, moved = units([3, -1, 2**62], Fraction(2))
    assert exact.tolist() == [3, -1, 2**62]
    assert moved == 2


def test_integers_move_by_whole_steps() -> None:
    assert units([3, 1], Fraction(5, 2))[1] == 2


def test_real_scores_are_rounded_half_up_to_a_fine_power_of_two() -> None:
    step = fine_grid(Fraction(1)).step
    assert step == Fraction(1, 1024)
    exact, moved = units([0.0, float(step / 2), -float(step / 2), 1.0], Fraction(1))
    assert exact.tolist() == [0, 1, 0, 1024]
    assert moved == 1024


def test_integer_scores_of_a_small_sensitivity_live_on_the_fine_grid_too() -> None:
    exact, moved = units([0, 1], Fraction(1, 10))
    step = fine_grid(Fraction(1, 10)).step
    assert exact.tolist() == [0, 1 / step]
    assert moved == math.ceil(Fraction(1, 10) / step)


def test_integers_live_on_the_integers_unless_a_unit_moves_them_by_less() -> None:
    assert score_grid(Fraction(1)) is INTEGERS
    assert score_grid(Fraction(1, 2)) == fine_grid(Fraction(1, 2))


@settings(deadline=None)
@given(
    st.floats(-1000, 1000),
    st.fractions(Fraction(1, 1000), 1000, max_denominator=1000),
    st.floats(-1, 1),
)
def test_a_unit_moves_rounded_scores_no_farther_than_counted(score: float, sensitivity: Fraction, way: float) -> None:
    other = score + way * float(sensitivity)
    if abs(Fraction(other) - Fraction(score)) > sensitivity:
        other = score
    exact, moved = units([score, other], sensitivity)
    assert abs(int(exact[0]) - int(exact[1])) <= moved


@pytest.mark.parametrize(
    ("scores", "error", "words"),
    [
        ([[1, 2]], ValueError, "one-dimensional"),
        (3, ValueError, "one-dimensional"),
        ([], ValueError, "empty"),
        ([2**70, 1], OverflowError, "64-bit"),
        ([1e300, 1.0], OverflowError, "too large"),
        ([math.nan, 1.0], ValueError, "NaN"),
        ([-math.inf, 1.0], ValueError, "infinity"),
        ([True, False], TypeError, "booleans"),
        (["a", "b"], TypeError, "text"),
        ([None, 1], TypeError, "missing"),
    ],
)
def test_what_is_no_list_of_scores_is_refused(scores: object, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        units(scores, Fraction(1))  # type: ignore[arg-type]


def test_monotone_scores_drop_the_two() -> None:
    assert factor(monotone=False) == 2
    assert factor(monotone=True) == 1


@pytest.mark.parametrize("rho", [1e-9, 0.005, Decimal("0.1"), Fraction(1, 3), 2, 1e9])
@pytest.mark.parametrize("choices", [1, 2, 7, 1000])
def test_rho_buys_the_largest_tilt_that_it_pays_for(rho: float | Fraction | Decimal, choices: int) -> None:
    each = tilt(None, rho, choices)
    budget = rho if isinstance(rho, Fraction) else Fraction(str(rho))
    assert choices * each**2 / 8 <= budget
    assert choices * (each + Fraction(1, 10**20)) ** 2 / 8 > budget


def test_epsilon_is_shared_equally() -> None:
    assert 3 * tilt(1, None, 3) == 1


def test_a_cost_is_given_in_one_currency() -> None:
    with pytest.raises(TypeError, match="either epsilon or rho"):
        tilt(1, 1)
    with pytest.raises(TypeError, match="either epsilon or rho"):
        tilt(None, None)


def test_the_shortfall_is_that_of_the_theorem() -> None:
    bound = shortfall(Fraction(1, 10), Fraction(1), 2, 0.95, 20)
    assert 20 * math.exp(-0.1 * bound / 2) == pytest.approx(0.05, rel=1e-12)


def test_log_odds_survive_scores_farther_apart_than_64_bits() -> None:
    ends = np.array([-(2**63), 0, 2**63 - 1])
    assert log_odds(Exponents(ends, Fraction(1, 2**60))).tolist() == [-16.0, -8.0, 0.0]
