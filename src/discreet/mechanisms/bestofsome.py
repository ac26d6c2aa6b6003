"""Private selection from private candidates: run them all, look at a random few of them, and take the best of those."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from math import comb
from typing import TYPE_CHECKING, Final

from discreet import noise
from discreet.accounting.conversion import REMEMBERED, epsilon_of_laplace
from discreet.accounting.losses import Concentrated, Pure
from discreet.accounting.rounding import NEAREST, decimal, down, up
from discreet.exact import Number, probability, whole
from discreet.exact import epsilon as positive
from discreet.late import np
from discreet.mechanisms.arrays import Integers, some_numbers
from discreet.noise import Bits

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

MOST_CANDIDATES: Final = 1000
ETA: Final = 2
"""How much more likely it is that many candidates are looked at than few: see `BestOfSome`."""
WIDE: Final = 2**62
"""Two of a thousand numbers below it are alike once in 10¹² times; then all are drawn again."""
Below = Callable[[int, int], Integers]
"""A limit and a size; so many uniform integers from 0 to below the limit."""


@dataclass(frozen=True, init=False, slots=True)
class BestOfSome:
    """Of m candidates that are private by themselves, the one with the best score among K that are looked at.

    A candidate draws an output with a score, independently of the others; each of them may cost `each` = ε₀. K is drawn
    from 1 … m with P(k) ∝ C(k + η − 1, k), for η = 2 that is ∝ k + 1, and each set of K candidates is as likely as any
    other. Who is in the set, and how many are, must stay hidden, and so must all that was not chosen: hence every
    candidate is run, whether it is looked at or not.

    Theorem  If every candidate is ε₀-DP, which one is chosen, with its output and its score, is ε-DP for
                 ε = ε₀ + ln(A(v)/A(u)),  A(x) = Σ P(k)·k·x^(k−1),  v = 1 − u = e^ε₀/(1 + e^ε₀),
             and there are candidates for which no smaller ε is true. It is at most (2 + η)·ε₀, and at most m·ε₀.
    Proof    Let candidate i be chosen with output y; ties go to the first, so whether another one j comes behind (i, y)
             is an event of the output of j, with probability F_j. A set of k has a probability ∝ P(k)/C(m, k) ∝
             ∫ s^(η−1)·s^k·(1 − s)^(m−k) ds over [0, 1]. Summed over all sets with i in them, P(i, y) = Q_i(y)·G(F) with
             G(F) ∝ ∫ s^η·Π(1 − s + s·F_j) ds over all j ≠ i: linear and rising in each F_j. On a neighbour there are Q'
             and F', with Q_i(y) ≤ e^ε₀·Q'_i(y), F_j ≤ e^ε₀·F'_j and 1 − F'_j ≤ e^ε₀·(1 − F_j). It remains to bound
             G(F)/G(F'). Given F'_j, the largest F_j is the smaller one of e^ε₀·F'_j and 1 − (1 − F'_j)·e^−ε₀: two
             straight lines that meet at F'_j = u, F_j = v. On each of them G(F)/G(F') is one linear function of F'_j
             over another, so it is largest at an end: F_j = F'_j = 0, F_j = F'_j = 1, or (v, u). Say that l of the
             others are at 0, n at (v, u), and the rest at 1. The ratio is the mean of ((1 − su)/(1 − sv))^n, which
             grows with s, where s has a density ∝ s^η·(1 − s)^l·(1 − sv)^n: larger l make s smaller (in likelihood
             ratio), so l = 0 is the worst. With t = su, ∫ s^η·(1 − su)^n ds is u^−(1+η) times the integral of
             t^η·(1 − t)^n over [0, u]: the ratio is (v/u)^(1+η)·H_n(u)/H_n(v) with H_n the distribution function of
             Beta(1 + η, n + 1). Its densities for n + 1 and n have the falling ratio ∝ 1 − t, so H_{n+1}/H_n falls, and
             as u ≤ v the ratio grows with n: n = m − 1 is the worst. There all F are alike, and G(F) ∝ E[K·F^(K−1)] =
             A(F). As H(u) ≤ H(v), it is at most (v/u)^(1+η) = e^((1+η)·ε₀). Candidates whose outputs are as far apart
             as they may be have all of these probabilities; and to tell all outputs would be m·ε₀-DP.
    Error    The best r of all are missed with probability about 1/C(r + η, η) (`missed`): `error` is the rank of what
             is chosen, 1 the best, by the scores as the candidates drew them.
    Factor   Beside all m together, for ε/m each: at ε = 1, ε₀ is 0.39 for 4 candidates, 0.28 for 8, 0.25 for many.
    Source   The problem: Liu & Talwar 2019. With a random number of independent runs: Papernot & Steinke 2022, Theorem
             2 and Lemma 7, of which this is the case γ → 0, cut at m, and without candidates that come twice.

    >>> search = BestOfSome(epsilon=1, candidates=8)
    >>> round(float(search.each), 3), search.error(0.9)
    (0.277, 3)
    """

    candidates: int
    loss: Pure | Concentrated
    each: Fraction
    """What each candidate may cost: an ε, whatever the loss is counted in."""

    def __init__(self, epsilon: Number | None = None, *, candidates: int, rho: Number | None = None) -> None:
        count = whole(candidates, "candidates")
        if count > MOST_CANDIDATES:
            raise ValueError(f"candidates must be at most {MOST_CANDIDATES:,}, not {count:,}")
        if (epsilon is None) is (rho is None):
            raise TypeError("a cost is epsilon or rho: give one of them")
        loss = Pure(positive(epsilon)) if rho is None else Concentrated(positive(rho, "rho"))
        object.__setattr__(self, "candidates", count)
        object.__setattr__(self, "loss", loss)
        whole_cost = loss.amount if rho is None else epsilon_of_laplace(loss.amount, Fraction(1))
        object.__setattr__(self, "each", _each(whole_cost, count))

    def choose(self, scores: ArrayLike, bits: Bits | None = None) -> int:
        """The index of the best one that is looked at, by the scores that the candidates drew."""
        drawn = some_numbers(scores, "scores")
        if drawn.shape != (self.candidates,):
            raise ValueError(f"scores must be one for each of {self.candidates} candidates, not of shape {drawn.shape}")
        return best(drawn.tolist(), self.some(lambda limit, size: noise.below(limit, size, bits=bits)))

    release = choose

    def some(self, below: Below) -> NDArray[np.bool_]:
        """Who is looked at: nobody may know."""
        draw = int(below(comb(self.candidates + ETA, ETA) - 1, 1)[0])
        size = sum(comb(k + ETA, ETA) - 1 <= draw for k in range(1, self.candidates)) + 1
        order = below(WIDE, self.candidates)
        while len(np.unique(order)) < self.candidates:
            order = below(WIDE, self.candidates)
        return np.asarray(order <= np.sort(order)[size - 1])

    def missed(self, rank: int) -> Fraction:
        """With what probability none of the best so many is looked at."""
        least = Fraction(1, comb(self.candidates + ETA, ETA))
        return (Fraction(1, comb(rank + ETA, ETA)) - least) / (1 - least)

    def error(self, confidence: Number = 0.95) -> int:
        """The rank of what is chosen, at most, with this confidence: 1 is the best of all candidates."""
        wrong = 1 - probability(confidence, "confidence")
        return next(rank for rank in range(1, self.candidates + 1) if self.missed(rank) <= wrong)


def best(scores: Sequence[int | float], looked: NDArray[np.bool_]) -> int:
    """The first of the best, among those that are looked at; as much work for few as for many."""
    return max(range(len(scores)), key=lambda index: (bool(looked[index]), scores[index], -index))


def loss_of(each: Fraction, candidates: int) -> Fraction:
    """The ε of the theorem for candidates that are ε₀-DP, rounded up."""
    odds = NEAREST.exp(decimal(each))
    low = NEAREST.divide(1, NEAREST.add(1, odds))
    high = NEAREST.subtract(1, low)
    ratio = NEAREST.divide(_slope(high, candidates), _slope(low, candidates))
    return up(NEAREST.add(decimal(each), NEAREST.ln(ratio)))


def _slope(x: Decimal, count: int) -> Decimal:
    """ΣC(k + η − 1, k)·k·x^(k−1), from the last to the first: no term is below 0, so nothing cancels."""
    total = Decimal(0)
    for k in range(count, 0, -1):
        total = NEAREST.fma(total, x, k * comb(k + ETA - 1, k))
    return total


@lru_cache(maxsize=REMEMBERED)
def _each(epsilon: Fraction, candidates: int) -> Fraction:
    """Nearly the largest ε₀ whose loss is at most ε; no less than what both limits of the theorem allow."""
    if candidates == 1:
        return epsilon
    low, high = epsilon / min(2 + ETA, candidates), epsilon
    for _ in range(30):
        middle = down(decimal((low + high) / 2), 20)
        low, high = (middle, high) if loss_of(middle, candidates) <= epsilon else (low, middle)
    return low
