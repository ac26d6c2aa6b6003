"""Rules of the table of functions that need more than interval arithmetic: what a function makes of known values."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Final

from discreet.policy.model import Kind
from discreet.sql import domain
from discreet.sql.domain import BOOLEAN, TEXT, Domain

ZERO: Final = Fraction(0)
ONE: Final = Fraction(1)
INT: Final = Fraction(2**31)
WRITTEN: Final = 32
"""Characters of a number or time that is written as text, at most."""


def truth(*_: Domain) -> Domain:
    return BOOLEAN


def tested(*_: Domain) -> Domain:
    return Domain(Kind.BOOLEAN, certain=True)


def shortened(value: Domain, *_: Domain) -> Domain:
    """No longer than before: characters are replaced one by one, or left out."""
    return replace(TEXT, length=value.length)


def part_of(value: Domain, _: Domain, count: Domain) -> Domain:
    most = abs(count.bounded[0]) if count.bounded else value.length
    return replace(TEXT, length=int(min(most, value.length)))


def written(value: Domain) -> Domain:
    return replace(TEXT, length=value.length if value.kind is Kind.TEXT else WRITTEN)


def together(*parts: Domain) -> Domain:
    return replace(TEXT, length=sum(part.length for part in parts))


def length(_: Domain) -> Domain:
    return domain.number(ZERO, None, integral=True)


def power(base: Domain, exponent: Domain) -> Domain:
    """Bounded for a whole, constant exponent; and for a base that is not negative where the exponent is constant."""
    if not (base.bounded and exponent.bounded) or exponent.low != exponent.high:
        return domain.number(None, None)
    (low, high), power = base.bounded, exponent.bounded[0]
    if power < 0 or power > 64 or (low < 0 and power.denominator != 1):
        return domain.number(None, None)
    if power.denominator != 1:
        return domain.increasing(base, lambda x: x ** float(power))
    corners = [low ** int(power), high ** int(power)]
    even = power % 2 == 0 and low <= 0 <= high
    result = domain.number(ZERO if even else min(corners), max(corners))
    return widened(result)


def widened(wide: Domain) -> Domain:
    """A little room for a library function that may be off by a last digit."""
    low, high = wide.numbers
    slip = Fraction(1, 2**44)
    return domain.number(
        None if low is None else low - abs(low) * slip, None if high is None else high + abs(high) * slip
    )


def root(value: Domain) -> Domain:
    return domain.increasing(value, math.sqrt, least=ZERO)


def exponential(value: Domain) -> Domain:
    return domain.largest(domain.increasing(value, math.exp), Domain.of(Fraction(0)))


def natural(value: Domain) -> Domain:
    return domain.increasing(value, math.log)


def decadic(value: Domain) -> Domain:
    return domain.increasing(value, math.log10)


def rounded(value: Domain, digits: Domain | None = None) -> Domain:
    return domain.rounded(value, int(digits.bounded[0]) if digits and digits.bounded else 0)


def clamped(value: Domain, low: Domain, high: Domain) -> Domain:
    """Between the constants, and within the value's own bounds where those are narrower."""
    if not (low.bounded and high.bounded):
        return domain.number(None, None)
    least, most = low.bounded[0], high.bounded[0]
    below, above = value.numbers
    integral = value.kind is low.kind is high.kind is Kind.INTEGER
    clamped = domain.number(
        least if below is None else min(max(below, least), most),
        most if above is None else max(min(above, most), least),
        integral=integral,
    )
    same = value.step is not None and domain.fits(low, value.step) and domain.fits(high, value.step)
    return replace(clamped, step=value.step) if same else clamped


def bucket(value: Domain, low: Domain, high: Domain, count: Domain) -> Domain:
    """0 below, count + 1 above, and what lies between numbered from 1."""
    if not (low.bounded and high.bounded and count.bounded):
        return domain.number(None, None, integral=True)
    start, end, buckets = low.bounded[0], high.bounded[0], count.bounded[0]

    def bucket(edge: Fraction) -> Fraction:
        if edge < start:
            return ZERO
        inside = Fraction(math.floor((edge - start) / (end - start) * buckets) + 1)
        return buckets + 1 if edge >= end else min(inside, buckets)

    below, above = value.numbers
    return domain.number(
        ZERO if below is None else bucket(below), buckets + 1 if above is None else bucket(above), integral=True
    )


def chosen(*parts: Domain) -> Domain:
    return domain.union([*parts[1:-1:2], parts[-1]])


def coalesced(*parts: Domain) -> Domain:
    united = domain.union(parts)
    return united.but(nullable=all(part.nullable for part in parts), certain=any(part.certain for part in parts))


def or_null(value: Domain, _: Domain) -> Domain:
    return value.but(nullable=True, certain=False)


def whole(value: Domain) -> Domain:
    """TRY_CAST to an integer rounds, halves to the even neighbour: the bounds hold for any rule about halves."""
    if value.kind is Kind.BOOLEAN:
        return domain.number(ZERO, ONE, integral=True)
    if value.kind not in domain.NUMERIC:
        return domain.number(None, None, integral=True)
    low, high = value.numbers
    return domain.number(
        None if low is None else Fraction(math.ceil(low - Fraction(1, 2))),
        None if high is None else Fraction(math.floor(high + Fraction(1, 2))),
        integral=True,
    )


def small_whole(value: Domain) -> Domain:
    """What does not fit into 32 bits is NULL."""
    low, high = whole(value).numbers
    return domain.number(
        None if low is None else min(max(low, -INT), INT - 1),
        None if high is None else max(min(high, INT - 1), -INT),
        integral=True,
    )


def real(value: Domain) -> Domain:
    if value.kind is Kind.BOOLEAN:
        return domain.number(ZERO, ONE)
    return domain.number(*value.numbers) if value.kind in domain.NUMERIC else domain.number(None, None)


def sign(value: Domain) -> Domain:
    """−1, 0 or 1."""
    low, high = (None if edge is None else Fraction((edge > 0) - (edge < 0)) for edge in value.numbers)
    return domain.number(-ONE if low is None else low, ONE if high is None else high, integral=True)
