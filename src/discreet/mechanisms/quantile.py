"""Quantiles of a private column: by a tree of noisy counts, or by the exponential mechanism."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from discreet import noise
from discreet.accounting.combination import width_of_sum
from discreet.accounting.distributions import Noise
from discreet.accounting.losses import Concentrated, Loss, Pure, Sensitivity
from discreet.accounting.prefixes import highest_rank
from discreet.exact import Number, interval, number, probability
from discreet.exact import epsilon as positive
from discreet.late import np
from discreet.mechanisms.arrays import Integers, column
from discreet.mechanisms.calibrated import Additive, additive
from discreet.mechanisms.selection import shortfall, tilt
from discreet.noise import Bits, Exponents, gumbel_race

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

BRANCHES: Final = 16
LEVELS: Final = 4
LEAVES: Final = BRANCHES**LEVELS
POINTS: Final = 2**32
CELLS: Final = 2**24
WITHIN: Final = 2**12
"""By halves: cells, and places within each, by which equal numbers are told apart."""
_USUAL: Final = Fraction(1, 20)

Floats: TypeAlias = "NDArray[np.float64]"


@dataclass(frozen=True, init=False, slots=True)
class Quantile:
    """Quantiles of numbers within bounds, by a tree of noisy counts (`Tree`) or one by one (`Points`).

    Theorem  ε-DP or ρ-zCDP, by the theorem of the method.
    Error    In ranks: how many units lie between the exact quantile and the released one, at most, without those that
             share its cell: one of 16⁴ (tree) or 2³² (exponential) equal parts of the range.
    """

    quantiles: tuple[Fraction, ...]
    bounds: tuple[Fraction, Fraction]
    method: Tree | Points
    several: bool
    loss: Loss

    def __init__(
        self,
        quantiles: Number | Sequence[Number] = 0.5,
        *,
        bounds: tuple[Number, Number],
        epsilon: Number | None = None,
        rho: Number | None = None,
        method: Literal["tree", "exponential"] = "tree",
    ) -> None:
        wanted = tuple(_share(q) for q in np.atleast_1d(np.asarray(quantiles, dtype=object)))
        if not wanted:
            raise ValueError("quantiles is empty: pass at least one number between 0 and 1")
        if method not in METHODS:
            raise ValueError(f"method must be one of {', '.join(METHODS)}, not {method!r}")
        object.__setattr__(self, "quantiles", wanted)
        object.__setattr__(self, "bounds", interval(bounds))
        object.__setattr__(self, "method", METHODS[method].of(wanted, epsilon=epsilon, rho=rho))
        object.__setattr__(self, "several", np.ndim(np.asarray(quantiles, dtype=object)) > 0)
        object.__setattr__(self, "loss", Pure(positive(epsilon)) if rho is None else Concentrated(positive(rho, "rho")))

    def release(self, values: ArrayLike, bits: Bits | None = None) -> Any:
        """The noisy quantile of one number for each unit, or an array where several were asked for."""
        low, high = (float(bound) for bound in self.bounds)
        shares = (np.clip(column(values).astype(np.float64), low, high) - low) / (high - low)
        places = self.method.places(shares, self.quantiles, bits)
        quantiles = np.clip(low + places * (high - low), low, high)
        return quantiles if self.several else float(quantiles[0])

    def error(self, confidence: Number = 0.95) -> float:
        """Ranks: with this confidence, no released quantile has more units between its cell and the exact one's."""
        return self.method.error(1 - probability(confidence, "confidence"), self.quantiles)


