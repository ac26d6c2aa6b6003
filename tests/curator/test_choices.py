"""Quantiles that are chosen in every group: what all choices together cost a unit, exactly, in a small world."""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Any, cast

import numpy as np
import pytest

from discreet.accounting import Pure
from discreet.exit.cost import Choices
from discreet.mechanisms import Exponential
from discreet.sql.measures import Contribution
from discreet.sql.vectors import Chosen

CELLS = 3
Counts = tuple[int, ...]


def quantile(share: Fraction) -> Chosen:
    return Chosen(cast("Any", None), cast("Any", None), share, "a quantile")


def groups(most: int) -> list[Counts]:
    """All groups of up to so many rows in three cells."""
    return [counts for counts in itertools.product(range(most + 1), repeat=CELLS) if sum(counts) <= most]


def with_unit(counts: Counts, rows: int) -> list[Counts]:
    """The group with up to so many rows of one more unit."""
    return [tuple(a + b for a, b in zip(counts, more, strict=True)) for more in groups(rows)]


def worst(share: Fraction, rows: int, mechanism: Exponential) -> float:
    """The largest log-ratio of any choice in one group between neighbours, in both orders."""
    measure = quantile(share)
    law = {counts: np.log(mechanism.probabilities(measure.scores(counts))) for counts in groups(3 + rows)}
    return max(float(np.abs(law[here] - law[there]).max()) for here in groups(3) for there in with_unit(here, rows))


@pytest.mark.parametrize("share", [Fraction(0), Fraction(1, 2), Fraction(9, 10), Fraction(1)])
@pytest.mark.parametrize(("count", "rows"), [(1, 1), (2, 1), (3, 2)])
def test_choices_in_all_groups_of_a_unit_together_cost_what_is_charged(share: Fraction, count: int, rows: int) -> None:
    """A unit is in `count` groups with `rows` rows each; choices are independent, so the log-ratios add up."""
    sensitivity = quantile(share).score_sensitivity(Contribution(count, rows, count * rows))
    choices = Choices(Exponential(Fraction(1) / count, sensitivity=sensitivity), count)
    assert choices.loss == Pure(1)
    assert 0.3 < count * worst(share, rows, Exponential(Fraction(1) / count, sensitivity=sensitivity)) <= 1 + 1e-12


def test_the_largest_of_the_groups_alone_would_not_be_enough() -> None:
    """As in parallel composition: a unit in two groups loses in both."""
    half = Fraction(1, 2)
    mechanism = Exponential(1, sensitivity=quantile(half).score_sensitivity(Contribution(2, 1, 2)))
    assert 2 * worst(half, 1, mechanism) > 1
    assert Choices(mechanism, 2).loss == Pure(2)
