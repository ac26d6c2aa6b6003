"""From noisy measures to the value of an aggregate, and to the interval that its noise allows."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Final, Protocol

from discreet.accounting.combination import width, width_of_sum
from discreet.accounting.distributions import Noise
from discreet.accounting.fieller import Noisy, Sums
from discreet.late import np
from discreet.mechanisms.quantile import strays
from discreet.policy.model import Key
from discreet.sql.vectors import Layout

Interval = tuple[Fraction, Fraction]
HALF_A_ROW: Final = 0.5
EXP_ERROR: Final = Fraction(1, 2**40)
"""How far exp may be off, relatively, with much to spare: of arguments up to 710 the rounding of the argument, too."""


@dataclass(frozen=True, slots=True)
class Part:
    """The noisy numbers of one measure in one group, their noise, and how often the interval may miss."""

    values: Sequence[int]
    noise: Noise | None
    miss: Fraction
    widest: bool = False
    """Whether the interval has to be as wide as that of any group of the same size."""

    @property
    def interval(self) -> Interval:
        """Where the exact number lies."""
        assert self.noise is not None
        half = width(self.noise, 1 - self.miss)
        return Fraction(self.values[0] - half), Fraction(self.values[0] + half)

    @property
    def noisy(self) -> Noisy:
        assert self.noise is not None
        return Noisy(self.values[0], self.noise)


class Formula(Protocol):
    """What is made of the measures of one group."""

    def value(self, noisy: Sequence[Sequence[int]]) -> Any: ...
    def interval(self, parts: Sequence[Part]) -> Interval | None:
        """Where the exact value lies if each exact measure lies where its part says; None where that is not known."""


class Added:
    """A sum of noisy numbers, each with a weight. Its interval is that of all its noises together: see `linear`."""

    __slots__ = ()

    @property
    def weights(self) -> Mapping[tuple[int, int], Fraction]:
        """Of which measure, and of which of its numbers."""
        raise NotImplementedError

    @property
    def rounding(self) -> Fraction:
        """How far what is shown may be from the sum."""
        return Fraction(0)

    def interval(self, parts: Sequence[Part]) -> None:  # noqa: ARG002
        return None


@dataclass(frozen=True, slots=True)
class Total(Added):
    """One measure, in steps."""

    step: Fraction = Fraction(1)

    @property
    def weights(self) -> Mapping[tuple[int, int], Fraction]:
        return {(0, 0): self.step}

    def value(self, noisy: Sequence[Sequence[int]]) -> int | float:
        steps = noisy[0][0]
        return steps if self.step == 1 else float(steps * self.step)


@dataclass(frozen=True, slots=True)
class Recentred(Added):
    """A sum from the sum about the middle, which the average needs too: Σx = Σ(x − m) + m·n.

    Its error is no larger than that of a sum released beside it: √(a² + m²) ≤ |m| + a with a half the range.
    """

    step: Fraction
    middle: int

    @property
    def weights(self) -> Mapping[tuple[int, int], Fraction]:
        return {(0, 0): self.step, (1, 0): self.middle * self.step}

    def value(self, noisy: Sequence[Sequence[int]]) -> int | float:
        steps = noisy[0][0] + self.middle * noisy[1][0]
        return steps if self.step == 1 else float(steps * self.step)


@dataclass(frozen=True, slots=True)
class Both(Added):
    """COUNT(*) from the rows that have a value and those that have none: no more is released than COUNT(x)."""

    @property
    def weights(self) -> Mapping[tuple[int, int], Fraction]:
        return {(0, 0): Fraction(1), (0, 1): Fraction(1)}

    def value(self, noisy: Sequence[Sequence[int]]) -> int:
        return sum(noisy[0])


@dataclass(frozen=True, slots=True)
class Mean:
    """m + S/n with S = Σ(x − m), clamped to the bounds; NULL where no rows are left, as SQL has it.

    Interval  With μ = S/n exact and noise Y on S and Z on n, the noisy S − μn is Y − μZ (Fieller 1954), which strays no
              further for a smaller |μ|, up to one step: given Z, the integers that count move towards the middle of a
              symmetric unimodal Y. So μ lies within `astray`/n of S/n, first for any μ, then for the quarter of the
              range that is left. All quarters from that of μ on hold together: the widths are one inside the other.
    """

    step: Fraction
    middle: int
    low: int
    high: int

    def value(self, noisy: Sequence[Sequence[int]]) -> float | None:
        total, count = noisy[0][0], noisy[1][0]
        if count < 1:
            return None
        mean = self.middle + Fraction(total, count)
        return float(min(max(mean, Fraction(self.low)), Fraction(self.high)) * self.step)

    @property
    def radius(self) -> int:
        """The largest distance from the middle."""
        return max(self.high - self.middle, self.middle - self.low)

    def astray(self, total: Noise, count: Noise, miss: Fraction, quarters: int = 4) -> Fraction:
        """How far S − μn strays from 0 at most, for |μ| up to so many quarters of the radius."""
        terms = ((total, Fraction(1)), (count, Fraction(self.radius * quarters, 4)))
        return width_of_sum(terms, 1 - miss) + 1

    def interval(self, parts: Sequence[Part]) -> Interval | None:
        total, count = parts
        assert total.noise is not None
        assert count.noise is not None
        exact, rows = Fraction(total.values[0]), count.values[0]
        if rows < 1:
            return None
        bounds = Fraction(self.low - self.middle), Fraction(self.high - self.middle)
        low, high = bounds
        quarters, nearer = 5, 4
        while nearer < quarters:
            quarters = nearer
            half = self.astray(total.noise, count.noise, total.miss + count.miss, quarters)
            low, high = (min(max((exact + edge) / rows, bounds[0]), bounds[1]) for edge in (-half, half))
            nearer = math.ceil(4 * max(abs(low), abs(high)) / self.radius) if self.radius else quarters
        return (self.middle + low) * self.step, (self.middle + high) * self.step


@dataclass(frozen=True, slots=True)
class GeometricMean:
    """exp of a mean of logarithms, clamped to the bounds of the values; NULL where no rows are left.

    Interval  exp grows, so the ends of the mean's interval give the ends of this one; each is moved outwards by more
              than the platform's exp may be off.
    """

    logarithms: Formula
    low: Fraction
    high: Fraction

    def value(self, noisy: Sequence[Sequence[int]]) -> float | None:
        mean = self.logarithms.value(noisy)
        return None if mean is None else min(max(math.exp(mean), float(self.low)), float(self.high))

    def interval(self, parts: Sequence[Part]) -> Interval | None:
        ends = self.logarithms.interval(parts)
        if ends is None:
            return None
        below, above = Fraction(math.exp(ends[0])) * (1 - EXP_ERROR), Fraction(math.exp(ends[1])) * (1 + EXP_ERROR)
        return min(max(below, self.low), self.high), min(max(above, self.low), self.high)


@dataclass(frozen=True, slots=True)
class Spread:
    """The variance, or its root, from n, Σy and Σ(2y² − r²), with y the distance from the middle and r its largest.

    Never negative, never above r² (Popoviciu 1935). `sample`: divided by n − 1 and not by n. NULL where there are too
    few rows for it, as SQL has it.
    """

    step: Fraction
    radius: int
    sample: bool
    root: bool

    def value(self, noisy: Sequence[Sequence[float]]) -> float | None:
        if noisy[0][0] < self.fewest - HALF_A_ROW:
            return None
        count, total, square = (float(part[0]) for part in noisy)
        variance = (square / count + self.radius**2) / 2 - (total / count) ** 2
        return self._shown(variance, count)

    @property
    def fewest(self) -> int:
        return 2 if self.sample else 1

    def _shown(self, variance: float, count: float) -> float:
        held = min(max(variance, 0.0), float(self.radius**2))
        if self.sample:
            held *= count / max(count - 1, 1.0)
        scaled = held * float(self.step) ** 2
        return math.sqrt(scaled) if self.root else scaled

    def interval(self, parts: Sequence[Part]) -> Interval | None:
        count, total, square = parts
        if count.values[0] < self.fewest:
            return None
        sums = Sums(
            count.noisy,
            total.noisy,
            None,
            square.noisy,
            (self.radius,) * 2,
            Fraction(1, 2),
            Fraction(self.radius**2, 2),
        )
        return self.between(sums.covariance(spared(parts)), rows_within(parts))

    def between(self, variance: Interval, rows: Interval) -> Interval:
        """Where it lies, if the variance of the population and the number of rows lie where these say."""
        (low, high), (fewest, most) = variance, rows
        if fewest < 2:
            return Fraction(0), self._edge(high, 2)
        return self._edge(low, most), self._edge(high, fewest)

    def _edge(self, variance: Fraction, count: Fraction | int) -> Fraction:
        held = min(max(variance, Fraction(0)), Fraction(self.radius**2))
        if self.sample:
            held *= Fraction(count) / max(count - 1, 1)
        scaled = held * self.step**2
        return Fraction(math.sqrt(scaled)) if self.root else scaled


ROWS: Final = Fraction(1, 20)
"""Of what the interval of a moment may miss: the part of the number of rows, by which samples are corrected."""


def spared(parts: Sequence[Part]) -> Fraction:
    """What the moment itself may miss: the same for all of one formula, so that they share one event."""
    return (1 - ROWS) * sum((part.miss for part in parts), Fraction(0))


def rows_within(parts: Sequence[Part]) -> Interval:
    """Where the number of rows lies."""
    return replace(parts[0], miss=ROWS * sum((part.miss for part in parts), Fraction(0))).interval


@dataclass(frozen=True, slots=True)
class Ordered:
    """A quantile, read off a tree of noisy counts; the least and the largest are the first and last ranks that rise
    above the noise. NULL where the noisy counts leave no rows."""

    layout: Layout
    share: Fraction
    low: Fraction
    high: Fraction
    extreme: bool

    def value(self, noisy: Sequence[Sequence[int]]) -> float | int | None:
        ranks = self.layout.ranks(noisy[0])
        if ranks[-1] < HALF_A_ROW:
            return None
        target = self._target(float(ranks[-1]))
        cell = int(np.clip(np.searchsorted(ranks, target, side="left") - 1, 0, self.layout.leaves - 1))
        rise = ranks[cell + 1] - ranks[cell]
        position = cell + (float((target - ranks[cell]) / rise) if rise > 0 else 0.5)
        if self.layout.whole:
            return int(self.layout.low) + min(cell, self.layout.cells - 1)
        return min(max(self.layout.value(position), float(self.low)), float(self.high))

    def _target(self, total: float) -> float:
        return float(self.share) * total

    def interval(self, parts: Sequence[Part]) -> Interval | None:
        """All ranks are off by at most t, and the total by s: the quantile lies where its rank may be."""
        part = parts[0]
        if self.extreme or self.value([part.values]) is None:
            return None
        assert part.noise is not None
        t, s = strays(part.noise, self.layout.branch, self.layout.levels, part.miss)
        ranks = self.layout.plain_ranks(part.values)
        q = float(self.share)
        lowest, highest = q * (ranks[-1] - s) - t - 1, q * (ranks[-1] + s) + t + 1
        reached = np.flatnonzero(ranks[1:] >= lowest)
        below = np.flatnonzero(ranks[:-1] <= highest)
        first = int(reached[0]) if reached.size else self.layout.leaves - 1
        last = int(below[-1]) if below.size else 0
        edges = (
            self.layout.low + self.layout.width * first,
            self.layout.low + self.layout.width * (last if self.layout.whole else last + 1),
        )
        return min(max(edges[0], self.low), self.high), max(min(edges[1], self.high), self.low)


@dataclass(frozen=True, slots=True)
class InCell:
    """A quantile whose cell was chosen: the middle of it. How far its rank may be off is known, its value is not."""

    layout: Layout
    low: Fraction
    high: Fraction

    def value(self, noisy: Sequence[Sequence[int]]) -> float | int:
        cell = noisy[0][0]
        if self.layout.whole:
            return int(self.layout.low) + cell
        return float(min(max(self.layout.low + self.layout.width * (cell + Fraction(1, 2)), self.low), self.high))

    def interval(self, parts: Sequence[Part]) -> None:  # noqa: ARG002
        return None


@dataclass(frozen=True, slots=True)
class Favourite:
    """The value with the largest noisy count; NULL where the noisy counts leave no rows."""

    values: tuple[Key, ...]

    def value(self, noisy: Sequence[Sequence[int]]) -> Key | None:
        if max(noisy[0]) < 1:
            return None
        return self.values[max(range(len(self.values)), key=lambda index: noisy[0][index])]

    def interval(self, parts: Sequence[Part]) -> None:  # noqa: ARG002  (a value, not a number)
        return None


@dataclass(frozen=True, slots=True)
class Listing:
    """Values with their noisy counts: the largest so many, or all in order.

    Interval  That of each count by itself, for any value named beforehand. Which values are the largest depends on the
              noise, so the first of them miss more often: P(v is listed and missed) is at most what was asked.
    """

    values: tuple[Any, ...]
    most: int | None

    def value(self, noisy: Sequence[Sequence[int]]) -> list[dict[str, Any]]:
        counts = noisy[0]
        return [{"value": self.values[index], "count": counts[index]} for index in self._indices(counts)]

    def _indices(self, counts: Sequence[int]) -> list[int]:
        """Which counts are listed, in order."""
        indices = range(len(self.values))
        return list(indices) if self.most is None else sorted(indices, key=lambda index: -counts[index])[: self.most]

    def interval(self, parts: Sequence[Part]) -> None:  # noqa: ARG002  (many numbers, not one)
        return None

    def intervals(self, part: Part) -> list[Interval]:
        """Where the exact count of each listed value lies, in the order of the list."""
        return [replace(part, values=(part.values[index],)).interval for index in self._indices(part.values)]
