"""Directed rounding: what is spent is rounded up, what is left is rounded down.

Ledgers count in units of 10⁻²⁴.

`decimal` gives correctly rounded exp, ln and square roots at any precision. Results leave as fractions, or as floats of
15 significant digits: those survive the way through binary, so the shortest decimal of the float is the bound itself.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable
from decimal import MAX_EMAX, MIN_EMIN, ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction
from typing import Final

DIGITS: Final = 60
UNITS: Final = 10**24
NOTHING: Final = Fraction(0)


def charged(amount: Fraction) -> int:
    """An amount to be spent, in units, rounded up."""
    return -(-amount.numerator * UNITS // amount.denominator)


def granted(amount: Fraction) -> int:
    """An amount that may be spent, in units, rounded down."""
    return amount.numerator * UNITS // amount.denominator


def is_less(a: Fraction, b: Fraction) -> bool:
    """a < b, which is asked some ten times for each answer: `Fraction` would look at the type of each first."""
    return a.numerator * b.denominator < b.numerator * a.denominator


def total(amounts: Iterable[Fraction]) -> Fraction:
    """The exact sum; what is nothing is not added."""
    whole = NOTHING
    for amount in amounts:
        if amount:
            whole = whole + amount if whole else amount
    return whole


def context(digits: int = DIGITS, rounding: str = ROUND_HALF_EVEN) -> Context:
    return Context(prec=digits, rounding=rounding, Emin=MIN_EMIN, Emax=MAX_EMAX)


NEAREST: Final = context()
_UP: Final = context(15, ROUND_CEILING)
_DOWN: Final = context(15, ROUND_FLOOR)
_GUARD: Final = Decimal("1e-40")
"""Room for the roundings of one formula, relative; the formulas carry far more digits than they lose."""
_FLOOR: Final = Decimal("1e-100")


def decimal(value: Fraction, using: Context = NEAREST) -> Decimal:
    return using.divide(Decimal(value.numerator), Decimal(value.denominator))


def up(value: Decimal, digits: int = 30) -> Fraction:
    """A fraction that is certainly not below the number that `value` was computed for."""
    return Fraction(context(digits, ROUND_CEILING).add(value, _room(value)))


def down(value: Decimal, digits: int = 30) -> Fraction:
    """A fraction that is certainly not above the number that `value` was computed for."""
    return Fraction(context(digits, ROUND_FLOOR).subtract(value, _room(value)))


def float_up(value: Fraction | Decimal) -> float:
    """The least float of 15 digits that is not below the value; subnormal floats have fewer, so there the next one."""
    rounded = float(_digits(value, _UP))
    return rounded if rounded >= sys.float_info.min or not value else math.nextafter(rounded, math.inf)


def float_down(value: Fraction | Decimal, digits: int = 15) -> float:
    """The largest float of so many digits that is not above the value."""
    return float(_digits(value, _DOWN if digits == 15 else context(digits, ROUND_FLOOR)))


def _digits(value: Fraction | Decimal, using: Context) -> Decimal:
    return using.plus(value) if isinstance(value, Decimal) else decimal(value, using)


def _room(value: Decimal) -> Decimal:
    return NEAREST.add(NEAREST.multiply(value.copy_abs(), _GUARD), _FLOOR)
