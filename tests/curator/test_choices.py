"""Quantiles that are chosen in every group: what all choices together cost a unit, exactly, in a small world."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any, cast

import numpy as np
import pytest
from numpy.typing import NDArray

from discreet.accounting import Concentrated, Pure
from discreet.accounting.losses import Sensitivity
from discreet.exit.cost import Choices, Cost
from discreet.mechanisms import Exponential, PermuteAndFlip
from discreet.sql.measures import Contribution
from discreet.sql.vectors import Chosen

CELLS = 3
MOST = 3
"""Rows that others have in a group."""
Counts = tuple[int, ...]
Law = NDArray[np.float64]


def quantile(share: Fraction) -> Chosen:
    return Chosen(cast("Any", None), cast("Any", None), share, "a quantile")


def groups(most: int) -> list[Counts]:
    """All groups of up to so many rows in three cells."""
    return [counts for counts in itertools.product(range(most + 1), repeat=CELLS) if sum(counts) <= most]


def with_unit(counts: Counts, rows: int) -> list[Counts]:
    """The group with up to so many rows of one more unit."""
    return [tuple(a + b for a, b in zip(counts, more, strict=True)) for more in groups(rows)]


def laws(share: Fraction, rows: int, mechanism: Exponential | PermuteAndFlip) -> dict[Counts, Law]:
    """How likely each cell is chosen, for every group that may be."""
    measure = quantile(share)
    return {counts: mechanism.probabilities(measure.scores(counts)) for counts in groups(MOST + rows)}


def divergence(one: Law, other: Law, alpha: float) -> float:
    """The Rényi divergence of an order, divided by it: what ρ bounds."""
    return float(np.log((one**alpha * other ** (1 - alpha)).sum()) / (alpha - 1) / alpha)


def pairs(rows: int) -> Iterator[tuple[Counts, Counts]]:
    """All groups with and without so many rows of a unit, both ways."""
    for here in groups(MOST):
        for there in with_unit(here, rows):
            yield from ((here, there), (there, here))


def spread_out(bounds: Contribution) -> list[tuple[int, ...]]:
    """Every way in which a unit's rows fall into groups."""
    ways = itertools.product(range(bounds.rows + 1), repeat=bounds.cells)
    return [way for way in ways if sum(way) <= bounds.total]


BOUNDS = [
    Contribution(1, 1, 1),
    Contribution(2, 1, 2),
    Contribution(3, 2, 6),
    Contribution(3, 3, 3),
    Contribution(2, 3, 4),
]
SHARES = [Fraction(0), Fraction(1, 2), Fraction(9, 10), Fraction(1)]


@pytest.mark.parametrize("share", SHARES)
@pytest.mark.parametrize("bounds", BOUNDS, ids=str)
def test_choices_in_all_groups_of_a_unit_together_cost_the_epsilon_that_is_charged(
    share: Fraction, bounds: Contribution
) -> None:
    """The worst of every way in which rows fall into groups; choices are independent, so log-ratios add up."""
    measure = quantile(share)
    choices = Cost(Pure(1)).choices(measure.sensitivity(bounds), measure.score_sensitivity, Fraction(1))
    assert choices.loss == Pure(1)
    worst = {}
    for rows in range(bounds.rows + 1):
        law = {counts: np.log(p) for counts, p in laws(share, rows, choices.mechanism).items()}
        worst[rows] = max(float(np.abs(law[a] - law[b]).max()) for a, b in pairs(rows))
    most = max(sum(worst[rows] for rows in way) for way in spread_out(bounds))
    assert 0.3 < most <= 1 + 1e-12


@pytest.mark.parametrize("share", SHARES)
@pytest.mark.parametrize("bounds", BOUNDS, ids=str)
def test_and_the_rho(share: Fraction, bounds: Contribution) -> None:
    measure = quantile(share)
    choices = Cost(Concentrated(1)).choices(measure.sensitivity(bounds), measure.score_sensitivity, Fraction(1))
    assert choices.loss == Concentrated(1)
    used = 0.0
    for alpha in (1.001, 1.5, 2, 5, 40):
        worst = {}
        for rows in range(bounds.rows + 1):
            law = laws(share, rows, choices.mechanism)
            worst[rows] = max(divergence(law[a], law[b], alpha) for a, b in pairs(rows))
        used = max(used, *(sum(worst[rows] for rows in way) for way in spread_out(bounds)))
    assert 0.2 < used <= 1 + 1e-9


def test_the_largest_of_the_groups_alone_would_not_be_enough() -> None:
    """As in parallel composition: a unit in two groups loses in both."""
    half = Fraction(1, 2)
    mechanism = Exponential(1, sensitivity=quantile(half).score_sensitivity)
    law = laws(half, 1, mechanism)
    worst = max(float(np.abs(np.log(law[a]) - np.log(law[b])).max()) for a, b in pairs(1))
    assert 2 * worst > 1
    assert Choices(mechanism, Sensitivity.cells(2, 1)).loss == Pure(2)


def test_rows_in_many_groups_cost_what_they_cost_in_one() -> None:
    """Twenty rows, in up to twenty groups: twenty times less error for an ε than charged in each group, √20 for a ρ."""
    measure = quantile(Fraction(1, 2))
    for cost, factor in ((Cost(Pure(1)), 20), (Cost(Concentrated(1)), math.sqrt(20))):
        together = cost.choices(measure.sensitivity(Contribution(20, 20, 20)), measure.score_sensitivity, Fraction(1))
        apart = cost.choices(Sensitivity.cells(20, 1), 20 * measure.score_sensitivity, Fraction(1))
        errors = [each.mechanism.error(0.95, candidates=100) for each in (apart, together)]
        assert errors[0] / errors[1] == pytest.approx(factor)
