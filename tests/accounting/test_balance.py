"""Amounts and balances as plain values: what is enough, to the last unit, and how units are told apart."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.accounting import Concentrated, Pure
from discreet.accounting.balance import (
    MEANING,
    Amount,
    Balance,
    Used,
    brief,
    details,
    headline,
    more_words,
    part_used,
    percent,
    unit_lines,
)

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


# per cent used

UNITS = st.integers(0, 10**40)


@given(UNITS, UNITS)
def test_all_is_used_only_if_nothing_is_left_and_nothing_only_if_nothing_is_spent(spent: int, left: int) -> None:
    part = part_used(Fraction(spent), Fraction(left))
    assert 0 <= part <= 1
    assert (part == 1) == (percent(part) == "100 %") == (left == 0)
    assert (part == 0) == (percent(part) == "0 %") == (spent == 0 and left > 0)


@given(st.floats(0, 1), st.floats(0, 1))
def test_per_cents_round_up_to_few_digits_and_never_fall(one: float, other: float) -> None:
    few, many = (_read(percent(part)) for part in sorted((one, other)))
    assert few <= many
    assert 100 * min(one, other) <= few * (1 + 1e-12) or few == 99.9
    assert few <= 100 * min(one, other) * 1.1 + 0.11, "no more than a tenth too much, or a tenth of a per cent"


def _read(words: str) -> float:
    return float(words.removeprefix("under ").removeprefix("over ").removesuffix(" %"))


@pytest.mark.parametrize(
    ("part", "said"),
    [
        (5e-324, "under 0.001 %"), (1e-5, "0.001 %"), (0.001, "0.1 %"), (0.0995, "10 %"), (0.1, "10 %"),
        (0.10001, "10.1 %"), (0.9989, "99.9 %"), (0.99901, "over 99.9 %"), (1 - 1e-16, "over 99.9 %"), (2.0, "100 %"),
        (-1.0, "0 %"),
    ],
)  # fmt: skip
def test_per_cents_at_their_edges(part: float, said: str) -> None:
    assert percent(part) == said


@pytest.mark.parametrize(
    ("count", "said"),
    [(2, "about 2 more queries like this"), (999, "about 999 more queries like this"),
     (1099, "about 1,000 more queries like this"), (999_999, "about 990,000 more queries like this"),
     (-3, "no more queries like this")],
)  # fmt: skip
def test_how_many_more_rounds_down(count: int, said: str) -> None:
    assert more_words(count) == said


def test_the_scarcer_currency_is_told() -> None:
    assert Used(0.4, 0.4).words == "40 % of the budget used"
    assert Used(0.4, 0.4000001).words == "40 % of the budget used (its δ; 40 % of its ρ)".replace("40 %", "40.1 %", 1)
    assert Used(0.0, 1.0, "capacity").words == "100 % of the capacity used (its δ; 0 % of its ρ)"
    assert Used(0.2, 0.7).larger == 0.7
    assert brief(Used(0.2, 0.7, "share"), 1) == "70 % used (its δ; 20 % of its ρ) · one more"
    assert headline(Used(1.0)) == "100 % of the budget used"


def test_a_balance_says_what_is_used_and_its_details_add_up() -> None:
    mixed = Balance(Amount(3.0, 0.2, 1e-6), Amount(1.0, 0.05, 4e-7), Amount(0.5, 0.15, 1e-7))
    assert mixed.used == Used(0.25, 0.8)
    assert str(mixed).splitlines() == [
        "80 % of the budget used (its δ; 25 % of its ρ)",
        "· spent ρ 0.05 of 0.2 and, for partition selection, δ 4e-07 of 5e-07",
        "· with δ 1e-06 that guarantees ε 1 of 3",
        "· max ε for the next query 0.5",
    ]
    assert repr(mixed) == str(mixed)


def test_what_others_left_limits_a_share() -> None:
    share = Balance(Amount(1.0), Amount(0.25), Amount(0.75), of="share", limit=Amount(0.125))
    assert share.used == Used(0.25, of="share")
    assert share.next == Amount(0.125)
    assert details(share)[-1] == "max ε for the next query 0.125, which is all that others left"


def test_about_several_units_no_sum_is_called_a_guarantee() -> None:
    several = Balance(
        Amount(3.0, 0.2, 1e-6),
        Amount(1.0, 0.05, 0.0),
        Amount(0.5, 0.15, 5e-7),
        units={"a": Amount(0.5), "b": Amount(0.6)},
    )
    assert not any("that guarantees" in line for line in details(several))
    assert MEANING in details(several)


def test_more_than_anybody_asks_is_not_counted() -> None:
    assert more_words(10**12) == "over a million more queries like this"
