"""Numbers as their users mean them.

A float stands for its shortest decimal: whoever writes 0.1 means one tenth, not the binary fraction next to it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from decimal import Decimal
from fractions import Fraction
from numbers import Integral, Rational, Real
from typing import Final

Number = int | float | Decimal | Fraction
"""What callers may pass; NumPy's scalars count as int or float."""

LEAST_EPSILON: Final = Fraction(1, 10**9)
MOST_EPSILON: Final = Fraction(10**9)
MOST_EXTENT: Final = Fraction(10**100)


def number(value: object, name: str) -> Fraction:
    """The finite number that the caller wrote."""
    if type(value) is Fraction:
        return value
    if isinstance(value, bool) or not isinstance(value, (Real, Decimal)):
        shown = "None" if value is None else f"a {type(value).__name__}"
        raise TypeError(f"{name} must be a number, not {shown}: pass an int, float, Fraction or Decimal")
    if isinstance(value, Rational):
        return Fraction(int(value.numerator), int(value.denominator))
    if not (value.is_finite() if isinstance(value, Decimal) else math.isfinite(value)):
        raise ValueError(f"{name} must be finite, not {value}: pass an ordinary number")
    if isinstance(value, Decimal) and abs(value.adjusted()) > 1000:
        # as a fraction it would fill the memory
        raise ValueError(f"{name} must not have an exponent beyond 1000, not {value}: pass an ordinary number")
    return Fraction(str(value))


def positive(value: object, name: str) -> Fraction:
    """A number above zero."""
    exact = number(value, name)
    if exact <= 0:
        raise ValueError(f"{name} must be above 0, not {value}")
    return exact


def extent(value: object, name: str) -> Fraction:
    """A sensitivity or a step: above zero, and so that float64 holds it, its inverse, and the squares of both."""
    exact = positive(value, name)
    if not 1 / MOST_EXTENT <= exact <= MOST_EXTENT:
        raise ValueError(f"{name} must lie between 1e-100 and 1e100: use another unit")
    return exact


def epsilon(value: object, name: str = "epsilon") -> Fraction:
    """A cost within the accepted range."""
    exact = positive(value, name)
    if not LEAST_EPSILON <= exact <= MOST_EPSILON:
        raise ValueError(f"{name} must lie between 1e-9 and 1e9, not {value}: usual values are 0.01 to 10")
    return exact


def probability(value: object, name: str) -> Fraction:
    """A number strictly between 0 and 1."""
    exact = number(value, name)
    if not 0 < exact < 1:
        raise ValueError(f"{name} must lie strictly between 0 and 1, not {value}")
    return exact


def whole(value: object, name: str, *, least: int = 1) -> int:
    """An integer that is not too small."""
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise TypeError(f"{name} must be an integer, not {type(value).__name__}")
    if value < least:
        raise ValueError(f"{name} must be at least {least}, not {value}")
    return int(value)


def flag(value: object, name: str) -> bool:
    """True or False and nothing else: `"no"` would count as true."""
    if not isinstance(value, bool):
        raise TypeError(f"{name} must be True or False, not {value!r}")
    return value


def interval(value: object, name: str = "bounds") -> tuple[Fraction, Fraction]:
    """A pair (low, high) of numbers with low < high, also as floats."""
    if isinstance(value, (str, bytes)) or not isinstance(value, Sequence) or len(value) != 2:
        raise TypeError(f"{name} must be a pair (low, high) that you know without looking at the data")
    low, high = value
    lower, upper = number(low, f"{name}[0]"), number(high, f"{name}[1]")
    if max(abs(lower), abs(upper)) > MOST_EXTENT:
        raise ValueError(f"{name} must lie between -1e100 and 1e100: use another unit")
    if float(lower) >= float(upper):
        raise ValueError(f"{name} must have low < high, not ({low}, {high})")
    return lower, upper


def largest(fits: Callable[[int], bool], most: int) -> int | None:
    """The largest count that fits, where all below one that fits do; None if `most` does."""
    low, high = 0, 1
    while fits(high):
        if high == most:
            return None
        low, high = high, min(2 * high, most)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


def not_below(value: object, name: str) -> Fraction:
    """A positive fraction that is at least the number, whether a float means its decimal or its binary value."""
    exact = positive(value, name)
    if exact is not value and isinstance(value, Real) and not isinstance(value, Rational):
        return max(exact, Fraction(float(value)))
    return exact
