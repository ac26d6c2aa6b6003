"""Exact selection: each candidate draws a random key and the largest wins.

Like the samplers of `interval`, the keys are decided by float64 with a certified margin, and by exact arithmetic with
more bits where the margin leaves more than one possible order. Every candidate draws exactly one word, so the time
does not depend on the scores.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING

from discreet.late import np
from discreet.noise.bits import Bits, resolve
from discreet.noise.interval import SLACK, Exponentials, Floats, Interval, Uniform, contexts, outward
from discreet.noise.uniform import Integers

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Exponents:
    """The candidates' exponents aᵢ = unit·scoreᵢ + ln(copiesᵢ); `copies` counts candidates that share one score."""

    scores: NDArray[np.int64]
    unit: Fraction
    copies: NDArray[np.int64] | None = None

    def approximate(self) -> tuple[Floats, Floats]:
        """float64 values, with bounds on their errors."""
        values: Floats = self.scores.astype(np.float64) * float(self.unit)
        if self.copies is None:
            return values, SLACK * np.abs(values)
        logs: Floats = np.log(self.copies.astype(np.float64))
        return values + logs, SLACK * (2 * np.abs(values) + logs + 1)

    def enclose(self, index: int, digits: int) -> Interval:
        exact = int(self.scores[index]) * self.unit
        floor, ceiling = contexts(digits)
        top, bottom = Decimal(exact.numerator), Decimal(exact.denominator)
        low, high = floor.divide(top, bottom), ceiling.divide(top, bottom)
        if self.copies is None:
            return low, high
        log = floor.ln(int(self.copies[index]))
        return outward(floor.add(low, log), floor), outward(ceiling.add(high, log), ceiling)


def gumbel_race(exponents: Exponents, winners: int = 1, *, bits: Bits | None = None) -> Integers:
    """The first `winners` of a race that each candidate wins with probability ∝ exp(aᵢ), then the next among the rest.

    Proof   The clocks Eᵢ·exp(−aᵢ) are exponential with rates exp(aᵢ); the first to ring is i with probability
            exp(aᵢ)/Σexp(aⱼ), and by lack of memory the others go on as if started anew. The order of the clocks is the
            reverse of that of the keys aᵢ − ln Eᵢ.
    """
    return _race(exponents, winners, resolve(bits), _gumbel_float, _gumbel_exact)


def exponential_race(exponents: Exponents, *, bits: Bits | None = None) -> Integers:
    """The candidate with the largest aᵢ + Eᵢ (report noisy max with exponential noise)."""
    return _race(exponents, 1, resolve(bits), _exponential_float, _exponential_exact)


def _gumbel_float(draw: Exponentials) -> tuple[Floats, Floats]:
    with np.errstate(divide="ignore", invalid="ignore"):
        keys = -np.log(draw.values)
        relative = draw.margins / draw.values
        # |ln E − ln fl(E)| ≤ 2·relative for relative ≤ ½; anything less certain is left to exact arithmetic
        margins = np.where(relative < 0.5, 2 * relative + SLACK * np.abs(keys), np.inf)
    return np.where(np.isfinite(margins), keys, 0.0), margins


def _gumbel_exact(uniform: Uniform) -> Interval:
    floor, ceiling = contexts(uniform.digits)
    low, high = uniform.exponential()
    top = outward(ceiling.ln(low).copy_negate(), ceiling) if low > 0 else Decimal("Infinity")
    bottom = outward(floor.ln(high).copy_negate(), floor) if high.is_finite() else Decimal("-Infinity")
    return bottom, top


def _exponential_float(draw: Exponentials) -> tuple[Floats, Floats]:
    return draw.values, draw.margins


def _exponential_exact(uniform: Uniform) -> Interval:
    return uniform.exponential()


def _race(
    exponents: Exponents,
    winners: int,
    bits: Bits,
    in_float: Callable[[Exponentials], tuple[Floats, Floats]],
    exactly: Callable[[Uniform], Interval],
) -> Integers:
    draw = Exponentials.draw(bits, exponents.scores.size)
    values, margins = exponents.approximate()
    noise, noise_margins = in_float(draw)
    keys = values + noise
    margins = margins + noise_margins + SLACK * np.abs(keys)
    floor = np.partition(keys - margins, -winners)[-winners]
    runners = np.flatnonzero(keys + margins >= floor)
    runners = runners[np.argsort(-keys[runners], kind="stable")]
    if _ordered(keys[runners] - margins[runners], keys[runners] + margins[runners], winners):
        return runners[:winners].astype(np.int64)
    return _photo_finish({i: draw.uniform(i) for i in runners.tolist()}, exponents, winners, exactly)


def _photo_finish(
    runners: dict[int, Uniform], exponents: Exponents, winners: int, exactly: Callable[[Uniform], Interval]
) -> Integers:
    """Lengthen the words of the candidates that may still win until their order is certain."""
    while True:
        keys = {}
        for index, uniform in runners.items():
            floor, ceiling = contexts(uniform.digits)
            (low, high), (below, above) = exactly(uniform), exponents.enclose(index, uniform.digits)
            keys[index] = floor.add(low, below), ceiling.add(high, above)
        order = sorted(keys, key=lambda index: keys[index], reverse=True)
        lows = np.array([keys[index][0] for index in order], dtype=object)
        highs = np.array([keys[index][1] for index in order], dtype=object)
        if _ordered(lows, highs, winners):
            return np.array(order[:winners], dtype=np.int64)
        for uniform in runners.values():
            uniform.lengthen()


def _ordered(lows: NDArray[np.generic], highs: NDArray[np.generic], winners: int) -> bool:
    """Whether each of the first `winners` certainly lies above all that follow it."""
    rest = np.maximum.accumulate(highs[::-1])[::-1]
    return bool(np.all(lows[:winners][: rest.size - 1] > rest[1 : winners + 1]))
