"""Units of rows: what one row moves, what is found of features, and that nothing else is looked at."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from discreet.exit import Exit
from discreet.exit.cost import WHOLE, Cost
from discreet.learn import core
from discreet.learn.box import Box
from discreet.learn.gram import FINEST, Size
from discreet.learn.scaling import FARTHEST, Scaling, mean_noise, measured, sensitivity
from discreet.noise import SYSTEM
from tests.learn.helpers import recorder, without
from tests.learn.replaying import check_moved, hard_rows

COSTS: dict[int, Any] = {1: {"epsilon": 1}, 2: {"rho": 0.5}}
CHEAP: dict[int, Any] = {1: {"epsilon": 1e-3}, 2: {"rho": 1e-6}}
DEAR: dict[int, Any] = {1: {"epsilon": 1e8}, 2: {"rho": 1e8}}
BOUNDS = {"middle": (-1, 1), "zero": (0, 1), "far": (7, 8)}


def find(rows: Any, bounds: Any, norm: int, paid: Any, constant: int = 1) -> Scaling:
    box = Box.read(bounds, rows.shape[1])
    return measured(rows, box, constant, norm, Exit(Cost.alone(**paid), SYSTEM, sampler=core.SAMPLER), WHOLE)


@pytest.mark.parametrize("norm", [1, 2])
@pytest.mark.parametrize("bounds", BOUNDS.values(), ids=list(BOUNDS))
def test_no_row_moves_the_sums_farther_than_their_sensitivity(
    bounds: Any, norm: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    used = []
    for width in (1, 5, 40):
        rows = hard_rows(9, width, width) + bounds[0]
        rows[0] = bounds[1]
        for place in range(len(rows)):
            found = recorder(monkeypatch)
            find(rows, bounds, norm, COSTS[norm])
            find(without(rows, place), bounds, norm, COSTS[norm])
            here, there = found.releases
            assert here.sensitivity == there.sensitivity
            used.append(check_moved(here.exact.astype(object) - there.exact.astype(object), here.sensitivity))
    assert max(used) > 0.9


@pytest.mark.parametrize("norm", [1, 2])
def test_the_sensitivity_is_a_limit_on_the_norm(norm: int) -> None:
    """Twenty features: shortened to 1 + 20/10 in L1, or to the root of that in L2."""
    moved = sensitivity(20, 1024, norm)
    assert (moved.l1 if norm == 1 else moved.l2_squared) == (3 * 1024 if norm == 1 else math.isqrt(3 * 1024**2) ** 2)


@pytest.mark.parametrize("norm", [1, 2])
@pytest.mark.parametrize("bounds", BOUNDS.values(), ids=list(BOUNDS))
def test_means_and_deviations_at_a_high_cost(bounds: Any, norm: int) -> None:
    """Rows that are alike in length, so that shortening them changes no weight."""
    shares = np.where(np.random.default_rng(1).random(20_000) < 0.7, 0.2, 0.8)
    rows = bounds[0] + (bounds[1] - bounds[0]) * np.column_stack([shares, 1 - shares])
    scaling = find(rows, bounds, norm, DEAR[norm])
    np.testing.assert_allclose(scaling.middle, rows.mean(axis=0), atol=1e-3)
    np.testing.assert_allclose(scaling.width, rows.std(axis=0), atol=1e-3)
    assert 0.3 * len(rows) < scaling.count <= len(rows)
    half = (bounds[1] - bounds[0]) / 2
    still = find(rows - bounds[0] - half, (-half, half), norm, DEAR[norm], constant=0)
    np.testing.assert_array_equal(still.middle, 0)
    np.testing.assert_allclose(still.width, 0.6 * half, atol=1e-3)


def test_lengths_are_those_of_rows_of_indicators() -> None:
    """Ten groups of ten, one of each: about 2·√(0.1·0.9)·100 in L1, although there are a hundred features."""
    places = np.random.default_rng(2).integers(0, 10, (5000, 10))
    rows = np.hstack([np.eye(10)[column] for column in places.T])
    scaling = find(rows, (0, 1), 1, DEAR[1])
    usual = np.abs(scaling.ruler(1024, 1).columns(rows)).sum(axis=0).mean() / 1024
    assert float(scaling.length) == pytest.approx(usual, rel=0.02)
    assert usual == pytest.approx(1 + 100 * 2 * 0.3, rel=0.05)


@pytest.mark.parametrize("norm", [1, 2])
@pytest.mark.parametrize("paid", [COSTS, CHEAP, DEAR], ids=["usual", "cheap", "dear"])
def test_whatever_is_found_keeps_to_what_is_promised(norm: int, paid: Any) -> None:
    """Nobody, one, or rows far outside, at any cost: no unit is too short, no usual row too long."""
    for rows in (np.zeros((0, 4)), np.ones((1, 4)), np.full((5, 4), 1e300), hard_rows(50, 4, 1)):
        for bounds in ((0, 1), (-1, 1), (-1e100, 1e100), (0, 1e-99), ([0, -1, 5, 0], [1e-99, 1, 6, 1e100])):
            for constant in (0, 1):
                scaling = find(rows, bounds, norm, paid[norm], constant)
                assert np.isfinite(scaling.middle).all()
                assert (scaling.width > 0).all()
                assert constant <= scaling.length <= 4 + constant
                found = scaling.ruler(scaling.finest, constant).columns(rows)
                assert np.abs(found).max(initial=0) <= scaling.most * scaling.finest <= 2**FINEST
                assert scaling.size(4 + constant, 8, norm).l1 <= Size.of([FARTHEST * 8] * (4 + constant)).l1


def test_a_row_in_units_depends_on_that_row_alone() -> None:
    rows = hard_rows(300, 5, 3)
    scaling = find(rows, (-1, 1), 1, COSTS[1])
    ruler = scaling.ruler(scaling.finest, 1)
    alone = [ruler.columns(rows[[place]])[:, 0] for place in range(len(rows))]
    np.testing.assert_array_equal(ruler.columns(rows).T, alone)


def test_features_that_do_not_vary_have_the_shortest_units() -> None:
    """A tenth of what they may span; nothing is farther from zero than ten of them."""
    rows = np.full((1000, 2), 0.75)
    for bounds, shortest in (((-1, 1), 0.2), ((0, 1), 0.1)):
        scaling = find(rows, bounds, 2, DEAR[2])
        np.testing.assert_allclose(scaling.width, shortest, rtol=1e-3)
        np.testing.assert_allclose(scaling.middle, 0.75, rtol=1e-3)
        assert scaling.most == 10
        assert scaling.finest == 2**11
        assert float(scaling.length) == pytest.approx(1, abs=0.01)


def test_units_of_the_box() -> None:
    scaling = Scaling.plain(Box.read(([0, -1], [1, 5]), 2), 1)
    np.testing.assert_array_equal(scaling.middle, [0.5, 2])
    np.testing.assert_array_equal(scaling.width, [0.5, 3])
    assert (scaling.most, scaling.finest, scaling.length) == (1, 2**15, Fraction(3))
    np.testing.assert_array_equal(scaling.ruler(8, 1).columns(np.array([[0.25, 9.0]])), [[8], [-4], [8]])
    assert (scaling.limit(8, 1), scaling.limit(8, 2)) == (24, math.isqrt(3 * 64))


def test_what_is_told_about_the_noise_before() -> None:
    """Ten features: shortened to 2 in L1 and to √2 in L2."""
    assert mean_noise(Cost.alone(epsilon=1), 10, 1, Fraction(1, 2)) == pytest.approx(math.sqrt(2) * 2 / 0.5, rel=1e-3)
    assert mean_noise(Cost.alone(rho=1), 10, 2, Fraction(1, 2)) == pytest.approx(math.sqrt(2 / (2 * 0.5)), rel=1e-3)


def test_noise_makes_units_longer_and_no_mean_certain() -> None:
    rows = np.full((10, 3), 0.9)
    scaling = [find(rows, (-1, 1), 1, CHEAP[1]) for _ in range(20)]
    assert np.median([each.width for each in scaling]) == 1
    assert np.median(np.abs([each.middle for each in scaling])) < 0.5
    assert all(each.length <= Fraction(4) for each in scaling)
    from_zero = [find(rows * 0, (0, 1), 1, CHEAP[1]).middle for _ in range(20)]
    assert np.median(from_zero) == pytest.approx(0.5, abs=0.3)
