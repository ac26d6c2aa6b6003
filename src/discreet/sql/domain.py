"""What is known about the values of an expression from policy and text alone, and interval arithmetic over it.

The same rules serve twice: on declared bounds they propose clamps and list keys; on the intervals of noisy values they
carry error bars through arithmetic.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from fractions import Fraction
from typing import Final

from discreet.policy.model import Key, Kind
from discreet.quoting import TEXT_LENGTH

Edge = Fraction | date | None
"""A bound; None where there is none."""
NUMERIC: Final = frozenset({Kind.INTEGER, Kind.NUMBER})
DATED: Final = frozenset({Kind.DATE, Kind.TIMESTAMP})
_LARGEST: Final = Fraction(10) ** 300
"""Beyond this nothing is bounded: float64 ends soon after."""
_SLIP: Final = Fraction(1, 2**44)
"""How far the functions of a platform's math library may be off, relatively, with much to spare."""


@dataclass(frozen=True, slots=True)
class Domain:
    """The possible values: their kind, their bounds, or all of them one by one.

    Stored values may lie outside of declared bounds, so this proposes clamps and keys and proves nothing about rows.

    step      all declared values are multiples of it.
    nullable  NULL is among the values that the policy declares or the text names.
    certain   no row gives NULL.
    length    of a text: no row gives one of more characters (a function may, before it is cut).
    lists     they are lists, which are shown and never computed with.
    """

    kind: Kind | None
    low: Edge = None
    high: Edge = None
    values: tuple[Key, ...] | None = None
    nullable: bool = False
    certain: bool = False
    step: Fraction | None = None
    length: int = TEXT_LENGTH
    lists: bool = False

    @classmethod
    def of(cls, value: Key | float | Fraction | datetime | None) -> Domain:
        """Of a literal."""
        if value is None:
            return cls(None, nullable=True)
        if isinstance(value, bool):
            return cls(Kind.BOOLEAN, values=(value,), certain=True)
        if isinstance(value, int):
            return cls(Kind.INTEGER, Fraction(value), Fraction(value), (value,), certain=True)
        if isinstance(value, (float, Fraction)):
            return cls(Kind.NUMBER, Fraction(value), Fraction(value), certain=True)
        if isinstance(value, date):
            kind = Kind.TIMESTAMP if isinstance(value, datetime) else Kind.DATE
            return cls(kind, value, value, (value,), certain=True)
        return cls(Kind.TEXT, values=(value,), certain=True, length=len(value))

    @property
    def numbers(self) -> tuple[Fraction | None, Fraction | None]:
        """The bounds of a numeric domain."""
        low, high = self.low, self.high
        return low if isinstance(low, Fraction) else None, high if isinstance(high, Fraction) else None

    @property
    def bounded(self) -> tuple[Fraction, Fraction] | None:
        """Both bounds of a numeric domain, if there are both."""
        low, high = self.numbers
        return None if self.kind not in NUMERIC or low is None or high is None else (low, high)

    def count(self) -> int | None:
        """How many keys there are, NULL not counted; None if they cannot be listed."""
        if self.values is not None:
            return len(self.values)
        if self.kind is Kind.BOOLEAN:
            return 2
        if self.kind is Kind.INTEGER and self.bounded:
            low, high = self.bounded
            return max(0, math.floor(high) - math.ceil(low) + 1)
        if self.kind is Kind.DATE and isinstance(self.low, date) and isinstance(self.high, date):
            return max(0, (self.high - self.low).days + 1)
        return None

    def keys(self) -> Iterable[Key]:
        """Every key, NULL not among them. Only where `count` is not None."""
        if self.values is not None:
            return self.values
        if self.kind is Kind.BOOLEAN:
            return (False, True)
        if self.bounded:
            low, high = self.bounded
            return range(math.ceil(low), math.floor(high) + 1)
        assert isinstance(self.low, date)
        first = self.low
        return (first + timedelta(days=day) for day in range(self.count() or 0))

    def but(self, *, nullable: bool | None = None, certain: bool | None = None) -> Domain:
        """The same with other facts about NULL."""
        return replace(
            self,
            nullable=self.nullable if nullable is None else nullable,
            certain=self.certain if certain is None else certain,
        )