@dataclass(frozen=True, slots=True)
class Tree:
    """The range is cut into 16⁴ equal cells; the counts of 16, 16², 16³ and 16⁴ cells get noise.

    The number of units below any cell is a sum of at most 15 noisy counts a level. All quantiles are read off the same
    tree: more of them cost nothing more, and they come out in order.

    Theorem  ε-DP or ρ-zCDP: a unit is in one cell on each of 4 levels, which is one vector with l1 = 4, l2² = 4.
    Proof    The cell of a number depends on it and the bounds alone, so a unit adds 1 to one count of each level and
             changes no other: what it moves is a vector with four entries of 1. All 16 + 16² + 16³ + 16⁴ counts get
             noise as one vector, also where nobody is, and the quantiles are read off the noisy counts alone.
    Error    If no rank is off by more than t, and the total by no more than s, a quantile q is off by t + qs at most.
             How far ranks are off, all at once, is known exactly (`accounting.prefixes`): 2 to 2.5 times less than by
             a union bound over all cells.
    Source   Hay, Rastogi, Miklau & Suciu 2010.
    """

    mechanism: Additive

    @classmethod
    def of(cls, quantiles: tuple[Fraction, ...], *, epsilon: Number | None, rho: Number | None) -> Tree:  # noqa: ARG003
        """For any number of them."""
        return cls(additive(Sensitivity.cells(LEVELS, 1), epsilon=epsilon, rho=rho))

    def places(self, shares: Floats, quantiles: tuple[Fraction, ...], bits: Bits | None) -> Floats:
        """The quantiles as shares of the range."""
        counts = np.bincount(_cells(shares, LEAVES), minlength=LEAVES)
        levels = [counts.reshape(BRANCHES**level, -1).sum(axis=1) for level in range(1, LEVELS + 1)]
        tree = self.mechanism.release(np.concatenate(levels), bits)
        ranks = np.maximum.accumulate(np.maximum(_ranks(tree), 0))
        wanted = np.array([float(q) for q in quantiles]) * ranks[-1]
        cell = np.clip(np.searchsorted(ranks, wanted, side="left") - 1, 0, LEAVES - 1)
        rise = ranks[cell + 1] - ranks[cell]
        part = np.divide(wanted - ranks[cell], rise, out=np.full(len(wanted), 0.5), where=rise > 0)
        return np.asarray((cell + part) / LEAVES)

    def error(self, spare: Fraction, quantiles: tuple[Fraction, ...]) -> float:
        ranks, total = strays(self.mechanism.noise(self.mechanism.sensitivity, 1), BRANCHES, LEVELS, spare)
        return ranks + float(max(quantiles)) * total


def strays(noise: Noise, branch: int, levels: int, miss: Fraction) -> tuple[float, float]:
    """How far any rank of a tree of counts strays, and how far the total does: both hold but for `miss`."""
    part = miss / 5
    total = float(width_of_sum(((noise, Fraction(1)),) * branch, 1 - part))
    return highest_rank(noise, branch, levels, float((miss - part) / 2)), total


