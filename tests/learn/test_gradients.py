"""Gradients of the logistic loss: as long as they may be, exact, and each of its row alone."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from discreet.learn.box import Box
from discreet.learn.gradients import Clip, Examples
from discreet.learn.rulers import BLOCK, Ruler
from discreet.mechanisms.arrays import Integers
from tests.learn.replaying import check_moved


def examples(rows: Integers, places: Integers, steps: int, clip: Clip) -> Examples:
    """Rows that are in steps already."""
    far = np.full(clip.side, 2.0**15)
    ruler = Ruler.of(Box(-far, far), np.zeros(clip.side), np.full(clip.side, float(steps)), steps, 2**15)
    return Examples.of(rows.astype(np.float64), places, ruler, clip)


@pytest.mark.parametrize("norm", [1, 2])
@pytest.mark.parametrize("columns", [1, 3])
def test_gradients_keep_to_the_clip(norm: int, columns: int) -> None:
    """One row at a time, with weights that make it as wrong as can be."""
    dice = np.random.default_rng(norm + columns)
    for share in (Fraction(1), Fraction(1, 4), Fraction(1, 1000)) * 20:
        for steps in (2, 64, 2**15):
            for clip, far in (
                (Clip.longest(share, norm, 5, columns), 1),
                (Clip(share, norm, 5, columns, Fraction(7)), 10),
            ):
                row = dice.choice(np.array([-steps, steps, 0, steps // 2]), (1, 5)) * min(far, 2**15 // steps)
                weights = dice.choice(np.array([0.0, 1e9, -1e9, 0.3, 3.0]), (columns, 5))
                place = dice.integers(0, max(columns, 2), 1)
                found = examples(row, place, steps, clip).gradient(weights)
                check_moved(found.ravel(), clip.sensitivity(steps))


@pytest.mark.parametrize("norm", [1, 2])
def test_the_longest_gradient_is_attained(norm: int) -> None:
    """A corner that is predicted wrongly for sure: no bound below the share 1 would do."""
    steps = 2**15
    for columns, place in ((1, 0), (2, 1)):
        clip = Clip.longest(Fraction(1), norm, 4, columns)
        row = np.full((1, 4), steps)
        weights = np.full((columns, 4), 100.0) * np.array([[1.0], [-1.0]])[:columns]
        found = examples(row, np.array([place]), steps, clip).gradient(weights)
        limit = clip.limit(steps)
        size = np.abs(found).sum() if norm == 1 else np.sqrt((found.astype(np.float64) ** 2).sum())
        assert 0.999 * limit < size <= limit


def test_unclipped_gradients_are_those_of_the_loss() -> None:
    dice = np.random.default_rng(5)
    steps = 2**15
    rows = dice.integers(-steps, steps + 1, (BLOCK + 100, 4))
    for columns in (1, 3):
        places = dice.integers(0, max(columns, 2), len(rows))
        weights = dice.normal(0, 1, (columns, 4))
        found = examples(rows, places, steps, Clip.longest(Fraction(1), 2, 4, columns)).gradient(weights) / steps**2
        shares = rows / steps
        scores = shares @ weights.T
        if columns == 1:
            scores = np.hstack([np.zeros_like(scores), scores])
        wrong = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True) - np.eye(scores.shape[1])[places]
        np.testing.assert_allclose(found, (wrong.T @ shares)[-columns:], atol=1e-3 * len(rows) ** 0.5 + 1)


def test_what_a_row_does_depends_on_that_row_alone() -> None:
    """The sum over all is the sum over each alone, to the last bit."""
    dice = np.random.default_rng(6)
    steps = 2**15
    rows = dice.integers(-steps, steps + 1, (300, 7))
    for columns in (1, 4):
        places = dice.integers(0, max(columns, 2), len(rows))
        weights = dice.normal(0, 2, (columns, 7))
        clip = Clip.longest(Fraction(1, 5), 2, 7, columns)
        alone = [
            examples(rows[[i]], places[[i]], steps, clip).gradient(weights)  # one at a time
            for i in range(len(rows))
        ]
        np.testing.assert_array_equal(examples(rows, places, steps, clip).gradient(weights), np.sum(alone, axis=0))