BOOLEAN: Final = Domain(Kind.BOOLEAN)
TEXT: Final = Domain(Kind.TEXT)


def number(low: Fraction | None, high: Fraction | None, *, integral: bool = False) -> Domain:
    """A numeric domain; bounds that float64 cannot hold are none."""
    kind = Kind.INTEGER if integral else Kind.NUMBER
    return Domain(kind, _held(low), _held(high))


def _held(edge: Fraction | None) -> Fraction | None:
    return None if edge is None or abs(edge) > _LARGEST else edge


def union(domains: Iterable[Domain]) -> Domain:
    """The values of all of them together: what CASE and COALESCE give."""
    parts = list(domains)
    known = [part for part in parts if part.kind is not None]
    if not known:
        return Domain(None, nullable=True)
    kinds = {part.kind for part in known}
    kind = kinds.pop() if len(kinds) == 1 else Kind.NUMBER if kinds <= NUMERIC else Kind.TIMESTAMP
    values = None
    if all(part.values is not None for part in known) and kind is not Kind.NUMBER:
        values = tuple(dict.fromkeys(value for part in known for value in part.values or ()))
    return Domain(
        kind,
        _extreme(min, [part.low for part in known]),
        _extreme(max, [part.high for part in known]),
        values,
        nullable=any(part.nullable for part in parts),
        certain=all(part.certain for part in parts),
        step=_shared_step(known) if kind is Kind.NUMBER else None,
        length=max(part.length for part in known),
    )


def _shared_step(parts: list[Domain]) -> Fraction | None:
    """The step of all parts; whole numbers and constants go along if they are multiples of it."""
    steps = {part.step for part in parts if part.step is not None}
    if len(steps) != 1:
        return None
    (step,) = steps
    return step if all(part.step == step or fits(part, step) for part in parts) else None


def fits(part: Domain, step: Fraction) -> bool:
    """Whether a constant or whole number is a multiple of a step."""
    low, high = part.numbers
    constant = low is not None and low == high and (low / step).denominator == 1
    return constant or (part.kind is Kind.INTEGER and (1 / step).denominator == 1)


def _extreme(choose: Callable[..., Edge], edges: list[Edge]) -> Edge:
    return None if any(edge is None for edge in edges) else choose(edges)


# rules of arithmetic: bounds in, bounds out


def add(a: Domain, b: Domain) -> Domain:
    (al, ah), (bl, bh) = a.numbers, b.numbers
    low = None if al is None or bl is None else al + bl
    high = None if ah is None or bh is None else ah + bh
    return number(low, high, integral=_integral(a, b))


def negate(a: Domain) -> Domain:
    low, high = a.numbers
    domain = number(None if high is None else -high, None if low is None else -low, integral=_integral(a))
    return replace(domain, step=a.step)


def subtract(a: Domain, b: Domain) -> Domain:
    return add(a, negate(b))


def multiply(a: Domain, b: Domain) -> Domain:
    if a.bounded and b.bounded:
        corners = [x * y for x in a.bounded for y in b.bounded]
        return number(min(corners), max(corners), integral=_integral(a, b))
    nonnegative = _at_least_zero(a) and _at_least_zero(b)
    return number(Fraction(0) if nonnegative else None, None, integral=_integral(a, b))


def divide(a: Domain, b: Domain) -> Domain:
    """NULL where the divisor is 0; bounded only where it cannot come near."""
    if a.bounded and b.bounded and not b.bounded[0] <= 0 <= b.bounded[1]:
        corners = [x / y for x in a.bounded for y in b.bounded]
        return number(min(corners), max(corners))
    return number(Fraction(0) if _at_least_zero(a) and _at_least_zero(b) else None, None)


