"""Means of bounded numbers: a report says roughly where a number lies, and the average of all is without bias.

Numbers are clamped to their bounds and put on 2¹⁶ steps: the nearest step is all that a report depends on.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Final, Self

import numpy as np
from numpy.typing import ArrayLike

from discreet import noise
from discreet.accounting.rounding import NEAREST, decimal
from discreet.exact import Number, interval, probability, whole
from discreet.local.chances import WHOLE, chance_of_odds, exp_below, local_epsilon, odds
from discreet.local.core import AdditiveMechanism, Estimates, Tally
from discreet.local.intervals import normal_quantile
from discreet.local.reports import Booleans, Bytes, Integers, Reports, fingerprint, packed, unpacked
from discreet.noise import Bits

STEPS: Final = 2**16
"""Between the bounds: with both there is one value more."""
ENOUGH: Final = 100
"""People for whose average the normal distribution is good enough; of fewer, Hoeffding's bound is shown."""


@dataclass(frozen=True, init=False)
class MeanMechanism(AdditiveMechanism):
    """The mean of numbers between two bounds.

    A report is a number Y with E[Y | step s] = offset + slope·s, so that (Ȳ − offset)/slope estimates the mean step.
    """

    bounds: tuple[Fraction, Fraction]
    epsilon: Fraction

    def __init__(self, bounds: tuple[Number, Number], epsilon: Number) -> None:
        object.__setattr__(self, "bounds", interval(bounds))
        object.__setattr__(self, "epsilon", local_epsilon(epsilon))

    @classmethod
    def of(cls, parameters: Mapping[str, Any]) -> Self:
        return cls((parameters["low"], parameters["high"]), parameters["epsilon"])

    @property
    def size(self) -> int:
        """In headers: of which bounds this is, as a fingerprint."""
        low, high = map(float, self.bounds)
        return fingerprint(f"{low} {high}")

    @property
    @abstractmethod
    def most(self) -> int:
        """The largest Y."""

    @property
    @abstractmethod
    def line(self) -> tuple[Fraction, Fraction]:
        """Offset and slope."""

    @abstractmethod
    def moment(self, step: int) -> Fraction:
        """E[Y² | step]."""

    @property
    def payload_bytes(self) -> int:
        return 4

    def parameters(self) -> dict[str, Any]:
        low, high = map(float, self.bounds)
        return {**super().parameters(), "low": low, "high": high}

    @property
    def _width(self) -> float:
        """Of a step."""
        low, high = self.bounds
        return float((high - low) / STEPS)

    def _checked(self, values: ArrayLike) -> Integers:
        array = np.asarray(values)
        if array.dtype.kind not in "iuf":
            raise TypeError("values must be numbers")
        numbers = array.astype(np.float64)
        if not np.isfinite(numbers).all():
            raise ValueError("values must be finite: leave out what is missing")
        low, high = map(float, self.bounds)
        return np.rint((np.clip(numbers, low, high) - low) / (high - low) * STEPS).astype(np.int64)

    def _is_valid(self, payloads: Bytes) -> Booleans:
        return unpacked(payloads) <= np.uint64(self.most)

    def _sums(self, payloads: Bytes) -> Integers:
        numbers = unpacked(payloads).astype(np.int64)
        return np.array([numbers.sum(), (numbers * numbers).sum()], dtype=np.int64)

    def estimate(
        self, reports: Reports | Tally, confidence: Number = 0.95, *, ids: Sequence[Hashable] | None = None
    ) -> Estimates:
        """The mean, without bias (but for the steps), as one value with its variance and interval.

        The interval is by the central limit theorem from 100 reports on, and by Hoeffding's inequality below.
        """
        level = float(probability(confidence, "confidence"))
        tally = self._tallied(reports, ids)
        n, (total, squares) = tally.count, (int(each) for each in tally.sums)
        offset, slope = self.line
        mean = float(self.bounds[0]) + float((Fraction(total, n) - offset) / slope) * self._width
        spread = float(Fraction(squares * n - total * total, n * max(n - 1, 1)))
        variance = spread / n * (self._width / float(slope)) ** 2
        error = normal_quantile(level) * variance**0.5 if n >= ENOUGH else self._hoeffding(level, n)
        least, most = map(float, self.bounds)
        low, high = (np.array([min(max(mean + side * error, least), most)]) for side in (-1, 1))
        return Estimates(np.array([mean]), np.array([variance]), low, high, n, dict(tally.bad), level)

    def _hoeffding(self, level: float, count: int) -> float:
        scale = self.most * self._width / float(self.line[1])
        return scale * float(np.sqrt(np.log(2 / (1 - level)) / (2 * count)))

    def variance(self, value: float, count: int) -> float:
        """Of the estimated mean among `count` people who all have this value."""
        step = int(self._checked(value))
        offset, slope = self.line
        spread = float(self.moment(step) - (offset + slope * step) ** 2)
        return spread * (self._width / float(slope)) ** 2 / whole(count, "count")

    @cached_property
    def worst_variance(self) -> float:
        """For one person, whatever the value: it is largest at a bound or in the middle."""
        low, high = map(float, self.bounds)
        return max(self.variance(value, 1) for value in (low, (low + high) / 2, high))

    def influence(self, count: int) -> float:
        """How far one report among `count` can move the estimated mean at most, whatever it says."""
        return self.most * self._width / float(self.line[1]) / whole(count, "count")


