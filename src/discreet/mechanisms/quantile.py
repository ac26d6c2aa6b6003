"""Quantiles of a private column: by a tree of noisy counts, or by the exponential mechanism."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet import noise
from discreet.accounting.losses import Concentrated, Loss, Pure, Reach
from discreet.exact import Number, interval, number, probability
from discreet.exact import epsilon as price
from discreet.mechanisms.arrays import Integers, column
from discreet.mechanisms.payment import Additive, additive
from discreet.mechanisms.selection import shortfall, tilt
from discreet.noise import Bits, Exponents, gumbel_race

BRANCHES: Final = 16
LEVELS: Final = 4
LEAVES: Final = BRANCHES**LEVELS
POINTS: Final = 2**32


@dataclass(frozen=True, init=False, slots=True)
class Quantile:
    """Quantiles of numbers within bounds.

    Tree         The bounds are cut into 16⁴ equal cells; the counts of 16, 16², 16³ and 16⁴ cells get noise, and the
                 number of units below any cell is a sum of at most 15 noisy counts a level. All quantiles are read off
                 the same tree, so they cost nothing more and come out in order.
    Theorem      ε-DP or ρ-zCDP: a unit is in one cell on each of 4 levels, which is one vector with l1 = 4, l2² = 4.
    Error        In ranks: `error` bounds the number of units between the exact quantile and the released one.
    Source       Hay, Rastogi, Miklau & Suciu 2010 (trees of counts).

    Exponential  Every one of 2³² points y of the range has the score −|(1 − q)·#{x < y} − q·#{x > y}|, and the
                 exponential mechanism chooses. Better for one quantile and small data. Several share the price.
    Theorem      Adding a unit moves the score by max(q, 1 − q) at most.
    Source       Smith 2011.
    """

    quantiles: tuple[Fraction, ...]
    bounds: tuple[Fraction, Fraction]
    method: str
    several: bool
    loss: Loss
    _means: Additive | Fraction

    def __init__(
        self,
        quantiles: Number | Sequence[Number] = 0.5,
        *,
        bounds: tuple[Number, Number],
        epsilon: Number | None = None,
        rho: Number | None = None,
        method: Literal["tree", "exponential"] = "tree",
    ) -> None:
        several = isinstance(quantiles, (Sequence, np.ndarray)) and not isinstance(quantiles, str)
        wanted = [_share(q) for q in np.atleast_1d(np.asarray(quantiles, dtype=object))]
        if not wanted:
            raise ValueError("quantiles is empty: pass at least one number between 0 and 1")
        if method not in ("tree", "exponential"):
            raise ValueError(f"method must be 'tree' or 'exponential', not {method!r}")
        if method == "tree":
            means: Additive | Fraction = additive(Reach.cells(LEVELS, 1), epsilon=epsilon, rho=rho)
        else:
            means = tilt(epsilon, rho, len(wanted))
        object.__setattr__(self, "quantiles", tuple(wanted))
        object.__setattr__(self, "bounds", interval(bounds))
        object.__setattr__(self, "method", method)
        object.__setattr__(self, "several", several)
        object.__setattr__(self, "loss", Pure(price(epsilon)) if rho is None else Concentrated(price(rho, "rho")))
        object.__setattr__(self, "_means", means)

    def release(self, values: ArrayLike, bits: Bits | None = None) -> Any:
        """The noisy quantile of one number for each unit, or an array where several were asked for."""
        data = column(values)
        if isinstance(self._means, Fraction):
            places = np.array([self._chosen(data, q, self._means, bits) for q in self.quantiles])
        else:
            places = self._read(self._means.release(_tree(self._cells(data, LEAVES)), bits))
        low, high = (float(bound) for bound in self.bounds)
        found = np.clip(low + places * (high - low), low, high)
        return found if self.several else float(found[0])

    def error(self, confidence: Number = 0.95) -> float:
        """Ranks: with this confidence, no released quantile has more units between it and the exact one.

        Tree: every rank is off by at most t, for all cells at once, if no sum of 60 noises exceeds t (Chernoff's bound
        with the noise's own moment generating function); so is the total, hence 2t. Numbers in one cell count as one
        place.
        """
        if isinstance(self._means, Fraction):
            most = max(max(q, 1 - q) for q in self.quantiles)
            spare = (1 - probability(confidence, "confidence")) / len(self.quantiles)
            return shortfall(self._means, most, 2, 1 - spare, POINTS)
        each = float(1 - probability(confidence, "confidence")) / (2 * LEAVES + 2)
        return 2 * _chernoff(self._means, (BRANCHES - 1) * LEVELS, each)

    def _cells(self, data: NDArray[Any], cells: int) -> Integers:
        """The place of every number among so many equal cells, clamped to the ends."""
        low, high = (float(bound) for bound in self.bounds)
        shares = (np.clip(data.astype(np.float64), low, high) - low) / (high - low)
        return np.clip(np.floor(shares * cells), 0, cells - 1).astype(np.int64)

    def _read(self, tree: Integers) -> NDArray[np.float64]:
        """The quantiles as shares of the range, from the noisy counts of all levels."""
        below = np.zeros(LEAVES + 1)
        start = 0
        for level in range(1, LEVELS + 1):
            counts = tree[start : start + BRANCHES**level].reshape(-1, BRANCHES)
            start += counts.size
            before = np.cumsum(counts, axis=1) - counts
            below[:-1] += np.repeat(before.ravel(), LEAVES // counts.size)
        below[-1] = tree[:BRANCHES].sum()
        ranks = np.maximum.accumulate(np.maximum(below, 0))
        wanted = np.array([float(q) for q in self.quantiles]) * ranks[-1]
        cell = np.clip(np.searchsorted(ranks, wanted, side="left") - 1, 0, LEAVES - 1)
        rise = ranks[cell + 1] - ranks[cell]
        part = np.divide(wanted - ranks[cell], rise, out=np.full(len(wanted), 0.5), where=rise > 0)
        return np.asarray((cell + part) / LEAVES)

    def _chosen(self, data: NDArray[Any], q: Fraction, epsilon: Fraction, bits: Bits | None) -> float:
        """One quantile as a share of the range, by the exponential mechanism over runs of points of equal score."""
        places, counts = np.unique(self._cells(data, POINTS), return_counts=True)
        before = np.concatenate([[0], np.cumsum(counts)])
        # runs, in order: the points below the first number, those equal to it, those between it and the next, …
        starts = np.empty(2 * places.size + 1, dtype=np.int64)
        starts[0], starts[1::2], starts[2::2] = 0, places, places + 1
        lengths = np.diff(np.append(starts, POINTS))
        smaller = np.repeat(before, 2)[:-1]
        larger = before[-1] - np.repeat(before, 2)[1:]
        scores = -np.abs((q.denominator - q.numerator) * smaller - q.numerator * larger)
        real = np.flatnonzero(lengths)
        unit = epsilon / (2 * max(q.numerator, q.denominator - q.numerator))
        run = real[gumbel_race(Exponents(scores[real], unit, lengths[real]), bits=bits)[0]]
        point = int(starts[run]) + noise.below(int(lengths[run]), bits=bits)
        return (point + 0.5) / POINTS


def _share(q: object) -> Fraction:
    exact = number(q, "quantiles").limit_denominator(10**6)
    if not 0 <= exact <= 1:
        raise ValueError(f"quantiles must lie between 0 and 1, not {q}")
    return exact


def _tree(leaves: Integers) -> Integers:
    """The counts of all levels, coarsest first, one after the other."""
    counts = np.bincount(leaves, minlength=LEAVES)
    levels = [counts.reshape(BRANCHES**level, -1).sum(axis=1) for level in range(1, LEVELS + 1)]
    return np.concatenate(levels)


def _chernoff(mechanism: Additive, terms: int, spare: float) -> float:
    """t with P(|Z₁ + … + Z_terms| ≥ t) ≤ 2·spare.

    Proof   E exp(λZ) ≤ 1/(1 − λ²s²) for discrete Laplace noise of scale s (cosh x − 1 over x² rises) and ≤ exp(λ²σ²/2)
            for discrete Gaussian noise; Markov's inequality for the best of many λ.
    """
    if isinstance(mechanism.loss, Pure):
        scale = float(mechanism.spread)
        rates = np.linspace(0.001, 0.999, 999)
        return float(((-math.log(spare) - terms * np.log1p(-(rates**2))) / rates).min() * scale)
    return math.sqrt(2 * terms * -math.log(spare)) * float(mechanism.spread)
