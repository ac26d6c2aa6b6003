"""Black boxes: what costs less than it did is still as private as it says, and a step too far would be noticed."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from discreet.accounting.losses import Sensitivity
from discreet.audit import estimate, question
from discreet.mechanisms import Gaussian, Laplace, Quantile
from discreet.mechanisms.quantile import Points
from discreet.sql.vectors import Chosen
from tests.sql.worlds import policy_of

SURE = 1 - 1e-7
HEAD = 'name = "w"\n[budget]\nepsilon = 1000\n[unit]\nname = "person"\n'
TABLE = """
[tables.t]
source = "t.csv"
unit = "who"
max_rows = 2
[tables.t.columns]
who = { type = "integer" }
g = { type = "integer", min = 0, max = 1 }
x = { type = "integer", min = 0, max = 1 }
"""
MEDIANS = "SELECT g, MEDIAN(x) FROM t GROUP BY g"
OTHERS = [{"who": 1, "g": 0, "x": 0}, {"who": 2, "g": 1, "x": 0}]
IN_BOTH = {"t": [*OTHERS, {"who": 3, "g": 0, "x": 1}, {"who": 3, "g": 1, "x": 1}]}
IN_ONE = {"t": [*OTHERS, {"who": 3, "g": 0, "x": 1}, {"who": 3, "g": 0, "x": 1}]}
NOBODY = {"t": OTHERS}


@pytest.mark.parametrize("data", [IN_BOTH, IN_ONE])
def test_medians_of_groups_are_as_private_as_they_say(data: Any) -> None:
    asked = question(policy_of(TABLE, head=HEAD), MEDIANS, epsilon=3)
    for sides in ((data, NOBODY), (NOBODY, data)):
        found = estimate(asked, *sides, claim=3, samples=500, confidence=SURE)
        assert not found.violated, str(found)


def test_medians_that_cost_less_than_a_unit_s_rows_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Chosen, "sensitivity", lambda *_: Sensitivity(Fraction(1, 8), Fraction(1, 64)))
    asked = question(policy_of(TABLE, head=HEAD), MEDIANS, epsilon=Fraction(1, 2))
    found = estimate(asked, IN_BOTH, NOBODY, claim=Fraction(1, 2), samples=1500)
    assert found.violated, str(found)


FEW, MORE = [0.1, 0.9], [0.1, 0.9, 0.9]


@pytest.mark.slow
def test_quantiles_by_halves_are_as_private_as_they_say() -> None:
    mechanism = Quantile([0.25, 0.5, 0.75], bounds=(0, 1), epsilon=2, method="exponential")
    assert isinstance(mechanism.method, Points)
    assert mechanism.method.halves
    for sides in ((FEW, MORE), (MORE, FEW)):
        found = estimate(mechanism, *sides, samples=2000, confidence=SURE)
        assert not found.violated, str(found)


@pytest.mark.slow
@pytest.mark.parametrize(
    "mechanism",
    [Laplace(rho=1, sensitivity=3), Laplace(rho=4, sensitivity=2), Gaussian(epsilon=1, delta=1e-2, sensitivity=1)],
    ids=str,
)
def test_noise_that_costs_what_it_does_is_as_private_as_it_says(mechanism: Any) -> None:
    moved = int(mechanism.sensitivity)
    found = estimate(mechanism, [0, 0], [moved, 0], samples=20_000, confidence=SURE)
    assert not found.violated, str(found)
