"""What means and variances promise alike: a unit more costs at most the cost; the order of rows changes nothing."""

from __future__ import annotations

from fractions import Fraction
from itertools import permutations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.mechanisms import BoundedMean, Variance
from tests.mechanisms.helpers import STEADY, cost, enlarged, loss_between, recorded, small_tables

FLOATS = st.floats(allow_nan=False, allow_infinity=False)
BOUNDS = [(0, 1), (-2, 5), (-7, -3), (0.1, 0.3)]
DOMAIN = (-1e300, 0.26, 7.5)
costed = pytest.mark.parametrize("pay", [{"epsilon": 0.5}, {"rho": 0.1}])
each = pytest.mark.parametrize(("make", "draws"), [(BoundedMean, 2), (Variance, 3)])


@each
@costed
@pytest.mark.parametrize("bounds", BOUNDS)
@pytest.mark.parametrize("step", [None, Fraction(1, 100)])
def test_one_unit_more_costs_at_most_the_cost_in_every_small_table(
    make: Any, draws: int, pay: dict[str, Any], bounds: tuple[float, float], step: Fraction | None
) -> None:
    mechanism = make(bounds=bounds, step=step, **pay)
    runs = {table: recorded(mechanism, table) for table in small_tables(DOMAIN, 4)}
    costs = [
        loss_between(runs[table], runs[more]) for table in small_tables(DOMAIN) for more in enlarged(table, DOMAIN)
    ]
    assert max(costs) == cost(mechanism.loss)
    assert all(len(run) == draws for run in runs.values())


@each
@costed
@STEADY
@given(table=st.lists(FLOATS, max_size=20), value=FLOATS, bounds=st.sampled_from(BOUNDS))
def test_one_unit_more_costs_at_most_the_cost_whatever_the_numbers(
    make: Any, draws: int, pay: dict[str, Any], table: list[float], value: float, bounds: tuple[float, float]
) -> None:
    mechanism = make(bounds=bounds, **pay)
    before, after = recorded(mechanism, table), recorded(mechanism, [*table, value])
    assert len(before) == draws
    assert loss_between(before, after) <= cost(mechanism.loss)


@each
@STEADY
@given(table=st.lists(FLOATS, max_size=4))
def test_the_order_of_the_rows_changes_no_bit(make: Any, draws: int, table: list[float]) -> None:
    mechanism = make(bounds=(-1, 1e6), epsilon=1)
    (run,) = {tuple(recorded(mechanism, order)) for order in permutations(table)}
    assert len(run) == draws