class OneBitMean(MeanMechanism):
    """One bit, set with a probability that grows with the value: less variance than `PiecewiseMean` below ε = 1.29.

    Step s sets it with chance half + (2s − 2¹⁶)·rise.

    Theorem  ratio = P(1 | highest)/P(1 | lowest); that of 0 is the same by symmetry.
    Error    The variance of a value x in [−1, 1] is ((e^ε + 1)/(e^ε − 1))² − x².
    Source   Duchi, Jordan & Wainwright 2018.
    """

    name: ClassVar = "one-bit-mean"
    code: ClassVar = 8

    @cached_property
    def rise(self) -> int:
        """By how much a half step raises the chance."""
        return (chance_of_odds(exp_below(self.epsilon)) - WHOLE // 2) // STEPS

    @property
    def ratio(self) -> Fraction:
        return odds(WHOLE // 2 + STEPS * self.rise)

    @property
    def most(self) -> int:
        return 1

    @property
    def chances(self) -> dict[str, int]:
        return {"rise": self.rise}

    @property
    def line(self) -> tuple[Fraction, Fraction]:
        return Fraction(WHOLE // 2 - STEPS * self.rise, WHOLE), Fraction(2 * self.rise, WHOLE)

    def moment(self, step: int) -> Fraction:
        offset, slope = self.line
        return offset + slope * step

    def _randomised(self, exact: Integers, bits: Bits) -> Bytes:
        chances = WHOLE // 2 + (2 * exact - STEPS) * self.rise
        return packed(noise.coins(chances, exact.size, bits=bits).astype(np.int64))


class PiecewiseMean(MeanMechanism):
    """A number near the value by a coin, else one that is not: the more exact, the larger ε is.

    Of the numbers 0 … 2¹⁶ + W − 1, with W ≈ 2¹⁶·e^(−ε/2), those from s to s + W − 1 are near step s.

    Theorem  ratio = p·2¹⁶/((1 − p)·W).
    Proof    Each near number has probability p/W, each other (1 − p)/2¹⁶.
    Error    The variance of a value x in [−1, 1] is about x²/(e^(ε/2) − 1) + (e^(ε/2) + 3)/(3·(e^(ε/2) − 1)²).
    Source   Wang, Xiao, Yang, Zhao, Hui, Shin, Shin & Yu 2019; here on a grid.
    """

    name: ClassVar = "piecewise-mean"
    code: ClassVar = 9

    @cached_property
    def window(self) -> int:
        """W."""
        return max(1, round(STEPS * NEAREST.exp(decimal(-self.epsilon / 2))))

    @cached_property
    def chance(self) -> int:
        return chance_of_odds(exp_below(self.epsilon) * self.window / STEPS)

    @property
    def ratio(self) -> Fraction:
        return odds(self.chance) * STEPS / self.window

    @property
    def most(self) -> int:
        return STEPS + self.window - 1

    @property
    def chances(self) -> dict[str, int]:
        return {"chance": self.chance, "window": self.window}

    @cached_property
    def line(self) -> tuple[Fraction, Fraction]:
        start, later = self._mean(0), self._mean(1)
        return start, later - start

    def moment(self, step: int) -> Fraction:
        return self._mean(step, _squares)

    def _mean(self, step: int, total: Any = None) -> Fraction:
        """E of Y, or of what `total` adds up, given the step."""
        below = total or _numbers
        near = below(step + self.window) - below(step)
        near_part, far_part = Fraction(near, self.window), Fraction(below(self.most + 1) - near, STEPS)
        share = Fraction(self.chance, WHOLE)
        return share * near_part + (1 - share) * far_part

    def _randomised(self, exact: Integers, bits: Bits) -> Bytes:
        near = noise.coins(self.chance, exact.size, bits=bits)
        inside = exact + noise.below(self.window, exact.size, bits=bits)
        others = noise.below(STEPS, exact.size, bits=bits)
        return packed(np.where(near, inside, np.where(others < exact, others, others + self.window)))


def _numbers(end: int) -> int:
    """0 + 1 + … + (end − 1)."""
    return end * (end - 1) // 2


def _squares(end: int) -> int:
    return (end - 1) * end * (2 * end - 1) // 6
