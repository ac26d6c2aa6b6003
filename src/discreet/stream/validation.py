"""Whether an expected loss is below a goal, decided from noisy sums: wrong with probability at most η.

A test set of rows with losses from 0 to 1 is released as one pair of integers, as scores are (`learn.statements`): the
sum of the losses in steps, and the sum of what they leave to 1; noise is added to both. Nothing else is known of it,
not even how many rows there are.

Theorem  Let the rows be independent draws (or at most k rows each of units that are). If the expected loss of a row is
         `share` or more, `Pair.is_below(share, miss)` holds with probability at most `miss`, over draws and noise.
Proof    Let n be the number of rows, S the sum of their losses, τ the share, and Y, Z the noises of the pair, in rows.
         (1) Noise.  D = (1 − τ)·lost − τ·rest = (S − τn) + (1 − τ)Y − τZ: n cancels. The noise of D is symmetric.
         (2) Draws.  P(S − τn ≤ −t | n) ≤ F(n, t), which falls in t and rises in n (`Draws`).
         (3) Both.   P(D ≤ −x | n) ≤ E F(n, x − N) =: p(n, x), N the noise of D, independent of the rows; it is computed
                     with N rounded up to a grid (`accounting.combination.rounded_up`), and F falls in t, so what is
                     computed is no less. As P(p(n, −D) ≤ α) ≤ α for anything with p(n, x) ≥ P(−D ≥ x), the test
                     p(n, −D) ≤ α is wrong with probability α at most.
         (4) Count.  lost + rest − n has noise Y + Z, so n ≤ m := lost + rest + w but for a probability of miss/20, w
                     from the exact tail of Y + Z. There p(m, ·) ≥ p(n, ·): the test with m instead of n accepts no more
                     than that with n. Together miss/20 + 19·miss/20.
Corollary  A run that fits and tests models one after the other, the k-th test at η/2ᵏ, and stops at the first that it
         accepts, accepts one whose expected loss is the goal or more with probability at most η; also where all tests
         are on the same rows. Proof: let f₁, f₂, … be the models that it would fit if no test accepted. They are made
         of training rows and noise alone, so they are independent of the test's rows and of the noise of tests; the
         theorem holds for each, and Σ η/2ᵏ ≤ η.
Rounding  Losses are rounded to steps, by less than one: the share is lowered by a step.
Source   Lecuyer, Spahn, Vodrahalli, Geambasu & Hsu 2019 (Sage), Appendix B, which bounds each of the noisy sum, the
         noisy count and the draws (Bernstein's); here the first and the last are one convolution.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from enum import StrEnum
from fractions import Fraction
from functools import lru_cache
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from discreet.accounting.combination import Rounded, rounded_up, width_of_sum
from discreet.accounting.distributions import Noise
from discreet.accounting.fieller import ratio
from discreet.exact import probability

Floats = NDArray[np.float64]
COUNT_SHARE: Final = Fraction(1, 20)
"""Of what may be missed, what the number of rows takes."""
ROOM: Final = 1 + 1e-9
"""For the roundings of floats."""


class Decision(StrEnum):
    """What a test says of a model."""

    ACCEPT = "accept"
    RETRY = "retry"
    REJECT = "reject"


@dataclass(frozen=True, slots=True)
class Pair:
    """A noisy sum of losses from 0 to 1, and of what they leave to 1."""

    lost: int
    """In steps."""
    rest: int
    steps: int
    """How many of them 1 has."""
    noise: Noise
    """Of each of the two, in steps."""
    rows: int = 1
    """How many rows a unit has at most."""
    binary: bool = False
    """Whether every loss is 0 or 1, so that none was rounded."""

    @property
    def mirrored(self) -> Pair:
        """The pair of 1 − loss."""
        return replace(self, lost=self.rest, rest=self.lost)

    @property
    def size(self) -> float:
        """About how many rows there are."""
        return (self.lost + self.rest) / self.steps

    @property
    def mean(self) -> float:
        """About the mean loss of these rows."""
        total = self.lost + self.rest
        return min(max(self.lost / total, 0.0), 1.0) if total > 0 else 0.5

    def is_below(self, share: Fraction, miss: Fraction) -> bool:
        """Whether the expected loss is below the share, as far as the test sees: see the theorem of the module."""
        return self.doubt(share, miss) <= miss * (1 - COUNT_SHARE)

    def is_above(self, share: Fraction, miss: Fraction) -> bool:
        """Whether the expected loss is above the share: the mirrored test.

        Where the pair has the *least* loss that any function of a class has on these rows, it holds with probability at
        most `miss` if some function f* of the class has an expected loss of the share or less. Proof: the least loss is
        at most that of f* on the same rows, which is fixed in advance, so the theorem's test of f*, mirrored, holds
        whenever this one does.
        """
        return self.mirrored.is_below(1 - share, miss)

    def doubt(self, share: Fraction, miss: Fraction) -> float:
        """At least the probability of losses as low as these, if the expected one were the share: a p-value."""
        lowest = share if self.binary else share - Fraction(1, self.steps)
        most = math.floor(self.size + self._stray(miss * COUNT_SHARE))
        if not 0 < lowest < 1 or most < 1 or self.lost + self.rest <= 0:
            return 1.0
        seen = (1 - lowest) * self.lost - lowest * self.rest
        below = -float(seen / self.steps)
        chance = Draws(float(lowest), most, self.rows, binary=self.binary)
        return min(self._noise_of_difference(lowest).most(lambda noise: chance(below - noise)) * ROOM, 1.0)

    def error(self, miss: Fraction) -> float:
        """How far `mean` is at most from the expected one of a row, but for a probability of `miss`.

        Proof    The rows' own mean lies within Fieller's interval but for miss/2 (`accounting.fieller`). There are at
                 least m rows but for miss/4. Given n of them, |S − μn| ≥ e·n has probability at most
                 2·exp(−2e²n/k²), by Hoeffding's inequality for the sum over all units, at most n of them, of
                 what loss − μ adds up to over a unit's rows, which has a range of k. For
                 n ≥ m and this e that is at most miss/4. Rounding adds a step.
        """
        one, none = Fraction(1), Fraction(0)
        total = Fraction(self.lost + self.rest)
        both = [(self.noise, one, one), (self.noise, none, one)]
        ends = ratio(Fraction(self.lost), total, both, miss / 2, (none, one)) if total > 0 else None
        least = self.size - self._stray(miss / 4)
        if ends is None or least <= 0:
            return 1.0
        noise = max(float(ends[1]) - self.mean, self.mean - float(ends[0]), 0.0)
        draws = self.rows * math.sqrt(math.log(8 / miss) / (2 * least))
        return min(noise + draws + (0 if self.binary else 1 / self.steps), 1.0)

    def _stray(self, miss: Fraction) -> float:
        """How far the noisy number of rows is above or below the exact one, each but for a probability of `miss`."""
        one = Fraction(1)
        return float(width_of_sum(((self.noise, one), (self.noise, one)), 1 - 2 * miss) / self.steps) * ROOM

    def _noise_of_difference(self, share: Fraction) -> Rounded:
        return _rounded(self.noise, (1 - share) / self.steps, share / self.steps)


@lru_cache(maxsize=256)
def _rounded(noise: Noise, first: Fraction, second: Fraction) -> Rounded:
    return rounded_up(((noise, first), (noise, second)))


@dataclass(frozen=True, slots=True)
class Draws:
    """At least P(S ≤ τn − t), for n rows with losses from 0 to 1 of expectation τ or more: F(n, t) of the theorem.

    Theorem  With I(u) = n·kl(τ − u/n ‖ τ), kl the divergence of coins, Φ the normal distribution and u = t/k:
             for k rows of a unit at most,                exp(−I(u))                       (Hoeffding 1963, Theorem 1),
             and                                          e·Φ(−√(2·I(u − 2)))              for u > 2 (Bentkus 2004);
             for losses of 0 and 1 and k = 1,             Φ(−√(2·I(u − 1)))                for u > 1 (Zubkov & Serov).
             All of them fall in t and rise in n.
    Proof    With one row of each unit, the first is Hoeffding's, as losses of a larger expectation make small sums less
             likely (the bound of an expectation q ≥ τ is exp(−n·kl(x ‖ q)), which falls in q above x). With k rows, let
             Zᵤ = Σ (loss − τ)/k + τ over the rows of unit u: it lies between 0 and 1, E Zᵤ ≥ τ, and the units are m ≤ n
             in number; ΣZᵤ ≤ τm − t/k. n·kl(τ − u/n ‖ τ) is the perspective of a convex function that is 0 at 0, so
             it falls in n, and n may stand for m. Bentkus 2004, Theorem 1.2: P(S ≤ x) ≤ e·P(B ≤ ⌈x⌉), B binomial with
             the same n and τ. Zubkov & Serov 2013: P(B ≤ j) ≤ Φ(−√(2n·kl((j + 1)/n ‖ τ))) for j + 1 ≤ τn. With
             ⌊x⌋ + 1 ≤ x + 1 and ⌈x⌉ + 1 ≤ x + 2 for x = τn − u, and kl rising away from τ, both follow. Sums are not
             below 0, so beyond τn the probability is 0.
    """

    share: float
    rows: int
    each: int = 1
    binary: bool = False

    def __call__(self, by: NDArray[Any]) -> Floats:
        """For each t."""
        u = np.asarray(by, dtype=np.float64) / self.each
        bound = np.exp(-self._rate(u))
        exact = self.binary and self.each == 1
        factor, lag = (1.0, 1.0) if exact else (math.e, 2.0)
        normal = np.where(u > lag, factor * ndtr(-np.sqrt(2 * self._rate(u - lag))), 1.0)
        return np.where(u > self.share * self.rows, 0.0, np.minimum(bound, normal))

    def _rate(self, u: Floats) -> Floats:
        """n·kl(τ − u/n ‖ τ), 0 for u ≤ 0."""
        share = self.share
        x = np.clip(u / self.rows, 0.0, share)
        left = share - x
        with np.errstate(divide="ignore", invalid="ignore"):
            low = np.where(left > 0, left * np.log1p(-np.minimum(x / share, 1 - 1e-16)), 0.0)
        return np.maximum(self.rows * (low + (1 - left) * np.log1p(x / (1 - share))), 0.0)


def miss_of(eta: object, attempt: int) -> Fraction:
    """What the test of an attempt, counted from 1, may miss: η/2ᵏ, all together η."""
    return probability(eta, "eta") / Fraction(2) ** attempt