def modulo(a: Domain, b: Domain) -> Domain:
    """The sign is that of a, as in DuckDB's fmod; smaller than b."""
    if b.bounded is None:
        return number(None, None, integral=_integral(a, b))
    most = max(abs(edge) for edge in b.bounded)
    if _integral(a, b):
        most = max(most - 1, Fraction(0))
    return number(Fraction(0) if _at_least_zero(a) else -most, most, integral=_integral(a, b))


def absolute(a: Domain) -> Domain:
    if a.bounded is None:
        return number(Fraction(0), None, integral=_integral(a))
    low, high = a.bounded
    least = Fraction(0) if low <= 0 <= high else min(abs(low), abs(high))
    return number(least, max(abs(low), abs(high)), integral=_integral(a))


def floored(a: Domain) -> Domain:
    return _each(a, math.floor, integral=True)


def truncated(a: Domain) -> Domain:
    return _each(a, math.trunc, integral=True)


def ceiled(a: Domain) -> Domain:
    return _each(a, math.ceil, integral=True)


def loosened(a: Domain) -> Domain:
    """With room for what floats make of bounds such as 0.3: they may land on either side of a whole number."""
    low, high = a.numbers
    if a.kind is not Kind.NUMBER:
        return a
    least, most = (
        (None if low is None else low - abs(low) * _SLIP),
        (None if high is None else high + abs(high) * _SLIP),
    )
    return number(least, most).but(nullable=a.nullable, certain=a.certain)


def rounded(a: Domain, digits: int = 0) -> Domain:
    """Half away from zero, to so many decimals."""
    unit = Fraction(1, 10**digits) if digits >= 0 else Fraction(10**-digits)

    def nearest(x: Fraction) -> Fraction:
        steps = math.floor(abs(x) / unit + Fraction(1, 2))
        return unit * (steps if x >= 0 else -steps)

    return _each(a, nearest, integral=digits <= 0)


def increasing(a: Domain, function: Callable[[float], float], *, least: Fraction | None = None) -> Domain:
    """A function that grows with its argument and is computed in floats; NULL below `least`."""

    def apply(edge: Fraction | None, slip: int) -> Fraction | None:
        if edge is None:
            return None
        try:
            value = Fraction(function(float(max(edge, least) if least is not None else edge)))
        except (ArithmeticError, ValueError):
            return None
        return value + slip * (abs(value) * _SLIP + Fraction(1, 10**300))

    low, high = a.numbers
    if least is not None and (low is None or low < least):
        low = least
    return number(apply(low, -1), apply(high, 1))


def smallest(*parts: Domain) -> Domain:
    """LEAST: bounded above by any bound there is."""
    highs = [high for part in parts if (high := part.numbers[1]) is not None and part.certain]
    lows = [part.numbers[0] for part in parts]
    every = [part.numbers[1] for part in parts]
    high = min(highs, default=None) if highs else _most(max, every)
    return number(_most(min, lows), high, integral=_integral(*parts))


def largest(*parts: Domain) -> Domain:
    """GREATEST: bounded below by any bound there is."""
    return negate(smallest(*(negate(part).but(certain=part.certain) for part in parts)))


def _most(choose: Callable[..., Fraction], edges: list[Fraction | None]) -> Fraction | None:
    known = [edge for edge in edges if edge is not None]
    return choose(known) if len(known) == len(edges) else None


def _each(a: Domain, function: Callable[[Fraction], Fraction | int], *, integral: bool) -> Domain:
    low, high = (None if edge is None else Fraction(function(edge)) for edge in a.numbers)
    return number(low, high, integral=integral)


def _integral(*parts: Domain) -> bool:
    return all(part.kind is Kind.INTEGER for part in parts)


def _at_least_zero(a: Domain) -> bool:
    low = a.numbers[0]
    return low is not None and low >= 0
