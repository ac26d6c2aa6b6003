"""Amounts and balances as plain values: what is enough, to the last unit, and how units are told apart."""

from __future__ import annotations

from fractions import Fraction

import pytest

from discreet.accounting import Concentrated, Pure
from discreet.accounting.balance import MEANING, Amount, Balance, unit_lines

LITTLE = Fraction(1, 10**20)
TENTH, HALF, MILLIONTH = Fraction(1, 10), Fraction(1, 2), Fraction(1, 10**6)


def test_a_pure_amount_affords_pure_losses_up_to_itself() -> None:
    left = Amount(0.1)
    assert left.affords(Pure(TENTH))
    assert not left.affords(Pure(TENTH + LITTLE))
    assert not left.affords(Concentrated(TENTH / 100))


@pytest.mark.parametrize(("delta", "most"), [(1e-6, MILLIONTH), (None, Fraction(0)), (0.0, Fraction(0))])
def test_an_amount_with_rho_affords_both_up_to_itself(delta: float | None, most: Fraction) -> None:
    left = Amount(1.0, 0.5, delta)
    assert left.affords(Concentrated(HALF, most))
    assert left.affords(Pure(HALF))  # which is a ρ of less than 1/8
    assert not left.affords(Pure(2))
    assert not left.affords(Concentrated(HALF + LITTLE, most))
    assert not left.affords(Concentrated(HALF, most + LITTLE))


def test_units_have_a_line_each_where_there_are_several() -> None:
    some = Balance(Amount(3.0), Amount(0.25), Amount(2.75), units={"patient": Amount(0.1), "nurse\n": Amount(0.15)})
    first, second, last = unit_lines(some)
    assert (first, last) == ("about patient: ε 0.1", MEANING)
    assert "\n" not in second
    assert unit_lines(Balance(Amount(3.0), Amount(0.25), Amount(2.75))) == []
    assert "patient" in some._repr_html_()