@dataclass(frozen=True, slots=True)
class Points:
    """The exponential mechanism over 2³² points y of the range, with score −|(1 − q)·#{x < y} − q·#{x > y}|.

    Better than a tree for few quantiles of few units. Several quantiles share the cost, one by one or by halves.

    Theorem  ε-DP or ρ-zCDP: adding a unit moves the score by max(q, 1 − q) at most.
    Proof    A unit with number x adds 1 − q inside |…| at the points above x, −q at those below, and nothing at x: each
             score moves by max(q, 1 − q) at most, up at some points and down at others, so it is not monotone. For
             q = a/d scores are multiplied by d: integers that move by max(a, d − a). Points of one score are chosen as
             a run, with a weight of as many points, and one of the run by a uniform draw: together each point has the
             probability that the exponential mechanism gives it. k quantiles one by one compose, at 1/k of the cost.
    Halves   (Kaplan, Schnapp & Stemmer 2022.) The middle one of the quantiles is chosen; those below it among the
             numbers below it, those above among the numbers above, and so on. Given what was chosen before, a unit's
             number is in one part at most of each level, so the parts of a level cost what one of them does, and levels
             compose, at 1/⌈log₂(k + 1)⌉ of the cost each. Every number gets a place of its own within its cell first,
             drawn uniformly and for each unit apart, so that equal numbers can be told apart: neighbours have the same
             places but for the one unit.
    Error    That of the exponential mechanism; the score is the distance in ranks. By halves, a part begins and ends
             where earlier choices were off: of the errors at its ends a choice has a mean, and adds its own.
    Factor   Evenly spaced quantiles of 1,000 normal numbers at ε = 1 are nearer by halves: 3 of them 1.7 times, 7 of
             them 2.9 times, 15 of them 4.4 times (at ρ = 0.05: 2.3, 1.9 and 2.3 times).
    Source   Smith 2011.
    """

    epsilon: Fraction
    """Of each choice."""
    halves: bool = False

    @classmethod
    def of(cls, quantiles: tuple[Fraction, ...], *, epsilon: Number | None, rho: Number | None) -> Points:
        """One by one, or by halves where less error is promised for that: the quantiles alone decide."""
        levels = len(set(quantiles)).bit_length()
        ways = cls(tilt(epsilon, rho, len(quantiles))), cls(tilt(epsilon, rho, levels), halves=True)
        return min(ways, key=lambda way: way.error(_USUAL, quantiles))

    def places(self, shares: Floats, quantiles: tuple[Fraction, ...], bits: Bits | None) -> Floats:
        """The quantiles as shares of the range."""
        if not self.halves:
            held, counts = np.unique(_cells(shares, POINTS), return_counts=True)
            return np.array([(self._choose(held, counts, q, (0, POINTS), bits) + 0.5) / POINTS for q in quantiles])
        within = noise.below(WITHIN, size=shares.size, bits=bits) if shares.size else np.zeros(0, dtype=np.int64)
        points = np.sort(_cells(shares, CELLS) * WITHIN + within)
        chosen: dict[Fraction, int] = {}
        for part in _parts(sorted(set(quantiles))):
            low = chosen[part.above] + 1 if part.above in chosen else 0
            high = chosen[part.below] if part.below in chosen else CELLS * WITHIN
            if low >= high:  # nothing lies between what was chosen before
                chosen[part.quantile] = min(low, CELLS * WITHIN - 1)
                continue
            inside = points[np.searchsorted(points, low) : np.searchsorted(points, high)]
            held, counts = np.unique(inside, return_counts=True)
            chosen[part.quantile] = self._choose(held, counts, part.share, (low, high), bits)
        return np.array([(chosen[q] // WITHIN + 0.5) / CELLS for q in quantiles])

    def _choose(self, held: Integers, counts: Integers, q: Fraction, ends: tuple[int, int], bits: Bits | None) -> int:
        """Points of equal score come in runs: below the first number, equal to it, up to the next, and so on."""
        before = np.concatenate([[0], np.cumsum(counts)])
        starts = np.full(2 * held.size + 1, ends[0], dtype=np.int64)
        starts[1::2], starts[2::2] = held, held + 1
        lengths = np.diff(starts, append=ends[1])
        smaller = np.repeat(before, 2)[:-1]
        larger = before[-1] - np.repeat(before, 2)[1:]
        scores = -np.abs((q.denominator - q.numerator) * smaller - q.numerator * larger)
        runs = np.flatnonzero(lengths)
        unit = self.epsilon / (2 * max(q.numerator, q.denominator - q.numerator))
        run = runs[gumbel_race(Exponents(scores[runs], unit, lengths[runs]), bits=bits)[0]]
        return int(starts[run]) + noise.below(int(lengths[run]), bits=bits)

    def error(self, spare: Fraction, quantiles: tuple[Fraction, ...]) -> float:
        each = 1 - spare / len(quantiles)
        if not self.halves:
            return shortfall(self.epsilon, max(max(q, 1 - q) for q in quantiles), 2, each, POINTS)
        errors: dict[Fraction | None, float] = {None: 0.0}
        for part in _parts(sorted(set(quantiles))):
            own = shortfall(self.epsilon, max(part.share, 1 - part.share), 2, each, CELLS * WITHIN)
            ends = (1 - part.share) * Fraction(errors[part.above]) + part.share * Fraction(errors[part.below])
            errors[part.quantile] = own + float(ends) + 1  # the unit that was chosen is in neither half
        return max(errors.values())


@dataclass(frozen=True, slots=True)
class Part:
    """One choice by halves: of a quantile, which is `share` of what lies between two others."""

    quantile: Fraction
    share: Fraction
    above: Fraction | None
    below: Fraction | None


def _parts(quantiles: Sequence[Fraction], above: Fraction | None = None, below: Fraction | None = None) -> list[Part]:
    """The middle one first, then those of both halves."""
    if not quantiles:
        return []
    middle = len(quantiles) // 2
    q = quantiles[middle]
    low, high = Fraction(0) if above is None else above, Fraction(1) if below is None else below
    share = ((q - low) / (high - low)).limit_denominator(10**6) if high > low else Fraction(0)
    first, last = quantiles[:middle], quantiles[middle + 1 :]
    return [Part(q, share, above, below), *_parts(first, above, q), *_parts(last, q, below)]


METHODS: Final[dict[str, type[Tree] | type[Points]]] = {"tree": Tree, "exponential": Points}


def _share(q: object) -> Fraction:
    exact = number(q, "quantiles").limit_denominator(10**6)
    if not 0 <= exact <= 1:
        raise ValueError(f"quantiles must lie between 0 and 1, not {q}")
    return exact


def _cells(shares: Floats, cells: int) -> Integers:
    """Among so many equal cells, the one that each number is in."""
    return np.clip(np.floor(shares * cells), 0, cells - 1).astype(np.int64)


def _ranks(tree: Integers) -> Floats:
    """The noisy number of units below each leaf, and in all, from the counts of all levels, coarsest first."""
    ranks = np.zeros(LEAVES + 1)
    start = 0
    for level in range(1, LEVELS + 1):
        counts = tree[start : start + BRANCHES**level].reshape(-1, BRANCHES)
        start += counts.size
        ranks[:-1] += np.repeat((np.cumsum(counts, axis=1) - counts).ravel(), LEAVES // counts.size)
    ranks[-1] = tree[:BRANCHES].sum()
    return ranks
