"""Permute and flip: a choice that is never worse than the exponential mechanism's at the same ε."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from discreet.exact import Number
from discreet.late import np
from discreet.mechanisms.selection import Selection, factor, log_odds, shortfall, units
from discreet.noise import Bits, Exponents, exponential_race

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


@dataclass(frozen=True, init=False, slots=True)
class PermuteAndFlip(Selection):
    """Go through the candidates in random order and take r with probability exp(ε·(u(r) − best)/(2Δ)).

    Theorem  ε-DP, where `sensitivity` Δ bounds how far one unit can move any score (`monotone=True` drops the 2, for
             scores that are monotone as `selection` says).
    Proof    By its race: with a(r) = ε·u(r)/(2Δ) and independent standard exponential E, the largest a(r) + E(r) wins.
             Fix the E of all others: r wins where E(r) ≥ t = max(a(s) + E(s)) − a(r) over s ≠ r, which has probability
             exp(−max(t, 0)). On a neighbour every a moves by ε/2 at most, so the max and a(r) do, t moves by ε at most,
             and so does max(t, 0). Monotone, with a(r) = ε·u(r)/Δ: all move up by 0 to ε, or all down, so the max and
             a(r) move within [0, ε] or within [−ε, 0], and their difference by ε at most. Average over the others' E.
    Error    The expected shortfall is at most the exponential mechanism's, and down to half of it.
    Draw     The race, which has the same distribution, in a time that does not depend on the scores.
    Source   McKenna & Sheldon 2020; Ding, Kifer, Steinke & Wang 2021 (the race).
    """

    def choose(self, scores: ArrayLike, bits: Bits | None = None) -> int:
        """The index of the chosen candidate."""
        return int(exponential_race(self._exponents(scores), bits=bits)[0])

    release = choose

    def probabilities(self, scores: ArrayLike) -> NDArray[np.float64]:
        """With which probability each candidate is chosen.

        Proof   Give each candidate a uniform arrival time t; r is chosen if its own coin p(r) succeeds and nobody who
                came before did: ∫ p(r)·Π(1 − t·p(s)) dt over s ≠ r, a polynomial that Gauss's quadrature integrates.
        """
        coins = np.exp(log_odds(self._exponents(scores)))
        nodes, weights = np.polynomial.legendre.leggauss(min(coins.size // 2 + 1, 500))
        survivals = 1 - np.outer((nodes + 1) / 2, coins)
        others = survivals.prod(axis=1)[:, None] / survivals
        chances = coins * (weights / 2 @ others)
        return np.asarray(chances / chances.sum(), dtype=np.float64)

    def error(self, confidence: Number = 0.95, *, candidates: int) -> float:
        """How far below the best score the chosen one lies at most, with this confidence."""
        return shortfall(self.epsilon, self.sensitivity, factor(monotone=self.monotone), confidence, candidates)

    def _exponents(self, scores: ArrayLike) -> Exponents:
        exact, moved = units(scores, self.sensitivity)
        return Exponents(exact, self.epsilon / (factor(monotone=self.monotone) * moved))
