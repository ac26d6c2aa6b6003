"""Exact draws at array speed: float64 decides where it provably can, exact arithmetic decides the rest.

A word of b random bits names an interval of the unit line, U ∈ [w, w+1)/2ᵇ. Every sampler here is a function of
E = −ln U, a standard exponential variable, that is constant between certain cut points. float64 gives E within a
certified margin; if no cut point lies inside the margin the draw is decided. Otherwise (fewer than one draw in a
million) the word is lengthened, 64 bits at a time, and its interval is compared with the cut point in exact arithmetic
until it lies on one side. The distribution is that of a real number U with infinitely many random bits: no rounding
enters it.

The margin   |fl(E) − E| ≤ 2⁻⁴⁵·(E + ¼) + 1/w for every U of the interval. Proof: moving U from the middle to an end of
             the interval changes E by at most ln(1 + ½/w) ≤ ½/w; converting w to float64 moves it by 2⁻⁵²; the
             platform's logarithm adds its own error, assumed below 2⁻⁴⁶·(E + ¼), which is 64 units in the last place,
             and seen at about one. `tests/noise/test_interval.py` checks the platform.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from decimal import MAX_EMAX, MIN_EMIN, ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Final, TypeAlias, TypeVar

from discreet.late import np
from discreet.noise.bits import Bits
from discreet.noise.uniform import Integers, Words

if TYPE_CHECKING:
    from numpy.typing import NDArray

Floats: TypeAlias = "NDArray[np.float64]"
Booleans: TypeAlias = "NDArray[np.bool_]"
Interval = tuple[Decimal, Decimal]
T = TypeVar("T")

MARGIN: Final = 2.0**-45
SLACK: Final = 2.0**-49
"""Covers the few roundings (2⁻⁵³ each, relative) that follow the logarithm."""
WIDEST: Final = 2**24
"""Scales above this are drawn in two parts, so that cut points stay far apart compared with the margin."""


@dataclass(frozen=True, slots=True)
class Real:
    """A real number: a float64 within `margin` of it, and bounds on it to as many digits as one asks for."""

    approximate: float
    margin: float
    enclose: Callable[[int], Interval]


@dataclass(slots=True)
class Uniform:
    """A real number U of the unit interval, known to `width` bits: U ∈ [word, word + 1)/2^width."""

    bits: Bits
    word: int
    width: int = 63

    def lengthen(self) -> None:
        self.word = self.word << 64 | self.bits.integer(64)
        self.width += 64

    @property
    def digits(self) -> int:
        return 30 + self.width

    def exponential(self) -> Interval:
        """Bounds on E = −ln U. The upper one is infinite while the word is zero."""
        floor, ceiling = contexts(self.digits)
        span = floor.multiply(self.width, floor.ln(2))
        low = outward(floor.subtract(span, floor.ln(self.word + 1)), floor)
        if self.word == 0:
            return low, Decimal("Infinity")
        return max(low, Decimal(0)), outward(ceiling.subtract(span, ceiling.ln(self.word)), ceiling)


def contexts(digits: int) -> tuple[Context, Context]:
    """A context that rounds down and one that rounds up (but ln and exp always round to nearest)."""
    return (
        Context(prec=digits, rounding=ROUND_FLOOR, Emin=MIN_EMIN, Emax=MAX_EMAX),
        Context(prec=digits, rounding=ROUND_CEILING, Emin=MIN_EMIN, Emax=MAX_EMAX),
    )


def outward(value: Decimal, context: Context) -> Decimal:
    """Move a computed bound outward, by far more than the handful of roundings that led to it."""
    slack = context.scaleb(max(value.copy_abs(), Decimal(1)), 12 - context.prec)
    return context.add(value, slack) if context.rounding == ROUND_CEILING else context.subtract(value, slack)


def settle(uniform: Uniform, verdict: Callable[[Interval], T | None]) -> T:
    """Lengthen the word until the verdict on E = −ln U is the same at both ends of its interval."""
    while (answer := verdict(uniform.exponential())) is None:
        uniform.lengthen()
    return answer


@dataclass(slots=True)
class Exponentials:
    """Independent standard exponential variables E with their margins.

    The lowest bit of each 64-bit word is a coin, independent of E; the others name U.
    """

    bits: Bits
    words: Words
    values: Floats
    margins: Floats

    @classmethod
    def draw(cls, bits: Bits, count: int) -> Exponentials:
        words = bits.words(count)
        points = (words >> np.uint64(1)).view(np.int64).astype(np.float64)
        with np.errstate(divide="ignore"):
            margins = 1.0 / points
        points += 0.5
        points *= 2.0**-63
        np.log(points, out=points)
        np.abs(points, out=points)  # not −log: log 1 would leave −0.0, and a race divides by it
        margins += MARGIN * (points + 0.25)
        return cls(bits, words, points, margins)

    def coins(self) -> Booleans:
        return (self.words & np.uint64(1)).astype(np.bool_)

    def uniform(self, index: int) -> Uniform:
        return Uniform(self.bits, int(self.words[index]) >> 1)


def floors(exponentials: Exponentials, scale: Fraction, offset: Real | None = None) -> Integers:
    """⌊(E + offset)·scale⌋ for each E."""
    offset = offset or ZERO
    factor = float(scale)
    points = exponentials.values + offset.approximate
    points *= factor
    margins = exponentials.margins + offset.margin
    margins *= factor
    margins += SLACK * points
    whole = np.floor(points)
    points -= whole
    undecided = (points <= margins) | (points >= 1.0 - margins)
    out = whole.astype(np.int64)
    for i in undecided.nonzero()[0].tolist():
        out[i] = _floor(exponentials.uniform(i), scale, offset)
    return out


def _floor(uniform: Uniform, scale: Fraction, offset: Real) -> int:
    def verdict(bounds: Interval) -> int | None:
        low, high = bounds
        if not high.is_finite():
            return None
        below, above = offset.enclose(uniform.digits)
        first = math.floor((Fraction(low) + Fraction(below)) * scale)
        last = math.floor((Fraction(high) + Fraction(above)) * scale)
        return first if first == last else None

    return settle(uniform, verdict)


def exceeds(
    exponentials: Exponentials, thresholds: Floats | float, margins: Floats | float, exact: Callable[[int], Real]
) -> Booleans:
    """[E > threshold] for each E: true with probability exp(−threshold). `exact(i)` gives the i-th threshold itself."""
    gaps = exponentials.values - thresholds
    undecided = np.abs(gaps) <= exponentials.margins + margins
    out: Booleans = gaps > 0
    for i in undecided.nonzero()[0].tolist():
        out[i] = _exceeds(exponentials.uniform(i), exact(int(i)))
    return out


def _exceeds(uniform: Uniform, threshold: Real) -> bool:
    def verdict(bounds: Interval) -> bool | None:
        low, high = bounds
        below, above = threshold.enclose(uniform.digits)
        return True if low > above else False if high < below else None

    return settle(uniform, verdict)


def rational(value: Fraction) -> Real:
    """A rational number as a `Real`."""

    def enclose(digits: int) -> Interval:
        floor, ceiling = contexts(digits)
        top, bottom = Decimal(value.numerator), Decimal(value.denominator)
        return floor.divide(top, bottom), ceiling.divide(top, bottom)

    return Real(float(value), SLACK * float(value), enclose)


ZERO: Final = rational(Fraction(0))


def symmetric_offset(scale: Fraction) -> Real:
    """ln(2/(1 + q)) for q = exp(−1/scale): turns a geometric variable into the size of a two-sided one."""

    def enclose(digits: int) -> Interval:
        bounds = []
        for context in contexts(digits):
            other = contexts(digits)[context.rounding == ROUND_FLOOR]
            tail = context.exp(context.divide(scale.denominator, scale.numerator).copy_negate())
            bounds.append(outward(context.ln(context.divide(2, other.add(1, tail))), context))
        return bounds[0], bounds[1]

    approximate = -math.log1p(math.expm1(-1 / float(scale)) / 2)
    return Real(approximate, SLACK * approximate, enclose)


def odds_threshold(epsilon: Fraction, others: int) -> Real:
    """ln(1 + exp(ε)/others): E lies above it with probability others/(exp(ε) + others)."""

    def enclose(digits: int) -> Interval:
        bounds = []
        for context in contexts(digits):
            odds = context.divide(context.exp(context.divide(epsilon.numerator, epsilon.denominator)), others)
            bounds.append(outward(context.ln(context.add(1, odds)), context))
        return bounds[0], bounds[1]

    log_odds = float(epsilon) - math.log(others)
    approximate = log_odds + math.log1p(math.exp(-log_odds)) if log_odds > 0 else math.log1p(math.exp(log_odds))
    return Real(approximate, SLACK * approximate * (1 + float(epsilon) + math.log(others)), enclose)
